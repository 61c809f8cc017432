"""The command: python -m stevec_compare A B."""

import argparse
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from stevec_compare.run import CompareError
from stevec_report.command_parser import CommandParser

if TYPE_CHECKING:  # at run time these take a second to load, which --help and a wrong option need not wait for
    from stevec_compare.comparison import Comparison
    from stevec_compare.gate import Verdict
    from stevec_compare.statistics import Difference

DESCRIPTION = "Which differences between two runs of one experiment are real: B against A, cell by cell."
EPILOG = """\
A gate is a JSON file of limits, for all cells or for some:
  { "mean_ratio_max": 1.1, "p95_ratio_max": 1.2, "failures_max": 0,
    "cells": [{ "where": { "door": "cached" }, "hit_ratio_min": 0.9, "stale_ratio_max": 0.01 }] }
A ratio violates its limit when its whole interval does; with "undecided": "fail" also when part of
its interval does. A cell that has a limit, and no valid trial in B, violates it. docs/comparing.md
has all limits.

examples:
  stevec compare results/before results/after
  stevec compare results/before latest --gate gate.json --svg compare.svg

Exit status: 0 compared and no gate violated, 1 a gate is violated, 2 wrong use or incomparable
runs, 3 a defect.
"""
DEFECT = 3
COLUMNS = (("mean_ms", "mean"), ("p95_ms", "p95"), ("hit_ratio", "hit ratio"), ("stale_ratio", "stale reads"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = CommandParser(
        prog="stevec compare",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("first", metavar="A", help="the run that is compared with")
    parser.add_argument("second", metavar="B", help="the run that may differ")
    parser.add_argument("--gate", metavar="FILE", help="limits that B has to keep")
    parser.add_argument("--svg", metavar="FILE", help="draw the comparison into this file")
    parser.add_argument("--force", action="store_true", help="compare runs of different hosts or versions")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args(arguments)
    from stevec_compare import gate as gates
    from stevec_compare.comparison import compare

    try:
        if options.svg and not options.svg.endswith(".svg"):
            raise CompareError(f"--svg {options.svg} does not end in .svg")
        gate = gates.read_gate(options.gate) if options.gate else None
        comparison = compare(options.first, options.second, options.force)
        verdicts = gates.judge(gate, comparison) if gate else []
        if options.svg:
            from stevec_compare import picture

            Path(options.svg).write_text(picture.draw(comparison), encoding="utf-8")
    except (CompareError, OSError) as error:
        parser.error(str(error))
    for line in [_json(comparison, verdicts)] if options.json else _lines(comparison, verdicts):
        print(line)
    return 1 if gate and gates.fails(gate, verdicts) else 0


def _lines(comparison: "Comparison", verdicts: "list[Verdict]") -> Iterator[str]:
    how = "paired by plan" if comparison.paired else "not paired (other plans)"
    yield f"A {comparison.first.name}: {comparison.first.counts}"
    yield f"B {comparison.second.name}: {comparison.second.counts}"
    yield f"trials are {how}; 95 % intervals; * real (Holm over all of them); g: effect in standard deviations"
    real = 0
    for measure, name in COLUMNS:
        rows = comparison.differences[measure]
        if not rows:
            continue
        kind = "B ÷ A" if measure.endswith("_ms") else "B - A, points"
        yield ""
        yield f"{name}, {kind}"
        width = max(len(cell) for cell in rows)
        for cell, found in rows.items():
            real += found.real
            yield f"  {cell:{width}}  {_shown(found, measure)}"
    yield ""
    tests = sum(len(rows) for rows in comparison.differences.values())
    yield f"{real} of {tests} differences are real."
    for verdict in verdicts:
        yield f"gate {verdict.outcome:9} {verdict.limit} at {verdict.cell}: {verdict.text}"
    for warning in comparison.warnings:
        yield f"note: {warning}"


def _shown(found: "Difference", measure: str) -> str:
    scale, digits = (1, ".3f") if measure.endswith("_ms") else (100, "+.2f")
    interval = "(one trial: no interval)"
    if found.low is not None and found.high is not None:
        interval = f"({scale * found.low:{digits}} to {scale * found.high:{digits}})"
    effect = "" if found.effect is None else f"  g {found.effect:+.1f}"
    p = "" if found.p_holm is None else f"  p {found.p_holm:.2g}"
    return f"{scale * found.estimate:{digits}} {interval}{p}{effect}{'  *' if found.real else ''}"


def _json(comparison: "Comparison", verdicts: "list[Verdict]") -> str:
    return json.dumps(
        {
            "first": comparison.first.name,
            "second": comparison.second.name,
            "paired": comparison.paired,
            "differences": {
                measure: {cell: asdict(found) | {"real": found.real} for cell, found in rows.items()}
                for measure, rows in comparison.differences.items()
            },
            "gate": [asdict(verdict) for verdict in verdicts],
            "trials": {"first": comparison.first.counts, "second": comparison.second.counts},
            "warnings": comparison.warnings,
        },
        indent=2,
        ensure_ascii=False,
    )


if __name__ == "__main__":
    try:
        status = main()
    except Exception:
        # Python would exit with 1, the status of a violated gate.
        traceback.print_exc()
        status = DEFECT
    sys.exit(status)
