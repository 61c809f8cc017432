"""Tests of hypotheses over paired trials: the sign-flip test, equivalence, the t test, and Holm's correction.

The unit is the block (a repetition under the same conditions), never the request, and a block gives one value. The
effect is a ratio, and the tests use its logarithm. scipy.stats has the t tests; the exact sign-flip test and Holm's
correction are here, because scipy has no correction of this kind and its exact test takes rounding for differences.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from stevec_report.intervals import Interval, geometric_mean

T = TypeVar("T")
ALPHA = 0.05
EXACT_BLOCKS_MAX = 20  # up to 2^20 sign patterns are enumerated; beyond that, p is of random patterns
RESAMPLES = 99_999
SEED = 20  # the same data give the same p
TIE = 1e-9  # relative: sums that differ by rounding only are equal


@dataclass(frozen=True)
class PairedTest:
    """A test over `n` blocks: the ratio with its interval, and p. `exact` is false where p is of random patterns.

    `p` is None if there is no block. `least_p` is the smallest p that this number of blocks can give. `against` is the
    ratio that p speaks against, `logs` are the blocks' log ratios, and `left_out` counts the blocks that lack a trial
    which they need.
    """

    ratio: Interval | None
    p: float | None
    n: int
    exact: bool
    least_p: float
    against: float = 1.0
    logs: tuple[float, ...] = ()
    left_out: int = 0

    @property
    def spread(self) -> float | None:
        """Standard deviation of the log ratios; None with fewer than two blocks."""
        return float(np.std(self.logs, ddof=1)) if self.n > 1 else None


def sign_flip(logs: ArrayLike) -> tuple[float, bool]:
    """Two-sided paired sign-flip test that `logs` (n,) are symmetric around 0; returns (p, exact).

    If doors or kinds of request make no difference, each block's difference is as likely to be negative as positive.
    p is the share of all 2^n patterns of signs whose sum is at least as far from 0 as the one seen (E. J. G. Pitman,
    "Significance tests which may be applied to samples from any populations", JRSS Supplement 4(1), 1937). Up to
    EXACT_BLOCKS_MAX blocks all patterns are counted; beyond, p is that of RESAMPLES random patterns and the one seen,
    which errs as seldom as an exact p (B. Phipson, G. K. Smyth, Statistical Applications in Genetics 9(1), 2010).

    ValueError if there is no value or one is not finite.
    """
    logs = np.asarray(logs, dtype=float)
    if logs.ndim != 1 or logs.size == 0 or not np.isfinite(logs).all():
        raise ValueError("a sign-flip test needs one or more finite values")
    if logs.size > EXACT_BLOCKS_MAX:
        return _random_flips(logs), False
    # The sums of all patterns, built up block by block; the first sign may be fixed because the test is two-sided.
    sums = np.array([logs[0]])
    for value in logs[1:]:
        sums = np.concatenate([sums + value, sums - value])
    least = abs(float(logs.sum())) - TIE * float(np.abs(logs).sum())
    return float(np.count_nonzero(np.abs(sums) >= least)) / sums.size, True


def _random_flips(logs: np.ndarray) -> float:
    def total(values: np.ndarray, axis: int) -> np.ndarray:
        return values.sum(axis=axis)

    found = stats.permutation_test(
        (logs,), total, permutation_type="samples", vectorized=True, n_resamples=RESAMPLES, batch=10_000, rng=SEED
    )
    return float(found.pvalue)


def least_p(blocks: int) -> float:
    """The smallest p that a two-sided sign-flip test over this number of blocks can give: all point the same way."""
    if blocks > EXACT_BLOCKS_MAX:
        return 2 / (RESAMPLES + 1)
    return min(1.0, 2.0 ** (1 - blocks)) if blocks else 1.0


def ratio_test(logs: Mapping[Any, float], against: float = 1.0, left_out: int = 0) -> PairedTest:
    """Test whether a ratio differs from `against`, by sign flips; returns `PairedTest`.

    Args:
        logs: {block: natural logarithm of the block's ratio}.
        left_out: blocks that lack a trial, for the result.
    """
    values = np.array([logs[block] for block in sorted(logs, key=str)])
    if not values.size:
        return PairedTest(None, None, 0, True, 1.0, against, (), left_out)
    p, exact = sign_flip(values - math.log(against))
    return PairedTest(
        geometric_mean(np.exp(values)),
        p,
        values.size,
        exact,
        least_p(values.size),
        against,
        tuple(values.tolist()),
        left_out,
    )


def log_ratios(numerators: Mapping[T, float], denominators: Mapping[T, float]) -> dict[T, float]:
    """{block: log of numerator ÷ denominator} of the blocks that both have. Values are positive."""
    shared = numerators.keys() & denominators.keys()
    return {block: math.log(numerators[block] / denominators[block]) for block in sorted(shared, key=str)}


def paired_test(numerators: Mapping[Any, float], denominators: Mapping[Any, float], against: float = 1.0) -> PairedTest:
    """`ratio_test` of {block: positive value} ÷ {block: positive value}; blocks that only one has are left out."""
    logs = log_ratios(numerators, denominators)
    return ratio_test(logs, against, len(numerators.keys() | denominators.keys()) - len(logs))


def equivalence_p(logs: ArrayLike, margin: float) -> float | None:
    """p of two one-sided t tests (TOST) that the ratio lies within 1/`margin` to `margin`; None with fewer than two.

    It is the larger of the two, and small where the ratio is shown to be near 1 (D. J. Schuirmann, "A comparison of
    the two one-sided tests procedure …", J. Pharmacokinetics and Biopharmaceutics 15(6), 1987). `logs` (n,) are the
    blocks' log ratios.
    """
    values, bound = np.asarray(logs, dtype=float), math.log(margin)
    if values.size < 2:
        return None
    if _is_constant(values):
        return 0.0 if abs(float(values.mean())) < bound else 1.0
    return max(
        float(stats.ttest_1samp(values, bound, alternative="less").pvalue),
        float(stats.ttest_1samp(values, -bound, alternative="greater").pvalue),
    )


def equivalence(numerators: Mapping[Any, float], denominators: Mapping[Any, float], margin: float) -> PairedTest:
    """`PairedTest` whose p is `equivalence_p`; p is None with fewer than two blocks. Arguments as in `paired_test`.

    A t test of two blocks rests on normal values alone, so `least_p` asks for as many blocks as sign flips do.
    """
    logs = log_ratios(numerators, denominators)
    values = np.array(list(logs.values()))
    ratio = geometric_mean(np.exp(values)) if values.size else None
    p = equivalence_p(values, margin)
    lost = len(numerators.keys() | denominators.keys()) - values.size
    return PairedTest(ratio, p, values.size, True, least_p(values.size), margin, tuple(values.tolist()), lost)


def t_test(ratios: ArrayLike) -> float | None:
    """Two-sided p of Student's t test that the geometric mean of the positive `ratios` (n,) is 1; None with n < 2."""
    logs = np.log(np.asarray(ratios, dtype=float))
    if logs.size < 2:
        return None
    if _is_constant(logs):
        return 0.0 if abs(float(logs.mean())) > TIE else 1.0
    return float(stats.ttest_1samp(logs, 0.0).pvalue)


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


def _is_constant(values: np.ndarray) -> bool:
    """Whether nothing but rounding varies, so that a t test has no error to divide by."""
    return float(values.std(ddof=1)) <= TIE * max(TIE, float(np.abs(values).max()))
