"""What the settings of a trial (docs/results-format.md) mean for a prediction."""

from typing import Any

from stevec_predict.scenario import POLICIES, POLICY_OF, PURGING, Scenario, ScenarioError

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
    *("arrivals", "burst", "cache", "collapsing", "origin_cache_mib", "origin_delay_ms", "fault", "stale_if_error_s"),
    *("edges", "protocol", "database", "database_pool", "wikis", "wiki_cpu_share", "shared", "picture"),
    *("groups", "generators", "resource", "short_link_index", "short_link_reads", "edit_links"),
    *("framework", "write_strategy", "gather_max", "gather_ms", "record_stop"),
    *("trace_ratio", "traceparent", "watchers", "fan_out", "edit_door", "staleness_bound_ms", "beyond_bound_s"),
    *("revisions", "crawl_times_capacity", "requests_at_once"),
    *("duration_max_s", "bound", "background_vus", "timeout_s"),
)
# These invalidate a page when a POST to it passes through them (RFC 9111, section 4.4). The other caches of
# cdn/src/caches do not.
INVALIDATING_CACHES = ("trafficserver", "squid")
TICKING_CACHES = ("nginx",)  # proxy_cache, also at the door local: valid_sec and ngx_time() are whole seconds
LIFETIME_OF_PURGED_S = 86_400.0  # CACHE_CDN_TTL_S


def describe_run(scenario: Scenario, settings: dict[str, Any]) -> str:
    """The kind of a finite run in words."""
    kind = "purges" if scenario.policy in PURGING else "lifetimes"
    if is_invalidated(settings):
        kind += " (an edit through the cache invalidates its page)"
    if is_ticking(scenario, settings):
        kind += " in whole seconds"
    if settings.get("burst") is not None:
        kind += " with a burst of requests"
    if is_uncollapsed(settings):
        kind += f", without collapsing and {settings['origin_delay_ms']:g} ms a fetch"
    return kind


def is_invalidated(settings: dict[str, Any]) -> bool:
    """Whether the cache invalidates a page when a POST to it passes through."""
    return settings.get("cache") in INVALIDATING_CACHES and settings.get("edit_ratio", 0) > 0


def is_ticking(scenario: Scenario, settings: dict[str, Any]) -> bool:
    """Whether the cache counts in whole seconds and copies expire within the run."""
    nginx = settings["door"] == "local" or settings.get("cache") in TICKING_CACHES
    return nginx and scenario.run_s is not None and scenario.ttl_s < scenario.run_s


def is_beyond_bound(settings: dict[str, Any]) -> bool:
    """Whether the cache follows no purge log, and has a lifetime in its place."""
    return settings.get("policy") == "bounded" and settings["door"] == "local" and settings.get("beyond_bound_s", 0) > 0


def is_uncollapsed(settings: dict[str, Any]) -> bool:
    """Whether the cache forwards every read that finds no copy."""
    return settings.get("collapsing") is False


def reason_without_hits(settings: dict[str, Any]) -> str:
    """The reason why no cache answers any request in this cell, or ''; ScenarioError if that is not known."""
    policy = policy_of(settings)
    if settings.get("origin_cache_mib"):
        raise ScenarioError(
            "pages kept in the wiki's memory have no model, as nothing predicts when the database reports a change"
        )
    if settings["door"] not in CACHING_DOORS:
        return "no cache on the way"
    if settings.get("fault") is not None:
        raise ScenarioError("something fails for a part of the trial, and every model assumes that all works")
    if policy in ("no-store", "revalidate"):
        return "every read asks the origin"
    if policy in PURGING and settings["door"] == "local":
        return "every read asks the origin: only the CDN gets a lifetime and purges"
    if settings.get("edit_ratio", 0) >= 1 and settings.get("edit", "post") == "post":
        return "there are no reads"
    if is_uncollapsed(settings) and not settings.get("origin_delay_ms"):
        raise ScenarioError("without collapsing, a model needs to know how long a fetch takes: set origin_delay_ms")
    if is_uncollapsed(settings) and policy == "ttl+swr":
        raise ScenarioError("stale-while-revalidate without collapsing has no model")
    unknown = sorted(key for key, value in settings.items() if key not in KNOWN_SETTINGS and value not in (None, False))
    if unknown:
        raise ScenarioError(f"the setting {unknown[0]} is in none of the models")
    return ""


def policy_of(settings: dict[str, Any]) -> str:
    """The name that `Scenario` has for the policy of a cell; ScenarioError if it has none."""
    if is_beyond_bound(settings):
        return "ttl"
    policy = settings.get("policy", "ttl")
    named = POLICY_OF.get(policy, policy)
    if named not in POLICIES:
        raise ScenarioError(f"the policy {policy!r} is none of {', '.join(POLICIES)}")
    return named


def scenario_of(
    settings: dict[str, Any], duration_s: float | None, requests: int, other_reads: int, seed: int
) -> tuple[Scenario, float]:
    """Return (`Scenario`, reads) of one trial."""
    run_s = duration_s if duration_s is not None else _planned_s(settings, requests)
    if not run_s > 0:
        raise ScenarioError("a trial that took no time cannot be predicted")
    policy = policy_of(settings)
    edits = requests * settings.get("edit_ratio", 0)
    # In get-post mode each edit starts with a read, so n iterations send n reads and n · edit_ratio edits.
    reads = (requests - edits if settings.get("edit", "post") == "post" else requests) + other_reads
    swr_s = settings.get("stale_while_revalidate_s") or 0.0
    lifetime_s = settings["beyond_bound_s"] if is_beyond_bound(settings) else settings["ttl_s"]
    scenario = Scenario(
        pages=settings["pages"],
        rate_per_s=(reads + edits) / run_s,
        zipf=_exponent(settings.get("popularity")),
        edits=edits / (reads + edits),
        edits_zipf=None if settings.get("edit_popularity") is None else _exponent(settings["edit_popularity"]),
        policy="ttl" if policy == "ttl+swr" and swr_s == 0 else policy,
        ttl_s=LIFETIME_OF_PURGED_S if policy in PURGING else max(lifetime_s, 1e-3),
        swr_s=swr_s if policy == "ttl+swr" else 0.0,
        run_s=run_s,
        read_before_edit=is_paired(settings) and policy == "ttl" and settings.get("edit_popularity") is None,
        pop_shares=_edge_shares(settings.get("edges", 1), settings.get("vus", 1)),
        seed=seed,
    )
    return scenario, reads


def _edge_shares(edges: int, vus: int) -> tuple[float, ...]:
    """The edges' shares of the requests: client i keeps to edge i modulo `edges`, and clients send equally often."""
    return tuple(len(range(at, vus, edges)) / vus for at in range(min(edges, vus)))


def is_paired(settings: dict[str, Any]) -> bool:
    """Whether there are edits and each starts with a read of its page."""
    return settings.get("edit", "post") == "get-post" and settings.get("edit_ratio", 0) > 0


def _exponent(popularity: Any) -> float:
    if popularity in (None, "uniform"):
        return 0.0
    exponent = popularity.get("zipf") if isinstance(popularity, dict) and len(popularity) == 1 else None
    if not isinstance(exponent, int | float) or isinstance(exponent, bool):
        raise ScenarioError(f"the popularity {popularity!r} is neither uniform nor Zipf's")
    return float(exponent)


def _planned_s(settings: dict[str, Any], requests: int) -> float:
    if settings.get("model") == "open" and settings.get("rate_per_s"):
        return requests / settings["rate_per_s"]
    raise ScenarioError("the duration of a closed model depends on its response times: give duration_s, as measured")
