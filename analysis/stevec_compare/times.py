"""Response times of two sides as a ratio: t intervals of logarithms, whose unit is the run.

Trials of one run share its process, its caches and the state of the machine, so they are nested in it: the spread
between runs is the error of a comparison of versions (T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable
time", ISMM 2013). docs/decisions/0030-the-unit-of-a-comparison-is-the-run.md argues for the pooled interval.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from stevec_compare.difference import LOG_MAX, Difference
from stevec_report.intervals import LEVEL

SAME = 1e-12  # logarithms that differ by rounding only


def compare_runs(first: Sequence[float], second: Sequence[float], spread: Sequence[Sequence[float]] = ()) -> Difference:
    """B ÷ A from the runs' mean logarithms `first`, `second` (k,), each with at least one value.

    `spread` are mean logarithms of other runs, in groups of one version each. The variance between runs is taken to be
    the same for all, which holds for runs of one version: Welch's interval, which does without, calls too many of them
    different where one side has few runs. No interval without two runs in one group.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    variance, freedom = _pooled_variance([a, b, *(np.asarray(group, dtype=float) for group in spread)])
    if variance <= SAME**2:
        return _ratio(a, b, of_versions=True)
    return _ratio(a, b, True, math.sqrt(variance * (1 / a.size + 1 / b.size)), freedom)


def compare_trials(first: Mapping[Any, float], second: Mapping[Any, float], paired: bool) -> Difference:
    """B ÷ A of two runs only, from the logarithms of their trials, {repetition: value}.

    `paired` uses the repetitions that both have, which sent the same requests; otherwise the interval is Welch's.
    """
    shared = sorted(first.keys() & second.keys())
    if paired and shared:
        a, b = (np.array([side[key] for key in shared]) for side in (first, second))
        if shared[1:] and float(np.ptp(b - a)) > SAME:
            return _tested(a, b, False, stats.ttest_rel(b, a))
        return _ratio(a, b, of_versions=False)
    a, b = np.array(list(first.values())), np.array(list(second.values()))
    if min(a.size, b.size) < 2 or max(np.ptp(a), np.ptp(b)) <= SAME:
        return _ratio(a, b, of_versions=False)
    return _tested(a, b, False, stats.ttest_ind(b, a, equal_var=False))


def _tested(a: np.ndarray, b: np.ndarray, of_versions: bool, result: Any) -> Difference:
    """The `Difference` of a t test by scipy.stats."""
    interval = result.confidence_interval(LEVEL)
    error = (interval.high - interval.low) / 2 / stats.t.isf((1 - LEVEL) / 2, result.df)
    return _ratio(a, b, of_versions, float(error), float(result.df))


def _ratio(
    a: np.ndarray, b: np.ndarray, of_versions: bool, error: float | None = None, freedom: float = math.inf
) -> Difference:
    centre = float(b.mean() - a.mean())
    if error is None:
        return Difference(math.exp(centre), True, of_versions, effect=_hedges(a, b))
    half = float(stats.t.isf((1 - LEVEL) / 2, freedom)) * error
    return Difference(
        estimate=math.exp(centre),
        is_ratio=True,
        of_versions=of_versions,
        low=math.exp(centre - half),
        high=math.exp(min(centre + half, LOG_MAX)),
        p=2 * float(stats.t.sf(abs(centre) / error, freedom)),
        effect=_hedges(a, b),
        error=error,
        freedom=freedom,
    )


def _pooled_variance(groups: Sequence[np.ndarray]) -> tuple[float, int]:
    """(variance, degrees of freedom) within the groups; (0, 0) if none has two values."""
    freedom = sum(group.size - 1 for group in groups)
    return (sum(float(group.var()) * group.size for group in groups) / freedom if freedom else 0.0), freedom


def _hedges(a: np.ndarray, b: np.ndarray) -> float | None:
    """The difference in standard deviations, corrected for few units (L. V. Hedges, J. Educ. Statistics 6(2), 1981)."""
    if min(a.size, b.size) < 2:
        return None
    variance, freedom = _pooled_variance([a, b])
    if variance <= SAME**2:
        return None
    return float(b.mean() - a.mean()) / math.sqrt(variance) * (1 - 3 / (4 * freedom - 1))
