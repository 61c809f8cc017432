"""One row a trial, with everything that was read and counted: trials.csv."""

HEADER = [
    "trial",
    "folder",
    "repetition",
    "door",
    "valid",
    "reasons",
    "started_at",
    "requests_sent",
    "samples",
    "failed_requests",
    "distinct_pages",
    "origin_requests",
    "served_by_cache",
    "cache_statuses",
    "mean_ms",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "max_ms",
    "dropped_iterations",
    "generator_cpu_share",
    "generator_limited",
]


def rows_csv(analysis):
    """Return (header, rows) over all planned trials; what could not be read is empty."""
    return HEADER, [_row(outcome) for outcome in analysis.outcomes]


def _row(outcome):
    record, stats = outcome.record, outcome.stats
    row = {
        "trial": outcome.number,
        "folder": outcome.folder,
        "valid": _flag(outcome.valid),
        "reasons": "; ".join(outcome.reasons),
    }
    if record:
        row |= {
            "repetition": record.repetition,
            "door": record.door,
            "started_at": record.started_at.isoformat(timespec="milliseconds"),
            "requests_sent": record.requests_sent,
            "origin_requests": record.counter_requests,
            "dropped_iterations": record.dropped_iterations,
            "generator_cpu_share": "" if record.generator_cpu_share is None else record.generator_cpu_share,
            "generator_limited": _flag(record.generator_limited),
        }
    if stats:
        row |= {
            "samples": stats.requests,
            "failed_requests": stats.failures,
            "distinct_pages": stats.distinct_pages,
            "served_by_cache": stats.served_by_cache,
            "cache_statuses": " ".join(f"{name or 'none'}={n}" for name, n in stats.cache_statuses.items()),
        }
        for name in ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"):
            value = getattr(stats, name)
            row[name] = "" if value is None else round(value, 6)
    return [row.get(column, "") for column in HEADER]


def _flag(value):
    return "true" if value else "false"
