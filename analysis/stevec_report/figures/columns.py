"""Mean response times as columns, the study's above and this run's below.

The two panels share their columns, so that the pattern can be compared, but not their scales, because the hardware
differs.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.typing import ColorType

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.intervals import geometric_mean
from stevec_report.measures import Point, believed
from stevec_report.wording import three_digits

HEIGHT_IN = 5.6
Column = dict[str, Any]  # as `column` makes it
BAR_WIDTH = 0.66
DOTS_FROM, DOTS_TO = -0.24, 0.12  # where in a column the trials lie, from the first repetition to the last
INTERVAL_AT = 0.24
BRACKET: dict[str, Any] = {"fmt": "none", "ecolor": plot_style.INK, "elinewidth": 1.3, "capsize": 3, "zorder": 4}
HEADROOM = 1.18  # space above the highest mark, for its number


def column(label: str, over: list[float], door: str, points: list[Point]) -> Column:
    """One column of a panel, with the interval of the geometric mean of the trials that nothing limited."""
    interval = geometric_mean(believed(points)) if points else None
    return {"label": label, "over": over, "door": door, "points": points, "interval": interval}


def draw(study: list[Column], ours: list[Column], study_label: str, ours_label: str) -> Figure:
    """Draw both panels.

    Args:
        study, ours: lists of columns {"label", "over", "door", "points", "interval"}, created by `column`: `over`
            are the positions on the shared x axis on which the column is centred, `points` the trial means in ms in
            order of repetition. A limited trial is a hollow dot, a column of such trials alone is hollow.
        study_label, ours_label: titles of the panels.
    """
    figure, (top, bottom) = plot_style.new_figure(HEIGHT_IN, rows=2, hspace=0.05)
    places = [place for column in study + ours for place in column["over"]]
    for axes, columns, label in ((top, study, study_label), (bottom, ours, ours_label)):
        _draw_panel(axes, columns, label)
        axes.set_xlim(min(places) - 0.55, max(places) + 0.55)
    _explain_marks(figure, bottom, limited.label(point for column in ours for point in column["points"]))
    return figure


def _explain_marks(figure: Figure, axes: Axes, limits: str | None) -> None:
    """Add a legend below the panels for the dots, the line and the bracket; its marks have no data."""
    nothing = [float("nan")]
    dot = axes.scatter(nothing, nothing, s=17, color=plot_style.MUTED, label="one trial")
    (line,) = axes.plot(nothing, nothing, color=plot_style.MUTED, linewidth=2.2, label="mean")
    bracket = axes.errorbar(nothing, nothing, nothing, label="95 % interval", **BRACKET)
    handles = [dot, line, bracket]
    if limits:
        handles.append(axes.scatter(nothing, nothing, s=17, label=limits, **limited.hollow()))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=8.5,
        labelcolor=plot_style.MUTED,
        borderpad=0.1,
        handlelength=1.6,
        handletextpad=0.5,
    )


def _draw_panel(axes: Axes, columns: Iterable[Column], title: str) -> None:
    highest = 0.0
    for column in columns:
        highest = max(highest, _draw_column(axes, column))
    axes.set_ylim(0, highest * HEADROOM or 1)
    axes.set_title(title, pad=10)
    axes.set_ylabel("mean response time, ms")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    plot_style.label_numbers(axes.yaxis)
    plot_style.frame(axes, pad=5)
    axes.set_xticks([_centre(column) for column in columns], [column["label"] for column in columns])


def _pale(colour: ColorType) -> tuple[float, ...]:
    return tuple(0.2 * part + 0.8 for part in to_rgb(colour))


def _centre(column: Column) -> float:
    return sum(column["over"]) / len(column["over"])


def _draw_column(axes: Axes, column: Column) -> float:
    """Draw one column and return its highest value in ms."""
    at, colour, interval = _centre(column), plot_style.door_colour(column["door"]), column["interval"]
    if interval is None:
        axes.annotate(
            "no valid\ntrial",
            (at, 0),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            color=plot_style.MUTED,
        )
        return 0.0
    points = column["points"]
    if all(limit for _, limit in points):
        axes.bar(at, interval.centre, BAR_WIDTH, facecolor="none", edgecolor=colour, linewidth=0.9, linestyle="dashed")
    else:
        # Mixed with white instead of transparent: no grid line shows through.
        axes.bar(at, interval.centre, BAR_WIDTH, color=_pale(colour), linewidth=0)
    axes.plot([at - BAR_WIDTH / 2, at + BAR_WIDTH / 2], [interval.centre] * 2, color=colour, linewidth=2.2)
    offsets = np.linspace(DOTS_FROM, DOTS_TO, len(points)) if len(points) > 1 else [(DOTS_FROM + DOTS_TO) / 2]
    limited.scatter(axes, at + np.asarray(offsets), points, colour, s=17)
    highest = max([interval.centre, *(ms for ms, _ in points)])
    if interval.low is not None:
        axes.errorbar(
            at + INTERVAL_AT,
            interval.centre,
            [[interval.centre - interval.low], [interval.high - interval.centre]],
            **BRACKET,
        )
        highest = max(highest, interval.high)
    axes.annotate(
        f"{three_digits(interval.centre)} ms",
        (at, highest),
        xytext=(0, 6),
        textcoords="offset points",
        ha="center",
        weight="bold",
    )
    return highest
