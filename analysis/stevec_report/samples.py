"""Reads the measurements of the trials, samples.csv.gz, and condenses them.

Every file is decompressed to its end first, which checks its length and checksum; only a file that is whole
is handed to duckdb. A file that is not becomes a problem of its trial and of no other.
"""

import gzip
import tempfile
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

HEADER = b"sent_at_us,iteration,page,method,status,cache_status,duration_ms,size_bytes,revision"
COLUMNS = {
    "sent_at_us": "BIGINT",
    "iteration": "BIGINT",
    "page": "VARCHAR",
    "method": "VARCHAR",
    "status": "INTEGER",
    "cache_status": "VARCHAR",
    "duration_ms": "DOUBLE",
    "size_bytes": "BIGINT",
    "revision": "VARCHAR",
}
FILE_MAX_BYTES = 4_000_000_000  # of one decompressed file
SAMPLES_MAX = 50_000_000  # rows of the whole run that are held at once
CHUNK_BYTES = 1 << 20
ANSWERED = "status BETWEEN 200 AND 399"

# Statuses that mean the answer came out of a cache without the origin being asked first. REVALIDATED is not
# among them: the origin answered that one too (with a 304), and its counter counted it.
CACHE_SERVED = ("HIT", "STALE", "UPDATING")


@dataclass(frozen=True)
class TrialStats:
    """What samples.csv.gz of one trial says. Times are milliseconds, of answered requests (2xx, 3xx) only.

    The times are None if nothing was answered. Percentiles interpolate linearly (type 7 of Hyndman & Fan,
    "Sample quantiles in statistical packages", The American Statistician 50(4), 1996).
    """

    requests: int
    failures: int
    distinct_pages: int
    cache_statuses: dict[str, int]
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None

    @property
    def served_by_cache(self):
        """Requests that a cache answered by itself."""
        return sum(self.cache_statuses.get(status, 0) for status in CACHE_SERVED)


@dataclass
class Samples:
    """All whole samples of a run in one duckdb table, `samples`, and the statistics by number of trial.

    Columns: trial, page, cache_status ('' where the door has none), answered, duration_ms.
    """

    database: duckdb.DuckDBPyConnection
    stats: dict[int, TrialStats] = field(default_factory=dict)


def load(run):
    """Read the samples of every trial of `run` that has a record, and check its log files.

    What is wrong with a trial is added to its `problems`. Returns `Samples`.
    """
    samples = Samples(_open_database())
    with tempfile.TemporaryDirectory(prefix="stevec-report-") as scratch:
        rows = 0
        for trial in run.trials:
            if trial.record is None:
                continue
            folder = run.path / trial.folder
            trial.problems += _check_logs(folder, trial.record.log_lines)
            try:
                rows += _load_trial(samples.database, trial.number, folder, Path(scratch), SAMPLES_MAX - rows)
            except (OSError, ValueError) as error:
                trial.problems.append(f"samples.csv.gz {_describe(error)}")
    samples.stats = _condense(samples.database)
    for trial in run.trials:
        stats = samples.stats.get(trial.number)
        if stats is not None and not stats.mean_ms:
            cause = "was answered" if stats.mean_ms is None else "took any time"
            trial.problems.append(f"none of its {stats.requests} requests {cause}")
    return samples


def _open_database():
    """An in-memory database with one thread: sums are added in one order, so every rebuild gives the same."""
    database = duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": "2GB",
            "temp_directory": "",  # never a folder of its own beside the user's files
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    database.execute(
        "CREATE TABLE samples "
        "(trial INTEGER, page VARCHAR, cache_status VARCHAR, answered BOOLEAN, duration_ms DOUBLE)"
    )
    return database


def _load_trial(database, number, folder, scratch, rows_left):
    """Add the samples of one trial to the table; return how many. ValueError or OSError if it cannot."""
    plain = scratch / "samples.csv"
    _decompress(folder / "samples.csv.gz", plain)
    with plain.open("rb") as file:
        header = file.readline(len(HEADER) + 2).rstrip(b"\r\n")
    if header != HEADER:
        raise ValueError(f"has another header than {HEADER.decode()}")
    # read_csv takes a pattern of paths; the name of the decompressed copy has nothing in it that makes one.
    source = (
        "read_csv(?, header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
        f"columns = {COLUMNS!r})"
    )
    try:
        rows, untimed, unnamed = database.execute(
            "SELECT count(*), "
            "count(*) FILTER (NOT coalesce(isfinite(duration_ms) AND duration_ms >= 0, false)), "
            f"count(*) FILTER (page IS NULL OR status IS NULL) FROM {source}",
            [str(plain)],
        ).fetchone()
        if rows == 0:
            raise ValueError("has no rows")
        if rows > rows_left:
            raise ValueError(f"takes the run over {SAMPLES_MAX} samples")
        if untimed or unnamed:
            raise ValueError(f"has {untimed} rows without a time and {unnamed} without a page or a status")
        database.execute(
            "INSERT INTO samples "
            f"SELECT ?, page, coalesce(cache_status, ''), {ANSWERED}, duration_ms FROM {source}",
            [number, str(plain)],
        )
    except duckdb.Error as error:
        raise ValueError(f"is not a table of samples ({str(error).splitlines()[0][:200]})") from error
    return rows


def _check_logs(folder, log_lines):
    """Return sentences on the log files that are missing, not whole, or not as long as trial.json says."""
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
                lines += chunk.count(b"\n")
                last = chunk
                if writer is not None:
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


def _condense(database):
    """Return {trial number: TrialStats}, from two passes over the table."""
    statuses = {}
    for number, status, requests in database.execute(
        "SELECT trial, cache_status, count(*) FROM samples GROUP BY ALL ORDER BY ALL"
    ).fetchall():
        statuses.setdefault(number, {})[status] = requests
    rows = database.execute(
        """
        SELECT trial, count(*), count(*) FILTER (NOT answered), count(DISTINCT page),
               avg(duration_ms) FILTER (answered),
               quantile_cont(duration_ms, [0.5, 0.95, 0.99]) FILTER (answered),
               max(duration_ms) FILTER (answered)
        FROM samples GROUP BY trial ORDER BY trial
        """
    ).fetchall()
    return {
        number: TrialStats(
            requests, failures, pages, statuses[number], mean, *(percentiles or (None, None, None)), maximum
        )
        for number, requests, failures, pages, mean, percentiles, maximum in rows
    }
