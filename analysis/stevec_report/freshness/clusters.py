"""Groups the reads of a trial by the edit that they follow: the reads of a page after one edit are stale together.

All reads of a page after one edit meet the same copy and the same purge, so they are not independent; edits nearly
are. A read belongs to the newest edit of its page that was acknowledged before it was sent. Where a copy outlives
several edits, its stale reads join them: a cluster is a run of edits of one page of which no stale read missed edits of
two clusters. The reads of an edited page before its first edit are a cluster without an edit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stevec_report.freshness.history import History, Verdicts


@dataclass(frozen=True)
class ClusterSums:
    """Sums over the clusters of one trial: what an interval of its stale ratio needs.

    `judged` are all reads that could be judged, those of pages without edits included. `clusters` have an edit, and
    `reads_after` reads; `stale_clusters` of them have a stale read, the largest `stale_max`. The last three sum, over
    clusters with and without an edit, stale reads squared, stale reads times reads, and reads squared.
    """

    judged: int
    stale: int
    clusters: int
    stale_clusters: int
    reads_after: int
    stale_max: int
    stale_squared: int
    stale_times_reads: int
    reads_squared: int

    @classmethod
    def of(cls, judged: int, stale: ArrayLike, reads: ArrayLike, before: ArrayLike = ()) -> "ClusterSums":
        """Return the sums over c clusters.

        Args:
            judged: number of reads, not below the sum of `reads` and `before`.
            stale, reads: shape (c,), stale reads and all reads of each cluster.
            before: shape (p,), reads of each edited page before its first edit.
        """
        stale, reads, before = (np.asarray(values, dtype=np.int64) for values in (stale, reads, before))
        return cls(
            judged=judged,
            stale=int(stale.sum()),
            clusters=stale.size,
            stale_clusters=int((stale > 0).sum()),
            reads_after=int(reads.sum()),
            stale_max=int(stale.max(initial=0)),
            stale_squared=int(stale @ stale),
            stale_times_reads=int(stale @ reads),
            reads_squared=int(reads @ reads + before @ before),
        )


class ClusterTally:
    """Counts the reads of each edit of a `History`, chunk by chunk."""

    def __init__(self, history: History) -> None:
        """Begin with no reads. Memory: 32 bytes per edit, 8 per page."""
        self.stale = np.zeros(history.size, dtype=np.int64)
        self.reads = np.zeros(history.size, dtype=np.int64)
        self.reach = np.arange(history.size)  # the newest edit that a stale read missed together with this one
        self.before = np.zeros(history.pages, dtype=np.int64)

    def add(self, page: ArrayLike, verdicts: Verdicts) -> None:
        """Count n judged reads of the edited pages `page`, shape (n,), with their `Verdicts` of the same history."""
        if self.stale.size == 0:
            return
        page, latest = np.asarray(page, dtype=np.int64), verdicts.latest_edit
        after = latest >= 0
        self.reads += np.bincount(latest[after], minlength=self.reads.size)
        self.before += np.bincount(page[~after], minlength=self.before.size)
        first = verdicts.first_missed[verdicts.stale]
        self.stale += np.bincount(first, minlength=self.stale.size)
        np.maximum.at(self.reach, first, latest[verdicts.stale])

    def sums(self, judged: int) -> ClusterSums:
        """Return the `ClusterSums`; `judged` as there."""
        if self.stale.size == 0:
            return ClusterSums.of(judged, [], [], self.before)
        # Edits are ordered by page and time, and no reach crosses a page. So one running maximum finds all clusters.
        begins = np.arange(self.reach.size) > np.concatenate(([-1], np.maximum.accumulate(self.reach)[:-1]))
        places = np.flatnonzero(begins)
        return ClusterSums.of(
            judged, np.add.reduceat(self.stale, places), np.add.reduceat(self.reads, places), self.before
        )
