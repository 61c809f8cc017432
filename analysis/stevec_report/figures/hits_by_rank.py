"""Hit ratio of reads by the rank of the page that was read: one line per popularity."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from stevec_report import plot_style
from stevec_report.figures import coinciding

HEIGHT_IN = 3.2
NEAR = 0.01  # of the height: a little more than a line is wide
MARKERS = ("o", "D", "s", "^", "v", "P", "X", "*")


def draw(lines: Sequence[dict[str, Any]]) -> Figure:
    """Draw the lines: {"label", "ranks", "ratios"}, ratios from 0 to 1."""
    figure, (axes,) = plot_style.new_figure(HEIGHT_IN)
    for index, line in enumerate(coinciding.merge(lines[: len(plot_style.LINE_COLOURS)], "ranks", "ratios", 1.0, NEAR)):
        axes.plot(
            line.x,
            line.mean,
            color=plot_style.OKABE_ITO[plot_style.LINE_COLOURS[index]],
            marker=MARKERS[index],
            markersize=4.5,
            linewidth=1.5,
            label=line.label,
        )
    axes.set_xscale("log")
    plot_style.label_numbers(axes.xaxis)
    axes.set_ylim(-0.03, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    plot_style.label_shares(axes.yaxis)
    axes.set_ylabel("reads served by the cache")
    axes.set_xlabel("rank of the page")
    plot_style.frame(axes)
    plot_style.legend_above(figure, axes, 4)
    return figure
