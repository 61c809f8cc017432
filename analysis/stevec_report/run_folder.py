"""Reads what a run folder says about itself: manifest.json and every trials/NNNN/trial.json.

Nothing here opens the measurements (see `samples.py`). Two kinds of trouble are told apart: a folder that
is not a finished run at all raises `RunFolderError`; a single trial that cannot be read becomes a trial
with `problems`, so that the rest of the run is still analysed.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from stevec_report import SCHEMA_VERSION

MANIFEST_MAX_BYTES = 8_000_000
TRIAL_JSON_MAX_BYTES = 1_000_000
TRIALS_MAX = 2_000
REASONS_MAX = 20  # reasons kept per trial, and characters kept of each: a report is no log
REASON_MAX_CHARS = 500
LOG_NAMES = ("edge", "origin", "local")
DOOR_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,31}")

# The order in which doors are shown everywhere, as in the study: without a cache first.
DOOR_ORDER = ("source", "nocache", "local", "cached")


class RunFolderError(Exception):
    """The folder cannot be reported on. `str(error)` is one line that also says what to do next."""


@dataclass(frozen=True)
class Plan:
    """What one repetition asks for at every door; the same requests, in the same order."""

    repetition: int
    plan_hash: str
    requests: int
    distinct_pages: int


@dataclass(frozen=True)
class Door:
    """A way to the wiki, and whether a cache lies on it."""

    name: str
    url: str
    caching: bool


@dataclass(frozen=True)
class TrialRecord:
    """The checked part of one trial.json. Counts are requests."""

    repetition: int
    door: str
    valid: bool
    invalid_reasons: tuple[str, ...]
    started_at: datetime
    requests_sent: int
    requests_failed: int | None
    counter_requests: int
    counter_expected: int | None
    served_by_cache: int | None
    log_lines: dict[str, int]
    dropped_iterations: int
    generator_cpu_share: float | None
    generator_limited: bool


@dataclass
class Trial:
    """One planned trial. `record` is None if its trial.json cannot be read; `problems` then says so."""

    number: int
    record: TrialRecord | None
    problems: list[str] = field(default_factory=list)
    present: bool = True  # whether its folder is there

    @property
    def folder(self):
        """Path relative to the run folder, as in `trials/0001`."""
        return f"trials/{self.number:04d}"


@dataclass(frozen=True)
class Run:
    """A complete run: `manifest` is the whole JSON object, the rest are its checked parts."""

    path: Path
    manifest: dict
    experiment: dict
    doors: dict[str, Door]
    plans: dict[int, Plan]
    trials: list[Trial]
    notes: list[str]

    @property
    def name(self):
        """The name of the folder, which is the name of the run."""
        return self.path.name


def read_run(path):
    """Return the `Run` in folder `path`.

    Raises:
        RunFolderError: not a run folder, a newer schema, a run that is not complete, or a manifest that
        lacks something.
    """
    path = Path(path).resolve()
    manifest_path = path / "manifest.json"
    if not manifest_path.is_file():
        raise RunFolderError(
            f"{path} is not a run folder: it has no manifest.json. "
            "Give a folder that `stevec run` made, such as results/<date>-read-hot-<commit>."
        )
    try:
        manifest = _read_json_object(manifest_path, MANIFEST_MAX_BYTES)
        _check_schema(manifest)
        _check_complete(path, manifest)
        experiment = _get(manifest, "experiment", dict)
        _get(experiment, "name", str)
        doors = _read_doors(manifest)
        plans = _read_plans(manifest)
        trials_planned = _count(manifest, "trials_planned", TRIALS_MAX)
    except ValueError as error:
        raise RunFolderError(
            f"manifest.json: {error}. Run the experiment again with this version."
        ) from error

    trials = [_read_trial(path, number, doors, plans) for number in range(1, trials_planned + 1)]
    _mark_duplicates(trials)
    return Run(path, manifest, experiment, doors, plans, trials, _find_unplanned(path, trials_planned))


def door_sort_key(name):
    """Sort key that puts doors in `DOOR_ORDER`, then the others by name."""
    return (DOOR_ORDER.index(name) if name in DOOR_ORDER else len(DOOR_ORDER), name)


def _check_schema(manifest):
    version = _get(manifest, "schema_version", int)
    if version > SCHEMA_VERSION:
        raise RunFolderError(
            f"manifest.json has schema version {version}, and this report knows versions up to "
            f"{SCHEMA_VERSION}. Update stevec, then build the report again."
        )
    if version < 1:
        raise ValueError(f"schema_version is {version}")


def _check_complete(path, manifest):
    status = manifest.get("status")
    if status == "complete":
        return
    planned = manifest.get("trials_planned")
    planned_text = planned if isinstance(planned, int) else "an unknown number"
    done = sum(file.parent.name.isdecimal() for file in (path / "trials").glob("[0-9]*/trial.json"))
    # A run that was killed can no longer say so: its status stays "running".
    next_step = {
        "running": "It is still running, or it was killed: wait for it, or run the experiment again.",
        "interrupted": "It was interrupted: run the experiment again.",
        "failed": "It failed on the way: run the experiment again.",
    }.get(
        str(status), "It is still running, or it was interrupted: wait for it, or run the experiment again."
    )
    raise RunFolderError(
        f"The run is not complete (status {json.dumps(status)[:40]}): {done} of {planned_text} trials exist. "
        f"{next_step}"
    )


def _read_doors(manifest):
    doors = {}
    for name, value in _get(manifest, "doors", dict).items():
        if not DOOR_PATTERN.fullmatch(name):
            raise ValueError(f"doors has the name {json.dumps(name)[:60]}, which is not kebab-case")
        if not isinstance(value, dict):
            raise ValueError(f"doors.{name} is not an object")
        doors[name] = Door(name, _get(value, "url", str), _get(value, "caching", bool))
    # The lab lists all the doors that it has; an experiment may use some of them only.
    used = manifest["experiment"].get("doors")
    if isinstance(used, list):
        unknown = [name for name in used if name not in doors]
        if unknown:
            raise ValueError(
                f"experiment.doors names {json.dumps(unknown[0])[:60]}, which is not among doors"
            )
        doors = {name: doors[name] for name in used}
    if not 1 <= len(doors) <= 16:
        raise ValueError(f"doors has {len(doors)} entries, not 1 to 16")
    return {name: doors[name] for name in sorted(doors, key=door_sort_key)}


def _read_plans(manifest):
    plans = {}
    for value in _get(manifest, "plans", list):
        if not isinstance(value, dict):
            raise ValueError("plans has an entry that is not an object")
        plan = Plan(
            _count(value, "repetition", TRIALS_MAX),
            _get(value, "hash", str),
            _count(value, "requests", 10**9),
            _count(value, "distinct_pages", 10**9),
        )
        if plan.repetition in plans:
            raise ValueError(f"plans has repetition {plan.repetition} twice")
        plans[plan.repetition] = plan
    if not plans:
        raise ValueError("plans is empty")
    return plans


def _read_trial(run_path, number, doors, plans):
    trial = Trial(number, None)
    folder = run_path / trial.folder
    if not folder.is_dir():
        trial.present = False
        trial.problems.append("missing: the trial has no folder")
        return trial
    try:
        value = _read_json_object(folder / "trial.json", TRIAL_JSON_MAX_BYTES)
        trial.record = _read_record(value, number, doors, plans)
    except FileNotFoundError:
        trial.problems.append("trial.json is missing")
    except ValueError as error:
        trial.problems.append(f"trial.json: {error}")
    return trial


def _read_record(value, number, doors, plans):
    if _get(value, "trial", int) != number:
        raise ValueError(f"it says trial {value['trial']}, and lies in the folder of trial {number}")
    door = _get(value, "door", str)
    if door not in doors:
        raise ValueError("its door is not one of the experiment's")
    repetition = _get(value, "repetition", int)
    if repetition not in plans:
        raise ValueError(f"manifest.json has no plan for repetition {repetition}")
    reasons = _get(value, "invalid_reasons", list)
    k6 = _get(value, "k6", dict)
    cpu_share = k6.get("generator_cpu_share")
    log_lines = value.get("log_lines") or {}
    if not isinstance(log_lines, dict) or not all(type(lines) is int for lines in log_lines.values()):
        raise ValueError("log_lines is not an object of whole numbers")
    return TrialRecord(
        repetition=repetition,
        door=door,
        valid=_get(value, "valid", bool),
        invalid_reasons=tuple(str(reason)[:REASON_MAX_CHARS] for reason in reasons[:REASONS_MAX]),
        started_at=_time(value, "started_at"),
        requests_sent=_count(value, "requests_sent", 10**9),
        requests_failed=_optional_count(value, "requests_failed"),
        counter_requests=_count(_get(value, "counter", dict), "requests", 10**9),
        counter_expected=_optional_count(value, "counter_expected"),
        served_by_cache=_optional_count(value, "served_by_cache"),
        log_lines={name: lines for name, lines in log_lines.items() if name in LOG_NAMES},
        dropped_iterations=_optional_count(k6, "dropped_iterations") or 0,
        generator_cpu_share=float(cpu_share) if isinstance(cpu_share, int | float) else None,
        generator_limited=k6.get("generator_limited") is True,
    )


def _mark_duplicates(trials):
    """A cell (door, repetition) is measured once; a second trial of it is no independent value."""
    first = {}
    for trial in trials:
        if trial.record is None:
            continue
        cell = (trial.record.door, trial.record.repetition)
        if cell in first:
            trial.problems.append(f"repeats the door and repetition of trial {first[cell]}")
        else:
            first[cell] = trial.number


def _find_unplanned(run_path, trials_planned):
    """Return sentences about trial folders that the manifest did not plan; they are not read."""
    numbers = [int(p.name) for p in (run_path / "trials").glob("[0-9]*") if p.name.isdecimal()]
    extra = sorted(number for number in numbers if not 1 <= number <= trials_planned)
    if not extra:
        return []
    shown = ", ".join(f"{number:04d}" for number in extra[:10])
    return [f"{len(extra)} trial folders beyond the {trials_planned} planned were not read ({shown})."]


def _read_json_object(path, max_bytes):
    """Return the JSON object in `path`. ValueError if it is too large, not JSON, or not an object."""
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"larger than {max_bytes} bytes")
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")


def _get(value, key, kind):
    """Return `value[key]` if it is of exactly type `kind` (true is no integer here); ValueError otherwise."""
    if type(value.get(key)) is not kind:
        raise ValueError(f"{key} is missing or not of type {kind.__name__}")
    return value[key]


def _count(value, key, maximum):
    number = _get(value, key, int)
    if not 0 <= number <= maximum:
        raise ValueError(f"{key} is {number}, not 0 to {maximum}")
    return number


def _optional_count(value, key):
    return None if value.get(key) is None else _count(value, key, 10**9)


def _time(value, key):
    moment = datetime.fromisoformat(_get(value, key, str))
    if moment.tzinfo is None:
        raise ValueError(f"{key} has no time zone")
    return moment
