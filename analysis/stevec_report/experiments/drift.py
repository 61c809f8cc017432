"""The checks against drift of every section: did the times change over the run, or in the course of a trial?

Limited trials are drawn, and are in neither verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure as MplFigure

from stevec_report import dependence, intervals, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Cell, Column, Figure, Table, Words, trials_cell
from stevec_report.early import FIRST_MIN, FIRST_SHARE, KINDS, EarlyTime
from stevec_report.figures import drift as drift_figure
from stevec_report.hypothesis_tests import ALPHA, holm, t_test
from stevec_report.intervals import Interval
from stevec_report.measures import judged
from stevec_report.outcomes import CellKey, MeasuredOutcome, cell_text, cells

RATIO_MIN = 1.1  # a smaller change within a trial is not worth a warning


def blocks(analysis: Analysis) -> list[Block]:
    """The figure of the drift over the run, or a note that there is none, and the table of drift within trials."""
    return [*_over_run(analysis), *_within_table(within_trials(analysis))]


def _over_run(analysis: Analysis) -> list[Block]:
    series = relative_means(analysis)
    if not series:
        return [Words("note", "There is no check against drift: no cell has two valid trials.")]
    trend = run_drift(series)
    caption = "Drift check: the mean of each trial ÷ the mean of its cell, in the order of time. "
    if trend is None:
        caption += "There are too few valid trials to tell a trend."
    elif includes_no_change(trend):
        caption += f"Over the run the times changed by {change(trend)}, which includes no change."
    else:
        caption += (
            f"Over the run the times drifted by {change(trend)}. Cells are shuffled within each repetition, so ratios "
            "suffer less from it than means do."
        )
    return [Figure("drift", "Trial means in the order of time", caption, lambda: _draw_drift(analysis, series, trend))]


@dataclass(frozen=True)
class Within:
    """Requests of one kind in the trials of one cell: the ratio of their first tenth to their last half.

    `first_ms`, `later_ms` are geometric means over the `trials`, numbers of trials; `requests` is of all of them.
    `p` is of a t test that the ratio is 1, after Holm's correction over all groups of the run; None for one trial.
    """

    cell: CellKey
    kind: str
    requests: int
    first_ms: float
    later_ms: float
    ratio: Interval
    p: float | None
    trials: tuple[int, ...]

    @property
    def is_large(self) -> bool:
        """Whether the ratio is beyond RATIO_MIN either way, by chance or not."""
        return not 1 / RATIO_MIN <= self.ratio.centre <= RATIO_MIN

    @property
    def is_drift(self) -> bool:
        """Whether the ratio is large, and that is more than chance."""
        return self.is_large and self.p is not None and self.p < ALPHA


def within_trials(analysis: Analysis) -> list[Within]:
    """A `Within` of each cell and kind of request that has enough of them in a trial that may be judged."""
    found = []
    for cell, members in cells(judged("mean_ms", analysis.valid)).items():
        for kind in KINDS:
            early = {o.number: o.stats.early[kind] for o in members if kind in o.stats.early}
            if early:
                found.append(_within(cell, kind, early))
    corrected = holm({at: one.p for at, one in enumerate(found) if one.p is not None})
    return [replace(one, p=corrected.get(at)) for at, one in enumerate(found)]


def _within(cell: CellKey, kind: str, early: dict[int, EarlyTime]) -> Within:
    """`early` is {number of a trial: its times}. The p is not corrected yet."""
    times = list(early.values())
    ratios = [time.ratio for time in times]
    return Within(
        cell,
        kind,
        sum(time.requests for time in times),
        intervals.geometric_mean([time.first_ms for time in times]).centre,
        intervals.geometric_mean([time.later_ms for time in times]).centre,
        intervals.geometric_mean(ratios),
        t_test(ratios),
        tuple(early),
    )


def _within_table(found: Sequence[Within]) -> list[Block]:
    if not found:
        return []
    rows = [
        {
            "cell": cell_text(one.cell),
            "kind": one.kind,
            "requests": one.requests,
            "first_ms": one.first_ms,
            "later_ms": one.later_ms,
            "ratio": one.ratio,
            "p_holm": one.p,
            "drift": Cell("drift", mark="invalid") if one.is_drift else Cell(""),
            "trials": trials_cell(one.trials),
        }
        for one in found
    ]
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("kind", "kind", "text", left=True),
        Column("requests", "requests", "count"),
        Column("first_ms", "first tenth, ms"),
        Column("later_ms", "last half, ms"),
        Column("ratio", "first ÷ last (95 % interval)", "interval"),
        Column("p_holm", "p, Holm", "p"),
        Column("drift", "", "text", left=True),
        TRIALS_COLUMN,
    ]
    note = (
        f"Mean duration of the first {100 * FIRST_SHARE:g} % of the requests of a trial, at least {FIRST_MIN}, against "
        f"its last half; geometric means over trials that were not limited. Drift: p after Holm's correction is below "
        f"{ALPHA:g}, and the ratio is beyond {RATIO_MIN:g} either way."
    )
    return [Table("drift-within", "Did the times change in the course of a trial?", note, columns, rows)]


def relative_means(analysis: Analysis) -> list[dict[str, Any]]:
    """Trial means relative to those of their cell under the same conditions, where it has two valid trials.

    Returns:
        A list of {"door", "moments", "positions", "relative", "limited_by"}, of each trial when it began, its place in
        the order of trials, its relative mean, and what limited it or None. The mean to which they relate is of trials
        that were not limited.
    """
    groups: dict[tuple[CellKey, int], list[MeasuredOutcome]] = {}
    for cell, members in cells(analysis.valid).items():
        for o in members:
            if o.mean_ms:
                groups.setdefault((cell, o.conditions.number), []).append(o)
    series, positions = [], dependence.positions_of(analysis)
    for members in groups.values():
        members.sort(key=lambda o: o.record.started_at)
        own = [o.mean_ms or 0.0 for o in judged("mean_ms", members)]
        if len(members) > 1 and own:
            centre = intervals.geometric_mean(own).centre
            series.append(
                {
                    "door": members[0].door,
                    "moments": [o.record.started_at for o in members],
                    "positions": [positions[o.number] for o in members],
                    "relative": [(o.mean_ms or 0.0) / centre for o in members],
                    "limited_by": [o.limited_by for o in members],
                }
            )
    return series


def run_drift(series: Sequence[dict[str, Any]]) -> Interval | None:
    """The common drift of all cells over the run, without limited trials: the `Interval` of a factor, or None."""
    series = [_without_limited(line) for line in series]
    series = [line for line in series if len(line["moments"]) > 1]
    moments = [moment for line in series for moment in line["moments"]]
    if not moments or min(moments) == max(moments):
        return None
    first, length_s = min(moments), (max(moments) - min(moments)).total_seconds()
    return dependence.drift(
        [
            (
                [(moment - first).total_seconds() / length_s for moment in line["moments"]],
                line["relative"],
                line["positions"],
            )
            for line in series
        ]
    )


def _without_limited(line: dict[str, Any]) -> dict[str, Any]:
    kept = [at for at, limit in enumerate(line["limited_by"]) if limit is None]
    return {key: [line[key][at] for at in kept] for key in ("moments", "positions", "relative")}


def _draw_drift(analysis: Analysis, series: Sequence[dict[str, Any]], trend: Interval | None) -> MplFigure:
    begin = min(o.record.started_at for o in analysis.outcomes if o.record)
    doors: dict[str, dict[str, Any]] = {}
    for line in series:
        own = doors.setdefault(line["door"], {"door": line["door"], "minutes": [], "points": []})
        own["minutes"] += [(moment - begin).total_seconds() / 60 for moment in line["moments"]]
        own["points"] += zip(line["relative"], line["limited_by"], strict=True)
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


def includes_no_change(trend: Interval) -> bool:
    """Whether the interval of a trend includes 1."""
    return trend.bounds is None or trend.bounds[0] <= 1 <= trend.bounds[1]


def change(trend: Interval) -> str:
    """`−23.0 % (−29.3 … −16.1 %)`."""
    space = wording.NARROW_SPACE
    bounds = f"{space}…{space}".join(wording.signed_percent(bound) for bound in trend.bounds or ())
    return f"{wording.signed_percent(trend.centre)} ({bounds.replace(' %', '', 1)})"
