"""Predicts a cell of an experiment from its settings, for comparison with the measurements of its trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stevec_predict import simulation
from stevec_predict.model import predict
from stevec_predict.prediction import COLD_START, COLLAPSING, INDEPENDENT, Prediction
from stevec_predict.scenario import PURGING, Scenario, ScenarioError, has_closed_form
from stevec_predict.trial_settings import (
    describe_run,
    is_invalidated,
    is_paired,
    is_ticking,
    is_uncollapsed,
    reason_without_hits,
    scenario_of,
)

# After an edit the wiki waits for further edits, purges, and later purges a second time, sooner in the lab than on a
# site (wiki-app/src/caching/purge-queue.js, docs/methodology.md).
PURGE_DELAYS_S = (0.05, 1.05)
PURGE_DELAYS_OF_A_SITE_S = (0.05, 10.05)
NORMAL_95 = 1.959964
EVENTS_MAX = 1_000_000  # over all simulated trials of a cell
TRIALS_LEAST, TRIALS_MOST = 20, 100
TRIAL_EVENTS_MAX = 60_000  # of a larger trial only a part is simulated, and the spread is scaled
WHOLE_EVENTS_MAX = 500_000  # of a trial that must be simulated as a whole
RAMP_STEPS = 100
SIMULATED = (INDEPENDENT, COLD_START, COLLAPSING)


@dataclass(frozen=True)
class Expected:
    """A ratio as predicted, and the interval that 95 % of the trials fall into if the model is right."""

    centre: float
    low: float
    high: float

    def holds(self, measured: float) -> bool:
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
    settings: dict[str, Any],
    *,
    duration_s: float | None = None,
    requests: int | None = None,
    other_reads: int = 0,
    purge_delays_s: Sequence[float] = PURGE_DELAYS_S,
    seed: int = 1,
    draws: Draws | None = None,
) -> CellPrediction:
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
    nothing = reason_without_hits(settings)
    if nothing:
        return CellPrediction(NOTHING, NOTHING, nothing, ())
    requests = settings["requests"] if requests is None else requests
    scenario, reads = scenario_of(settings, duration_s, requests, other_reads, seed)
    if draws is None:
        draws = _simulate(scenario, settings, requests, other_reads, purge_delays_s)
    expected: Prediction | Draws
    if _is_closed(scenario, settings):
        expected = closed = predict(scenario)
        model, assumptions = closed.model, closed.assumptions
    else:
        expected, model = draws, f"finite run of {describe_run(scenario, settings)}, {draws.trials} simulated trials"
        assumptions = SIMULATED
    return CellPrediction(
        _around(expected.hit_ratio, draws.hit_deviation, reads),
        _around(expected.stale_ratio, draws.stale_deviation, reads),
        model,
        assumptions,
    )


def draws_of_cell(
    settings: dict[str, Any],
    *,
    duration_s: float | None = None,
    requests: int | None = None,
    other_reads: int = 0,
    purge_delays_s: Sequence[float] = PURGE_DELAYS_S,
    seed: int = 1,
) -> Draws:
    """Return the `Draws` that `predict_cell` uses, to share them among the trials of a cell; same arguments."""
    if reason_without_hits(settings):
        return NO_DRAWS
    requests = settings["requests"] if requests is None else requests
    scenario, _ = scenario_of(settings, duration_s, requests, other_reads, seed)
    return _simulate(scenario, settings, requests, other_reads, purge_delays_s)


def _is_closed(scenario: Scenario, settings: dict[str, Any]) -> bool:
    """Whether a closed form gives the centre; otherwise it is simulated."""
    return (
        has_closed_form(scenario)
        and scenario.policy not in PURGING
        and (scenario.read_before_edit or not is_paired(settings))
        and settings.get("burst") is None
        and not is_uncollapsed(settings)
        and not is_invalidated(settings)
        and not is_ticking(scenario, settings)
    )


def _simulate(
    scenario: Scenario, settings: dict[str, Any], requests: int, other_reads: int, purge_delays_s: Sequence[float]
) -> Draws:
    """The `Draws` of this cell."""
    if scenario.run_s is None:
        raise ScenarioError("a trial needs a duration, and this one has none")
    run_s, events = scenario.run_s, requests + other_reads
    # 1/k of the pages with 1/k of the requests has k times the variance, and the same mean if all pages are equal.
    alike = scenario.zipf == 0 and scenario.edit_exponent == 0
    parts = max(1.0, events / TRIAL_EVENTS_MAX) if alike or _is_closed(scenario, settings) else 1.0
    if events / parts > WHOLE_EVENTS_MAX:
        raise ScenarioError(f"without a closed form, a trial is simulated, with at most {WHOLE_EVENTS_MAX} requests")
    pages = max(1, round(scenario.pages / parts))
    requests, other_reads = max(1, round(requests / parts)), round(other_reads / parts)
    trials = int(np.clip(EVENTS_MAX // (requests + other_reads), TRIALS_LEAST, TRIALS_MOST))
    share = _shares(pages, scenario.zipf)
    edit_share = None if scenario.edits_zipf is None else _shares(pages, scenario.edits_zipf, even=True)
    delays_s: Sequence[float] | None = None
    if is_invalidated(settings):
        delays_s = (0.0,)
    elif scenario.policy in PURGING:
        delays_s = _gathered(purge_delays_s, requests * settings.get("edit_ratio", 0) / run_s)
    ticking = is_ticking(scenario, settings)
    rng = np.random.default_rng(scenario.seed)
    ratios = []
    for _ in range(trials):
        drawn = simulation.draw_events(
            rng,
            pages=pages,
            requests=requests,
            edit_ratio=settings.get("edit_ratio", 0),
            run_s=run_s,
            share=share,
            edit_share=edit_share,
            paired=settings.get("edit", "post") == "get-post",
            other_reads=other_reads,
            arrivals=_arrivals(settings, run_s),
        )
        if drawn[1].size == 0:
            continue
        found = simulation.simulate(
            *drawn,
            ttl_s=scenario.ttl_s,
            swr_s=scenario.swr_s,
            delay_s=delays_s,
            fetch_s=settings["origin_delay_ms"] / 1000 if is_uncollapsed(settings) else 0.0,
            tick_s=rng.random() if ticking else None,
        )
        ratios.append((found.hit_ratio, found.stale_ratio))
    if len(ratios) < 2:
        raise ScenarioError("trials with so few requests cannot be predicted")
    deviations = np.std(ratios, axis=0, ddof=1) / np.sqrt(parts)
    return Draws(len(ratios), *np.mean(ratios, axis=0).tolist(), *deviations.tolist())


def _gathered(delays_s: Sequence[float], edits_per_s: float) -> tuple[float, ...]:
    """The mean purge delays with batching: an edit opens a batch, which collects further edits for the first delay.

    Of the n + 1 edits in a batch, the first waits for the whole delay, the other n (Poisson) for half of it on average.
    """
    others = edits_per_s * delays_s[0]
    shorter_s = delays_s[0] * others / 2 / (1 + others)
    return tuple(delay_s - shorter_s for delay_s in delays_s)


def _arrivals(settings: dict[str, Any], run_s: float) -> tuple[np.ndarray, np.ndarray] | None:
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


def _shares(pages: int, exponent: float, even: bool = False) -> np.ndarray | None:
    """Shares of the pages by Zipf's law, shape (pages,). Equal shares are returned as None unless `even` is set."""
    if exponent == 0 and not even:
        return None
    share = np.arange(1, pages + 1, dtype=float) ** -exponent
    return share / share.sum()


def _around(centre: float, deviation: float, reads: float) -> Expected:
    # Counts are whole numbers, so half a read to either side is within rounding.
    half = NORMAL_95 * deviation + 0.5 / reads
    return Expected(centre, max(0.0, centre - half), min(1.0, centre + half))
