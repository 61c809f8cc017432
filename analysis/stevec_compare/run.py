"""Reads of a run what two runs are compared by: its manifest, and a few numbers of each trial."""

import json
from dataclasses import dataclass
from pathlib import Path

import duckdb

from stevec_report.freshness import FreshnessError, measure
from stevec_report.freshness.trial import COLUMNS, literal_path

SCHEMA_VERSION = 2
JSON_MAX_BYTES = 8_000_000
TRIALS_MAX = 2_000


class CompareError(Exception):
    """The comparison cannot be made; `str(error)` is one line that says why, and what to do."""


@dataclass(frozen=True)
class TrialNumbers:
    """Of the probe of one valid trial. Times are of answered requests, in ms; ratios are of reads sent.

    `hit_ratio` is None without reads, `stale_ratio` is None without edits.
    """

    repetition: int
    mean_ms: float
    p95_ms: float
    hit_ratio: float | None
    stale_ratio: float | None
    failures: int


@dataclass(frozen=True)
class RunNumbers:
    """A complete run: {cell: its valid trials}, and sentences on the trials that are left out."""

    name: str
    manifest: dict
    cells: dict[str, list[TrialNumbers]]
    levels: dict[str, dict[str, str]]
    left_out: tuple[str, ...]


def read_manifest(path):
    """Return the manifest in folder `path`. CompareError if it is no complete run of this schema version."""
    path = Path(path)
    manifest = _read_json(path / "manifest.json", f"{path} is not a run folder")
    version = manifest.get("schema_version")
    if version != SCHEMA_VERSION:
        raise CompareError(
            f"{path.name} has schema version {version!r}, and only version {SCHEMA_VERSION} is compared: "
            "run its experiment again with this stevec"
        )
    if manifest.get("kind") != "run":
        raise CompareError(f"{path.name} is not a run (kind {manifest.get('kind')!r}): name one of its runs/ folders")
    if manifest.get("status") != "complete":
        raise CompareError(
            f"{path.name} is not complete (status {manifest.get('status')!r}): finish it, or run it again"
        )
    if not isinstance(manifest.get("experiment"), dict) or type(manifest.get("trials_planned")) is not int:
        raise CompareError(f"{path.name}/manifest.json lacks experiment or trials_planned: run it again")
    if not 1 <= manifest["trials_planned"] <= TRIALS_MAX:
        raise CompareError(f"{path.name} plans {manifest['trials_planned']} trials, not 1 to {TRIALS_MAX}")
    return manifest


def read_numbers(path, manifest):
    """Return the `RunNumbers` of the run in `path`; reads all of its samples."""
    path = Path(path)
    cells, levels, left_out = {}, {}, []
    with duckdb.connect(config={"threads": 1, "memory_limit": "800MB", "temp_directory": ""}) as database:
        for number in range(1, manifest["trials_planned"] + 1):
            folder = path / "trials" / f"{number:04d}"
            try:
                trial = _read_json(folder / "trial.json", f"trial {number} cannot be read")
                level = {str(factor): _level_text(value) for factor, value in trial["cell"].items()}
                _refuse_invalid(trial)
                numbers = _measure(database, folder, trial)
            except (CompareError, FreshnessError) as error:
                left_out.append(f"{path.name}, trial {number}: {error}")
                continue
            except (KeyError, TypeError, AttributeError, ValueError, duckdb.Error) as error:
                left_out.append(f"{path.name}, trial {number}: {_first_line(error)}")
                continue
            name = cell_name(level)
            cells.setdefault(name, []).append(numbers)
            levels[name] = level
    return RunNumbers(path.name, manifest, cells, levels, tuple(left_out))


def cell_name(levels):
    """Return `door=cached, ttl_s=60`; `all` for the only cell of an experiment without factors."""
    return ", ".join(f"{factor}={levels[factor]}" for factor in sorted(levels)) or "all"


def _refuse_invalid(trial):
    if trial["valid"] is not True:
        raise CompareError("; ".join(map(str, trial["invalid_reasons"])) or "marked invalid")
    background = trial.get("background") or {"requests_sent": 0, "served_by_cache": 0}
    through = trial["requests_sent"] + background["requests_sent"]
    through -= trial["served_by_cache"] + background["served_by_cache"]
    if through != trial["counter"]["requests"]:
        raise CompareError(
            f"{through} requests went past the caches, but the counter says {trial['counter']['requests']}"
        )


def _measure(database, folder, trial):
    mean, p95, rows, failures = database.execute(
        "SELECT avg(duration_ms) FILTER (status BETWEEN 200 AND 399), "
        "quantile_cont(duration_ms, 0.95) FILTER (status BETWEEN 200 AND 399), count(*), "
        "count(*) FILTER (status < 200 OR status > 399) "
        "FROM read_csv(?, header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
        f"compression = 'gzip', columns = {COLUMNS!r})",
        [literal_path(folder / "samples.csv.gz")],
    ).fetchone()
    if rows != trial["requests_sent"]:
        raise CompareError(f"{rows} samples, but trial.json says {trial['requests_sent']} requests")
    if not mean:
        raise CompareError("none of its requests was answered")
    reads, writes = trial["reads_sent"], trial["writes_sent"]
    return TrialNumbers(
        repetition=int(trial["repetition"]),
        mean_ms=mean,
        p95_ms=p95,
        hit_ratio=trial["served_by_cache"] / reads if reads else None,
        stale_ratio=measure(folder).stale_ratio if writes else None,
        failures=failures,
    )


def _read_json(path, what):
    try:
        data = path.read_bytes()[: JSON_MAX_BYTES + 1]
        if len(data) > JSON_MAX_BYTES:
            raise ValueError(f"larger than {JSON_MAX_BYTES} bytes")
        value = json.loads(data)
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")
    except FileNotFoundError:
        raise CompareError(f"{what}: it has no {path.name}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CompareError(f"{what}: {path.name}: {_first_line(error)}") from error
    return value


def _level_text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _first_line(error):
    text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else text
