"""Reads the measurements of the trials (samples.csv.gz, background.csv.gz) and condenses them.

Every file is first decompressed to its end, which checks its length and checksum. Only an intact file is passed to
duckdb, which converts it to a Parquet file in a temporary folder. All numbers come from these Parquet files. A damaged
file becomes a problem of its trial and does not affect others.

Memory is bounded for any number of samples: duckdb may use MEMORY_LIMIT, and holds only one trial at a time.
Times are summed as whole nanoseconds, so the result does not depend on the order or the number of threads.
"""

import gzip
import tempfile
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from stevec_report.freshness import FreshnessError, measure_files
from stevec_report.tolerance import TOLERATED_MS

COLUMNS = {
    "sent_at_us": "BIGINT",
    "iteration": "BIGINT",
    "page": "VARCHAR",
    "method": "VARCHAR",
    "status": "INTEGER",
    "error_code": "INTEGER",
    "cache_status": "VARCHAR",
    "duration_ms": "DOUBLE",
    "size_bytes": "BIGINT",
    "revision": "BIGINT",
}
HEADER = ",".join(COLUMNS).encode()
# If many points of presence may answer (docs/results-format.md), the last column names the one that did.
POP_COLUMN = {"pop": "VARCHAR"}
POP_HEADER = HEADER + b",pop"
FILE_MAX_BYTES = 8_000_000_000  # of one decompressed file
SAMPLES_MAX = 100_000_000  # rows of a whole run
CHUNK_BYTES = 1 << 20
THREADS = 2
MEMORY_LIMIT = "500MB"
DURATION_MAX_MS = 1e9  # 11 days
STATUSES_MAX = 50  # distinct cache statuses, kinds of failure, and points of presence, kept for one trial

# Statuses of responses that a cache gave without a request to the origin first. REVALIDATED is not among them: the
# origin answered that request too (with a 304), and its counter counted it.
CACHE_SERVED = ("HIT", "STALE", "UPDATING")
_SERVED = "cache_status IN ('HIT', 'STALE', 'UPDATING')"
_ANSWERED = "status BETWEEN 200 AND 399"
_READ = "method IN ('GET', 'HEAD')"

# The error codes of k6 (https://grafana.com/docs/k6/latest/javascript-api/error-codes/) that are named here.
ERROR_CODES = {
    1050: "timeout",
    1210: "connection failed",
    1211: "timeout of connecting",
    1212: "connection refused",
    1220: "connection reset",
}
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
    """Statistics of one trial's samples.csv.gz. Times are milliseconds, of answered requests (2xx, 3xx) only.

    The times are None if nothing was answered. Percentiles interpolate linearly (type 7 of Hyndman & Fan,
    "Sample quantiles in statistical packages", The American Statistician 50(4), 1996). `slow` are answered
    requests that took longer than TOLERATED_MS. `freshness` is None where nothing was read, or nothing edited. `pops`
    are requests by point of presence, {} where none is named. `wait_ms` is the mean over all requests, in which a
    failed one counts with its own time, but at least with TOLERATED_MS. Under overload, the mean of the answered
    requests alone is too low, because only some requests are answered.
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
    slow: int
    failure_kinds: dict[str, int]
    unanswered: int
    freshness: dict[str, float | None] | None  # `Freshness.summary`, including the background's reads
    background: BackgroundStats | None
    cut_off: int = 0  # requests in flight when the origin was killed that it did not answer

    @property
    def served_by_cache(self):
        """Requests that a cache answered alone."""
        return sum(self.cache_statuses.get(status, 0) for status in CACHE_SERVED)

    @property
    def stale_ratio(self):
        """Stale reads ÷ reads that can be judged; None where nothing was edited."""
        return self.freshness["stale_ratio"] if self.freshness else None

    @property
    def span_s(self):
        """Seconds from the first request to the last answer."""
        return (self.last_done_us - self.first_sent_us) / 1e6

    @property
    def completed_per_s(self):
        """Answered requests per second of the probe."""
        return (self.requests - self.failures) / self.span_s if self.span_s > 0 else None

    def percentile_ms(self, level):
        """The percentile `level` (one of PERCENTILES), or None."""
        return None if self.percentiles_ms is None else self.percentiles_ms[PERCENTILES.index(level)]

    @property
    def p50_ms(self):
        """The median."""
        return self.percentile_ms(0.5)

    @property
    def p95_ms(self):
        """The 95th percentile."""
        return self.percentile_ms(0.95)

    @property
    def p99_ms(self):
        """The 99th percentile."""
        return self.percentile_ms(0.99)


@dataclass
class Samples:
    """All samples of a run: one Parquet file per trial, and the statistics by number of trial.

    Columns: sent_at_us, iteration, page, method, status, error_code, cache_status ('' where the door has none),
    duration_ms, size_bytes, revision, answered, served, is_read.
    """

    database: duckdb.DuckDBPyConnection
    scratch: tempfile.TemporaryDirectory
    stats: dict[int, TrialStats] = field(default_factory=dict)

    def query(self, sql, numbers, **parameters):
        """Rows of `sql`, in which {samples} stands for the samples of the probes of the trials `numbers`.

        $name in `sql` stands for the keyword argument `name`. Trials without samples are left out; if none has samples,
        there are no rows.
        """
        files = [str(self.path(number)) for number in numbers if number in self.stats]
        if not files:
            return []
        sql = sql.format(samples="read_parquet($files)")
        return self.database.execute(sql, {"files": files, **parameters}).fetchall()

    def path(self, number, kind="samples"):
        """The Parquet file of a trial; `kind` is samples or background."""
        return Path(self.scratch.name) / f"{kind}-{number:04d}.parquet"

    def freshness(self, number, with_background=False):
        """The `Freshness` of a trial; its seconds and versions behind take 8 bytes per stale read."""
        kinds = ("samples", "background") if with_background else ("samples",)
        return measure_files([self.path(number, kind) for kind in kinds])

    def close(self):
        """Free the samples."""
        self.database.close()
        self.scratch.cleanup()


def load(run):
    """Read the samples of every trial of `run` that has a record, and check its log files.

    Errors of a trial are added to its `problems`. Returns `Samples`, which the caller must close.
    """
    scratch = tempfile.TemporaryDirectory(prefix="stevec-report-")
    samples = Samples(_open_database(scratch.name), scratch)
    try:
        rows = 0
        for trial in run.trials:
            if trial.record is None:
                continue
            folder = run.path / trial.folder
            trial.problems += _check_logs(folder, trial.record.log_lines)
            kinds = ["samples"] if trial.record.background is None else ["samples", "background"]
            whole = True
            for kind in kinds:
                try:
                    rows += _load_file(samples, trial.number, folder, kind, SAMPLES_MAX - rows)
                except (OSError, ValueError) as error:
                    trial.problems.append(f"{kind}.csv.gz {_describe(error)}")
                    whole = False
            if whole:
                try:
                    stats = _condense(samples, trial.number, len(kinds) == 2)
                except FreshnessError as error:
                    trial.problems.append(str(error))
                    continue
                if trial.record.fault is not None:
                    stats = replace(stats, cut_off=_cut_off(samples, trial.number, trial.record.fault))
                samples.stats[trial.number] = stats
                if not stats.mean_ms and not _may_fail(trial.record):
                    cause = "was answered" if stats.mean_ms is None else "took any time"
                    trial.problems.append(f"none of its {stats.requests} requests {cause}")
    except BaseException:
        samples.close()
        raise
    return samples


def _may_fail(record):
    """Whether the trial applies load under which requests may fail, even all of them."""
    return record.background is not None or record.setting("model") == "open" or record.number("vus", 1) > 1


def _open_database(scratch):
    return duckdb.connect(
        config={
            "threads": THREADS,
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": scratch,  # otherwise duckdb creates a folder beside the user's files
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )


def _load_file(samples, number, folder, kind, rows_left):
    """Convert one file of samples to Parquet; return its number of rows. ValueError or OSError on failure."""
    plain = Path(samples.scratch.name) / "samples.csv"
    try:
        _decompress(folder / f"{kind}.csv.gz", plain)
        with plain.open("rb") as file:
            header = file.readline(len(POP_HEADER) + 2).rstrip(b"\r\n")
        if header not in (HEADER, POP_HEADER):
            raise ValueError(f"has another header than {HEADER.decode()}")
        columns = COLUMNS | POP_COLUMN if header == POP_HEADER else COLUMNS
        return _to_parquet(samples, plain, samples.path(number, kind), columns, rows_left)
    finally:
        plain.unlink(missing_ok=True)


def _to_parquet(samples, plain, target, columns, rows_left):
    # A quote in the path is escaped. read_csv takes a pattern, but `plain` has no pattern characters.
    quoted = str(target).replace("'", "''")
    try:
        samples.database.execute(
            f"COPY (SELECT * REPLACE (coalesce(cache_status, '') AS cache_status), {_ANSWERED} AS answered, "
            f"{_SERVED} AS served, {_READ} AS is_read FROM read_csv(?, header = true, auto_detect = false, "
            f"delim = ',', quote = '\"', escape = '\"', columns = {columns!r})) "
            f"TO '{quoted}' (FORMAT parquet, COMPRESSION lz4)",
            [str(plain)],
        )
        rows, untimed, unnamed = samples.database.execute(
            "SELECT count(*), "
            "count(*) FILTER (NOT coalesce(isfinite(duration_ms) AND duration_ms >= 0 AND duration_ms < ? "
            "AND sent_at_us BETWEEN 0 AND 10000000000000000, false)), "
            "count(*) FILTER (page IS NULL OR status IS NULL OR method IS NULL) FROM read_parquet(?)",
            [DURATION_MAX_MS, str(target)],
        ).fetchone()
        if rows == 0:
            raise ValueError("has no rows")
        if rows > rows_left:
            raise ValueError(f"takes the run over {SAMPLES_MAX} samples")
        if untimed or unnamed:
            raise ValueError(f"has {untimed} rows without a time and {unnamed} without a page, method or status")
    except duckdb.Error as error:
        raise ValueError(f"is not a table of samples ({str(error).splitlines()[0][:200]})") from error
    return rows


def _condense(samples, number, with_background):
    """Return the `TrialStats` of one trial."""
    execute, file = samples.database.execute, [str(samples.path(number))]
    levels = ", ".join(str(level) for level in PERCENTILES)
    (
        requests,
        failures,
        reads,
        iterations,
        pages,
        served_reads,
        first_sent,
        last_done,
        total_ns,
        waited_ns,
        percentiles,
        maximum,
        slow,
        unanswered,
    ) = execute(
        f"""
        SELECT count(*), count(*) FILTER (NOT answered), count(*) FILTER (is_read), count(DISTINCT iteration),
               count(DISTINCT page), count(*) FILTER (is_read AND served), min(sent_at_us),
               max(sent_at_us + CAST(round(duration_ms * 1000) AS BIGINT)),
               sum(CAST(round(duration_ms * 1000000) AS BIGINT)) FILTER (answered),
               sum(CAST(round(1000000 * CASE WHEN answered THEN duration_ms
                   ELSE greatest(duration_ms, {TOLERATED_MS}) END) AS BIGINT)),
               quantile_cont(duration_ms, [{levels}]) FILTER (answered),
               max(duration_ms) FILTER (answered),
               count(*) FILTER (answered AND duration_ms > {TOLERATED_MS}), count(*) FILTER (status = 0)
        FROM read_parquet(?)
        """,
        file,
    ).fetchone()
    statuses = execute(
        f"SELECT cache_status, count(*) FROM read_parquet(?) GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT {STATUSES_MAX}",
        file,
    ).fetchall()
    answered = requests - failures
    return TrialStats(
        requests=requests,
        failures=failures,
        reads=reads,
        writes=requests - reads,
        iterations=iterations,
        distinct_pages=pages,
        cache_statuses=dict(statuses),
        pops=_pops(execute, file),
        served_reads=served_reads,
        first_sent_us=first_sent,
        last_done_us=last_done,
        mean_ms=int(total_ns) / 1e6 / answered if answered else None,
        wait_ms=int(waited_ns) / 1e6 / requests,
        percentiles_ms=tuple(percentiles) if percentiles else None,
        max_ms=maximum,
        slow=slow,
        failure_kinds=_failure_kinds(execute, file) if failures else {},
        unanswered=unanswered,
        freshness=samples.freshness(number, with_background).summary() if 0 < reads < requests else None,
        background=_condense_background(samples, number, first_sent, last_done) if with_background else None,
    )


def _pops(execute, file):
    """Return {point of presence: requests}, the busiest first; {} without the column."""
    columns = [row[0] for row in execute("DESCRIBE SELECT * FROM read_parquet(?)", file).fetchall()]
    if "pop" not in columns:
        return {}
    return dict(
        execute(
            "SELECT pop, count(*) FROM read_parquet(?) WHERE pop <> '' "
            f"GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT {STATUSES_MAX}",
            file,
        ).fetchall()
    )


def _condense_background(samples, number, probe_first_us, probe_last_us):
    execute, file = samples.database.execute, [str(samples.path(number, "background"))]
    requests, failures, served, first_sent, last_done, meanwhile = execute(
        """
        SELECT count(*), count(*) FILTER (NOT answered), count(*) FILTER (served), min(sent_at_us), max(done_us),
               count(*) FILTER (answered AND done_us BETWEEN ? AND ?)
        FROM (SELECT *, sent_at_us + CAST(round(duration_ms * 1000) AS BIGINT) AS done_us FROM read_parquet(?))
        """,
        [probe_first_us, probe_last_us, *file],
    ).fetchone()
    span_s = (probe_last_us - probe_first_us) / 1e6
    return BackgroundStats(
        requests=requests,
        failures=failures,
        served_by_cache=served,
        first_sent_us=first_sent,
        last_done_us=last_done,
        completed_per_s=meanwhile / span_s if span_s > 0 else None,
        failure_kinds=_failure_kinds(execute, file) if failures else {},
    )


def _cut_off(samples, number, fault):
    """Count the requests in flight at the kill that then failed or got STALE; the wiki may have counted them."""
    return samples.database.execute(
        "SELECT count(*) FROM read_parquet(?) WHERE (NOT answered OR cache_status = 'STALE') "
        "AND sent_at_us <= ? AND sent_at_us + CAST(round(duration_ms * 1000) AS BIGINT) >= ?",
        [str(samples.path(number)), fault.dead_us, fault.kill_began_us],
    ).fetchone()[0]


def _failure_kinds(execute, file):
    """Return {kind in words: requests}: no answer by k6's code, then the classes of status."""
    rows = execute(
        "SELECT status, coalesce(error_code, 0), count(*) FROM read_parquet(?) WHERE NOT answered "
        f"GROUP BY ALL ORDER BY 3 DESC, 1, 2 LIMIT {STATUSES_MAX}",
        file,
    ).fetchall()
    kinds = {}
    for status, code, requests in rows:
        if status == 0:
            kind = f"{ERROR_CODES.get(code, 'no answer')} (k6 {code})" if code else "no answer"
        else:
            kind = f"status {status // 100}xx" if 100 <= status <= 599 else f"status {status}"
        kinds[kind] = kinds.get(kind, 0) + requests
    return kinds


def curve_levels(points):
    """Return `points` + 1 levels from 0 to 1 for an empirical distribution function."""
    return [i / points for i in range(points + 1)]


def _check_logs(folder, log_lines):
    """Return sentences on log files that are missing, damaged, or not of the length given in trial.json."""
    problems = []
    for name, expected in sorted(log_lines.items()):
        file_name = f"{name}.log.gz"
        try:
            lines = _decompress(folder / file_name, None)
        except (OSError, ValueError) as error:
            problems.append(f"{file_name} {_describe(error)}")
            continue
        if lines != expected:
            problems.append(f"{file_name} has {lines} lines, and trial.json says {expected}")
    return problems


def _decompress(source, target):
    """Decompress `source` to its end, into `target` unless that is None; return its number of lines.

    ValueError if the file is cut off, damaged, or larger than FILE_MAX_BYTES when decompressed.
    """
    lines = size_bytes = 0
    last = b"\n"
    try:
        with gzip.open(source, "rb") as reader, _open_target(target) as writer:
            while chunk := reader.read(CHUNK_BYTES):
                size_bytes += len(chunk)
                if size_bytes > FILE_MAX_BYTES:
                    raise ValueError(f"is larger than {FILE_MAX_BYTES} bytes when decompressed")
                if writer is None:
                    lines += chunk.count(b"\n")
                    last = chunk
                else:
                    writer.write(chunk)
    except EOFError:
        raise ValueError("is cut off before its end") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"is damaged ({error})") from error
    return lines if last.endswith(b"\n") else lines + 1


def _open_target(target):
    return nullcontext() if target is None else target.open("wb")


def _describe(error):
    if isinstance(error, FileNotFoundError):
        return "is missing"
    return f"cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)
