"""Condenses the samples of one trial into a row of statistics, with duckdb."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from stevec_report.door_times import DoorTime
from stevec_report.early import EarlyTime
from stevec_report.failure_kinds import count_failures
from stevec_report.freshness import ClusterSums, measure_files
from stevec_report.freshness.trial import TOLERANCE_MS
from stevec_report.intervals import Interval
from stevec_report.kind_percentiles import percentile_of
from stevec_report.order_statistics import enough, ranks
from stevec_report.sample_table import CACHE_SERVED, DONE_AT
from stevec_report.tolerance import TOLERATED_MS
from stevec_report.trial_fault import Fault

STATUSES_MAX = 50  # distinct cache statuses, and points of presence, kept for one trial

PERCENTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True)
class BackgroundStats:
    """Statistics of one trial's background.csv.gz. Times are microseconds since 1970; `completed_per_s` is the
    mean rate of completed requests while the probe ran."""

    requests: int
    failures: int
    served_by_cache: int
    first_sent_us: int
    last_done_us: int
    completed_per_s: float | None
    failure_kinds: dict[str, int]


@dataclass(frozen=True)
class TrialStats:
    """Statistics of one trial's samples.csv.gz. Times are milliseconds, of answered requests (2xx, 3xx) only, and
    count from the planned time in the open model; `service_` from the sending.

    The times are None if nothing was answered. Percentiles interpolate linearly (type 7 of Hyndman & Fan,
    "Sample quantiles in statistical packages", The American Statistician 50(4), 1996). `slow` are answered
    requests that took longer than TOLERATED_MS. `freshness` is None where nothing was read, or nothing edited. `pops`
    are requests by point of presence, {} where none is named. `wait_ms` is the mean over all requests, in which a
    failed one counts with its own time, but at least with TOLERATED_MS. Under overload, the mean of the answered
    requests alone is too low, because only some requests are answered. `all_percentiles_ms` are of all planned
    requests, where one that failed or was never sent took longer than any other (infinity).
    `percentile_bounds_ms` are the 95 % intervals of those of PERCENTILES that enough requests tell.
    """

    requests: int
    failures: int
    reads: int
    writes: int
    iterations: int
    distinct_pages: int
    cache_statuses: dict[str, int]
    pops: dict[str, int]
    served_reads: int
    first_sent_us: int
    last_done_us: int
    mean_ms: float | None
    wait_ms: float
    percentiles_ms: tuple[float, ...] | None
    max_ms: float | None
    service_mean_ms: float | None
    service_p99_ms: float | None
    service_max_ms: float | None
    all_percentiles_ms: tuple[float, ...]
    slow: int
    failure_kinds: dict[str, int]
    unanswered: int
    freshness: dict[str, Any] | None  # `Freshness.summary`, including the background's reads
    background: BackgroundStats | None
    door_time: DoorTime | None = None  # None without a log of the door
    early: dict[str, EarlyTime] = field(default_factory=dict)  # by kind of request
    clusters: ClusterSums | None = None  # of the reads of `freshness`
    percentile_bounds_ms: dict[float, tuple[float, float]] = field(default_factory=dict)  # {level: (low, high)}
    read_p99: Interval | None = None  # in ms, of answered reads alone; None where they are too few
    write_p95: Interval | None = None  # the same of writes, of which a trial rarely has the 1000 that a p99 needs
    cut_off: int = 0  # requests that the wiki may have counted although a fault, or the client, ended them

    @property
    def answered(self) -> int:
        """Requests with an answer (2xx, 3xx)."""
        return self.requests - self.failures

    @property
    def served_by_cache(self) -> int:
        """Requests that a cache answered alone."""
        return sum(self.cache_statuses.get(status, 0) for status in CACHE_SERVED)

    @property
    def hit_ratio(self) -> float | None:
        """Reads that a cache answered alone ÷ reads; None without reads."""
        return self.served_reads / self.reads if self.reads else None

    @property
    def stale_ratio(self) -> float | None:
        """Stale reads ÷ reads that can be judged; None where nothing was edited."""
        return self.freshness["stale_ratio"] if self.freshness else None

    @property
    def span_s(self) -> float:
        """Seconds from the first request to the last answer."""
        return (self.last_done_us - self.first_sent_us) / 1e6

    @property
    def completed_per_s(self) -> float | None:
        """Answered requests per second of the probe."""
        return self.answered / self.span_s if self.span_s > 0 else None

    def percentile_ms(self, level: float) -> float | None:
        """The percentile `level` (one of PERCENTILES), or None."""
        return None if self.percentiles_ms is None else self.percentiles_ms[PERCENTILES.index(level)]

    @property
    def p50_ms(self) -> float | None:
        """The median."""
        return self.percentile_ms(0.5)

    @property
    def all_p99_ms(self) -> float:
        """The 99th percentile over all planned requests; infinity if more than 1 % failed or were never sent."""
        return self.all_percentiles_ms[PERCENTILES.index(0.99)]

    @property
    def p95_ms(self) -> float | None:
        """The 95th percentile."""
        return self.percentile_ms(0.95)

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile."""
        return self.percentile_ms(0.99)


def condense(
    database: duckdb.DuckDBPyConnection,
    file: Path,
    background: Path | None = None,
    never_sent: int = 0,
    clock_skew_bound_ms: float = 0.0,
) -> TrialStats:
    """Return the `TrialStats` of one trial, from the Parquet files of its probe and its background.

    `never_sent` are the planned requests that the files lack; `clock_skew_bound_ms` as in `TrialRecord`.

    FreshnessError if the freshness of its reads cannot be measured.
    """
    levels = ", ".join(str(level) for level in PERCENTILES)
    row = _one_row(
        database,
        f"""
        SELECT count(*) AS requests, count(*) FILTER (NOT answered) AS failures, count(*) FILTER (is_read) AS reads,
               count(DISTINCT iteration) AS iterations, count(DISTINCT page) AS distinct_pages,
               count(*) FILTER (is_read AND served) AS served_reads, min(sent_at_us) AS first_sent_us,
               max({DONE_AT}) AS last_done_us,
               sum(CAST(round(response_ms * 1000000) AS BIGINT)) FILTER (answered) AS total_ns,
               sum(CAST(round(1000000 * CASE WHEN answered THEN response_ms
                   ELSE greatest(response_ms, {TOLERATED_MS}) END) AS BIGINT)) AS waited_ns,
               quantile_cont(response_ms, [{levels}]) FILTER (answered) AS percentiles,
               max(response_ms) FILTER (answered) AS max_ms,
               sum(CAST(round(duration_ms * 1000000) AS BIGINT)) FILTER (answered) AS service_ns,
               quantile_cont(duration_ms, 0.99) FILTER (answered) AS service_p99_ms,
               max(duration_ms) FILTER (answered) AS service_max_ms,
               count(*) FILTER (answered AND response_ms > {TOLERATED_MS}) AS slow,
               count(*) FILTER (status = 0) AS unanswered
        FROM read_parquet(?)
        """,
        [str(file)],
    )
    requests, reads, percentiles = row["requests"], row["reads"], row.pop("percentiles")
    total_ns, waited_ns, service_ns = row.pop("total_ns"), row.pop("waited_ns"), row.pop("service_ns")
    answered = requests - row["failures"]
    files = [file] if background is None else [file, background]
    tolerance_ms = TOLERANCE_MS + clock_skew_bound_ms
    freshness = measure_files(files, tolerance_ms=tolerance_ms) if 0 < reads < requests else None
    span_us = (row["first_sent_us"], row["last_done_us"])
    return TrialStats(
        **row,
        writes=requests - reads,
        cache_statuses=_cache_statuses(database, file),
        pops=_pops(database, file),
        mean_ms=int(total_ns) / 1e6 / answered if answered else None,
        service_mean_ms=int(service_ns) / 1e6 / answered if answered else None,
        all_percentiles_ms=_percentiles_of_all(database, file, answered, requests + never_sent),
        wait_ms=int(waited_ns) / 1e6 / requests,
        percentiles_ms=tuple(percentiles) if percentiles else None,
        percentile_bounds_ms=_percentile_bounds(database, file, answered),
        read_p99=percentile_of(database, file, 0.99, "is_read"),
        write_p95=percentile_of(database, file, 0.95, "NOT is_read"),
        failure_kinds=count_failures(database, file) if row["failures"] else {},
        freshness=freshness.summary() if freshness else None,
        clusters=freshness.clusters if freshness else None,
        background=None if background is None else _condense_background(database, background, span_us),
    )


def _percentile_bounds(
    database: duckdb.DuckDBPyConnection, file: Path, answered: int
) -> dict[float, tuple[float, float]]:
    """{level: (low, high)} in ms of those of PERCENTILES that `answered` requests tell."""
    levels = [level for level in PERCENTILES if enough(answered, level)]
    if not levels:
        return {}
    # Half a rank less, so that rounding does not lead to a neighbour.
    shares = ", ".join(str((rank - 0.5) / answered) for level in levels for rank in ranks(answered, level))
    sql = f"SELECT quantile_disc(response_ms, [{shares}]) FILTER (answered) AS bounds FROM read_parquet(?)"
    bounds = _one_row(database, sql, [str(file)])["bounds"]
    return {level: (low, high) for level, low, high in zip(levels, bounds[::2], bounds[1::2], strict=True)}


def _percentiles_of_all(
    database: duckdb.DuckDBPyConnection, file: Path, answered: int, planned: int
) -> tuple[float, ...]:
    """PERCENTILES over all planned requests, of which those without an answer took longer than any (infinity).

    Linear interpolation as in `TrialStats`; infinity where one of the two values is.
    """
    positions = [(planned - 1) * level for level in PERCENTILES]
    finite = [position for position in positions if math.ceil(round(position, 6)) < answered]
    if not finite:
        return (math.inf,) * len(PERCENTILES)
    levels = ", ".join(str(position / max(1, answered - 1)) for position in finite)
    row = _one_row(
        database,
        f"SELECT quantile_cont(response_ms, [{levels}]) FILTER (answered) AS percentiles FROM read_parquet(?)",
        [str(file)],
    )
    return tuple(row["percentiles"]) + (math.inf,) * (len(positions) - len(finite))


def count_cut_off(database: duckdb.DuckDBPyConnection, file: Path, fault: Fault) -> int:
    """Count the requests without a response, and those in flight at the fault that failed or got STALE."""
    if not fault.hides_requests:
        return 0
    from_us, until_us = fault.cut_us
    row = _one_row(
        database,
        "SELECT count(*) AS requests FROM read_parquet(?) WHERE status = 0 "
        f"OR (NOT answered OR cache_status = 'STALE') AND sent_at_us <= ? AND {DONE_AT} >= ?",
        [str(file), until_us, from_us],
    )
    return int(row["requests"])


def _one_row(database: duckdb.DuckDBPyConnection, sql: str, parameters: list[Any]) -> dict[str, Any]:
    """The only row of a query, by the names of its columns."""
    result = database.execute(sql, parameters)
    names = [column[0] for column in result.description]
    return dict(zip(names, result.fetchall()[0], strict=True))


def _cache_statuses(database: duckdb.DuckDBPyConnection, file: Path) -> dict[str, int]:
    """Return {cache status: requests}, the most frequent first."""
    sql = f"SELECT cache_status, count(*) FROM read_parquet(?) GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT {STATUSES_MAX}"
    return dict(database.execute(sql, [str(file)]).fetchall())


def _pops(database: duckdb.DuckDBPyConnection, file: Path) -> dict[str, int]:
    """Return {point of presence: requests}, the busiest first; {} without the column."""
    columns = [row[0] for row in database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()]
    if "pop" not in columns:
        return {}
    sql = (
        "SELECT pop, count(*) FROM read_parquet(?) WHERE pop <> '' "
        f"GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT {STATUSES_MAX}"
    )
    return dict(database.execute(sql, [str(file)]).fetchall())


def _condense_background(database: duckdb.DuckDBPyConnection, file: Path, probe_us: tuple[int, int]) -> BackgroundStats:
    """The statistics of a background; `probe_us` is when the probe sent its first request, and got its last answer."""
    row = _one_row(
        database,
        f"""
        SELECT count(*) AS requests, count(*) FILTER (NOT answered) AS failures,
               count(*) FILTER (served) AS served_by_cache, min(sent_at_us) AS first_sent_us,
               max(done_us) AS last_done_us, count(*) FILTER (answered AND done_us BETWEEN ? AND ?) AS meanwhile
        FROM (SELECT *, {DONE_AT} AS done_us FROM read_parquet(?))
        """,
        [*probe_us, str(file)],
    )
    span_s = (probe_us[1] - probe_us[0]) / 1e6
    meanwhile = row.pop("meanwhile")
    return BackgroundStats(
        **row,
        completed_per_s=meanwhile / span_s if span_s > 0 else None,
        failure_kinds=count_failures(database, file) if row["failures"] else {},
    )
