"""Reads a study's folder: a manifest that lists runs, each in a folder of its own below it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stevec_report.json_fields import get
from stevec_report.measured_blocks import blocks_done
from stevec_report.run_folder import (
    NAME_PATTERN,
    ResultsFolder,
    Run,
    RunFolderError,
    read_manifest,
    read_run,
)

RUNS_MAX = 100


@dataclass(frozen=True)
class StudyRun:
    """One run of a study. `run` is None if it cannot be reported on; `problem` then says why, in one line."""

    experiment: str
    directory: str
    run: Run | None
    problem: str | None


@dataclass(frozen=True)
class Study(ResultsFolder):
    """A complete study, or the whole blocks of one that goes on, with its runs in their order."""

    runs: list[StudyRun]


def read_results(path: str | Path) -> Run | Study:
    """Return the `Run` or the `Study` in folder `path`, whichever it is. RunFolderError if it is neither."""
    path = Path(path).resolve()
    return _read_study(path) if read_manifest(path)["kind"] == "study" else read_run(path)


def _read_study(path: Path) -> Study:
    manifest = read_manifest(path)
    try:
        entries = get(manifest, "runs", list)
        if not 1 <= len(entries) <= RUNS_MAX:
            raise ValueError(f"runs has {len(entries)} entries, not 1 to {RUNS_MAX}")
        runs = [_read_entry(path, entry, blocks_done(manifest)) for entry in entries]
        names = [run.experiment for run in runs]
        if len(set(names)) < len(names):
            raise ValueError("runs has an experiment twice")
    except ValueError as error:
        raise RunFolderError(f"manifest.json: {error}. Run the study again with this version.") from error
    return Study(path, manifest, runs)


def _read_entry(path: Path, entry: Any, blocks: int | None) -> StudyRun:
    """Read one run. An error becomes its `problem`, so that one broken run does not affect the others."""
    if not isinstance(entry, dict) or not NAME_PATTERN.fullmatch(str(entry.get("experiment"))):
        raise ValueError("runs has an entry without the name of an experiment")
    name = entry["experiment"]
    # The folder is derived from the name, because a path from the file could point anywhere.
    directory = f"runs/{name}"
    if entry.get("directory") not in (None, directory, f"{directory}/"):
        return StudyRun(name, directory, None, f"its directory is not {directory}")
    if not (path / directory / "manifest.json").is_file():
        return StudyRun(name, directory, None, f"{directory} has no manifest.json: it was not run")
    try:
        run = read_run(path / directory, blocks)
    except RunFolderError as error:
        return StudyRun(name, directory, None, str(error))
    if run.experiment["name"] != name:
        return StudyRun(name, directory, None, "its manifest names another experiment")
    return StudyRun(name, directory, run, None)
