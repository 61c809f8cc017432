"""The table of samples as duckdb sees it: columns, conditions on a row, and a database that touches nothing else."""

import gzip
from pathlib import Path

import duckdb

COLUMNS = {
    "planned_at_us": "BIGINT",
    "sent_at_us": "BIGINT",
    "iteration": "BIGINT",
    "page": "VARCHAR",
    "method": "VARCHAR",
    "status": "INTEGER",
    "failure": "VARCHAR",
    "phase": "VARCHAR",
    "error_code": "INTEGER",
    "cache_status": "VARCHAR",
    "duration_ms": "DOUBLE",
    "size_bytes": "BIGINT",
    "revision": "BIGINT",
}
# Results of before these were recorded lack them.
NEW_COLUMNS = ("planned_at_us", "failure", "phase")
HEADER = ",".join(COLUMNS).encode()
# If many points of presence may answer (docs/results-format.md), the last column names the one that did.
POP_COLUMN = {"pop": "VARCHAR"}
HEADER_MAX_BYTES = 1_000
NEVER_SENT = "never-sent"  # `failure` of a planned request of the open model that was not sent

# Statuses of responses that a cache gave without a request to the origin first. REVALIDATED is not among them: the
# origin answered that request too (with a 304), and its counter counted it.
CACHE_SERVED = ("HIT", "STALE", "UPDATING")
IS_SERVED = f"cache_status IN {CACHE_SERVED!r}"
IS_ANSWERED = "status BETWEEN 200 AND 399"
# `failure` of a complete response below 400 that is not the right one, or came by another protocol than was asked for.
WRONG = ("wrong-answer", "wrong-protocol")
IS_RIGHT = f"coalesce(failure, '') NOT IN {WRONG!r}"
IS_READ = "method IN ('GET', 'HEAD')"
DONE_AT = "sent_at_us + CAST(round(duration_ms * 1000) AS BIGINT)"

# What a user waits: from the planned time of the open model, else from the sending.
RESPONSE_MS = "duration_ms + greatest(0, coalesce(sent_at_us - planned_at_us, 0)) / 1000.0"

NANOSECONDS = "CAST(round(duration_ms * 1000000) AS BIGINT)"

# The lab's k6 measures whole nanoseconds; older results have sums of them in floating-point milliseconds.
ADDING_UP_MS = 1e-8

CSV_FORMAT = "header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"'"


def open_database(threads: int, memory_limit: str, scratch: str = "") -> duckdb.DuckDBPyConnection:
    """Return a new database in memory; `scratch` is the folder for what does not fit, "" for none."""
    return duckdb.connect(
        config={
            "threads": threads,
            "memory_limit": memory_limit,
            "temp_directory": scratch,  # otherwise duckdb creates a folder beside the user's files
            "preserve_insertion_order": False,  # keeping the order needs twice the memory
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )


def columns_of(header: bytes) -> dict[str, str] | None:
    """Return {column: type} of a file of samples by its first line, also of an older one; None for another file."""
    names = header.rstrip(b"\r\n").decode(errors="replace").split(",")
    for columns in (COLUMNS, {name: kind for name, kind in COLUMNS.items() if name not in NEW_COLUMNS}):
        for known in (columns, columns | POP_COLUMN):
            if names == list(known):
                return known
    return None


def select_samples(table: str, columns: dict[str, str]) -> str:
    """Return a SELECT of all samples in `table`, which has these `columns`; those that it lacks are null.

    Requests that were never sent are left out.
    """
    missing = ", ".join(f"CAST(NULL AS {COLUMNS[name]}) AS {name}" for name in NEW_COLUMNS if name not in columns)
    rows = f"SELECT *{', ' if missing else ''}{missing} FROM {table}"
    return f"SELECT * FROM ({rows}) WHERE coalesce(failure, '') <> '{NEVER_SENT}'"


def to_compact(database: duckdb.DuckDBPyConnection, source: str, columns: dict[str, str], target: Path) -> None:
    """Write the samples of a CSV file as a Parquet file with times in whole nanoseconds.

    Args:
        source: the file, compressed or not, as duckdb's read_csv takes it. columns: of it, {name: type}.

    ValueError if a time has a part of a nanosecond beyond what adding up floating-point milliseconds leaves.
    """
    table = f"read_csv(?, {CSV_FORMAT}, columns = {columns!r})"
    parts = database.execute(
        f"SELECT count(*) FROM {table} WHERE abs({NANOSECONDS} / 1e6 - duration_ms) > {ADDING_UP_MS}", [source]
    ).fetchall()[0][0]
    if parts:
        raise ValueError(f"it has {parts} durations with a part of a nanosecond")
    quoted = str(target).replace("'", "''")
    database.execute(
        f"COPY (SELECT * EXCLUDE (duration_ms), {NANOSECONDS} AS duration_ns FROM {table} "
        f"ORDER BY iteration, sent_at_us) TO '{quoted}' "
        "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 19)",
        [source],
    )


def from_compact(columns: list[str]) -> str:
    """Return a SELECT of the samples in a Parquet file of `to_compact`, which has these `columns`."""
    known = {name: COLUMNS.get(name, "VARCHAR") for name in columns if name != "duration_ns"}
    return select_samples(
        "(SELECT * EXCLUDE (duration_ns), duration_ns / 1e6 AS duration_ms FROM read_parquet(?))", known
    )


def columns_of_file(file: Path) -> dict[str, str]:
    """Return the columns of a samples.csv.gz; ValueError if it is none."""
    try:
        with gzip.open(file, "rb") as reader:
            columns = columns_of(reader.readline(HEADER_MAX_BYTES))
    except (OSError, EOFError) as error:
        raise ValueError(f"{file.name} cannot be read ({error})") from error
    if columns is None:
        raise ValueError(f"{file.name} has other columns")
    return columns
