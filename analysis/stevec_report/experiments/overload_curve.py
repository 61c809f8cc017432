"""E3's curve of saturation: throughput, response time and failures of each door against the load."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stevec_report import limits, measures, percentiles, saturation, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Cell, Column, Figure, Table
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.figures import saturation as saturation_figure
from stevec_report.intervals import Interval
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
            "the server, and are in no line, law or knee; a level without others interrupts the line. Upright lines "
            "are 95 % intervals. A dash-dotted line marks a knee, the band its interval.",
            lambda: saturation_figure.draw(doors, "parallel background requesters"),
        ),
        _knee_table(analysis, doors),
    ]


def mean_at(analysis: Analysis, door: str, level: Any) -> Interval | None:
    """Geometric mean of the probe's trial means at one level, without limited trials; None without any."""
    trials = measures.judged("wait_ms", analysis.select(door=door, background_vus=level))
    return run_dependence(analysis).mean("wait_ms", trials)


def saturation_of(analysis: Analysis, door: str) -> dict[str, Any]:
    """The points of one door, its scalability law and its knee, as `figures/saturation.py` draws them."""
    depending = run_dependence(analysis)
    points = [
        _point(level, trials, depending)
        for level in loads(analysis)
        for trials in limits.apart(analysis.select(door=door, background_vus=level))
    ]
    # + 1: the probe is a requester too.
    requesters = [level + 1 for level in loads(analysis)]
    law = saturation.fit_scalability_of_blocks(requesters, _by_block(analysis, door, _completed_per_s))
    knee = find_knee(analysis, door, TOLERATED_MS)
    return {"points": points, "law": law, "knee": knee.load, "knee_interval": knee.interval}


def find_knee(analysis: Analysis, door: str, limit_ms: float | None = None) -> saturation.Knee:
    """The load from which on the mean exceeds `limit_ms`, or DEGRADED times the mean without a background."""
    levels, blocks_ms = loads(analysis), _by_block(analysis, door, lambda o: o.stats.wait_ms)
    if limit_ms is None and 0 not in levels:
        return saturation.Knee(None, None, None, len(blocks_ms))
    return saturation.find_knee(levels, blocks_ms, limit_ms)


def _by_block(analysis: Analysis, door: str, of: Callable[[MeasuredOutcome], float]) -> np.ndarray:
    """(blocks, levels) of a time of the trials that were not limited, NaN where there is none."""
    levels = loads(analysis)
    trials = measures.judged("wait_ms", analysis.select(door=door))
    blocks = sorted({o.block for o in trials})
    found = np.full((len(blocks), len(levels)), np.nan)
    for o in trials:
        found[blocks.index(o.block), levels.index(o.record.number("background_vus"))] = of(o)
    return found


def _completed_per_s(trial: MeasuredOutcome) -> float:
    background = trial.stats.background
    return (trial.stats.completed_per_s or 0) + ((background.completed_per_s or 0) if background else 0)


def loads(analysis: Analysis) -> list[float]:
    """The planned numbers of background requesters, rising; a level without a valid trial is among them."""
    return [level for level in analysis.levels("background_vus") if type(level) in (int, float)]


def _point(level: float, trials: Sequence[MeasuredOutcome], depending: Dependence) -> dict[str, Any]:
    completed = {o.number: _completed_per_s(o) for o in trials}
    stats = [s for o in trials for s in (o.stats, o.stats.background) if s]
    mean_ms = depending.mean("wait_ms", trials)
    p99 = percentiles.over_trials(trials, 0.99, depending)
    return {
        "load": level,
        "per_s": statistics.fmean(completed.values()),
        "per_s_trials": list(completed.values()),
        "per_s_interval": depending.arithmetic(completed),
        "mean_ms": mean_ms.centre if mean_ms else None,
        "mean_ms_trials": [o.stats.wait_ms for o in trials],
        "mean_ms_interval": mean_ms,
        "p99_ms": p99.centre if p99 else None,
        "failed": sum(s.failures for s in stats) / sum(s.requests for s in stats),
        "limited_by": limits.cell_text(trials),
    }


def _knee_table(analysis: Analysis, doors: dict[str, dict[str, Any]]) -> Table:
    columns = [
        Column("door", "door", "text", left=True),
        Column("over_4_s_at", "mean over 4 s from", "interval"),
        Column("over_twice_idle_at", "mean over 2 × the unloaded from", "interval"),
        Column("most_per_s", "most completed, 1/s", "number"),
        Column("r2", "R² of the scalability law", "text"),
        Column("limited_points", "levels with limited trials", "count"),
    ]
    rows = []
    for door, own in doors.items():
        rows.append(
            {
                "door": door,
                "over_4_s_at": _knee_cell(find_knee(analysis, door, TOLERATED_MS)),
                "over_twice_idle_at": _knee_cell(find_knee(analysis, door)),
                "most_per_s": max((p["per_s"] for p in own["points"] if not p["limited_by"]), default=None),
                "r2": f"{own['law'].r2:.2f}" if own["law"] else "no fit with R² ≥ 0.9",
                "limited_points": sum(bool(p["limited_by"]) for p in own["points"]),
            }
        )
    return Table(
        "knee",
        "Where each door gives way.",
        "The number of background requesters from which on the probe's mean is beyond the limit, on straight lines "
        "between the levels, with the 95 % interval of a bootstrap over repetitions. A knee is found where nearly all "
        "samples of the bootstrap have it, and not across a level of which all trials were limited.",
        columns,
        rows,
    )


def _knee_cell(knee: saturation.Knee) -> Cell:
    if knee.load is None:
        return Cell(None, text=str(knee))
    low, high = (None, None) if knee.interval is None else map(saturation.round_load, knee.interval)
    return Cell(Interval(saturation.round_load(knee.load), low, high, knee.blocks), text=str(knee))


def _law_words(doors: dict[str, dict[str, Any]]) -> str:
    fitted = [f"{name} {_law_text(own['law'])}" for name, own in doors.items() if own["law"]]
    if not fitted:
        return "The Universal Scalability Law fits no door with an R² of 0.9, so none is drawn."
    return f"The Universal Scalability Law is drawn where its R² is 0.9 or more: {'; '.join(fitted)}."


def _law_text(law: saturation.ScalabilityLaw) -> str:
    texts = [f"λ = {wording.three_digits(law.lambda_per_s)}/s", f"σ = {law.sigma:.2g}", f"κ = {law.kappa:.2g}"]
    if law.bounds:
        bounds = [law.bounds[name] for name in saturation.PARAMETERS]
        texts = [f"{text} ({low:.2g} to {high:.2g})" for text, (low, high) in zip(texts, bounds, strict=True)]
    return f"{', '.join(texts)}, R² = {law.r2:.2f}"
