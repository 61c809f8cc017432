"""Which true difference a test would have found: its power, turned around."""

import math
from functools import lru_cache

from scipy import stats
from scipy.optimize import brentq

POWER = 0.8


def detectable(error: float, freedom: float, alpha: float) -> float:
    """The true difference that a two-sided t test at level `alpha` finds in 80 % of cases, in the unit of `error`.

    `error` is the estimated standard error with `freedom` degrees of freedom, infinite if it is known.
    """
    return error * _in_errors(freedom, alpha)


@lru_cache(maxsize=1000)
def _in_errors(freedom: float, alpha: float) -> float:
    critical = float(stats.t.isf(alpha / 2, freedom))
    if math.isinf(freedom):
        return critical + float(stats.norm.ppf(POWER))
    # The noncentrality at which the noncentral t exceeds the critical value in 80 % of cases.
    return float(brentq(lambda shift: stats.nct.sf(critical, freedom, shift) - POWER, 0, 4 * critical + 4, xtol=1e-4))
