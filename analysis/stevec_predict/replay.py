"""One cache, request by request in the order of time: the same cache as in `simulation`, for a stream.

Per page it keeps a few numbers, and for purges that have not come yet a queue. With equal times the order of the calls
decides, so an edit counts for a read after it in the same second.
"""

import math
from array import array
from collections import Counter, deque
from hashlib import blake2b

from stevec_predict.scenario import PURGING, Scenario
from stevec_predict.trace_lines import TraceError

PAGES_MAX = 2_000_000
PENDING_MAX = 1_000_000  # edits whose purge has not come yet
ID_MAX_BYTES = 48  # a longer name of a page is replaced by its hash
NEVER = -math.inf
# Classes of how long stale reads were outdated: each is half a per cent wide, so that a quantile is that exact.
AGE_STEP = math.log1p(0.005)
AGE_LEAST_S = 1e-6


class Replay:
    """Counts what a cache with the settings of `scenario` (policy, lifetimes, delay, collapsing, fetch) does.

    Its counts are whole numbers and grow with `read` and `edit`, whose times must not go back.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Begin with an empty cache."""
        policy = scenario.policy
        self._asks = policy in ("no-store", "revalidate")
        self._revalidates = policy == "revalidate"
        self._ttl_s = math.inf if self._asks else scenario.ttl_s
        self._window_s = scenario.swr_s
        self._delay_s = scenario.purge_delay_s if policy in PURGING else None
        self._fetch_s = 0.0 if scenario.collapse or self._asks else scenario.fetch_s
        self._place: dict[bytes, int] = {}
        self._filled_s = array("d")  # by page: when its copy was fetched, and `NEVER` without one
        self._outdated_s = array("d")  # the first edit after that; infinity without one
        self._asked_s = array("d")  # the first of the fetches that overlap
        self._reads_of = array("I")
        self._misses_of = array("I")
        self._pending: deque[tuple[float, int]] = deque()
        self._ages: Counter[int] = Counter()
        self.reads = self.edits = self.hits = self.fetches = self.unchanged = self.stale = 0
        self.bytes_read = self.bytes_fetched = 0

    @property
    def pages(self) -> int:
        """Different pages so far, those that were only edited too."""
        return len(self._place)

    def read(self, page: bytes, now: float, size_bytes: int = 0) -> None:
        """A read of `page` at `now`. TraceError beyond `PAGES_MAX` pages."""
        self._purge_until(now)
        i = self._place_of(page)
        self.reads += 1
        self._reads_of[i] += 1
        self.bytes_read += size_bytes
        age = now - self._filled_s[i]
        waiting = now <= self._asked_s[i] + self._fetch_s and self._fetch_s > 0
        if self._asks:
            unchanged = self._revalidates and age < math.inf and self._outdated_s[i] == math.inf
            self.unchanged += unchanged
            self._fetch(i, now, 0 if unchanged else size_bytes)
            self._misses_of[i] += 1
        elif not waiting and age < self._ttl_s + self._window_s:
            self._hit(i, now)
            if age >= self._ttl_s:
                self._fetch(i, now, size_bytes)
        else:
            if not waiting:
                self._asked_s[i] = now
            self._misses_of[i] += 1
            self._fetch(i, now, size_bytes)

    def edit(self, page: bytes, now: float) -> None:
        """An edit of `page` at `now`. TraceError beyond `PAGES_MAX` pages or `PENDING_MAX` edits that await purges."""
        self._purge_until(now)
        i = self._place_of(page)
        self.edits += 1
        if self._outdated_s[i] == math.inf:
            self._outdated_s[i] = now
        if self._delay_s is None:
            return
        self._pending.append((now + self._delay_s, i))
        if len(self._pending) > PENDING_MAX:
            raise TraceError(f"more than {PENDING_MAX} edits within the delay of a purge: shorten purge-delay")
        self._purge_until(now)

    def staleness_s(self, level: float) -> float | None:
        """The `level` quantile of how long stale reads were outdated, within half a per cent; None without any."""
        if not self.stale:
            return None
        left = level * self.stale
        for age in sorted(self._ages):
            left -= self._ages[age]
            if left <= 0:
                break
        return 0.0 if age < 0 else AGE_LEAST_S * math.exp((age + 0.5) * AGE_STEP)

    def misses_below(self, reads: float) -> tuple[int, int]:
        """(misses, those of pages with fewer than `reads` reads)."""
        seldom = sum(m for n, m in zip(self._reads_of, self._misses_of, strict=True) if n < reads)
        return sum(self._misses_of), seldom

    def _place_of(self, page: bytes) -> int:
        if len(page) > ID_MAX_BYTES:
            page = blake2b(page, digest_size=16).digest()
        i = self._place.get(page)
        if i is not None:
            return i
        if len(self._place) >= PAGES_MAX:
            raise TraceError(f"more than {PAGES_MAX} different pages: replay a part of the trace")
        self._place[page] = i = len(self._place)
        for column, value in ((self._filled_s, NEVER), (self._outdated_s, math.inf), (self._asked_s, NEVER)):
            column.append(value)
        self._reads_of.append(0)
        self._misses_of.append(0)
        return i

    def _purge_until(self, now: float) -> None:
        while self._pending and self._pending[0][0] <= now:
            # A purge drops the copy that is there when it arrives, even one that was filled after the edit.
            self._filled_s[self._pending.popleft()[1]] = NEVER

    def _hit(self, i: int, now: float) -> None:
        self.hits += 1
        if self._outdated_s[i] < math.inf:
            self.stale += 1
            behind = now - self._outdated_s[i]
            self._ages[int(math.log(behind / AGE_LEAST_S) / AGE_STEP) if behind > AGE_LEAST_S else -1] += 1

    def _fetch(self, i: int, now: float, size_bytes: int) -> None:
        self.fetches += 1
        self.bytes_fetched += size_bytes
        self._filled_s[i], self._outdated_s[i] = now, math.inf
