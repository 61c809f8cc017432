"""The drift check of every section: did the times change over the run?"""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure as MplFigure

from stevec_report import intervals, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Figure, Words
from stevec_report.figures import drift as drift_figure
from stevec_report.intervals import Interval
from stevec_report.outcomes import cells


def blocks(analysis: Analysis) -> list[Block]:
    """The figure of the drift check, or a note that there is none."""
    series = relative_means(analysis)
    if not series:
        return [Words("note", "There is no check against drift: no cell has two valid trials.")]
    trend = run_drift(series)
    caption = "Drift check: the mean of each trial against that of its cell, in the order the trials were run. "
    if trend is None:
        caption += "There are too few valid trials to tell a trend."
    elif _includes_no_change(trend):
        caption += f"Over the run the times changed by {_change(trend)}, which includes no change."
    else:
        caption += (
            f"Over the run the times drifted by {_change(trend)}. Cells were shuffled within each repetition, so "
            "ratios suffer less from this than means do."
        )
    return [Figure("drift", "Trial means in the order of time", caption, lambda: _draw_drift(analysis, series, trend))]


def relative_means(analysis: Analysis) -> list[dict[str, Any]]:
    """{"door", "moments", "relative"} for each cell with two valid trials: trial means relative to the cell's mean."""
    series = []
    for members in cells(analysis.valid).values():
        timed = [(o.record.started_at, o.mean_ms, o.door) for o in members if o.mean_ms]
        if len(timed) > 1:
            moments, means, doors = zip(*sorted(timed, key=lambda entry: entry[0]), strict=True)
            centre = intervals.geometric_mean(means).centre
            relative = [mean / centre for mean in means]
            series.append({"door": doors[0], "moments": list(moments), "relative": relative})
    return series


def run_drift(series: Sequence[dict[str, Any]]) -> Interval | None:
    """The common drift of all cells over the run: the `Interval` of a factor, or None."""
    moments = [moment for line in series for moment in line["moments"]]
    if not moments or min(moments) == max(moments):
        return None
    first, length_s = min(moments), (max(moments) - min(moments)).total_seconds()
    return intervals.drift(
        [
            ([(moment - first).total_seconds() / length_s for moment in line["moments"]], line["relative"])
            for line in series
        ]
    )


def _draw_drift(analysis: Analysis, series: Sequence[dict[str, Any]], trend: Interval | None) -> MplFigure:
    begin = min(o.record.started_at for o in analysis.outcomes if o.record)
    doors: dict[str, dict[str, Any]] = {}
    for line in series:
        own = doors.setdefault(line["door"], {"door": line["door"], "minutes": [], "relative": []})
        own["minutes"] += [(moment - begin).total_seconds() / 60 for moment in line["moments"]]
        own["relative"] += line["relative"]
    invalid = [
        (o.record.started_at - begin).total_seconds() / 60 for o in analysis.outcomes if o.record and not o.valid
    ]
    fit = None
    if trend is not None:
        minutes = [minute for line in doors.values() for minute in line["minutes"]]
        first, last, middle = min(minutes), max(minutes), sum(minutes) / len(minutes)
        fit = (
            (first, last),
            tuple(trend.centre ** ((minute - middle) / (last - first)) for minute in (first, last)),
        )
    ordered = [doors[door] for door in analysis.run.doors if door in doors]
    return drift_figure.draw(ordered, invalid, fit)


def _includes_no_change(trend: Interval) -> bool:
    return trend.bounds is None or trend.bounds[0] <= 1 <= trend.bounds[1]


def _change(trend: Interval) -> str:
    bounds = " to ".join(wording.signed_percent(bound) for bound in trend.bounds or ())
    return f"{wording.signed_percent(trend.centre)} (95 % interval {bounds})"
