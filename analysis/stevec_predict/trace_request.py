"""One request of a recorded trace, whatever form the trace has."""

import re
from calendar import timegm
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

READS = frozenset((b"GET", b"HEAD", b"READ"))
EDITS = frozenset((b"POST", b"PUT", b"PATCH", b"DELETE", b"WRITE"))
# Of RFC 9110, section 15.1, those of a page that is there; and 304, which confirms it.
READ_STATUSES = frozenset((b"200", b"203", b"204", b"206", b"300", b"301", b"304", b"308"))
TIME_MAX_S = 1e11  # so that milliseconds since 1970 are told from seconds
CLF_TIME = re.compile(rb"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
MONTHS = {name: month for month, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}


class Kind(Enum):
    """What a request does to the cache."""

    READ = 1
    EDIT = 2
    OTHER = 3


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `time_s` None where the trace has no times, `size_bytes` None where it does not say, `host` empty
    where it does not."""

    kind: Kind
    page: bytes
    time_s: float | None
    size_bytes: int | None
    host: bytes = b""


class BadLineError(Exception):
    """A line is no request; `str(error)` says why, without repeating the line."""


Parser = Callable[[bytes], Request]


def request_of(
    method: bytes, target: bytes, time_s: float, status: bytes, size_bytes: int | None, host: bytes = b""
) -> Request:
    """A request of an access log. `Kind.OTHER` if it failed, or got no page."""
    if status >= b"400":
        return Request(Kind.OTHER, b"", time_s, None, host)
    kind = kind_of(method)
    if kind is Kind.READ and status not in READ_STATUSES:
        kind = Kind.OTHER
    return Request(kind, page_of(target), time_s, None if status == b"304" else size_bytes, host)


def kind_of(operation: bytes) -> Kind:
    """What a method or operation, in capitals, does."""
    return Kind.READ if operation in READS else Kind.EDIT if operation in EDITS else Kind.OTHER


def page_of(name: bytes) -> bytes:
    """The name of a page. BadLineError if it is empty."""
    if not name:
        raise BadLineError("no object id")
    return name


def clf_seconds(text: bytes) -> float:
    """Seconds since 1970 of a time such as `25/Nov/2026:10:00:00 +0100`. BadLineError if it is none."""
    match = CLF_TIME.fullmatch(text)
    month = MONTHS.get(match[2]) if match else None
    if match is None or month is None:
        raise BadLineError("the time is no date")
    day, year, hour, minute, second, east_h, east_min = (int(match[i]) for i in (1, 3, 4, 5, 6, 8, 9))
    try:
        datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise BadLineError("the time is no date") from None
    east_s = (east_h * 3600 + east_min * 60) * (1 if match[7] == b"+" else -1)
    seconds = timegm((year, month, day, hour, minute, second)) - east_s
    if seconds < 0:
        raise BadLineError("the time is below 0")
    return float(seconds)
