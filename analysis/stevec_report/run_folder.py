"""Reads the metadata of a run folder: manifest.json and every trials/NNNN/trial.json.

Nothing here opens the measurements (see `samples.py`). There are two kinds of error: a folder that
is not a finished run raises `RunFolderError`; a single trial that cannot be read becomes a trial
with `problems`, so that the rest of the run is still analysed.
"""

import json
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stevec_report import SCHEMA_VERSION
from stevec_report.json_fields import get, get_count, get_object, read_json_object
from stevec_report.levels import door_sort_key
from stevec_report.measured_blocks import blocks_done, whole_blocks
from stevec_report.origin import Origin, read_origin
from stevec_report.trial_record import TrialRecord, read_record
from stevec_report.wording import count_of

MANIFEST_MAX_BYTES = 8_000_000
TRIAL_JSON_MAX_BYTES = 1_000_000
TRIALS_MAX = 2_000
NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,39}")


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


@dataclass
class Trial:
    """One planned trial. `record` is None if its trial.json cannot be read; `problems` then says so."""

    number: int
    record: TrialRecord | None
    problems: list[str] = field(default_factory=list)
    present: bool = True  # whether its folder exists

    @property
    def folder(self) -> str:
        """Path relative to the run folder, as in `trials/0001`."""
        return f"trials/{self.number:04d}"


@dataclass(frozen=True)
class ResultsFolder:
    """The common base of a run and a study; `manifest` is the whole JSON object."""

    path: Path
    manifest: dict

    @property
    def name(self) -> str:
        """The name of the folder, which is also the name of the run or study."""
        return self.path.name

    @property
    def profile(self) -> dict[str, Any]:
        """The manifest's `profile`, or {} if it has none."""
        return get_object(self.manifest, "profile")

    @property
    def origin(self) -> Origin:
        """The machine that the wiki ran on."""
        return read_origin(self.manifest)

    @property
    def target(self) -> dict[str, Any]:
        """The manifest's `target`: a zone, or {} for the lab's own stack."""
        return get_object(self.manifest, "target")


@dataclass(frozen=True)
class Run(ResultsFolder):
    """A complete run, or the whole blocks of one that goes on: the checked parts of its manifest.

    `doors` are those that a trial used, `notes` sentences about the folder as a whole.
    """

    experiment: dict
    doors: dict[str, Door]
    plans: dict[str, Plan]
    trials: list[Trial]
    notes: list[str]


def read_manifest(path: str | Path, *, in_blocks: bool = False) -> dict[str, Any]:
    """Return the manifest of the run or study in folder `path`, after the checks that both share.

    Args:
        in_blocks: whether the folder is of a run whose study says which blocks are whole; it need not be complete.

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
    if not in_blocks and blocks_done(manifest) is None:
        _check_complete(path, manifest)
    return manifest


def read_run(path: str | Path, blocks: int | None = None) -> Run:
    """Return the `Run` in folder `path`.

    Args:
        blocks: of the study that it belongs to: so many are whole, and trials of later ones are left out.

    Raises:
        RunFolderError: what `read_manifest` raises, a study, or a manifest that lacks something.
    """
    path = Path(path).resolve()
    manifest = read_manifest(path, in_blocks=blocks is not None)
    try:
        if manifest["kind"] != "run":
            raise ValueError(f"its kind is {manifest['kind']}, not run")
        experiment = get(manifest, "experiment", dict)
        if not NAME_PATTERN.fullmatch(get(experiment, "name", str)):
            raise ValueError("experiment.name is not kebab-case")
        doors = _read_doors(manifest)
        plans = _read_plans(manifest)
        trials_planned = get_count(manifest, "trials_planned", TRIALS_MAX)
        trials_read, notes = whole_blocks(experiment, trials_planned, blocks or blocks_done(manifest))
    except ValueError as error:
        raise _manifest_error(error) from error

    trials = [_read_trial(path, number, doors, plans) for number in range(1, trials_read + 1)]
    _mark_duplicates(trials)
    used = {trial.record.door for trial in trials if trial.record}
    doors = {name: door for name, door in doors.items() if name in used}
    notes += _find_unplanned(path, trials_planned)
    return Run(path, manifest, experiment, doors, plans, trials, notes)


def _manifest_error(error: ValueError) -> RunFolderError:
    return RunFolderError(f"manifest.json: {error}. Run the experiment again with this version.")


def _check_schema(manifest: dict[str, Any]) -> None:
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


def _check_complete(path: Path, manifest: dict[str, Any]) -> None:
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


def _read_doors(manifest: dict[str, Any]) -> dict[str, Door]:
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


def _read_plans(manifest: dict[str, Any]) -> dict[str, Plan]:
    plans = {}
    for value in get(manifest, "plans", list):
        if not isinstance(value, dict):
            raise ValueError("plans has an entry that is not an object")
        if type(value.get("id")) not in (str, int):
            raise ValueError("plans has an entry without an id")
        plan = Plan(
            str(value["id"]),
            get_count(value, "repetition", TRIALS_MAX),
            get(value, "hash", str),
            get_count(value, "requests"),
            get_count(value, "writes"),
            get_count(value, "distinct_pages"),
        )
        if plan.id in plans:
            raise ValueError(f"plans has the id {plan.id[:40]} twice")
        plans[plan.id] = plan
    if not plans:
        raise ValueError("plans is empty")
    return plans


def _read_trial(run_path: Path, number: int, doors: Container[str], plans: Container[str]) -> Trial:
    trial = Trial(number, None)
    folder = run_path / trial.folder
    if not folder.is_dir():
        trial.present = False
        trial.problems.append("missing: the trial has no folder")
        return trial
    try:
        value = read_json_object(folder / "trial.json", TRIAL_JSON_MAX_BYTES)
        trial.record = read_record(value, number, doors, plans)
    except FileNotFoundError:
        trial.problems.append("trial.json is missing")
    except (OSError, ValueError) as error:
        trial.problems.append(f"trial.json: {error}")
    return trial


def _mark_duplicates(trials: Iterable[Trial]) -> None:
    """Mark repeated trials: a cell is measured once per repetition, and a second trial is not an independent value."""
    first: dict[Any, int] = {}
    for trial in trials:
        if trial.record is None:
            continue
        key = (trial.record.door, tuple(sorted(trial.record.cell.items())), trial.record.repetition)
        if key in first:
            trial.problems.append(f"repeats the cell and repetition of trial {first[key]}")
        else:
            first[key] = trial.number


def _find_unplanned(run_path: Path, trials_planned: int) -> list[str]:
    """Return sentences about trial folders that the manifest did not plan; they are not read."""
    numbers = [int(p.name) for p in (run_path / "trials").glob("[0-9]*") if p.name.isdecimal()]
    extra = sorted(number for number in numbers if not 1 <= number <= trials_planned)
    if not extra:
        return []
    shown = ", ".join(f"{number:04d}" for number in extra[:10])
    return [f"{count_of(len(extra), 'trial folder')} beyond the {trials_planned} planned not read ({shown})."]
