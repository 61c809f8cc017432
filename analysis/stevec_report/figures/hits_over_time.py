"""Hit ratio over the course of a trial: one line per cell."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import coinciding

HEIGHT_IN = 3.4
COLOURS = ("blue", "vermilion", "green", "orange", "sky_blue", "purple", "black", "yellow")
LINES = ("solid", "dashed")
LINES_MAX = 8


def draw(lines: Sequence[dict[str, Any]], ttl_s: float | None) -> Figure:
    """Draw the lines.

    Args:
        lines: list of {"label", "seconds", "ratios", "colour", "second_kind"}: middles of the bins since the first
            request, and the share of reads in each that a cache served; `colour` counts from 0, lines of a
            `second_kind` are dashed.
        ttl_s: lifetime to mark if it lies within the axis; None for no mark.
    """
    figure, (axes,) = plot_style.new_figure(HEIGHT_IN)
    longest = max((line["seconds"][-1] for line in lines if line["seconds"]), default=1)
    for line in coinciding.merge(lines[:LINES_MAX], "seconds", "ratios", 1.0):
        colour = plot_style.OKABE_ITO[COLOURS[line.first["colour"] % len(COLOURS)]]
        style = LINES[line.first["second_kind"]]
        axes.plot(line.x, line.mean, color=colour, linestyle=style, linewidth=1.5, label=line.label)
        if line.count > 1:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    if ttl_s is not None and 0 < ttl_s < longest:
        axes.axvline(ttl_s, color=plot_style.MUTED, linewidth=0.9, linestyle="dotted")
        axes.annotate(
            "max-age",
            (ttl_s, 0.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8.5,
        )
    axes.set_ylim(-0.02, 1.04)
    axes.set_xlim(left=0)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    plot_style.label_shares(axes.yaxis)
    axes.set_ylabel("reads served by the cache")
    axes.set_xlabel("seconds since the first request")
    plot_style.frame(axes)
    plot_style.legend_above(figure, axes, 2)
    return figure
