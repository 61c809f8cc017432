"""The longest wait over the course of a trial: one panel per moment, one line per protection."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from stevec_report import plot_style

PANEL_IN = 2.3
LINES = ("solid", (0, (4, 1.5)), (0, (1, 1)), "dashdot")
PANELS_MAX = 6
LEAST_MS = 0.1


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"title", "lines": [{"label", "seconds", "waits_ms"}], "crowd_s": (begin, end) or None}.
    """
    panels = panels[:PANELS_MAX]
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.7)
    for axes, panel in zip(all_axes, panels, strict=False):
        axes.set_title(panel["title"])
        if panel["crowd_s"] is not None:
            axes.axvspan(*panel["crowd_s"], color=plot_style.GRID, alpha=0.6, zorder=0)
        for index, line in enumerate(panel["lines"][: len(plot_style.LINE_COLOURS)]):
            axes.plot(
                line["seconds"],
                [max(LEAST_MS, wait) for wait in line["waits_ms"]],
                color=plot_style.OKABE_ITO[plot_style.LINE_COLOURS[index]],
                linestyle=LINES[index % len(LINES)],
                linewidth=1.4,
                label=line["label"],
            )
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=8))
        plot_style.label_numbers(axes.yaxis)
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("longest wait, ms")
        plot_style.frame(axes)
    all_axes[-1].set_xlabel("seconds since the first request")
    all_axes[-1].set_xlim(left=0)
    plot_style.legend_above(figure, all_axes[0], 4)
    return figure
