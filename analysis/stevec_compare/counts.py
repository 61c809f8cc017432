"""Counts of two sides (hits, stale reads, failures) as a gap of shares: binomial, with overdispersion between units.

Stale reads come in clusters, all reads between an edit and its purge, so that counts spread more than binomial ones.
Pearson's χ² over the units (runs; trials of two single runs) estimates by how much (P. McCullagh, J. A. Nelder,
"Generalized linear models", 1989, section 4.5). An interval is the wider one of two: the binomial one, and that of the
dispersion seen with Student's t for its degrees of freedom. So few units that agree by chance claim nothing that
the number of events does not support, and zero counts need no special case. The intervals are Wilson's and
Newcombe's (R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in
Medicine 17, 1998, method 10).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scipy import stats
from scipy.optimize import brentq

from stevec_compare.difference import Difference
from stevec_report.intervals import LEVEL, Interval

CRITICAL_MAX = 1e6  # standard errors; beyond, p is 0


class Count(NamedTuple):
    """`events` among `of` requests, at least one."""

    events: float
    of: float


@dataclass(frozen=True)
class Dispersion:
    """By what factor counts vary more than binomial ones (`factor`, may be below 1), with its degrees of freedom.

    `freedom` is 0 where no group has two units with events: the binomial is all that is known.
    """

    factor: float
    freedom: int

    def critical(self, level: float = LEVEL) -> float:
        """Half of an interval in binomial standard errors."""
        tail = (1 - level) / 2
        known = float(stats.norm.isf(tail))
        if not self.freedom:
            return known
        return max(known, float(stats.t.isf(tail, self.freedom)) * math.sqrt(self.factor))

    def p(self, distance: float) -> float:
        """Two-sided p of a distance in binomial standard errors."""
        known = 2 * float(stats.norm.sf(distance))
        if not self.freedom or self.factor == 0:
            return known
        return max(known, 2 * float(stats.t.sf(distance / math.sqrt(self.factor), self.freedom)))


BINOMIAL = Dispersion(1.0, 0)


def total(units: Sequence[Count]) -> Count:
    """The sum of the units."""
    return Count(math.fsum(one.events for one in units), math.fsum(one.of for one in units))


def dispersion(groups: Sequence[Sequence[Count]]) -> Dispersion | None:
    """The `Dispersion` within groups of units that share a rate; None if no group has two units."""
    if all(len(units) < 2 for units in groups):
        return None
    chi_square, freedom = 0.0, 0
    for units in groups:
        events, of = total(units)
        share = events / of
        if len(units) > 1 and 0 < share < 1:
            chi_square += sum((one.events - one.of * share) ** 2 / one.of for one in units) / (share * (1 - share))
            freedom += len(units) - 1
    return Dispersion(chi_square / freedom if freedom else 1.0, freedom)


def share(units: Sequence[Count], spread: Dispersion) -> Interval:
    """The share of events with Wilson's interval, widened by the dispersion."""
    counted = total(units)
    low, high = _wilson(counted, spread.critical())
    return Interval(counted.events / counted.of, low, high, len(units))


def compare(
    first: Sequence[Count], second: Sequence[Count], spread: Sequence[Sequence[Count]] = (), of_versions: bool = True
) -> Difference:
    """B − A of the share of events, from the units of each side (at least one).

    `spread` are counts of other runs, in groups of one version, which vary as much. `of_versions`: units are runs.
    """
    a, b = total(first), total(second)
    gap = b.events / b.of - a.events / a.of
    found = dispersion([first, second, *spread])
    if found is None:
        return Difference(gap, False, of_versions)
    below, above = _reach(a, b, found.critical())
    # A typical standard error that is above 0 for no events, too.
    normal = float(stats.norm.isf((1 - LEVEL) / 2))
    error = sum(_reach(a, b, normal)) / 2 / normal
    return Difference(
        estimate=gap,
        is_ratio=False,
        of_versions=of_versions,
        low=gap - below,
        high=gap + above,
        p=found.p(_distance(a, b)),
        error=error * math.sqrt(found.factor),
        freedom=found.freedom or math.inf,
        floor_error=error,
    )


def _wilson(count: Count, critical: float) -> tuple[float, float]:
    """Wilson's interval of a share, `critical` standard errors to each side."""
    share, room = count.events / count.of, critical**2 / count.of
    centre = (share + room / 2) / (1 + room)
    half = math.sqrt(room * share * (1 - share) + room**2 / 4) / (1 + room)
    # A share of 0 or 1 is a bound itself, which rounding would miss.
    return (0.0 if count.events == 0 else centre - half), (1.0 if count.events == count.of else centre + half)


def _reach(a: Count, b: Count, critical: float) -> tuple[float, float]:
    """How far Newcombe's interval of B − A reaches below and above it."""
    (low_a, high_a), (low_b, high_b) = _wilson(a, critical), _wilson(b, critical)
    share_a, share_b = a.events / a.of, b.events / b.of
    return math.hypot(share_b - low_b, high_a - share_a), math.hypot(high_b - share_b, share_a - low_a)


def _distance(a: Count, b: Count) -> float:
    """How many binomial standard errors wide the interval is that just reaches a gap of 0."""
    gap = b.events / b.of - a.events / a.of
    if gap == 0:
        return 0.0
    side = 0 if gap > 0 else 1

    def short_of_zero(critical: float) -> float:
        return _reach(a, b, critical)[side] - abs(gap)

    return CRITICAL_MAX if short_of_zero(CRITICAL_MAX) < 0 else float(brentq(short_of_zero, 0, CRITICAL_MAX))
