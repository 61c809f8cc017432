"""Mean response times, the study's above and this run's below, on one logarithmic scale; and the ratios of interest.

The study's means are arithmetic, as in its tables, and this run's geometric, as everywhere in a report.
On this scale equal ratios are equal distances, so that patterns can be compared although the hardware differs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import limited, ratios
from stevec_report.figures.ratios import Ratio
from stevec_report.intervals import Interval, t_interval
from stevec_report.measures import Point
from stevec_report.wording import three_digits

ROW_IN = 0.34
PANEL_IN = 0.5  # of a panel beside its rows
DOTS_FROM, DOTS_TO = -0.32, 0.06  # where in a row the trials lie, from the first repetition to the last
INTERVAL_AT = 0.26
SPAN_MIN = 4  # longest ÷ shortest time of the axis, at least


@dataclass(frozen=True)
class Row:
    """The trials of one path or operation, in order of repetition, and their mean; `door` gives the colour."""

    label: str
    door: str
    points: Sequence[Point]
    mean: Interval | None

    @property
    def is_limited(self) -> bool:
        """Whether all trials were limited."""
        return bool(self.points) and all(limit for _, limit in self.points)


def study_row(label: str, door: str, values: Iterable[float]) -> Row:
    """The row of the study's values in ms, one a repetition, with their arithmetic mean."""
    points = limited.unlimited(values)
    return Row(label, door, points, t_interval([ms for ms, _ in points]) if points else None)


def draw(
    study: Sequence[Row],
    ours: Sequence[Row],
    labels: tuple[str, str],
    compared: Sequence[Ratio] = (),
    ratio_label: str = "",
    margin: float | None = None,
    against: float | None = None,
) -> Figure:
    """Draw the study's rows, ours, and the ratios below, if there are some.

    Args:
        labels: titles of the panels of the study and of ours.
        compared: see `ratios.draw_panel`, as `ratio_label` (its title), `margin` and `against`.
    """
    rows = [len(study), len(ours), *([len(compared)] if compared else [])]
    height = sum(PANEL_IN + ROW_IN * max(1, count) for count in rows) + 0.35
    figure, all_axes = plot_style.new_figure(
        height, rows=len(rows), hspace=0.04, height_ratios=[max(1, count) + 0.4 for count in rows]
    )
    for axes, panel, title in zip(all_axes, (study, ours), labels, strict=False):
        _draw_panel(axes, panel, title)
    all_axes[1].sharex(all_axes[0])
    times = [ms for row in (*study, *ours) for ms in _shown(row)]
    ratios.set_log_scale(all_axes[1], times or [1.0], SPAN_MIN)
    all_axes[0].tick_params(labelbottom=False)
    all_axes[1].set_xlabel("mean response time, ms (logarithmic)")
    if compared:
        ratios.draw_panel(all_axes[2], compared, ratio_label, margin, against)
    _explain_marks(figure, all_axes[1], (*study, *ours), any(ratio.study for ratio in compared))
    return figure


def _shown(row: Row) -> list[float]:
    bounds = row.mean.bounds if row.mean else None
    return [ms for ms, _ in row.points] + list(bounds or ())


def _draw_panel(axes: Axes, rows: Sequence[Row], title: str) -> None:
    for at, row in enumerate(rows):
        _draw_row(axes, at, row)
    ratios.label_rows(axes, [row.label for row in rows])
    axes.set_title(title)


def _draw_row(axes: Axes, at: int, row: Row) -> None:
    if row.mean is None:
        ratios.write_value(axes, at, "no valid trial", color=plot_style.MUTED)
        return
    colour, centre = plot_style.door_colour(row.door), row.mean.centre
    count = len(row.points)
    places = np.linspace(DOTS_FROM, DOTS_TO, count) if count > 1 else np.zeros(1)
    limited.scatter_across(axes, at + places, row.points, colour, s=15 if count > 1 else 30)
    if count > 1:
        line = (0, (2, 1)) if row.is_limited else "solid"
        axes.plot([centre] * 2, [at - 0.4, at + 0.4], color=colour, linewidth=2, linestyle=line, zorder=2)
    if row.mean.bounds:
        axes.plot(row.mean.bounds, [at + INTERVAL_AT] * 2, color=plot_style.INK, linewidth=1.3, zorder=3)
    ratios.write_value(axes, at, f"{three_digits(centre)} ms", weight="bold")


def _explain_marks(figure: Figure, axes: Axes, rows: Sequence[Row], has_study_ratio: bool) -> None:
    """Add a legend below the panels for dots, mean and interval; its marks have no data."""
    nothing = [float("nan")]
    line: dict[str, Any] = {"color": plot_style.INK, "linewidth": 1.3, "label": "95 % interval"}
    if any(len(row.points) > 1 for row in rows):
        stroke: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 2, "linestyle": "none"}
        handles: list[Artist] = [axes.scatter([], [], s=15, color=plot_style.MUTED, label="one trial")]
        handles += axes.plot(nothing, nothing, color=plot_style.MUTED, label="mean", **stroke)
    else:
        handles = [axes.scatter([], [], s=30, color=plot_style.MUTED, label="mean")]
    handles += axes.plot(nothing, nothing, **line)
    if has_study_ratio:
        handles.append(ratios.study_handle(axes))
    if limits := limited.label(point for row in rows for point in row.points):
        handles.append(axes.scatter([], [], s=15, label=limits, **limited.hollow()))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4 if len(handles) < 5 else 3,
        frameon=False,
        fontsize=8,
        labelcolor=plot_style.MUTED,
        borderpad=0.1,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=1.0,
    )
