"""E3's curve of saturation: throughput, response time and failures of each door against the load."""

import statistics
from collections.abc import Sequence
from typing import Any

from stevec_report import limits, measures, percentiles, saturation, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Column, Figure, Table
from stevec_report.figures import saturation as saturation_figure
from stevec_report.intervals import geometric_centre
from stevec_report.origin import without_capacity
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.tolerance import TOLERATED_MS


def blocks(analysis: Analysis) -> list[Block]:
    """The curve and the table of the loads at which each door gives way; a note where the origin was emulated."""
    if analysis.run.origin.emulated:
        return [without_capacity("The saturation curve and the load at which response times grow,")]
    doors = {door: saturation_of(analysis, door) for door in analysis.run.doors}
    return [
        Figure(
            "saturation",
            "Throughput, response time and failures against the load",
            "Saturation, in the closed model: requests completed a second (background and probe), the probe's "
            "response time (logarithmic), and the share of all requests that failed, against the number of "
            f"background requesters. {_law_words(doors)} Hollow points are of limited trials: they say nothing of "
            "the server, and are in no line, law or knee. A dash-dotted line marks the knee.",
            lambda: saturation_figure.draw(doors, "parallel background requesters"),
        ),
        _knee_table(analysis, doors),
    ]


def mean_at(analysis: Analysis, door: str, level: Any) -> float | None:
    """Geometric mean of the probe's trial means at one level, without limited trials; None without any."""
    trials = measures.judged("wait_ms", analysis.select(door=door, background_vus=level))
    return geometric_centre([o.stats.wait_ms for o in trials])


def saturation_of(analysis: Analysis, door: str) -> dict[str, Any]:
    """The points of one door, its scalability law and its knee, as `figures/saturation.py` draws them."""
    points = [
        _point(level, trials)
        for level in loads(analysis)
        for trials in limits.apart(analysis.select(door=door, background_vus=level))
    ]
    good = [p for p in points if not p["limited_by"]]
    law = None
    if any(p["load"] > 0 for p in good):
        # + 1: the probe is a requester too.
        law = saturation.fit_scalability([p["load"] + 1 for p in good], [p["per_s"] or 0 for p in good])
    return {"points": points, "law": law, "knee": _crossing(analysis, door, TOLERATED_MS)}


def _crossing(analysis: Analysis, door: str, limit_ms: float) -> float | None:
    """The load at which the mean first exceeds `limit_ms`; None if it never does, or if it cannot be told."""
    levels = loads(analysis)
    return saturation.crossing(levels, [mean_at(analysis, door, level) for level in levels], limit_ms)


def loads(analysis: Analysis) -> list[float]:
    """The planned numbers of background requesters, rising; a level without a valid trial is among them."""
    return [level for level in analysis.levels("background_vus") if type(level) in (int, float)]


def _point(level: float, trials: Sequence[MeasuredOutcome]) -> dict[str, Any]:
    completed = [
        (o.stats.completed_per_s or 0) + ((o.stats.background.completed_per_s or 0) if o.stats.background else 0)
        for o in trials
    ]
    stats = [s for o in trials for s in (o.stats, o.stats.background) if s]
    means = [o.stats.wait_ms for o in trials]
    p99 = percentiles.over_trials(trials, 0.99)
    return {
        "load": level,
        "per_s": statistics.median(completed),
        "mean_ms": geometric_centre(means),
        "p99_ms": p99.centre if p99 else None,
        "failed": sum(s.failures for s in stats) / sum(s.requests for s in stats),
        "limited_by": limits.cell_text(trials),
    }


def _knee_table(analysis: Analysis, doors: dict[str, dict[str, Any]]) -> Table:
    columns = [
        Column("door", "door", "text", left=True),
        Column("over_4_s_at", "mean over 4 s from", "number"),
        Column("over_twice_idle_at", "mean over 2 × the unloaded from", "number"),
        Column("most_per_s", "most completed, 1/s", "number"),
        Column("r2", "R² of the scalability law", "text"),
        Column("limited_points", "levels with limited trials", "count"),
    ]
    rows = []
    for door, own in doors.items():
        idle = mean_at(analysis, door, 0)
        rows.append(
            {
                "door": door,
                "over_4_s_at": own["knee"],
                "over_twice_idle_at": _crossing(analysis, door, saturation.DEGRADED * idle) if idle else None,
                "most_per_s": max((p["per_s"] for p in own["points"] if not p["limited_by"]), default=None),
                "r2": f"{own['law'].r2:.2f}" if own["law"] else "no fit with R² ≥ 0.9",
                "limited_points": sum(bool(p["limited_by"]) for p in own["points"]),
            }
        )
    return Table(
        "knee",
        "Where each door gives way.",
        "The number of background requesters at which the probe's mean first crosses the limit, on straight lines "
        "between the levels; a dash where it never does, or where it cannot be decided: limited trials are left out, "
        "and no line is drawn across a level of which no other is left.",
        columns,
        rows,
    )


def _law_words(doors: dict[str, dict[str, Any]]) -> str:
    fitted = [
        f"{name} λ = {wording.three_digits(own['law'].lambda_per_s)}/s, σ = {own['law'].sigma:.2g}, "
        f"κ = {own['law'].kappa:.2g}, R² = {own['law'].r2:.2f}"
        for name, own in doors.items()
        if own["law"]
    ]
    if not fitted:
        return "The Universal Scalability Law fits no door with an R² of 0.9, so none is drawn."
    return f"The Universal Scalability Law is drawn where its R² is 0.9 or more: {'; '.join(fitted)}."
