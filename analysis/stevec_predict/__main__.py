"""The command: python -m stevec_predict --pages N --rate N …"""

import argparse
import json
import sys
from collections.abc import Sequence

from stevec_predict.cost import ORIGIN_PER_S, PricesError, cost_per_million_views, read_prices
from stevec_predict.flash import cold_flash
from stevec_predict.model import predict
from stevec_predict.scenario import POLICIES, POLICY_OF, Scenario, ScenarioError, shares_by_zipf
from stevec_predict.table import cost_lines, lines_for, trace_lines
from stevec_predict.trace import replay_trace
from stevec_predict.trace_format import TYPES
from stevec_predict.trace_lines import TraceError
from stevec_report.command_parser import CommandParser

DESCRIPTION = "Predicts how many requests a cache saves and what it costs in freshness, without running anything."
EXAMPLES = """\
examples:
  stevec predict --pages 100 --rate 1000 --edits 0.05 --ttl 180 --requests 10000
  stevec predict --pages 100000 --zipf 0.8 --rate 500 --edits 0.0026 --ttl 3600
  stevec predict --pages 10000000 --zipf 0.8 --rate 50000 --ttl 300 --pops 300 --tiered
  stevec predict --pages 5000 --rate 100 --edits 0.01 --policy purge-url --purge-delay 0.2
  stevec predict --pages 5000 --zipf 0.7 --rate 100 --ttl 60 --prices analysis/prices/2026-11.json
  stevec predict --trace access.log.gz --ttl 60
  stevec predict --trace trace.csv --trace-params time-col=2,obj-id-col=5 --policy purge-url

The formulas and where they hold: docs/prediction.md.
Exit status: 0 predicted, 2 wrong use.
"""
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
NOT_OF_A_TRACE = (
    *("pages", "zipf", "edits", "edits_zipf", "tag_pages", "pops", "pops_zipf", "pop_shares", "tiered", "flash"),
    *("duration", "requests", "seed"),
)


def build_parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = CommandParser(
        prog=prog,
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    load = parser.add_argument_group("load")
    load.add_argument("--pages", type=_whole, metavar="N", help="different pages")
    load.add_argument("--rate", type=float, metavar="N", help="requests a second, edits included")
    load.add_argument(
        "--zipf", type=float, default=0.0, metavar="S", help="exponent of popularity; 0 (default) is uniform"
    )
    load.add_argument(
        "--edits", type=float, default=0.0, metavar="R", help="share of the requests that are edits, 0 to 1"
    )
    load.add_argument("--edits-zipf", type=float, metavar="S", help="exponent for edits; default as --zipf")
    _add_trace(parser)
    cache = parser.add_argument_group("cache")
    cache.add_argument(
        "--policy", type=lambda name: POLICY_OF.get(name, name), choices=POLICIES, default="ttl", help="default ttl"
    )
    cache.add_argument("--ttl", type=float, default=180.0, metavar="S", help="freshness lifetime, default 180 s")
    cache.add_argument("--swr", type=float, default=0.0, metavar="S", help="stale-while-revalidate, for ttl+swr")
    cache.add_argument(
        "--purge-delay", type=float, default=0.0, metavar="S", help="from an edit to its purge everywhere"
    )
    cache.add_argument(
        "--tag-pages", type=float, default=1.0, metavar="N", help="pages that one edit purges, for purge-tag"
    )
    cache.add_argument("--pops", type=_whole, default=1, metavar="N", help="points of presence, default 1")
    cache.add_argument(
        "--pops-zipf",
        type=float,
        default=0.0,
        metavar="S",
        help="how unequal their traffic is; default equal",
    )
    cache.add_argument("--pop-shares", metavar="A,B,…", help="instead: the share of each, such as 0.5,0.3,0.2")
    cache.add_argument("--tiered", action="store_true", help="one parent cache between them and the origin")
    cache.add_argument("--no-collapse", action="store_true", help="simultaneous misses all go to the origin")
    origin = parser.add_argument_group("origin")
    origin.add_argument("--fetch-ms", type=float, default=50.0, metavar="MS", help="how long it takes, default 50 ms")
    origin.add_argument("--flash", type=float, metavar="N", help="also: a cold page that gets N reads a second")
    run = parser.add_argument_group("run (without: the steady state)")
    run.add_argument("--duration", type=float, metavar="S", help="seconds, beginning with empty caches")
    run.add_argument("--requests", type=float, metavar="N", help="instead: requests, at --rate")
    run.add_argument("--seed", type=int, default=1, metavar="N", help="seed of simulated runs; default 1")
    _add_costs(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def _add_trace(parser: argparse.ArgumentParser) -> None:
    trace = parser.add_argument_group("recorded load (instead of the load above; each request is replayed)")
    trace.add_argument(
        "--trace",
        metavar="FILE",
        help="requests as recorded, packed with gzip or not; - is standard input",
    )
    trace.add_argument(
        "--trace-type",
        choices=TYPES,
        default="auto",
        help="clf, json: access log; csv, txt: as of libCacheSim, txt with --rate; default auto",
    )
    trace.add_argument("--host", metavar="NAME", default="", help="only requests for this host; the trace has several")
    trace.add_argument(
        "--trace-params",
        metavar="A=B,…",
        default="",
        help="of csv: time-col, obj-id-col, obj-size-col, op-col, delimiter, has-header",
    )


def _add_costs(parser: argparse.ArgumentParser) -> None:
    cost = parser.add_argument_group("cost")
    cost.add_argument(
        "--prices",
        metavar="FILE",
        help="cost of a million views by door, such as analysis/prices/2026-11.json",
    )
    cost.add_argument("--page-bytes", type=_whole, default=5_000, metavar="N", help="of one answer, default 5000")
    cost.add_argument(
        "--origin-per-s",
        type=float,
        default=ORIGIN_PER_S,
        metavar="N",
        help="requests that one origin serves, default 500",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = build_parser("stevec predict")
    options = parser.parse_args(arguments)
    try:
        scenario = _scenario(options) if options.trace is None else _scenario_of_trace(options, parser)
        if not 1 <= options.page_bytes <= 10**12 or not 1e-3 <= options.origin_per_s <= 1e9:
            raise ScenarioError("page-bytes and origin-per-s have to be above 0")
        if options.flash is not None and not 0 < options.flash <= 1e10:
            raise ScenarioError(f"flash is {options.flash:g}, and has to be above 0")
        prices = read_prices(options.prices) if options.prices else None
        if options.trace is None:
            prediction, facts = predict(scenario), None
        else:
            prediction, facts = replay_trace(
                options.trace,
                scenario,
                kind=options.trace_type,
                parameters=options.trace_params,
                rate_per_s=options.rate,
                host=options.host,
            )
    except (ScenarioError, PricesError, TraceError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    flash = cold_flash(scenario, options.flash) if options.flash is not None else None
    costs = None
    if prices:
        costs = cost_per_million_views(
            prediction, prices, page_bytes=options.page_bytes, origin_capacity_per_s=options.origin_per_s
        )
    if options.json:
        value = prediction.to_json()
        if facts is not None:
            value["trace"] = facts.to_json()
        if flash is not None:
            value["cold_flash"] = flash
        if prices:
            value["cost_per_million_views"] = {
                "prices_file": prices.file,
                "prices_date": prices.date,
                "currency": prices.currency,
                "examples": prices.examples,
                "doors": costs,
            }
        print(json.dumps(value, indent=2))
        return 0
    described = lines_for(scenario, prediction, flash, options.flash)
    for line in described if facts is None else trace_lines(scenario, prediction, facts):
        print(line)
    if prices and costs:
        for line in cost_lines(costs, prices, options.page_bytes, options.origin_per_s):
            print(line)
    return 0


def _whole(text: str) -> int:
    """Parse a whole number, also one written as 1e6."""
    try:
        return int(text) if text.lstrip("+-").isdecimal() else _exactly(float(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text} is no whole number") from None


def _exactly(number: float) -> int:
    if not number.is_integer():
        raise ValueError
    return int(number)


def _scenario_of_trace(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Scenario:
    """The cache for a trace, which brings its own load."""
    wrong = [name for name in NOT_OF_A_TRACE if getattr(options, name) != parser.get_default(name)]
    if wrong:
        raise ScenarioError(f"{wrong[0].replace('_', '-')} does not go with trace, whose requests are replayed")
    if options.rate is not None and not 1e-9 <= options.rate <= 1e10:
        raise ScenarioError(f"rate is {options.rate:g}, and has to be a number from 1e-09 to 1e+10")
    _check_ttl(options)
    return Scenario(
        pages=1,
        rate_per_s=1,
        policy=options.policy,
        ttl_s=options.ttl,
        swr_s=options.swr,
        purge_delay_s=options.purge_delay,
        fetch_s=options.fetch_ms / 1000,
        collapse=not options.no_collapse,
    )


def _check_ttl(options: argparse.Namespace) -> None:
    if options.ttl == 0 and options.policy in ("ttl", "ttl+swr"):
        raise ScenarioError("with a ttl of 0 every read asks the origin: give --policy revalidate, or no-store")


def _scenario(options: argparse.Namespace) -> Scenario:
    missing = [f"--{name}" for name in ("pages", "rate") if getattr(options, name) is None]
    if missing:
        raise ScenarioError(f"required: {' and '.join(missing)}, or --trace")
    if options.trace_type != "auto" or options.trace_params or options.host:
        raise ScenarioError("trace-type, trace-params and host belong to trace")
    _check_ttl(options)
    if options.duration is not None and options.requests is not None:
        raise ScenarioError("give duration or requests, not both")
    run_s = options.duration
    if options.requests is not None:
        if not (options.requests >= 1 and options.rate > 0):
            raise ScenarioError("requests are 1 or more, at a rate above 0")
        run_s = options.requests / options.rate
    return Scenario(
        pages=options.pages,
        rate_per_s=options.rate,
        zipf=options.zipf,
        edits=options.edits,
        edits_zipf=options.edits_zipf,
        policy=options.policy,
        ttl_s=options.ttl,
        swr_s=options.swr,
        purge_delay_s=options.purge_delay,
        tag_pages=options.tag_pages,
        pop_shares=_shares(options),
        tiered=options.tiered,
        run_s=run_s,
        fetch_s=options.fetch_ms / 1000,
        collapse=not options.no_collapse,
        seed=options.seed,
    )


def _shares(options: argparse.Namespace) -> tuple[float, ...]:
    if options.pop_shares is not None:
        if options.pops != 1 or options.pops_zipf:
            raise ScenarioError("pop-shares replaces pops and pops-zipf: give one of them")
        try:
            return tuple(float(share) for share in options.pop_shares.split(","))
        except ValueError:
            raise ScenarioError(f"pop-shares are numbers with commas, not {options.pop_shares!r}") from None
    if not 1 <= options.pops <= 10_000 or not 0 <= options.pops_zipf <= 3:
        raise ScenarioError("pops are 1 to 10000, pops-zipf is 0 to 3")
    return shares_by_zipf(options.pops, options.pops_zipf)


if __name__ == "__main__":
    sys.exit(main())
