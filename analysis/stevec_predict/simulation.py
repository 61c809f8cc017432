"""Seeded event-by-event simulation of the same caches: for models without a closed form, and to check those with one.

All pages advance together, one fill per round: the life of each copy ends at its lifetime or at the next purge,
and one search finds the first read after that. The only assumption is the events themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EVENTS_MAX = 20_000_000
Events = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # read_cache, read_s, edit_page, edit_s
EDIT_TAKES = 1e-6  # of the run's length, from an edit's own read to the edit


@dataclass(frozen=True)
class Simulated:
    """The outcome of n reads, in the order of (cache, time); all of shape (n,). `behind_s` is 0 where not stale."""

    hit: np.ndarray
    fetched: np.ndarray
    behind_s: np.ndarray

    @property
    def hit_ratio(self) -> float:
        """Reads that a cache answered ÷ reads."""
        return float(self.hit.mean())

    @property
    def stale_ratio(self) -> float:
        """Outdated reads ÷ reads."""
        return float((self.behind_s > 0).mean())


# Long: the rounds of one algorithm share all of their arrays, and half of the lines say what goes in.
def simulate(
    read_cache: np.ndarray,
    read_s: np.ndarray,
    edit_page: np.ndarray,
    edit_s: np.ndarray,
    *,
    pops: int = 1,
    ttl_s: float,
    swr_s: float = 0.0,
    delay_s: float | Sequence[float] | None = None,
    fetch_s: float = 0.0,
    tick_s: float | None = None,
) -> Simulated:
    """Run the caches over given events.

    Args:
        read_cache: shape (n,), page · pops + pop, whole numbers.
        read_s: shape (n,), moments from 0 on.
        edit_page: shape (e,). edit_s: shape (e,), when each edit was acknowledged; it takes effect at the origin then.
        pops: number of caches for each page.
        ttl_s: lifetime of a copy. swr_s: window of stale-while-revalidate.
        delay_s: seconds from an edit to the purge of its page; several numbers for several purges, None for none.
        fetch_s: duration of a fetch in a cache that does not collapse. The cache has no copy during the fetch and
            forwards every read; it then stores the last of their responses, whose age counts from its request. Not
            supported with a window.
        tick_s: a moment at which the clock ticks in caches that count whole seconds: a copy is fresh until the end
            of the second in which its age reaches `ttl_s`, a whole number. None: lifetimes are exact.

    Returns:
        `Simulated`.
    """
    if read_s.size + edit_s.size > EVENTS_MAX:
        raise ValueError(f"more than {EVENTS_MAX} events")
    if fetch_s > 0 and swr_s > 0:
        raise ValueError("fetches that are not collapsed have no window")
    delays = () if delay_s is None else np.atleast_1d(delay_s).tolist()
    span = 2 + max(float(read_s.max(initial=0)), float(edit_s.max(initial=0)) + max(delays, default=0)) + ttl_s + swr_s
    span += fetch_s + (0 if tick_s is None else 1)
    order = np.lexsort((read_s, read_cache))
    cache, time = read_cache[order], read_s[order]
    page = cache // pops
    order = np.lexsort((edit_s, edit_page))
    edits = edit_page[order] * span + edit_s[order]
    edit_time = np.append(edit_s[order], np.inf)
    edit_of = np.append(edit_page[order], -1)
    n = time.size

    def edit_after(of: np.ndarray, moment: np.ndarray) -> np.ndarray:
        """The time of the first edit of each page after `moment`; infinity if there is none."""
        place = np.searchsorted(edits, of * span + moment, side="right")
        return np.where(edit_of[place] == of, edit_time[place], np.inf)

    keys = cache * span + time
    ends = np.searchsorted(cache, cache, side="right")
    fills, late = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    now = np.flatnonzero(np.r_[True, cache[1:] != cache[:-1]]) if n else np.empty(0, dtype=int)
    asked = np.zeros(n + 1, dtype=np.int64)  # +1 where fetches begin, -1 after their end
    while now.size:
        if fetch_s > 0:
            until = cache[now] * span + np.minimum(time[now] + fetch_s, span - 1)
            last = np.searchsorted(keys, until, side="right") - 1
            np.add.at(asked, now, 1)
            np.add.at(asked, last + 1, -1)
            now = last
        fills[now] = True
        due = time[now] + ttl_s if tick_s is None else np.floor(time[now] - tick_s) + tick_s + ttl_s + 1
        end = due
        for delay in delays:
            # A purge drops the copy that is there when it arrives, even one that was filled after the edit.
            end = np.minimum(end, edit_after(page[now], time[now] - delay) + delay)
        following = np.searchsorted(keys, cache[now] * span + np.minimum(end, span - 1), side="left")
        following = np.maximum(following, now + 1)
        inside = following < ends[now]
        purged, now, end = (end < due)[inside], following[inside], end[inside]
        if swr_s > 0:
            late[now] = ~purged & (time[now] < end + swr_s)
    fills |= np.cumsum(asked[:-1]) > 0
    # A late read (in the stale-while-revalidate window) gets the copy before the one that it fetches.
    index = np.where(fills, np.arange(n), 0)
    newest = np.maximum.accumulate(index) if n else index
    copy = np.where(late, np.r_[0, newest[:-1]] if n else newest, newest)
    superseded = edit_after(page, time[copy]) if n else time
    behind = np.where(superseded < time, time - superseded, 0.0)
    hit = ~fills | late
    return Simulated(hit, fills, np.where(hit, behind, 0.0))


def draw_events(
    rng: np.random.Generator,
    *,
    pages: int,
    requests: int,
    edit_ratio: float,
    run_s: float,
    share: np.ndarray | None = None,
    edit_share: np.ndarray | None = None,
    pops: int = 1,
    paired: bool = False,
    other_reads: int = 0,
    arrivals: tuple[np.ndarray, np.ndarray] | None = None,
) -> Events:
    """Draw one run as the lab does: `requests` iterations, each an edit with chance `edit_ratio`, at moments uniform
    in the run.

    Args:
        share: shape (pages,), the chance of each page; None: all equal. edit_share: the same for edits; None: as for
            reads, so an edit changes the page that its iteration would have read.
        paired: an edit starts with a read of its page.
        other_reads: number of additional reads, at uniform moments of their own.
        arrivals: (moments, shares started by then), both of shape (k,) and rising; None: uniform in the run.

    Returns:
        (read_cache, read_s, edit_page, edit_s) for `simulate`.
    """
    page, moment = _draw_pages(rng, pages, requests, share), np.sort(rng.uniform(0, run_s, requests))
    if arrivals is not None:
        moment = np.interp(moment / run_s, arrivals[1], arrivals[0])
    edit = rng.random(requests) < edit_ratio
    if edit_share is not None:
        page[edit] = _draw_pages(rng, pages, int(edit.sum()), edit_share)
    read = np.ones(requests, dtype=bool) if paired else ~edit
    read_page = np.r_[page[read], _draw_pages(rng, pages, other_reads, share)]
    read_s = np.r_[moment[read], rng.uniform(0, run_s, other_reads)]
    cache = read_page * pops + (rng.integers(0, pops, read_page.size) if pops > 1 else 0)
    # An edit's own read gets the page as it was before the edit.
    edit_s = moment[edit] + (EDIT_TAKES * run_s if paired else 0.0)
    return cache, read_s, page[edit], edit_s


def _draw_pages(rng: np.random.Generator, pages: int, count: int, share: np.ndarray | None) -> np.ndarray:
    drawn = rng.integers(0, pages, count) if share is None else rng.choice(pages, count, p=share)
    return drawn.astype(np.int64)
