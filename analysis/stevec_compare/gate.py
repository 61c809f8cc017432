"""Limits that a run has to keep, for continuous integration.

A gate is a JSON object with any of `LIMITS`, for all cells, and `cells`, a list of objects with `where`
(levels of factors) and limits that replace them for those cells. A limit on a ratio is violated when the
whole interval lies above it. If only the centre of the interval lies above it, the trials are too few to tell.
The outcome is then undecided, which passes unless the gate says "undecided": "fail". The other limits apply
to the mean over B's trials. Times and failures of limited trials are left out; without others a limit on them is
undecided, too. A cell without a valid trial in B violates every limit that applies to it:
a limit is not kept where nothing was measured.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stevec_compare.comparison import Comparison
from stevec_compare.run import CompareError
from stevec_report import limits, wording
from stevec_report.levels import level_text

FILE_MAX_BYTES = 100_000
LIMITS = {
    "mean_ratio_max": "mean response time, B ÷ A",
    "p95_ratio_max": "95th percentile of response times, B ÷ A",
    "hit_ratio_min": "hit ratio of B",
    "stale_ratio_max": "stale reads of B",
    "failures_max": "failed requests of B",
}
RATIOS = {"mean_ratio_max": "mean_ms", "p95_ratio_max": "p95_ms"}


@dataclass(frozen=True)
class Verdict:
    """The result of one limit for one cell: `outcome` is kept, violated or undecided; `text` has the numbers."""

    cell: str
    limit: str
    outcome: str
    text: str


def read_gate(path: str | Path) -> dict[str, Any]:
    """Return the gate in a JSON file. CompareError names what is wrong with it."""
    path = Path(path)
    try:
        data = path.read_bytes()[: FILE_MAX_BYTES + 1]
        if len(data) > FILE_MAX_BYTES:
            raise ValueError(f"larger than {FILE_MAX_BYTES} bytes")
        gate = json.loads(data)
        _check(gate, "gate", {"undecided", "cells"})
        if gate.get("undecided", "pass") not in ("pass", "fail"):
            raise ValueError('undecided is "pass" or "fail"')
        cells = gate.get("cells", [])
        if not isinstance(cells, list) or len(cells) > 1000:
            raise ValueError("cells is not a list of at most 1000")
        for number, entry in enumerate(cells):
            _check(entry, f"cells[{number}]", {"where"})
            if not isinstance(entry.get("where"), dict) or not entry["where"]:
                raise ValueError(f'cells[{number}].where is not an object such as {{"door": "cached"}}')
        if not any(name in LIMITS for entry in [gate, *cells] for name in entry):
            raise ValueError(f"no limit; there is: {', '.join(LIMITS)}")
    except OSError as error:
        raise CompareError(f"the gate {path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise CompareError(f"the gate {path}: {error}") from error
    return gate


def judge(gate: dict[str, Any], comparison: Comparison) -> list[Verdict]:
    """Return a list of `Verdict`, one for each limit and cell. CompareError if `where` matches no cell."""
    first, second = comparison.first.cells, comparison.second.cells
    limits = {cell: {name: gate[name] for name in LIMITS if name in gate} for cell in {**first, **second}}
    for entry in gate.get("cells", []):
        where = {str(factor): level_text(level) for factor, level in entry["where"].items()}
        met = [cell for cell in limits if where.items() <= comparison.levels[cell].items()]
        if not met:
            raise CompareError(f"the gate asks for {json.dumps(entry['where'])}, which no cell has")
        for cell in met:
            limits[cell] |= {name: entry[name] for name in LIMITS if name in entry}
    return [
        _judge(comparison, cell, name, limit) for cell, of_cell in limits.items() for name, limit in of_cell.items()
    ]


def fails(gate: dict[str, Any], verdicts: Iterable[Verdict]) -> bool:
    """Whether the run fails the gate."""
    closed = {"violated", "undecided"} if gate.get("undecided") == "fail" else {"violated"}
    return any(verdict.outcome in closed for verdict in verdicts)


def _judge(comparison: Comparison, cell: str, name: str, limit: float) -> Verdict:
    if cell not in comparison.second.cells:
        return Verdict(cell, name, "violated", "B has no valid trial of it")
    if name in RATIOS:
        found = comparison.differences[RATIOS[name]].get(cell)
        if found is None:
            return Verdict(cell, name, "undecided", _say_undecided(comparison, cell))
        shown = "no interval" if found.low is None else f"{found.low:.3g} to {found.high:.3g}"
        text = f"{found.estimate:.3g} ({shown}), at most {limit:g}"
        if found.estimate <= limit:
            return Verdict(cell, name, "kept", text)
        return Verdict(cell, name, "violated" if found.low is not None and found.low > limit else "undecided", text)
    numbers = comparison.second.cells[cell]
    if name == "failures_max":
        known = [count for one in numbers if (count := one.of("failures")) is not None]
        if not known:
            return Verdict(cell, name, "undecided", _say_undecided(comparison, cell))
        failures = int(sum(known))
        return Verdict(cell, name, "kept" if failures <= limit else "violated", f"{failures}, at most {limit:g}")
    field, least = ("hit_ratio", True) if name == "hit_ratio_min" else ("stale_ratio", False)
    values = [value for one in numbers if (value := one.of(field)) is not None]
    if not values:
        return Verdict(cell, name, "undecided", "it was not measured here")
    value = math.fsum(values) / len(values)
    kept = value >= limit if least else value <= limit
    return Verdict(
        cell,
        name,
        "kept" if kept else "violated",
        f"{value:.4g}, at {'least' if least else 'most'} {limit:g}",
    )


def _say_undecided(comparison: Comparison, cell: str) -> str:
    """Why a time or failures of a cell cannot be compared."""
    for run in (comparison.second, comparison.first):
        trials = run.cells.get(cell, [])
        if trials and all(one.limited_by for one in trials):
            names = wording.join_words(sorted({limits.WORDS[one.limited_by] for one in trials if one.limited_by}))
            return f"it cannot be decided: all its trials in {run.name} were limited by {names}. {limits.ADVICE}"
    return "it could not be compared"


def _check(entry: Any, name: str, others: set[str]) -> None:
    if not isinstance(entry, dict):
        raise ValueError(f"{name} is not an object")
    for key, value in entry.items():
        if key in others or key == "$comment":
            continue
        if key not in LIMITS:
            raise ValueError(f"{name} has {key[:60]!r}, which is no limit; there is: {', '.join(LIMITS)}")
        if type(value) not in (int, float) or not math.isfinite(value) or value < 0:
            raise ValueError(f"{name}.{key} is not a number of 0 or more")
