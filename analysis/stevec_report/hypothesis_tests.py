"""Tests of hypotheses over paired trials: the sign-flip test, equivalence, the t test, and Holm's correction.

The unit is the pair of trials, never the request. The effect is a ratio, and the tests use its logarithm.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from stevec_report.intervals import Interval, geometric_mean

T = TypeVar("T")
ALPHA = 0.05
EXACT_PAIRS_MAX = 20  # up to 2^20 sign patterns are enumerated; beyond that, p is a bound
TIE = 1e-9  # relative: sums that differ by rounding only are equal


@dataclass(frozen=True)
class PairedTest:
    """A test over `n` pairs: the ratio with its interval, and p. `exact` is false where p is an upper bound.

    `p` is None if there is no pair. `least_p` is the smallest p that this number of pairs can give.
    """

    ratio: Interval | None
    p: float | None
    n: int
    exact: bool
    least_p: float


def sign_flip(logs: ArrayLike) -> tuple[float, bool]:
    """Two-sided paired sign-flip test that `logs` (n,) are symmetric around 0; returns (p, exact).

    If doors or kinds of request make no difference, each pair's difference is as likely to be negative as positive.
    p is the share of all 2^n patterns of signs whose sum is at least as far from 0 as the one seen (E. J. G. Pitman,
    "Significance tests which may be applied to samples from any populations", JRSS Supplement 4(1), 1937). Up to
    EXACT_PAIRS_MAX pairs all patterns are counted. Beyond, p is Hoeffding's bound for a sum of random signs,
    2 exp(−S² / 2Σd²), which is never smaller than the exact p (W. Hoeffding, JASA 58(301), 1963, theorem 2).

    ValueError if there is no value or one is not finite.
    """
    logs = np.asarray(logs, dtype=float)
    if logs.ndim != 1 or logs.size == 0 or not np.isfinite(logs).all():
        raise ValueError("a sign-flip test needs one or more finite values")
    observed = abs(float(logs.sum()))
    if logs.size > EXACT_PAIRS_MAX:
        spread = float(logs @ logs)
        return (1.0 if spread == 0 else min(1.0, 2 * math.exp(-(observed**2) / (2 * spread)))), False
    # The sums of all patterns, built up pair by pair; the first sign may be fixed because the test is two-sided.
    sums = np.array([logs[0]])
    for value in logs[1:]:
        sums = np.concatenate([sums + value, sums - value])
    least = observed - TIE * float(np.abs(logs).sum())
    return float(np.count_nonzero(np.abs(sums) >= least)) / sums.size, True


def least_p(pairs: int) -> float:
    """The smallest p that a two-sided sign-flip test over this number of pairs can give."""
    return min(1.0, 2.0 ** (1 - pairs)) if pairs else 1.0


def paired_test(numerators: Mapping[Any, float], denominators: Mapping[Any, float]) -> PairedTest:
    """Test whether the ratio of two sets of trials differs from 1; returns `PairedTest`.

    Args:
        numerators, denominators: {pair: positive value}; only pairs that both have are used.
    """
    shared = sorted(numerators.keys() & denominators.keys(), key=str)
    ratios = [numerators[key] / denominators[key] for key in shared]
    if not ratios:
        return PairedTest(None, None, 0, True, 1.0)
    p, exact = sign_flip(np.log(ratios))
    return PairedTest(geometric_mean(ratios), p, len(ratios), exact, least_p(len(ratios)))


def equivalence(numerators: Mapping[Any, float], denominators: Mapping[Any, float], margin: float) -> PairedTest:
    """Test whether the ratio lies within 1/`margin` to `margin`: two one-sided t tests (TOST) on log ratios.

    p is the larger of the two, and small when the ratio is shown to be near 1 (D. J. Schuirmann, "A comparison of
    the two one-sided tests procedure …", J. Pharmacokinetics and Biopharmaceutics 15(6), 1987).

    Returns:
        `PairedTest` whose p is for "not equivalent"; p is None with fewer than two pairs.
    """
    shared = sorted(numerators.keys() & denominators.keys(), key=str)
    logs = np.log([numerators[key] / denominators[key] for key in shared])
    if logs.size < 2:
        ratio = geometric_mean(np.exp(logs)) if logs.size else None
        return PairedTest(ratio, None, int(logs.size), True, 1.0)
    ratio = geometric_mean(np.exp(logs))
    error = float(logs.std(ddof=1)) / math.sqrt(logs.size)
    bound, centre = math.log(margin), float(logs.mean())
    if error == 0:
        p = 0.0 if abs(centre) < bound else 1.0
    else:
        freedom = logs.size - 1
        p = max(float(stdtr(freedom, (centre - bound) / error)), float(stdtr(freedom, (-bound - centre) / error)))
    return PairedTest(ratio, p, int(logs.size), True, 0.0)


def t_test(ratios: ArrayLike) -> float | None:
    """Two-sided p of Student's t test that the geometric mean of the positive `ratios` (n,) is 1; None with n < 2."""
    logs = np.log(np.asarray(ratios, dtype=float))
    if logs.size < 2:
        return None
    centre, error = float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(logs.size)
    if error <= TIE * abs(centre):
        return 0.0 if centre else 1.0
    return 2 * float(stdtr(logs.size - 1, -abs(centre) / error))


def holm(p_values: Mapping[T, float | None]) -> dict[T, float]:
    """Holm's step-down correction: {name: p} → {name: adjusted p}. A p of None counts as 1.

    Controls the chance of any false rejection among all of them, under any dependence (S. Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6(2), 1979).
    """
    known = {name: 1.0 if p is None else p for name, p in p_values.items()}
    ordered = sorted(known, key=lambda name: known[name])
    adjusted: dict[T, float] = {}
    highest = 0.0
    for rank, name in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - rank) * known[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}
