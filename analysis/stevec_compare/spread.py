"""Reads runs that show the spread between runs of one version: folders, or the JSON of an earlier comparison."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stevec_compare import comparable
from stevec_compare.counts import Count
from stevec_compare.errors import CompareError
from stevec_compare.run import read_numbers, read_run
from stevec_compare.run_values import COUNTED, RATIOS, RunValues, values_of

FILE_MAX_BYTES = 10_000_000
FOLDERS_MAX = 50
FREEDOM_MIN = 2  # three runs of one version
HOW = "needs three runs of one version, or a comparison of several runs on each side (stevec compare --json)"


@dataclass(frozen=True)
class Spread:
    """Groups of runs, each of one version; `doubts` are sentences on machines that differ."""

    values: tuple[tuple[RunValues, ...], ...] = ()
    doubts: tuple[str, ...] = ()


def read_spread(paths: Sequence[str | Path], manifest: dict[str, Any]) -> Spread:
    """Return the `Spread` of `paths`; all folders are one group, a file has two.

    A folder is a run or contains runs. CompareError if they are not of the experiment in `manifest`, or too few.
    """
    if not paths:
        return Spread()
    folders = [run for path in map(Path, paths) if not path.is_file() for run in _runs_in(path)]
    groups: list[tuple[RunValues, ...]] = []
    doubts = []
    runs = [read_run(folder) for folder in folders]
    for run in runs:
        doubts += _check(run.path.name, manifest, run.manifest)
        doubts += [
            f"for the spread, {text}"
            for text in comparable.differences(runs[0].manifest, run.manifest, comparable.VERSION)
        ]
    if runs:
        groups.append(tuple(values_of(read_numbers(run)) for run in runs))
    for path in map(Path, paths):
        if path.is_file():
            own, conditions = _read_file(path)
            doubts += _check(path.name, manifest, conditions)
            groups += own
    if sum(len(group) - 1 for group in groups) < FREEDOM_MIN:
        raise CompareError(f"--spread {' '.join(map(str, paths))} {HOW}")
    return Spread(tuple(groups), tuple(doubts))


def _check(name: str, manifest: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Sentences on arguable differences; CompareError for others."""
    fatal = comparable.differences(manifest, other, comparable.FATAL)
    if fatal:
        raise CompareError(f"the spread of {name} is of other measurements: {'; '.join(fatal)}")
    return [f"for the spread, {text}" for text in comparable.differences(manifest, other, comparable.MACHINE)]


def _runs_in(path: Path) -> list[Path]:
    if (path / "manifest.json").exists():
        return [path]
    found = sorted(manifest.parent for manifest in path.glob("*/manifest.json")) if path.is_dir() else []
    if not found:
        raise CompareError(f"--spread {path} is neither a run, nor a folder of runs, nor the JSON of a comparison")
    if len(found) > FOLDERS_MAX:
        raise CompareError(f"--spread {path} has more than {FOLDERS_MAX} runs")
    return found


def _read_file(path: Path) -> tuple[list[tuple[RunValues, ...]], dict[str, Any]]:
    """The runs of an earlier comparison, by sides, and their conditions."""
    try:
        data = path.read_bytes()[: FILE_MAX_BYTES + 1]
        if len(data) > FILE_MAX_BYTES:
            raise ValueError(f"larger than {FILE_MAX_BYTES} bytes")
        content = json.loads(data)
        sides = [tuple(map(_values, content["runs"][side])) for side in ("first", "second")]
        conditions = content["conditions"]
        if not isinstance(conditions, dict):
            raise ValueError("conditions is not an object")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CompareError(f"--spread {path} is no JSON of `stevec compare --json` ({error!r})") from error
    return sides, conditions


def as_json(values: RunValues) -> dict[str, Any]:
    """A run in the JSON of a comparison: {measure: {cell: value}}; times as mean logarithms of ms, exactly."""
    shown: dict[str, dict[str, Any]] = {}
    for (measure, cell), log in values.logs.items():
        shown.setdefault(measure, {})[cell] = {"mean_log_ms": log}
    for (measure, cell), count in values.counts.items():
        shown.setdefault(measure, {})[cell] = {"events": count.events, "of": count.of}
    return {"name": values.name, "values": shown}


def _values(run: dict[str, Any]) -> RunValues:
    values = run["values"]
    logs = {(name, cell): float(own["mean_log_ms"]) for name in RATIOS for cell, own in values.get(name, {}).items()}
    counts = {
        (name, cell): Count(float(own["events"]), float(own["of"]))
        for name in COUNTED
        for cell, own in values.get(name, {}).items()
    }
    if any(not 0 <= count.events <= count.of or not count.of for count in counts.values()):
        raise ValueError("a count is not 0 to the number of requests")
    return RunValues(str(run["name"]), logs, counts)
