"""Stale reads against offload: one panel per rate of edits, one point per policy."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import limited, side_labels
from stevec_report.intervals import Interval

PANEL_HEIGHT_IN = 3.1
LINEAR_TO = 0.1  # percent; linear below it, because a logarithmic axis has no 0 and "no stale read" is a valid result
TICKS = (0, 0.1, 1, 10, 100)
REST_IN = 0.75  # of a panel above and below its axes


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: [{"title", "points": [{"label", "door", "offload", "stale", "front", "limited_by"}]}], `offload` and
            `stale` being `Interval` in percent.
    """
    most = max((len(panel["points"]) for panel in panels), default=0)
    height_in = max(PANEL_HEIGHT_IN - REST_IN, side_labels.height_in(most))
    figure, axes = plot_style.new_panels(len(panels), height_in + REST_IN, 0.3)
    for own, panel in zip(axes, panels, strict=True):
        _draw_panel(own, panel, height_in)
    axes[-1].set_xlabel("reads kept from the origin, %")
    if limits := limited.label((0, point["limited_by"]) for panel in panels for point in panel["points"]):
        mark = axes[-1].scatter([], [], s=36, label=f"some trials {limits}", **limited.hollow())
        figure.legend(handles=[mark], loc="outside lower center", frameon=False, fontsize=8.5)
    return figure


def _draw_panel(axes: Axes, panel: dict[str, Any], height_in: float) -> None:
    points = panel["points"]
    front = sorted((p for p in points if p["front"]), key=lambda p: (p["offload"].centre, p["stale"].centre))
    axes.plot(
        [p["offload"].centre for p in front],
        [p["stale"].centre for p in front],
        color=plot_style.MUTED,
        linewidth=1,
        linestyle="dashed",
        drawstyle="steps-pre",  # a required offload between two points is met only by the next point's policy
        zorder=1,
    )
    for point in points:
        colour = plot_style.door_colour(point["door"])
        x, y = point["offload"], point["stale"]
        axes.errorbar(x.centre, y.centre, _reach(y), _reach(x), fmt="none", ecolor=colour, elinewidth=0.9, zorder=2)
        axes.plot(
            x.centre,
            y.centre,
            marker=plot_style.door_marker(point["door"]),
            markersize=6 if point["front"] else 3.5,
            markerfacecolor=plot_style.PAPER if point["limited_by"] else colour,
            markeredgecolor=colour,
            zorder=3,
            clip_on=False,
        )
    axes.set_title(panel["title"])
    axes.set_ylabel("stale reads, %")
    axes.set_yscale("symlog", linthresh=LINEAR_TO, linscale=0.5)
    axes.set_ylim(0, 100)
    axes.set_xlim(-3, 103)
    axes.set_yticks(TICKS)
    plot_style.label_numbers(axes.yaxis)
    axes.minorticks_off()
    plot_style.frame(axes)
    ends = [(point["offload"].centre, point["stale"].centre) for point in points]
    side_labels.place(axes, [point["label"] for point in points], ends, height_in)


def _reach(interval: Interval) -> list[list[float]]:
    """The distances of the interval's ends from its centre, as `errorbar` expects them; empty for a single trial."""
    if interval.bounds is None:
        return [[0], [0]]
    low, high = interval.bounds
    return [[max(0, interval.centre - low)], [max(0, high - interval.centre)]]
