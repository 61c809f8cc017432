"""Confidence intervals. The unit is always the trial, never the request.

Requests of one trial share its caches, its connection and its neighbours on the machine, so they are not
independent; repeated trials nearly are (A. Georges, D. Buytaert, L. Eeckhout, "Statistically rigorous Java
performance evaluation", OOPSLA 2007, section 3), and `dependence.py` allows for the rest. Times are positive and skewed
and are compared as ratios, so everything is computed on logarithms and transformed back, which makes the centres
geometric means (P. J. Fleming, J. J. Wallace, "How not to lie with statistics: the correct way to summarize benchmark
results", CACM 29(3), 1986).
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A centre with its confidence interval, in the unit of the values; `low`, `high` are None if n is 1."""

    centre: float
    low: float | None
    high: float | None
    n: int

    @property
    def bounds(self) -> tuple[float, float] | None:
        """(low, high), or None if n is 1."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def map(self, transform: Callable[[float], float]) -> "Interval":
        """The interval with `transform`, a rising function, applied to centre and bounds."""
        low, high = (None if bound is None else transform(bound) for bound in (self.low, self.high))
        return Interval(transform(self.centre), low, high, self.n)

    def is_within(self, low: float, high: float) -> bool | None:
        """True if it is wholly between `low` and `high`, False if wholly outside, None if neither, or n is 1."""
        if self.low is None or self.high is None:
            return None
        if low < self.low and self.high < high:
            return True
        return False if self.high < low or self.low > high else None

    def in_percent(self) -> "Interval":
        """The interval of a share (0 to 1) in per cent."""
        return self.map(lambda value: 100 * value)


def t_interval(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Student's t interval of the mean of `values`.

    Args:
        values: shape (n,), n ≥ 1, any unit, finite.
        level: confidence, 0 to 1.

    Returns:
        `Interval` of the arithmetic mean, mean ± t(n − 1) · s / √n.

    Raises:
        ValueError: no values, or one that is not finite.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError("a t interval needs one or more finite values")
    mean = float(values.mean())
    if values.size == 1:
        return Interval(mean, None, None, 1)
    half = _t_quantile(values.size - 1, level) * float(values.std(ddof=1)) / math.sqrt(values.size)
    return Interval(mean, mean - half, mean + half, values.size)


def clipped(interval: Interval, top: float = 1.0) -> Interval:
    """The interval of a share, whose bounds are within 0 and `top`."""
    low, high = (None if bound is None else min(top, max(0.0, bound)) for bound in (interval.low, interval.high))
    return replace(interval, low=low, high=high)


def geometric_mean(values: ArrayLike, level: float = LEVEL) -> Interval:
    """Geometric mean of the positive `values` (n,), with the t interval of their logarithms; unit as given.

    ValueError if there is none or one is not positive.
    """
    values = np.asarray(values, dtype=float)
    if not (values > 0).all():
        raise ValueError("a geometric mean needs positive values")
    return t_interval(np.log(values), level).map(math.exp)


def geometric_centre(values: Collection[float]) -> float | None:
    """Geometric mean of the positive `values`, without an interval; None without any."""
    return geometric_mean(list(values)).centre if values else None


def _t_quantile(freedom: float, level: float) -> float:
    # scipy.special instead of scipy.stats: the same number, without two seconds of import.
    return float(stdtrit(freedom, 0.5 + level / 2))
