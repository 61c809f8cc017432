"""One value per block: levels of a factor are no replicates."""

import numpy as np

from stevec_report.block_values import block_means
from stevec_report.hypothesis_tests import ALPHA, ratio_test

LEVELS = range(1, 8)


def simulated(rng):
    """{(level, block): log ratio} without an effect: trials of a block share its minutes."""
    shared = rng.normal(0, 0.1, 8)
    return {(level, (0, block)): shared[block] + rng.normal(0, 0.1) for level in LEVELS for block in range(8)}


def test_a_block_enters_with_all_its_levels_or_not_at_all():
    values = {("low", 1): 1.0, ("high", 1): 3.0, ("low", 2): 5.0, ("other", 2): 7.0}
    assert block_means(values, ["low", "high"]) == {1: 2.0}
    assert block_means(values, ["low"]) == {1: 1.0, 2: 5.0}
    assert block_means(values, []) == {}


def test_levels_taken_for_replicates_find_what_is_not_there():
    rng = np.random.default_rng(6)
    by_block, by_pair = 0, 0
    for _ in range(200):
        values = simulated(rng)
        by_block += ratio_test(block_means(values, LEVELS)).p < ALPHA
        # 56 pairs, of which 8 are independent; a t test, as a sign-flip test of 56 takes long.
        logs = np.array(list(values.values()))
        by_pair += abs(logs.mean()) / logs.std(ddof=1) * np.sqrt(logs.size) > 2
    assert by_block / 200 <= ALPHA + 2 * 0.0154
    assert by_pair / 200 > 0.2
