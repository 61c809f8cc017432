"""Decides the expectations that an experiment states before its run: confirmed, refuted or undecided.

Expectations are data (`expectations` in loadgen/experiments/*.json) and are copied into the run's manifest, so none is
added after the fact. Each is about one measure of a trial. With a `value` it is a count, which every trial has to
match exactly. With another cell (`than`) it is a paired t test: each block gives one value, the mean over the other
levels of the difference between trials (decision 29), and needs all of them. "Times as long" is about a ratio, so its
test takes logarithms (decision 13). Limited trials decide no expectation on a
time (`measures.py`). A trial's value is a mean over thousands of requests, so a few trials are enough for a t test. The
sign-flip test, which decides the study's hypotheses, cannot reach significance below six blocks. All tests of an
experiment are one family, corrected by Holm's procedure, whether or not there are trials for each.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from stevec_report import limits, power, thresholds, wiki_shares, wording
from stevec_report.analysis import Analysis
from stevec_report.block_values import block_means
from stevec_report.blocks import TRIALS_COLUMN, Cell, Column, Table, trials_cell
from stevec_report.hypothesis_tests import holm
from stevec_report.intervals import Interval, t_interval
from stevec_report.measures import MEASURES, judged
from stevec_report.outcomes import BlockKey, CellKey, MeasuredOutcome
from stevec_report.stated_expectations import Expectation, Levels, read
from stevec_report.verdicts import CANNOT

COUNTS: dict[str, Callable[[float, float], bool]] = {"at_most": operator.le, "at_least": operator.ge}
ROUNDING = 1e-12


@dataclass(frozen=True)
class Decided:
    """`result` is confirmed, refuted or undecided; `why` gives the reason in one sentence.

    For a test, `difference` is the difference with its interval, `p_holm` the p after the correction, `detectable` the
    least difference beyond what is expected (of "within": the narrowest margin) that it finds with 80 % power. Of a
    ratio, `ratio` is that with its interval, without a `difference`, and `detectable` is the ratio nearest to what is
    expected that it finds.
    """

    that: str
    result: str
    why: str
    difference: Interval | None = None
    p_holm: float | None = None
    trials: tuple[int, ...] = ()
    detectable: float | None = None
    ratio: Interval | None = None

    @property
    def blocks(self) -> int | None:
        """How many values the test has; None without one."""
        seen = self.difference or self.ratio
        return seen.n if seen else None


@dataclass(frozen=True)
class _Tested:
    """`holds` is whether the mean difference lies where expected. `p` is small if that is significant, `p_against` is
    small if a difference elsewhere is significant; both are None with a single block. `spread` is the standard
    deviation of the blocks' values."""

    difference: Interval
    holds: bool
    p: float | None
    p_against: float | None
    trials: tuple[int, ...]
    spread: float | None = None


def decide(analysis: Analysis) -> list[Decided]:
    """Return the `Decided` of each expectation of the run, in their order."""
    try:
        expected = read(analysis.run.experiment)
    except ValueError as error:
        return [Decided("What the experiment expects", "undecided", f"the manifest is not understood: {error}.")]
    alpha = thresholds.read(analysis.run.experiment).alpha
    tests = {at: _test(one, analysis.valid, one.than) for at, one in enumerate(expected) if one.than is not None}
    corrected = holm({at: tested.p if tested else None for at, tested in tests.items()})
    missing = wiki_shares.missing(analysis.run)
    return [
        Decided(one.that, "undecided", missing)
        if missing and _compares_wikis(one)
        else _with_left_out(
            one,
            _decide_test(one, tests[at], corrected[at], alpha, len(tests))
            if at in tests
            else _count(one, analysis.valid),
            analysis.valid,
        )
        for at, one in enumerate(expected)
    ]


def _compares_wikis(one: Expectation) -> bool:
    """Whether it is about one number of wikis beside another."""
    return one.than is not None and one.levels.get(wiki_shares.FACTOR) != one.than.get(wiki_shares.FACTOR)


def table(decided: Sequence[Decided]) -> list[Table]:
    """The report's table, in a list; [] without expectations."""
    if not decided:
        return []
    columns = [
        Column("that", "expected", "text", left=True, wrap=True),
        Column("verdict", "verdict", "text", left=True),
        Column("why", "because", "text", left=True, wrap=True),
        Column("difference", "difference (95 % interval)", "interval"),
        Column("ratio", "ratio (95 % interval)", "interval"),
        Column("blocks", "blocks", "count"),
        Column("detectable", "could find"),
        Column("p_holm", "p, Holm", "p"),
        TRIALS_COLUMN,
    ]
    rows = [
        {
            "that": one.that,
            "verdict": Cell(one.result, mark=one.result),
            "why": one.why,
            "difference": one.difference,
            "ratio": one.ratio,
            "blocks": one.blocks,
            "detectable": one.detectable,
            "p_holm": one.p_holm,
            "trials": trials_cell(one.trials),
        }
        for one in decided
    ]
    note = (
        "Stated with the experiment, before the run. What has a p is a paired t test with one value a block, "
        "corrected by Holm’s procedure over all tests of this table: confirmed if it points the expected way with p "
        "below alpha, refuted if it points the other way so clearly. “Could find” is the least difference that it "
        "finds with 80 % power at the spread seen, or the ratio nearest to what is expected. The others are counts: "
        "each trial has to keep them. Limited trials decide nothing about times, ages of copies, and failures."
    )
    return [Table("expectations", "What was expected, and what came of it.", note, columns, rows)]


def count_words(decided: Sequence[Decided]) -> str:
    """`3 confirmed, 0 refuted and 1 undecided`."""
    results = [one.result for one in decided]
    return wording.join_words(f"{results.count(r)} {r}" for r in ("confirmed", "refuted", "undecided"))


def _meets(outcome: MeasuredOutcome, levels: Levels) -> bool:
    return all(outcome.record.cell.get(factor) in wanted for factor, wanted in levels.items())


def _with_left_out(one: Expectation, decided: Decided, valid: Sequence[MeasuredOutcome]) -> Decided:
    """The decision, with the reason and what to do where limited trials may have kept it open."""
    concerned = [o for o in valid if _meets(o, one.levels) or (one.than is not None and _meets(o, one.than))]
    left_out = limits.left_out(concerned) if MEASURES[one.measure].is_time else ""
    if decided.result != "undecided" or not left_out:
        return decided
    has_blocks = (decided.blocks or 0) > 1
    return replace(decided, why=f"{'' if has_blocks else f'{CANNOT}: '}{decided.why} {left_out}")


def _count(one: Expectation, valid: Sequence[MeasuredOutcome]) -> Decided:
    values = {o.number: MEASURES[one.measure].of(o) for o in judged(one.measure, valid) if _meets(o, one.levels)}
    seen = [(number, value) for number, value in values.items() if value is not None]
    if not seen:
        return Decided(one.that, "undecided", "there is no valid trial that can tell.")
    numbers = tuple(number for number, _ in seen)
    broken = [value for _, value in seen if not COUNTS[one.relation](value, one.value or 0.0)]
    ends = [end(value for _, value in seen) for end in (min, max)]
    span = " to ".join(dict.fromkeys(wording.three_digits(value) for value in ends))
    kept = f"true of {wording.part_of(len(seen) - len(broken), len(seen), 'trial')}"
    return Decided(one.that, "refuted" if broken else "confirmed", f"{kept}: {span}.", trials=numbers)


def _test(one: Expectation, valid: Sequence[MeasuredOutcome], than: Levels) -> _Tested | None:
    """The `_Tested` of one expectation, or None without a block that has all trials of both cells."""
    first, second = (_by_pair(one, valid, levels) for levels in (one.levels, than))
    pairs = {key: _gap(one, first[key][1], second[key][1]) for key in first.keys() & second.keys()}
    # Limited trials count here: a block needs the level that they leave out.
    needed = {_rest(o, one.levels) for o in valid if _meets(o, one.levels) or _meets(o, than)}
    values = block_means(pairs, sorted(needed))
    if not values:
        return None
    used = [key for key in pairs if key[1] in values]
    trials = tuple(sorted(number for key in used for number in (first[key][0], second[key][0])))
    return _tested(one, list(values.values()), trials)


def _is_of_ratio(one: Expectation) -> bool:
    is_alone = one.relation != "within" and one.plus == 0 and one.times not in (0, 1)
    return is_alone and one.times > 0 and MEASURES[one.measure].is_positive


def _gap(one: Expectation, value: float, than: float) -> float:
    """0 where the expectation just does not hold; of a ratio, in logarithms."""
    if _is_of_ratio(one):
        return math.log(value / (one.times * than))
    return value - one.times * than - (0.0 if one.relation == "within" else one.plus)


def _tested(one: Expectation, gaps: Sequence[float], trials: tuple[int, ...]) -> _Tested:
    margin = one.plus if one.relation == "within" else 0.0
    difference = t_interval(gaps)
    centre = abs(difference.centre) - margin if one.relation == "within" else difference.centre
    holds = centre > 0 if one.relation == "above" else centre < 0
    if len(gaps) < 2:
        return _Tested(difference, holds, None, None, trials)
    spread = float(np.std(gaps, ddof=1))
    # The p-values of such differences if their mean were below the margin's lower end, or above its upper end.
    above, below = _p_above(gaps, -margin), 1 - _p_above(gaps, margin)
    if one.relation == "within":
        # Two one-sided tests that both have to hold (Schuirmann 1987); a mean beyond either bound is evidence against.
        against = 2 * min(1 - above, 1 - below, 0.5)
        return _Tested(difference, holds, max(above, below), against, trials, spread)
    p = 2 * min(above, below)
    return _Tested(difference, holds, p, p, trials, spread)


def _rest(outcome: MeasuredOutcome, levels: Levels) -> CellKey:
    return tuple(item for item in outcome.cell if item[0] not in levels)


def _by_pair(
    one: Expectation, valid: Sequence[MeasuredOutcome], levels: Levels
) -> dict[tuple[CellKey, BlockKey], tuple[int, float]]:
    """{(other levels, block): (trial, value)}."""
    found = {}
    for outcome in judged(one.measure, valid):
        value = MEASURES[one.measure].of(outcome) if _meets(outcome, levels) else None
        if value is not None:
            found[(_rest(outcome, levels), outcome.block)] = (outcome.number, value)
    return found


def _detectable(one: Expectation, tested: _Tested, alpha: float) -> float | None:
    if tested.spread is None:
        return None
    find = power.detectable_by_equivalence if one.relation == "within" else power.detectable_by_t_test
    found = find(tested.difference.n, alpha)
    if found is None or not _is_of_ratio(one):
        return None if found is None else found * tested.spread
    return one.times * math.exp((1 if one.relation == "above" else -1) * min(found * tested.spread, power.LOG_MAX))


def _p_above(values: Sequence[float], bound: float) -> float:
    """One-sided p of "the mean is at most `bound`"; small where the data show that the mean is above."""
    gaps = np.asarray(values, dtype=float)
    gap, error = float(gaps.mean()) - bound, float(gaps.std(ddof=1)) / math.sqrt(gaps.size)
    if error <= ROUNDING * max(1.0, abs(gap)):
        return 0.5 if abs(gap) <= ROUNDING else 0.0 if gap > 0 else 1.0
    return float(stats.ttest_1samp(gaps, bound, alternative="greater").pvalue)


def _decide_test(one: Expectation, tested: _Tested | None, p_holm: float, alpha: float, family: int) -> Decided:
    if tested is None:
        return Decided(one.that, "undecided", "there is no block with all the trials that it needs.")
    blocks, p = wording.count_of(tested.difference.n, "block"), wording.p_text(tested.p)
    if tested.p is None or tested.p_against is None:
        result, why = "undecided", "one block cannot decide; a new run needs two repetitions or more."
    elif tested.holds and p_holm < alpha:
        result, why = "confirmed", f"{blocks}, p {p}."
    elif not tested.holds and tested.p_against * family < alpha:
        result, why = "refuted", f"{blocks} point the other way, p {wording.p_text(tested.p_against)}."
    else:
        way = "the expected way" if tested.holds else "the other way"
        result, why = "undecided", f"{blocks} point {way}, p {p}, which is not clear enough."
    detectable = _detectable(one, tested, alpha / family)
    decided = Decided(one.that, result, why, None, p_holm, tested.trials, detectable)
    if _is_of_ratio(one):
        return replace(decided, ratio=tested.difference.map(lambda gap: one.times * math.exp(gap)))
    return replace(decided, difference=tested.difference)
