"""Drift check: the mean of each trial, in order of time, relative to the mean of its door."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stevec_report import plot_style
from stevec_report.figures import limited

HEIGHT_IN = 3.1
SPAN_MIN_PERCENT = 5  # the axis never shows less than ±5 %, so that noise does not look like an event


def draw(
    series: Sequence[dict[str, Any]],
    invalid_minutes: Sequence[float],
    fit: tuple[tuple[float, ...], tuple[float, ...]] | None = None,
) -> Figure:
    """Draw the check.

    Args:
        series: list of {"door", "minutes", "points"}: starts of the valid trials in minutes from the start of the
            run (n,), and points of their mean divided by the geometric mean of the cell (n,), 1 = no deviation.
        invalid_minutes: starts of the invalid trials, marked on the axis.
        fit: ((minutes, minutes), (relative, relative)) of the common line, or None.
    """
    figure, (axes,) = plot_style.new_figure(HEIGHT_IN)
    span: float = SPAN_MIN_PERCENT
    axes.axhline(0, color=plot_style.MUTED, linewidth=0.9, zorder=1)
    for line in series:
        colour, marker = plot_style.door_colour(line["door"]), plot_style.door_marker(line["door"])
        changes = [(_change(relative), limit) for relative, limit in line["points"]]
        limited.scatter(axes, line["minutes"], changes, colour, marker=marker, s=42)
        axes.scatter([], [], color=colour, marker=marker, s=42, label=line["door"])
        span = max([span, *(abs(change) for change, _ in changes)])
    if limits := limited.label(point for line in series for point in line["points"]):
        axes.scatter([], [], s=42, label=limits, **limited.hollow())
    if fit is not None:
        axes.plot(
            fit[0],
            [_change(relative) for relative in fit[1]],
            color=plot_style.INK,
            linewidth=1.6,
            linestyle="dashed",
            label="trend",
            zorder=4,
        )
    if invalid_minutes:
        axes.plot(
            invalid_minutes,
            [0.03] * len(invalid_minutes),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="x",
            color=plot_style.INK,
            label="invalid trial",
            zorder=5,
        )
    _finish(axes, span)
    plot_style.legend_above(figure, axes, 3 if limits else 6, handlelength=1.3, handletextpad=0.3, columnspacing=0.7)
    return figure


def _finish(axes: Axes, span: float) -> None:
    axes.set_ylim(-1.15 * span, 1.15 * span)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    plot_style.label_numbers(axes.xaxis)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(FuncFormatter(_label_change))
    axes.set_ylabel("trial mean against its door's")
    axes.set_xlabel("minutes since the first trial began")
    plot_style.frame(axes)


def _change(relative: float) -> float:
    return 100 * (relative - 1)


def _label_change(change: float, _position: int) -> str:
    return f"{change:+g} %".replace("-", "−") if change else "0 %"
