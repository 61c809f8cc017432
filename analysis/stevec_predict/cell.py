"""Predicts a cell of an experiment from its settings, to be set beside what its trials measured."""

from dataclasses import dataclass

import numpy as np

from stevec_predict import simulation
from stevec_predict.model import POLICIES, Scenario, ScenarioError, predict

CACHING_DOORS = ("local", "cached")
LEVEL = 0.95
EVENTS_MAX = 3_000_000  # over all simulated trials of a cell
TRIALS_LEAST, TRIALS_MOST = 40, 400
TRIAL_EVENTS_MAX = 60_000  # a larger trial is drawn as a part of itself, and the spread scaled


@dataclass(frozen=True)
class Expected:
    """A ratio as predicted, and the interval that 95 % of the trials fall into if the model is right."""

    centre: float
    low: float
    high: float

    def holds(self, measured):
        """Whether one trial's ratio lies in the interval."""
        return self.low <= measured <= self.high


@dataclass(frozen=True)
class CellPrediction:
    """Of the reads of one trial. `model` and `assumptions` say in words where it comes from."""

    hit_ratio: Expected
    stale_ratio: Expected
    model: str
    assumptions: tuple[str, ...]


NOTHING = Expected(0.0, 0.0, 0.0)


def predict_cell(settings, *, duration_s=None, purge_delay_s=0.0, seed=1):
    """Predict the hit ratio and the stale-read ratio of a trial.

    Args:
        settings: of a trial (docs/results-format.md): `door`, `pages`, `requests`, `edit_ratio`, `edit`,
            `ttl_s`, `model`, `rate_per_s`; and, where they are given, `cache_policy` (one of `POLICIES`),
            `zipf`, `swr_s`.
        duration_s: how long the trial lasted. Needed for a closed model, in which it cannot be known before;
            otherwise requests ÷ rate.
        purge_delay_s: how long after an edit its purge has an effect.
        seed: of the simulated trials that give the interval.

    Returns:
        `CellPrediction`. A door without a cache is predicted 0 and 0.

    Raises:
        ScenarioError: a setting that is missing or has no model.
    """
    policy = settings.get("cache_policy") or "ttl"
    if policy not in POLICIES:
        raise ScenarioError(f"there is no model for the policy {policy!r}; there is: {', '.join(POLICIES)}")
    if settings["door"] not in CACHING_DOORS:
        return CellPrediction(NOTHING, NOTHING, "no cache on the way", ())
    if policy in ("no-store", "revalidate"):
        return CellPrediction(NOTHING, NOTHING, "every read asks the origin", ())
    requests = settings["requests"]
    run_s = duration_s if duration_s is not None else _planned_s(settings)
    if not run_s > 0:
        raise ScenarioError("a trial that took no time cannot be predicted")
    edits = settings.get("edit_ratio", 0)
    if edits >= 1:
        return CellPrediction(NOTHING, NOTHING, "there are no reads", ())
    paired = settings.get("edit", "post") == "get-post"
    # An edit that begins with a read adds one: n iterations are n reads and n · edits edits.
    rate = requests / run_s * (1 + edits if paired else 1)
    share = edits / (1 + edits) if paired else edits
    scenario = Scenario(
        pages=settings["pages"],
        rate_per_s=rate,
        zipf=settings.get("zipf") or 0.0,
        edits=share,
        policy=policy,
        ttl_s=max(settings["ttl_s"], 1e-3),
        swr_s=settings.get("swr_s") or 0.0,
        purge_delay_s=purge_delay_s,
        run_s=run_s,
        seed=seed,
    )
    expected = predict(scenario)
    hit, stale = _spread(scenario, requests, edits, paired)
    return CellPrediction(
        _around(expected.hit_ratio, hit),
        _around(expected.stale_ratio, stale),
        expected.model,
        expected.assumptions,
    )


def _planned_s(settings):
    if settings.get("model") == "open" and settings.get("rate_per_s"):
        return settings["requests"] / settings["rate_per_s"]
    raise ScenarioError("a closed model lasts as long as the answers take: give duration_s, as measured")


def _spread(scenario, requests, edits, paired):
    """Deviations from their mean of hit and stale ratio over simulated trials; two arrays (trials,)."""
    parts = max(1.0, requests / TRIAL_EVENTS_MAX)
    # A k-th of the pages with a k-th of the requests has k times the variance.
    pages, requests = max(1, round(scenario.pages / parts)), max(1, round(requests / parts))
    trials = int(np.clip(EVENTS_MAX // requests, TRIALS_LEAST, TRIALS_MOST))
    share = None
    if scenario.zipf > 0:
        share = np.arange(1, pages + 1, dtype=float) ** -scenario.zipf
        share /= share.sum()
    rng = np.random.default_rng(scenario.seed)
    ratios = []
    for _ in range(trials):
        events = simulation.draw_events(
            rng,
            pages=pages,
            requests=requests,
            edit_ratio=edits,
            run_s=scenario.run_s,
            share=share,
            paired=paired,
        )
        if events[1].size == 0:
            continue
        found = simulation.simulate(
            *events,
            ttl_s=scenario.ttl_s,
            swr_s=scenario.swr_s,
            delay_s=scenario.purge_delay_s if scenario.policy.startswith("purge") else None,
        )
        ratios.append((found.hit_ratio, found.stale_ratio))
    ratios = np.array(ratios)
    return ((ratios - ratios.mean(axis=0)) / np.sqrt(parts)).T


def _around(centre, deviations):
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(deviations, [tail, 1 - tail])
    return Expected(centre, max(0.0, centre + float(low)), min(1.0, centre + float(high)))
