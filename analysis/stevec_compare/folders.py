"""Compares runs from their folders: checks that they can be compared, and reads their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stevec_compare import comparable
from stevec_compare.comparison import Comparison, compare_numbers
from stevec_compare.errors import CompareError
from stevec_compare.run import describe_changes, read_numbers, read_run
from stevec_compare.spread import read_spread
from stevec_report.run_folder import Run

RUNS_MAX = 50  # of a side


@dataclass(frozen=True)
class Compared:
    """A comparison, and the conditions under which all of its runs were made (`comparable.conditions`)."""

    comparison: Comparison
    conditions: dict[str, Any]


def compare(
    first: Sequence[str | Path], second: Sequence[str | Path], spread: Sequence[str | Path] = (), force: bool = False
) -> Compared:
    """Compare the runs in the folders `first` with those in `second`.

    `spread` are folders or files of runs that show the spread between runs (`spread.read_spread`).

    Raises:
        CompareError: one is not a complete run, or they are incomparable; the message says why. `force` accepts
            arguable differences (host, versions), but no others.
    """
    _check_names([*first, *second])
    sides = [read_run(path) for path in first], [read_run(path) for path in second]
    runs = [*sides[0], *sides[1]]
    manifest = runs[0].manifest
    fatal = [text for run in runs[1:] for text in comparable.differences(manifest, run.manifest, comparable.FATAL)]
    if fatal:
        raise CompareError(f"the runs are incomparable: {_once(fatal)}")
    groups = read_spread(spread, manifest)
    arguable = [*_arguable(*sides), *groups.doubts]
    if arguable and not force:
        raise CompareError(f"the runs are incomparable: {_once(arguable)}. --force compares them all the same")
    one, other = ([read_numbers(run) for run in side] for side in sides)
    found = compare_numbers(one, other, groups.values)
    forced = [f"compared by force: {what}" for what in dict.fromkeys(arguable)]
    return Compared(replace(found, warnings=(*forced, *found.warnings)), comparable.conditions(manifest))


def _arguable(first: Sequence[Run], second: Sequence[Run]) -> list[str]:
    """Sentences on differences within a side, between the sides, and within the runs."""
    found = []
    for side in (first, second):
        for run in side[1:]:
            one, other = side[0].manifest, run.manifest
            within = comparable.differences(one, other, comparable.ARGUABLE | comparable.VERSION)
            found += [f"on one side, {text}" for text in within]
    found += comparable.differences(first[0].manifest, second[0].manifest, comparable.ARGUABLE)
    runs = [*first, *second]
    for run in runs[1:]:
        found += comparable.plan_differences(runs[0].manifest, run.manifest)
    return found + [text for run in runs for text in describe_changes(run)]


def _check_names(paths: Sequence[str | Path]) -> None:
    if len(paths) > 2 * RUNS_MAX:
        raise CompareError(f"{len(paths)} runs are more than {2 * RUNS_MAX}")
    resolved = [Path(path).resolve() for path in paths]
    for path in resolved:
        if resolved.count(path) > 1:
            raise CompareError(f"{path} is named more than once, and a run is one unit")


def _once(texts: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
