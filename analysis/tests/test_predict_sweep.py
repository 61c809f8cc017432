"""The closed forms against the simulation, over all of the range in which each is said to hold.

Each case draws its parameters with a seed. A tolerance is a number of Monte Carlo standard errors and nothing else: the
caches of a case are independent, and their spread gives the error of the ratio.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from stevec_predict import Scenario, closed_form, predict
from stevec_predict.popularity import zipf
from stevec_predict.simulation import simulate

CACHES = 100
ERRORS = 4.5  # about one false alarm in 150 000 comparisons, and there are fewer than 2000
QUANTILE_STEP = 2e-3  # relative, in seconds: where `predict` stops to search


@dataclass(frozen=True)
class Case:
    """One page at one cache: `reads` and `edits` a second, and the settings of `Scenario`."""

    reads: float
    edits: float
    policy: str
    ttl_s: float
    swr_s: float = 0.0
    delay_s: float = 0.0
    fetch_s: float = 0.0
    run_s: float | None = None
    paired: bool = False

    def predicted(self):
        rate = self.reads + self.edits
        return predict(
            Scenario(
                pages=1, rate_per_s=rate, edits=self.edits / rate, policy=self.policy, ttl_s=self.ttl_s,
                swr_s=self.swr_s, purge_delay_s=self.delay_s, collapse=self.fetch_s == 0,
                fetch_s=self.fetch_s or 0.05, run_s=self.run_s, read_before_edit=self.paired,
            )
        )  # fmt: skip

    def simulated(self, rng, span_s, caches):
        """(cache, time, outcome) of each read, in the order of cache and time."""
        e = rng.poisson(self.edits * span_s * caches)
        edited, edit_s = rng.integers(0, caches, e), rng.uniform(0, span_s, e)
        alone = self.reads - (self.edits if self.paired else 0)
        n = rng.poisson(alone * span_s * caches)
        cache, time = rng.integers(0, caches, n), rng.uniform(0, span_s, n)
        if self.paired:
            cache, time = np.r_[cache, edited], np.r_[time, edit_s]
            edit_s = edit_s + 1e-9 * span_s
        delay_s = self.delay_s if self.policy == "purge-url" else None
        found = simulate(
            cache, time, edited, edit_s, ttl_s=self.ttl_s, swr_s=self.swr_s, delay_s=delay_s, fetch_s=self.fetch_s
        )
        order = np.lexsort((time, cache))
        return cache[order], time[order], found


def in_whole_cycles(case, cache, time, found, begin_s, end_s):
    """Mask of the reads in whole cycles: after the first fetch of each cache from `begin_s` on, until its first from
    `end_s` on. So neither the empty start nor the cut at the end moves a ratio."""
    begins = found.fetched.copy()
    if case.fetch_s > 0:  # of fetches that overlap only the first begins a cycle
        begins[1:] &= ~found.fetched[:-1] | (cache[1:] != cache[:-1])
    mask = np.zeros(time.size, dtype=bool)
    places = np.arange(time.size)
    for one in range(CACHES):
        low, high = np.searchsorted(cache, (one, one + 1))
        at = places[low:high][begins[low:high]]
        first, last = at[time[at] >= begin_s][0], at[time[at] >= end_s][0]
        mask[first + 1 : last + 1] = True
    return mask


def ratio(cache, caches, numerator, denominator):
    """(Σ numerator ÷ Σ denominator over all reads, its standard error from the spread of the caches)."""
    above, below = np.bincount(cache, numerator, caches), np.bincount(cache, denominator, caches)
    value = above.sum() / below.sum()
    error = np.sqrt(np.sum((above - value * below) ** 2) * caches / (caches - 1)) / below.sum()
    return value, error


def assert_all_agree(case, cache, caches, found, mask):
    expected = case.predicted()
    one_read = 1 / mask.sum()
    for name, seen, value in (
        ("hits", found.hit, expected.hit_ratio),
        ("stale", found.behind_s > 0, expected.stale_ratio),
        ("fetches", found.fetched, 1 - expected.offload_requests),
    ):
        centre, error = ratio(cache, caches, mask & seen, mask)
        assert centre == pytest.approx(value, abs=ERRORS * error + one_read), (name, case)
    stale = mask & (found.behind_s > 0)
    if stale.sum() < 100:
        return
    for level, seconds in ((0.5, expected.staleness_p50_s), (0.95, expected.staleness_p95_s)):
        low, error = ratio(cache, caches, stale & (found.behind_s < seconds * (1 - QUANTILE_STEP)), stale)
        high, _ = ratio(cache, caches, stale & (found.behind_s < seconds * (1 + QUANTILE_STEP)), stale)
        assert low - ERRORS * error - 1 / stale.sum() <= level <= high + ERRORS * error + 1 / stale.sum(), (level, case)


def power_of_ten(rng, low, high):
    return 10 ** rng.uniform(np.log10(low), np.log10(high))


def steady_case(rng, kind):
    """Per lifetime 0.03 to 300 reads and 0.01 to 30 edits, at most 30 for a read; windows, delays and fetches from a
    thousandth of it to more than all of it."""
    ttl_s = power_of_ten(rng, 0.5, 200)
    reads, edits = power_of_ten(rng, 0.03, 300) / ttl_s, power_of_ten(rng, 0.01, 30) / ttl_s
    case = Case(reads, min(edits, 30 * reads), "ttl", ttl_s)
    if kind == "ttl+swr":
        return replace(case, policy=kind, swr_s=ttl_s * power_of_ten(rng, 0.01, 30))
    if kind == "paired":
        return replace(case, edits=reads * power_of_ten(rng, 0.01, 1), paired=True)
    if "purge" in kind:
        case = replace(case, policy="purge-url", delay_s=ttl_s * power_of_ten(rng, 0.001, 3))
    if "uncollapsed" in kind:
        reads = power_of_ten(rng, 0.3, 300) / ttl_s  # cycles are told by their hits
        case = replace(case, reads=reads, fetch_s=ttl_s * power_of_ten(rng, 0.001, 0.9))
    return case


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["ttl", "ttl+swr", "paired", "purge", "uncollapsed", "uncollapsed purge"])
def test_the_steady_state_is_what_whole_cycles_of_a_simulation_give(kind, seed):
    rng = np.random.default_rng([seed, *kind.encode()])
    case = steady_case(rng, kind)
    cycle_s = case.ttl_s + case.swr_s + case.fetch_s + 1 / case.reads
    warm_s = case.delay_s + 2 * cycle_s
    end_s = warm_s + max(1_000 / case.reads, 4 * cycle_s)
    margin_s = (cycle_s + 12 / case.reads) * 2 / min(case.predicted().hit_ratio, 1) if case.fetch_s else cycle_s
    cache, time, found = case.simulated(rng, end_s + margin_s + 20 / case.reads, CACHES)
    assert_all_agree(case, cache, CACHES, found, in_whole_cycles(case, cache, time, found, warm_s, end_s))


def finite_case(rng, kind):
    """Up to 300 reads and 30 edits of a page in a run of 0.3 to 64 lifetimes; purges with a delay of a thousandth of
    the run to three runs."""
    run_s = power_of_ten(rng, 0.5, 200)
    reads, edits = power_of_ten(rng, 0.1, 300) / run_s, power_of_ten(rng, 0.05, 30) / run_s
    case = Case(reads, edits, "ttl", run_s / power_of_ten(rng, 0.3, 64), run_s=run_s)
    if kind == "paired":
        return replace(case, edits=reads * power_of_ten(rng, 0.01, 1), paired=True)
    if kind == "purge":
        delay_s = run_s * power_of_ten(rng, 0.001, 3)
        return replace(case, policy=kind + "-url", ttl_s=run_s * power_of_ten(rng, 1, 10), delay_s=delay_s)
    return case


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("kind", ["ttl", "paired", "purge"])
def test_a_finite_run_is_what_many_simulated_runs_give(kind, seed):
    rng = np.random.default_rng([seed, *kind.encode()])
    case = finite_case(rng, kind)
    assert "closed form" in case.predicted().model
    caches = int(np.clip(200_000 / (case.reads * case.run_s), 1_000, 20_000))
    cache, _, found = case.simulated(rng, case.run_s, caches)
    assert_all_agree(case, cache, caches, found, np.ones(cache.size, dtype=bool))


@pytest.mark.parametrize(("delay_s", "hits", "stale"), [(5, 0.942, 0.338), (20, 0.965, 0.455)])
def test_the_first_purge_of_a_run_comes_after_its_delay(delay_s, hits, stale):
    # A page read 2.85 times and edited 0.15 times a second, for 10 s. No purge comes within 20 s.
    run = predict(
        Scenario(pages=1, rate_per_s=3, edits=0.05, policy="purge-url", ttl_s=180, purge_delay_s=delay_s, run_s=10)
    )
    assert (run.hit_ratio, run.stale_ratio) == pytest.approx((hits, stale), abs=1e-3)
    if delay_s > 10:
        kept = predict(Scenario(pages=1, rate_per_s=3, edits=0.05, ttl_s=180, run_s=10))
        assert (run.hit_ratio, run.stale_ratio) == pytest.approx((kept.hit_ratio, kept.stale_ratio), abs=1e-4)


def test_a_long_run_with_a_late_first_purge_is_no_steady_state():
    late = Case(10, 1, "purge-url", ttl_s=1.0, delay_s=60, run_s=100)
    assert "simulated" in late.predicted().model and "closed form" in replace(late, delay_s=0.5).predicted().model
    # 60 s without a purge, then 40 s with purges.
    kept, purged = (replace(late, run_s=None, policy=policy) for policy in ("ttl", "purge-url"))
    mean = 0.6 * replace(kept, delay_s=0).predicted().hit_ratio + 0.4 * purged.predicted().hit_ratio
    assert late.predicted().hit_ratio == pytest.approx(mean, abs=2e-3)


def test_without_collapsing_all_reads_of_a_fetch_miss():
    steady = Case(100, 0.001, "ttl", ttl_s=2, fetch_s=0.5)
    # 1 + λd misses; then hits until T after the last of them, which comes 1/λ before the end of the fetches.
    assert steady.predicted().hit_ratio == pytest.approx((200 - 1) / (200 - 1 + 51), rel=1e-6)
    # A run of one lifetime: 50 of the 200 reads come within the first fetch, and the first one is a miss.
    run = replace(steady, run_s=2.0).predicted()
    assert run.hit_ratio == run.offload_requests == pytest.approx(1 - 51 / 200, abs=2e-3)
    assert replace(steady, fetch_s=0, run_s=2.0).predicted().hit_ratio == pytest.approx(0.995, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("policy", ["ttl", "purge-url"])
def test_sums_over_pages_and_edges_are_what_many_simulated_runs_give(policy, seed):
    rng = np.random.default_rng(seed)
    pages, run_s, shares, runs = 50, 20.0, (0.6, 0.3, 0.1), 200
    load = {"pages": pages, "rate_per_s": 60, "zipf": 0.9, "edits": 0.05, "edits_zipf": [None, 0.3][seed % 2]}
    ttl_s, delay_s = (3.0, 0.0) if policy == "ttl" else (60.0, [1.0, 8.0][seed // 2])
    expected = predict(
        Scenario(**load, policy=policy, ttl_s=ttl_s, purge_delay_s=delay_s, pop_shares=shares, run_s=run_s)
    )
    n, e = rng.poisson(57 * run_s * runs), rng.poisson(3 * run_s * runs)
    edit_share = zipf(pages, load["edits_zipf"] or (0.9 if seed % 2 == 0 else 0)).share
    of_run = rng.integers(0, runs, n)
    page = of_run * pages + rng.choice(pages, n, p=zipf(pages, 0.9).share)
    edited = rng.integers(0, runs, e) * pages + rng.choice(pages, e, p=edit_share)
    cache, time = page * 3 + rng.choice(3, n, p=shares), rng.uniform(0, run_s, n)
    delay = delay_s if policy == "purge-url" else None
    found = simulate(cache, time, edited, rng.uniform(0, run_s, e), pops=3, ttl_s=ttl_s, delay_s=delay)
    of_run = of_run[np.lexsort((time, cache))]
    for seen, value in ((found.hit, expected.hit_ratio), (found.behind_s > 0, expected.stale_ratio)):
        centre, error = ratio(of_run, runs, seen, np.ones(n))
        assert centre == pytest.approx(value, abs=ERRORS * error)


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 5.0])
def test_purges_of_a_tag_are_what_a_walk_through_the_events_meets(delay_s):
    """Pages in one tag: each edit purges all of them, so purges come more often than edits of the page."""
    rng = np.random.default_rng(8)
    runs, pages, reads, edits, run_s = 400, 4, 3.0, 0.1, 10.0
    rate = pages * (reads + edits)
    expected = predict(
        Scenario(
            pages=pages, rate_per_s=rate, edits=edits / (reads + edits), policy="purge-tag", tag_pages=pages,
            ttl_s=60, purge_delay_s=delay_s, run_s=run_s,
        )
    )  # fmt: skip
    counts = np.array([walk_tag(rng, pages, reads, edits, run_s, delay_s) for _ in range(runs)], dtype=float)
    for column, value in ((1, expected.hit_ratio), (2, expected.stale_ratio)):
        run = np.arange(runs)
        centre, error = ratio(run, runs, counts[:, column], counts[:, 0])
        assert centre == pytest.approx(value, abs=ERRORS * error)


def walk_tag(rng, pages, reads, edits, run_s, delay_s):
    """(reads, hits, stale reads) of a run in which each edit purges all pages."""
    n, e = rng.poisson(pages * reads * run_s), rng.poisson(pages * edits * run_s)
    edit_s = rng.uniform(0, run_s, e)
    events = [(now, 0, page) for now, page in zip(rng.uniform(0, run_s, n), rng.integers(0, pages, n), strict=True)]
    events += [(now, 1, page) for now, page in zip(edit_s, rng.integers(0, pages, e), strict=True)]
    events += [(now, 2, 0) for now in edit_s + delay_s]
    version, copy, hits, stale = [0] * pages, {}, 0, 0
    for _, kind, page in sorted(events):
        if kind == 1:
            version[page] += 1
        elif kind == 2:
            copy.clear()
        elif page in copy:
            hits += 1
            stale += copy[page] < version[page]
        else:
            copy[page] = version[page]
    return n, hits, stale


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("policy", ["ttl", "purge-url"])
def test_edges_under_one_parent_are_what_a_walk_through_the_events_meets(policy, seed):
    rng = np.random.default_rng([seed, *policy.encode()])
    ttl_s, shares = power_of_ten(rng, 1, 10), tuple(rng.dirichlet(np.ones(rng.integers(2, 6))).tolist())
    reads, edits = power_of_ten(rng, 0.3, 30) / ttl_s, power_of_ten(rng, 0.1, 3) / ttl_s
    delay_s = ttl_s * power_of_ten(rng, 0.01, 2) if policy == "purge-url" else 0.0
    expected = predict(
        Scenario(
            pages=1, rate_per_s=reads + edits, edits=edits / (reads + edits), policy=policy, ttl_s=ttl_s,
            purge_delay_s=delay_s, pop_shares=shares, tiered=True,
        )
    )  # fmt: skip
    runs, begin_s, end_s = 60, delay_s, delay_s + max(1_000 / reads, 20 * ttl_s)
    counts = np.zeros((runs, 4))
    for run in range(runs):
        delay = delay_s if policy == "purge-url" else None
        counts[run] = walk_tiers(rng, reads, edits, shares, ttl_s, delay, begin_s, end_s)
    for column, value in ((1, expected.hit_ratio), (2, 1 - expected.offload_requests), (3, expected.stale_ratio)):
        centre, error = ratio(np.arange(runs), runs, counts[:, column], counts[:, 0])
        assert centre == pytest.approx(value, abs=ERRORS * error)


def walk_tiers(rng, reads, edits, shares, ttl_s, delay_s, begin_s, end_s):
    """(reads, hits at an edge, fetches, stale reads) of one page in whole cycles of the parent from `begin_s` on, until
    the first that begins after `end_s`."""
    run_s = end_s + ttl_s + 40 / reads
    n, e = rng.poisson(reads * run_s), rng.poisson(edits * run_s)
    edit_s, edge = rng.uniform(0, run_s, e), rng.choice(len(shares), n, p=shares)
    events = list(zip(rng.uniform(0, run_s, n).tolist(), edge.tolist(), strict=True))
    events += [(now, -1) for now in edit_s.tolist()]
    if delay_s is not None:
        events += [(now, -2) for now in (edit_s + delay_s).tolist()]
    none = (-1.0, 0)  # (end of freshness, version)
    edges, parent, version, counts, before = [none] * len(shares), none, 0, np.zeros(4), None
    for now, edge in sorted(events):
        if edge == -1:
            version += 1
        elif edge == -2:
            edges, parent = [none] * len(shares), none
        else:
            hit, fetched = edges[edge][0] > now, False
            if not hit:
                fetched = parent[0] <= now
                parent = (now + ttl_s, version) if fetched else parent
                edges[edge] = parent
            if before is not None:
                counts += 1, hit, fetched, edges[edge][1] < version
            if fetched and now >= (begin_s if before is None else end_s):
                if before is not None:
                    return counts
                before = now
    raise AssertionError("the run is too short for its last cycle")


def test_the_steady_state_is_the_end_of_a_finite_run():
    """A run so long that its start no longer counts, for purges: two formulas that share no line."""
    one = np.ones(1)
    for reads, edits, delay_s in ((2.0, 0.5, 0.2), (0.3, 0.1, 4.0), (20.0, 3.0, 1.0)):
        steady = closed_form.purge(reads * one, edits * one, 2 * edits * one, 1e9, delay_s)
        short, long = (
            closed_form.finite_purge(reads * one, edits * one, 2 * edits * one, run_s, delay_s) for run_s in (60, 80)
        )
        for seconds in (0.0, delay_s / 3):
            gained = (long.stale_over(seconds) - short.stale_over(seconds)) / (long.reads - short.reads)
            assert gained == pytest.approx(steady.stale_over(seconds) / steady.reads, rel=1e-4)
        assert (long.hits - short.hits) / (long.reads - short.reads) == pytest.approx(steady.hits / steady.reads)
