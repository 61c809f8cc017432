"""Advice from the first half of a made-up log, held against the second half: python -m stevec_advise.hindsight"""

import sys
from collections.abc import Sequence
from dataclasses import replace

from stevec_advise.limits import CONFIDENCE
from stevec_advise.search import Found, Search, choose
from stevec_advise.setting import CACHES
from stevec_advise.workloads import WORKLOADS, Workload, workloads
from stevec_report.command_parser import CommandParser
from stevec_report.wording import part_of

FAMILIES = ("ttl", "swr", "purge", "bounded")
PURGE_DELAY_S = 1.0
WITHIN = 1.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each made-up site and family; return 0 if each keeps its limit, and asks the origin at most a
    tenth more often than the best setting of its family, as it was known afterwards.

    At last it prints how many sites hold for each cache, with the setting that the advice recommends for it.
    """
    parser = CommandParser(prog="python -m stevec_advise.hindsight", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the made-up sites (default 1)")
    parser.add_argument("--sites", type=int, default=WORKLOADS, help=f"how many (default {WORKLOADS})")
    parser.add_argument("--longer", type=int, default=1, help="their logs are so many times as long (default 1)")
    parser.add_argument("--confidence", type=float, default=CONFIDENCE, help=f"of the advice (default {CONFIDENCE})")
    options = parser.parse_args(arguments)
    good = lines = 0
    recommended: dict[str, list[bool]] = {cache: [] for cache in CACHES}
    for drawn in workloads(options.seed, options.sites, options.longer):
        workload = replace(drawn, limits=replace(drawn.limits, confidence=options.confidence))
        print(f"{workload.name}; {_limits(workload)}")
        advice: list[Found] = []
        held: dict[str, bool] = {}
        for family in FAMILIES:
            found = _compare(workload, family)
            if found is None:
                continue
            known, advised, best = found
            more = advised.fetch_share / best.fetch_share
            advice.append(known)
            held[family] = _keeps(workload, advised) and more <= WITHIN
            print(
                f"  {'ok  ' if held[family] else 'FAIL'} {advised.setting.words:20} stale "
                f"{100 * advised.stale_share:.3f} %, origin requests {100 * advised.fetch_share:.2f} %: "
                f"{more:.3f} × those of {best.setting.words}",
                flush=True,
            )
        lines += len(held)
        good += sum(held.values())
        for cache, families in CACHES.items():
            choices = [one for one in advice if one.setting.family in families]
            if choices:
                recommended[cache].append(held[choose(choices).setting.family])
    print(f"{part_of(good, lines, 'line')} hold")
    for cache, holds in recommended.items():
        print(f"recommended for {cache}: {part_of(sum(holds), len(holds), 'site')} hold")
    return 0 if good == lines else 1


def _compare(workload: Workload, family: str) -> tuple[Found, Found, Found] | None:
    """(the advice in the first half, what it did in the second, what the best setting of its family would have done)"""
    half_ms = workload.span_ms // 2
    known, later = workload.log.between(0, half_ms), workload.log.between(half_ms, workload.span_ms)
    advice = Search(known, half_ms, workload.limits).of_family(family, PURGE_DELAY_S)
    afterwards = Search(later, half_ms, replace(workload.limits, confidence=None))
    best = afterwards.of_family(family, PURGE_DELAY_S)
    if advice is None or best is None:
        return None
    return advice, afterwards.of_setting(advice.setting), best


def _keeps(workload: Workload, found: Found) -> bool:
    return workload.limits.stale_max is None or found.stale_share <= workload.limits.stale_max


def _limits(workload: Workload) -> str:
    oldest = workload.limits.oldest_max_s
    stale = f"at most {100 * (workload.limits.stale_max or 0):g} % stale"
    return stale if oldest is None else f"{stale}, by {oldest:g} s"


if __name__ == "__main__":
    sys.exit(main())
