"""The time of requests at the door, by the log of its nginx, beside the time at the client.

What lies between the two is the instrument's own: the generator, its connections, and the links. At low load it is the
floor below which no response time can be measured. Where it grows with the load, requests queue in front of the door,
in the generator or in the links, and the client's time says little of the server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from stevec_report.compact_form import TimeSum
from stevec_report.trial_record import TrialRecord

LOG_OF_DOOR = {"source": "origin", "nocache": "edge", "cached": "edge", "local": "local"}
# Addresses that clients request: pages of the plan, those that they create, short links. Others are the lab's own.
CLIENT_ADDRESSES = ("/wiki/page-%", "/wiki/new-%", "/s/%", "/api/v1/short-links/%")
OF_CLIENTS = " OR ".join(f"uri LIKE '{pattern}'" for pattern in CLIENT_ADDRESSES)
INSTRUMENT_SHARE_MAX = 0.2  # of the client's time; more between client and door distorts what is compared


@dataclass(frozen=True)
class DoorTime:
    """Mean times of the answered requests of a trial, probe and background together, in ms."""

    client_ms: float
    door_ms: float

    @property
    def between_ms(self) -> float:
        """What lies between the client and the door."""
        return self.client_ms - self.door_ms


def read_door_time(
    database: duckdb.DuckDBPyConnection, record: TrialRecord, folder: Path, samples: Sequence[Path]
) -> DoorTime | None:
    """Return the `DoorTime` of a trial; None without a log of its door (another cache, another machine, an old run).

    Args:
        folder: of the trial. samples: Parquet files of its probe and its background.
    """
    compact = record.compact
    try:
        door = compact.door if compact else door_sum(database, record, folder)
        client = client_sum(database, samples, only_reads=record.setting("edit_door") is not None)
    except duckdb.Error:
        return None  # a damaged log is named by check_logs
    if compact and compact.background:
        client += compact.background.answered
    if door is None or door.mean_ms is None or client.mean_ms is None:
        return None
    return DoorTime(client.mean_ms, door.mean_ms)


def door_sum(database: duckdb.DuckDBPyConnection, record: TrialRecord, folder: Path) -> TimeSum | None:
    """Return the times of the answered requests of a trial in the log of its door; None without that log."""
    name = LOG_OF_DOOR.get(record.door, "")
    names = [log for log, lines in record.log_lines.items() if lines and (log == name or log.startswith(f"{name}-"))]
    if not names:
        return None
    row = database.execute(
        f"SELECT {_time_sum('1000 * duration_s')} FROM read_json(?, format = 'newline_delimited', "
        "compression = 'gzip', columns = {'uri': 'VARCHAR', 'status': 'INTEGER', 'duration_s': 'DOUBLE'}) "
        f"WHERE status BETWEEN 200 AND 399 AND ({OF_CLIENTS})",
        [[str(folder / f"{log}.log.gz") for log in names]],
    ).fetchall()[0]
    return TimeSum(*map(int, row))


def client_sum(database: duckdb.DuckDBPyConnection, samples: Sequence[Path], only_reads: bool = False) -> TimeSum:
    """Return the response times of the answered requests in Parquet files of samples, edits included or not."""
    condition = "answered AND is_read" if only_reads else "answered"
    row = database.execute(
        f"SELECT {_time_sum('response_ms')} FROM read_parquet(?) WHERE {condition}", [[str(file) for file in samples]]
    ).fetchall()[0]
    return TimeSum(*map(int, row))


def _time_sum(time_ms: str) -> str:
    """SQL for the fields of a `TimeSum`; a row without a time does not count."""
    return f"count({time_ms}), coalesce(sum(CAST(round(1000000 * {time_ms}) AS BIGINT)), 0)"
