"""Counts the failed requests of a trial by kind: without an answer by k6's code, else by the class of the status."""

from pathlib import Path

import duckdb

KINDS_MAX = 50
# The error codes of k6 (https://grafana.com/docs/k6/latest/javascript-api/error-codes/) that are named here.
ERROR_CODES = {
    1050: "timeout",
    1210: "connection failed",
    1211: "timeout of connecting",
    1212: "connection refused",
    1220: "connection reset",
}


def count_failures(database: duckdb.DuckDBPyConnection, file: Path, method: str = "") -> dict[str, int]:
    """Return {kind in words: requests} of a Parquet file of samples, the most frequent first, at most KINDS_MAX.

    `method` leaves out the requests of other methods; empty for all.
    """
    rows = database.execute(
        "SELECT status, coalesce(error_code, 0), coalesce(failure, ''), coalesce(phase, ''), count(*) "
        "FROM read_parquet(?) WHERE NOT answered AND ? IN ('', method) "
        f"GROUP BY ALL ORDER BY 5 DESC, 1, 2, 3, 4 LIMIT {KINDS_MAX}",
        [str(file), method],
    ).fetchall()
    kinds: dict[str, int] = {}
    for status, code, failure, phase, requests in rows:
        if status == 0 and failure:
            kind = f"{failure} ({phase})" if phase else failure
        elif status == 0:
            kind = f"{ERROR_CODES.get(code, 'no answer')} (k6 {code})" if code else "no answer"
        elif status < 400:
            kind = f"{failure} (status {status})"
        else:
            kind = f"status {status // 100}xx" if 100 <= status <= 599 else f"status {status}"
        kinds[kind] = kinds.get(kind, 0) + requests
    return kinds
