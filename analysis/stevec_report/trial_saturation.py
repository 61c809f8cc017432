"""What was the limit of a trial, and what used the machine meanwhile: trial.json's `saturation`, checked."""

from dataclasses import dataclass
from typing import Any

from stevec_report.json_fields import TEXT_MAX_CHARS, get, get_count, get_object, get_optional_number

LIMITS = ("nothing", "generator", "links", "edge", "origin", "wiki", "database", "machine")
PARTS = ("generator", "links", "edge", "origin", "wiki", "database", "lab")
CORES_MAX = 4096


@dataclass(frozen=True)
class PartUse:
    """What one part used, in cores: all of its threads, its busiest thread, and its threads that waited for a core."""

    cpu_cores: float | None
    busiest_thread_cores: float | None
    run_queue_cores: float | None


@dataclass(frozen=True)
class Saturation:
    """The checked fields; figures are means over `sampled_s` seconds under load, None where they are not known.

    `limit` is one of LIMITS, `evidence` a sentence, `disturbed` a sentence or None. `parts` lacks those that did not
    run. `busy_cores` has the stolen ones in it. `pressure_ratio` and `held_up_ratio` are shares of the time.
    """

    limit: str
    evidence: str
    disturbed: str | None
    sampled_s: float | None
    cores: int
    busy_cores: float | None
    idle_cores: float | None
    stolen_cores: float | None
    others_cores: float | None
    pressure_ratio: float | None
    held_up_ratio: float | None
    parts: dict[str, PartUse]


def read_saturation(value: Any) -> Saturation | None:
    """Return the `Saturation` in a field of trial.json, None for null; ValueError names the field that is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("saturation is neither null nor an object")
    limit = get(value, "limit", str)
    if limit not in LIMITS:
        raise ValueError(f"saturation.limit is {limit[:40]!r}, none of {', '.join(LIMITS)}")
    cores = get_count(value, "cores", CORES_MAX)
    if cores == 0:
        raise ValueError("saturation.cores is 0")
    disturbed = value.get("disturbed")
    figures = ("busy_cores", "idle_cores", "stolen_cores", "others_cores", "pressure_ratio", "held_up_ratio")
    parts = get_object(value, "parts")
    return Saturation(
        limit=limit,
        evidence=str(value.get("evidence") or "")[:TEXT_MAX_CHARS],
        disturbed=None if disturbed is None else str(disturbed)[:TEXT_MAX_CHARS],
        sampled_s=get_optional_number(value, "sampled_s"),
        cores=cores,
        **{name: get_optional_number(value, name) for name in figures},
        parts={name: _read_part(parts, name) for name in PARTS if name in parts},
    )


def _read_part(parts: dict[str, Any], name: str) -> PartUse:
    own = get_object(parts, name)
    return PartUse(
        cpu_cores=get_optional_number(own, "cpu_cores"),
        busiest_thread_cores=get_optional_number(own, "busiest_thread_cores"),
        run_queue_cores=get_optional_number(own, "run_queue_cores"),
    )
