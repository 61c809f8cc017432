"""Percentiles of response times: their intervals, and when there are too few requests for them."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from run_folder_fixture import build_run_folder
from scipy import stats

from stevec_report import percentiles
from stevec_report.dependence import Dependence
from stevec_report.experiments import common, trials
from stevec_report.intervals import geometric_mean
from stevec_report.order_statistics import enough, ranks


@pytest.mark.parametrize(("requests", "level"), [(1000, 0.99), (10_000, 0.999), (60, 0.5), (1000, 0.95), (20, 0.5)])
def test_the_ranks_bound_the_percentile_with_95_percent_and_no_narrower_ones_do(requests, level):
    low, high = ranks(requests, level)
    below = stats.binom(requests, level)
    assert below.cdf(high - 1) - below.cdf(low - 1) >= 0.95
    assert below.cdf(low - 1) <= 0.025 < below.cdf(low)
    assert below.sf(high - 1) <= 0.025 < below.sf(high - 2)


def test_ten_requests_lie_beyond_a_percentile():
    assert [enough(n, 0.99) for n in (999, 1000)] == [False, True]
    assert [enough(n, 0.999) for n in (9999, 10_000)] == [False, True]


def trial(number, answered, p99_ms):
    stats = SimpleNamespace(answered=answered, percentile_ms=lambda level: p99_ms)
    return SimpleNamespace(number=number, stats=stats)


def test_a_percentile_over_trials_is_the_geometric_mean_of_those_that_can_tell_it():
    cell = [trial(1, 1000, 10.0), trial(2, 2000, 40.0), trial(3, 900, 9000.0)]
    alone, dependent = (Dependence(rho, {1: 0, 2: 1, 3: 2}) for rho in (None, 0.6))
    found, wider = (percentiles.over_trials(cell, 0.99, depending) for depending in (alone, dependent))
    plain = geometric_mean([10.0, 40.0])
    assert (found.centre, *found.bounds) == pytest.approx((plain.centre, *plain.bounds))
    assert wider.high / wider.low > 1.5 * plain.high / plain.low
    assert percentiles.over_trials(cell[2:], 0.99, alone) is None


def test_tables_have_the_percentiles_with_intervals_of_the_samples(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mine", repetitions=2, factors={"door": ["source"]}, requests=1000)
    analysis = analyse_run(run)
    times = [
        np.sort([row[0] for row in analysis.samples.query("SELECT response_ms FROM {samples}", [o.number])])
        for o in analysis.valid
    ]
    own = trials.table(analysis).rows[0]["p99_ms"]
    assert own.bounds == (times[0][982], times[0][996])  # ranks 983 and 997
    cell = common.cell_table(analysis).rows[0]
    assert cell["p99_ms"].centre == pytest.approx(math.sqrt(np.quantile(times[0], 0.99) * np.quantile(times[1], 0.99)))
    assert cell["p99_ms"].bounds is not None
    assert cell["p99_9_ms"] is None
