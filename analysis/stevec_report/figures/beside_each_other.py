"""Several measures of the same few things: one panel per measure, one row per thing, one dot per trial."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stevec_report import plot_style
from stevec_report.figures import limited

ROW_IN = 0.24


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"title", "names", "points"}: for each name a list of points. Axes start at 0.
    """
    rows = max((len(panel["names"]) for panel in panels), default=1)
    figure, all_axes = plot_style.new_figure(len(panels) * (0.75 + ROW_IN * rows), rows=len(panels))
    for axes, panel in zip(all_axes, panels, strict=True):
        for row, points in enumerate(panel["points"]):
            limited.scatter_across(axes, [row] * len(points), points, plot_style.OKABE_ITO["blue"], s=36)
        highest = max((value for points in panel["points"] for value, _ in points), default=0.0)
        axes.set_title(panel["title"])
        axes.set_yticks(range(len(panel["names"])), panel["names"])
        axes.set_ylim(len(panel["names"]) - 0.5, -0.5)
        axes.set_xlim(0, 1.08 * highest or 1)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        plot_style.label_numbers(axes.xaxis)
        plot_style.frame(axes, "both")
        axes.tick_params(axis="y", labelcolor=plot_style.INK)
    if limits := limited.label(point for panel in panels for points in panel["points"] for point in points):
        mark = all_axes[-1].scatter([], [], s=36, label=limits, **limited.hollow(plot_style.OKABE_ITO["blue"]))
        figure.legend(handles=[mark], loc="outside lower center", frameon=False, fontsize=8.5)
    return figure
