"""What a test could have found: minimum detectable effects, and the blocks that a new run needs.

An effect is in standard deviations of the blocks' values, and detectable if a test finds it with a power of 80 %. The
spread is the one that was seen, an estimate like any other: with eight blocks it is off by a quarter either way.
"""

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import nctdtrinc, ndtri, stdtrit

from stevec_report.hypothesis_tests import TIE, least_p

POWER = 0.8
BLOCKS_MAX = 100  # more repetitions are not advised: the noise has to be less, not the runs longer
# Beyond so many blocks the sign-flip test has the power of the t test; below, p has few values, and that costs power.
COARSE_BLOCKS_MAX = 10
DRAWS, SEED, STEPS = 2000, 7, 20
LOG_MAX = 50.0  # of a ratio: beyond, it says nothing, and exp() overflows


@cache
def detectable_by_sign_flips(blocks: int, alpha: float) -> float | None:
    """The smallest effect that a two-sided sign-flip test finds with 80 % power; None where no p can be below `alpha`.

    Up to COARSE_BLOCKS_MAX blocks by simulation with normal values (seeded), beyond as `detectable_by_t_test`.
    """
    if least_p(blocks) >= alpha:
        return None
    if blocks > COARSE_BLOCKS_MAX:
        return detectable_by_t_test(blocks, alpha)
    noise = np.random.default_rng(SEED).standard_normal((DRAWS, blocks))
    signs = 1.0 - 2.0 * ((np.arange(2 ** (blocks - 1))[:, None] >> np.arange(blocks)) & 1)
    sums, shifts = noise @ signs.T, signs.sum(axis=1)

    def power(effect: float) -> float:
        totals = noise.sum(axis=1) + blocks * effect
        p = np.mean(np.abs(sums + effect * shifts) >= np.abs(totals)[:, None] - TIE, axis=1)
        return float(np.mean((p < alpha) & (totals > 0)))

    low, high = 0.0, 10.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


def detectable(error: float, freedom: float, alpha: float) -> float:
    """The true difference that a two-sided t test at level `alpha` finds with 80 % power, in the unit of `error`.

    From the noncentral t distribution (J. Cohen, "Statistical power analysis for the behavioral sciences", 1988).
    `error` is the estimated standard error with `freedom` degrees of freedom, infinite if it is known.
    """
    if math.isinf(freedom):
        return error * float(ndtri(1 - alpha / 2) + ndtri(POWER))
    return error * float(nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - alpha / 2)))


def detectable_by_t_test(blocks: int, alpha: float) -> float | None:
    """The smallest effect that a two-sided paired t test finds with 80 % power; None with fewer than two blocks."""
    return detectable(1 / math.sqrt(blocks), blocks - 1, alpha) if blocks > 1 else None


def detectable_by_equivalence(blocks: int, alpha: float) -> float | None:
    """The narrowest margin within which TOST shows, with 80 % power, that there is no effect where there is none.

    None with fewer than two blocks. Source: S.-C. Chow, J. Shao, H. Wang, "Sample size calculations in clinical
    research", 2008, section 3.1.
    """
    if blocks < 2:
        return None
    freedom = blocks - 1
    return (float(stdtrit(freedom, 1 - alpha)) + float(stdtrit(freedom, (1 + POWER) / 2))) / math.sqrt(blocks)


def ratio_of(effect: float | None, spread: float, against: float = 1.0) -> float | None:
    """An effect in standard deviations of log ratios as a ratio, beyond the ratio `against`; None for None."""
    return None if effect is None else against * math.exp(min(effect * spread, LOG_MAX))


def least_repetitions(alpha: float) -> int:
    """The least number of blocks at which a sign-flip test can have a p below `alpha`, whatever the data."""
    return next(blocks for blocks in itertools.count(1) if least_p(blocks) < alpha or blocks == BLOCKS_MAX)


def repetitions_needed(
    ratio: float, spread: float, alpha: float, detectable: Callable[[int, float], float | None]
) -> int | None:
    """The least number of blocks with which a new run has 80 % power to find `ratio`; None for more than BLOCKS_MAX.

    Args:
        ratio: above 1, over the ratio that the test is against.
        spread: standard deviation of the blocks' log ratios.
        alpha: level of the test, after the correction.
        detectable: one of the functions above.
    """
    for blocks in range(2, BLOCKS_MAX + 1):
        found = detectable(blocks, alpha)
        if found is not None and found * spread <= math.log(ratio):
            return blocks
    return None
