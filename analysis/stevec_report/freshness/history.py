"""Judges reads against the edits that had been acknowledged when the reads were sent.

A read is stale if it returned a revision older than the newest one that was acknowledged before the read
was sent. An edit that was in flight while the read was sent is ignored: the reader may see the page before
or after it, and both are correct (a regular register: L. Lamport, "On interprocess communication",
Distributed Computing 1, 1986). Seconds behind are counted from the first acknowledgement that made the
answer old, versions behind to the newest (D. Bermbach, S. Tai, "Eventual consistency: how soon is
eventual?", MW4SOC 2011; P. Bailis et al., "Probabilistically bounded staleness for practical partial
quorums", VLDB 2012).

Revisions of a page are whole numbers that only grow, even if the page is deleted and created again, and each
change takes the next number. So an edit that took effect but was never acknowledged (its response was lost) does
not make any read stale by itself, but counts among the versions once a later edit is acknowledged.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

KEY_MAX = 1 << 62


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on n reads; all of shape (n,). Where `stale` is False, the next two are 0.

    `uncertain` are the reads that count as fresh only because of the clock's tolerance. `latest_edit` is the newest
    edit of the page that counts for the read, `first_missed` the one that made a stale read's answer old: numbers of
    edits in the order of page and acknowledgement, -1 without one.
    """

    stale: np.ndarray
    versions_behind: np.ndarray
    behind_us: np.ndarray
    uncertain: np.ndarray
    latest_edit: np.ndarray
    first_missed: np.ndarray


class History:
    """The acknowledged edits of some pages, indexed for millions of lookups."""

    def __init__(self, page: ArrayLike, acknowledged_at_us: ArrayLike, revision: ArrayLike) -> None:
        """Arrange w edits.

        Args:
            page: shape (w,), whole numbers 0 … pages − 1.
            acknowledged_at_us: shape (w,), when the editor received the response, microseconds since 1970.
            revision: shape (w,), 0 or more, as acknowledged.

        Raises:
            ValueError: shapes differ, something is negative, or pages × time is beyond 62 bits.
        """
        page, acknowledged, revision = (
            np.asarray(values, dtype=np.int64) for values in (page, acknowledged_at_us, revision)
        )
        if page.ndim != 1 or not page.shape == acknowledged.shape == revision.shape:
            raise ValueError("page, acknowledged_at_us and revision must be of one length")
        self.size = page.size
        self.pages = int(page.max(initial=-1)) + 1
        if self.size == 0:
            return
        if page.min() < 0 or revision.min() < 0:
            raise ValueError("pages and revisions are 0 or more")
        self.begin_us = int(acknowledged.min())
        offset = acknowledged - self.begin_us
        # Each page has its own range of keys, beyond those of all pages before it. So one search finds page and
        # moment together, and running minima and maxima restart at each page.
        self.time_span = int(offset.max()) + 2
        self.revision_span = int(revision.max()) + 2
        if self.pages * max(self.time_span, self.revision_span) >= KEY_MAX:
            raise ValueError("too many pages over too long a time to judge at once")

        by_revision = np.lexsort((offset, revision, page))
        self.revision_keys = (page * self.revision_span + revision)[by_revision]
        self.revision_pages = page[by_revision]
        times = (page * self.time_span + offset)[by_revision]
        self.first_newer = np.minimum.accumulate(times[::-1])[::-1]

        by_time = np.lexsort((revision, offset, page))
        self.time_keys = (page * self.time_span + offset)[by_time]
        self.time_pages = page[by_time]
        self.newest = np.maximum.accumulate((page * self.revision_span + revision)[by_time])

    def judge(self, page: ArrayLike, sent_at_us: ArrayLike, revision: ArrayLike, tolerance_us: int = 0) -> Verdicts:
        """Judge n reads.

        Args:
            page: shape (n,), as in the history.
            sent_at_us: shape (n,), microseconds since 1970.
            revision: shape (n,), what the answers carried; 0 for "there is no such page".
            tolerance_us: an acknowledgement counts only if it arrived more than this before the read was sent.

        Returns:
            `Verdicts`.
        """
        page, sent, revision = (np.asarray(values, dtype=np.int64) for values in (page, sent_at_us, revision))
        if self.size == 0:
            nothing = np.zeros(page.shape, dtype=np.int64)
            return Verdicts(nothing.astype(bool), nothing, nothing, nothing.astype(bool), nothing - 1, nothing - 1)
        # A revision beyond all acknowledged ones is from an edit that is not acknowledged (yet).
        seen = np.clip(revision, 0, self.revision_span - 1)
        place = np.searchsorted(self.revision_keys, page * self.revision_span + seen, side="right")
        inside = np.minimum(place, self.size - 1)
        outdated = (place < self.size) & (self.revision_pages[inside] == page)
        outdated_at = self.first_newer[inside] - page * self.time_span + self.begin_us
        behind_us = sent - outdated_at
        stale = outdated & (behind_us > tolerance_us)
        uncertain = outdated & (behind_us > 0) & ~stale

        latest = self._latest_before(page, sent - tolerance_us)
        versions, first_missed = np.zeros(page.shape, dtype=np.int64), np.full(page.shape, -1)
        if stale.any():
            newest = self.newest[latest[stale]] - page[stale] * self.revision_span
            versions[stale] = newest - revision[stale]
            # The search in time finds the first of several edits that were acknowledged in the same microsecond.
            first_missed[stale] = np.searchsorted(self.time_keys, self.first_newer[inside[stale]], side="left")
        return Verdicts(stale, versions, np.where(stale, behind_us, 0), uncertain, latest, first_missed)

    def _latest_before(self, page: np.ndarray, moment_us: np.ndarray) -> np.ndarray:
        """The last edit of the page that was acknowledged before `moment_us`; -1 if there is none."""
        offset = np.clip(moment_us - self.begin_us, 0, self.time_span - 1)
        place = np.searchsorted(self.time_keys, page * self.time_span + offset, side="left") - 1
        return np.where((place >= 0) & (self.time_pages[np.maximum(place, 0)] == page), place, -1)
