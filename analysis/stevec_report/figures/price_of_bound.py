"""The price of a bound on staleness: one panel per fault, one point per policy, and the load of the origin below."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import limited, side_labels

PANEL_IN = 1.6  # of the axes of a fault
REST_IN = 0.42  # of a panel, above and below its axes
POLICY_IN = 0.24  # of the axes of the origin's load
LINEAR_TO = 0.1  # seconds; linear below it, because a logarithmic axis has no 0 and "no stale read" is a valid result
TICKS = (0, 0.1, 1, 10, 100)
MARKERS = ("o", "s", "^", "D", "v", "P")


def draw(panels: Sequence[dict[str, Any]], bound_s: float | None) -> Figure:
    """Draw the panels.

    Args:
        panels: one per fault, [{"title", "points": [{"label", "answered", "oldest_s", "origin_reads", "limited_by"}]}]:
            the share of reads that were answered, in percent, the oldest of them in seconds, and reads at the origin
            for each answered read (None without any). bound_s: drawn as a line; None: no policy has one.
    """
    labels = list(dict.fromkeys(point["label"] for panel in panels for point in panel["points"]))
    axes_in = max(PANEL_IN, side_labels.height_in(len(labels)))
    load_in = POLICY_IN * (len(labels) + 1)
    heights = [axes_in] * len(panels) + [load_in]
    figure, axes = plot_style.new_figure(
        sum(heights) + REST_IN * (len(panels) + 2) + 0.6, len(heights), height_ratios=heights
    )
    highest_s = max((point["oldest_s"] for panel in panels for point in panel["points"]), default=0)
    for own, panel, marker in zip(axes, panels, MARKERS, strict=False):
        _draw_fault(own, panel, marker, axes_in, bound_s, highest_s)
    if panels:
        axes[len(panels) - 1].set_xlabel("reads answered during the fault, %")
    _draw_load(axes[-1], panels, labels)
    handles, names = axes[-1].get_legend_handles_labels()
    if limits := limited.label((0, point["limited_by"]) for panel in panels for point in panel["points"]):
        handles.append(axes[-1].scatter([], [], s=36, **limited.hollow()))
        names.append(f"some trials {limits}")
    figure.legend(handles, names, loc="outside lower center", frameon=False, fontsize=8.5)
    return figure


def _draw_fault(
    axes: Axes, panel: dict[str, Any], marker: str, axes_in: float, bound_s: float | None, highest_s: float
) -> None:
    points = panel["points"]
    for point in points:
        axes.plot(point["answered"], point["oldest_s"], zorder=3, clip_on=False, **_look(point, marker))
    if bound_s is not None:
        axes.axhline(bound_s, color=plot_style.INK, linewidth=1, linestyle="dashed", zorder=1)
        axes.annotate(
            f"bound: {bound_s:g} s",
            (0, bound_s),
            xytext=(3, 2),
            textcoords="offset points",
            fontsize=8,
            color=plot_style.MUTED,
        )
    axes.set_title(panel["title"])
    axes.set_ylabel("oldest read, s")
    axes.set_yscale("symlog", linthresh=LINEAR_TO, linscale=0.5)
    top = next((tick for tick in TICKS if tick >= max(highest_s, bound_s or 0, LINEAR_TO)), highest_s)
    axes.set_ylim(0, top)
    axes.set_yticks([tick for tick in TICKS if tick <= top])
    axes.set_xlim(-3, 103)
    plot_style.label_numbers(axes.yaxis)
    axes.minorticks_off()
    plot_style.frame(axes)
    ends = [(point["answered"], point["oldest_s"]) for point in points]
    side_labels.place(axes, [point["label"] for point in points], ends, axes_in)


def _draw_load(axes: Axes, panels: Sequence[dict[str, Any]], labels: Sequence[str]) -> None:
    gap = 0.6 / max(1, len(panels))
    for at, (panel, marker) in enumerate(zip(panels, MARKERS, strict=False)):
        axes.plot([], [], marker=marker, linestyle="none", color=plot_style.MUTED, markersize=5, label=panel["title"])
        for point in panel["points"]:
            if point["origin_reads"] is not None:
                row = labels.index(point["label"]) + (at - (len(panels) - 1) / 2) * gap
                axes.plot(point["origin_reads"], row, zorder=3, clip_on=False, **_look(point, marker))
    axes.set_title("Load of the origin")
    axes.set_xlabel("reads at the origin for each answered read")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(max(1, len(labels)) - 0.5, -0.5)
    axes.set_xlim(left=0)
    plot_style.label_numbers(axes.xaxis)
    plot_style.frame(axes, "x")


def _look(point: dict[str, Any], marker: str) -> dict[str, Any]:
    colour = plot_style.door_colour("cached")
    return {
        "marker": marker,
        "markersize": 5.5,
        "markerfacecolor": plot_style.PAPER if point["limited_by"] else colour,
        "markeredgecolor": colour,
    }
