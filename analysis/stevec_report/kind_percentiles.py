"""A percentile of one kind of a trial's requests, such as its reads."""

from pathlib import Path

import duckdb

from stevec_report.intervals import Interval
from stevec_report.order_statistics import enough, ranks


def percentile_of(database: duckdb.DuckDBPyConnection, file: Path, level: float, which: str) -> Interval | None:
    """The percentile `level` in ms of the answered requests `which`, a condition in SQL; None where they are too few.

    Its bounds are those that order statistics give.
    """
    of_kind = f"FILTER (answered AND {which})"
    ((count,),) = database.execute(f"SELECT count(*) {of_kind} FROM read_parquet(?)", [str(file)]).fetchall()
    if not enough(count, level):
        return None
    # Half a rank less, so that rounding does not lead to a neighbour.
    shares = ", ".join(str((rank - 0.5) / count) for rank in ranks(count, level))
    ((centre, bounds),) = database.execute(
        f"SELECT quantile_cont(response_ms, {level}) {of_kind}, quantile_disc(response_ms, [{shares}]) {of_kind} "
        "FROM read_parquet(?)",
        [str(file)],
    ).fetchall()
    return Interval(centre, bounds[0], bounds[1], count)
