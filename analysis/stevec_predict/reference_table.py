"""Prints the table of docs/prediction.md: python -m stevec_predict.reference_table (in analysis/)."""

from collections.abc import Iterator

from stevec_predict.model import predict
from stevec_predict.scenario import Scenario, shares_by_zipf
from stevec_report.wording import grouped, three_digits

WIKI = {"pages": 100_000, "rate_per_s": 200, "zipf": 0.8, "edits": 0.0026}
WORLD = {"pages": 10_000_000, "rate_per_s": 50_000, "zipf": 0.8, "edits": 0.0026, "ttl_s": 300}
EVEN = shares_by_zipf(300, 0)
ROWS = (
    ("hot pages, 10 s run", {"pages": 100, "rate_per_s": 1_000, "edits": 0.05, "run_s": 10}),
    ("a wiki", {**WIKI, "ttl_s": 60}),
    ("a wiki", {**WIKI, "ttl_s": 600}),
    ("a wiki", {**WIKI, "ttl_s": 86_400}),
    ("a wiki", {**WIKI, "ttl_s": 600, "swr_s": 600, "policy": "ttl+swr"}),
    ("a wiki", {**WIKI, "ttl_s": 86_400, "purge_delay_s": 0.2, "policy": "purge-url"}),
    ("a wiki", {**WIKI, "ttl_s": 86_400, "purge_delay_s": 0.2, "policy": "purge-tag", "tag_pages": 100}),
    ("a wiki", {**WIKI, "policy": "revalidate"}),
    ("the world", WORLD),
    ("the world", {**WORLD, "pop_shares": EVEN}),
    ("the world", {**WORLD, "pop_shares": EVEN, "tiered": True}),
)


def lines() -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield "| load | pages | edges | policy | ttl | hit ratio | offload | stale reads | outdated, p50 | p95 |"
    yield "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|"
    for name, row in ROWS:
        scenario = Scenario(**row)
        found = predict(scenario)
        edges = f"{len(scenario.pop_shares)}{', tiered' if scenario.tiered else ''}"
        ttl = f"{three_digits(scenario.ttl_s)} s" if scenario.policy != "revalidate" else ""
        cells = [name, grouped(scenario.pages), edges, scenario.policy, ttl]
        cells += [f"{100 * share:.2f} %" for share in (found.hit_ratio, found.offload_requests, found.stale_ratio)]
        for seconds in (found.staleness_p50_s, found.staleness_p95_s):
            cells.append("" if seconds is None else f"{three_digits(seconds)} s")
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(lines()))
