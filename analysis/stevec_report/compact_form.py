"""The compact form of a trial: its samples in a Parquet file, and in place of its logs what the analysis takes from
them (trial.json, `compact`; docs/results-format.md)."""

from dataclasses import asdict, dataclass
from typing import Any

from stevec_report.json_fields import COUNT_MAX, get, get_count, get_object, get_optional_number

TOTAL_NS_MAX = 10**18
TIME_MAX_US = 10**16
BYTES_MAX = 10**15
KINDS_MAX = 50
TEXT_MAX_CHARS = 100


@dataclass(frozen=True)
class TimeSum:
    """A sum of times of requests, in whole nanoseconds, so that it does not depend on their order."""

    requests: int
    total_ns: int

    def __add__(self, other: "TimeSum") -> "TimeSum":
        """The sum over both."""
        return TimeSum(self.requests + other.requests, self.total_ns + other.total_ns)

    @property
    def mean_ms(self) -> float | None:
        """The mean in milliseconds; None without a request."""
        return float(self.total_ns) / 1_000_000 / self.requests if self.requests else None


@dataclass(frozen=True)
class BackgroundSums:
    """What is left of a background: the arguments of `trial_stats.BackgroundStats`, and the response times."""

    stats: dict[str, Any]
    answered: TimeSum


@dataclass(frozen=True)
class Compact:
    """The checked `compact` of a trial.json.

    `files` is {name: SHA-256 in hexadecimal} of the Parquet files. `log_lines` is {log: lines} of the logs that are
    gone. `door` has the times in the log of the trial's door; None if there was none. `origin_read_bytes` are the
    bytes of bodies in the origin's log, for reads. `background` is None if there was none, or if its samples are kept.
    """

    files: dict[str, str]
    log_lines: dict[str, int]
    door: TimeSum | None
    origin_read_bytes: int | None
    background: BackgroundSums | None


def read_compact(value: Any) -> Compact | None:
    """Return the `Compact` of a trial.json's field, None without it; ValueError names the field that is wrong."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("compact is no object")
    files, logs = get(value, "files", dict), get(value, "logs", dict)
    if not all(isinstance(digest, str) for digest in files.values()):
        raise ValueError("compact.files has a value that is no text")
    return Compact(
        files={str(name): digest for name, digest in files.items()},
        log_lines={str(name): get_count(get_object(logs, name), "lines") for name in logs},
        door=_read_sum(value.get("door")),
        origin_read_bytes=None
        if value.get("origin_read_bytes") is None
        else get_count(value, "origin_read_bytes", BYTES_MAX),
        background=_read_background(value.get("background")),
    )


def background_json(sums: BackgroundSums | None) -> dict[str, Any] | None:
    """Return the JSON form of a background."""
    return None if sums is None else {**sums.stats, "answered": asdict(sums.answered)}


def _read_sum(value: Any) -> TimeSum | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("compact has a sum of times that is no object")
    return TimeSum(get_count(value, "requests"), get_count(value, "total_ns", TOTAL_NS_MAX))


def _read_background(value: Any) -> BackgroundSums | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("compact.background is no object")
    kinds = get(value, "failure_kinds", dict)
    if len(kinds) > KINDS_MAX:
        raise ValueError(f"compact.background has more than {KINDS_MAX} kinds of failure")
    answered = _read_sum(get(value, "answered", dict))
    assert answered is not None  # an object gives a sum
    stats = {
        "requests": get_count(value, "requests"),
        "failures": get_count(value, "failures"),
        "served_by_cache": get_count(value, "served_by_cache"),
        "first_sent_us": get_count(value, "first_sent_us", TIME_MAX_US),
        "last_done_us": get_count(value, "last_done_us", TIME_MAX_US),
        "completed_per_s": get_optional_number(value, "completed_per_s"),
        "failure_kinds": {str(kind)[:TEXT_MAX_CHARS]: get_count(kinds, kind, COUNT_MAX) for kind in kinds},
    }
    return BackgroundSums(stats, answered)
