"""The advice in words: one block of lines for each class."""

from typing import Any

from stevec_advise.advice import ClassAdvice, fetch_bounds
from stevec_advise.limits import CONFIDENCE, Limits
from stevec_advise.log import SiteLog
from stevec_advise.search import Found
from stevec_advise.setting import CACHES
from stevec_report.wording import count_of, grouped, percent, three_digits

HEAD = f"  {'':2}{'setting':20} {'asks the origin':>26} {'waits':>8} {'stale reads':>24} {'oldest':>9}"


# How the table names the cache whose advice is marked.
NAMES = {
    "nginx": "a stock nginx",
    "varnish": "Varnish",
    "cloudflare": "Cloudflare",
    "stevec": "stevec's edge, which knows all settings",
}


def lines_for(site: SiteLog, limits: Limits, advice: list[ClassAdvice], cache: str = "stevec") -> list[str]:
    """The whole text, a line each. `cache`: whose advice is marked, one of `CACHES`."""
    reads = sum(len(one.log.reads) for one in advice)
    hours = site.span_ms / 3_600_000
    bad = sum(facts.bad for facts in site.facts)
    lines = [
        f"{count_of(reads, 'read')} and {count_of(site.edits, 'edit')} in {three_digits(hours)} h"
        + (f"; {count_of(bad, 'line')} could not be read" if bad else "")
        + (f"; {count_of(site.unclassed, 'read')} of no class" if site.unclassed else ""),
        f"limits of each class: {_limits(limits)}",
        f"* is the advice for {NAMES[cache]}; shares are of reads, intervals those of the next such log",
    ]
    for one in sorted(advice, key=lambda one: -len(one.log.reads)):
        lines += ["", *_class_lines(one, cache)]
    lines += ["", "a configuration: add --cache nginx, --cache varnish or --cache cloudflare"]
    return lines


def _limits(limits: Limits) -> str:
    share = "" if limits.stale_max is None else f"at most {percent(limits.stale_max)} of the reads are stale"
    oldest = "" if limits.oldest_max_s is None else f"none by more than {limits.oldest_max_s:g} s"
    return ", ".join(part for part in (share, oldest) if part)


def _class_lines(one: ClassAdvice, cache: str) -> list[str]:
    zipf = "" if one.zipf is None else f", popularity Zipf {one.zipf:.2f}"
    lines = [
        f"{one.log.url_class.name}: {count_of(len(one.log.path), 'URL')}, {grouped(len(one.log.reads))} reads{zipf}, "
        f"{count_of(len(one.log.edits), 'edit')}  ({one.log.url_class.pattern})",
        HEAD,
    ]
    lines += [_row(found, found is one.chosen[cache]) for found in one.found]
    others = ", ".join(f"{other} {one.chosen[other].setting.words}" for other in CACHES if other != cache)
    return [*lines, f"  elsewhere: {others}"]


def _row(found: Found, is_advice: bool) -> str:
    low, high = fetch_bounds(found, CONFIDENCE)
    asks = f"{percent(found.fetch_share)} ({100 * low:.3g} … {100 * high:.3g})"
    stale = f"{percent(found.stale_share)} (≤ {percent(found.stale_upper)})" if found.stale_upper else "0 %"
    oldest = f"{found.outcome.oldest_ms / 1000:.3g} s"
    mark = "* " if is_advice else "  "
    return f"  {mark}{found.setting.words:20} {asks:>26} {percent(found.wait_share):>8} {stale:>24} {oldest:>9}"


def to_json(site: SiteLog, limits: Limits, advice: list[ClassAdvice]) -> dict[str, Any]:
    """The advice as plain values, the classes in the order in which their patterns are tried; shares are 0 to 1."""
    return {
        "span_s": site.span_ms / 1000,
        "limits": {
            "stale_max": limits.stale_max,
            "oldest_max_s": limits.oldest_max_s,
            "confidence": limits.confidence,
        },
        "reads_of_no_class": site.unclassed,
        "classes": [_class_json(one) for one in advice],
    }


def _class_json(one: ClassAdvice) -> dict[str, Any]:
    return {
        "name": one.log.url_class.name,
        "pattern": one.log.url_class.pattern,
        "urls": len(one.log.path),
        "reads": len(one.log.reads),
        "edits": len(one.log.edits),
        "zipf": one.zipf,
        "advice": {cache: found.setting.words for cache, found in one.chosen.items()},
        "settings": [
            {
                "family": found.setting.family,
                "lifetime_s": found.setting.lifetime_s,
                "window_s": found.setting.window_s,
                "purge_delay_s": found.setting.purge_delay_s,
                "fetch_share": found.fetch_share,
                "fetch_share_next": list(fetch_bounds(found, CONFIDENCE)),
                "wait_share": found.wait_share,
                "stale_share": found.stale_share,
                "stale_share_upper": found.stale_upper,
                "oldest_s": found.outcome.oldest_ms / 1000,
            }
            for found in one.found
        ],
    }
