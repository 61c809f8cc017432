"""Formats a prediction as readable lines of text."""

from collections.abc import Iterator
from typing import Any

from stevec_predict.cost import VIEWS, Prices
from stevec_predict.model import predict
from stevec_predict.prediction import Prediction
from stevec_predict.scenario import Scenario, ScenarioError, vary_ttl
from stevec_predict.trace import TraceFacts
from stevec_report.wording import count_of, grouped, three_digits

FRESH_ENOUGH = 0.01
BARS = 20
DETAIL = ("cdn_requests", "cdn_egress", "cdn_purges", "origin_egress", "origin_hours", "total")


def lines_for(
    scenario: Scenario, prediction: Prediction, flash: dict[str, Any] | None = None, flash_per_s: float | None = None
) -> Iterator[str]:
    """Yield the lines that describe `prediction` of `scenario`."""
    run = f", {three_digits(scenario.run_s)} s from cold" if scenario.run_s is not None else ""
    pops = len(scenario.pop_shares)
    places = f", {pops} points of presence{' under one parent' if scenario.tiered else ''}" if pops > 1 else ""
    yield f"{scenario.policy} over {_count(scenario.pages, 'page')}{places}{run}"
    yield ""
    yield from _ratios(prediction)
    if flash is not None:
        yield ""
        yield f"a cold page, {three_digits(flash_per_s)} reads a second from one moment on:"
        yield _row("  origin, collapsing", f"{count_of(flash['collapsed'], 'request')}")
        yield _row("  origin, without", _count(round(flash["uncollapsed"]), "request"))
        yield _row("  worst wait", f"{three_digits(flash['worst_wait_s'])} s")
    yield ""
    yield from _dominant(scenario, prediction)
    yield ""
    yield from _model(prediction)


def trace_lines(scenario: Scenario, prediction: Prediction, facts: TraceFacts) -> Iterator[str]:
    """Yield the lines that describe the replay of a trace."""
    name = "standard input" if facts.file == "-" else facts.file
    yield f"{scenario.policy} over {name}: {_count(facts.pages, 'page')}, {three_digits(facts.span_s)} s from cold"
    yield ""
    yield from _ratios(prediction)
    yield ""
    share = prediction.seldom_miss_share
    if share > 0:
        yield f"{_percent(share)} of the misses are of pages read less than once in a lifetime."
    if prediction.stale_ratio > FRESH_ENOUGH:
        yield f"One read in {three_digits(1 / prediction.stale_ratio)} is older than the newest edit."
    others = f", {_count(facts.other, 'other')} (further methods, redirects, failures)" if facts.other else ""
    counts = f"{_count(facts.reads, 'read')}, {_count(facts.edits, 'edit')}{others}"
    yield f"{facts.type}, {_count(facts.lines, 'line')}: {counts}."
    if facts.late:
        yield f"{count_of(facts.late, 'line')} with a time before an earlier line's, taken to be at that time."
    if facts.bad:
        reasons = ", ".join(f"{reason} ({grouped(times)})" for reason, times in facts.bad_reasons.items())
        yield f"{count_of(facts.bad, 'bad line')} left out, the first is line {facts.first_bad_line}: {reasons}."
    yield ""
    yield from _model(prediction)


def _count(number: int, noun: str) -> str:
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


def _ratios(p: Prediction) -> Iterator[str]:
    yield _row("hit ratio", _percent(p.hit_ratio), _bar(p.hit_ratio))
    yield _row("origin offload, requests", _percent(p.offload_requests), _bar(p.offload_requests))
    if p.offload_bytes != p.offload_requests:
        yield _row("origin offload, bytes", _percent(p.offload_bytes), _bar(p.offload_bytes))
    yield _row("stale reads", _percent(p.stale_ratio), _bar(p.stale_ratio))
    if p.staleness_p50_s is not None:
        yield _row("  outdated for, p50", f"{three_digits(p.staleness_p50_s)} s")
        yield _row("  outdated for, p95", f"{three_digits(p.staleness_p95_s)} s")
    writes = f" and {three_digits(p.edits_per_s)} edits" if p.edits_per_s else ""
    yield _row("the origin gets", f"{three_digits(p.origin_per_s)} reads{writes} a second")
    if p.purges_per_s:
        yield _row("purge calls", f"{three_digits(p.purges_per_s)} a second")
    if p.race_stale_ratio:
        yield _row("extra stale reads by races", _percent(p.race_stale_ratio), "if a cache stores responses in flight")


def _model(p: Prediction) -> Iterator[str]:
    yield f"model: {p.model}"
    for assumption in p.assumptions:
        yield f"  - {assumption}"
    if p.binning_error:
        points = three_digits(100 * p.binning_error)
        yield f"  - pages are put into classes, which moves the hit ratio by {points} points at most"


def cost_lines(
    rows: dict[str, dict[str, float]], prices: Prices, page_bytes: float, origin_capacity_per_s: float
) -> Iterator[str]:
    """Yield the table of costs."""
    yield ""
    yield f"{prices.currency} for {grouped(VIEWS)} views, by door (prices: {prices.file}, {prices.date})"
    yield f"  {'':16}" + "".join(f"{door:>10}" for door in rows)
    for name in DETAIL:
        yield f"  {name.replace('_', ' '):16}" + "".join(f"{row[name]:>10.2f}" for row in rows.values())
    capacity = three_digits(origin_capacity_per_s)
    yield f"  - responses of {grouped(page_bytes)} bytes; an origin serves {capacity} a second"
    yield "  - list prices, without free allowances: check them"
    if prices.examples:
        yield f"  - without a source, so examples only: {', '.join(prices.examples)}"


def _dominant(scenario: Scenario, prediction: Prediction) -> Iterator[str]:
    """Sentences on what dominates the result, and how another lifetime would change it."""
    if prediction.hit_ratio == 0 and scenario.policy in ("no-store", "revalidate"):
        yield "Every read asks the origin: no read is stale, and only bytes can be saved."
        return
    share = prediction.seldom_miss_share
    if (
        scenario.run_s is not None
        and scenario.run_s <= scenario.ttl_s
        and scenario.policy == "ttl"
        and scenario.collapse
    ):
        yield "Nothing expires within the run: each page that is read is fetched once by each cache."
    elif share >= 0.5:
        yield f"{_percent(share)} of the misses are of pages read less than once in a lifetime at their edge."
    elif share > 0:
        yield f"{_percent(1 - share)} of the misses are of pages read once or more in a lifetime at their edge."
    if prediction.stale_ratio > FRESH_ENOUGH:
        yield f"One read in {three_digits(1 / prediction.stale_ratio)} is older than the newest edit."
    try:
        others = [(factor, predict(vary_ttl(scenario, factor))) for factor in (0.5, 2)]
    except ScenarioError:
        return
    for factor, other in others:
        lifetime = f"{'Half' if factor < 1 else 'Twice'} the ttl ({three_digits(scenario.ttl_s * factor)} s)"
        hit, stale = _percent(other.hit_ratio), _percent(other.stale_ratio)
        yield f"{lifetime}: hit ratio {hit}, stale reads {stale}."


def _row(name: str, value: str, comment: str = "") -> str:
    return f"  {name:26}{value:>12}  {comment}".rstrip()


def _bar(share: float) -> str:
    return "█" * round(BARS * share) or "▏"


def _percent(share: float) -> str:
    return f"{three_digits(100 * share)} %"
