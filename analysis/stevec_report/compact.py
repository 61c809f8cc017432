"""The command: python -m stevec_report.compact RUN_DIR. Brings the trials of a run or study into their compact form.

A report on a compact run has the numbers that it had before. What is gone: the single requests of a background, the
lines of the logs, and with them the comparison of client, door and origin request by request, which the lab made when
it ran the trial.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import duckdb

from stevec_report import door_times, samples
from stevec_report.compact_form import BackgroundSums, TimeSum, background_json
from stevec_report.freshness.trial import literal_path
from stevec_report.json_fields import read_json_object
from stevec_report.offload import bytes_of_reads
from stevec_report.run_folder import TRIAL_JSON_MAX_BYTES, Run, RunFolderError, Trial
from stevec_report.sample_files import count_lines
from stevec_report.sample_table import columns_of_file, to_compact
from stevec_report.study_folder import Study, read_results
from stevec_report.trial_record import LOG_NAMES

DESCRIPTION = "Bring the trials of a run or study into their compact form, where their samples and logs are whole."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m stevec_report.compact", description=DESCRIPTION)
    parser.add_argument("run_dir", metavar="RUN_DIR", help="a folder that `stevec run` made, of a run or a study")
    options = parser.parse_args(arguments)
    try:
        results = read_results(options.run_dir)
        before = _size_bytes(results.path)
        problems = [problem for run in _runs(results) for problem in compact_run(run)]
    except (RunFolderError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{before} → {_size_bytes(results.path)} bytes")
    return 0


def compact_run(run: Run) -> list[str]:
    """Bring the trials of `run` into their compact form; those that are in it stay. Returns why others do not."""
    for trial in run.trials:
        if trial.record and trial.record.compact:
            _remove_raw(run.path / trial.folder, trial.record.compact.files)
    left = [trial for trial in run.trials if trial.record and not trial.record.compact]
    kept = []
    with closing(samples.load(replace(run, trials=left))) as loaded:
        for trial in left:
            try:
                if trial.number in loaded.stats and not trial.problems:
                    _compact_trial(run, trial, loaded)
            except ValueError as error:
                trial.problems.append(str(error))
            if trial.problems:
                kept.append(f"trial {trial.number} stays as it is: {'; '.join(trial.problems)}")
    return kept


def _runs(results: Run | Study) -> list[Run]:
    if isinstance(results, Run):
        return [results]
    return [entry.run for entry in results.runs if entry.run]


def _compact_trial(run: Run, trial: Trial, loaded: samples.Samples) -> None:
    """Write the Parquet files, then trial.json, then remove the raw files: a killed command can be run again."""
    folder, record = run.path / trial.folder, trial.record
    assert record is not None  # only such trials have statistics
    stats = loaded.stats[trial.number]
    kinds = ["samples"]
    background = None
    if stats.background is not None:
        # Reads of the background can be stale where something is edited, and come from a place in a zone.
        if stats.writes or run.target:
            kinds.append("background")
        else:
            answered = door_times.client_sum(loaded.database, [loaded.path(trial.number, "background")])
            background = BackgroundSums(asdict(stats.background), answered)
    files = {f"{kind}.parquet": _write_parquet(loaded.database, folder, kind) for kind in kinds}
    logs = {name: folder / f"{name}.log.gz" for name in LOG_NAMES if (folder / f"{name}.log.gz").is_file()}
    compact = {
        "files": files,
        "logs": {name: {"sha256": _sha256(file), "lines": count_lines(file)} for name, file in logs.items()},
        "door": _sum_json(door_times.door_sum(loaded.database, record, folder)),
        "origin_read_bytes": bytes_of_reads(logs["origin"]) if "origin" in logs else None,
        "background": background_json(background),
    }
    _write_json(folder / "trial.json", read_json_object(folder / "trial.json", TRIAL_JSON_MAX_BYTES), compact)
    _remove_raw(folder, files)


def _write_parquet(database: duckdb.DuckDBPyConnection, folder: Path, kind: str) -> str:
    """Write the samples of `kind` as a Parquet file beside their CSV file; return its SHA-256."""
    source, target = folder / f"{kind}.csv.gz", folder / f"{kind}.parquet"
    fresh = target.with_suffix(".new")
    to_compact(database, literal_path(source), columns_of_file(source), fresh)
    fresh.replace(target)
    return _sha256(target)


def _write_json(file: Path, value: dict[str, Any], compact: dict[str, Any]) -> None:
    fresh = file.with_suffix(".new")
    text = json.dumps({**value, "compact": compact}, ensure_ascii=False, separators=(",", ":"))
    fresh.write_text(f"{text}\n", encoding="utf-8")
    fresh.replace(file)


def _remove_raw(folder: Path, files: dict[str, str]) -> None:
    for name in ("samples.csv.gz", "background.csv.gz", *(f"{log}.log.gz" for log in LOG_NAMES)):
        (folder / name).unlink(missing_ok=True)
    for file in folder.glob("*-crawl.log.gz"):
        file.unlink()
    for file in folder.glob("*.parquet"):
        if file.name not in files:
            file.unlink()


def _sum_json(value: TimeSum | None) -> dict[str, int] | None:
    return None if value is None else asdict(value)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _size_bytes(folder: Path) -> int:
    """Bytes of all files below `folder`, without the report, which can be built again."""
    sizes = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "report"]
        sizes += [(Path(parent) / name).stat().st_size for name in names]
    return sum(sizes)


if __name__ == "__main__":
    sys.exit(main())
