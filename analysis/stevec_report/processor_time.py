"""The processor time of each kind of process per request of a trial, from processes.csv.gz.

A response time on a busy machine has the noise of its neighbours in it. Processor time has little of that: it says what
a request costs, even where the times of two cells do not differ by more than the noise.
"""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

COVERED_MIN = 0.5  # of the load: fewer readings within it say little of it
ROWS_MAX = 1_000_000
KINDS = ("wiki", "mongod", "redis", "nginx")
PREFIXES = {"wiki": "wiki", "mongod": "mongod", "redis": "redis", "sentinel": "redis", "nginx": "nginx"}

Count = Callable[[int, int], int]  # takes two moments in microseconds since 1970, returns the requests done in between


def per_request_ms(folder: Path, first_us: int, last_us: int, count_done: Count) -> dict[str, float]:
    """{one of KINDS: ms of processor time per request}; {} where the load was too short, or nothing was recorded.

    Args:
        folder: of the trial. first_us, last_us: when its first request was sent, and its last one done.
        count_done: counts the requests of the trial that were done between two moments.
    """
    try:
        spans = {int(row["time_us"]): float(row["duration_s"]) for row in _rows(folder / "machine.csv.gz")}
        within = {until: s for until, s in spans.items() if until - 1e6 * s >= first_us and until <= last_us}
        if sum(within.values()) < COVERED_MIN * (last_us - first_us) / 1e6:
            return {}
        used = dict.fromkeys(KINDS, 0.0)
        for row in _rows(folder / "processes.csv.gz"):
            kind = PREFIXES.get(row["process"].split()[0])
            if kind and int(row["time_us"]) in within:
                used[kind] += float(row["cpu_cores"] or 0) * within[int(row["time_us"])]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
        return {}
    begin = min(until - round(1e6 * s) for until, s in within.items())
    requests = count_done(begin, max(within))
    return {kind: 1000 * seconds / requests for kind, seconds in used.items()} if requests else {}


def _rows(file: Path) -> Iterator[dict[str, str]]:
    """The rows of a small CSV file; ValueError if there are too many."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as opened:
        for number, row in enumerate(csv.DictReader(opened)):
            if number == ROWS_MAX:
                raise ValueError("too many rows")
            yield row
