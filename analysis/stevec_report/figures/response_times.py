"""The distribution of response times: one strip per door, one curve per cache status, a logarithmic time axis."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.wording import percent, three_digits

STRIP_HEIGHT_IN = 1.25
AXIS_HEIGHT_IN = 0.55
STATUSES_MAX = 4  # curves in one strip; rarer statuses are only in the table
LINES = ("solid", "dashed", "dashdot", "dotted")
PALE = "#bfc6cf"  # the other doors: darker than the grid, lighter than any door
TIME_MIN_MS = 1e-3  # a logarithmic axis has no 0


def draw(strips: Sequence[dict[str, Any]]) -> Figure:
    """Draw the curves.

    Args:
        strips: list of {"door", "title", "curves"}; a curve is {"status", "requests", "share", "times_ms",
            "levels"}, where `levels` (n,) rise from 0 to 1 and `times_ms` (n,) are the longest times of these
            shares of the requests; the most frequent status first.
    """
    figure, rows = plot_style.new_panels(len(strips), STRIP_HEIGHT_IN, AXIS_HEIGHT_IN, sharey=True)
    times = [time for strip in strips for curve in strip["curves"] for time in _times(curve)]
    # The label of a curve to the right of this time is placed on the curve's left, where there is room.
    turn_ms = min(times) ** 0.2 * max(times) ** 0.8 if times else math.inf
    for axes, strip in zip(rows, strips, strict=False):
        for other in strips:
            if other is not strip:
                for curve in other["curves"][:STATUSES_MAX]:
                    axes.plot(_times(curve), curve["levels"], color=PALE, linewidth=1.1, zorder=1)
        _draw_strip(axes, strip, turn_ms)
    bottom = rows[-1]
    bottom.set_xscale("log")
    bottom.set_ylim(0, 1.02)
    bottom.set_xlabel("response time, ms (logarithmic)")
    bottom.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=30))
    bottom.xaxis.set_major_formatter(FuncFormatter(_label_time))
    bottom.xaxis.set_minor_formatter(NullFormatter())
    return figure


def _draw_strip(axes: Axes, strip: dict[str, Any], turn_ms: float) -> None:
    colour = plot_style.door_colour(strip["door"])
    curves = strip["curves"][:STATUSES_MAX]
    for index, curve in enumerate(curves):
        axes.plot(_times(curve), curve["levels"], color=colour, linewidth=1.8, linestyle=LINES[index], zorder=3)
        # The labels of several curves have different heights, so that they do not overlap.
        level = 0.5 if len(curves) == 1 else 0.72 - 0.44 * index / (len(curves) - 1)
        at_ms = _time_at(curve, level)
        axes.annotate(
            _label_curve(curve),
            (at_ms, level),
            xytext=(6 if at_ms < turn_ms else -6, -3),
            textcoords="offset points",
            ha="left" if at_ms < turn_ms else "right",
            fontsize=8.5,
            va="center",
            zorder=5,
            bbox={"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
        )
    axes.set_title(strip["title"])
    axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    plot_style.frame(axes, "both")


def _times(curve: dict[str, Any]) -> list[float]:
    return [max(time, TIME_MIN_MS) for time in curve["times_ms"]]


def _time_at(curve: dict[str, Any], level: float) -> float:
    return next(t for t, share in zip(_times(curve), curve["levels"], strict=True) if share >= level)


def _label_curve(curve: dict[str, Any]) -> str:
    if curve["share"] == 1:
        return curve["status"] or "all requests"
    return f"{curve['status'] or 'no cache status'} {percent(curve['share'])}"


def _label_time(value: float, _position: int) -> str:
    return three_digits(value).rstrip("0").rstrip(".") if value < 1 else f"{value:g}"
