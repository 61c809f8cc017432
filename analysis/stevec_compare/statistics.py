"""Differences between two samples of trials, with interval, effect size and a p that allows for many tests.

Times are compared as ratios of geometric means, on a logarithmic scale; ratios such as the hit ratio are compared
as differences. Trials are paired by repetition if both runs followed one plan. Otherwise Welch's interval is
used, which does not assume equal variances (B. L. Welch, "The generalization of 'Student's' problem when
several different population variances are involved", Biometrika 34, 1947). The effect size is Hedges' g:
the difference in standard deviations of a trial, corrected for few trials (L. V. Hedges, J. Educational
Statistics 6(2), 1981).
"""

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.special import stdtr, stdtrit

from stevec_report.hypothesis_tests import ALPHA, holm
from stevec_report.intervals import LEVEL

T = TypeVar("T")


@dataclass(frozen=True)
class Difference:
    """B against A: `estimate` is B ÷ A or B - A, with its interval. All are None where the trials are too few.

    `p` is the p-value of this test alone, `p_holm` the one after Holm's correction (see `with_holm`).
    """

    estimate: float
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    p_holm: float | None = None

    @property
    def real(self) -> bool:
        """Whether the difference is significant after the correction for all tests of its kind."""
        return self.p_holm is not None and self.p_holm < ALPHA


def ratio(a: dict[int, float], b: dict[int, float], paired: bool) -> Difference:
    """B ÷ A of positive values. `a`, `b` are {repetition: value}. Returns `Difference` of ratios."""
    found = difference(
        {key: math.log(value) for key, value in a.items()},
        {key: math.log(value) for key, value in b.items()},
        paired,
    )
    low, high = (None if bound is None else math.exp(bound) for bound in (found.low, found.high))
    return Difference(math.exp(found.estimate), low, high, found.p, found.effect)


def difference(a: dict[int, float], b: dict[int, float], paired: bool) -> Difference:
    """B - A of any values. `a`, `b` are {repetition: value}; `paired` uses the repetitions that both have."""
    shared = sorted(a.keys() & b.keys())
    if paired and shared:
        gaps = np.array([b[key] - a[key] for key in shared])
        n, centre = gaps.size, float(gaps.mean())
        error = float(gaps.std(ddof=1)) / math.sqrt(n) if n > 1 else None
        freedom = float(n - 1)
        first, second = np.array([a[key] for key in shared]), np.array([b[key] for key in shared])
    else:
        first, second = np.array(list(a.values())), np.array(list(b.values()))
        centre = float(second.mean() - first.mean())
        error, freedom = _welch(first, second)
    effect = _hedges(first, second)
    if error is None:
        return Difference(centre, None, None, None, effect)
    if error < 1e-12 * max(abs(centre), 1e-300):
        # All trials agree to the last digit, which is possible for the hit ratios of one plan.
        return Difference(centre, centre, centre, 1.0 if centre == 0 else 0.0, effect)
    half = float(stdtrit(freedom, 0.5 + LEVEL / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(centre) / error))
    return Difference(centre, centre - half, centre + half, p, effect)


def with_holm(differences: dict[T, Difference]) -> dict[T, Difference]:
    """Return {name: Difference} with `p_holm` set, corrected over all given differences that have a p."""
    adjusted = holm({name: one.p for name, one in differences.items() if one.p is not None})
    return {name: replace(one, p_holm=adjusted.get(name)) for name, one in differences.items()}


def _welch(a: np.ndarray, b: np.ndarray) -> tuple[float | None, float]:
    """(standard error, degrees of freedom) of the difference of two means; (None, 0) if a sample has one value."""
    if min(a.size, b.size) < 2:
        return None, 0
    parts = np.array([a.var(ddof=1) / a.size, b.var(ddof=1) / b.size])
    if parts.sum() == 0:
        return 0.0, 1
    freedom = parts.sum() ** 2 / float(np.sum(parts**2 / (np.array([a.size, b.size]) - 1)))
    return math.sqrt(parts.sum()), float(freedom)


def _hedges(a: np.ndarray, b: np.ndarray) -> float | None:
    freedom = a.size + b.size - 2
    if min(a.size, b.size) < 2:
        return None
    spread = math.sqrt(((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / freedom)
    if spread == 0:
        return None
    return float(b.mean() - a.mean()) / spread * (1 - 3 / (4 * freedom - 1))
