"""What a cache with one setting would have done with the requests of a class: the cache of `stevec_predict.replay`,
over arrays instead of a stream. A test holds the two against each other, request by request."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stevec_advise.log import SPAN_MS, ClassLog
from stevec_advise.setting import Setting

SLICES = 10
BlockOf = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """Counts of a class under a setting, by block of time: arrays of shape (blocks,).

    Attributes:
        reads: all. fetches: those for which the origin is asked, also behind the reader's back. waits: those that
            waited for the origin. bodies: fetches that the origin answers with a body, not with 304. stale: answered by
            a copy that was outdated.
        oldest_ms: for how long the most outdated of them was; 0 without any.
    """

    reads: np.ndarray
    fetches: np.ndarray
    waits: np.ndarray
    bodies: np.ndarray
    stale: np.ndarray
    oldest_ms: int


def outcome_of(log: ClassLog, setting: Setting, span_ms: int, blocks: int = 1) -> Outcome:
    """Play the requests of `log`, of `span_ms` milliseconds, beginning with an empty cache."""
    block_of = _blocks(span_ms, blocks)
    reads = np.bincount(block_of(log.time_ms), minlength=blocks)
    if setting.lifetime_s is None:
        bodies = reads if not setting.revalidates else _changed(log, block_of, blocks)
        return Outcome(reads, reads, reads, bodies, np.zeros(blocks, dtype=np.int64), 0)
    next_fetch, outdated = _next_fetches(log, setting)
    fills = _chain(next_fetch)
    ends = next_fetch[fills]
    # The copy of a fill answers the reads until the next one; those from `begins` on are stale.
    begins = np.maximum(np.searchsorted(log.reads, outdated[fills]), fills + 1)
    stale_of = np.maximum(ends - begins, 0)
    last = np.minimum(ends, len(log.reads)) - 1
    age_ms = np.where(stale_of > 0, log.reads[last] - outdated[fills], 0)
    waited = np.ones(len(fills), dtype=bool)
    stale = np.bincount(block_of(log.reads[fills] % SPAN_MS), weights=stale_of, minlength=blocks)
    if setting.window_s:
        # The first read after the lifetime, if it comes within the window, gets the old copy; the fetch follows.
        copies = np.flatnonzero(ends < len(log.reads))
        after = ends[copies]
        latest = log.reads[fills[copies]] + round((setting.lifetime_s + setting.window_s) * 1000)
        same = log.reads[after] // SPAN_MS == log.reads[fills[copies]] // SPAN_MS
        served = same & (log.reads[after] < latest)
        waited[np.searchsorted(fills, after[served])] = False
        behind = log.reads[after] - outdated[fills[copies]]
        late = served & (behind >= 0)
        stale += np.bincount(block_of(log.reads[after[late]] % SPAN_MS), minlength=blocks)
        age_ms = np.append(age_ms, behind[late])
    fill_block = block_of(log.reads[fills] % SPAN_MS)
    fetches = np.bincount(fill_block, minlength=blocks)
    return Outcome(
        reads=reads,
        fetches=fetches,
        waits=np.bincount(fill_block[waited], minlength=blocks),
        bodies=fetches,
        stale=stale.astype(np.int64),
        oldest_ms=int(age_ms.max(initial=0)),
    )


def _blocks(span_ms: int, blocks: int) -> BlockOf:
    """The block of each time. Each block is `SLICES` slices from all over the span, so that day and night, which come
    again in the next log, do not count as chance."""
    return lambda times_ms: np.minimum(times_ms * (blocks * SLICES) // span_ms, blocks * SLICES - 1) % blocks


def _changed(log: ClassLog, block_of: BlockOf, blocks: int) -> np.ndarray:
    """Reads whose page was edited since the read before, or was never read."""
    outdated = _first_edit_after(log)
    first = np.append(True, np.diff(log.url) > 0)
    changed = first.copy()
    changed[1:] |= ~first[1:] & (outdated[:-1] <= log.reads[1:])
    return np.bincount(block_of(log.time_ms[changed]), minlength=blocks)


def _first_edit_after(log: ClassLog, delay_ms: int = 0) -> np.ndarray:
    """For each read, when the first edit of its page after it takes effect, `delay_ms` later: place of the URL ·
    `SPAN_MS` + time; without one, the end of the URL. Shape (n,)."""
    url = log.url
    wanted = log.path[url] * SPAN_MS + log.time_ms
    place = np.searchsorted(log.edits + delay_ms, wanted, side="right")
    found = np.append(log.edits, -1)[place]
    same = (place < len(log.edits)) & (found // SPAN_MS == log.path[url])
    return url * SPAN_MS + np.where(same, np.minimum(found % SPAN_MS + delay_ms, SPAN_MS - 1), SPAN_MS - 1)


def _next_fetches(log: ClassLog, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """For each read, if it fills the cache: which read is the next to do so, and when the copy becomes outdated."""
    assert setting.lifetime_s is not None
    last = log.url * SPAN_MS + SPAN_MS - 1
    ends = np.minimum(log.reads + min(round(setting.lifetime_s * 1000), SPAN_MS), last)
    if setting.purge_delay_s is not None:
        ends = np.minimum(ends, _first_edit_after(log, round(setting.purge_delay_s * 1000)))
    return np.searchsorted(log.reads, ends), _first_edit_after(log)


def _chain(next_fetch: np.ndarray) -> np.ndarray:
    """The reads that fill the cache, from the first one on."""
    following = next_fetch.tolist()
    fills, place = [], 0
    while place < len(following):
        fills.append(place)
        place = following[place]
    return np.array(fills, dtype=np.int64)
