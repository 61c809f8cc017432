"""The command: python -m stevec_compare A… -- B…."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from stevec_compare.errors import CompareError
from stevec_report.command_parser import CommandParser

DESCRIPTION = "What differs between two versions, or two runs, of one experiment: B against A, cell by cell."
EPILOG = """\
The unit is the run: name two or more of each version, A's before -- and B's after it, or measure
them with `stevec compare-run`. With one run of each, the command says what differs between these
two runs, and calls nothing real: the next run of either may differ as much.

A gate is a JSON file of limits, for all cells or for some:
  { "mean_ratio_max": 1.1, "p95_ratio_max": 1.2, "failures_max": 0,
    "cells": [{ "where": { "door": "cached" }, "hit_ratio_min": 0.9, "stale_ratio_max": 0.01 }] }
A limit is violated when the whole 95 % interval is beyond it, and undecided when a part is, which
passes unless the gate says "undecided": "fail". A cell that has a limit, and no valid trial in B,
violates it. docs/comparing.md has all limits.

examples:
  stevec compare results/before results/after
  stevec compare A1 A2 A3 -- B1 B2 B3 --gate gate.json --svg compare.svg
  stevec compare A B --spread results/same-version     (a folder of three or more runs)
  stevec compare A1 A2 A3 -- B1 B2 B3 --json > today.json; stevec compare B1 C --spread today.json

Exit status: 0 compared and no gate violated, 1 a gate is violated, 2 wrong use or incomparable
runs, 3 a defect.
"""
DEFECT = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = CommandParser(
        prog="stevec compare",
        usage="%(prog)s [options] A B\n       %(prog)s [options] A1 A2 … -- B1 B2 …",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", metavar="RUN", nargs="*", help="folders of complete runs")
    parser.add_argument("--gate", metavar="FILE", help="limits that B has to keep")
    parser.add_argument("--svg", metavar="FILE", help="draw the comparison into this file")
    parser.add_argument(
        "--spread",
        metavar="PATH",
        action="append",
        default=[],
        help="runs of one version on this machine, from which the spread between runs is known: a run, a folder of "
        "runs, or the JSON of a comparison; may be repeated",
    )
    parser.add_argument("--force", action="store_true", help="compare runs of different hosts or versions")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    before, after = _at_dashes(sys.argv[1:] if arguments is None else arguments)
    options, more = parser.parse_args(before), parser.parse_args(after)
    try:
        for name in ("gate", "svg", "force", "json"):
            setattr(options, name, getattr(options, name) or getattr(more, name))
        sides = _sides(options.runs, more.runs)
        if options.svg and not options.svg.endswith(".svg"):
            raise CompareError(f"--svg {options.svg} does not end in .svg")
        # These take a second to load, which --help and a wrong option need not wait for.
        from stevec_compare import gate as gates
        from stevec_compare import output
        from stevec_compare.folders import compare

        gate = gates.read_gate(options.gate) if options.gate else None
        compared = compare(*sides, [*options.spread, *more.spread], options.force)
        comparison = compared.comparison
        verdicts = gates.judge(gate, comparison) if gate else []
        if options.svg:
            from stevec_compare import picture

            Path(options.svg).write_text(picture.draw(comparison), encoding="utf-8")
    except (CompareError, OSError) as error:
        parser.error(str(error))
    for line in [output.as_json(compared, verdicts)] if options.json else output.lines(comparison, verdicts):
        print(line)
    return 1 if gate and gates.fails(gate, verdicts) else 0


def _at_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before `--` and after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return list(arguments[:at]), list(arguments[at + 1 :])


def _sides(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """The runs of A and of B; CompareError if it is not clear which are which."""
    if before and after:
        return before, after
    if len(before) == 2:
        return before[:1], before[1:]
    raise CompareError("which runs? A and B, or A1 A2 … -- B1 B2 …")


if __name__ == "__main__":
    try:
        status = main()
    except Exception:
        # Python would exit with 1, the status of a violated gate.
        traceback.print_exc()
        status = DEFECT
    sys.exit(status)
