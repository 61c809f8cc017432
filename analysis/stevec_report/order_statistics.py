"""Which percentiles a number of requests tells, and between which two of them a percentile lies.

From order statistics (W. J. Conover, "Practical nonparametric statistics", 3rd edition, 1999, section 3.2).
"""

import math

from scipy.special import bdtrik

BEYOND_MIN = 10  # requests that a percentile needs beyond it


def enough(requests: int, level: float) -> bool:
    """Whether so many requests tell the percentile `level` (0 to 1)."""
    return requests * (1 - level) >= BEYOND_MIN - 1e-9


def ranks(requests: int, level: float, confidence: float = 0.95) -> tuple[int, int]:
    """Ranks, from 1, of the two requests whose times bound the percentile `level`; at most `requests`.

    The number of requests below the percentile is binomial, so these times bound it with at least `confidence`, but for
    ranks beyond the last request.
    """
    outside = (1 - confidence) / 2
    low, high = (math.ceil(bdtrik(share, requests, level) - 1e-9) for share in (outside, 1 - outside))
    return max(1, low), min(requests, high + 1)
