"""How long after an edit all readers of its page see it, and the distribution of that over many edits.

Readers look at moments only, so the time of an edit lies between two reads: the last one that got an older text, and
the first one from which on all got this text or a newer one. Both count by the moment of their sending, from the
acknowledgement of the edit. An edit is watched until the next edit of its page is sent, as what follows may be due to
that one. If the last read before that still got an older text, the edit's time is censored: longer than that. The
distribution of censored times is estimated after E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete
observations", JASA 53(282), 1958. It takes the moment of the next edit for independent of how long this one takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

REACHED = 1e-9  # rounding in a product of many shares


@dataclass(frozen=True)
class EditTimes:
    """The times of n edits, in seconds after their acknowledgements; all of shape (n,).

    `outdated_s` is the last read that got an older text, 0 if none did. `fresh_s` is the first read from which on all
    got this text or a newer one, infinity if there is none. `reads` are those between an edit and the next one of its
    page.
    """

    outdated_s: np.ndarray
    fresh_s: np.ndarray
    reads: np.ndarray

    @classmethod
    def of_all(cls, parts: Sequence["EditTimes"]) -> "EditTimes":
        """The times of all `parts`, at least one."""
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("outdated_s", "fresh_s", "reads"))
        )

    def read(self) -> "EditTimes":
        """Those edits of whose pages there was a read before the next edit."""
        seen = self.reads > 0
        return EditTimes(self.outdated_s[seen], self.fresh_s[seen], self.reads[seen])

    @property
    def size(self) -> int:
        """Number of edits."""
        return int(self.reads.size)

    @property
    def censored(self) -> np.ndarray:
        """Whether the next edit, or the end of the trial, came before a fresh read."""
        return ~np.isfinite(self.fresh_s)

    def distribution(self) -> "Distribution":
        """The distribution of `fresh_s`, the upper end of each edit's time."""
        return Distribution.of(np.where(self.censored, self.outdated_s, self.fresh_s), ~self.censored)

    def least_distribution(self) -> "Distribution":
        """The distribution of `outdated_s`, the lower end."""
        return Distribution.of(self.outdated_s, ~self.censored)


@dataclass(frozen=True)
class Distribution:
    """A step function: the share of edits that took at most `times_s` is `shares`; both rise and have one length.

    `left_s` are the times at which edits were censored.
    """

    times_s: np.ndarray
    shares: np.ndarray
    left_s: np.ndarray

    @classmethod
    def of(cls, times_s: ArrayLike, ended: ArrayLike) -> "Distribution":
        """The product-limit estimate.

        Args:
            times_s: shape (n,), how long each edit took, or was watched. ended: shape (n,), False for one that took
                longer.
        """
        times, over = np.asarray(times_s, dtype=float), np.asarray(ended, dtype=bool)
        moments, ends = np.unique(times[over], return_counts=True)
        # An edit that is censored at a moment was still watched at it.
        watched = times.size - np.searchsorted(np.sort(times), moments, side="left")
        return cls(moments, 1 - np.cumprod(1 - ends / watched), np.sort(times[~over]))

    def quantile(self, level: float) -> float | None:
        """The time within which the share `level` (0 to 1) of the edits is seen; None if too many are censored."""
        reached = np.flatnonzero(self.shares >= level - REACHED)
        return float(self.times_s[reached[0]]) if reached.size else None

    def share_at(self, times_s: ArrayLike) -> np.ndarray:
        """The shares at `times_s`, of any shape; 0 before the first step."""
        place = np.searchsorted(self.times_s, times_s, side="right")
        return np.concatenate(([0.0], self.shares))[place]


@dataclass(frozen=True)
class Writes:
    """The edits of a trial in any order; all of shape (w,). Moments are in microseconds since 1970; `revision` is -1
    for an edit without an acknowledgement."""

    page: ArrayLike
    sent_at_us: ArrayLike
    done_at_us: ArrayLike
    revision: ArrayLike


@dataclass(frozen=True)
class Reads:
    """The answered reads of a trial in any order; all of shape (r,)."""

    page: ArrayLike
    sent_at_us: ArrayLike
    revision: ArrayLike


def edit_times(writes: Writes, reads: Reads, tolerance_us: int = 0) -> EditTimes:
    """Return the `EditTimes` of the acknowledged `writes`, in the order of pages and sending.

    Args:
        writes, reads: pages are whole numbers from 0 on.
        tolerance_us: reads that were sent less than this after an acknowledgement do not count, as in `History.judge`.
    """
    page, sent, done, revision = _sorted(writes.page, writes.sent_at_us, writes.done_at_us, writes.revision)
    read_page, read_sent, read_revision = _sorted(reads.page, reads.sent_at_us, reads.revision)
    outdated, fresh, seen = [], [], []
    for at in np.flatnonzero(revision >= 0):
        has_next = at + 1 < page.size and page[at + 1] == page[at]
        first, last = np.searchsorted(read_page, page[at], side="left"), np.searchsorted(read_page, page[at], "right")
        moments = read_sent[first:last]
        begin = np.searchsorted(moments, done[at] + tolerance_us, side="right")
        end = np.searchsorted(moments, sent[at + 1], side="left") if has_next else moments.size
        after_s = (moments[begin:end] - done[at]) / 1e6
        older = np.flatnonzero(read_revision[first:last][begin:end] < revision[at])
        newer = int(older[-1]) + 1 if older.size else 0
        outdated.append(after_s[newer - 1] if newer else 0.0)
        fresh.append(after_s[newer] if newer < after_s.size else np.inf)
        seen.append(after_s.size)
    return EditTimes(np.array(outdated, dtype=float), np.array(fresh, dtype=float), np.array(seen, dtype=np.int64))


def _sorted(page: ArrayLike, sent_at_us: ArrayLike, *others: ArrayLike) -> list[np.ndarray]:
    """The columns by page, then by sending."""
    columns = [np.asarray(column, dtype=np.int64) for column in (page, sent_at_us, *others)]
    order = np.lexsort((columns[1], columns[0]))
    return [column[order] for column in columns]
