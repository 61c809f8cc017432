"""The model of expiry and the models of saturation, against simulation and closed forms."""

import re
from dataclasses import replace

import numpy as np
import pytest

from stevec_predict import expiry
from stevec_report import saturation


def simulate(requests, pages, span_s, ttl_s, runs, seed):
    """Misses of a cache with a time to live, request by request, at random moments."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        misses, fresh_until = 0, {}
        times = np.sort(rng.uniform(0, span_s, requests))
        for time, page in zip(times.tolist(), rng.integers(0, pages, requests).tolist(), strict=True):
            if time >= fresh_until.get(page, -1):
                misses += 1
                fresh_until[page] = time + ttl_s
        found.append(misses)
    return np.array(found)


@pytest.mark.parametrize(
    ("requests", "pages", "span_s", "ttl_s"), [(600, 20, 6.0, 2.0), (600, 60, 10.0, 1.5), (300, 20, 3.0, 9.0)]
)
def test_the_model_of_expiry_is_what_a_simulation_gives(requests, pages, span_s, ttl_s):
    simulated = simulate(requests, pages, span_s, ttl_s, 300, 4)
    model = expiry.misses(requests, pages, span_s, ttl_s)
    error = max(simulated.std(), 0.1) / np.sqrt(300)
    # The model lets the number of requests vary too, which moves the mean by less than half a request.
    assert model.mean == pytest.approx(simulated.mean(), abs=4 * error + 0.5)
    inside = np.mean((simulated >= model.low) & (simulated <= model.high))
    assert inside >= 0.93


def test_without_expiry_each_page_that_was_asked_for_misses_once():
    model = expiry.misses(10_000, 100, 10.0, 180.0)
    assert (model.mean, model.low, model.high) == (pytest.approx(100), 100, 100)
    rare = expiry.misses(100, 1000, 1.0, 180.0)
    assert rare.mean == pytest.approx(1000 * (1 - np.exp(-0.1)))


def test_the_steady_state_is_reached_in_long_runs():
    # Renewals every T + 1 / λ: 100 pages, λ = 1/s, T = 4 s, for 5000 s.
    model = expiry.misses(500_000, 100, 5000.0, 4.0)
    assert model.mean == pytest.approx(100 * 5000 / 5, rel=0.002)
    assert model.low < model.mean < model.high


def test_a_page_has_some_number_of_misses():
    distribution = expiry.page_distribution(600, 20, 6.0, 2.0)
    assert distribution.sum() == pytest.approx(1)
    assert distribution[0] == pytest.approx(np.exp(-30))


@pytest.mark.parametrize("numbers", [(0, 1, 1.0, 1.0), (1, 0, 1.0, 1.0), (1, 1, 0.0, 1.0), (1, 1, 1.0, 0.0)])
def test_the_model_of_expiry_needs_positive_numbers(numbers):
    with pytest.raises(ValueError, match="positive"):
        expiry.misses(*numbers)


def test_the_scalability_law_finds_the_numbers_that_it_was_made_from():
    law = saturation.ScalabilityLaw(90.0, 0.05, 0.0004, 1.0)
    n = np.array([1, 5, 10, 25, 50, 100, 250])
    fitted = saturation.fit_scalability(n, law.throughput(n))
    assert (fitted.lambda_per_s, fitted.sigma, fitted.kappa) == pytest.approx((90, 0.05, 0.0004), rel=1e-3)
    assert fitted.r2 == pytest.approx(1)


def test_the_scalability_law_is_not_drawn_where_it_does_not_fit():
    assert saturation.fit_scalability([1, 2, 3], [1, 2, 3]) is None  # too few
    assert saturation.fit_scalability([1, 5, 10, 50, 100], [50, 400, 20, 390, 60]) is None


def test_the_scalability_law_minimises_the_error_of_the_throughput():
    rng = np.random.default_rng(3)
    n = np.array([1, 5, 10, 25, 50, 100, 250])
    x = saturation.ScalabilityLaw(90.0, 0.05, 0.0004, 1.0).throughput(n) * np.exp(0.1 * rng.standard_normal(n.size))
    fitted = saturation.fit_scalability(n, x)

    def error(law):
        return ((law.throughput(n) - x) ** 2).sum()

    for name in saturation.PARAMETERS:
        for factor in (0.99, 1.01):
            assert error(replace(fitted, **{name: factor * getattr(fitted, name)})) > error(fitted)


def test_the_intervals_of_the_law_come_from_whole_repetitions():
    rng = np.random.default_rng(4)
    n = np.array([1, 5, 10, 25, 50, 100, 250])
    law = saturation.ScalabilityLaw(90.0, 0.05, 0.0004, 1.0)
    blocks = law.throughput(n) * np.exp(0.1 * rng.standard_normal((8, 1)))
    fitted = saturation.fit_scalability_of_blocks(n, blocks)
    low, high = fitted.bounds["lambda_per_s"]
    assert low < 90 < high < 2 * low
    # What a whole repetition shares does not bend the curve.
    assert fitted.bounds["sigma"] == pytest.approx((0.05, 0.05), rel=0.01)
    assert saturation.fit_scalability_of_blocks(n, blocks[:4]).bounds is None


LOADS = (0, 5, 10, 15, 25, 40, 50, 60, 70, 80, 100, 150, 200, 250)


def simulate_blocks(rng, curve_ms, blocks, deviation):
    """Mean times, (blocks, levels): a repetition has an effect of its own, and each trial noise."""
    noise = 0.3 * rng.standard_normal((blocks, 1)) + deviation * rng.standard_normal((blocks, len(LOADS)))
    return np.asarray(curve_ms) * np.exp(noise)


@pytest.mark.parametrize("blocks", [1, 3, 5, 8])
def test_a_flat_system_has_no_knee(blocks):
    rng = np.random.default_rng(blocks)
    runs = [simulate_blocks(rng, [10.0] * len(LOADS), blocks, rng.choice([0.1, 0.3, 0.6])) for _ in range(60)]
    assert np.mean([saturation.find_knee(LOADS, run).load is not None for run in runs]) <= 0.05


@pytest.mark.parametrize("limit_ms", [None, 40.0])
def test_a_knee_is_found_with_its_interval(limit_ms):
    rng = np.random.default_rng(7)
    curve = 10 * (1 + (np.array(LOADS) / 80) ** 2)
    truth = saturation.crossing(LOADS, list(curve), limit_ms or 20.0)
    found = [saturation.find_knee(LOADS, simulate_blocks(rng, curve, 6, 0.15), limit_ms) for _ in range(150)]
    assert all(knee.load is not None for knee in found)
    # Of 0.95; the standard deviation of this count is 0.02.
    assert np.mean([knee.low <= truth <= knee.high for knee in found]) >= 0.91
    width = np.mean([knee.high - knee.low for knee in found])
    assert width <= 1.5 * 2 * 1.96 * np.std([knee.load for knee in found])


def test_a_knee_is_said_as_a_load():
    rng = np.random.default_rng(8)
    curve = 10 * (1 + (np.array(LOADS) / 80) ** 2)
    blocks = simulate_blocks(rng, curve, 5, 0.1)
    assert re.fullmatch(r"about \d+ \(\d+ to \d+\)", str(saturation.find_knee(LOADS, blocks)))
    assert str(saturation.find_knee(LOADS, blocks[:4])).endswith("(no interval: 4 repetitions)")
    assert str(saturation.find_knee(LOADS, blocks[:2])) == "needs 3 repetitions"
    assert str(saturation.find_knee(LOADS, blocks, 1e6)) == "none found"
    assert [saturation.round_load(load) for load in (0, 5.403813, 117.3, 1251)] == [0, 5, 120, 1300]


def test_the_knee_is_where_the_times_stay_beyond_the_limit():
    assert saturation.crossing([0, 10, 20], [100, 300, 500], 400) == 15
    assert saturation.crossing([0, 10, 20], [100, 300, 350], 400) is None
    assert saturation.crossing([5, 10], [500, 600], 400) == 5
    assert saturation.crossing([0, 10, 20, 30], [0, 500, 100, 900], 400) == 23.75


def test_a_crossing_is_not_drawn_across_a_level_that_is_not_known():
    assert saturation.crossing([5, 10, 250], [100, None, 900], 400) is None
    assert saturation.crossing([0, 10], [None, 900], 400) is None
    assert saturation.crossing([0, 10, 20, 30], [None, 100, 500, None], 400) == 17.5
