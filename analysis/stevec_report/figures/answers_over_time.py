"""The responses over the course of a trial: current pages, old copies, errors; one panel per policy."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from stevec_report import plot_style
from stevec_report.palette import AREAS

PANEL_IN = 1.15
PANELS_MAX = 8
KINDS = (("current", "sky_blue", None), ("old copy", "yellow", "///"), ("error", "vermilion", "xxx"))


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"title", "seconds", "old", "failed", "back_s"}: middles of the bins in seconds since the kill
            of the origin, the shares of each bin's requests that got an old copy and an error, and the time at which
            the origin was back.
    """
    panels = panels[:PANELS_MAX]
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.9)
    for axes, panel in zip(all_axes, panels, strict=False):
        current = [1 - old - failed for old, failed in zip(panel["old"], panel["failed"], strict=True)]
        layers = axes.stackplot(
            panel["seconds"],
            [current, panel["old"], panel["failed"]],
            colors=[AREAS[colour] for _, colour, _ in KINDS],
            labels=[name for name, _, _ in KINDS],
            linewidth=0,
            step="mid",
        )
        for layer, (_, _, hatch) in zip(layers, KINDS, strict=True):
            layer.set(hatch=hatch, edgecolor=plot_style.PAPER, linewidth=0)
        for moment in (0, panel["back_s"]):
            axes.axvline(moment, color=plot_style.INK, linewidth=1, linestyle="dashed")
        axes.set_title(panel["title"])
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1])
        plot_style.label_shares(axes.yaxis)
        axes.tick_params(axis="both", length=0)
        axes.margins(x=0)
    all_axes[-1].set_xlabel("seconds since the origin was killed")
    all_axes[-1].xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}".replace("-", "−")))
    plot_style.legend_above(figure, all_axes[0], 3)
    return figure
