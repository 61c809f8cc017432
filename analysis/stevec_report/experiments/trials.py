"""The table of trials of every section."""

from stevec_report import percentiles
from stevec_report.analysis import Analysis
from stevec_report.blocks import Cell, Column, Row, Table, judged_cell
from stevec_report.order_statistics import BEYOND_MIN, enough
from stevec_report.outcomes import Outcome
from stevec_report.wording import NOT_RECORDED

SHOWN = (0.5, 0.95, 0.99)
ROWS_MAX = 16  # on the page; the CSV file has all


def table(analysis: Analysis) -> Table:
    """One row per planned trial, with everything that was read and counted."""
    factors = list(dict.fromkeys(factor for o in analysis.outcomes for factor, _ in o.cell))
    columns = [
        Column("trial", "trial", "text"),
        *[Column(f"cell_{factor}", factor, "text", left=True) for factor in factors],
        Column("repetition", "rep.", "text"),
        *([Column("conditions", "conditions", "text")] if any(o.conditions.number for o in analysis.outcomes) else []),
        Column("state", "state", "text", left=True),
        Column("requests_sent", "sent", "count"),
        Column("background_sent", "background", "count", on_page=False),
        Column("counter", "counter", "count"),
        Column("counter_writes", "of it writes", "count", on_page=False),
        Column("served_by_cache", "by cache", "count"),
        Column("failed", "failed", "count"),
        Column("never_sent", "never sent", "count", on_page=False),
        Column("mean_ms", "mean, ms"),
        Column("p50_ms", "p50", "interval", on_page=False),
        Column("p95_ms", "p95", "interval", on_page=False),
        Column("p99_ms", "p99", "interval"),
        Column("max_ms", "max"),
        Column("service_p99_ms", "p99 from sending", on_page=False),
        Column("lag_p50_ms", "lag, p50", on_page=False),
        Column("lag_p99_ms", "lag, p99", on_page=False),
        Column("lag_max_ms", "lag, most", on_page=False),
        Column("generator_cpu_share", "generator CPU", "percent", on_page=False),
        Column("limited_by", "limited by", "text", left=True),
        Column("evidence", "evidence", "text", left=True, on_page=False),
        Column("disturbed", "disturbed by", "text", left=True, on_page=False),
        Column("started_at", "began", "text", left=True, on_page=False),
        Column("cache_statuses", "cache statuses", "text", left=True, on_page=False),
        Column("reasons", "invalid because", "text", left=True, wrap=True),
    ]
    return Table(
        "trials",
        "Every trial, in the order they were run.",
        "Times are those of answered requests of the probe, in ms, in the open model from their planned time. The "
        "counter and the requests that the cache served include the background. Percentiles have their 95 % interval "
        f"from order statistics; a dash: fewer than {BEYOND_MIN} answered requests lie beyond.",
        columns,
        [_trial_row(outcome) for outcome in analysis.outcomes],
        rows_max=ROWS_MAX,
    )


def _trial_row(outcome: Outcome) -> Row:
    record, stats = outcome.record, outcome.stats
    row = {
        "trial": Cell(outcome.number, trials=(outcome.number,)),
        "conditions": outcome.conditions.number,
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
            "generator_cpu_share": record.generator_cpu_share,
            "limited_by": outcome.limited_by or "",
            "evidence": record.saturation.evidence if record.saturation else "",
            "disturbed": outcome.disturbed if record.saturation else NOT_RECORDED,
            "started_at": record.started_at.isoformat(timespec="milliseconds"),
        }
        row |= {f"lag_{name}_ms": getattr(record.lag, f"{name}_ms", None) for name in ("p50", "p99", "max")}
    if stats:
        background = stats.background
        row |= {
            "background_sent": background.requests if background else None,
            "served_by_cache": stats.served_by_cache + (background.served_by_cache if background else 0),
            "failed": stats.failures + (background.failures if background else 0),
            "mean_ms": stats.mean_ms,
            **{f"p{100 * level:g}_ms": percentiles.of_trial(stats, level) for level in SHOWN},
            "max_ms": stats.max_ms,
            "service_p99_ms": stats.service_p99_ms if enough(stats.answered, 0.99) else None,
            "cache_statuses": ", ".join(f"{name or 'none'} {n}" for name, n in stats.cache_statuses.items()),
        }
    return row
