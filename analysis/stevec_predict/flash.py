"""A crowd for one page that no cache has."""

from typing import Any

from stevec_predict.scenario import Scenario


def cold_flash(scenario: Scenario, flash_per_s: float) -> dict[str, Any]:
    """A page that no cache has, requested `flash_per_s` times a second from one moment on.

    Until the first response arrives, after `fetch_s`, an edge without collapsing forwards every read: 1 +
    λw·fetch_s from each edge of share w. With collapsing each edge sends one request; tiered edges together send one.

    Returns:
        {"collapsed", "uncollapsed"}: expected requests at the origin, and "worst_wait_s".
    """
    edges = len(scenario.pop_shares)
    return {
        "collapsed": 1 if scenario.tiered else edges,
        "uncollapsed": edges + flash_per_s * scenario.fetch_s,
        "worst_wait_s": scenario.fetch_s,
    }
