"""Predicts from a recorded trace: every request is replayed through the cache, in bounded memory."""

from collections import Counter
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

from stevec_predict.prediction import COLLAPSING, UNCOLLAPSED, Prediction
from stevec_predict.replay import Replay
from stevec_predict.scenario import PURGING, Scenario
from stevec_predict.trace_format import BadLineError, Kind, Parser, Request, parser_for
from stevec_predict.trace_lines import LINE_MAX_BYTES, TraceError, read_lines
from stevec_report.wording import count_of

HEAD_LINES = 50  # from which the type is told
LINES_MAX = 200_000_000
BACK_MAX_S = 60.0  # access logs are written in the order of the ends of requests
BAD_FIRST_MAX = 1_000  # bad lines before the first good one
EMPTY = "the cache begins empty and is never full"
ORDER = "requests of one time keep the order of their lines, and an edit changes its own page only"


@dataclass(frozen=True)
class TraceFacts:
    """What was in a trace. `other` counts requests that are neither reads nor edits or failed; `late` those whose time
    is up to `BACK_MAX_S` before an earlier line's, which count at that line's time."""

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

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of plain values."""
        return asdict(self)


def replay_trace(
    path: str, scenario: Scenario, *, kind: str = "auto", parameters: str = "", rate_per_s: float | None = None
) -> tuple[Prediction, TraceFacts]:
    """Replay the trace `path` ("-" for standard input) through a cache with the settings of `scenario`.

    Args:
        scenario: only its policy, lifetimes, purge delay, collapsing and fetch count.
        kind, parameters: as for `parser_for`. rate_per_s: requests a second of a trace without times.

    Returns:
        (`Prediction`, `TraceFacts`).

    Raises:
        TraceError: the trace cannot be read, has no reads or no time between them, more bad lines than good ones, or
            exceeds a limit.
    """
    if scenario.policy == "purge-tag":
        raise TraceError("a trace does not say which pages share a tag: use purge-url")
    lines = read_lines(path)
    head = list(islice(lines, HEAD_LINES))
    kind = "txt" if kind == "auto" and rate_per_s is not None else kind
    kind, parse, header = parser_for(kind, parameters, [line for line in head if line and line.strip()])
    if (kind == "txt") != (rate_per_s is not None):
        raise TraceError(f"rate gives times to a trace of type txt, which needs it, and this is {kind}")
    reader = _Reader(Replay(scenario), parse, header, rate_per_s)
    for line in chain(head, lines):
        reader.take(line)
    facts = reader.facts(path, kind)
    return _prediction(scenario, reader.replay, facts), facts


class _Reader:
    """Feeds lines to a `Replay` and counts what they were."""

    def __init__(self, replay: Replay, parse: Parser, header: bool, rate_per_s: float | None) -> None:
        self.replay = replay
        self._parse, self._header, self._rate_per_s = parse, header, rate_per_s
        self._lines = self._other = self._late = 0
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
        """`TraceFacts` of all lines taken. TraceError where nothing can be predicted from them."""
        good, bad = self.replay.reads + self.replay.edits + self._other, self._bad.total()
        if bad > good:
            raise TraceError(f"{count_of(bad, 'bad line')} and {good} good: {self._bad_words()}")
        span_s = self._now_s - (self._begin_s or 0.0)
        if not self.replay.reads:
            raise TraceError("the trace has no reads (GET or HEAD, of pages that are there)")
        if span_s <= 0:
            raise TraceError("all requests have the same time, so nothing can expire and there are no rates")
        return TraceFacts(
            file=path,
            type=kind,
            lines=self._lines,
            reads=self.replay.reads,
            edits=self.replay.edits,
            other=self._other,
            pages=self.replay.pages,
            span_s=span_s,
            late=self._late,
            bad=bad,
            first_bad_line=self._first_bad,
            bad_reasons=dict(self._bad.most_common()),
            sized=self._sized,
        )

    def _replay(self, request: Request) -> None:
        if self._rate_per_s is not None:
            now = (self.replay.reads + 1) / self._rate_per_s
        else:
            now = self._in_order(request.time_s or 0.0)
        if self._begin_s is None:
            self._begin_s = now
        self._now_s = now
        if request.kind is Kind.READ:
            self._sized = self._sized or bool(request.size_bytes)
            self.replay.read(request.page, now, request.size_bytes or 0)
        elif request.kind is Kind.EDIT:
            self.replay.edit(request.page, now)
        else:
            self._other += 1

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


def _prediction(scenario: Scenario, replay: Replay, facts: TraceFacts) -> Prediction:
    misses, seldom = replay.misses_below(facts.span_s / scenario.ttl_s)
    origin = replay.fetches / replay.reads
    asks = scenario.policy in ("no-store", "revalidate")
    bodies = replay.bytes_fetched / replay.bytes_read if facts.sized else origin - replay.unchanged / replay.reads
    return Prediction(
        hit_ratio=replay.hits / replay.reads,
        offload_requests=1 - origin,
        offload_bytes=1 - bodies,
        stale_ratio=replay.stale / replay.reads,
        staleness_p50_s=replay.staleness_s(0.5),
        staleness_p95_s=replay.staleness_s(0.95),
        reads_per_s=replay.reads / facts.span_s,
        origin_per_s=replay.fetches / facts.span_s,
        edits_per_s=replay.edits / facts.span_s,
        purges_per_s=replay.edits / facts.span_s if scenario.policy in PURGING else 0.0,
        race_stale_ratio=0.0,
        binning_error=0.0,
        seldom_miss_share=seldom / misses if misses and not asks else 0.0,
        model="each request of the trace, replayed",
        assumptions=(EMPTY, ORDER, *(() if asks else (COLLAPSING if scenario.collapse else UNCOLLAPSED,))),
    )
