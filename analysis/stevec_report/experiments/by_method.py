"""Requests by method: planned, answered, failed and with what, and the response times of those that were answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stevec_report import failure_kinds, limits
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Row, Table, Words, trials_cell
from stevec_report.dependence import run_dependence
from stevec_report.order_statistics import enough
from stevec_report.outcomes import MeasuredOutcome, cell_text, cells
from stevec_report.rows import LIMITED

METHODS = ("POST", "GET")
TIMES = ("mean_ms", "median_ms", "p99_ms", "min_ms", "max_ms")
TIME_COLUMNS = [
    Column("mean_ms", "mean, ms", "interval"),
    Column("median_ms", "median", "interval"),
    Column("p99_ms", "p99", "interval"),
    Column("min_ms", "min"),
    Column("max_ms", "max"),
]


@dataclass(frozen=True)
class Times:
    """One method in one trial; times in ms, of the answered requests (2xx, 3xx), None without any."""

    sent: int
    answered: int
    mean_ms: float | None
    median_ms: float | None
    p99_ms: float | None
    min_ms: float | None
    max_ms: float | None


def planned(analysis: Analysis, outcome: MeasuredOutcome) -> dict[str, int]:
    """{method: requests that the trial plans}; an edit that is read back is one of each."""
    plan = analysis.run.plans[outcome.record.plan]
    also_read = plan.writes if outcome.record.setting("edit") != "post" else 0
    return {"POST": plan.writes, "GET": plan.requests - plan.writes + also_read}


def planned_in_all(analysis: Analysis, outcome: MeasuredOutcome) -> int:
    """The requests of both methods that the trial plans."""
    return sum(planned(analysis, outcome).values())


def blocks(analysis: Analysis) -> list[Block]:
    """The table of response times by method, and that of failures, or the words that there is none."""
    rows, failures = [], []
    for cell, trials in cells(analysis.valid).items():
        found = {o.number: of_trial(analysis, o) for o in trials}
        for method in METHODS:
            # Also where none was sent: each is a failure.
            if any(planned(analysis, o)[method] for o in trials):
                rows.append(_row(analysis, cell_text(cell), method, trials, found))
                failures += _failures(analysis, cell_text(cell), method, trials, found)
    return [_table(rows), _failure_table(failures)]


def of_trial(analysis: Analysis, outcome: MeasuredOutcome) -> dict[str, Times]:
    """{method: its `Times`} of one trial."""
    rows = analysis.samples.query(
        "SELECT method, count(*), count(*) FILTER (answered), avg(response_ms) FILTER (answered), "
        "quantile_cont(response_ms, 0.5) FILTER (answered), quantile_cont(response_ms, 0.99) FILTER (answered), "
        "min(response_ms) FILTER (answered), max(response_ms) FILTER (answered) FROM {samples} GROUP BY method",
        [outcome.number],
    )
    return {method: Times(*values) for method, *values in rows}


def _row(
    analysis: Analysis,
    cell: str,
    method: str,
    trials: Sequence[MeasuredOutcome],
    found: dict[int, dict[str, Times]],
) -> Row:
    depending = run_dependence(analysis)
    timed = [o for o in limits.believed(trials) if method in found[o.number]]
    own = {o.number: found[o.number][method] for o in timed}

    def mean(name: str, level: float | None = None) -> Any:
        values = {number: getattr(times, name) for number, times in own.items()}
        return depending.geometric(
            {n: v for n, v in values.items() if v and (level is None or enough(own[n].answered, level))}
        )

    answered = sum(found[o.number][method].answered for o in trials if method in found[o.number])
    wanted = sum(planned(analysis, o)[method] for o in trials)
    return {
        "cell": cell,
        "method": method,
        "planned": wanted,
        "succeeded": answered,
        "failed": wanted - answered,
        "mean_ms": mean("mean_ms"),
        "median_ms": mean("median_ms", 0.5),
        "p99_ms": mean("p99_ms", 0.99),
        "min_ms": min((times.min_ms for times in own.values() if times.min_ms is not None), default=None),
        "max_ms": max((times.max_ms for times in own.values() if times.max_ms is not None), default=None),
        "limited_by": limits.cell_text(trials),
        "trials": trials_cell(o.number for o in trials),
    }


def _table(rows: Sequence[Row]) -> Table:
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("method", "method", "text", left=True),
        Column("planned", "planned", "count"),
        Column("succeeded", "succeeded", "count"),
        Column("failed", "failed", "count"),
        *TIME_COLUMNS,
        LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "by-method",
        "Response times by method.",
        "Times are of the requests that succeeded (2xx, 3xx): a request that failed, or was never sent, is counted "
        "under failed and is in no percentile. Means and percentiles are geometric means of the trials’ own with 95 % "
        "intervals; least and greatest are of all trials. A dash: fewer than ten requests of each trial lie beyond the "
        "percentile.",
        columns,
        list(rows),
    )


def _failures(
    analysis: Analysis,
    cell: str,
    method: str,
    trials: Sequence[MeasuredOutcome],
    found: dict[int, dict[str, Times]],
) -> list[Row]:
    """One row for each kind of failure; requests that were planned and never sent are a kind, too."""
    kinds: dict[str, list[int]] = {}
    for o in trials:
        own = failure_kinds.count_failures(analysis.samples.database, analysis.samples.path(o.number), method)
        never_sent = planned(analysis, o)[method] - (found[o.number][method].sent if method in found[o.number] else 0)
        for kind, count in {**own, "never sent": never_sent}.items():
            if count > 0:
                kinds.setdefault(kind, []).extend([o.number] * count)
    wanted = sum(planned(analysis, o)[method] for o in trials)
    return [
        {
            "cell": cell,
            "method": method,
            "kind": kind,
            "requests": len(numbers),
            "share": len(numbers) / wanted,
            "trials": trials_cell(dict.fromkeys(numbers)),
        }
        for kind, numbers in sorted(kinds.items())
    ]


def _failure_table(rows: Sequence[Row]) -> Block:
    if not rows:
        return Words("p", "No request of a valid trial failed, by any method.")
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("method", "method", "text", left=True),
        Column("kind", "failed with", "text", left=True),
        Column("requests", "requests", "count"),
        Column("share", "of those planned", "percent"),
        Column("trials", "in trials", "text", left=True),
    ]
    return Table(
        "failures-by-method",
        "Failures by method and kind.",
        "Requests without a response, by k6’s error code; with a status of 400 or more; with a response that is not "
        "the right one; or planned and never sent.",
        columns,
        list(rows),
    )
