"""The forms of a recorded trace: one line → one request.

- csv: as of libCacheSim (github.com/1a1a11a/libCacheSim, doc/quickstart_cachesim.md): columns of time (seconds), object
  id and size, counted from 1, and of the operation if there is one. Others, such as the next access, are ignored.
- txt: as of libCacheSim: an object id on each line, no time.
- clf: Common Log Format, and what adds fields before or after it (Combined, virtual hosts).
- json: one object on each line, see `trace_json`.
"""

import csv
import re

from stevec_predict.trace_json import parse_json
from stevec_predict.trace_lines import TraceError
from stevec_predict.trace_request import (
    TIME_MAX_S,
    BadLineError,
    Kind,
    Parser,
    Request,
    clf_seconds,
    kind_of,
    page_of,
    request_of,
)

TYPES = ("auto", "csv", "txt", "clf", "json")
DELIMITERS = b"\t,|;: "
DELIMITER_OF = {"\\t": b"\t", "tab": b"\t", "space": b" "}
COLUMNS = ("time-col", "obj-id-col", "obj-size-col", "op-col")
SAME_AS = {"op-type-col": "op-col", "size-col": "obj-size-col"}
IGNORED = ("obj-id-is-num", "next-access-col", "ttl-col")
COLUMN_MAX = 1_000
PARAMETER = re.compile(r"\s*([\w-]+)\s*=\s*(,(?=,|\s*$)|[^,]*?)\s*(?:,|$)")
NUMBER = re.compile(rb"[+-]?\d{1,20}(\.\d{0,20})?([eE][+-]?\d{1,3})?")
CLF = re.compile(
    rb'\S+ \S+ .{0,512}?\[([^\]]{20,32})\] "((?:[^"\\]|\\.)*+)" (\d{3}) (\d{1,15}|-)(?: |$)',
)


def parser_for(kind: str, parameters: str, head: list[bytes], unmarked: Kind = Kind.READ) -> tuple[str, Parser, bool]:
    """Choose the parser of a trace from its first lines.

    Args:
        kind: one of `TYPES`. parameters: as of cachesim's --trace-type-params, such as "time-col=2, obj-id-col=5"; "".
        head: the first lines, without empty ones. unmarked: what a line without a method or an operation is.

    Returns:
        (its type, the parser, whether the first line is a header). TraceError if parameters are wrong or the type
        cannot be told.
    """
    first = head[0] if head else b""
    if kind == "auto":
        if any(CLF.match(line) for line in head):
            kind = "clf"
        elif first.lstrip().startswith(b"{"):
            kind = "json"
        elif parameters or _delimiter_of(first):
            kind = "csv"
        else:
            raise TraceError("the trace is neither Common Log Format nor CSV nor JSON: give --trace-type")
    if kind != "csv" and parameters:
        raise TraceError(f"--trace-params belongs to csv, and this is {kind}")
    if kind == "csv":
        columns, delimiter, header = _csv_parameters(parameters)
        delimiter = delimiter or _delimiter_of(first) or b","
        if header is None:
            fields = first.split(delimiter)
            header = columns[0] < len(fields) and NUMBER.fullmatch(fields[columns[0]].strip(b' "')) is None
        return kind, csv_parser(columns, delimiter, unmarked), header
    if kind == "json":
        return kind, parse_json, False
    return kind, parse_clf if kind == "clf" else parse_txt, False


def parse_txt(line: bytes) -> Request:
    """An object id without a time. BadLineError if there is none."""
    return Request(Kind.READ, page_of(line.strip()), None, None)


def csv_parser(
    columns: tuple[int, int, int | None, int | None], delimiter: bytes, unmarked: Kind = Kind.READ
) -> Parser:
    """A parser of lines with these columns (time, object, size, operation), counted from 0."""
    time_column, page_column, size_column, kind_column = columns
    needed = max(time_column, page_column, kind_column or 0) + 1

    def parse(line: bytes) -> Request:
        fields = line.split(delimiter) if b'"' not in line else _quoted(line, delimiter)
        if len(fields) < needed:
            raise BadLineError(f"fewer than {needed} columns")
        kind = unmarked if kind_column is None else kind_of(fields[kind_column].strip().upper())
        size = fields[size_column].strip() if size_column is not None and size_column < len(fields) else b""
        return Request(kind, page_of(fields[page_column].strip()), _seconds(fields[time_column].strip()), _size(size))

    return parse


def parse_clf(line: bytes) -> Request:
    """A line of an access log. BadLineError if it is none; a request that failed is `Kind.OTHER`."""
    match = CLF.match(line)
    if match is None:
        raise BadLineError("no Common Log Format")
    time, request, status, size = match.groups()
    seconds = clf_seconds(time)
    words = request.split(b" ")
    if len(words) not in (2, 3) or not words[1]:
        return Request(Kind.OTHER, b"", seconds, None)
    return request_of(words[0], words[1], seconds, status, None if size == b"-" else int(size))


def _seconds(text: bytes) -> float:
    if NUMBER.fullmatch(text) is None:
        raise BadLineError("the time is no number")
    seconds = float(text)
    if seconds < 0:
        raise BadLineError("the time is below 0")
    if seconds > TIME_MAX_S:
        raise BadLineError("the time is no number of seconds")
    return seconds


def _size(text: bytes) -> int | None:
    if not text:
        return None
    if not text.isdigit() or len(text) > 15:
        raise BadLineError("the size is no number of bytes")
    return int(text)


def _quoted(line: bytes, delimiter: bytes) -> list[bytes]:
    try:
        rows = list(csv.reader([line.decode("latin-1")], delimiter=delimiter.decode("latin-1"), strict=True))
    except csv.Error:
        raise BadLineError("quotes that do not match") from None
    return [field.encode("latin-1") for row in rows for field in row]


def _delimiter_of(line: bytes) -> bytes:
    return next((bytes([one]) for one in DELIMITERS if one in line), b"")


def _csv_parameters(text: str) -> tuple[tuple[int, int, int | None, int | None], bytes, bool | None]:
    """(columns, counted from 0; delimiter or b""; whether there is a header, None if not said)."""
    given: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = PARAMETER.match(text, place)
        if match is None or match.end() == place:
            raise TraceError(f"--trace-params are such as time-col=1,obj-id-col=2, not {text[place : place + 40]!r}")
        name = match[1].lower().replace("_", "-")
        given[SAME_AS.get(name, name)] = match[2]
        place = match.end()
    unknown = sorted(given.keys() - {*COLUMNS, *IGNORED, "delimiter", "has-header"})
    if unknown:
        known = ", ".join((*COLUMNS, "delimiter", "has-header"))
        raise TraceError(f"--trace-params: {unknown[0]} is not known; there is {known}")
    usual = {"time-col": "1", "obj-id-col": "2", "obj-size-col": "" if given else "3"}
    columns = [_column(name, given.get(name, usual.get(name, ""))) for name in COLUMNS]
    if columns[0] is None or columns[1] is None:
        raise TraceError("--trace-params: time-col and obj-id-col are needed")
    delimiter = DELIMITER_OF.get(given.get("delimiter", ""), given.get("delimiter", "").encode())
    if len(delimiter) > 1:
        raise TraceError("--trace-params: the delimiter is one character, tab or space")
    header = given.get("has-header", "").lower()
    if header not in ("", "0", "1", "true", "false"):
        raise TraceError("--trace-params: has-header is true or false")
    return (columns[0], columns[1], columns[2], columns[3]), delimiter, header in ("1", "true") if header else None


def _column(name: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= COLUMN_MAX):
        raise TraceError(f"--trace-params: {name} is a column from 1 to {COLUMN_MAX}, not {text[:40]!r}")
    return int(text) - 1
