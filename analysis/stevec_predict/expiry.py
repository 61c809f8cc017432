"""Computes the number of misses in a run of finite length, for a cache that only has a time to live.

There are n requests in τ seconds over m equally likely pages, so each page is requested at rate λ = n / (m τ). A page
is fresh for T seconds from its fill. The first request of a page misses after an exponential time; each further miss
follows T plus another exponential time later. Hence

    P(a page has more than k misses) = P(Erlang(k + 1, λ) ≤ τ − k T)   for k T < τ,

and the number of misses of the whole run is the sum over m independent pages. Its distribution is computed exactly, by
convolution. (The steady-state formula λT / (1 + λT) misleads by up to 6 points in runs of a few T.)
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

REFILLS_MAX = 100_000  # of one page
PAGES_MAX = 10_000_000


@dataclass(frozen=True)
class Misses:
    """Expected number of misses, with the interval of the model's own random variation, in requests."""

    mean: float
    low: float
    high: float


def misses(requests: int, pages: int, span_s: float, ttl_s: float, level: float = 0.95) -> Misses:
    """Return `Misses` of a run; ValueError unless all of its numbers are positive."""
    distribution = page_distribution(requests, pages, span_s, ttl_s)
    total = _convolve_power(distribution, pages)
    mean = float(np.arange(distribution.size) @ distribution) * pages
    cumulative = np.cumsum(total)
    tail = (1 - level) / 2
    low = int(np.searchsorted(cumulative, tail))
    high = int(np.searchsorted(cumulative, 1 - tail))
    return Misses(mean, float(low), float(min(high, total.size - 1)))


def page_distribution(requests: int, pages: int, span_s: float, ttl_s: float) -> np.ndarray:
    """Return (k,) probabilities that one page has 0, 1, … misses."""
    if not (requests > 0 and 0 < pages <= PAGES_MAX and span_s > 0 and ttl_s > 0):
        raise ValueError("the model needs positive numbers")
    rate = requests / (pages * span_s)
    refills = min(int(np.ceil(span_s / ttl_s)), REFILLS_MAX)
    survival = np.concatenate([[1.0], more_than(np.arange(refills), rate, span_s, ttl_s), [0.0]])
    return np.clip(survival[:-1] - survival[1:], 0, None)


def more_than(k: int | np.ndarray, rate: float | np.ndarray, span_s: float, ttl_s: float) -> np.ndarray:
    """P(more than `k` misses within `span_s`) of a page that is requested at `rate` (1/s); arrays broadcast."""
    left_s = np.clip(span_s - k * ttl_s, 0, None)
    # The distribution function of Erlang(k + 1, λ) is the regularised incomplete gamma function.
    return gammainc(k + 1, rate * left_s)


def fills(rate: np.ndarray, span_s: float, ttl_s: float) -> np.ndarray:
    """Expected misses of a page within `span_s`; shape of `rate`."""
    total = np.zeros_like(rate)
    k = 0
    while k * ttl_s < span_s:
        total += more_than(k, rate, span_s, ttl_s)
        k += 1
    return total


def fills_area(rate: np.ndarray, span_s: float, ttl_s: float) -> np.ndarray:
    """∫ `fills` over spans from 0 to `span_s`, in fills times seconds; shape of `rate`."""
    total = np.zeros_like(rate)
    k = 0
    while k * ttl_s < span_s:
        left_s = span_s - k * ttl_s
        total += left_s * gammainc(k + 1, rate * left_s) - (k + 1) / rate * gammainc(k + 2, rate * left_s)
        k += 1
    return total


def _convolve_power(distribution: np.ndarray, times: int) -> np.ndarray:
    """The distribution of the sum of `times` independent draws, by squaring; tails under 1e-15 are cut off."""
    result, base = np.array([1.0]), np.trim_zeros(distribution, "b")
    offset, base_offset = 0, 0
    while times:
        if times & 1:
            result, offset = _trim(np.convolve(result, base), offset + base_offset)
        times >>= 1
        if times:
            base, base_offset = _trim(np.convolve(base, base), 2 * base_offset)
    return np.concatenate([np.zeros(offset), result / result.sum()])


def _trim(values: np.ndarray, offset: int) -> tuple[np.ndarray, int]:
    kept = np.flatnonzero(values > 1e-15)
    first, last = int(kept[0]), int(kept[-1])
    return values[first : last + 1], offset + first
