"""The interval of a stale ratio, over simulated pages whose reads are judged as those of a trial are."""

import math

import numpy as np
import pytest

from stevec_report.freshness import ClusterSums, ClusterTally, History
from stevec_report.stale_interval import stale_interval

PAGES, DURATION_US = 20, 20_000_000
EDITS_PER_PAGE = 4.0
TRIALS = 3
POOL = 1200  # simulated trials of a case; cells are drawn from them


def simulate_trial(rng, delays_us, reads):
    """`ClusterSums` of one trial of a wiki whose pages are always cached and purged `delays_us(rng, edits)` after an
    edit. Edits are Poisson, reads at random moments and pages.
    """
    edits = rng.poisson(PAGES * EDITS_PER_PAGE)
    page, time = rng.integers(0, PAGES, edits), rng.integers(0, DURATION_US, edits)
    order = np.lexsort((time, page))
    page, time = page[order], time[order]
    revision = 1 + np.arange(edits) - np.searchsorted(page, page)
    span = 2 * DURATION_US
    keys, purges = page * span + time, np.sort(page * span + time + delays_us(rng, edits).astype(np.int64))
    read_page, sent = rng.integers(0, PAGES, reads), rng.integers(0, DURATION_US, reads)
    begin = read_page * span
    # The copy is as old as the last purge of the page.
    last = np.searchsorted(purges, begin + sent, side="right") - 1
    copied = np.where(last >= 0, np.maximum(purges[np.maximum(last, 0)], begin), begin)
    returned = np.searchsorted(keys, copied, side="right") - np.searchsorted(keys, begin)

    history = History(page, time, revision)
    tally = ClusterTally(history)
    known = read_page < history.pages
    tally.add(read_page[known], history.judge(read_page[known], sent[known], returned[known]))
    return tally.sums(reads)


def exponential(mean_s):
    return lambda rng, edits: np.minimum(rng.exponential(1e6 * mean_s, edits), DURATION_US)


def heavy_tailed(scale_s):
    return lambda rng, edits: np.minimum(1e6 * scale_s * rng.pareto(1.5, edits), DURATION_US)


def rare(share, delays_us):
    """Only `share` of the purges take any time."""
    return lambda rng, edits: np.where(rng.random(edits) < share, delays_us(rng, edits), 0)


CASES = {
    "short delays": (exponential(0.2), 1600),
    "long delays": (exponential(2.0), 1600),
    "many reads a page": (lambda rng, edits: np.full(edits, 5e5), 8000),
    "heavy tails": (heavy_tailed(0.1), 1600),
    "rare": (rare(0.03, exponential(2.0)), 1600),
    "rare with heavy tails": (rare(0.03, heavy_tailed(1.0)), 1600),
    "hardly ever": (rare(0.003, exponential(2.0)), 1600),
}


@pytest.mark.parametrize("name", CASES)
def test_the_interval_of_clustered_stale_reads_has_its_coverage_and_is_not_too_wide(name):
    rng = np.random.default_rng(20)
    delays_us, reads = CASES[name]
    pool = [simulate_trial(rng, delays_us, reads) for _ in range(POOL)]
    truth = sum(one.stale for one in pool) / sum(one.judged for one in pool)
    deviation = np.std([one.stale / one.judged for one in pool]) / math.sqrt(TRIALS)
    cells = [[pool[i] for i in rng.integers(0, POOL, TRIALS)] for _ in range(POOL)]
    found = [stale_interval(cell) for cell in cells]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.93
    if np.mean([sum(one.stale_clusters for one in cell) for cell in cells]) > 10:
        # The oracle knows the variance.
        assert np.mean([one.high - one.low for one in found]) <= 1.5 * 2 * 1.96 * deviation


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
