"""The interval of a stale ratio. How often it covers the truth is simulated in stevec_simulate (test_simulate.py)."""

import math

import pytest

from stevec_report.freshness import ClusterSums
from stevec_report.stale_interval import stale_interval


def test_trials_that_differ_by_more_than_their_edits_explain_widen_the_interval():
    alike = [ClusterSums.of(1000, [1] * 20, [50] * 20)] * 4
    apart = [ClusterSums.of(1000, [1] * n + [0] * (20 - n), [50] * 20) for n in (20, 0, 20, 0)]
    narrow, wide = stale_interval(alike), stale_interval([*apart])
    assert narrow.high - narrow.low < 0.02
    assert (wide.centre, wide.low) == (0.01, pytest.approx(0, abs=0.003))
    assert wide.high > 0.025


def test_stale_reads_one_an_edit_are_a_poisson_count():
    clusters = [1] * 5 + [0] * 9995
    cell = [ClusterSums.of(10_000, clusters, [1] * 10_000), ClusterSums.of(10_000, clusters, [1] * 10_000)]
    found = stale_interval(cell)
    # The exact interval of 10 events (F. Garwood, Biometrika 28, 1936).
    assert (20_000 * found.low, 20_000 * found.high) == pytest.approx((4.795, 18.39), rel=0.01)


def test_without_stale_reads_the_bound_is_on_edits():
    cell = [ClusterSums.of(5000, [0] * 50, [30] * 50)] * 2
    assert stale_interval(cell).bounds == (0, pytest.approx(-math.log(0.025) * 30 / 10_000))
    assert stale_interval([ClusterSums.of(5000, [], [])] * 2).bounds is None
    assert stale_interval(cell[:1]).bounds is None


def test_all_reads_stale_is_no_error():
    cell = [ClusterSums.of(100, [50, 50], [50, 50])] * 3
    found = stale_interval(cell)
    assert found.centre == found.high == 1
    assert found.low > 0.9
