"""Predicts a finite run without a closed form: one simulated run."""

import numpy as np

from stevec_predict import simulation
from stevec_predict.prediction import COLD_START, COLLAPSING, INDEPENDENT, Prediction
from stevec_predict.scenario import PURGING, Scenario, ScenarioError

REQUESTS_MAX = 2_000_000


def simulate_run(scenario: Scenario, run_s: float) -> Prediction:
    """A finite run without a closed form, simulated once, up to `REQUESTS_MAX`."""
    requests = scenario.rate_per_s * run_s
    if requests > REQUESTS_MAX or scenario.pages > REQUESTS_MAX:
        raise ScenarioError(
            f"a finite run under {scenario.policy} is simulated, up to {REQUESTS_MAX} requests and "
            f"pages, and this has {requests:.3g} requests: leave out duration and requests for a steady state"
        )
    rng = np.random.default_rng(scenario.seed)
    reads_n = rng.poisson(requests * (1 - scenario.edits))
    edits_n = rng.poisson(requests * scenario.edits)
    pops = len(scenario.pop_shares)
    read_page = _draw_pages(rng, scenario.pages, scenario.zipf, reads_n)
    edit_page = _draw_pages(rng, scenario.pages, scenario.edit_exponent, edits_n)
    edge = rng.choice(pops, reads_n, p=np.array(scenario.pop_shares)) if pops > 1 else 0
    edit_s = rng.uniform(0, run_s, edits_n)
    purging = scenario.policy in PURGING
    if scenario.policy == "purge-tag" and scenario.tag_pages > 1:
        raise ScenarioError("purge-tag with tag-pages has no model for a run longer than the ttl: leave out duration")
    found = simulation.simulate(
        read_page * pops + edge,
        rng.uniform(0, run_s, reads_n),
        edit_page,
        edit_s,
        pops=pops,
        ttl_s=scenario.ttl_s,
        swr_s=scenario.swr_s,
        delay_s=scenario.purge_delay_s if purging else None,
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
        model=f"one simulated run of {reads_n} reads (seed {scenario.seed})",
        assumptions=(INDEPENDENT, COLD_START, COLLAPSING),
    )


def _draw_pages(rng: np.random.Generator, pages: int, exponent: float, count: int) -> np.ndarray:
    if exponent == 0:
        return rng.integers(0, pages, count)
    weights = np.cumsum(np.arange(1, pages + 1, dtype=float) ** -exponent)
    return np.searchsorted(weights, rng.uniform(0, weights[-1], count), side="right")
