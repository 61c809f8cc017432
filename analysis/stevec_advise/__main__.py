"""The command: python -m stevec_advise access.log --edits edits.log --stale '1%' --max-age 2s"""

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence

from stevec_advise import snippets
from stevec_advise.advice import advise
from stevec_advise.classes import ClassError, Classifier, class_given
from stevec_advise.limits import LimitError, Limits, seconds_of, share_of
from stevec_advise.log import read_log
from stevec_advise.replay import USUAL, window_s_of, write_replay
from stevec_advise.setting import CACHES
from stevec_advise.table import lines_for, to_json
from stevec_predict.trace_lines import TraceError
from stevec_report.command_parser import CommandParser

DESCRIPTION = """\
Says for each part of a site how long a shared cache may keep it, from the site's access log. It
plays the log through a cache under each setting, and chooses the one that asks the origin least
while it keeps your limits, in this log and, with 99 % confidence, in the next one of that length."""
EPILOG = """\
The log has to show every read: one of the origin behind a cache shows only what the cache let
through. It is in Common Log Format or what adds to it, JSON of nginx, Caddy or Cloudflare
(Logpush), or CSV; packed with gzip or not. An edit makes every URL with its path stale. Answers
that differ by reader must not be cached at all; a log does not show which they are.

  none        the cache is left out
  revalidate  each read asks the origin, which answers 304 if nothing changed
  ttl         a lifetime
  swr         a lifetime, then stale-while-revalidate
  purge       until the edit's purge arrives
  bounded     as purge, and within a bound also if a purge is lost: `stevec edge --follow` before a
              wiki with CACHE_POLICY=bounded

examples:
  stevec advise access.log --stale '1% of reads'
  stevec advise access.log.gz --edits edits.log --stale 1% --max-age 2s
  stevec advise cdn.json --host www.example.org --max-age 1min --class 'pages=^/wiki/'
  stevec advise access.log --stale 0.5% --cache nginx > locations.conf
  stevec advise access.log --stale 1% --replay 60s
  stevec advise access.log --max-age 60s --for nginx --least waits --replay

--replay takes the part of the log with most reads, and of it all requests of pages that a hash
chooses, for at most 200 a second on average. The edge is stevec's (rfc9111) and begins empty; a
small origin answers with the headers of the advice. The purge log of `bounded` is a fifth of the
bound late. Then purges meet answers that are under way. Edge and model agree if every read got its
answer, no count of a class differs both by more than 2 and by more than 1 % of its reads, and no
read after such a purge got the old version.

How sure that is: docs/advice.md. Exit status: 0 advised, 1 edge and model do not agree, 2 wrong
use, 3 the edge did not start, 130 interrupted.
"""
WRITERS: dict[str, Callable[[Sequence[snippets.Rule]], str]] = {
    "nginx": snippets.nginx,
    "varnish": snippets.varnish,
    "cloudflare": snippets.cloudflare,
}


def build_parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = CommandParser(
        prog=prog, description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="+", metavar="LOG", help="access log; - is standard input")
    parser.add_argument("--edits", action="append", default=[], metavar="FILE", help="edits, instead of those of LOG")
    parser.add_argument("--stale", metavar="SHARE", help="at most so many of a class's reads: '1%% of reads'")
    parser.add_argument("--max-age", metavar="TIME", help="no read is outdated for longer: 2s, 5min")
    parser.add_argument(
        "--class", dest="classes", action="append", default=[], metavar="NAME=PATTERN",
        help="of paths, by regular expression; the first that matches counts; default: files, and each folder",
    )  # fmt: skip
    parser.add_argument("--purge-delay", default="1s", metavar="TIME", help="from an edit to its purge; default 1s")
    parser.add_argument(
        "--least",
        choices=("fetches", "waits"),
        default="fetches",
        help="what to keep down: requests to the origin (default), or reads that wait for it",
    )
    parser.add_argument("--host", default="", metavar="NAME", help="only requests for this host; the log has several")
    parser.add_argument(
        "--trace-type", choices=("auto", "clf", "json", "csv"), default="auto", help="of LOG; default auto"
    )
    parser.add_argument(
        "--trace-params", default="", metavar="A=B,…", help="of a LOG of CSV: time-col, obj-id-col, op-col, delimiter"
    )
    parser.add_argument(
        "--for", dest="advised", choices=tuple(CACHES), default="stevec",
        help="the cache that you have: its advice is marked, and replayed; default stevec",
    )  # fmt: skip
    parser.add_argument("--cache", choices=tuple(WRITERS), help="print only the configuration of this cache")
    parser.add_argument(
        "--replay", nargs="?", const=USUAL, metavar="TIME",
        help=f"play that much of the log through a real edge, in real time, and compare; default {USUAL}, 1s to 10min",
    )  # fmt: skip
    # Where `stevec advise` finds what it plays.
    parser.add_argument("--replay-folder", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = build_parser("stevec advise")
    options = parser.parse_args(arguments)
    if options.cache and options.json:
        parser.error("--cache prints a configuration and --json a table: give one of them")
    if options.replay and options.cache:
        parser.error("--cache prints only a configuration, and --replay a comparison: give one of them")
    if options.replay and not options.replay_folder:
        parser.error("--replay needs the command stevec advise, which starts the edge")
    try:
        limits = Limits(
            None if options.stale is None else share_of(options.stale),
            None if options.max_age is None else seconds_of(options.max_age, "--max-age"),
        )
        purge_delay_s = seconds_of(options.purge_delay, "--purge-delay", 86_400)
        window_s = window_s_of(options.replay) if options.replay else None
        classifier = Classifier([class_given(text) for text in options.classes])
        site = read_log(
            options.logs,
            options.edits,
            classifier,
            kind=options.trace_type,
            parameters=options.trace_params,
            host=options.host,
        )
        if not site.edits:
            raise TraceError(
                "there are no edits of pages that are read, so nothing shows how soon copies get old: give --edits "
                "with requests that write (POST, PUT, PATCH, DELETE), or lines such as 1764000000,/wiki/page"
            )
        advice = advise(site, limits, purge_delay_s=purge_delay_s, least=options.least)
        if window_s is not None:
            write_replay(options.replay_folder, advice, site.span_ms, window_s, options.advised)
    except (TraceError, LimitError, ClassError) as error:
        parser.error(str(error))
    if options.json:
        print(json.dumps(to_json(site, limits, advice), indent=2))
    elif options.cache:
        print(
            WRITERS[options.cache]([(one.log.url_class, one.chosen[options.cache].setting) for one in advice]), end=""
        )
    else:
        for line in lines_for(site, limits, advice, options.advised):
            print(line)
    return 0


if __name__ == "__main__":
    # Such as `| head`, which closes the pipe: end without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
