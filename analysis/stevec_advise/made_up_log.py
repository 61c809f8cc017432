"""An access log of made-up sites, each in a folder of its own: python -m stevec_advise.made_up_log > access.log"""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from stevec_advise.log import SPAN_MS
from stevec_advise.workloads import WORKLOADS, workloads
from stevec_report.command_parser import CommandParser

BEGIN = datetime(2026, 11, 25, tzinfo=UTC)
HOURS_MAX = 48  # the shortest workload


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the log in Common Log Format, in the order of time; return 0."""
    parser = CommandParser(prog="python -m stevec_advise.made_up_log", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the made-up sites (default 1)")
    parser.add_argument("--sites", type=int, default=6, help=f"how many, at most {WORKLOADS} (default 6)")
    parser.add_argument("--hours", type=int, default=6, help=f"of the log, at most {HOURS_MAX} (default 6)")
    options = parser.parse_args(arguments)
    if not (1 <= options.sites <= WORKLOADS and 1 <= options.hours <= HOURS_MAX):
        parser.error(f"--sites is 1 to {WORKLOADS}, and --hours 1 to {HOURS_MAX}")
    sys.stdout.writelines(lines_of(options.seed, options.sites, options.hours))
    return 0


def lines_of(seed: int, sites: int, hours: int) -> Iterator[str]:
    """The lines of the log. An edit is a POST."""
    requests: list[tuple[int, str, str]] = []
    for number, site in enumerate(workloads(seed, sites)):
        log = site.log.between(0, hours * 3_600_000)
        for method, keys in (("GET", log.reads), ("POST", log.edits)):
            requests += zip(
                (keys % SPAN_MS).tolist(),
                np.full(len(keys), method).tolist(),
                (f"/site-{number}/{place}" for place in (keys // SPAN_MS).tolist()),
                strict=True,
            )
    for time_ms, method, url in sorted(requests):
        time = (BEGIN + timedelta(milliseconds=time_ms)).strftime("%d/%b/%Y:%H:%M:%S +0000")
        yield f'host - - [{time}] "{method} {url} HTTP/1.1" 200 1000\n'


if __name__ == "__main__":
    sys.exit(main())
