"""A seeded simulation of the same caches, event by event, for what has no closed form and to check what has.

All pages go forward together, one fill a round: the life of each copy ends at its lifetime or at the next
purge, and one search finds the read that comes first after it. Nothing is assumed but the events
themselves.
"""

from dataclasses import dataclass

import numpy as np

EVENTS_MAX = 20_000_000
EDIT_TAKES = 1e-6  # of a run: so long after its own read an edit is made


@dataclass(frozen=True)
class Simulated:
    """What n reads met, in the order of (cache, time); all of shape (n,). `behind_s` is 0 where not stale."""

    hit: np.ndarray
    fetched: np.ndarray
    behind_s: np.ndarray

    @property
    def hit_ratio(self):
        """Reads that a cache answered ÷ reads."""
        return float(self.hit.mean())

    @property
    def stale_ratio(self):
        """Outdated reads ÷ reads."""
        return float((self.behind_s > 0).mean())


def simulate(read_cache, read_s, edit_page, edit_s, *, pops=1, ttl_s, swr_s=0.0, delay_s=None):
    """Run the caches over given events.

    Args:
        read_cache: shape (n,), page · pops + pop, whole numbers.
        read_s: shape (n,), moments from 0 on.
        edit_page: shape (e,). edit_s: shape (e,), when each edit was acknowledged, at the origin at once.
        pops: caches of each page.
        ttl_s: lifetime of a copy. swr_s: window of stale-while-revalidate.
        delay_s: each edit purges its page so long after it; None: it does not. Several numbers: as often.

    Returns:
        `Simulated`.
    """
    if read_s.size + edit_s.size > EVENTS_MAX:
        raise ValueError(f"more than {EVENTS_MAX} events")
    delays = () if delay_s is None else np.atleast_1d(delay_s).tolist()
    span = 2 + max(float(read_s.max(initial=0)), float(edit_s.max(initial=0)) + max(delays, default=0)) + ttl_s + swr_s
    order = np.lexsort((read_s, read_cache))
    cache, time = read_cache[order], read_s[order]
    page = cache // pops
    order = np.lexsort((edit_s, edit_page))
    edits = edit_page[order] * span + edit_s[order]
    edit_time = np.append(edit_s[order], np.inf)
    edit_of = np.append(edit_page[order], -1)
    n = time.size

    def edit_after(of, moment):
        """When the first edit of each page after `moment` was; infinity if there was none."""
        place = np.searchsorted(edits, of * span + moment, side="right")
        return np.where(edit_of[place] == of, edit_time[place], np.inf)

    keys = cache * span + time
    ends = np.searchsorted(cache, cache, side="right")
    fills, late = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    now = np.flatnonzero(np.r_[True, cache[1:] != cache[:-1]]) if n else np.empty(0, dtype=int)
    while now.size:
        fills[now] = True
        end = time[now] + ttl_s
        for delay in delays:
            # A purge drops what is there when it comes, so also a copy filled between the edit and it.
            end = np.minimum(end, edit_after(page[now], time[now] - delay) + delay)
        following = np.searchsorted(keys, cache[now] * span + np.minimum(end, span - 1), side="left")
        following = np.maximum(following, now + 1)
        inside = following < ends[now]
        source, now, end = now[inside], following[inside], end[inside]
        if swr_s > 0:
            purged = end < time[source] + ttl_s
            late[now] = ~purged & (time[now] < end + swr_s)
    # A late read gets the copy before the one that it has fetched.
    index = np.where(fills, np.arange(n), 0)
    newest = np.maximum.accumulate(index) if n else index
    copy = np.where(late, np.r_[0, newest[:-1]] if n else newest, newest)
    superseded = edit_after(page, time[copy]) if n else time
    behind = np.where(superseded < time, time - superseded, 0.0)
    hit = ~fills | late
    return Simulated(hit, fills, np.where(hit, behind, 0.0))


def draw_events(
    rng, *, pages, requests, edit_ratio, run_s, share=None, edit_share=None, pops=1, paired=False, other_reads=0
):
    """Draw one run as the lab does: `requests` iterations, each an edit with chance `edit_ratio`, at moments uniform
    in the run.

    Args:
        share: shape (pages,), the chance of each page; None: all alike. edit_share: the same for edits; None: as for
            reads, and then an edit is of the page that its iteration would have read.
        paired: an edit begins with a read of its page.
        other_reads: reads besides, at moments of their own.

    Returns:
        (read_cache, read_s, edit_page, edit_s) for `simulate`.
    """
    page, moment = _draw_pages(rng, pages, requests, share), np.sort(rng.uniform(0, run_s, requests))
    edit = rng.random(requests) < edit_ratio
    if edit_share is not None:
        page[edit] = _draw_pages(rng, pages, int(edit.sum()), edit_share)
    read = np.ones(requests, dtype=bool) if paired else ~edit
    read_page = np.r_[page[read], _draw_pages(rng, pages, other_reads, share)]
    read_s = np.r_[moment[read], rng.uniform(0, run_s, other_reads)]
    cache = read_page * pops + (rng.integers(0, pops, read_page.size) if pops > 1 else 0)
    # The read that an edit begins with shows the page as it was before.
    edit_s = moment[edit] + (EDIT_TAKES * run_s if paired else 0.0)
    return cache, read_s, page[edit], edit_s


def _draw_pages(rng, pages, count, share):
    drawn = rng.integers(0, pages, count) if share is None else rng.choice(pages, count, p=share)
    return drawn.astype(np.int64)
