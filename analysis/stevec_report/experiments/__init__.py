"""One module per experiment, listed here by the experiment's name.

A module has

    blocks(analysis)    the blocks of its section, before those that every section has (see `common.py`)
    evidence(analysis)  the run's evidence on the hypothesis, a `verdicts.Evidence`, or None

and may have

    strips(analysis)    [(title, door, trial numbers)] whose distributions are drawn; see `common.default_strips`
"""

from types import ModuleType

from stevec_report.experiments import (
    at_once,
    caches,
    crawlers,
    edit_to_fresh,
    fan_out,
    flash_crowd,
    freshness_under_faults,
    hosts,
    mixed_write,
    origin_down,
    origins,
    other,
    overload,
    overload_open,
    policy,
    read_hot,
    read_sparse,
    short_links,
    wikipedia_like,
    write_batching,
    write_vs_read,
)

_MODULES = {
    "read-hot": read_hot,
    "read-sparse": read_sparse,
    "overload": overload,
    "overload-open": overload_open,
    "at-once": at_once,
    "overload-at-once": at_once,
    "mixed-write": mixed_write,
    "write-vs-read-direct": write_vs_read,
    "write-vs-read-cached": write_vs_read,
    "policy": policy,
    "wikipedia-like": wikipedia_like,
    "flash-crowd": flash_crowd,
    "origin-down": origin_down,
    "freshness-under-faults": freshness_under_faults,
    "edit-to-fresh": edit_to_fresh,
    "caches": caches,
    "crawlers": crawlers,
    "origins": origins,
    "hosts": hosts,
    "short-links": short_links,
    "write-batching": write_batching,
    "fan-out": fan_out,
}


def module_for(name: str) -> ModuleType:
    """Return the module that reports on experiment `name`, or the generic one for an unknown name."""
    return _MODULES.get(name, other)
