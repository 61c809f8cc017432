"""The statistics, against values computed by hand or known in closed form."""

import math

import numpy as np
import pytest

from stevec_report.intervals import geometric_mean, paired_ratio, t_interval


def test_t_interval_by_hand():
    # mean 3, s = sqrt(2.5), t(4, 0.975) = 2.776445: half = 2.776445 * sqrt(2.5 / 5)
    interval = t_interval([1, 2, 3, 4, 5])
    assert interval.centre == 3
    assert interval.high - 3 == pytest.approx(1.963243, abs=1e-6)
    assert 3 - interval.low == pytest.approx(1.963243, abs=1e-6)
    assert interval.n == 5


@pytest.mark.parametrize(
    ("n", "quantile"), [(2, 12.706205), (3, 4.302653), (8, 2.364624), (30, 2.045230)]
)  # from a printed table of Student's distribution, 0.975
def test_t_interval_has_the_tabled_width(n, quantile):
    values = np.arange(n, dtype=float)
    interval = t_interval(values)
    assert (interval.high - interval.centre) / (values.std(ddof=1) / math.sqrt(n)) == pytest.approx(quantile, abs=1e-6)


def test_one_value_has_no_interval():
    interval = geometric_mean([4.2])
    assert (interval.low, interval.high, interval.n) == (None, None, 1)
    assert interval.centre == pytest.approx(4.2)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [1.0, float("inf")]])
def test_values_that_have_no_mean_are_refused(values):
    with pytest.raises(ValueError, match="finite"):
        t_interval(values)


@pytest.mark.parametrize("values", [[0.0, 1.0], [-1.0]])
def test_a_geometric_mean_needs_positive_values(values):
    with pytest.raises(ValueError, match="positive"):
        geometric_mean(values)


def test_geometric_mean_is_the_t_interval_of_logarithms():
    # logs are 0, 1, 2: mean 1, s = 1, half = 4.302653 / sqrt(3) = 2.484138
    interval = geometric_mean([1.0, math.e, math.e**2])
    assert interval.centre == pytest.approx(math.e)
    assert interval.high == pytest.approx(math.exp(1 + 2.484138), rel=1e-6)
    assert interval.low == pytest.approx(math.exp(1 - 2.484138), rel=1e-6)


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(7)
    trials, median = 4000, 5.0
    covered = 0
    for values in median * rng.lognormal(0, 0.2, (trials, 8)):
        interval = geometric_mean(values)
        covered += interval.low <= median <= interval.high
    # The standard error of a share of 0.95 over 4000 is 0.0034.
    assert covered / trials == pytest.approx(0.95, abs=0.014)


def test_paired_ratio_is_exact_where_the_ratio_is_constant():
    base = {1: 10.0, 2: 20.0, 3: 40.0}
    ratio = paired_ratio({repetition: value * 0.25 for repetition, value in base.items()}, base)
    assert (ratio.centre, ratio.low, ratio.high) == pytest.approx((0.25, 0.25, 0.25))


def test_paired_ratio_by_hand():
    # log ratios: log 2 and log 8, mean log 4, s = log 4 / sqrt(2); half = 12.706205 * log 4 / 2
    ratio = paired_ratio({1: 2.0, 2: 8.0}, {1: 1.0, 2: 1.0})
    assert ratio.centre == pytest.approx(4)
    assert ratio.high == pytest.approx(4 * math.exp(12.706205 * math.log(4) / 2), rel=1e-5)


def test_paired_ratio_uses_only_shared_repetitions():
    ratio = paired_ratio({1: 3.0, 2: 100.0}, {1: 1.0, 3: 1.0})
    assert (ratio.centre, ratio.n, ratio.low) == (pytest.approx(3), 1, None)
    assert paired_ratio({1: 3.0}, {2: 1.0}) is None
