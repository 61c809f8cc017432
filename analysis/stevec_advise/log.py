"""The requests of an access log as arrays, by class of URL."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stevec_advise.classes import Classifier, UrlClass, normal_path_of, path_of
from stevec_predict.trace_lines import TraceError
from stevec_predict.trace_reader import TraceFacts, read_trace, several_hosts
from stevec_predict.trace_request import Kind

READS_MAX = 50_000_000
URLS_MAX = 2_000_000
# Times are whole milliseconds since the log began. One number holds the place of an URL, and a time below this.
SPAN_MS = 10**10


@dataclass(frozen=True)
class ClassLog:
    """Requests of one class.

    Attributes:
        reads: shape (n,), in order: place of the URL · `SPAN_MS` + time.
        path: shape (URLs,): the place of the path of each URL.
        edits: shape (m,), in order: place of the path · `SPAN_MS` + time.
    """

    url_class: UrlClass
    reads: np.ndarray
    path: np.ndarray
    edits: np.ndarray

    @property
    def url(self) -> np.ndarray:
        """The place of the URL of each read."""
        return self.reads // SPAN_MS

    @property
    def time_ms(self) -> np.ndarray:
        """The time of each read."""
        return self.reads % SPAN_MS

    def between(self, begin_ms: int, end_ms: int) -> "ClassLog":
        """The requests from `begin_ms` until before `end_ms`, whose times then count from there."""

        def within(times_ms: np.ndarray) -> np.ndarray:
            return (times_ms >= begin_ms) & (times_ms < end_ms)

        chosen = within(self.time_ms)
        edits = self.edits[within(self.edits % SPAN_MS)] - begin_ms
        return ClassLog(self.url_class, self.reads[chosen] - begin_ms, self.path, edits)


@dataclass(frozen=True)
class SiteLog:
    """The classes with reads, in the order in which their patterns are tried; `unclassed` reads belong to none."""

    classes: list[ClassLog]
    span_ms: int
    unclassed: int
    facts: list[TraceFacts]

    @property
    def edits(self) -> int:
        """Of all classes."""
        return sum(len(one.edits) for one in self.classes)


class _Collector:
    """A `Sink` of `read_trace`, for several files one after the other. The next one has reads and edits that count as
    `takes_reads` and `takes_edits` say."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self.takes_reads = self.takes_edits = True
        self.urls: dict[bytes, int] = {}
        self.class_of_url = array("b")
        self.read_url, self.read_s = array("i"), array("d")
        self.edit_path: list[bytes] = []
        self.edit_s = array("d")

    @property
    def pages(self) -> int:
        return len(self.urls)

    def read(self, page: bytes, now: float, _size_bytes: int = 0) -> None:
        if not self.takes_reads:
            return
        place = self.urls.get(page)
        if place is None:
            if len(self.urls) >= URLS_MAX:
                raise TraceError(f"more than {URLS_MAX} different URLs: take a part of the log")
            self.urls[page] = place = len(self.urls)
            self.class_of_url.append(self._classifier.number_of(path_of(page.decode("utf-8", "surrogateescape"))))
        if len(self.read_s) >= READS_MAX:
            raise TraceError(f"more than {READS_MAX} reads: take a part of the log")
        self.read_url.append(place)
        self.read_s.append(now)

    def edit(self, page: bytes, now: float) -> None:
        if not self.takes_edits:
            return
        if len(self.edit_s) >= READS_MAX:
            raise TraceError(f"more than {READS_MAX} edits: take a part of the log")
        self.edit_path.append(normal_path_of(page.decode("utf-8", "surrogateescape")))
        self.edit_s.append(now)


def read_log(
    files: Sequence[str],
    edit_files: Sequence[str],
    classifier: Classifier,
    *,
    kind: str = "auto",
    parameters: str = "",
    host: str = "",
) -> SiteLog:
    """Read access logs. An edit changes every URL that has its path, with whatever query.

    Args:
        files: access logs; their writing requests (POST, PUT, PATCH, DELETE) are the edits if `edit_files` is empty.
        edit_files: each request of them that writes is an edit; of CSV without operations every line.
        kind, parameters: of `files`, as for `parser_for`. host: as for `read_trace`.

    Raises:
        TraceError: a file cannot be used, or there are no reads, or no time between them.
    """
    collector = _Collector(classifier)
    collector.takes_edits = not edit_files
    facts = [read_trace(file, collector, kind=kind, parameters=parameters, host=host) for file in files]
    collector.takes_reads, collector.takes_edits = False, True
    facts += [read_trace(file, collector, host=host, unmarked=Kind.EDIT) for file in edit_files]
    hosts = {one.host for one in facts if one.host}
    if len(hosts) > 1:
        raise several_hosts(hosts)
    return _site_log(collector, classifier, facts)


def _site_log(collector: _Collector, classifier: Classifier, facts: list[TraceFacts]) -> SiteLog:
    read_s, edit_s = np.asarray(collector.read_s), np.asarray(collector.edit_s)
    if not len(read_s):
        raise TraceError("the log has no reads (GET or HEAD, of pages that are there)")
    begin_s = read_s.min()
    span_ms = int((read_s.max() - begin_s) * 1000) + 1
    if span_ms <= 1:
        raise TraceError("all reads have the same time, so nothing can expire and there are no rates")
    if span_ms >= SPAN_MS // 4:
        raise TraceError(f"the log is longer than {SPAN_MS // 4 // 86_400_000} days: take a part of it")
    read_ms, edit_ms = (_milliseconds(times_s, begin_s) for times_s in (read_s, edit_s))
    paths: dict[bytes, int] = {}
    path_of_url = np.array(
        [paths.setdefault(normal_path_of(url.decode("utf-8", "surrogateescape")), len(paths)) for url in collector.urls]
    )
    edit_path = np.array([paths.get(path, -1) for path in collector.edit_path], dtype=np.int64)
    inside = (edit_ms >= 0) & (edit_ms < span_ms) & (edit_path >= 0)
    class_of_url = np.asarray(collector.class_of_url)
    read_url = np.asarray(collector.read_url)
    classes = []
    for number, url_class in enumerate(classifier.classes):
        urls = np.flatnonzero(class_of_url == number)
        if not len(urls):
            continue
        chosen = class_of_url[read_url] == number
        used, path = np.unique(path_of_url[urls], return_inverse=True)
        place = np.zeros(len(class_of_url), dtype=np.int64)
        place[urls] = np.arange(len(urls))
        reads = np.sort(place[read_url[chosen]] * SPAN_MS + read_ms[chosen])
        edited = inside & np.isin(edit_path, used)
        edits = np.sort(np.searchsorted(used, edit_path[edited]) * SPAN_MS + edit_ms[edited])
        classes.append(ClassLog(url_class, reads, path, edits))
    return SiteLog(classes, span_ms, int(np.sum(class_of_url[read_url] < 0)), facts)


def _milliseconds(times_s: np.ndarray, begin_s: float) -> np.ndarray:
    """Whole milliseconds since `begin_s`. Where all times are whole seconds, the requests of one are spread over it in
    the order of their lines."""
    if not len(times_s):
        return np.zeros(0, dtype=np.int64)
    if np.any(times_s % 1):
        return np.round((times_s - begin_s) * 1000).astype(np.int64)
    seconds, place, count = np.unique(times_s, return_inverse=True, return_counts=True)
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(times_s), dtype=np.int64)
    rank[order] = np.arange(len(times_s)) - np.repeat(np.cumsum(count) - count, count)
    return ((seconds[place] - begin_s) * 1000).astype(np.int64) + (rank * 1000 + 500) // count[place]
