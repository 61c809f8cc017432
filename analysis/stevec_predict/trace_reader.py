"""Reads a recorded trace, line by line, for whatever takes its requests."""

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any, Protocol

from stevec_predict.trace_format import parser_for
from stevec_predict.trace_lines import LINE_MAX_BYTES, TraceError, read_lines
from stevec_predict.trace_request import BadLineError, Kind, Parser, Request
from stevec_report.wording import count_of, join_words

HEAD_LINES = 50  # that show the type
LINES_MAX = 200_000_000
BACK_MAX_S = 60.0  # access logs are written in the order of the ends of requests
BAD_FIRST_MAX = 1_000  # bad lines before the first good one


class Sink(Protocol):
    """Takes requests in the order of time (seconds)."""

    @property
    def pages(self) -> int:
        """Different ones so far."""

    def read(self, page: bytes, now: float, size_bytes: int = 0) -> None:
        """A read of `page` at `now`."""

    def edit(self, page: bytes, now: float) -> None:
        """An edit of `page` at `now`."""


@dataclass(frozen=True)
class TraceFacts:
    """What was in a trace. `other` counts requests that are neither reads nor edits or failed; `late` those whose time
    is up to `BACK_MAX_S` before an earlier line's, which count at that line's time. `host`: of its requests, "" where
    it says none."""

    file: str
    type: str
    lines: int
    reads: int
    edits: int
    other: int
    pages: int
    span_s: float
    late: int
    bad: int
    first_bad_line: int | None
    bad_reasons: dict[str, int]
    sized: bool
    host: str

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of plain values."""
        return asdict(self)


def read_trace(
    path: str,
    sink: Sink,
    *,
    kind: str = "auto",
    parameters: str = "",
    rate_per_s: float | None = None,
    host: str = "",
    unmarked: Kind = Kind.READ,
) -> TraceFacts:
    """Give each request of the trace `path` ("-" for standard input) to `sink`.

    Args:
        kind, parameters: as for `parser_for`. rate_per_s: requests a second of a trace without times. host: of a trace
            that says the host of each request, only those of this one; "" where all have the same. unmarked: what a
            line of a trace without methods is.

    Raises:
        TraceError: the trace cannot be read, has requests for several hosts, more bad lines than good ones, or exceeds
            a limit.
    """
    lines = read_lines(path)
    head = list(islice(lines, HEAD_LINES))
    kind = "txt" if kind == "auto" and rate_per_s is not None else kind
    kind, parse, header = parser_for(kind, parameters, [line for line in head if line and line.strip()], unmarked)
    if (kind == "txt") != (rate_per_s is not None):
        raise TraceError(f"rate gives times to a trace of type txt, which needs it, and this is {kind}")
    reader = _Reader(sink, parse, header, rate_per_s, host.lower().encode())
    for line in chain(head, lines):
        reader.take(line)
    return reader.facts(path, kind)


def several_hosts(names: set[str]) -> TraceError:
    """The error of requests for different hosts, whose pages have the same names."""
    return TraceError(f"there are requests for {join_words(sorted(names))}: choose one by --host")


def _host_name(host: bytes) -> str:
    return host.decode("utf-8", "replace")[:100]


class _Reader:
    """Feeds lines to a `Sink` and counts what they were."""

    def __init__(self, sink: Sink, parse: Parser, header: bool, rate_per_s: float | None, host: bytes) -> None:
        self._sink = sink
        self._parse, self._header, self._rate_per_s = parse, header, rate_per_s
        self._wanted_host = self._host = host
        self._lines = self._reads = self._edits = self._other = self._late = 0
        self._begin_s: float | None = None
        self._now_s = 0.0
        self._sized = False
        self._bad: Counter[str] = Counter()
        self._first_bad: int | None = None

    def take(self, line: bytes | None) -> None:
        """One line of the trace; None for one that is too long."""
        self._lines += 1
        if self._lines > LINES_MAX:
            raise TraceError(f"more than {LINES_MAX} lines: replay a part of the trace")
        if line is not None and not line.strip():
            return
        if self._header:
            self._header = False
            return
        try:
            if line is None:
                raise BadLineError(f"longer than {LINE_MAX_BYTES} bytes")
            self._replay(self._parse(line))
        except BadLineError as error:
            self._note(str(error))

    def facts(self, path: str, kind: str) -> TraceFacts:
        """`TraceFacts` of all lines taken. TraceError where most of them are bad."""
        good, bad = self._reads + self._edits + self._other, self._bad.total()
        if bad > good:
            raise TraceError(f"{count_of(bad, 'bad line')} and {good} good: {self._bad_words()}")
        return TraceFacts(
            file=path,
            type=kind,
            lines=self._lines,
            reads=self._reads,
            edits=self._edits,
            other=self._other,
            pages=self._sink.pages,
            span_s=self._now_s - (self._begin_s or 0.0),
            late=self._late,
            bad=bad,
            first_bad_line=self._first_bad,
            bad_reasons=dict(self._bad.most_common()),
            sized=self._sized,
            host=_host_name(self._host),
        )

    def _replay(self, request: Request) -> None:
        if request.host != self._host and not self._is_of_host(request):
            self._other += 1
            return
        if self._rate_per_s is not None:
            now = (self._reads + 1) / self._rate_per_s
        else:
            now = self._in_order(request.time_s or 0.0)
        if self._begin_s is None:
            self._begin_s = now
        self._now_s = now
        if request.kind is Kind.READ:
            self._reads += 1
            self._sized = self._sized or bool(request.size_bytes)
            self._sink.read(request.page, now, request.size_bytes or 0)
        elif request.kind is Kind.EDIT:
            self._edits += 1
            self._sink.edit(request.page, now)
        else:
            self._other += 1

    def _is_of_host(self, request: Request) -> bool:
        """Whether a request for another host than those before it counts."""
        if self._wanted_host and request.host:
            return False
        if self._host and request.host and request.kind is not Kind.OTHER:
            raise several_hosts({_host_name(self._host), _host_name(request.host)})
        self._host = self._host or request.host
        return True

    def _in_order(self, time_s: float) -> float:
        if time_s >= self._now_s:
            return time_s
        if time_s < self._now_s - BACK_MAX_S:
            raise BadLineError(f"the time goes back by more than {BACK_MAX_S:g} s")
        self._late += 1
        return self._now_s

    def _note(self, reason: str) -> None:
        self._bad[reason] += 1
        if self._first_bad is None:
            self._first_bad = self._lines
        if self._bad.total() >= BAD_FIRST_MAX and self._begin_s is None:
            raise TraceError(f"no good line among the first {self._lines}: {self._bad_words()}")

    def _bad_words(self) -> str:
        return f"the first bad one is line {self._first_bad}, most often {self._bad.most_common(1)[0][0]}"
