"""The table of samples as duckdb sees it: columns, conditions on a row, and a database that touches nothing else."""

import duckdb

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

# Statuses of responses that a cache gave without a request to the origin first. REVALIDATED is not among them: the
# origin answered that request too (with a 304), and its counter counted it.
CACHE_SERVED = ("HIT", "STALE", "UPDATING")
IS_SERVED = f"cache_status IN {CACHE_SERVED!r}"
IS_ANSWERED = "status BETWEEN 200 AND 399"
IS_READ = "method IN ('GET', 'HEAD')"
DONE_AT = "sent_at_us + CAST(round(duration_ms * 1000) AS BIGINT)"

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
