"""Decides the expectations that an experiment states before its run: confirmed, refuted or undecided.

Expectations are data (`expectations` in loadgen/experiments/*.json) and are copied into the run's manifest, so none is
added after the fact. Each is about one measure of a trial. With a `value` it is a count, which every trial has to
match exactly. With another cell (`than`) it is a paired t test of the differences between trials of the same block and
the same other levels. Limited trials decide no expectation on a time (`measures.py`). A trial's value is a mean over
thousands of requests, so a few trials are enough for a t test. The sign-flip test, which decides the study's
hypotheses, cannot reach significance below six pairs. All tests of an experiment are one family, corrected by Holm's
procedure, whether or not there are trials for each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr

from stevec_report import limits, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Cell, Column, Table, trials_cell
from stevec_report.hypothesis_tests import ALPHA, holm
from stevec_report.intervals import Interval, t_interval
from stevec_report.levels import level_text
from stevec_report.measures import MEASURES, judged
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.verdicts import CANNOT

EXPECTATIONS_MAX = 30
Levels = dict[str, tuple[str, ...]]
TEXT_MAX_CHARS = 300
COUNTS = {"at_most": lambda seen, value: seen <= value, "at_least": lambda seen, value: seen >= value}
TESTS = ("below", "above", "within")
ROUNDING = 1e-12


@dataclass(frozen=True)
class Expectation:
    """One entry of `expectations`. `levels`, `than` are {factor: levels as text}; exactly one of `than`, `value` is
    set. A test compares the measure with `times` the measure of `than`, plus `plus`; "within" allows `plus` to both
    sides."""

    that: str
    measure: str
    levels: Levels
    relation: str
    than: Levels | None = None
    value: float | None = None
    times: float = 1.0
    plus: float = 0.0


@dataclass(frozen=True)
class Decided:
    """`result` is confirmed, refuted or undecided; `why` gives the reason in one sentence.

    For a test, `difference` is the difference with its interval, `p_holm` the p after the correction.
    """

    that: str
    result: str
    why: str
    difference: Interval | None = None
    p_holm: float | None = None
    trials: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Tested:
    """`holds` is whether the mean difference lies where expected. `p` is small if that is significant, `p_against` is
    small if a difference elsewhere is significant; both are None with a single pair."""

    difference: Interval
    holds: bool
    p: float | None
    p_against: float | None
    trials: tuple[int, ...]


def read(experiment: dict[str, Any]) -> list[Expectation]:
    """Return the `Expectation`s of a run's experiment, [] if it states none. ValueError on an invalid one."""
    entries = experiment.get("expectations", [])
    if not isinstance(entries, list) or len(entries) > EXPECTATIONS_MAX:
        raise ValueError(f"expectations is not a list of at most {EXPECTATIONS_MAX}")
    return [_read(entry, f"expectations[{at}]") for at, entry in enumerate(entries)]


def decide(analysis: Analysis) -> list[Decided]:
    """Return the `Decided` of each expectation of the run, in their order."""
    try:
        expected = read(analysis.run.experiment)
    except ValueError as error:
        return [Decided("What the experiment expects", "undecided", f"the manifest is not understood: {error}.")]
    tests = {at: _test(one, analysis.valid, one.than) for at, one in enumerate(expected) if one.than is not None}
    corrected = holm({at: tested.p if tested else None for at, tested in tests.items()})
    return [
        _with_left_out(
            one,
            _decide_test(one, tests[at], corrected[at], len(tests)) if at in tests else _count(one, analysis.valid),
            analysis.valid,
        )
        for at, one in enumerate(expected)
    ]


def table(decided: Sequence[Decided]) -> list[Table]:
    """The report's table, in a list; [] without expectations."""
    if not decided:
        return []
    columns = [
        Column("that", "expected", "text", left=True, wrap=True),
        Column("verdict", "verdict", "text", left=True),
        Column("why", "because", "text", left=True, wrap=True),
        Column("difference", "difference (95 % interval)", "interval"),
        Column("p_holm", "p, Holm", "p"),
        TRIALS_COLUMN,
    ]
    rows = [
        {
            "that": one.that,
            "verdict": Cell(one.result, mark=one.result),
            "why": one.why,
            "difference": one.difference,
            "p_holm": one.p_holm,
            "trials": trials_cell(one.trials),
        }
        for one in decided
    ]
    note = (
        "Stated with the experiment, before the run. What has a p is a paired t test over trials of one repetition, "
        "corrected by Holm’s procedure over all tests of this table: confirmed if it points the expected way with p "
        "below 0.05, refuted if it points the other way so clearly. The others are counts: each trial has to keep "
        "them. Limited trials decide nothing about times, ages of copies, and failures."
    )
    return [Table("expectations", "What was expected, and what came of it.", note, columns, rows)]


def count_words(decided: Sequence[Decided]) -> str:
    """`3 confirmed, 0 refuted and 1 undecided`."""
    results = [one.result for one in decided]
    return wording.join_words(f"{results.count(r)} {r}" for r in ("confirmed", "refuted", "undecided"))


def _read(entry: Any, name: str) -> Expectation:
    known = {"that", "measure", "in", "is", "than", "value", "times", "plus"}
    if not isinstance(entry, dict) or entry.keys() - known:
        raise ValueError(f"{name} is not an object of {', '.join(sorted(known))}")
    that, measure, relation = entry.get("that"), entry.get("measure"), entry.get("is")
    if not isinstance(that, str) or not 0 < len(that) <= TEXT_MAX_CHARS:
        raise ValueError(f"{name}.that is not a sentence")
    if measure not in MEASURES:
        raise ValueError(f"{name}.measure is none of {', '.join(MEASURES)}")
    if ("than" in entry) == ("value" in entry):
        raise ValueError(f"{name} needs either than or value")
    if not isinstance(relation, str) or relation not in (TESTS if "than" in entry else COUNTS):
        raise ValueError(f"{name}.is is none of {', '.join(TESTS)} (than), {', '.join(COUNTS)} (value)")
    numbers = {key: entry[key] for key in ("value", "times", "plus") if key in entry}
    for key, number in numbers.items():
        if type(number) not in (int, float) or not math.isfinite(number):
            raise ValueError(f"{name}.{key} is not a number")
    levels = _levels(entry.get("in"), f"{name}.in")
    than = _levels(entry["than"], f"{name}.than") if "than" in entry else None
    several = any(len(names) > 1 for names in (*levels.values(), *(than or {}).values()))
    if than is not None and (levels.keys() != than.keys() or several):
        raise ValueError(f"{name}: in and than name one level each of the same factors")
    if relation == "within" and not numbers.get("plus", 0) > 0:
        raise ValueError(f"{name}: within needs plus, above 0")
    return Expectation(that, measure, levels, relation, than, **numbers)


def _levels(value: Any, name: str) -> Levels:
    if not isinstance(value, dict) or not value:
        raise ValueError(f'{name} is not an object such as {{"policy": "ttl"}}')
    return {
        str(factor): tuple(map(level_text, levels)) if isinstance(levels, list) else (level_text(levels),)
        for factor, levels in value.items()
    }


def _meets(outcome: MeasuredOutcome, levels: Levels) -> bool:
    return all(outcome.record.cell.get(factor) in wanted for factor, wanted in levels.items())


def _with_left_out(one: Expectation, decided: Decided, valid: Sequence[MeasuredOutcome]) -> Decided:
    """The decision, with the reason and what to do where limited trials may have kept it open."""
    concerned = [o for o in valid if _meets(o, one.levels) or (one.than is not None and _meets(o, one.than))]
    left_out = limits.left_out(concerned) if MEASURES[one.measure].is_time else ""
    if decided.result != "undecided" or not left_out:
        return decided
    has_pairs = decided.difference is not None and decided.difference.n > 1
    return replace(decided, why=f"{'' if has_pairs else f'{CANNOT}: '}{decided.why} {left_out}")


def _count(one: Expectation, valid: Sequence[MeasuredOutcome]) -> Decided:
    values = {o.number: MEASURES[one.measure].of(o) for o in judged(one.measure, valid) if _meets(o, one.levels)}
    seen = [(number, value) for number, value in values.items() if value is not None]
    if not seen:
        return Decided(one.that, "undecided", "there is no valid trial that can tell.")
    numbers = tuple(number for number, _ in seen)
    broken = [value for _, value in seen if not COUNTS[one.relation](value, one.value)]
    ends = [end(value for _, value in seen) for end in (min, max)]
    span = " to ".join(dict.fromkeys(wording.three_digits(value) for value in ends))
    kept = f"true of {wording.part_of(len(seen) - len(broken), len(seen), 'trial')}"
    return Decided(one.that, "refuted" if broken else "confirmed", f"{kept}: {span}.", trials=numbers)


def _test(one: Expectation, valid: Sequence[MeasuredOutcome], than: Levels) -> _Tested | None:
    """The `_Tested` of one expectation, or None without a pair of trials."""
    first, second = (_by_pair(one, valid, levels) for levels in (one.levels, than))
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    trials = tuple(sorted(number for key in shared for number in (first[key][0], second[key][0])))
    margin = one.plus if one.relation == "within" else 0.0
    shift = 0.0 if one.relation == "within" else one.plus
    gaps = [first[key][1] - one.times * second[key][1] - shift for key in shared]
    difference = t_interval(gaps)
    centre = abs(difference.centre) - margin if one.relation == "within" else difference.centre
    holds = centre > 0 if one.relation == "above" else centre < 0
    if len(gaps) < 2:
        return _Tested(difference, holds, None, None, trials)
    # The p-values of such differences if their mean were below the margin's lower end, or above its upper end.
    above, below = _p_above(gaps, -margin), 1 - _p_above(gaps, margin)
    if one.relation == "within":
        # Two one-sided tests that both have to hold (Schuirmann 1987); a mean beyond either bound is evidence against.
        return _Tested(difference, holds, max(above, below), 2 * min(1 - above, 1 - below, 0.5), trials)
    p = 2 * min(above, below)
    return _Tested(difference, holds, p, p, trials)


def _by_pair(one: Expectation, valid: Sequence[MeasuredOutcome], levels: Levels) -> dict[Any, tuple[int, float]]:
    """{(other levels, block): (trial, value)}."""
    found = {}
    for outcome in judged(one.measure, valid):
        value = MEASURES[one.measure].of(outcome) if _meets(outcome, levels) else None
        if value is not None:
            rest = tuple(item for item in outcome.cell if item[0] not in levels)
            found[(rest, outcome.block)] = (outcome.number, value)
    return found


def _p_above(values: Sequence[float], bound: float) -> float:
    """One-sided p of "the mean is at most `bound`"; small where the data show that the mean is above."""
    gaps = np.asarray(values, dtype=float)
    gap, error = float(gaps.mean()) - bound, float(gaps.std(ddof=1)) / math.sqrt(gaps.size)
    if error <= ROUNDING * max(1.0, abs(gap)):
        return 0.5 if abs(gap) <= ROUNDING else 0.0 if gap > 0 else 1.0
    return float(stdtr(gaps.size - 1, -gap / error))


def _decide_test(one: Expectation, tested: _Tested | None, p_holm: float, family: int) -> Decided:
    if tested is None:
        return Decided(one.that, "undecided", "there is no pair of valid trials.")
    pairs, p = wording.count_of(tested.difference.n, "pair"), wording.p_text(tested.p)
    if tested.p is None or tested.p_against is None:
        result, why = "undecided", "one pair of trials cannot decide; run more repetitions."
    elif tested.holds and p_holm < ALPHA:
        result, why = "confirmed", f"{pairs} of trials, p {p}."
    elif not tested.holds and tested.p_against * family < ALPHA:
        result, why = "refuted", f"{pairs} of trials point the other way, p {wording.p_text(tested.p_against)}."
    else:
        way = "the expected way" if tested.holds else "the other way"
        result, why = "undecided", f"{pairs} of trials point {way}, p {p}, which is not clear enough."
    return Decided(one.that, result, why, tested.difference, p_holm, tested.trials)
