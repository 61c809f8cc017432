"""The confidence interval of a stale ratio. Stale reads come in clusters: the independent event is the edit.

Stale reads are a weighted sum of events, so the interval is the gamma interval of such sums (M. P. Fay, E. J. Feuer,
"Confidence intervals for directly standardized rates: a method based on the gamma distribution", Statistics in
Medicine 16, 1997). Where each edit makes one read stale, it is the exact interval of a Poisson count. The variance is
that of a ratio over clusters (W. G. Cochran, "Sampling techniques", 1977, section 6.3). Where the trials differ by more
than their edits explain, it is that over trials.
"""

from collections.abc import Sequence

from scipy.special import gammaincinv, ndtri, stdtrit

from stevec_report.freshness.clusters import ClusterSums
from stevec_report.intervals import LEVEL, Interval

TRIALS_ENOUGH = 5  # with fewer, Student's t makes intervals up to twice as wide as they could be


def stale_interval(trials: Sequence[ClusterSums], level: float = LEVEL) -> Interval:
    """Return the interval of stale ÷ judged reads over the trials of a cell; no bounds with one trial, or no edits.

    Args:
        trials: at least one trial with judged reads.
        level: confidence, 0 to 1.
    """
    judged, stale = sum(one.judged for one in trials), sum(one.stale for one in trials)
    ratio = stale / judged
    if len(trials) < 2 or not any(one.clusters for one in trials):
        return Interval(ratio, None, None, len(trials))
    outside, unseen = (1 - level) / 2, _next_cluster(trials)
    variance = _variance(trials, ratio, level) if stale else 0.0
    low = _gamma_quantile(stale, variance, outside) if stale else 0.0
    high = _gamma_quantile(stale + unseen, variance + unseen**2, 1 - outside)
    return Interval(ratio, low / judged, min(1.0, high / judged), len(trials))


def _next_cluster(trials: Sequence[ClusterSums]) -> float:
    """Reads that one more edit with stale reads makes stale.

    Of k + 1 such edits, the one not seen is the largest with probability 1 / (k + 1). It may then make all reads stale
    that follow an edit. Otherwise it makes at most as many stale as the largest that was seen.
    """
    seen = sum(one.stale_clusters for one in trials)
    largest = max(one.stale_max for one in trials)
    following = sum(one.reads_after for one in trials) / sum(one.clusters for one in trials)
    return max(1.0, (seen * largest + max(following, largest)) / (seen + 1))


def _variance(trials: Sequence[ClusterSums], ratio: float, level: float) -> float:
    """Variance of the number of stale reads: the larger of that over clusters and that over trials, widened."""
    by_edit = sum(
        one.stale_squared - 2 * ratio * one.stale_times_reads + ratio**2 * one.reads_squared for one in trials
    )
    freedom = len(trials) - 1
    by_trial = sum((one.stale - ratio * one.judged) ** 2 for one in trials) * len(trials) / freedom
    # The gamma interval uses normal quantiles; so few trials need Student's.
    widened = float(stdtrit(freedom, 0.5 + level / 2) / ndtri(0.5 + level / 2))
    # Where all reads are stale, both are 0; where each page has one edit, rounding may take the first below.
    return max(by_edit, by_trial * widened**2, 1e-9)


def _gamma_quantile(mean: float, variance: float, level: float) -> float:
    shape = mean**2 / variance
    return float(gammaincinv(shape, level)) * variance / mean
