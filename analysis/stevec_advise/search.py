"""Finds the setting of each family that asks the origin least while it keeps the limits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stevec_advise.confidence import BLOCKS, upper_bound
from stevec_advise.limits import Limits
from stevec_advise.log import ClassLog
from stevec_advise.outcome import Outcome, outcome_of
from stevec_advise.setting import Setting, of_lifetime, purged

# A log says little about a lifetime that is not much shorter than itself, as its cache begins empty.
LIFETIME_SHARE_MAX = 0.1
BOUND_USUAL_S, BOUND_LEAST_S = 0.5, 0.1
# A later family has to save that share of what an earlier, simpler one leaves.
WORTH = 0.05


@dataclass(frozen=True)
class Found:
    """A setting and what it does: `stale_upper` is the bound of the stale share of the next such log."""

    setting: Setting
    outcome: Outcome
    stale_upper: float

    @property
    def fetch_share(self) -> float:
        """Requests to the origin, per read."""
        return self._per_read(self.outcome.fetches)

    @property
    def wait_share(self) -> float:
        """Reads that wait for the origin."""
        return self._per_read(self.outcome.waits)

    @property
    def body_share(self) -> float:
        """Requests to the origin that it answers with a body, per read."""
        return self._per_read(self.outcome.bodies)

    @property
    def stale_share(self) -> float:
        """Stale reads."""
        return self._per_read(self.outcome.stale)

    def _per_read(self, counts: np.ndarray) -> float:
        return float(counts.sum() / self.outcome.reads.sum())


class Search:
    """Settings of one class of a log of `span_ms` milliseconds."""

    def __init__(self, log: ClassLog, span_ms: int, limits: Limits) -> None:
        self._log, self._span_ms, self._limits = log, span_ms, limits
        self._seldom_weight = _seldom_weight(log)

    @property
    def lifetime_max_s(self) -> int:
        """The longest lifetime that the log can judge, at least one second."""
        return max(1, int(self._span_ms / 1000 * LIFETIME_SHARE_MAX))

    def of_family(self, family: str, purge_delay_s: float) -> Found | None:
        """The setting of a family that keeps the limits and asks the origin least; None if none keeps them."""
        if family in ("none", "revalidate"):
            return self.of_setting(Setting(family))
        if family == "purge":
            return self._kept(purged(family, purge_delay_s))
        if family == "bounded":
            oldest_s = self._limits.oldest_max_s
            bound_s = BOUND_USUAL_S if oldest_s is None else min(BOUND_USUAL_S, oldest_s)
            return self._kept(purged(family, bound_s)) if bound_s >= BOUND_LEAST_S else None
        return self._longest(lambda lifetime_s: of_lifetime(family, lifetime_s))

    def of_setting(self, setting: Setting) -> Found:
        """What a setting does."""
        outcome = outcome_of(self._log, setting, self._span_ms, BLOCKS)
        if setting.lifetime_s is None or self._limits.confidence is None:
            return Found(setting, outcome, float(outcome.stale.sum() / outcome.reads.sum()))
        seldom = self._seldom_weight * _reach_s(setting)
        return Found(setting, outcome, upper_bound(outcome.stale, outcome.reads, self._limits.confidence, seldom))

    def keeps(self, found: Found) -> bool:
        """Whether a setting keeps the limits, in this log and with the wanted confidence in the next one."""
        oldest_s, stale_max = self._limits.oldest_max_s, self._limits.stale_max
        if oldest_s is not None and found.setting.oldest_s > oldest_s:
            return False
        return stale_max is None or found.stale_upper <= stale_max

    def _kept(self, setting: Setting) -> Found | None:
        found = self.of_setting(setting)
        return found if self.keeps(found) else None

    def _longest(self, of: Callable[[int], Setting]) -> Found | None:
        """The longest lifetime that keeps the limits: a longer one asks less, and lets pages become older."""
        shortest = self._kept(of(1))
        if shortest is None:
            return None
        kept, low, high = shortest, 1, self.lifetime_max_s
        longest = self._kept(of(high))
        if longest is not None:
            return longest
        while high - low > max(1, low // 200):
            middle = round((low * high) ** 0.5) if high > 2 * low else (low + high) // 2
            found = self._kept(of(middle))
            if found is None:
                high = middle
            else:
                kept, low = found, middle
        return kept


def choose(found: list[Found], *, least: str = "fetches") -> Found:
    """The simplest of settings, in the order of families, that is about as good as the best one.

    `least`: what to keep down, "fetches" of the origin or "waits" for it. A later one replaces an earlier one if it
    saves `WORTH` of that; of as many requests, if it saves `WORTH` of the bodies.
    """

    def cost(one: Found) -> float:
        return one.fetch_share if least == "fetches" else one.wait_share

    best = found[0]
    for one in found[1:]:
        saves_bodies = cost(one) <= cost(best) and one.body_share < (1 - WORTH) * best.body_share
        if cost(one) < (1 - WORTH) * cost(best) or saves_bodies:
            best = one
    return best


def _seldom_weight(log: ClassLog) -> float:
    """Reads a second that one more edit would make stale, if pages are edited as often as they are read."""
    per_url = np.bincount(log.url)
    span_s = max(float(log.time_ms.max() - log.time_ms.min()) / 1000, 1.0)
    return float(np.sum(per_url.astype(float) ** 2) / per_url.sum() / span_s)


def _reach_s(setting: Setting) -> float:
    """For how long the edit of a page makes reads stale: half of a lifetime on average."""
    if setting.lifetime_s is None:
        return 0.0
    half_s = setting.lifetime_s / 2 + setting.window_s
    return half_s if setting.purge_delay_s is None else min(half_s, setting.purge_delay_s)
