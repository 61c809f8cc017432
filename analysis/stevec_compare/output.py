"""A comparison as the lines of a table, and as JSON."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from stevec_compare.comparison import Comparison
from stevec_compare.difference import Difference
from stevec_compare.folders import Compared
from stevec_compare.gate import Verdict
from stevec_compare.run import RunNumbers
from stevec_compare.run_values import RATIOS, values_of
from stevec_compare.spread import as_json as run_as_json
from stevec_report import wording
from stevec_report.power import POWER

NAMES = {
    "mean_ms": "mean",
    "p95_ms": "p95",
    "hit_ratio": "hit ratio",
    "stale_ratio": "stale reads",
    "failed_ratio": "failed requests",
}


def lines(comparison: Comparison, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The table, line by line."""
    for side, runs in (("A", comparison.first), ("B", comparison.second)):
        for run in runs:
            yield f"{side} {run.name}: {run.counts}"
    yield from _method(comparison)
    for measure, rows in comparison.differences.items():
        if not rows:
            continue
        yield ""
        yield f"{NAMES[measure]}, {'B ÷ A' if measure in RATIOS else 'B - A, points'}"
        width = max(len(cell) for cell in rows)
        for cell, found in rows.items():
            yield f"  {cell:{width}}  {_shown(found)}"
    if comparison.constants:
        yield ""
        yield "the same by the plan, and not tested:"
        for (measure, cell), (_, share) in comparison.constants.items():
            yield f"  {NAMES[measure]} of {cell}: {100 * share:.4g} %"
    yield ""
    yield _conclusion(comparison)
    for verdict in verdicts:
        yield f"gate {verdict.outcome:9} {verdict.limit} at {verdict.cell}: {verdict.text}"
    for warning in comparison.warnings:
        yield f"note: {warning}"


def _method(comparison: Comparison) -> Iterator[str]:
    if comparison.unit == "run":
        known = ", ".join(f"{group[0].name} and {len(group) - 1} more" for group in comparison.spread)
        spread = f", whose spread is also known from {known}" if known else ""
        yield f"the unit is the run{spread}; 95 % intervals; * real (Holm over all of them)"
    else:
        how = "paired by plan" if comparison.paired else "not paired (other plans)"
        yield "one run of each: intervals are of these two runs only, not of their versions"
        yield f"trials are {how}; 95 % intervals; ≠ differs between these two runs (Holm over all of them)"
    yield f"g: effect in standard deviations of a {comparison.unit}; finds: a true difference of this size would be"
    yield f"found in {100 * POWER:.0f} % of such comparisons"


def _conclusion(comparison: Comparison) -> str:
    tests = comparison.tests
    significant = sum(one.significant for one in tests)
    if comparison.unit == "run":
        return f"{wording.part_of(significant, len(tests), 'difference')} {wording.is_or_are(significant)} real."
    verb = "differs" if significant == 1 else "differ"
    return (
        f"{wording.part_of(significant, len(tests), 'measure')} {verb} between these two runs. One run "
        "of each version shows no real difference: name several (A1 A2 … -- B1 B2 …) or --spread"
    )


def _shown(found: Difference) -> str:
    scale, digits = (1, ".3f") if found.is_ratio else (100, "+.2f")
    texts = [f"{scale * found.estimate:{digits}}"]
    if found.low is None or found.high is None:
        texts.append("(too few runs: no interval)" if found.of_versions else "(too few trials: no interval)")
    else:
        texts.append(f"({scale * found.low:{digits}} to {scale * found.high:{digits}})")
    if found.p_holm is not None:
        texts.append(f" p {found.p_holm:.2g}")
    if found.effect is not None:
        texts.append(f" g {found.effect:+.1f}")
    if found.detectable is not None:
        texts.append(f" finds {f'×{found.detectable:.3g}' if found.is_ratio else f'{100 * found.detectable:.2g}'}")
    if found.significant:
        texts.append(" *" if found.real else " ≠")
    return " ".join(texts)


def as_json(compared: Compared, verdicts: Sequence[Verdict]) -> str:
    """The comparison as one JSON object, which `--spread` reads, too."""
    comparison = compared.comparison
    return json.dumps(
        {
            "unit": comparison.unit,
            "paired": comparison.paired,
            "runs": {
                "first": [_run(run) for run in comparison.first],
                "second": [_run(run) for run in comparison.second],
            },
            "spread": [[run.name for run in group] for group in comparison.spread],
            "differences": {
                measure: {cell: _difference(found) for cell, found in rows.items()}
                for measure, rows in comparison.differences.items()
            },
            "constants": [
                {"measure": measure, "cell": cell, "first": first, "second": second}
                for (measure, cell), (first, second) in comparison.constants.items()
            ],
            "gate": [vars(verdict) for verdict in verdicts],
            "warnings": comparison.warnings,
            "conditions": compared.conditions,
        },
        indent=2,
        ensure_ascii=False,
    )


def _run(run: RunNumbers) -> dict[str, Any]:
    return run_as_json(values_of(run)) | {"trials": run.counts}


def _difference(found: Difference) -> dict[str, Any]:
    return {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "p_holm": found.p_holm,
        "effect": found.effect,
        "detectable": found.detectable,
        "differs": found.significant,
        "real": found.real,
    }
