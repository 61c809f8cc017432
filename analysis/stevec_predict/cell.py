"""Predicts a cell of an experiment from its settings, for comparison with the measurements of its trials."""

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
# The settings of docs/results-format.md that a prediction uses, or that do not affect it.
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
    *("burst", "cache", "collapsing", "origin_cache_mib", "origin_delay_ms", "fault", "stale_if_error_s"),
    *("duration_max_s", "bound", "background_vus", "timeout_s"),
)
# After an edit the wiki waits for further edits, purges, and later purges a second time, sooner in the lab than on a
# site (wiki-app/src/caching/purge-queue.js, docs/methodology.md).
PURGE_DELAYS_S = (0.05, 1.05)
PURGE_DELAYS_OF_A_SITE_S = (0.05, 10.05)
# These invalidate a page when a POST to it passes through them (RFC 9111, section 4.4). The other caches of
# cdn/src/caches do not.
INVALIDATING_CACHES = ("trafficserver", "squid")
TICKING_CACHES = ("nginx",)  # proxy_cache, also at the door local: valid_sec and ngx_time() are whole seconds
LIFETIME_OF_PURGED_S = 86_400.0  # CACHE_CDN_TTL_S
NORMAL_95 = 1.959964
EVENTS_MAX = 1_000_000  # over all simulated trials of a cell
TRIALS_LEAST, TRIALS_MOST = 20, 100
TRIAL_EVENTS_MAX = 60_000  # of a larger trial only a part is simulated, and the spread is scaled
WHOLE_EVENTS_MAX = 500_000  # of a trial that must be simulated as a whole
RAMP_STEPS = 100
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
    """Prediction for the reads of one trial. `model` and `assumptions` say in words how it was made."""

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
            {"zipf": exponent}; without an `edit_popularity`, edits follow the popularity of reads.
        duration_s: how long the trial lasted. Required for a closed model, where the settings do not give it;
            otherwise the default is requests ÷ rate.
        requests: iterations sent, which may be fewer than planned; default as planned.
        other_reads: additional reads of the same pages through the same door, such as a background's.
        purge_delays_s: seconds from an edit until each of its purges takes effect. Edits within the first of
            these delays are purged in one batch.
        seed: of the simulated trials that give the interval.
        draws: existing `Draws` of this cell, to reuse for its many trials.

    Returns:
        `CellPrediction`. For a door without a cache both ratios are 0.

    Raises:
        ScenarioError: a setting is missing or has no model; the text says which.
    """
    nothing = _without_hits(settings)
    if nothing:
        return CellPrediction(NOTHING, NOTHING, nothing, ())
    requests = settings["requests"] if requests is None else requests
    scenario, reads = _scenario(settings, duration_s, requests, other_reads, seed)
    if draws is None:
        draws = _simulate(scenario, settings, requests, other_reads, purge_delays_s)
    if _is_closed(scenario, settings):
        expected = predict(scenario)
        model, assumptions = expected.model, expected.assumptions
    else:
        expected, model = draws, f"finite run of {_kind(scenario, settings)}, {draws.trials} simulated trials"
        assumptions = SIMULATED
    return CellPrediction(
        _around(expected.hit_ratio, draws.hit_deviation, reads),
        _around(expected.stale_ratio, draws.stale_deviation, reads),
        model,
        assumptions,
    )


def draws_of_cell(settings, *, duration_s=None, requests=None, other_reads=0, purge_delays_s=PURGE_DELAYS_S, seed=1):
    """Return the `Draws` that `predict_cell` uses, to share them among the trials of a cell; same arguments."""
    if _without_hits(settings):
        return NO_DRAWS
    requests = settings["requests"] if requests is None else requests
    scenario, _ = _scenario(settings, duration_s, requests, other_reads, seed)
    return _simulate(scenario, settings, requests, other_reads, purge_delays_s)


def _is_closed(scenario, settings):
    """Whether a closed form gives the centre; otherwise it is simulated."""
    return (
        has_closed_form(scenario)
        and scenario.policy not in PURGING
        and (scenario.read_before_edit or not _is_paired(settings))
        and settings.get("burst") is None
        and not _is_uncollapsed(settings)
        and not _is_invalidated(settings)
        and not _is_ticking(scenario, settings)
    )


def _kind(scenario, settings):
    kind = "purges" if scenario.policy in PURGING else "lifetimes"
    if _is_invalidated(settings):
        kind += ", which an edit through the cache ends"
    if _is_ticking(scenario, settings):
        kind += " in whole seconds"
    if settings.get("burst") is not None:
        kind += " under a crowd that comes as planned"
    if _is_uncollapsed(settings):
        kind += f", without collapsing and {settings['origin_delay_ms']:g} ms a fetch"
    return kind


def _is_invalidated(settings):
    """Whether the cache invalidates a page when a POST to it passes through."""
    return settings.get("cache") in INVALIDATING_CACHES and settings.get("edit_ratio", 0) > 0


def _is_ticking(scenario, settings):
    """Whether the cache counts in whole seconds and copies expire within the run."""
    nginx = settings["door"] == "local" or settings.get("cache") in TICKING_CACHES
    return nginx and scenario.ttl_s < scenario.run_s


def _is_uncollapsed(settings):
    return settings.get("collapsing") is False


def _without_hits(settings):
    """The reason why no cache answers any request in this cell, or ''; ScenarioError if that is not known."""
    policy = policy_of(settings)
    if settings.get("origin_cache_mib"):
        raise ScenarioError("pages in the wiki's memory are as old as the database's word of a change is late")
    if settings["door"] not in CACHING_DOORS:
        return "no cache on the way"
    if settings.get("fault") is not None:
        raise ScenarioError("the origin is down for a part of the trial, and every model has one that answers")
    if policy in ("no-store", "revalidate"):
        return "every read asks the origin"
    if policy in PURGING and settings["door"] == "local":
        return "every read asks the origin: only the CDN has a lifetime, and is purged"
    if settings.get("edit_ratio", 0) >= 1 and settings.get("edit", "post") == "post":
        return "there are no reads"
    if _is_uncollapsed(settings) and not settings.get("origin_delay_ms"):
        raise ScenarioError("without collapsing it matters how long a fetch takes, and no setting says so")
    if _is_uncollapsed(settings) and policy == "ttl+swr":
        raise ScenarioError("without collapsing, what the edge fetches while it answers with old copies has no model")
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
    # In get-post mode each edit starts with a read, so n iterations send n reads and n · edit_ratio edits.
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
    """Whether there are edits and each starts with a read of its page."""
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
    events = requests + other_reads
    # 1/k of the pages with 1/k of the requests has k times the variance, and the same mean if all pages are equal.
    alike = scenario.zipf == 0 and scenario.edit_exponent == 0
    parts = max(1.0, events / TRIAL_EVENTS_MAX) if alike or _is_closed(scenario, settings) else 1.0
    if events / parts > WHOLE_EVENTS_MAX:
        raise ScenarioError(f"what has no closed form is simulated, up to {WHOLE_EVENTS_MAX} requests a trial")
    pages = max(1, round(scenario.pages / parts))
    requests, other_reads = max(1, round(requests / parts)), round(other_reads / parts)
    trials = int(np.clip(EVENTS_MAX // (requests + other_reads), TRIALS_LEAST, TRIALS_MOST))
    share = _shares(pages, scenario.zipf)
    edit_share = None if scenario.edits_zipf is None else _shares(pages, scenario.edits_zipf, even=True)
    if _is_invalidated(settings):
        purge_delays_s = (0.0,)
    elif scenario.policy in PURGING:
        purge_delays_s = _gathered(purge_delays_s, requests * settings.get("edit_ratio", 0) / scenario.run_s)
    else:
        purge_delays_s = None
    ticking = _is_ticking(scenario, settings)
    rng = np.random.default_rng(scenario.seed)
    ratios = []
    for _ in range(trials):
        drawn = simulation.draw_events(
            rng,
            pages=pages,
            requests=requests,
            edit_ratio=settings.get("edit_ratio", 0),
            run_s=scenario.run_s,
            share=share,
            edit_share=edit_share,
            paired=settings.get("edit", "post") == "get-post",
            other_reads=other_reads,
            arrivals=_arrivals(settings, scenario.run_s),
        )
        if drawn[1].size == 0:
            continue
        found = simulation.simulate(
            *drawn,
            ttl_s=scenario.ttl_s,
            swr_s=scenario.swr_s,
            delay_s=purge_delays_s,
            fetch_s=settings["origin_delay_ms"] / 1000 if _is_uncollapsed(settings) else 0.0,
            tick_s=rng.random() if ticking else None,
        )
        ratios.append((found.hit_ratio, found.stale_ratio))
    if len(ratios) < 2:
        raise ScenarioError("trials of so few requests cannot be predicted")
    deviations = np.std(ratios, axis=0, ddof=1) / np.sqrt(parts)
    return Draws(len(ratios), *np.mean(ratios, axis=0).tolist(), *deviations.tolist())


def _gathered(delays_s, edits_per_s):
    """The mean purge delays with batching: an edit opens a batch, which collects further edits for the first delay.

    Of the n + 1 edits in a batch, the first waits for the whole delay, the other n (Poisson) for half of it on average.
    """
    others = edits_per_s * delays_s[0]
    shorter_s = delays_s[0] * others / 2 / (1 + others)
    return tuple(delay_s - shorter_s for delay_s in delays_s)


def _arrivals(settings, run_s):
    """Moments, and the share of a trial's iterations started by then, as the lab spreads a burst
    (loadgen/scenarios/arrivals.js); None where the rate is constant."""
    burst = settings.get("burst")
    if burst is None:
        return None
    begin, ramp_s, more = burst["at_s"], burst["ramp_s"], burst["factor"] - 1
    peak = begin + ramp_s
    end = peak + burst["for_s"]
    moments = np.r_[0.0, np.linspace(begin, peak, RAMP_STEPS), end, run_s]
    moments = np.unique(np.minimum(moments, run_s))
    risen = np.clip(moments - begin, 0, ramp_s) ** 2 / (2 * ramp_s) if ramp_s > 0 else 0.0
    begun = moments + more * (risen + np.clip(moments - peak, 0, end - peak))
    return moments, begun / begun[-1]


def _shares(pages, exponent, even=False):
    """Shares of the pages by Zipf's law, shape (pages,). Equal shares are returned as None unless `even` is set."""
    if exponent == 0 and not even:
        return None
    share = np.arange(1, pages + 1, dtype=float) ** -exponent
    return share / share.sum()


def _around(centre, deviation, reads):
    # Counts are whole numbers, so half a read to either side is within rounding.
    half = NORMAL_95 * deviation + 0.5 / reads
    return Expected(centre, max(0.0, centre - half), min(1.0, centre + half))
