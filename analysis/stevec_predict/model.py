"""From a scenario to a prediction: chooses the model, sums over pages and edges, lists the assumptions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stevec_predict import closed_form
from stevec_predict.popularity import Popularity, shares_for, zipf
from stevec_predict.prediction import COLD_START, ENDLESS, INDEPENDENT, UNCOLLAPSED, Prediction
from stevec_predict.scenario import PURGING, Scenario, ScenarioError, has_closed_form, is_finite
from stevec_predict.simulated_run import simulate_run

FINITE_CELLS_MAX = 100_000  # classes of pages times distinct edges in a finite run
QUANTILE_STEPS = 40


def predict(scenario: Scenario) -> Prediction:
    """Return the `Prediction` of a `Scenario`. ScenarioError if there is no model for it."""
    if scenario.policy in ("no-store", "revalidate"):
        return _always_asked(scenario)
    if scenario.run_s is not None and not has_closed_form(scenario):
        return simulate_run(scenario, scenario.run_s)
    popularity = zipf(scenario.pages, scenario.zipf)
    parts = _parts(scenario, popularity, popularity.share)
    hit = _sum(parts, lambda cycle: cycle.hits)
    stale_0 = _stale(parts, 0.0)
    ends = [
        _sum(_parts(scenario, popularity, share), lambda cycle: cycle.hits)
        for share in (popularity.highest, popularity.lowest)
    ]
    # The value of a class lies between those that it would have if all its pages were like its first, or its last.
    bound = abs(ends[0] - ends[1])
    fetches = _sum(parts, lambda cycle: cycle.fetches)
    reads_per_s = scenario.rate_per_s * (1 - scenario.edits)
    edits_per_s = scenario.rate_per_s * scenario.edits
    finite = is_finite(scenario)
    return Prediction(
        hit_ratio=hit,
        offload_requests=1 - fetches,
        offload_bytes=1 - fetches,
        stale_ratio=stale_0,
        staleness_p50_s=_quantile(scenario, parts, stale_0, 0.5),
        staleness_p95_s=_quantile(scenario, parts, stale_0, 0.95),
        reads_per_s=reads_per_s,
        origin_per_s=reads_per_s * fetches,
        edits_per_s=edits_per_s,
        purges_per_s=edits_per_s if scenario.policy in PURGING else 0.0,
        race_stale_ratio=_race(scenario, parts),
        binning_error=bound,
        seldom_miss_share=_seldom(scenario, parts, 1 - hit),
        model=_name(scenario, finite),
        assumptions=tuple(_assumptions(scenario, finite)),
    )


@dataclass(frozen=True)
class _Part:
    """Pages of all classes at edges of equal share: rates per page (classes,), and the share of all reads."""

    reads: np.ndarray
    edits: np.ndarray
    purges: np.ndarray
    weight: np.ndarray
    cycle: closed_form.Cycle


def _parts(scenario: Scenario, popularity: Popularity, share: np.ndarray) -> list[_Part]:
    """The rates at each kind of edge; `share` (classes,) is the share of the reads for one page of each class."""
    reads = scenario.rate_per_s * (1 - scenario.edits) * share
    edits = _edit_rates(scenario, popularity)
    purges = edits
    if scenario.policy == "purge-tag":
        others = (scenario.tag_pages - 1) / max(scenario.pages - 1, 1)
        purges = edits + others * (scenario.rate_per_s * scenario.edits - edits)
    if scenario.tiered:
        whole = _cycle(scenario, reads, edits, purges)
        rate = purges if scenario.policy in PURGING else np.zeros_like(purges)
        shares = np.array(scenario.pop_shares)
        cycle = closed_form.tiered(reads, shares, whole, closed_form.absent_until(rate, scenario.ttl_s))
        return [_Part(reads, edits, purges, popularity.pages * popularity.share, cycle)]
    kinds = list(zip(*np.unique(np.array(scenario.pop_shares), return_counts=True), strict=True))
    if is_finite(scenario) and len(kinds) * reads.size > FINITE_CELLS_MAX:
        raise ScenarioError("so many different pops take too long for a finite run: leave out duration")
    return [
        _Part(
            reads * of_edge,
            edits,
            purges,
            popularity.pages * popularity.share * of_edge * edges,
            _cycle(scenario, reads * of_edge, edits, purges),
        )
        for of_edge, edges in kinds
    ]


def _edit_rates(scenario: Scenario, popularity: Popularity) -> np.ndarray:
    share = shares_for(popularity, scenario.pages, scenario.edit_exponent)
    return scenario.rate_per_s * scenario.edits * share


def _cycle(scenario: Scenario, reads: np.ndarray, edits: np.ndarray, purges: np.ndarray) -> closed_form.Cycle:
    run_s = scenario.run_s if is_finite(scenario) else None
    fetch_s = 0.0 if scenario.collapse else scenario.fetch_s
    if scenario.policy in PURGING:
        if run_s is not None:
            return closed_form.finite_purge(reads, edits, purges, run_s, scenario.purge_delay_s)
        return closed_form.purge(reads, edits, purges, scenario.ttl_s, scenario.purge_delay_s, fetch_s)
    if fetch_s > 0:
        never = np.zeros_like(reads)
        return closed_form.purge(reads, edits, never, scenario.ttl_s, scenario.ttl_s, fetch_s)
    old_fills = np.minimum(edits / reads, 1.0) if scenario.read_before_edit else 0.0
    if run_s is not None:
        return closed_form.finite_ttl(reads, edits, scenario.ttl_s, run_s, old_fills)
    return closed_form.ttl(reads, edits, scenario.ttl_s, scenario.swr_s, old_fills)


def _sum(parts: Sequence[_Part], value: Callable[[closed_form.Cycle], np.ndarray]) -> float:
    return float(sum(np.sum(part.weight * value(part.cycle) / part.cycle.reads) for part in parts))


def _stale(parts: Sequence[_Part], seconds: float) -> float:
    return _sum(parts, lambda cycle: cycle.stale_over(seconds))


def _quantile(scenario: Scenario, parts: Sequence[_Part], stale_0: float, level: float) -> float | None:
    """The `level` quantile, in seconds, of how long stale reads are outdated, by bisection; None without any."""
    if stale_0 <= 0:
        return None
    low, high = 0.0, scenario.purge_delay_s if scenario.policy in PURGING else scenario.ttl_s + scenario.swr_s
    for _ in range(QUANTILE_STEPS):
        middle = (low + high) / 2
        if _stale(parts, middle) > (1 - level) * stale_0:
            low = middle
        else:
            high = middle
        if high - low < 1e-3 * high:
            break
    return (low + high) / 2


def _race(scenario: Scenario, parts: Sequence[_Part]) -> float:
    """Reads of old copies that were fetched before an edit and stored after its purge, to first order."""
    open_s = max(scenario.fetch_s - scenario.purge_delay_s, 0)
    if scenario.policy not in PURGING or open_s == 0:
        return 0.0
    total = 0.0
    for part in parts:
        life = closed_form.expected_life(part.purges, scenario.ttl_s)
        fills = part.cycle.fetches / (1 if scenario.collapse else 1 + part.reads * scenario.fetch_s)
        stale = fills * -np.expm1(-part.edits * open_s) * part.reads * life
        total += float(np.sum(part.weight * np.minimum(stale / part.cycle.reads, 1)))
    return min(total, 1.0)


def _seldom(scenario: Scenario, parts: Sequence[_Part], missed: float) -> float:
    """Share of the misses that falls on pages that are read less than once per lifetime at their edge.

    0 with a parent cache, where it depends on the other edges as well.
    """
    if missed <= 0 or scenario.tiered:
        return 0.0
    seldom = 0.0
    for part in parts:
        few = part.reads * scenario.ttl_s < 1
        misses = part.weight * (1 - part.cycle.hits / part.cycle.reads)
        seldom += float(np.sum(misses[few]))
    return seldom / missed


def _always_asked(scenario: Scenario) -> Prediction:
    """Every read reaches the origin; a 304 saves only the bodies of unchanged pages."""
    reads_per_s = scenario.rate_per_s * (1 - scenario.edits)
    bytes_saved = 0.0
    if scenario.policy == "revalidate":
        popularity = zipf(scenario.pages, scenario.zipf)
        edits = _edit_rates(scenario, popularity)
        shares = (1.0,) if scenario.tiered else scenario.pop_shares
        for of_edge, edges in zip(*np.unique(np.array(shares), return_counts=True), strict=True):
            reads = reads_per_s * popularity.share * of_edge
            # The chance that the previous read at the same edge was after the last edit.
            same = reads / (reads + edits)
            if scenario.run_s is not None:
                same = same * (1 + np.expm1(-(reads + edits) * scenario.run_s) / ((reads + edits) * scenario.run_s))
            bytes_saved += float(np.sum(popularity.pages * popularity.share * of_edge * edges * same))
    return Prediction(
        hit_ratio=0.0,
        offload_requests=0.0,
        offload_bytes=bytes_saved,
        stale_ratio=0.0,
        staleness_p50_s=None,
        staleness_p95_s=None,
        reads_per_s=reads_per_s,
        origin_per_s=reads_per_s,
        edits_per_s=scenario.rate_per_s * scenario.edits,
        purges_per_s=0.0,
        race_stale_ratio=0.0,
        binning_error=0.0,
        seldom_miss_share=0.0,
        model="every read asks the origin",
        assumptions=(INDEPENDENT,),
    )


def _name(scenario: Scenario, finite: bool) -> str:
    kind = "purges" if scenario.policy in PURGING else "lifetimes"
    if finite:
        return f"finite run of {kind}, closed form"
    tiers = "edges under one parent, " if scenario.tiered else ""
    return f"steady state of {kind}, {tiers}closed form"


def _assumptions(scenario: Scenario, finite: bool) -> Iterator[str]:
    yield INDEPENDENT
    if finite:
        yield COLD_START
    elif scenario.run_s is not None:
        lives = scenario.run_s / scenario.ttl_s
        yield f"the run lasts {lives:.0f} lifetimes, so the steady state is used"
    else:
        yield ENDLESS
    if not scenario.collapse:
        yield UNCOLLAPSED
    if scenario.policy in PURGING:
        yield "a cache does not store a response that was in flight at a purge (else add race_stale_ratio)"
    if scenario.tiered:
        yield "the parent sends its edges the age of each copy (Age)"
