"""Finds the saturation of a system under growing load: the knee, and the Universal Scalability Law."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

DEGRADED = 2.0  # a mean above this multiple of the mean without load counts as degraded
R2_MIN = 0.9


@dataclass(frozen=True)
class ScalabilityLaw:
    """X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1)), with R² of the throughput."""

    lambda_per_s: float
    sigma: float
    kappa: float
    r2: float

    def throughput(self, n: ArrayLike) -> np.ndarray:
        """Requests per second at `n` requesters, an array or a number."""
        n = np.asarray(n, dtype=float)
        return self.lambda_per_s * n / (1 + self.sigma * (n - 1) + self.kappa * n * (n - 1))


def crossing(levels: Sequence[float], values: Sequence[float | None], limit: float) -> float | None:
    """Return the level at which `values` first exceed `limit`, by linear interpolation; None if they never do.

    Also None if the value of the level just before is not known: the crossing may be below that level or above it.

    Args:
        levels: (n,), rising. values: (n,), in the unit of `limit`; None where they are not known.
    """
    for at, value in enumerate(values):
        if value is not None and value > limit:
            if at == 0:
                return float(levels[0])
            before = values[at - 1]
            if before is None:
                return None
            share = (limit - before) / (value - before)
            return float(levels[at - 1] + share * (levels[at] - levels[at - 1]))
    return None


def fit_scalability(requesters: ArrayLike, per_s: ArrayLike) -> ScalabilityLaw | None:
    """Fit the Universal Scalability Law; None with fewer than 4 different loads or if R² is below R2_MIN.

    N / X is linear in 1, N − 1 and N (N − 1), with coefficients that must not be negative (N. J. Gunther, "A simple
    capacity model of massively parallel transaction systems", CMG 1993).

    Args:
        requesters: (n,), at least 1. per_s: (n,), completed requests per second, positive.
    """
    n, x = np.asarray(requesters, dtype=float), np.asarray(per_s, dtype=float)
    usable = (n >= 1) & (x > 0)
    n, x = n[usable], x[usable]
    if np.unique(n).size < 4:
        return None
    terms = np.stack([np.ones_like(n), n - 1, n * (n - 1)], axis=1)
    scale = terms.max(axis=0)
    # Weighted by X, because the fit should minimise the error of the throughput.
    weights = (x / (n / x))[:, None]
    solved, _ = nnls(terms / scale * weights, (n / x) * weights[:, 0])
    a, b, c = solved / scale
    if a <= 0:
        return None
    fitted = ScalabilityLaw(1 / a, b / a, c / a, 0.0)
    residual = float(((x - fitted.throughput(n)) ** 2).sum())
    total = float(((x - x.mean()) ** 2).sum())
    r2 = 1 - residual / total if total > 0 else 0.0
    return ScalabilityLaw(fitted.lambda_per_s, fitted.sigma, fitted.kappa, r2) if r2 >= R2_MIN else None
