"""What many tables say of the valid trials of a row: the columns, and their values."""

from collections.abc import Sequence

from stevec_report import limits
from stevec_report.blocks import Column
from stevec_report.dependence import Dependence
from stevec_report.intervals import Interval
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.percentiles import over_trials

Trials = Sequence[MeasuredOutcome]

P50, P99 = Column("p50_ms", "p50, ms", "interval"), Column("p99_ms", "p99, ms", "interval")
FAILED = Column("failed_share", "failed", "percent")
SLOW = Column("slow_share", "over 4 s", "percent")
LIMITED = Column("limited_by", "limited by", "text", left=True, wrap=True)
LIMITED_NOTE = "Where only some trials of a row were limited, its response times, rates and failures are of the others."


def count_sent(trials: Trials) -> int:
    """Requests of the probe over all trials."""
    return sum(o.stats.requests for o in trials)


def failed_share(trials: Trials) -> float | None:
    """Share of the probe's planned requests that failed or were never sent, over all trials."""
    never_sent = sum(o.record.never_sent for o in trials)
    return share(sum(o.stats.failures for o in trials) + never_sent, count_sent(trials) + never_sent)


def slow_share(trials: Trials) -> float | None:
    """Share of the probe's requests that took longer than a user tolerates, over all trials."""
    return share(sum(o.stats.slow for o in trials), count_sent(trials))


def percentiles(trials: Trials, depending: Dependence) -> dict[str, Interval | None]:
    """The values of `P50` and `P99`, in ms."""
    return {"p50_ms": over_trials(trials, 0.5, depending), "p99_ms": over_trials(trials, 0.99, depending)}


def longest_ms(trials: Trials) -> float | None:
    """The longest response time of the probe over all trials, or None without any."""
    return max((o.stats.max_ms for o in trials if o.stats.max_ms is not None), default=None)


def limited_by(trials: Trials) -> str:
    """The value of `LIMITED`: what limited all or some of the trials; '' if nothing but the server did."""
    return limits.cell_text(trials)


def share(part: float, whole: float) -> float | None:
    """Part ÷ whole; None where the whole is 0."""
    return part / whole if whole else None
