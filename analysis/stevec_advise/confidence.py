"""How sure a share is that was counted in one log: what the share of the next log of that length will be."""

import math

import numpy as np
from scipy import stats

BLOCKS = 20


def bounds_of(part: np.ndarray, whole: np.ndarray, confidence: float) -> tuple[float, float]:
    """The interval of Σ `part` / Σ `whole` in the next log of the same length, two-sided.

    Both are of shape (blocks,), of equal times. The next log varies as much as this one, so the variance of the ratio
    (linearised, W. G. Cochran, "Sampling Techniques", 3rd edition, section 6.4) counts twice.
    """
    centre, spread = _ratio(part, whole)
    half = float(stats.t.ppf((1 + confidence) / 2, len(part) - 1)) * spread
    return max(centre - half, 0.0), min(centre + half, 1.0)


def upper_bound(part: np.ndarray, whole: np.ndarray, confidence: float, seldom: float) -> float:
    """What Σ `part` / Σ `whole` of the next log exceeds with the chance 1 − `confidence`.

    `seldom` is what one more edit would add to `part`: if no edit was seen, −ln(1 − confidence) may be due (the rule of
    three, J. A. Hanley, A. Lippman-Hand, JAMA 249, 1983), which blocks without any do not show.
    """
    centre, spread = _ratio(part, whole)
    return (
        centre
        + float(stats.t.ppf(confidence, len(part) - 1)) * spread
        - math.log(1 - confidence) * seldom / whole.sum()
    )


def _ratio(part: np.ndarray, whole: np.ndarray) -> tuple[float, float]:
    """(Σ part / Σ whole, the standard deviation of the next such ratio less this one)."""
    blocks = len(part)
    centre = float(part.sum() / whole.sum())
    left = part - centre * whole
    return centre, math.sqrt(2 * float(np.sum(left**2)) * blocks / (blocks - 1)) / float(whole.sum())
