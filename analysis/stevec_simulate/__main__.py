"""The command: python -m stevec_simulate."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from stevec_report.command_parser import CommandParser
from stevec_report.wording import part_of
from stevec_simulate.rate import Line

DESCRIPTION = "How often the analysis errs, on simulated runs of which the truth is known."
EPILOG = """\
The simulated trials go through the code that judges real ones. Each line is the share of
simulations that did what its heading says, with its 99 % Monte-Carlo interval, under one kind of
noise: "runs 2 ×" is a spread between runs of twice that of trials, ρ the correlation of trials
that follow each other. Of intervals it is how often they cover the truth. A line fails if the
whole interval contradicts what the share has to be, or if intervals are too wide beside those of
an oracle that knows the model. 400 simulations take 10 to 16 minutes.

Each block of a simulated run has a stack of its own, started anew as in the lab's sample: a cell
has another level in each block. A run on one stack says something about that stack only. The area
one-stack counts how often its verdicts are wrong about the next stack; its lines are not judged.

examples:
  python -m stevec_simulate
  python -m stevec_simulate --only verdicts --simulations 2000 --seed 7
  python -m stevec_simulate --only one-stack

Exit status: 0 every line holds, 1 one does not, 2 wrong use.
"""
SIMULATIONS_MAX = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    from stevec_simulate.areas import AREAS

    parser = CommandParser(
        prog="python -m stevec_simulate",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--simulations", type=int, default=400, help="of each line (default 400)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default 1)")
    parser.add_argument("--only", choices=sorted(AREAS), metavar="AREA", help=f"one area: {', '.join(AREAS)}")
    parser.add_argument("--json", action="store_true", help="the lines as JSON")
    options = parser.parse_args(arguments)
    if not 1 <= options.simulations <= SIMULATIONS_MAX:
        parser.error(f"--simulations is not 1 to {SIMULATIONS_MAX}")
    from stevec_simulate.areas import simulate

    began_s = time.monotonic()
    found: list[Line] = []
    for line in simulate([options.only] if options.only else list(AREAS), options.simulations, options.seed):
        if not options.json:
            if not found or found[-1].what != line.what:
                print(f"\n{line.what}: {line.required}")
            print(_text(line), flush=True)
        found.append(line)
    failed = [line for line in found if not line.holds]
    if options.json:
        print(json.dumps([asdict(line) | {"rate": line.rate, "holds": line.holds} for line in found], indent=2))
    else:
        took_s = time.monotonic() - began_s
        judged = sum(line.is_judged for line in found)
        held = f"{part_of(judged - len(failed), judged, 'line')} {'holds' if judged - len(failed) == 1 else 'hold'}"
        print(f"\n{held}; {options.simulations} simulations each, {took_s:.0f} s")
    return 1 if failed else 0


def _text(line: Line) -> str:
    low, high = (f"{100 * bound:.1f}" for bound in line.bounds)
    width = "" if line.width is None else f", width {line.width:.2f} × the oracle's"
    mark = "FAIL" if not line.holds else "ok  " if line.is_judged else "    "
    return f"  {mark} {100 * line.rate:5.1f} % ({low} to {high}){width}  {line.noise}"


if __name__ == "__main__":
    sys.exit(main())
