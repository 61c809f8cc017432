"""Reads the metadata of a run folder: manifest.json and every trials/NNNN/trial.json.

Nothing here opens the measurements (see `samples.py`). There are two kinds of error: a folder that
is not a finished run raises `RunFolderError`; a single trial that cannot be read becomes a trial
with `problems`, so that the rest of the run is still analysed.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from stevec_report import SCHEMA_VERSION
from stevec_report.origin import read_origin

MANIFEST_MAX_BYTES = 8_000_000
TRIAL_JSON_MAX_BYTES = 1_000_000
TRIALS_MAX = 2_000
REASONS_MAX = 20  # reasons kept per trial; the length of each is limited too, because a report is not a log
REASON_MAX_CHARS = 500
FACTORS_MAX = 16
PROOF_REQUESTS_MAX = 10_000
LEVEL_MAX_CHARS = 60
COUNT_MAX = 10**9
TIME_MAX_US = 10**16
LOG_NAMES = ("edge", "origin", "local")
NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,39}")

# The order of doors everywhere, as in the study: without a cache first.
DOOR_ORDER = ("source", "nocache", "local", "cached")


class RunFolderError(Exception):
    """The folder cannot be reported on. `str(error)` is one line that also says what to do next."""


@dataclass(frozen=True)
class Plan:
    """A list of requests. `requests` counts iterations, `writes` the edits among them."""

    id: str
    repetition: int
    plan_hash: str
    requests: int
    writes: int
    distinct_pages: int


@dataclass(frozen=True)
class Door:
    """A path to the wiki, and whether it has a cache."""

    name: str
    url: str
    caching: bool


@dataclass(frozen=True)
class Background:
    """The checked part of trial.json's `background`. Times are microseconds since 1970."""

    vus: int
    requests_sent: int
    requests_failed: int
    served_by_cache: int
    rate_per_min: float | None
    generator_limited: bool


@dataclass(frozen=True)
class Purges:
    """The wiki's purges at the edge in a trial: calls, failed calls, and the numbers of URLs, tags and hosts purged."""

    calls: int
    failed: int
    urls: int
    tags: int
    hosts: int


@dataclass(frozen=True)
class Fault:
    """When the origin's nginx was killed and started again, microseconds since 1970.

    It was alive before `kill_began_us` and dead after `dead_us`; the wiki answered through it again at `answering_us`.
    """

    kill_began_us: int
    dead_us: int
    started_us: int
    answering_us: int
    cut_off: int


@dataclass(frozen=True)
class TrialRecord:
    """The checked part of one trial.json. Counts are requests, of the probe unless the name says otherwise.

    `proof_statuses` are the cache statuses that the cold proof saw, one per request.
    `cell` is {factor: level as text}, `settings` the settings in effect. `clock_step_s` is the difference that
    arose between wall clock and monotonic clock during the trial (None if the trial does not record it).
    `stolen_cpu_share` is the share of all cores that the machine's host gave to other guests (None if not recorded).
    `refreshes` are the requests that the edge sent on its own; `purges` is None under a policy without purges.
    """

    repetition: int
    plan: str
    door: str
    cell: dict[str, str]
    settings: dict
    valid: bool
    invalid_reasons: tuple[str, ...]
    started_at: datetime
    finished_at: datetime
    clock_step_s: float | None
    requests_sent: int
    requests_failed: int
    reads_sent: int
    writes_sent: int
    distinct_pages: int
    counter_requests: int
    counter_reads: int
    counter_writes: int
    counter_expected: int | None
    served_by_cache: int
    log_lines: dict[str, int]
    dropped_iterations: int
    wall_s: float | None
    generator_cpu_share: float | None
    generator_limited: bool
    background: Background | None
    overlap_proved: bool | None
    proof_statuses: tuple[str, ...]
    refreshes: int = 0
    purges: Purges | None = None
    fault: Fault | None = None
    stolen_cpu_share: float | None = None

    def setting(self, name, default=None):
        """The value of a setting in this trial."""
        return self.settings.get(name, default)

    def number(self, name, default=0):
        """The value of a numeric setting; `default` if it is not a number."""
        value = self.settings.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else default


@dataclass
class Trial:
    """One planned trial. `record` is None if its trial.json cannot be read; `problems` then says so."""

    number: int
    record: TrialRecord | None
    problems: list[str] = field(default_factory=list)
    present: bool = True  # whether its folder exists

    @property
    def folder(self):
        """Path relative to the run folder, as in `trials/0001`."""
        return f"trials/{self.number:04d}"


@dataclass(frozen=True)
class ResultsFolder:
    """The common base of a run and a study; `manifest` is the whole JSON object."""

    path: Path
    manifest: dict

    @property
    def name(self):
        """The name of the folder, which is also the name of the run or study."""
        return self.path.name

    @property
    def profile(self):
        """The manifest's `profile`, or {} if it has none."""
        value = self.manifest.get("profile")
        return value if isinstance(value, dict) else {}

    @property
    def origin(self):
        """The machine that the wiki ran on."""
        return read_origin(self.manifest)

    @property
    def target(self):
        """The manifest's `target`: a zone, or {} for the lab's own stack."""
        value = self.manifest.get("target")
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Run(ResultsFolder):
    """A complete run: the checked parts of its manifest.

    `doors` are those that a trial used, `notes` sentences about the folder as a whole.
    """

    experiment: dict
    doors: dict[str, Door]
    plans: dict[str, Plan]
    trials: list[Trial]
    notes: list[str]


def read_manifest(path):
    """Return the manifest of the run or study in folder `path`, after the checks that both share.

    Raises:
        RunFolderError: not a folder of results, an unsupported version of the schema, or an incomplete run.
    """
    path = Path(path)
    manifest_path = path / "manifest.json"
    if not manifest_path.is_file():
        raise RunFolderError(
            f"{path} is not a run folder: it has no manifest.json. "
            "Give a folder that `stevec run` made, such as results/<date>-read-hot-<commit>."
        )
    try:
        manifest = read_json_object(manifest_path, MANIFEST_MAX_BYTES)
        _check_schema(manifest)
        if manifest.get("kind") not in ("run", "study"):
            raise ValueError('kind is neither "run" nor "study"')
    except ValueError as error:
        raise _manifest_error(error) from error
    _check_complete(path, manifest)
    return manifest


def read_run(path):
    """Return the `Run` in folder `path`.

    Raises:
        RunFolderError: what `read_manifest` raises, a study, or a manifest that lacks something.
    """
    path = Path(path).resolve()
    manifest = read_manifest(path)
    try:
        if manifest["kind"] != "run":
            raise ValueError(f"its kind is {manifest['kind']}, not run")
        experiment = get(manifest, "experiment", dict)
        if not NAME_PATTERN.fullmatch(get(experiment, "name", str)):
            raise ValueError("experiment.name is not kebab-case")
        doors = _read_doors(manifest)
        plans = _read_plans(manifest)
        trials_planned = _count(manifest, "trials_planned", TRIALS_MAX)
    except ValueError as error:
        raise _manifest_error(error) from error

    trials = [_read_trial(path, number, doors, plans) for number in range(1, trials_planned + 1)]
    _mark_duplicates(trials)
    used = {trial.record.door for trial in trials if trial.record}
    doors = {name: door for name, door in doors.items() if name in used}
    return Run(path, manifest, experiment, doors, plans, trials, _find_unplanned(path, trials_planned))


def door_sort_key(name):
    """Sort key that puts doors in `DOOR_ORDER`, then the others by name."""
    return (DOOR_ORDER.index(name) if name in DOOR_ORDER else len(DOOR_ORDER), name)


def _manifest_error(error):
    return RunFolderError(f"manifest.json: {error}. Run the experiment again with this version.")


def _check_schema(manifest):
    version = get(manifest, "schema_version", int)
    if version > SCHEMA_VERSION:
        raise RunFolderError(
            f"manifest.json has schema version {version}, and this report knows version "
            f"{SCHEMA_VERSION}. Update stevec, then build the report again."
        )
    if version < SCHEMA_VERSION:
        raise RunFolderError(
            f"manifest.json has schema version {version}, of an older stevec; this report reads version "
            f"{SCHEMA_VERSION} only. Run the experiment again, or build the report with the commit that "
            "the manifest names."
        )


def _check_complete(path, manifest):
    status = manifest.get("status")
    if status == "complete":
        return
    # A killed run cannot update its status, which stays "running".
    next_step = {
        "interrupted": "It was interrupted: go on with `stevec run --resume`.",
        "failed": "It failed on the way: run it again.",
    }.get(str(status), "It is still running, or it was killed: wait for it, or go on with `--resume`.")
    said = f"is not complete (status {json.dumps(status)[:40]})"
    if manifest["kind"] == "study":
        raise RunFolderError(f"The study {said}. {next_step}")
    planned = manifest.get("trials_planned")
    planned_text = planned if isinstance(planned, int) else "an unknown number"
    done = sum(file.parent.name.isdecimal() for file in (path / "trials").glob("[0-9]*/trial.json"))
    raise RunFolderError(f"The run {said}: {done} of {planned_text} trials exist. {next_step}")


def _read_doors(manifest):
    doors = {}
    for name, value in get(manifest, "doors", dict).items():
        if not NAME_PATTERN.fullmatch(name):
            raise ValueError(f"doors has the name {json.dumps(name)[:60]}, which is not kebab-case")
        if not isinstance(value, dict):
            raise ValueError(f"doors.{name} is not an object")
        doors[name] = Door(name, get(value, "url", str), get(value, "caching", bool))
    if not 1 <= len(doors) <= 16:
        raise ValueError(f"doors has {len(doors)} entries, not 1 to 16")
    return {name: doors[name] for name in sorted(doors, key=door_sort_key)}


def _read_plans(manifest):
    plans = {}
    for value in get(manifest, "plans", list):
        if not isinstance(value, dict):
            raise ValueError("plans has an entry that is not an object")
        if type(value.get("id")) not in (str, int):
            raise ValueError("plans has an entry without an id")
        plan = Plan(
            str(value["id"]),
            _count(value, "repetition", TRIALS_MAX),
            get(value, "hash", str),
            _count(value, "requests"),
            _count(value, "writes"),
            _count(value, "distinct_pages"),
        )
        if plan.id in plans:
            raise ValueError(f"plans has the id {plan.id[:40]} twice")
        plans[plan.id] = plan
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
        value = read_json_object(folder / "trial.json", TRIAL_JSON_MAX_BYTES)
        trial.record = _read_record(value, number, doors, plans)
    except FileNotFoundError:
        trial.problems.append("trial.json is missing")
    except (OSError, ValueError) as error:
        trial.problems.append(f"trial.json: {error}")
    return trial


def _read_record(value, number, doors, plans):
    if get(value, "trial", int) != number:
        raise ValueError(f"it says trial {value['trial']}, and lies in the folder of trial {number}")
    door = get(value, "door", str)
    if door not in doors:
        raise ValueError("its door is not one of the manifest's")
    plan = str(value.get("plan"))
    if plan not in plans:
        raise ValueError(f"manifest.json has no plan {json.dumps(plan)[:40]}")
    settings = get(value, "settings", dict)
    reasons = get(value, "invalid_reasons", list)
    k6 = get(value, "k6", dict)
    counter = get(value, "counter", dict)
    log_lines = value.get("log_lines") or {}
    if not isinstance(log_lines, dict) or not all(type(lines) is int for lines in log_lines.values()):
        raise ValueError("log_lines is not an object of whole numbers")
    started_at, finished_at = _time(value, "started_at"), _time(value, "finished_at")
    monotonic_s = _optional_number(value, "monotonic_s")
    overlap = value.get("overlap")
    return TrialRecord(
        repetition=_count(value, "repetition", TRIALS_MAX),
        plan=plan,
        door=door,
        cell=_read_cell(value),
        settings=settings,
        valid=get(value, "valid", bool),
        invalid_reasons=tuple(str(reason)[:REASON_MAX_CHARS] for reason in reasons[:REASONS_MAX]),
        started_at=started_at,
        finished_at=finished_at,
        clock_step_s=None if monotonic_s is None else (finished_at - started_at).total_seconds() - monotonic_s,
        requests_sent=_count(value, "requests_sent"),
        requests_failed=_count(value, "requests_failed"),
        reads_sent=_count(value, "reads_sent"),
        writes_sent=_count(value, "writes_sent"),
        distinct_pages=_count(value, "distinct_pages"),
        counter_requests=_count(counter, "requests"),
        counter_reads=_count(counter, "reads"),
        counter_writes=_count(counter, "writes"),
        counter_expected=_optional_count(value, "counter_expected"),
        served_by_cache=_count(value, "served_by_cache"),
        log_lines={name: lines for name, lines in log_lines.items() if name in LOG_NAMES},
        dropped_iterations=_optional_count(k6, "dropped_iterations") or 0,
        wall_s=_optional_number(k6, "wall_s"),
        generator_cpu_share=_optional_number(k6, "generator_cpu_share"),
        generator_limited=k6.get("generator_limited") is True,
        background=_read_background(value.get("background")),
        overlap_proved=overlap.get("proved") is True if isinstance(overlap, dict) else None,
        proof_statuses=_read_proof(value.get("cold_proof")),
        refreshes=_optional_count(value, "refreshes") or 0,
        purges=_read_purges(value.get("purges")),
        fault=_read_fault(value.get("fault")),
        stolen_cpu_share=_optional_number(k6, "stolen_cpu_share"),
    )


def _read_proof(value):
    observed = value.get("observed") if isinstance(value, dict) else None
    if not isinstance(observed, list) or len(observed) > PROOF_REQUESTS_MAX:
        return ()
    return tuple(str(status)[:LEVEL_MAX_CHARS].upper() for status in observed)


def _read_purges(value):
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("purges is neither null nor an object")
    return Purges(*(_count(value, name) for name in ("calls", "failed", "urls", "tags", "hosts")))


def _read_cell(value):
    cell = get(value, "cell", dict)
    if len(cell) > FACTORS_MAX:
        raise ValueError(f"cell has {len(cell)} factors, more than {FACTORS_MAX}")
    return {str(factor)[:LEVEL_MAX_CHARS]: level_text(level) for factor, level in cell.items()}


def level_text(level):
    """Return a level of a factor as one short text: `source`, `250`, `100–10000` for a range."""
    if isinstance(level, str):
        return level[:LEVEL_MAX_CHARS]
    if isinstance(level, list) and len(level) == 2 and all(isinstance(end, int | float) for end in level):
        return f"{level[0]}–{level[1]}"
    return json.dumps(level, ensure_ascii=False)[:LEVEL_MAX_CHARS]


def _read_background(value):
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("background is neither null nor an object")
    k6 = value.get("k6")
    return Background(
        vus=_count(value, "vus"),
        requests_sent=_count(value, "requests_sent"),
        requests_failed=_count(value, "requests_failed"),
        served_by_cache=_count(value, "served_by_cache"),
        rate_per_min=_optional_number(value, "rate_per_min"),
        generator_limited=isinstance(k6, dict) and k6.get("generator_limited") is True,
    )


def _read_fault(value):
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("fault is neither null nor an object")
    moments = [
        _count(value, name, TIME_MAX_US)
        for name in ("kill_began_at_us", "dead_at_us", "started_at_us", "answering_at_us")
    ]
    if moments != sorted(moments):
        raise ValueError("fault has times that are not in their order")
    return Fault(*moments, _count(value, "cut_off"))


def _mark_duplicates(trials):
    """Mark repeated trials: a cell is measured once per repetition, and a second trial is not an independent value."""
    first = {}
    for trial in trials:
        if trial.record is None:
            continue
        key = (trial.record.door, tuple(sorted(trial.record.cell.items())), trial.record.repetition)
        if key in first:
            trial.problems.append(f"repeats the cell and repetition of trial {first[key]}")
        else:
            first[key] = trial.number


def _find_unplanned(run_path, trials_planned):
    """Return sentences about trial folders that the manifest did not plan; they are not read."""
    numbers = [int(p.name) for p in (run_path / "trials").glob("[0-9]*") if p.name.isdecimal()]
    extra = sorted(number for number in numbers if not 1 <= number <= trials_planned)
    if not extra:
        return []
    shown = ", ".join(f"{number:04d}" for number in extra[:10])
    return [f"{len(extra)} trial folders beyond the {trials_planned} planned were not read ({shown})."]


def read_json_object(path, max_bytes):
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


def get(value, key, kind):
    """Return `value[key]` if it is of exactly type `kind` (true is no integer here); ValueError otherwise."""
    if type(value.get(key)) is not kind:
        raise ValueError(f"{key} is missing or not of type {kind.__name__}")
    return value[key]


def _count(value, key, maximum=COUNT_MAX):
    number = get(value, key, int)
    if not 0 <= number <= maximum:
        raise ValueError(f"{key} is {number}, not 0 to {maximum}")
    return number


def _optional_count(value, key):
    return None if value.get(key) is None else _count(value, key)


def _optional_number(value, key):
    number = value.get(key)
    return float(number) if type(number) in (int, float) else None


def _time(value, key):
    moment = datetime.fromisoformat(get(value, key, str))
    if moment.tzinfo is None:
        raise ValueError(f"{key} has no time zone")
    return moment
