"""The closed forms for one page in one cache, computed on arrays.

Symbols, all per second or in seconds: λ reads, μ edits, ν purges (ν ≥ μ: an edit may purge other pages
too), T freshness lifetime, W window of stale-while-revalidate, D delay of a purge, τ length of a finite
run.

Reads and edits are Poisson processes and independent (J. Jung, A. W. Berger, H. Balakrishnan, "Modeling
TTL-based Internet caches", INFOCOM 2003, for renewal arrivals in general), caches are never full, and
fetching takes no time. A copy lives from its fill for T, or until a purge; the next read after that fills
again. So each page in each cache is a renewal process, whose cycle is one life and one wait of mean 1/λ
(renewal-reward theorem).

A copy of age a is outdated for more than y seconds with chance 1 − exp(−μ(a − y)): the first edit after its
fill came more than y ago. `stale_over` counts those reads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from stevec_predict import expiry

FINITE_LIVES_MAX = 64  # a run of more lifetimes than this is treated as endless
# Gauss-Legendre nodes and weights over 0 to 1.
PLACES, WEIGHTS = (np.polynomial.legendre.leggauss(48) + np.array([[1.0], [0.0]])) / 2


@dataclass(frozen=True)
class Cycle:
    """Expected counts between two fills, or in a finite run; arrays of the shape of λ.

    `stale_over(y)` counts the reads that are outdated for more than `y` seconds; y = 0 gives all stale reads.
    """

    reads: np.ndarray
    hits: np.ndarray
    fetches: np.ndarray
    stale_over: Callable[[float], np.ndarray]


def outdated(edits: np.ndarray, time: float) -> np.ndarray:
    """∫₀ᵗ (1 − exp(−μa)) da = t − (1 − exp(−μt)) / μ: expected seconds, of the first t, that a copy is outdated."""
    time = np.maximum(time, 0.0)
    x = edits * time
    small = x < 1e-5
    safe = np.where(small, 1.0, edits)
    return np.where(small, x * time / 2 * (1 - x / 3), time + np.expm1(-x) / safe)


def ttl(
    reads: np.ndarray, edits: np.ndarray, ttl_s: float, swr_s: float = 0.0, old_fills: float | np.ndarray = 0.0
) -> Cycle:
    """Steady state of a cache with freshness lifetime T (Jung et al. 2003, equation for Poisson arrivals:
    hit ratio λT / (1 + λT)), and a window W in which the first read after T is answered with the old copy
    while it is fetched again (RFC 5861, section 3).

    Args:
        old_fills: share of the copies that were filled by the read that starts an edit of the page, so that they are
            outdated immediately; a number or the shape of λ. Not supported with a window.
    """
    found_in_window = -np.expm1(-reads * swr_s)

    def stale_over(seconds: float) -> np.ndarray:
        left_s = max(ttl_s - seconds, 0.0)
        stale = reads * ((1 - old_fills) * outdated(edits, left_s) + old_fills * left_s)
        if swr_s > 0 and seconds < ttl_s + swr_s:
            beyond = max(seconds - ttl_s, 0.0)
            arrived = np.exp(-reads * beyond) - np.exp(-reads * swr_s)
            both = reads + edits
            unedited = reads / both * np.exp(-edits * left_s - reads * beyond)
            stale = stale + arrived - unedited * -np.expm1(-both * (swr_s - beyond))
        return stale

    return Cycle(1 + reads * ttl_s, reads * ttl_s + found_in_window, np.ones_like(reads), stale_over)


def purge(reads: np.ndarray, edits: np.ndarray, purges: np.ndarray, ttl_s: float, delay_s: float) -> Cycle:
    """Steady state of a cache whose copies live until a purge (rate ν), at most T, when each edit purges D
    seconds after it was acknowledged.

    A life is min(T, Exp(ν)). Reads and purges are independent, so the hit ratio is λℓ / (1 + λℓ) with
    ℓ = (1 − exp(−νT)) / ν. Only an edit of the last min(a, D) seconds can make a copy of age a outdated, because
    an older edit has purged it.
    """
    life = expected_life(purges, ttl_s)
    delay_s = min(delay_s, ttl_s)

    def stale_over(seconds: float) -> np.ndarray:
        if seconds >= delay_s:
            return np.zeros_like(reads)
        # Ages from y to D: 1 - exp(-μ(a - y)); older ones: 1 - exp(-μ(D - y)).
        y, window = seconds, delay_s - seconds
        young = np.exp(-purges * y) * (expected_life(purges, window) - expected_life(purges + edits, window))
        old = -np.expm1(-edits * window) * np.exp(-purges * delay_s) * expected_life(purges, ttl_s - delay_s)
        return reads * (young + old)

    return Cycle(1 + reads * life, reads * life, np.ones_like(reads), stale_over)


def tiered(reads: np.ndarray, shares: np.ndarray, cycle: Cycle, absent: Callable[[np.ndarray], np.ndarray]) -> Cycle:
    """Steady state of one page at several edges with one parent cache between them and the origin.

    An edge's copy has the parent's age (the Age field, RFC 9111, section 5.1), and a purge reaches all caches, so
    all copies of a page end together. The parent's cycle starts with the first read at any edge. Each other edge
    fetches once from the parent if it gets a read before the end of the cycle.

    Args:
        reads: λ over all edges, shape (n,).
        shares: of the edges, shape (p,), sum 1.
        cycle: `Cycle` of one cache that gets all reads.
        absent: function of θ (n, p): the mean of exp(−θ · life).

    Returns:
        `Cycle`; its hits are responses from an edge, its fetches those of the parent.
    """
    missed = np.zeros_like(reads)
    for share, edges in zip(*np.unique(shares, return_counts=True), strict=True):
        missed += edges * (share + (1 - share) * (1 - absent(reads * share)))
    return Cycle(cycle.reads, np.maximum(cycle.reads - missed, 0), cycle.fetches, cycle.stale_over)


def absent_until(purges: np.ndarray, ttl_s: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function θ → E exp(−θ · min(T, Exp(ν))): the chance of a life without a read."""

    def absent(rate: np.ndarray) -> np.ndarray:
        return 1 - rate * expected_life(purges + rate, ttl_s)

    return absent


def expected_life(purges: np.ndarray, ttl_s: float) -> np.ndarray:
    """E min(T, Exp(ν)) = (1 − exp(−νT)) / ν; T where ν is 0."""
    x = purges * ttl_s
    small = x < 1e-8
    return np.where(small, ttl_s * (1 - x / 2), -np.expm1(-x) / np.where(small, 1.0, purges))


def finite_ttl(
    reads: np.ndarray, edits: np.ndarray, ttl_s: float, run_s: float, old_fills: float | np.ndarray = 0.0
) -> Cycle:
    """A run of τ seconds that starts with an empty cache, with freshness lifetime T.

    The k-th fill happens (k − 1)T plus k waits after the start, so the expected number of fills by t is
    N(t) = Σ P(Erlang(k, λ) ≤ t − (k − 1)T). Copies filled at f are read until min(f + T, τ). Integration by parts
    gives the reads outdated by more than y: λ ∫ N(f) (1 − exp(−μ(τ − y − f))) df over f from max(0, τ − T) to τ − y.
    `old_fills` as in `ttl`. ValueError if τ / T is above `FINITE_LIVES_MAX`.
    """
    if run_s > FINITE_LIVES_MAX * ttl_s:
        raise ValueError("the run is too long for its lifetimes to be summed")
    fetches = expiry.fills(reads, run_s, ttl_s)

    @cache
    def fills_until() -> tuple[np.ndarray, np.ndarray]:
        """Moments (m,), and N at them times the weights of the integral (m, n)."""
        begin = max(0.0, run_s - ttl_s)
        # Fills are dense just after each multiple of T, so the nodes of the integral are dense there too.
        kink = np.floor(run_s / ttl_s) * ttl_s
        spans = list(pairwise([begin, kink, run_s] if begin < kink < run_s else [begin, run_s]))
        moments = np.concatenate([low + (high - low) * PLACES**3 for low, high in spans])
        weights = np.concatenate([WEIGHTS * 3 * PLACES**2 * (high - low) for low, high in spans])
        fills = [weight * expiry.fills(reads, moment, ttl_s) for moment, weight in zip(moments, weights, strict=True)]
        return moments, np.stack(fills)

    def stale_over(seconds: float) -> np.ndarray:
        moments, fills = fills_until()
        left_s = np.maximum(run_s - seconds - moments, 0.0)[:, None]
        fresh = np.where(left_s > 0, 1 - old_fills, 1.0) * np.exp(-edits * left_s)
        return reads * np.sum(fills * (1 - fresh), axis=0)

    return Cycle(reads * run_s, reads * run_s - fetches, fetches, stale_over)


def finite_purge(reads: np.ndarray, edits: np.ndarray, purges: np.ndarray, run_s: float, delay_s: float) -> Cycle:
    """A run of τ seconds that starts with an empty cache, in which copies live until a purge (T ≥ τ).

    "Cached or not" is a Markov chain with rates λ and ν, so the cache holds the page at t with chance λ/(λ +
    ν) (1 − exp(−(λ + ν)t)). The stale share of the hits is that of the steady state, which is correct for D ≪ τ.
    """
    both = reads + purges
    hits = reads * reads / both * (run_s - expected_life(both, run_s))
    steady = purge(reads, edits, purges, run_s, delay_s)

    def stale_over(seconds: float) -> np.ndarray:
        return hits * steady.stale_over(seconds) / steady.hits

    return Cycle(reads * run_s, hits, reads * run_s - hits, stale_over)
