"""Limits that a run has to keep, for continuous integration.

A gate is a JSON object with any of `LIMITS`, for all cells, and `cells`, a list of objects with `where`
(levels of factors) and limits that replace them for those cells. A limit is violated when the whole interval of its
value lies beyond it, and kept when none of it does. Otherwise the runs are too few to tell: the outcome is undecided,
which passes unless the gate says "undecided": "fail". No failure and no stale read at all keep any limit. Times and
failures of limited trials are left out; without others a limit on them is undecided. A cell without a valid trial in B
violates every limit that applies to it: a limit is not kept where nothing was measured.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import stats

from stevec_compare.comparison import Comparison
from stevec_compare.counts import total
from stevec_compare.errors import CompareError
from stevec_compare.run_values import values_of
from stevec_report import limits, wording
from stevec_report.hypothesis_tests import ALPHA
from stevec_report.intervals import Interval
from stevec_report.levels import level_text
from stevec_report.power import POWER, detectable

FILE_MAX_BYTES = 100_000
LIMITS = {
    "mean_ratio_max": "mean response time, B ÷ A",
    "p95_ratio_max": "95th percentile of response times, B ÷ A",
    "hit_ratio_min": "hit ratio of B",
    "stale_ratio_max": "stale reads of B",
    "failures_max": "failed requests of a run of B",
}
RATIOS = {"mean_ratio_max": "mean_ms", "p95_ratio_max": "p95_ms"}
SHARES = {"hit_ratio_min": "hit_ratio", "stale_ratio_max": "stale_ratio", "failures_max": "failed_ratio"}


@dataclass(frozen=True)
class Verdict:
    """The result of one limit for one cell: `outcome` is kept, violated or undecided; `text` has the numbers.

    `detectable` is the true value beyond the limit that would be found in 80 % of cases, None if not known.
    """

    cell: str
    limit: str
    outcome: str
    text: str
    detectable: float | None = None


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
    cells = {cell: None for run in (*comparison.first, *comparison.second) for cell in run.cells}
    limits = {cell: {name: gate[name] for name in LIMITS if name in gate} for cell in cells}
    for entry in gate.get("cells", []):
        where = {str(factor): level_text(level) for factor, level in entry["where"].items()}
        met = [cell for cell in limits if where.items() <= comparison.levels.get(cell, {}).items()]
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
    if not any(cell in run.cells for run in comparison.second):
        return Verdict(cell, name, "violated", "B has no valid trial of it")
    if name in RATIOS:
        return _judge_ratio(comparison, cell, name, limit)
    measure = SHARES[name]
    value = comparison.shares.get((measure, cell))
    if value is None:
        unknown = _say_undecided(comparison, cell) if name == "failures_max" else "it was not measured here"
        return Verdict(cell, name, "undecided", unknown)
    scale = 1.0
    if name == "failures_max":
        counted = [run.counts.get((measure, cell)) for run in map(values_of, comparison.second)]
        known = [one for one in counted if one is not None]
        scale = total(known).of / len(known)  # requests of a run
    value = value.map(lambda share: scale * share)
    is_least = name == "hit_ratio_min"
    none_at_all = not is_least and value.centre == 0
    outcome = "kept" if none_at_all else _outcome(value, limit, is_least)
    found = None
    if value.bounds and value.bounds[0] < value.bounds[1]:
        error = (value.bounds[1] - value.bounds[0]) / 2 / float(stats.norm.isf(ALPHA / 2))
        found = limit + (-1 if is_least else 1) * detectable(error, math.inf, ALPHA)
    words = _bounds(value, ".4g")
    kind = "least" if is_least else "most"
    text = f"{words}, at {kind} {limit:g}{_found_from(found, '.4g')}{_only(comparison)}"
    return Verdict(cell, name, outcome, text, found)


def _judge_ratio(comparison: Comparison, cell: str, name: str, limit: float) -> Verdict:
    difference = comparison.differences[RATIOS[name]].get(cell)
    if difference is None:
        return Verdict(cell, name, "undecided", _say_undecided(comparison, cell))
    value = Interval(difference.estimate, difference.low, difference.high, 0)
    least = difference.detectable_at(ALPHA)
    found = None if least is None else limit * least
    text = f"{_bounds(value, '.3g')}, at most {limit:g}{_found_from(found, '.3g')}{_only(comparison)}"
    return Verdict(cell, name, _outcome(value, limit, False), text, found)


def _outcome(value: Interval, limit: float, is_least: bool) -> str:
    if value.bounds is None:
        return "undecided"
    worst, best = value.bounds if is_least else (-value.bounds[1], -value.bounds[0])
    signed = limit if is_least else -limit
    return "kept" if worst >= signed else "violated" if best < signed else "undecided"


def _bounds(value: Interval, digits: str) -> str:
    shown = "no interval" if value.bounds is None else f"{value.bounds[0]:{digits}} to {value.bounds[1]:{digits}}"
    return f"{value.centre:{digits}} ({shown})"


def _found_from(found: float | None, digits: str) -> str:
    return "" if found is None else f"; a true {found:{digits}} would be found in {100 * POWER:.0f} % of cases"


def _only(comparison: Comparison) -> str:
    return "" if comparison.unit == "run" else ", in these two runs"


def _say_undecided(comparison: Comparison, cell: str) -> str:
    """Why a time or failures of a cell cannot be compared."""
    for side in (comparison.second, comparison.first):
        trials = [trial for run in side for trial in run.cells.get(cell, [])]
        if trials and all(one.limited_by for one in trials):
            names = wording.join_words(sorted({limits.WORDS[one.limited_by] for one in trials if one.limited_by}))
            runs = wording.join_words([run.name for run in side])
            return f"it cannot be decided: all its trials in {runs} were limited by {names}. {limits.ADVICE}"
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
