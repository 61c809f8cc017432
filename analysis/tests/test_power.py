"""Minimum detectable effects and numbers of repetitions, against simulation and known tables."""

import math

import numpy as np
import pytest
from scipy import stats

from stevec_report import power
from stevec_report.hypothesis_tests import equivalence_p, sign_flip

SIMULATIONS = 600
# Of a share of 0.8 over so many: three standard errors.
NEAR = 3 * math.sqrt(0.8 * 0.2 / SIMULATIONS)


def test_the_t_test_has_the_sample_sizes_of_the_textbooks():
    # Cohen's tables, two-sided 0.05 and 80 % power: an effect of 0.5 needs 34 pairs, one of 0.8 needs 15.
    assert power.detectable_by_t_test(34, 0.05) == pytest.approx(0.5, abs=0.01)
    assert power.detectable_by_t_test(15, 0.05) == pytest.approx(0.8, abs=0.025)
    critical = stats.t.ppf(1 - 0.01 / 2, 11)
    effect = power.detectable_by_t_test(12, 0.01)
    assert stats.nct.sf(critical, 11, effect * math.sqrt(12)) == pytest.approx(power.POWER)


@pytest.mark.parametrize(("blocks", "alpha"), [(8, 0.05), (8, 0.05 / 6), (9, 0.05 / 6), (12, 0.05 / 6)])
def test_sign_flips_find_what_is_said_to_be_detectable(blocks, alpha):
    effect = power.detectable_by_sign_flips(blocks, alpha)
    draws = np.random.default_rng(1).normal(effect, 1, (SIMULATIONS, blocks))
    found = np.mean([sign_flip(values)[0] < alpha for values in draws])
    assert found == pytest.approx(power.POWER, abs=NEAR)


def test_too_few_blocks_detect_nothing():
    assert power.detectable_by_sign_flips(7, 0.05 / 6) is None
    assert power.detectable_by_t_test(1, 0.05) is power.detectable_by_equivalence(1, 0.05) is None
    assert (power.least_repetitions(0.05), power.least_repetitions(0.05 / 6)) == (6, 8)


@pytest.mark.parametrize("blocks", [8, 20])
def test_equivalence_is_shown_within_the_margin_that_is_said(blocks):
    spread = 0.05
    margin = power.ratio_of(power.detectable_by_equivalence(blocks, 0.05), spread)
    draws = np.random.default_rng(2).normal(0, spread, (SIMULATIONS, blocks))
    found = np.mean([equivalence_p(logs, margin) < 0.05 for logs in draws])
    assert found == pytest.approx(power.POWER, abs=NEAR)


def test_a_new_run_needs_more_repetitions_for_less():
    def needed(ratio, spread):
        return power.repetitions_needed(ratio, spread, 0.05 / 6, power.detectable_by_sign_flips)

    assert needed(2.0, 0.05) == 8  # fewer cannot have a p that small
    assert 8 < needed(1.1, 0.1) < needed(1.1, 0.15) <= power.BLOCKS_MAX
    assert needed(1.01, 0.5) is None
    # As in a textbook: (z + z)² spread² ÷ effect², and some for the t distribution.
    normal = (stats.norm.ppf(1 - 0.05 / 12) + stats.norm.ppf(0.8)) ** 2 * (0.1 / math.log(1.1)) ** 2
    assert needed(1.1, 0.1) == pytest.approx(normal, abs=4)


def test_an_effect_is_a_ratio_beyond_another():
    assert power.ratio_of(None, 0.1) is None
    assert power.ratio_of(1.5, 0.1, against=2.0) == pytest.approx(2 * math.exp(0.15))
    assert power.ratio_of(2.0, 0.0) == 1
