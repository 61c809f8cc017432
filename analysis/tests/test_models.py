"""The model of expiry and the models of saturation, against simulation and closed forms."""

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


def test_the_knee_is_the_first_crossing_of_the_limit():
    assert saturation.crossing([0, 10, 20], [100, 300, 500], 400) == 15
    assert saturation.crossing([0, 10, 20], [100, 300, 350], 400) is None
    assert saturation.crossing([5, 10], [500, 600], 400) == 5
    assert saturation.crossing([0, 10, 20, 30], [0, 500, 100, 900], 400) == 8


def test_a_crossing_is_not_drawn_across_a_level_that_is_not_known():
    assert saturation.crossing([5, 10, 250], [100, None, 900], 400) is None
    assert saturation.crossing([0, 10], [None, 900], 400) is None
    assert saturation.crossing([0, 10, 20, 30], [None, 100, 500, None], 400) == 17.5
