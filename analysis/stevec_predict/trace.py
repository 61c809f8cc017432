"""Predicts from a recorded trace: every request is replayed through the cache, in bounded memory."""

from stevec_predict.prediction import COLLAPSING, UNCOLLAPSED, Prediction
from stevec_predict.replay import Replay
from stevec_predict.scenario import PURGING, Scenario
from stevec_predict.trace_lines import TraceError
from stevec_predict.trace_reader import TraceFacts, read_trace

EMPTY = "the cache begins empty and is never full"
ORDER = "requests of one time keep the order of their lines, and an edit changes its own page only"


def replay_trace(
    path: str,
    scenario: Scenario,
    *,
    kind: str = "auto",
    parameters: str = "",
    rate_per_s: float | None = None,
    host: str = "",
) -> tuple[Prediction, TraceFacts]:
    """Replay the trace `path` ("-" for standard input) through a cache with the settings of `scenario`.

    Args:
        scenario: only its policy, lifetimes, purge delay, collapsing and fetch count.
        kind, parameters: as for `parser_for`. rate_per_s, host: as for `read_trace`.

    Returns:
        (`Prediction`, `TraceFacts`).

    Raises:
        TraceError: the trace cannot be read, has no reads or no time between them, more bad lines than good ones, or
            exceeds a limit.
    """
    if scenario.policy == "purge-tag":
        raise TraceError("a trace does not say which pages share a tag: use purge-url")
    replay = Replay(scenario)
    facts = read_trace(path, replay, kind=kind, parameters=parameters, rate_per_s=rate_per_s, host=host)
    if not facts.reads:
        raise TraceError("the trace has no reads (GET or HEAD, of pages that are there)")
    if facts.span_s <= 0:
        raise TraceError("all requests have the same time, so nothing can expire and there are no rates")
    return _prediction(scenario, replay, facts), facts


def _prediction(scenario: Scenario, replay: Replay, facts: TraceFacts) -> Prediction:
    misses, seldom = replay.misses_below(facts.span_s / scenario.ttl_s)
    origin = replay.fetches / replay.reads
    asks = scenario.policy in ("no-store", "revalidate")
    bodies = replay.bytes_fetched / replay.bytes_read if facts.sized else origin - replay.unchanged / replay.reads
    return Prediction(
        hit_ratio=replay.hits / replay.reads,
        offload_requests=1 - origin,
        offload_bytes=1 - bodies,
        stale_ratio=replay.stale / replay.reads,
        staleness_p50_s=replay.staleness_s(0.5),
        staleness_p95_s=replay.staleness_s(0.95),
        reads_per_s=replay.reads / facts.span_s,
        origin_per_s=replay.fetches / facts.span_s,
        edits_per_s=replay.edits / facts.span_s,
        purges_per_s=replay.edits / facts.span_s if scenario.policy in PURGING else 0.0,
        race_stale_ratio=0.0,
        binning_error=0.0,
        seldom_miss_share=seldom / misses if misses and not asks else 0.0,
        model="each request of the trace, replayed",
        assumptions=(EMPTY, ORDER, *(() if asks else (COLLAPSING if scenario.collapse else UNCOLLAPSED,))),
    )
