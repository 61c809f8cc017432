"""Two sides of a comparison, each one run or several of one version: what differs, and what is the same by design."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stevec_compare import counts, times
from stevec_compare.counts import Count
from stevec_compare.difference import Difference, with_holm
from stevec_compare.errors import CompareError
from stevec_compare.run import RunNumbers
from stevec_compare.run_values import COUNTED, RATIOS, RunValues, is_constant, trial_counts, trial_logs, values_of
from stevec_report.intervals import Interval

MEASURES = RATIOS + COUNTED
Key = tuple[str, str]  # (measure, cell)


@dataclass(frozen=True)
class Comparison:
    """Runs of A (`first`) and of B (`second`) over the `cells` that both have.

    `unit` is `run`, or `trial` for two single runs without a `spread`: then no difference is real, because nothing is
    known about the next run of either version. `differences` is {measure: {cell: Difference}}, `constants` has the
    shares {(measure, cell): (of A, of B)} that the plan fixes, which are not tested. `shares` are B's own.
    """

    first: tuple[RunNumbers, ...]
    second: tuple[RunNumbers, ...]
    spread: tuple[tuple[RunValues, ...], ...]
    unit: str
    paired: bool
    cells: tuple[str, ...]
    levels: dict[str, dict[str, str]]
    differences: dict[str, dict[str, Difference]]
    constants: dict[Key, tuple[float, float]]
    shares: dict[Key, Interval]
    warnings: tuple[str, ...]

    @property
    def tests(self) -> list[Difference]:
        """The family of Holm's correction."""
        return [one for rows in self.differences.values() for one in rows.values() if one.p is not None]


def compare_numbers(
    first: Sequence[RunNumbers], second: Sequence[RunNumbers], spread: Sequence[Sequence[RunValues]] = ()
) -> Comparison:
    """Compare the runs of A with those of B, one or more each.

    `spread` are further runs of the same experiment, in groups of one version each (`run_values.values_of`), from
    which the spread between runs is estimated, too. CompareError if the sides share no cell.
    """
    sides = tuple(first), tuple(second)
    cells = tuple(cell for cell in _cells(first) if cell in _cells(second))
    if not cells:
        why = [text for run in (*first, *second) for text in run.left_out]
        raise CompareError(f"the runs share no cell with valid trials{': ' + why[0] if why else ''}")
    single = len(first) == len(second) == 1 and not spread
    compared = _TwoRuns(first[0], second[0]) if single else _Runs(first, second, spread)
    tests: dict[Key, Difference] = {}
    constants: dict[Key, tuple[float, float]] = {}
    for cell in cells:
        for measure in MEASURES:
            if measure in RATIOS:
                found = compared.ratio(measure, cell)
            elif not all(units := compared.counted(measure, cell)):
                found = None
            elif is_constant(first, second, cell, measure):
                found = None
                one, other = (counts.total(own) for own in units)
                constants[measure, cell] = (one.events / one.of, other.events / other.of)
            else:
                found = compared.gap(measure, cell)
            if found is not None:
                tests[measure, cell] = found
    # One family, because the measures are read together.
    differences: dict[str, dict[str, Difference]] = {measure: {} for measure in MEASURES}
    for (measure, cell), difference in with_holm(tests).items():
        differences[measure][cell] = difference
    return Comparison(
        first=sides[0],
        second=sides[1],
        spread=tuple(tuple(group) for group in spread),
        unit="trial" if single else "run",
        paired=single and compared.paired,
        cells=cells,
        levels={cell: own for run in (*first, *second) for cell, own in run.levels.items()},
        differences=differences,
        constants=constants,
        shares=dict(_shares(compared, second, constants)),
        warnings=tuple(_warnings(sides)),
    )


class _Runs:
    """Compares with the run as the unit."""

    paired = False

    def __init__(
        self, first: Sequence[RunNumbers], second: Sequence[RunNumbers], spread: Sequence[Sequence[RunValues]]
    ) -> None:
        self.sides = [[values_of(run) for run in side] for side in (first, second)]
        self.spread = spread

    def ratio(self, measure: str, cell: str) -> Difference | None:
        one, other = ([run.logs[measure, cell] for run in side if (measure, cell) in run.logs] for side in self.sides)
        spread = [[run.logs[measure, cell] for run in group if (measure, cell) in run.logs] for group in self.spread]
        return times.compare_runs(one, other, [group for group in spread if group]) if one and other else None

    def counted(self, measure: str, cell: str) -> tuple[list[Count], list[Count]]:
        first, second = ([run.counts[measure, cell] for run in s if (measure, cell) in run.counts] for s in self.sides)
        return first, second

    def spread_counts(self, measure: str, cell: str) -> list[list[Count]]:
        found = [[run.counts[measure, cell] for run in group if (measure, cell) in run.counts] for group in self.spread]
        return [group for group in found if group]

    def gap(self, measure: str, cell: str) -> Difference:
        first, second = self.counted(measure, cell)
        return counts.compare(first, second, self.spread_counts(measure, cell))


class _TwoRuns:
    """Compares two single runs, with the trial as the unit."""

    def __init__(self, first: RunNumbers, second: RunNumbers) -> None:
        self.runs = first, second
        self.paired = first.plan is not None and first.plan == second.plan

    def ratio(self, measure: str, cell: str) -> Difference | None:
        one, other = (trial_logs(run.cells.get(cell, []), measure) for run in self.runs)
        return times.compare_trials(one, other, self.paired) if one and other else None

    def counted(self, measure: str, cell: str) -> tuple[list[Count], list[Count]]:
        first, second = (trial_counts(run.cells.get(cell, []), measure) for run in self.runs)
        return first, second

    def spread_counts(self, measure: str, cell: str) -> list[list[Count]]:
        return []

    def gap(self, measure: str, cell: str) -> Difference:
        first, second = self.counted(measure, cell)
        return counts.compare(first, second, of_versions=False)


def _shares(
    compared: _Runs | _TwoRuns, second: Sequence[RunNumbers], constants: dict[Key, tuple[float, float]]
) -> Iterable[tuple[Key, Interval]]:
    """B's own shares. Those that the plan fixes are exact; the dispersion of the others is of both sides, if known."""
    for cell in _cells(second):
        for measure in COUNTED:
            units = compared.counted(measure, cell)
            if not units[1]:
                continue
            exact = constants.get((measure, cell), (0.0, 0.0))[1]
            if 0 < exact < 1:
                yield (measure, cell), Interval(exact, exact, exact, len(units[1]))
            else:
                groups = [own for own in (*units, *compared.spread_counts(measure, cell)) if own]
                yield (measure, cell), counts.share(units[1], counts.dispersion(groups) or counts.BINOMIAL)


def _cells(runs: Sequence[RunNumbers]) -> list[str]:
    return list(dict.fromkeys(cell for run in runs for cell in run.cells))


def _warnings(sides: tuple[Sequence[RunNumbers], Sequence[RunNumbers]]) -> Iterable[str]:
    runs = [*sides[0], *sides[1]]
    everywhere = _cells(runs)
    for run in runs:
        missing = [cell for cell in everywhere if cell not in run.cells]
        yield from (f"{run.name} has no valid trial of {cell}" for cell in missing)
    for run in runs:
        yield from run.left_out
    for run in runs:
        yield from run.doubts
