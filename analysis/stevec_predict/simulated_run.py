"""Predicts a finite run without a closed form: simulated runs."""

import numpy as np

from stevec_predict import simulation
from stevec_predict.prediction import COLD_START, COLLAPSING, INDEPENDENT, UNCOLLAPSED, Prediction
from stevec_predict.scenario import PURGING, Scenario, ScenarioError
from stevec_report.wording import count_of

REQUESTS_MAX = 2_000_000
REQUESTS_ENOUGH = 400_000  # of all simulated runs; a shorter run is repeated


def simulate_run(scenario: Scenario, run_s: float) -> Prediction:
    """A finite run without a closed form, up to `REQUESTS_MAX` requests; a short one is simulated several times."""
    requests = scenario.rate_per_s * run_s
    if requests > REQUESTS_MAX or scenario.pages > REQUESTS_MAX:
        raise ScenarioError(
            f"a finite run under {scenario.policy} is simulated, up to {REQUESTS_MAX} requests and "
            f"pages, and this has {requests:.3g} requests: leave out duration and requests for a steady state"
        )
    rng = np.random.default_rng(scenario.seed)
    runs = max(1, int(min(REQUESTS_ENOUGH / requests, REQUESTS_MAX / scenario.pages)))
    reads_n = rng.poisson(runs * requests * (1 - scenario.edits))
    edits_n = rng.poisson(runs * requests * scenario.edits)
    pops = len(scenario.pop_shares)
    # Each run has pages of its own.
    read_page = _draw_pages(rng, scenario.pages, scenario.zipf, reads_n)
    read_page += scenario.pages * rng.integers(0, runs, reads_n)
    edit_page = _draw_pages(rng, scenario.pages, scenario.edit_exponent, edits_n)
    edit_page += scenario.pages * rng.integers(0, runs, edits_n)
    edge = rng.choice(pops, reads_n, p=np.array(scenario.pop_shares)) if pops > 1 else 0
    edit_s = rng.uniform(0, run_s, edits_n)
    purging = scenario.policy in PURGING
    if scenario.policy == "purge-tag" and scenario.tag_pages > 1:
        raise ScenarioError(
            "purge-tag with tag-pages has no closed form for such a run and is not simulated: leave out duration"
        )
    found = simulation.simulate(
        read_page * pops + edge,
        rng.uniform(0, run_s, reads_n),
        edit_page,
        edit_s,
        pops=pops,
        ttl_s=scenario.ttl_s,
        swr_s=scenario.swr_s,
        delay_s=scenario.purge_delay_s if purging else None,
        fetch_s=0.0 if scenario.collapse else scenario.fetch_s,
    )
    if found.hit.size == 0:
        raise ScenarioError("no request falls into so short a run: lengthen duration or raise rate")
    behind = found.behind_s[found.behind_s > 0]
    reads_per_s = scenario.rate_per_s * (1 - scenario.edits)
    origin = float(found.fetched.mean())
    return Prediction(
        hit_ratio=found.hit_ratio,
        offload_requests=1 - origin,
        offload_bytes=1 - origin,
        stale_ratio=found.stale_ratio,
        staleness_p50_s=float(np.quantile(behind, 0.5)) if behind.size else None,
        staleness_p95_s=float(np.quantile(behind, 0.95)) if behind.size else None,
        reads_per_s=reads_per_s,
        origin_per_s=reads_per_s * origin,
        edits_per_s=scenario.rate_per_s * scenario.edits,
        purges_per_s=scenario.rate_per_s * scenario.edits if purging else 0.0,
        race_stale_ratio=0.0,
        binning_error=0.0,
        seldom_miss_share=0.0,
        model=f"{count_of(runs, 'simulated run')}, {reads_n} reads in all (seed {scenario.seed})",
        assumptions=(INDEPENDENT, COLD_START, COLLAPSING if scenario.collapse else UNCOLLAPSED),
    )


def _draw_pages(rng: np.random.Generator, pages: int, exponent: float, count: int) -> np.ndarray:
    if exponent == 0:
        return rng.integers(0, pages, count)
    weights = np.cumsum(np.arange(1, pages + 1, dtype=float) ** -exponent)
    return np.searchsorted(weights, rng.uniform(0, weights[-1], count), side="right")
