"""The command: python -m stevec_verify RUN@MS …

Prints a JSON object {run: results of the analysis}. Each RUN ends with @MS or with @ alone. With @MS, the result
includes the number of clients at which the mean response time exceeds MS milliseconds. All values come from the code
that a report uses.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stevec_report import saturation
from stevec_report.analysis import Analysis, analyse
from stevec_report.intervals import geometric_mean
from stevec_report.measures import judged
from stevec_report.outcomes import Outcome
from stevec_report.run_folder import read_run


def describe(path: str | Path, limit_ms: float | None) -> dict[str, Any]:
    """Return the results of the analysis for the run in `path`, as plain values."""
    analysis = analyse(read_run(Path(path)))
    try:
        trials = [_describe_trial(analysis, outcome) for outcome in analysis.outcomes]
        levels: dict[float, list[float]] = {}
        for outcome in judged("mean_ms", analysis.valid):
            if outcome.mean_ms is not None:
                levels.setdefault(outcome.record.number("vus"), []).append(outcome.mean_ms)
        means = [geometric_mean(levels[level]).centre for level in sorted(levels)]
        knee = None if limit_ms is None else saturation.crossing(sorted(levels), means, limit_ms)
        return {"trials": trials, "crossing_vus": knee}
    finally:
        analysis.close()


def _describe_trial(analysis: Analysis, outcome: Outcome) -> dict[str, Any]:
    record, stats = outcome.record, outcome.stats
    found = {"trial": outcome.number, "valid": outcome.valid, "reasons": list(outcome.reasons)}
    if record is None or stats is None:
        return found
    found |= {
        "settings": record.settings,
        "vus": record.number("vus"),
        "requests": stats.requests,
        "served_by_cache": stats.served_by_cache,
        "hit_ratio": stats.hit_ratio,
        "completed_per_s": stats.completed_per_s,
        "mean_ms": stats.mean_ms,
        **{f"p{100 * level:.0f}_ms": stats.percentile_ms(level) for level in (0.5, 0.9, 0.99)},
        "generator_cpu_share": record.generator_cpu_share,
        "limit": record.limit,
        "disturbed": outcome.disturbed,
        "saturation": asdict(outcome.saturation) if outcome.saturation else None,
    }
    if stats.stale_ratio is not None:
        freshness = analysis.samples.freshness(outcome.number)
        found["freshness"] = freshness.summary() | {"versions_behind_sum": int(freshness.versions_behind.sum())}
    return found


def main(arguments: Sequence[str]) -> None:
    """Describe each run and print them."""
    described = {}
    for argument in arguments:
        path, _, limit_ms = argument.rpartition("@")
        described[path] = describe(path, float(limit_ms) if limit_ms else None)
    print(json.dumps(described))


if __name__ == "__main__":
    main(sys.argv[1:])
