"""Predicts a cell of an experiment from its settings, to be set beside what its trials measured."""

from dataclasses import dataclass

import numpy as np

from stevec_predict import simulation
from stevec_predict.model import (
    INDEPENDENT,
    POLICIES,
    POLICY_OF,
    PURGING,
    Scenario,
    ScenarioError,
    has_closed_form,
    predict,
)

CACHING_DOORS = ("local", "cached")
# The settings of docs/results-format.md that a prediction takes into account, or that change nothing about it.
KNOWN_SETTINGS = (
    *(
        "door",
        "pages",
        "page_size_chars",
        "requests",
        "edit_ratio",
        "edit",
        "edit_size_chars",
        "model",
        "vus",
        "pause_s",
    ),
    *("rate_per_s", "connection_reuse", "policy", "popularity", "edit_popularity", "ttl_s", "stale_while_revalidate_s"),
    *("burst", "collapsing", "origin_delay_ms", "stale_if_error_s", "duration_max_s", "bound", "background_vus"),
    "timeout_s",
)
# The wiki gathers edits for so long before it tells the CDN, and tells it again later (wiki-app/src/purge-queue.js).
PURGE_DELAYS_S = (0.05, 10.05)
LIFETIME_OF_PURGED_S = 86_400.0  # CACHE_CDN_TTL_S
NORMAL_95 = 1.959964
EVENTS_MAX = 1_000_000  # over all simulated trials of a cell
TRIALS_LEAST, TRIALS_MOST = 20, 100
TRIAL_EVENTS_MAX = 60_000  # a larger trial is drawn as a part of itself, and the spread scaled
SIMULATED = (INDEPENDENT, "the run begins with empty caches", "collapsing is taken for granted")


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


@dataclass(frozen=True)
class Draws:
    """Simulated trials of one cell: means of both ratios, and their standard deviations from trial to trial."""

    trials: int
    hit_ratio: float
    stale_ratio: float
    hit_deviation: float
    stale_deviation: float


NOTHING = Expected(0.0, 0.0, 0.0)
NO_DRAWS = Draws(0, 0.0, 0.0, 0.0, 0.0)


def predict_cell(
    settings, *, duration_s=None, requests=None, other_reads=0, purge_delays_s=PURGE_DELAYS_S, seed=1, draws=None
):
    """Predict the hit ratio and the stale-read ratio of a trial.

    Args:
        settings: of a trial (docs/results-format.md). `popularity` and `edit_popularity` are "uniform" or
            {"zipf": exponent}; edits follow the reads' where there is none of their own.
        duration_s: how long the trial lasted. Needed for a closed model, in which it cannot be known before;
            otherwise requests ÷ rate.
        requests: iterations that were sent, where that may be fewer than planned; default as planned.
        other_reads: reads of the same pages through the same door besides, such as a background's.
        purge_delays_s: how long after an edit each of its purges has an effect.
        seed: of the simulated trials that give the interval.
        draws: `Draws` that were made before, for the many trials of one cell.

    Returns:
        `CellPrediction`. A door without a cache is predicted 0 and 0.

    Raises:
        ScenarioError: a setting that is missing or has no model; the text says which.
    """
    nothing = _without_hits(settings)
    if nothing:
        return CellPrediction(NOTHING, NOTHING, nothing, ())
    requests = settings["requests"] if requests is None else requests
    scenario, reads = _scenario(settings, duration_s, requests, other_reads, seed)
    if draws is None:
        draws = _simulate(scenario, settings, requests, other_reads, purge_delays_s)
    purging = scenario.policy in PURGING
    if has_closed_form(scenario) and not purging and (scenario.read_before_edit or not _is_paired(settings)):
        expected = predict(scenario)
        model, assumptions = expected.model, expected.assumptions
    else:
        kind = "purges" if purging else "lifetimes"
        expected, model, assumptions = draws, f"finite run of {kind}, {draws.trials} simulated trials", SIMULATED
    return CellPrediction(
        _around(expected.hit_ratio, draws.hit_deviation, reads),
        _around(expected.stale_ratio, draws.stale_deviation, reads),
        model,
        assumptions,
    )


def draws_of_cell(settings, *, duration_s=None, requests=None, other_reads=0, purge_delays_s=PURGE_DELAYS_S, seed=1):
    """Return the `Draws` that `predict_cell` makes, for the many trials of one cell; arguments as there."""
    if _without_hits(settings):
        return NO_DRAWS
    requests = settings["requests"] if requests is None else requests
    scenario, _ = _scenario(settings, duration_s, requests, other_reads, seed)
    return _simulate(scenario, settings, requests, other_reads, purge_delays_s)


def _without_hits(settings):
    """Why no cache answers anything in this cell, or an empty text; ScenarioError if that cannot be told."""
    policy = policy_of(settings)
    if settings["door"] not in CACHING_DOORS:
        return "no cache on the way"
    if policy in ("no-store", "revalidate"):
        return "every read asks the origin"
    if policy in PURGING and settings["door"] == "local":
        return "every read asks the origin: only the CDN has a lifetime, and is purged"
    if settings.get("edit_ratio", 0) >= 1 and settings.get("edit", "post") == "post":
        return "there are no reads"
    if settings.get("collapsing") is False:
        raise ScenarioError("without collapsing, what reaches the origin depends on how long each fetch takes")
    if settings.get("burst") is not None and settings["pages"] > 1:
        raise ScenarioError("a burst changes the rate at which each page is asked for")
    unknown = sorted(key for key, value in settings.items() if key not in KNOWN_SETTINGS and value not in (None, False))
    if unknown:
        raise ScenarioError(f"the setting {unknown[0]} is in none of the models")
    return ""


def policy_of(settings):
    """The name that `Scenario` has for the policy of a cell; ScenarioError if it has none."""
    policy = settings.get("policy", "ttl")
    named = POLICY_OF.get(policy, policy)
    if named not in POLICIES:
        raise ScenarioError(f"the policy {policy!r} is none of {', '.join(POLICIES)}")
    return named


def _scenario(settings, duration_s, requests, other_reads, seed):
    """Return (`Scenario`, reads) of one trial."""
    run_s = duration_s if duration_s is not None else _planned_s(settings, requests)
    if not run_s > 0:
        raise ScenarioError("a trial that took no time cannot be predicted")
    policy = policy_of(settings)
    edits = requests * settings.get("edit_ratio", 0)
    # An edit that begins with a read adds one: n iterations are n reads and n · edits edits.
    reads = (requests if settings.get("edit", "post") == "get-post" else requests - edits) + other_reads
    swr_s = settings.get("stale_while_revalidate_s") or 0.0
    scenario = Scenario(
        pages=settings["pages"],
        rate_per_s=(reads + edits) / run_s,
        zipf=_exponent(settings.get("popularity")),
        edits=edits / (reads + edits),
        edits_zipf=None if settings.get("edit_popularity") is None else _exponent(settings["edit_popularity"]),
        policy="ttl" if policy == "ttl+swr" and swr_s == 0 else policy,
        ttl_s=LIFETIME_OF_PURGED_S if policy in PURGING else max(settings["ttl_s"], 1e-3),
        swr_s=swr_s if policy == "ttl+swr" else 0.0,
        run_s=run_s,
        read_before_edit=_is_paired(settings) and policy == "ttl" and settings.get("edit_popularity") is None,
        seed=seed,
    )
    return scenario, reads


def _is_paired(settings):
    """Whether edits are made, and each begins with a read of its page."""
    return settings.get("edit", "post") == "get-post" and settings.get("edit_ratio", 0) > 0


def _exponent(popularity):
    if popularity in (None, "uniform"):
        return 0.0
    exponent = popularity.get("zipf") if isinstance(popularity, dict) and len(popularity) == 1 else None
    if not isinstance(exponent, int | float) or isinstance(exponent, bool):
        raise ScenarioError(f"the popularity {popularity!r} is neither uniform nor Zipf's")
    return float(exponent)


def _planned_s(settings, requests):
    if settings.get("model") == "open" and settings.get("rate_per_s"):
        return requests / settings["rate_per_s"]
    raise ScenarioError("a closed model lasts as long as the answers take: give duration_s, as measured")


def _simulate(scenario, settings, requests, other_reads, purge_delays_s):
    """The `Draws` of this cell."""
    parts = max(1.0, (requests + other_reads) / TRIAL_EVENTS_MAX)
    # A k-th of the pages with a k-th of the requests has k times the variance.
    pages = max(1, round(scenario.pages / parts))
    requests, other_reads = max(1, round(requests / parts)), round(other_reads / parts)
    trials = int(np.clip(EVENTS_MAX // (requests + other_reads), TRIALS_LEAST, TRIALS_MOST))
    rng = np.random.default_rng(scenario.seed)
    ratios = []
    for _ in range(trials):
        events = simulation.draw_events(
            rng,
            pages=pages,
            requests=requests,
            edit_ratio=settings.get("edit_ratio", 0),
            run_s=scenario.run_s,
            share=_shares(pages, scenario.zipf),
            edit_share=None if scenario.edits_zipf is None else _shares(pages, scenario.edits_zipf, even=True),
            paired=settings.get("edit", "post") == "get-post",
            other_reads=other_reads,
        )
        if events[1].size == 0:
            continue
        found = simulation.simulate(
            *events,
            ttl_s=scenario.ttl_s,
            swr_s=scenario.swr_s,
            delay_s=purge_delays_s if scenario.policy in PURGING else None,
        )
        ratios.append((found.hit_ratio, found.stale_ratio))
    if len(ratios) < 2:
        raise ScenarioError("trials of so few requests cannot be predicted")
    deviations = np.std(ratios, axis=0, ddof=1) / np.sqrt(parts)
    return Draws(len(ratios), *np.mean(ratios, axis=0).tolist(), *deviations.tolist())


def _shares(pages, exponent, even=False):
    """Shares of the pages by Zipf's law, shape (pages,); None stands for equal ones unless `even` asks for them."""
    if exponent == 0 and not even:
        return None
    share = np.arange(1, pages + 1, dtype=float) ** -exponent
    return share / share.sum()


def _around(centre, deviation, reads):
    # Counts are whole: half a read to either side is no deviation.
    half = NORMAL_95 * deviation + 0.5 / reads
    return Expected(centre, max(0.0, centre - half), min(1.0, centre + half))
