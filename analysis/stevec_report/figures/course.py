"""Response times over the course of a trial: one panel per group of cells, one colour per cell."""

from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from stevec_report import plot_style

PANEL_IN = 1.9
PANELS_MAX = 8
LINES_MAX = len(plot_style.LINE_COLOURS)
STYLES: dict[str, Literal["solid", "dashed"]] = {"p50": "solid", "p90": "dashed"}


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"title", "lines": [{"label", "percent", "p50", "p90"}]}: the middles of the bins in per cent of
            a trial's requests, in the order of their sending, and the percentiles of the bins in ms. A label has the
            same colour in all panels; the only line of every panel needs none.
    """
    panels = panels[:PANELS_MAX]
    labels = list(dict.fromkeys(line["label"] for panel in panels for line in panel["lines"]))[:LINES_MAX]
    colours = {label: plot_style.OKABE_ITO[plot_style.LINE_COLOURS[at]] for at, label in enumerate(labels)}
    several = any(len(panel["lines"]) > 1 for panel in panels)
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.9)
    for axes, panel in zip(all_axes, panels, strict=False):
        for line in panel["lines"]:
            colour = colours.get(line["label"]) if several else plot_style.OKABE_ITO["blue"]
            for name, style in STYLES.items():
                axes.plot(line["percent"], line[name], color=colour or plot_style.MUTED, linestyle=style, linewidth=1.3)
        axes.set_title(panel["title"])
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        axes.yaxis.set_minor_formatter(NullFormatter())
        plot_style.label_numbers(axes.yaxis)
        axes.set_ylabel("ms")
        plot_style.frame(axes)
    all_axes[-1].set_xlim(0, 100)
    all_axes[-1].set_xlabel("% of a trial's requests, in the order of their sending")
    handles = [Line2D([], [], color=plot_style.INK, linestyle=style, label=name) for name, style in STYLES.items()]
    if several:
        handles += [Line2D([], [], color=colour, label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False, fontsize=8.5, borderpad=0.1)
    return figure
