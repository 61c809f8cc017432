"""E4, without a number in the study: hit ratio by size of page, with and without edits, the study's and this run's."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.measures import Point

HEIGHT_IN = 5.2
Ratios = dict[str, dict[float, list[Point]]]  # {workload: {size of a page in kB: hit ratios, 0 to 1}}
WIDTH = 0.38
WORKLOADS = {"get-only": ("reads only", "blue", ""), "mixed": ("reads and edits", "vermilion", "//")}


def draw(study: Ratios, ours: Ratios, ours_label: str) -> Figure:
    """Draw it.

    Args:
        study, ours: {workload: {size in kB: points}}; in `ours`, one per trial.
    """
    figure, axes = plot_style.new_figure(HEIGHT_IN, rows=2)
    handles = []
    for panel, data, label in ((axes[0], study, "The study: Cloudflare, 2016"), (axes[1], ours, ours_label)):
        handles = _draw_panel(panel, data, label)
    axes[1].set_xlabel("size of a page, kB (1000 characters)")
    if limits := limited.label(point for sizes in ours.values() for points in sizes.values() for point in points):
        handles.append(axes[1].scatter([], [], s=13, label=limits, **limited.hollow()))
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure


def _draw_panel(axes: Axes, data: Ratios, label: str) -> list[Any]:
    sizes = sorted({size for values in data.values() for size in values})
    lowest, handles = 1.0, []
    for shift, (workload, (words, name, hatch)) in zip((-0.5, 0.5), WORKLOADS.items(), strict=True):
        colour = plot_style.OKABE_ITO[name]
        values = data.get(workload, {})
        at = [i + shift * WIDTH for i, size in enumerate(sizes) if values.get(size)]
        shown = [values[size] for size in sizes if values.get(size)]
        means = [sum(ratio for ratio, _ in points) / len(points) for points in shown]
        handles.append(
            axes.bar(at, means, 0.92 * WIDTH, color=colour, alpha=0.55, hatch=hatch, linewidth=0, label=words)
        )
        for x, points, mean in zip(at, shown, means, strict=True):
            own = [ratio for ratio, _ in points]
            lowest = min([lowest, *own])
            if len(own) > 1:
                spread = np.linspace(-0.25, 0.25, len(own)) * WIDTH
                limited.scatter(axes, x + spread, points, colour, s=13, linewidth=0.5)
            axes.annotate(
                f"{100 * mean:.1f}",
                (x, max([mean, *own])),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
    # The axis does not start at 0, because all differences are far from 0. The panel states this.
    bottom = max(0.0, np.floor(10 * lowest - 0.5) / 10)
    axes.set_ylim(bottom, 1.0 + 0.06 * (1 - bottom))
    axes.set_xticks(range(len(sizes)), [f"{size:g}" for size in sizes])
    axes.set_title(label)
    axes.set_ylabel("hit ratio" if bottom == 0 else f"hit ratio (from {100 * bottom:.0f} %)")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{100 * value:.0f} %"))
    plot_style.frame(axes)
    return handles
