"""Two runs side by side: what can be compared, and what differs."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stevec_compare import comparable, statistics
from stevec_compare.run import CompareError, RunNumbers, TrialNumbers, describe_changes, read_numbers, read_run

# Measures that are compared as ratios, and those that are compared as differences.
RATIOS = ("mean_ms", "p95_ms")
GAPS = ("hit_ratio", "stale_ratio")


@dataclass(frozen=True)
class Comparison:
    """Runs A and B: `differences` is {measure: {cell: Difference}} over the `cells` that both have."""

    first: RunNumbers
    second: RunNumbers
    paired: bool
    cells: tuple[str, ...]
    levels: dict[str, dict[str, str]]
    differences: dict[str, dict[str, statistics.Difference]]
    warnings: tuple[str, ...]


def compare(a: str | Path, b: str | Path, force: bool = False) -> Comparison:
    """Compare the runs in folders `a` and `b`.

    Raises:
        CompareError: one is not a complete run, or they are incomparable; the message says why. `force` accepts
            arguable differences (host, versions), but no others.
    """
    runs = read_run(a), read_run(b)
    manifests = runs[0].manifest, runs[1].manifest
    fatal = comparable.differences(*manifests, comparable.FATAL)
    if fatal:
        raise CompareError(f"the runs are incomparable: {'; '.join(fatal)}")
    arguable = comparable.differences(*manifests, comparable.ARGUABLE) + comparable.plan_differences(*manifests)
    arguable += [text for run in runs for text in describe_changes(run)]
    if arguable and not force:
        raise CompareError(f"the runs are incomparable: {'; '.join(arguable)}. --force compares them all the same")
    first, second = map(read_numbers, runs)
    cells = tuple(cell for cell in first.cells if cell in second.cells)
    if not cells:
        why = (*first.left_out, *second.left_out)
        raise CompareError(f"the runs share no cell with valid trials{': ' + why[0] if why else ''}")
    paired = comparable.share_plan(*manifests)
    tests = {}
    for measure in RATIOS + GAPS:
        test = statistics.ratio if measure in RATIOS else statistics.difference
        for cell in cells:
            one, other = (_values(run.cells[cell], measure) for run in (first, second))
            if one and other:
                tests[measure, cell] = test(one, other, paired)
    # One family for Holm's correction, because the measures are read together.
    corrected = statistics.with_holm(tests)
    found: dict[str, dict[str, statistics.Difference]] = {measure: {} for measure in RATIOS + GAPS}
    for (measure, cell), difference in corrected.items():
        found[measure][cell] = difference
    alone = [
        f"only {run.name} has valid trials of {cell}"
        for run, other in ((first, second), (second, first))
        for cell in run.cells
        if cell not in other.cells
    ]
    warnings = (
        *(f"compared by force: {what}" for what in arguable),
        *alone,
        *first.left_out,
        *second.left_out,
        *first.doubts,
        *second.doubts,
    )
    return Comparison(first, second, paired, cells, first.levels | second.levels, found, warnings)


def _values(trials: Iterable[TrialNumbers], measure: str) -> dict[int, float]:
    values = {one.repetition: one.of(measure) for one in trials}
    return {repetition: value for repetition, value in values.items() if value is not None}
