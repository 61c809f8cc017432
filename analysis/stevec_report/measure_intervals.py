"""A measure over the trials of a cell, with the interval that tables and figures of the page show for it."""

from collections.abc import Sequence

from stevec_report import limits, percentiles, staleness
from stevec_report.analysis import Analysis
from stevec_report.dependence import run_dependence
from stevec_report.intervals import Interval, clipped, t_interval
from stevec_report.measures import MEASURES
from stevec_report.outcomes import MeasuredOutcome

SHARES = ("hit_ratio", "origin_offload", "failed_ratio")  # and stale_ratio, whose interval counts edits
GEOMETRIC = ("mean_ms", "wait_ms", "read_p99_ms", "write_p95_ms")
LEVELS = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}


def interval_of(analysis: Analysis, measure: str, trials: Sequence[MeasuredOutcome]) -> Interval | None:
    """The `Interval` of one of `measures.MEASURES` over the valid `trials` of a cell, in its unit; None if unknown.

    A maximum has no interval. Times and rates are of the trials that nothing limited, if there are some.
    """
    if measure == "stale_ratio":
        return staleness.ratio_of(analysis, trials)
    if measure in GEOMETRIC:
        return run_dependence(analysis).mean(measure, trials)
    if measure in LEVELS:
        return percentiles.over_trials(limits.believed(trials), LEVELS[measure], run_dependence(analysis))
    able = limits.believed(trials) if MEASURES[measure].is_time else trials
    values = {o.number: value for o in able if (value := MEASURES[measure].of(o)) is not None}
    if not values:
        return None
    if measure == "staleness_max_s":
        return Interval(max(values.values()), None, None, len(values))
    if measure == "answered_per_s":
        return run_dependence(analysis).arithmetic(values)
    return clipped(t_interval(list(values.values())), 1.0 if measure in SHARES else float("inf"))
