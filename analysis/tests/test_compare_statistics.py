"""What a comparison of runs claims, on made-up numbers of which the truth is known; seeded simulations.

How often two sides of one version differ is simulated in stevec_simulate (test_simulate.py).
"""

import math

import numpy as np
import pytest
from scipy import stats

from stevec_compare import counts, gate, times
from stevec_compare.comparison import compare_numbers
from stevec_compare.counts import Count
from stevec_compare.run import RunNumbers, TrialNumbers
from stevec_compare.run_values import values_of
from stevec_report.power import detectable
from stevec_simulate.comparisons import made_up_run
from stevec_simulate.noise import Noise

TRIALS = 6
TRIAL_SD = 0.05  # of logarithms
READS = 1000
SPREAD, WIDE = Noise(between_runs=1), Noise(between_runs=2)


def draws(rng, shape, size):
    """Values with mean 0 and variance 1."""
    return rng.standard_t(3, size) / math.sqrt(3) if shape == "t3" else rng.standard_normal(size)


def run_of(stale=None, hits=None, repetitions=4, plan=None, failed=None):
    """A run of one cell whose trials all have these counts; `stale` may be a list, one for each trial."""
    per_trial = stale if isinstance(stale, list) else [stale] * repetitions
    trials = [
        TrialNumbers(
            at,
            5.0 + at / 10,
            9.0,
            hits=None if hits is None else Count(hits, READS),
            stale=None if own is None else Count(own, READS),
            failed=None if failed is None else Count(failed, READS),
        )
        for at, own in enumerate(per_trial)
    ]
    return RunNumbers("made up", {"all": trials}, plan=plan)


@pytest.mark.parametrize("k", [3, 4, 5])
@pytest.mark.parametrize(("between", "shape"), [(0, "normal"), (1, "t3"), (2, "normal")])
def test_the_interval_of_a_ratio_covers_and_is_not_much_wider_than_an_oracles(k, between, shape):
    rng = np.random.default_rng([3, k, between])
    rounds, effect = 1000, math.log(1.1)
    spread = TRIAL_SD * math.sqrt(between**2 + 1 / TRIALS)
    covered, widths = 0, []
    for _ in range(rounds):
        noise = TRIAL_SD * (between * draws(rng, shape, (2, k)) + draws(rng, shape, (2, k, TRIALS)).mean(axis=2))
        found = times.compare_runs(noise[0], noise[1] + effect)
        covered += found.low < 1.1 < found.high
        widths.append(math.log(found.high / found.low))
    assert covered / rounds > 0.93
    assert np.mean(widths) < 1.5 * 2 * stats.norm.ppf(0.975) * spread * math.sqrt(2 / k)


@pytest.mark.parametrize("k", [3, 4, 5])
@pytest.mark.parametrize(("share", "cluster", "between"), [(0.1, 1, 0), (0.01, 5, 0), (0.05, 40, 0.3)])
def test_the_interval_of_a_gap_covers_clustered_counts(k, share, cluster, between):
    rng = np.random.default_rng([4, k, cluster])
    rounds, reads = 800, 8000
    covered, widths = 0, []

    def side(own):
        rates = own * np.exp(between * rng.standard_normal(k) - between**2 / 2)
        return [Count(min(reads, cluster * int(n)), reads) for n in rng.poisson(reads * rates / cluster)]

    for _ in range(rounds):
        found = counts.compare(side(share), side(1.5 * share))
        covered += found.low <= share / 2 <= found.high
        widths.append(found.high - found.low)
    variances = [(cluster * own / reads + own**2 * (math.exp(between**2) - 1)) / k for own in (share, 1.5 * share)]
    assert covered / rounds > 0.93
    assert np.mean(widths) < 1.5 * 2 * stats.norm.ppf(0.975) * math.sqrt(sum(variances))


def test_the_pooled_interval_is_that_of_scipy():
    a, b = [1.0, 1.1, 1.3, 0.9], [1.4, 1.2, 1.35, 1.5]
    found, known = times.compare_runs(a, b), stats.ttest_ind(b, a)
    interval = known.confidence_interval()
    assert found.p == pytest.approx(known.pvalue) and found.freedom == known.df
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((interval.low, interval.high))


def test_the_gap_of_large_counts_is_that_of_a_normal_test():
    found = counts.compare([Count(500, 10_000)] * 3, [Count(600, 10_000)] * 3)
    gap, error = 0.01, math.sqrt(0.05 * 0.95 / 30_000 + 0.06 * 0.94 / 30_000)
    half = stats.norm.ppf(0.975) * error
    assert (found.low, found.high) == pytest.approx((gap - half, gap + half), rel=0.02)
    assert found.p == pytest.approx(2 * stats.norm.sf(gap / error), rel=0.3)


def test_a_stored_spread_replaces_runs():
    rng = np.random.default_rng(5)
    stored = [values_of(made_up_run(rng, SPREAD)) for _ in range(5)]
    first, second = [made_up_run(rng, SPREAD)], [made_up_run(rng, SPREAD)]
    alone, known = compare_numbers(first, second), compare_numbers(first, second, [stored])
    assert alone.unit == "trial" and known.unit == "run"
    assert {one.freedom for one in known.differences["mean_ms"].values()} == {4}
    assert not any(one.real for one in alone.tests)


def test_single_runs_of_one_version_differ_by_their_trials_and_nothing_is_real():
    rng = np.random.default_rng(6)
    found = [compare_numbers([made_up_run(rng, WIDE)], [made_up_run(rng, WIDE)]) for _ in range(20)]
    assert any(one.significant for comparison in found for one in comparison.tests)
    assert not any(one.real for comparison in found for one in comparison.tests)


@pytest.mark.parametrize("runs", [1, 3])
def test_one_stale_read_more_in_each_trial_is_no_difference(runs):
    found = compare_numbers([run_of(stale=5)] * runs, [run_of(stale=6)] * runs).differences["stale_ratio"]["all"]
    assert found.p > 0.05 and found.low < 0 < found.high


def test_no_stale_read_against_many_is_a_difference_and_against_one_is_none():
    none = [run_of(stale=0)] * 3
    many = compare_numbers(none, [run_of(stale=n) for n in (18, 20, 22)]).differences["stale_ratio"]["all"]
    assert many.real and many.low > 0
    one = compare_numbers(none, [run_of(stale=[0, 0, 0, 1])] * 3).differences["stale_ratio"]["all"]
    assert not one.real and one.low <= 0


def test_what_the_plan_fixes_leaves_the_family():
    first, second = ([run_of(stale=n, hits=900, failed=0) for n in numbers] for numbers in ((5, 9, 7), (20, 24, 29)))
    found = compare_numbers(first, second)
    assert found.constants == {("hit_ratio", "all"): (0.9, 0.9), ("failed_ratio", "all"): (0.0, 0.0)}
    assert found.differences["hit_ratio"] == found.differences["failed_ratio"] == {}
    # Times are the same in all runs, too, and have no test; so one test is the whole family.
    stale = found.differences["stale_ratio"]["all"]
    assert len(found.tests) == 1 and stale.p_holm == stale.p


def test_counts_that_vary_with_the_plan_alone_are_fixed_by_it():
    def runs(plan, *hits):
        trials = [TrialNumbers(at, 5.0, 9.0, hits=Count(own, READS)) for at, own in enumerate(hits)]
        return RunNumbers("made up", {"all": trials}, plan=plan)

    same = [runs("p", 900, 880), runs("p", 900, 880)]
    assert ("hit_ratio", "all") in compare_numbers(same, same).constants
    other = [runs("p", 900, 880), runs("p", 900, 881)]
    assert compare_numbers(same, other).differences["hit_ratio"]["all"].p is not None
    elsewhere = [runs("q", 900, 880), runs("q", 900, 880)]
    assert compare_numbers(same, elsewhere).differences["hit_ratio"]["all"].p is not None


@pytest.mark.parametrize(("k", "alpha"), [(2, 0.05), (3, 0.05), (5, 0.05 / 12)])
def test_a_detectable_difference_is_detected_in_four_of_five_cases(k, alpha):
    rng = np.random.default_rng([8, k])
    rounds = 20_000
    shift = detectable(math.sqrt(2 / k), 2 * k - 2, alpha)
    found = stats.ttest_ind(rng.standard_normal((k, rounds)) + shift, rng.standard_normal((k, rounds)))
    assert np.mean(found.pvalue < alpha) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        ({"stale_ratio_max": 0.001}, "violated"),
        ({"stale_ratio_max": 0.005}, "undecided"),
        ({"stale_ratio_max": 0.02}, "kept"),
        ({"hit_ratio_min": 0.91}, "violated"),
        ({"hit_ratio_min": 0.9}, "kept"),
        ({"failures_max": 0}, "violated"),
        ({"failures_max": 9}, "undecided"),
        ({"failures_max": 40}, "kept"),
    ],
)
def test_a_limit_on_a_count_is_violated_by_a_whole_interval_only(limits, outcome):
    second = [run_of(stale=n, hits=900, failed=m) for n, m in ((5, 2), (7, 3), (6, 4))]
    comparison = compare_numbers([run_of(stale=5, hits=900, failed=2)] * 3, second)
    [verdict] = gate.judge(limits, comparison)
    assert verdict.outcome == outcome, verdict.text
    if verdict.limit != "hit_ratio_min":
        assert verdict.detectable > limits[verdict.limit] and "would be found in 80 % of cases" in verdict.text


def test_no_event_at_all_keeps_a_limit_and_says_what_could_have_gone_unseen():
    comparison = compare_numbers([run_of(failed=0)] * 3, [run_of(failed=0)] * 3)
    [verdict] = gate.judge({"failures_max": 0}, comparison)
    assert verdict.outcome == "kept" and verdict.detectable > 0
