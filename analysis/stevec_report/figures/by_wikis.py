"""Throughput and requests for a second of processor time against the number of wikis, one line for each load."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import limited

PANEL_IN = 2.1
ABOVE = 1.2  # of the highest trial or ideal: intervals of few trials may be many times longer
SIDE_STEP = 0.05  # between lines, so that their marks do not cover each other


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"label", "ideal", "lines"}: the title, whether the ideal is drawn, and
            {name: [{"wikis", "points", "mean"}]} by rising number of wikis; `mean` is an Interval or None.
    """
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.9)
    names = list(dict.fromkeys(name for panel in panels for name in panel["lines"]))
    for axes, panel in zip(all_axes, panels, strict=True):
        lines, highest = panel["lines"], 0.0
        for at, (name, line) in enumerate(lines.items()):
            shift = (at - (len(lines) - 1) / 2) * min(SIDE_STEP, 0.4 / len(lines))
            colour = plot_style.OKABE_ITO[plot_style.LINE_COLOURS[names.index(name) % len(plot_style.LINE_COLOURS)]]
            _draw_line(axes, name, line, shift, colour)
            ideal = _draw_ideal(axes, line, shift, colour) if panel["ideal"] else []
            highest = max([highest, *ideal, *(value for one in line for value, _ in one["points"])])
        axes.set_ylim(0, ABOVE * highest or 1)
        axes.set_title(panel["label"])
        plot_style.frame(axes)
    numbers = sorted({one["wikis"] for panel in panels for line in panel["lines"].values() for one in line})
    all_axes[-1].set_xticks(numbers or [1])
    all_axes[-1].set_xlabel("wikis")
    _add_legend(figure, all_axes[0], panels, names)
    return figure


def _draw_line(axes: Axes, name: str, line: Sequence[dict[str, Any]], shift: float, colour: str) -> None:
    for one in line:
        limited.scatter(axes, [one["wikis"] + shift] * len(one["points"]), one["points"], colour, s=14)
        if one["mean"] and one["mean"].bounds:
            axes.plot([one["wikis"] + shift] * 2, one["mean"].bounds, color=colour, linewidth=1.2, zorder=2)
    known = [one for one in line if one["mean"]]
    places, centres = [one["wikis"] + shift for one in known], [one["mean"].centre for one in known]
    axes.plot(places, centres, color=colour, linewidth=1.6, label=name, zorder=2)


def _draw_ideal(axes: Axes, line: Sequence[dict[str, Any]], shift: float, colour: str) -> list[float]:
    """Draw so many times the mean with one wiki, and return these values; [] without that mean."""
    one = next((point["mean"] for point in line if point["wikis"] == 1), None)
    if one is None:
        return []
    numbers = [point["wikis"] for point in line]
    ideal = [number * one.centre for number in numbers]
    axes.plot([n + shift for n in numbers], ideal, color=colour, linewidth=1, linestyle="dashed", zorder=1)
    return ideal


def _add_legend(figure: Figure, axes: Axes, panels: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    if any(panel["ideal"] for panel in panels):
        axes.plot([], [], color=plot_style.MUTED, linewidth=1, linestyle="dashed", label="ideal")
    shown = [point for panel in panels for line in panel["lines"].values() for one in line for point in one["points"]]
    if text := limited.label(shown):
        axes.scatter([], [], s=14, label=text, **limited.hollow())
    # Panels with one line each have its name in their titles.
    one_each = all(len(panel["lines"]) == 1 for panel in panels) and len(names) > 1
    handles = [
        (handle, label)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        if not (one_each and label in names)
    ]
    if handles:
        figure.legend(
            *zip(*handles, strict=True), loc="outside upper left", ncols=1, frameon=False, fontsize=8.5, borderpad=0.1
        )
