"""E3 in the open model: requests arrive at a stepped rate that does not depend on the server."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from stevec_report import limits, percentiles
from stevec_report.analysis import Analysis
from stevec_report.averages import median
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Table, trials_cell
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.experiments.common import Strip
from stevec_report.figures import saturation
from stevec_report.origin import without_capacity
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.rows import FAILED, LIMITED, SLOW, count_sent, share
from stevec_report.wording import interval_text

KEEPS_UP = 0.95  # of the offered rate


def blocks(analysis: Analysis) -> list[Block]:
    """The saturation curve over the offered rate, and its table."""
    if analysis.run.origin.emulated:
        return [without_capacity("What each door answers of an offered rate")]
    doors = {door: {"points": _points(analysis, door), "law": None, "knee": None} for door in analysis.run.doors}
    return [
        Figure(
            "saturation-open",
            "Offered, achieved and failed requests in the open model",
            "Open model: requests are planned at a fixed rate. Above: requests answered and offered per second; "
            "below: response time from the planned time (logarithmic), and the share that failed or was never sent. "
            "Hollow points are limited trials and say nothing of the server; a rate without others interrupts the "
            "line. Upright lines are 95 % intervals.",
            lambda: saturation.draw(doors, "offered requests a second", offered=True),
        ),
        _table(analysis),
    ]


def evidence(analysis: Analysis) -> None:
    """Decides none of the study's six hypotheses: the study had no open model."""
    return None


def strips(analysis: Analysis) -> list[Strip]:
    """The lowest and the highest rate of each door."""
    rates = analysis.levels("rate_per_s")
    return [
        (
            f"{door}, {rate} requests a second",
            door,
            [o.number for o in analysis.select(door=door, rate_per_s=rate)],
        )
        for door in analysis.run.doors
        for rate in (dict.fromkeys([rates[0], rates[-1]]) if rates else [])
    ]


def _points(analysis: Analysis, door: str) -> list[dict[str, Any]]:
    depending = run_dependence(analysis)
    return [
        _point(rate, trials, depending)
        for rate in analysis.levels("rate_per_s")
        if isinstance(rate, int | float)
        for trials in limits.apart(analysis.select(door=door, rate_per_s=rate))
    ]


def _point(rate: float, trials: Sequence[MeasuredOutcome], depending: Dependence) -> dict[str, Any]:
    offered, failed, _ = _counts(trials)
    mean_ms, p99 = depending.mean("mean_ms", trials), percentiles.over_trials(trials, 0.99, depending)
    return {
        "load": rate,
        "trials": trials,
        "per_s": statistics.median([_achieved(o) for o in trials]),
        "per_s_trials": [_achieved(o) for o in trials],
        "per_s_interval": depending.arithmetic({o.number: _achieved(o) for o in trials}),
        "mean_ms": mean_ms.centre if mean_ms else None,
        "mean_ms_trials": [o.mean_ms for o in trials if o.mean_ms],
        "mean_ms_interval": mean_ms,
        "p99": p99,
        "p99_ms": p99.centre if p99 else None,
        "failed": share(failed, offered),
        "limited_by": limits.cell_text(trials),
    }


def _counts(trials: Sequence[MeasuredOutcome]) -> tuple[int, int, int]:
    """(offered, failed or never sent, never sent) requests."""
    never_sent = sum(o.record.never_sent for o in trials)
    return count_sent(trials) + never_sent, sum(o.stats.failures for o in trials) + never_sent, never_sent


def _p99_of_all(trials: Sequence[MeasuredOutcome], depending: Dependence) -> str:
    """The 99th percentile of all planned requests, as `percentiles.over_trials`: as text, as it may be a limit."""
    if not all(math.isfinite(o.stats.all_p99_ms) for o in trials):
        return f"> {min(o.record.number('timeout_s', 60) for o in trials):g} s"
    return interval_text(percentiles.mean_of(trials, 0.99, lambda o: o.stats.all_p99_ms, depending))


def _achieved(outcome: MeasuredOutcome) -> float:
    return outcome.stats.completed_per_s or 0.0


def _table(analysis: Analysis) -> Table:
    columns = [
        Column("door", "door", "text", left=True),
        Column("offered_per_s", "offered, 1/s", "number"),
        Column("achieved_per_s", "answered, 1/s", "number"),
        Column("never_sent_share", "never sent", "percent"),
        FAILED,
        SLOW,
        Column("mean_ms", "mean, ms", "number"),
        Column("p99_ms", "p99", "interval"),
        Column("p99_of_all", "p99 of all", "text"),
        Column("service_p99_ms", "p99 from sending", "interval"),
        Column("lag_p50_ms", "p50", "number", group="lag"),
        Column("lag_p99_ms", "p99", "number", group="lag"),
        Column("lag_max_ms", "most", "number", group="lag"),
        Column("keeps_up", "keeps up", "text"),
        LIMITED,
        TRIALS_COLUMN,
    ]
    rows, depending = [], run_dependence(analysis)
    for door in analysis.run.doors:
        for point in _points(analysis, door):
            trials = point["trials"]
            lags = [o.record.lag for o in trials if o.record.lag]
            offered, _, never_sent = _counts(trials)
            keeps = point["per_s"] >= KEEPS_UP * point["load"]
            rows.append(
                {
                    "door": door,
                    "offered_per_s": point["load"],
                    "achieved_per_s": point["per_s"],
                    "never_sent_share": share(never_sent, offered),
                    "failed_share": share(sum(o.stats.failures for o in trials), offered),
                    "slow_share": share(sum(o.stats.slow for o in trials), offered),
                    "mean_ms": point["mean_ms"],
                    "p99_ms": point["p99"],
                    "p99_of_all": _p99_of_all(trials, depending),
                    "service_p99_ms": percentiles.mean_of(trials, 0.99, lambda o: o.stats.service_p99_ms, depending),
                    "lag_p50_ms": median(lag.p50_ms for lag in lags),
                    "lag_p99_ms": median(lag.p99_ms for lag in lags),
                    "lag_max_ms": max((lag.max_ms for lag in lags if lag.max_ms is not None), default=None),
                    "keeps_up": "cannot be decided" if point["limited_by"] else "yes" if keeps else "no",
                    "limited_by": point["limited_by"],
                    "trials": trials_cell(o.number for o in trials),
                }
            )
    return Table(
        "saturation-open",
        "Offered and answered, by rate.",
        f"A door keeps up if it answers {100 * KEEPS_UP:.0f} % of the offered rate or more. Shares are of the "
        "requests offered, those included that were never sent because no requester was free before they timed out. "
        "Times in ms, of answered requests from the moment at which each was planned; “from sending” leaves out the "
        "lag, from the plan to the sending. In “p99 of all”, requests that failed or were never sent took longer "
        "than the limit. Limited trials have rows of their own, which do not tell whether the door keeps up. "
        + percentiles.NOTE
        + limits.ADVICE,
        columns,
        rows,
    )
