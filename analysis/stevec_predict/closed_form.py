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


def purge(
    reads: np.ndarray, edits: np.ndarray, purges: np.ndarray, ttl_s: float, delay_s: float, fetch_s: float = 0.0
) -> Cycle:
    """Steady state of a cache whose copies live until a purge (rate ν), at most T, when each edit purges D
    seconds after it was acknowledged.

    A life is min(T, Exp(ν)). Reads and purges are independent, so the hit ratio is λℓ / (1 + λℓ) with
    ℓ = (1 − exp(−νT)) / ν. Only an edit of the last min(a, D) seconds can make a copy of age a outdated, because
    an older edit has purged it.

    Args:
        fetch_s: d, the duration of a fetch in a cache that does not collapse. All reads within d of the first miss are
            forwarded, and the last of them leaves the copy, whose age counts from its request. That request is
            R = min(d, Exp(λ)) before the end of the fetches, so hits are the reads at ages above R. 0 with collapsing.
    """
    reach_s = min(fetch_s, ttl_s)
    life = expected_life(purges, ttl_s) - expected_life(purges + reads, reach_s)

    def stale_over(seconds: float) -> np.ndarray:
        stale = _outdated_until(purges, edits, ttl_s, delay_s, seconds)
        return reads * (stale - _outdated_until(purges + reads, edits, reach_s, delay_s, seconds))

    forwarded = 1 + reads * fetch_s
    return Cycle(forwarded + reads * life, reads * life, forwarded, stale_over)


def _outdated_until(ends: np.ndarray, edits: np.ndarray, age_s: float, delay_s: float, seconds: float) -> np.ndarray:
    """∫ exp(−ra) (1 − exp(−μ(min(a, D) − y))) da over the ages a from y to `age_s`: expected seconds outdated by more
    than y, of a copy that ends at rate r (`ends`)."""
    if seconds >= min(delay_s, age_s):
        return np.zeros_like(ends)
    return np.exp(-ends * seconds) * _outdated(ends, edits, age_s - seconds, delay_s - seconds)


def _outdated(ends: np.ndarray, edits: np.ndarray, span_s: float, growth_s: float, before_s: float = 0.0) -> np.ndarray:
    """∫ exp(−rb) (1 − exp(−μ(k + min(b, c)))) db over b from 0 to `span_s`, with c = `growth_s` and k = `before_s`."""
    growth_s = min(growth_s, span_s)
    young = expected_life(ends, growth_s) - np.exp(-edits * before_s) * expected_life(ends + edits, growth_s)
    old = np.exp(-ends * growth_s) * expected_life(ends, span_s - growth_s)
    return young - np.expm1(-edits * (before_s + growth_s)) * old


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
    begin = max(0.0, run_s - ttl_s)

    @cache
    def fills_until() -> tuple[np.ndarray, np.ndarray]:
        """Moments (m,), and N at them times the weights of the integral (m, n)."""
        # Fills are dense just after each multiple of T, so the nodes of the integral are dense there too.
        kink = np.floor(run_s / ttl_s) * ttl_s
        spans = list(pairwise([begin, kink, run_s] if begin < kink < run_s else [begin, run_s]))
        moments = np.concatenate([low + (high - low) * PLACES**3 for low, high in spans])
        weights = np.concatenate([WEIGHTS * 3 * PLACES**2 * (high - low) for low, high in spans])
        fills = [weight * expiry.fills(reads, moment, ttl_s) for moment, weight in zip(moments, weights, strict=True)]
        return moments, np.stack(fills)

    def stale_over(seconds: float) -> np.ndarray:
        end = run_s - seconds
        if end <= begin:
            return np.zeros_like(reads)
        moments, fills = fills_until()
        left_s = np.maximum(end - moments, 0.0)[:, None]
        later = np.sum(fills * -np.expm1(-edits * left_s), axis=0)
        if not np.any(old_fills):
            return reads * later
        # Copies that were outdated at once: their integrand jumps at `end`, so it is summed exactly.
        at_once = expiry.fills_area(reads, end, ttl_s) - expiry.fills_area(reads, begin, ttl_s)
        return reads * ((1 - old_fills) * later + old_fills * at_once)

    return Cycle(reads * run_s, reads * run_s - fetches, fetches, stale_over)


def finite_purge(reads: np.ndarray, edits: np.ndarray, purges: np.ndarray, run_s: float, delay_s: float) -> Cycle:
    """A run of τ seconds that starts with an empty cache, in which copies live until a purge (T ≥ τ).

    Edits begin with the run, so the first purge comes after D. "No copy" has the chance q(t) = exp(−λt) until D; from
    then on "copy or not" is a Markov chain with rates λ and ν. A copy filled at f lives until a purge after
    max(f, D), and an edit of the last min(a, D) seconds makes it outdated at age a. That edit cannot have to do with
    q(f), which depends on edits before f. So the stale reads are λ ∫ λ q(f) (seconds outdated of a copy filled at f).
    """
    delay_s = min(delay_s, run_s)
    both = reads + purges
    settled = purges / both
    excess = np.exp(-reads * delay_s) - settled
    later_s = run_s - delay_s
    missed = expected_life(reads, delay_s) + settled * later_s + excess * expected_life(both, later_s)

    def absent(moment: float) -> np.ndarray:
        if moment < delay_s:
            return np.exp(-reads * moment)
        return settled + excess * np.exp(-both * (moment - delay_s))

    def stale_of(fill: float, seconds: float) -> np.ndarray:
        safe_s = delay_s - fill  # no purge for so long
        if safe_s <= 0:
            return _outdated_until(purges, edits, run_s - fill, delay_s, seconds)
        known_s = max(seconds - safe_s, 0.0)  # of the time with purges, in which nothing is outdated by more than y
        if known_s >= min(later_s, fill):
            return outdated(edits, safe_s - seconds)
        growth_s = min(fill, delay_s - seconds)
        late = _outdated(purges, edits, later_s - known_s, growth_s, max(safe_s - seconds, 0.0))
        return outdated(edits, safe_s - seconds) + np.exp(-purges * known_s) * late

    def stale_over(seconds: float) -> np.ndarray:
        stale = np.zeros_like(reads)
        if seconds >= delay_s:
            return stale
        # The integrand is smooth between these moments and changes fastest just after each. The error of the ratio is
        # below 10⁻⁴ up to a million reads of a page.
        kinks = sorted({0.0, delay_s - seconds, delay_s, later_s, run_s - seconds, run_s})
        for low, high in pairwise(kinks):
            for place, weight in zip(PLACES, WEIGHTS, strict=True):
                fill = low + (high - low) * place**5
                stale += weight * 5 * place**4 * (high - low) * absent(fill) * stale_of(fill, seconds)
        return reads * reads * stale

    return Cycle(reads * run_s, reads * (run_s - missed), reads * missed, stale_over)
