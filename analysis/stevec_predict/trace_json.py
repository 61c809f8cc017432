"""Access logs with one JSON object on each line: nginx's, Caddy's, and Cloudflare's (Logpush, HTTP requests).

nginx has no JSON format of its own, so the names are those of its variables, which most `log_format … escape=json` use.
Cloudflare's are in developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/.
"""

import json
from datetime import UTC, datetime
from typing import Any, NoReturn

from stevec_predict.trace_request import TIME_MAX_S, BadLineError, Kind, Request, clf_seconds, request_of

METHODS = ("ClientRequestMethod", "request_method", "method")
TARGETS = ("ClientRequestURI", "request_uri", "uri", "url", "ClientRequestPath", "path")
STATUSES = ("EdgeResponseStatus", "status")
SIZES = ("EdgeResponseBodyBytes", "body_bytes_sent", "EdgeResponseBytes", "bytes_sent", "size", "bytes")
HOSTS = ("ClientRequestHost", "host", "http_host", "server_name")
TIMES = ("EdgeStartTimestamp", "msec", "time_iso8601", "time_local", "@timestamp", "timestamp", "ts", "time")
# Numbers in a second, of a time since 1970 as a number: the first unit in which it is not too large is meant.
UNITS = (1.0, 1e3, 1e6, 1e9)


def parse_json(line: bytes) -> Request:
    """A line of an access log in JSON. BadLineError if it is none; a request that failed is `Kind.OTHER`."""
    try:
        fields = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise BadLineError("no JSON") from None
    if not isinstance(fields, dict):
        raise BadLineError("no JSON object")
    request = fields.get("request")
    if isinstance(request, dict):  # Caddy
        fields = {**fields, **request}
    seconds = _seconds(_first(fields, TIMES))
    method, target = _text(_first(fields, METHODS)), _text(_first(fields, TARGETS))
    if isinstance(request, str) and not (method and target):
        words = request.split(" ")
        if len(words) not in (2, 3):
            return Request(Kind.OTHER, b"", seconds, None)
        method, target = words[0], words[1]
    status = _text(_first(fields, STATUSES))
    if not (len(status) == 3 and status.isascii() and status.isdigit()):
        raise BadLineError("no status")
    host = _text(_first(fields, HOSTS)).lower()
    size = _size(_first(fields, SIZES))
    return request_of(_bytes(method).upper(), _bytes(target), seconds, status.encode(), size, _bytes(host))


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _size(value: Any) -> int | None:
    text = _text(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _seconds(value: Any) -> float:
    """Seconds since 1970 of a time: a number in one of `UNITS`, RFC 3339, or as in Common Log Format."""
    if value is None:
        raise BadLineError("no time")
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        return _seconds_of_date(value)
    seconds = next((number / unit for unit in UNITS if 0 <= number / unit <= TIME_MAX_S), None)
    if seconds is None:
        raise BadLineError("the time is no number of seconds")
    return seconds


def _seconds_of_date(value: Any) -> float:
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        raise BadLineError("the time is no date")
    if "/" in value:
        return clf_seconds(_bytes(value))
    try:
        moment = datetime.fromisoformat(value)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise BadLineError("the time is no date") from None
    if seconds < 0:
        raise BadLineError("the time is below 0")
    return seconds
