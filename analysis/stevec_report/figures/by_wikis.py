"""Throughput and requests for a second of processor time against the number of wikis, one line for each load."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import limited

PANEL_IN = 2.6
SIDE_STEP = 0.05  # between lines, so that their marks do not cover each other
LABELS = ("answered requests, 1/s", "answered in a CPU second")


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"ideal", "lines"}: whether the ideal is drawn, and {label: [{"wikis", "points", "mean"}]} by
            rising number of wikis; `mean` is an Interval or None.
    """
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.9)
    for axes, panel, label in zip(all_axes, panels, LABELS, strict=True):
        lines = panel["lines"]
        for at, (name, line) in enumerate(lines.items()):
            shift = (at - (len(lines) - 1) / 2) * min(SIDE_STEP, 0.4 / len(lines))
            colour = plot_style.OKABE_ITO[plot_style.LINE_COLOURS[at % len(plot_style.LINE_COLOURS)]]
            _draw_line(axes, name, line, shift, colour)
            if panel["ideal"]:
                _draw_ideal(axes, line, shift, colour)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(label)
        plot_style.frame(axes)
    numbers = sorted({one["wikis"] for panel in panels for line in panel["lines"].values() for one in line})
    all_axes[-1].set_xticks(numbers or [1])
    all_axes[-1].set_xlabel("wikis")
    _add_limited(all_axes[0], panels)
    plot_style.legend_above(figure, all_axes[0], 1)
    return figure


def _draw_line(axes: Axes, name: str, line: Sequence[dict[str, Any]], shift: float, colour: str) -> None:
    for one in line:
        limited.scatter(axes, [one["wikis"] + shift] * len(one["points"]), one["points"], colour, s=14)
        if one["mean"] and one["mean"].bounds:
            axes.plot([one["wikis"] + shift] * 2, one["mean"].bounds, color=colour, linewidth=1.2, zorder=2)
    known = [one for one in line if one["mean"]]
    places, centres = [one["wikis"] + shift for one in known], [one["mean"].centre for one in known]
    axes.plot(places, centres, color=colour, linewidth=1.6, label=name, zorder=2)


def _draw_ideal(axes: Axes, line: Sequence[dict[str, Any]], shift: float, colour: str) -> None:
    one = next((point["mean"] for point in line if point["wikis"] == 1), None)
    if one is not None:
        numbers = [point["wikis"] for point in line]
        ideal = [number * one.centre for number in numbers]
        axes.plot([n + shift for n in numbers], ideal, color=colour, linewidth=1, linestyle="dashed", zorder=1)


def _add_limited(axes: Axes, panels: Sequence[dict[str, Any]]) -> None:
    shown = [point for panel in panels for line in panel["lines"].values() for one in line for point in one["points"]]
    if text := limited.label(shown):
        axes.scatter([], [], s=14, label=text, **limited.hollow())
