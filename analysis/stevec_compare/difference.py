"""A difference between two sides of a comparison, and what remains of it after correction for many tests."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from stevec_report.hypothesis_tests import ALPHA, holm
from stevec_report.power import detectable

T = TypeVar("T")
LOG_MAX = 700.0  # of what math.exp takes


@dataclass(frozen=True)
class Difference:
    """B against A: `estimate` is B ÷ A (`is_ratio`) or B - A, with its 95 % interval, None without enough units.

    `of_versions` is whether the spread between runs is in the interval. If not, it is of these two runs only. `p` is
    of this test alone, `p_holm` after Holm's correction, and `detectable` is the true difference that would have been
    significant in 80 % of such comparisons: a factor above 1, or a gap above 0. `effect` is Hedges' g in standard
    deviations of a unit (run or trial). `error` is the standard error with `freedom` degrees of freedom and
    `floor_error` a standard error known without estimation (binomial); both on the scale of the test: logarithms
    of ratios, shares.
    """

    estimate: float
    is_ratio: bool
    of_versions: bool
    low: float | None = None
    high: float | None = None
    p: float | None = None
    effect: float | None = None
    error: float | None = None
    freedom: float = math.inf
    floor_error: float = 0.0
    p_holm: float | None = None
    detectable: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the two sides differ after the correction for all tests: the runs, or the versions too (`real`)."""
        return self.p_holm is not None and self.p_holm < ALPHA

    @property
    def real(self) -> bool:
        """Whether the difference is significant beyond the spread between runs of one version."""
        return self.significant and self.of_versions

    def detectable_at(self, alpha: float) -> float | None:
        """The difference that a two-sided test at level `alpha` finds with 80 % power; None without an interval."""
        if self.error is None:
            return None
        gap = max(detectable(self.error, self.freedom, alpha), detectable(self.floor_error, math.inf, alpha))
        return math.exp(min(gap, LOG_MAX)) if self.is_ratio else gap


def with_holm(differences: Mapping[T, Difference]) -> dict[T, Difference]:
    """Return {name: Difference} with `p_holm` and `detectable`, over all given differences that have a p."""
    adjusted = holm({name: one.p for name, one in differences.items() if one.p is not None})
    alpha = ALPHA / max(1, len(adjusted))
    return {
        name: replace(one, p_holm=adjusted.get(name), detectable=one.detectable_at(alpha))
        for name, one in differences.items()
    }
