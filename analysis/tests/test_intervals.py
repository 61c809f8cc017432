"""The statistics, against values computed by hand or known in closed form."""

import math

import numpy as np
import pytest

from stevec_report.intervals import Interval, geometric_mean, t_interval


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


@pytest.mark.parametrize(
    ("bounds", "found"),
    [((1.1, 1.9), True), ((0.5, 0.9), False), ((2.1, 3.0), False), ((0.9, 1.1), None), ((1.9, 2.1), None)],
)
def test_an_interval_is_within_outside_or_neither(bounds, found):
    assert Interval(1.5, *bounds, 4).is_within(1, 2) is found
    assert Interval(1.5, None, None, 1).is_within(1, 2) is None
