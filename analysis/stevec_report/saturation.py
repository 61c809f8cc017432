"""Finds the saturation of a system under growing load: the knee, and the Universal Scalability Law.

Uncertainty comes from the bootstrap over blocks: repetitions are drawn whole, all levels of load together, as what
disturbs a repetition disturbs all its levels.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares, nnls
from scipy.special import ndtr, stdtrit

from stevec_report.intervals import LEVEL
from stevec_report.wording import count_of

DEGRADED = 2.0  # a mean above this multiple of the mean without load counts as degraded
R2_MIN = 0.9
BLOCKS_MIN = 3  # with fewer, a knee may be chance, and none is reported
BLOCKS_FOR_INTERVAL = 5  # with fewer, the bootstrap has too few different samples
KNEE_SAMPLES = 2000
LAW_SAMPLES = 400
SEED = 20
PARAMETERS = ("lambda_per_s", "sigma", "kappa")


@dataclass(frozen=True)
class ScalabilityLaw:
    """X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1)), with R² of the throughput.

    `bounds` are the 95 % intervals of PARAMETERS, None without them.
    """

    lambda_per_s: float
    sigma: float
    kappa: float
    r2: float
    bounds: dict[str, tuple[float, float]] | None = None

    def throughput(self, n: ArrayLike) -> np.ndarray:
        """Requests per second at `n` requesters, an array or a number."""
        n = np.asarray(n, dtype=float)
        return self.lambda_per_s * n / (1 + self.sigma * (n - 1) + self.kappa * n * (n - 1))


@dataclass(frozen=True)
class Knee:
    """The load from which on the times are beyond a limit; `load` is None if none is found.

    `low` and `high` bound it with 95 %, None without a knee or with fewer than BLOCKS_FOR_INTERVAL `blocks`.
    """

    load: float | None
    low: float | None
    high: float | None
    blocks: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """(low, high), or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        if self.blocks < BLOCKS_MIN:
            return f"needs {BLOCKS_MIN} repetitions"
        if self.load is None:
            return "none found"
        if self.low is None or self.high is None:
            return f"about {round_load(self.load)} (no interval: {count_of(self.blocks, 'repetition')})"
        return f"about {round_load(self.load)} ({round_load(self.low)} to {round_load(self.high)})"


def round_load(load: float) -> int:
    """A load as whole requesters, with two digits: a knee lies between two measured levels."""
    return round(float(f"{load:.2g}"))


def crossing(levels: Sequence[float], values: Sequence[float | None], limit: float) -> float | None:
    """Return the level from which on `values` exceed `limit`, by linear interpolation; None if there is none.

    All known values beyond it exceed the limit. Also None if the value of the level just before is not known: the
    crossing may be below that level or above it.

    Args:
        levels: (n,), rising. values: (n,), in the unit of `limit`; None where they are not known.
    """
    known = np.array([[math.nan if value is None else value for value in values]], dtype=float)
    found = float(_crossings(np.asarray(levels, dtype=float), known, np.array([limit]))[0])
    return None if math.isnan(found) else found


def find_knee(levels: Sequence[float], blocks_ms: ArrayLike, limit_ms: float | None = None, seed: int = SEED) -> Knee:
    """Return the `Knee` of mean times, geometric over blocks; it is found only if nearly all bootstrap samples have it.

    Args:
        levels: (n,), rising.
        blocks_ms: (b, n), the mean time of each repetition at each level, NaN where it is not known; positive.
        limit_ms: the limit; None: DEGRADED times the mean at the first level, in each bootstrap sample its own.
    """
    logs, loads = np.log(np.asarray(blocks_ms, dtype=float)), np.asarray(levels, dtype=float)
    blocks = len(logs)
    none = Knee(None, None, None, blocks)
    if blocks < BLOCKS_MIN:
        return none
    samples = np.stack([logs[chosen] for chosen in _resample(blocks, KNEE_SAMPLES, seed)])
    means = np.exp(_means(np.concatenate([logs[None], samples])))
    limits = np.full(len(means), limit_ms) if limit_ms is not None else DEGRADED * means[:, 0]
    found = _crossings(loads, means, limits)
    outside = _outside(blocks)
    point, drawn = found[0], found[1:]
    if math.isnan(point) or np.isnan(drawn).mean() > outside:
        return none
    if blocks < BLOCKS_FOR_INTERVAL:
        return replace(none, load=float(point))
    # From the bootstrap's standard error: with so few blocks, percentiles of the samples cover less (0.90, not 0.95).
    half = float(np.nanstd(drawn)) * math.sqrt(blocks / (blocks - 1)) * _t_quantile(blocks)
    return Knee(float(point), max(loads[0], float(point) - half), min(loads[-1], float(point) + half), blocks)


def fit_scalability(requesters: ArrayLike, per_s: ArrayLike) -> ScalabilityLaw | None:
    """Fit the Universal Scalability Law; None with fewer than 4 different loads or if R² is below R2_MIN.

    N / X is linear in 1, N − 1 and N (N − 1), with coefficients that must not be negative (N. J. Gunther, "A simple
    capacity model of massively parallel transaction systems", CMG 1993). They minimise the squared error of X.

    Args:
        requesters: (n,), at least 1. per_s: (n,), completed requests per second, positive.
    """
    n, x = np.asarray(requesters, dtype=float), np.asarray(per_s, dtype=float)
    usable = (n >= 1) & (x > 0)
    n, x = n[usable], x[usable]
    if np.unique(n).size < 4:
        return None
    law = _fit(n, x)
    if law is None:
        return None
    residual = float(((x - law.throughput(n)) ** 2).sum())
    total = float(((x - x.mean()) ** 2).sum())
    r2 = 1 - residual / total if total > 0 else 0.0
    return replace(law, r2=r2) if r2 >= R2_MIN else None


def fit_scalability_of_blocks(
    requesters: Sequence[float], blocks_per_s: ArrayLike, seed: int = SEED
) -> ScalabilityLaw | None:
    """`fit_scalability` of the means over blocks, with bounds from BLOCKS_FOR_INTERVAL blocks on.

    Args:
        requesters: (n,), at least 1. blocks_per_s: (b, n), NaN where a repetition has no value.
    """
    n, x = np.asarray(requesters, dtype=float), np.asarray(blocks_per_s, dtype=float)
    law = fit_scalability(n, np.nan_to_num(_means(x[None])[0]))
    if law is None or len(x) < BLOCKS_FOR_INTERVAL:
        return law
    drawn = []
    for chosen in _resample(len(x), LAW_SAMPLES, seed):
        mean = np.nan_to_num(_means(x[chosen][None])[0])
        usable = (n >= 1) & (mean > 0)
        if np.unique(n[usable]).size >= 4 and (sample := _fit(n[usable], mean[usable])):
            drawn.append([getattr(sample, name) for name in PARAMETERS])
    outside = _outside(len(x))
    low, high = np.quantile(drawn, [outside, 1 - outside], axis=0)
    return replace(law, bounds={name: (float(low[i]), float(high[i])) for i, name in enumerate(PARAMETERS)})


def _fit(n: np.ndarray, x: np.ndarray) -> ScalabilityLaw | None:
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    scale = terms.max(axis=0)
    terms = terms / scale
    # An error of N / X is X² / N times as large as one of X, to the first order: a good start.
    start, _ = nnls(terms * (x**2 / n)[:, None], x)
    if start[0] <= 0:
        return None
    tiny = 1e-9 * start[0]
    solved = least_squares(
        lambda p: n / (terms @ p) - x,
        start + tiny,
        jac=lambda p: -(n / (terms @ p) ** 2)[:, None] * terms,
        bounds=([tiny / 2, 0.0, 0.0], np.inf),
        x_scale=np.maximum(start, 1e-3 * start[0]),
        max_nfev=100,
    )
    a, b, c = solved.x / scale
    return ScalabilityLaw(1 / a, b / a, c / a, 0.0)


def _resample(blocks: int, samples: int, seed: int) -> Iterator[np.ndarray]:
    yield from np.random.default_rng(seed).integers(0, blocks, (samples, blocks))


def _outside(blocks: int) -> float:
    """The share of bootstrap samples beyond each bound of a 95 % interval of so few blocks; below 2.5 %.

    The bootstrap's spread is too small by √((b − 1) / b), and its tails are not Student's (T. C. Hesterberg, "What
    teachers should know about the bootstrap", The American Statistician 69(4), 2015).
    """
    return float(ndtr(-math.sqrt(blocks / (blocks - 1)) * _t_quantile(blocks)))


def _t_quantile(blocks: int) -> float:
    return float(stdtrit(blocks - 1, 0.5 + LEVEL / 2))


def _means(blocks: np.ndarray) -> np.ndarray:
    """Means over the second axis but the last, without NaN; NaN where there is nothing else. (s, b, n) → (s, n)."""
    known = ~np.isnan(blocks)
    counts = known.sum(axis=-2)
    sums = np.where(known, blocks, 0.0).sum(axis=-2)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _crossings(levels: np.ndarray, values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """`crossing` of each row of `values` (s, n) at its own limit (s,); NaN where there is none."""
    over = values > limits[:, None]
    known = ~np.isnan(values)
    # Over the limit from here on, as far as values are known.
    lasting = np.logical_and.accumulate((over | ~known)[:, ::-1], axis=1)[:, ::-1] & over
    at = np.argmax(lasting, axis=1)
    rows = np.arange(len(values))
    before = np.maximum(at - 1, 0)
    low, high = values[rows, before], values[rows, at]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(at == 0, 0.0, (limits - low) / (high - low))
    found = levels[before] + share * (levels[at] - levels[before])
    return np.where(lasting.any(axis=1), found, np.nan)
