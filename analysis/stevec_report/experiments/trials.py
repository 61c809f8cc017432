"""The table of trials of every section."""

from stevec_report.analysis import Analysis
from stevec_report.blocks import Cell, Column, Row, Table, judged_cell
from stevec_report.outcomes import Outcome


def table(analysis: Analysis) -> Table:
    """One row per planned trial, with everything that was read and counted."""
    factors = list(dict.fromkeys(factor for o in analysis.outcomes for factor, _ in o.cell))
    columns = [
        Column("trial", "trial", "text"),
        *[Column(f"cell_{factor}", factor, "text", left=True) for factor in factors],
        Column("repetition", "rep.", "text"),
        Column("state", "state", "text", left=True),
        Column("requests_sent", "sent", "count"),
        Column("background_sent", "background", "count"),
        Column("counter", "counter", "count"),
        Column("counter_writes", "of it writes", "count"),
        Column("served_by_cache", "by cache", "count"),
        Column("failed", "failed", "count"),
        Column("never_sent", "never sent", "count"),
        Column("mean_ms", "mean, ms"),
        Column("p50_ms", "p50"),
        Column("p95_ms", "p95"),
        Column("p99_ms", "p99"),
        Column("max_ms", "max"),
        Column("service_p99_ms", "p99 from sending"),
        Column("lag_p99_ms", "lag, p99"),
        Column("generator_cpu_share", "generator CPU", "percent"),
        Column("generator_limited", "limited", "text"),
        Column("started_at", "began", "text", left=True),
        Column("cache_statuses", "cache statuses", "text", left=True),
        Column("reasons", "invalid because", "text", left=True),
    ]
    return Table(
        "trials",
        "Every trial, in the order they were run.",
        "Times of answered requests of the probe, in ms; in the open model from the planned time, and beside it from "
        "the sending. Lag: from the planned time to the sending. The counter and what was served by a cache include "
        "the background.",
        columns,
        [_trial_row(outcome) for outcome in analysis.outcomes],
    )


def _trial_row(outcome: Outcome) -> Row:
    record, stats = outcome.record, outcome.stats
    row = {
        "trial": Cell(outcome.number, trials=(outcome.number,)),
        "state": judged_cell(outcome.valid),
        "reasons": "; ".join(outcome.reasons),
    }
    if record:
        row |= {f"cell_{factor}": level for factor, level in record.cell.items()}
        row |= {
            "repetition": record.repetition,
            "requests_sent": record.requests_sent,
            "counter": record.counter_requests,
            "counter_writes": record.counter_writes,
            "never_sent": record.never_sent,
            "lag_p99_ms": record.lag_p99_ms,
            "generator_cpu_share": record.generator_cpu_share,
            "generator_limited": "limited" if outcome.limited else "",
            "started_at": record.started_at.isoformat(timespec="milliseconds"),
        }
    if stats:
        background = stats.background
        row |= {
            "background_sent": background.requests if background else None,
            "served_by_cache": stats.served_by_cache + (background.served_by_cache if background else 0),
            "failed": stats.failures + (background.failures if background else 0),
            "mean_ms": stats.mean_ms,
            "p50_ms": stats.p50_ms,
            "p95_ms": stats.p95_ms,
            "p99_ms": stats.p99_ms,
            "max_ms": stats.max_ms,
            "service_p99_ms": stats.service_p99_ms,
            "cache_statuses": ", ".join(f"{name or 'none'} {n}" for name, n in stats.cache_statuses.items()),
        }
    return row
