"""The advice for each class of a log."""

from dataclasses import dataclass

import numpy as np

from stevec_advise.confidence import bounds_of
from stevec_advise.limits import Limits
from stevec_advise.log import ClassLog, SiteLog
from stevec_advise.popularity import zipf_exponent
from stevec_advise.search import Found, Search, choose
from stevec_advise.setting import CACHES, FAMILIES


@dataclass(frozen=True)
class ClassAdvice:
    """What was found for a class: the best setting of each family that keeps the limits, and the chosen one by cache.

    `zipf`: the exponent of the reads, None for too few.
    """

    log: ClassLog
    zipf: float | None
    found: list[Found]
    chosen: dict[str, Found]


def advise(site: SiteLog, limits: Limits, *, purge_delay_s: float, least: str) -> list[ClassAdvice]:
    """Advise for each class of `site`. `least`: as for `choose`."""
    advice = []
    for log in site.classes:
        search = Search(log, site.span_ms, limits)
        tried = [search.of_family(family, purge_delay_s) for family in FAMILIES]
        found = [one for one in tried if one is not None]
        chosen = {
            cache: choose([one for one in found if one.setting.family in families], least=least)
            for cache, families in CACHES.items()
        }
        advice.append(ClassAdvice(log, zipf_exponent(np.bincount(log.url)), found, chosen))
    return advice


def fetch_bounds(found: Found, confidence: float) -> tuple[float, float]:
    """The interval of the requests to the origin, per read, in the next such log."""
    return bounds_of(found.outcome.fetches, found.outcome.reads, confidence)
