"""How long the first requests of a trial take beside its later ones: does a trial begin warm?

Requests are compared with others of their kind alone: writes, reads that a cache served, and other reads. While a cache
fills, the share of the kinds changes by design, and the time of one kind should not.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from stevec_report.trial_record import TrialRecord

KINDS = ("reads from a cache", "reads from the origin", "writes")
FIRST_MIN = 10  # requests of the beginning; the second half of the trial has at least as many
FIRST_SHARE = 0.1


@dataclass(frozen=True)
class EarlyTime:
    """Mean durations of answered requests of one kind, in ms: of the first tenth, and of the last half of a trial."""

    requests: int
    first_ms: float
    later_ms: float

    @property
    def ratio(self) -> float:
        """First ÷ later."""
        return self.first_ms / self.later_ms


def has_steady_load(record: TrialRecord) -> bool:
    """Whether the load of a trial is the same from its beginning to its end, so that its times should be, too.

    It is not in a burst, while the origin is down, and in a crowd of which each client sends one request.
    """
    crowd = record.setting("model") == "closed" and record.number("vus", 1) >= record.requests_sent
    return record.setting("burst") is None and record.fault is None and not crowd


def measure_early(database: duckdb.DuckDBPyConnection, record: TrialRecord, file: Path) -> dict[str, EarlyTime]:
    """Return {one of KINDS: `EarlyTime`} of the probe of a trial; {} if its load is not steady.

    A kind with fewer than two times FIRST_MIN requests is left out. Durations count from the sending.
    """
    if not has_steady_load(record):
        return {}
    rows = database.execute(
        f"""
        WITH ranked AS (
            SELECT CASE WHEN NOT is_read THEN 2 WHEN served THEN 0 ELSE 1 END AS kind,
                   CAST(round(1000000 * duration_ms) AS BIGINT) AS duration_ns,
                   row_number() OVER (PARTITION BY kind ORDER BY sent_at_us, iteration) AS place,
                   count(*) OVER (PARTITION BY kind) AS requests
            FROM read_parquet(?) WHERE answered)
        SELECT kind, any_value(requests), {_mean_ms(f"place <= greatest({FIRST_MIN}, {FIRST_SHARE} * requests)")},
               {_mean_ms("2 * place > requests")}
        FROM ranked WHERE requests >= {2 * FIRST_MIN} GROUP BY kind ORDER BY kind
        """,
        [str(file)],
    ).fetchall()
    return {
        KINDS[kind]: EarlyTime(requests, first_ms, later_ms)
        for kind, requests, first_ms, later_ms in rows
        if first_ms > 0 and later_ms > 0
    }


def _mean_ms(condition: str) -> str:
    """SQL for a mean that does not depend on the order of the rows: a sum of whole nanoseconds."""
    return f"CAST(sum(duration_ns) FILTER ({condition}) AS DOUBLE) / 1000000 / count(*) FILTER ({condition})"
