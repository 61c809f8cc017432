"""Tests of hypotheses, against values computed by hand, by brute force, or by scipy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from stevec_report.hypothesis_tests import (
    equivalence,
    equivalence_p,
    holm,
    least_p,
    paired_test,
    ratio_test,
    sign_flip,
    t_test,
)


@pytest.mark.parametrize(
    ("values", "p"),
    [
        ([1.0], 1.0),
        ([1.0, 2.0], 0.5),
        ([1.0, 2.0, 4.0], 0.25),
        ([3.0, -1.0, -1.0], 1.0),  # no pattern of signs has a smaller |sum| than 1
        ([1.0] * 8, 2 / 256),
        ([-1.0] * 8, 2 / 256),
        ([0.0, 0.0], 1.0),
    ],
)
def test_sign_flip_by_hand(values, p):
    assert sign_flip(values) == (p, True)


def test_sign_flip_is_the_count_of_all_patterns():
    rng = np.random.default_rng(5)
    for n in (3, 6, 10):
        for values in rng.normal(0.4, 1, (10, n)):
            sums = [abs(np.dot(signs, values)) for signs in itertools.product((-1, 1), repeat=n)]
            expected = sum(total >= abs(values.sum()) - 1e-9 for total in sums) / 2**n
            assert sign_flip(values)[0] == pytest.approx(expected)


def test_sign_flip_of_ranks_is_wilcoxons_test():
    values = np.array([1.0, -2.0, 3.0, 4.0, 5.0, 6.0, -7.0, 8.0])
    assert sign_flip(values)[0] == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


def test_sign_flip_does_not_depend_on_scale_or_direction():
    values = np.array([0.1, 0.2, -0.05, 0.3])
    assert sign_flip(values) == sign_flip(-values) == sign_flip(values * 1e-6)


def test_sign_flip_errs_as_seldom_as_it_says():
    rng = np.random.default_rng(11)
    p_values = [sign_flip(values)[0] for values in rng.normal(0, 1, (2000, 8))]
    # The standard error of 0.05 over 2000 is 0.005.
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(12 / 256, abs=0.016)


def test_sign_flip_agrees_with_scipy():
    rng = np.random.default_rng(8)
    for values in (*rng.normal(0.4, 1, (10, 8)), *rng.normal(0.2, 1, (2, 12))):
        exact = stats.permutation_test(
            (values,), np.sum, permutation_type="samples", n_resamples=2**12, vectorized=False
        )
        assert sign_flip(values)[0] == pytest.approx(exact.pvalue)


def test_beyond_twenty_blocks_p_is_of_random_patterns():
    values = np.random.default_rng(3).normal(0.5, 1, 24)
    p, exact = sign_flip(values)
    assert not exact
    assert sign_flip(values)[0] == p
    assert p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=0.5)
    assert sign_flip([1.0] * 21) == (least_p(21), False)
    assert sign_flip([1.0, -1.0] * 11)[0] == 1


def test_a_ratio_is_tested_against_another_one():
    logs = dict(enumerate(np.log([1.3, 1.4, 1.2, 1.5, 1.35, 1.28])))
    test = ratio_test(logs, against=1.25, left_out=2)
    assert test.ratio.centre == pytest.approx(stats.gmean([1.3, 1.4, 1.2, 1.5, 1.35, 1.28]))
    assert test.p == sign_flip(np.array(test.logs) - math.log(1.25))[0]
    assert (test.against, test.left_out, test.spread) == (1.25, 2, pytest.approx(np.std(list(logs.values()), ddof=1)))


@pytest.mark.parametrize("values", [[], [float("nan")], [[1.0]]])
def test_sign_flip_refuses_what_has_no_sum(values):
    with pytest.raises(ValueError, match="finite"):
        sign_flip(values)


def test_paired_test_uses_what_both_have():
    test = paired_test({1: 2.0, 2: 8.0, 3: 1.0}, {1: 1.0, 2: 1.0, 4: 1.0})
    assert (test.n, test.p, test.least_p, test.left_out) == (2, 0.5, 0.5, 2)
    assert test.ratio.centre == pytest.approx(4)
    assert paired_test({1: 1.0}, {2: 1.0}).p is None
    assert least_p(8) == 2 / 256


def test_equivalence_is_two_one_sided_t_tests():
    rng = np.random.default_rng(2)
    base = dict(enumerate(rng.lognormal(3, 0.1, 8)))
    other = {key: value * rng.lognormal(0.02, 0.04) for key, value in base.items()}
    logs = [math.log(other[key] / base[key]) for key in base]
    below = stats.ttest_1samp(logs, math.log(1.1), alternative="less").pvalue
    above = stats.ttest_1samp(logs, -math.log(1.1), alternative="greater").pvalue
    assert equivalence(other, base, 1.1).p == equivalence_p(logs, 1.1) == pytest.approx(max(below, above))


def test_no_difference_found_is_not_no_difference():
    noisy = {1: 1.0, 2: 3.0, 3: 0.4, 4: 1.1}
    flat = dict.fromkeys(noisy, 1.0)
    assert paired_test(noisy, flat).p > 0.5
    assert equivalence(noisy, flat, 1.1).p > 0.3
    assert equivalence(flat, flat, 1.1).p == 0.0
    assert equivalence({1: 2.0, 2: 2.0}, {1: 1.0, 2: 1.0}, 1.1).p == 1.0
    assert equivalence({1: 1.0}, {1: 1.0}, 1.1).p is None


def test_t_test_is_the_one_of_the_textbooks():
    ratios = np.random.default_rng(5).lognormal(0.1, 0.2, 9)
    assert t_test(ratios) == pytest.approx(stats.ttest_1samp(np.log(ratios), 0).pvalue, rel=1e-9)
    assert (t_test([1.3]), t_test([1.0, 1.0]), t_test([1.3, 1.3])) == (None, 1.0, 0.0)


def test_holm_by_hand():
    # Holm's procedure: 4 times 0.01, 3 times 0.02, 2 times 0.03, and never below an earlier one.
    corrected = holm({"a": 0.02, "b": 0.01, "c": 0.03, "d": 0.8})
    assert corrected == pytest.approx({"a": 0.06, "b": 0.04, "c": 0.06, "d": 0.8})
    assert holm({"a": 0.0078, "b": None}) == {"a": 0.0156, "b": 1.0}


def test_holm_is_the_closed_test_of_bonferroni():
    rng = np.random.default_rng(4)
    for values in rng.uniform(size=(50, 4)) ** 2:
        corrected = holm(dict(enumerate(values)))
        for at in range(4):
            # A hypothesis is rejected where each set of hypotheses that has it is (Marcus, Peritz, Gabriel, 1976).
            sets = [own for size in range(1, 5) for own in itertools.combinations(range(4), size) if at in own]
            assert corrected[at] == pytest.approx(max(min(1, len(own) * values[list(own)].min()) for own in sets))


def test_holm_keeps_false_alarms_of_all_six_under_one_in_twenty():
    rng = np.random.default_rng(9)
    alarms = 0
    for values in rng.normal(0, 1, (600, 6, 10)):
        corrected = holm({at: sign_flip(own)[0] for at, own in enumerate(values)})
        alarms += min(corrected.values()) < 0.05
    assert alarms / 600 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)
