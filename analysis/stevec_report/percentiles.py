"""Percentiles of response times with their intervals: of one trial, and over the trials of a cell.

A trial's percentile has an interval from order statistics, which is about the requests of that trial alone. A "p99 over
trials" is the same everywhere: the geometric mean of the trials' own p99, with the interval that means of times have. A
median would have no interval with fewer than six trials, and a maximum grows with their number.
"""

from collections.abc import Callable, Iterable

from stevec_report.dependence import Dependence
from stevec_report.intervals import Interval
from stevec_report.order_statistics import BEYOND_MIN, enough
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.trial_stats import TrialStats

NOTE = (
    "Percentiles are the geometric mean of the trials' own with its 95 % interval; a dash: fewer than "
    f"{BEYOND_MIN} answered requests of a trial lie beyond (p99 needs 1000, p99.9 10 000). "
)


def of_trial(stats: TrialStats, level: float) -> Interval | None:
    """A trial's percentile `level` in ms with its interval; None where too few requests were answered."""
    value_ms, bounds_ms = stats.percentile_ms(level), stats.percentile_bounds_ms.get(level)
    return None if value_ms is None or bounds_ms is None else Interval(value_ms, *bounds_ms, stats.answered)


def over_trials(trials: Iterable[MeasuredOutcome], level: float, depending: Dependence) -> Interval | None:
    """The percentile `level` over `trials` in ms, of those that answered enough requests; None without any."""
    return mean_of(trials, level, lambda trial: trial.stats.percentile_ms(level), depending)


def mean_of(
    trials: Iterable[MeasuredOutcome],
    level: float,
    of: Callable[[MeasuredOutcome], float | None],
    depending: Dependence,
) -> Interval | None:
    """As `over_trials`, for the percentile `of` a trial: of other times than the response time."""
    able = [trial for trial in trials if enough(trial.stats.answered, level)]
    return depending.geometric({trial.number: value for trial in able if (value := of(trial))})
