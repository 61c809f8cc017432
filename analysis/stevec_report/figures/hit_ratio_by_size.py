"""E4, without a number in the study: hit ratio by size of page, with and without edits, the study's and this run's."""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stevec_report import plot_style
from stevec_report.figures import limited
from stevec_report.intervals import clipped, t_interval
from stevec_report.measures import Point

HEIGHT_IN = 5.0
Ratios = dict[str, dict[float, list[Point]]]  # {workload: {size of a page in kB: hit ratios, 0 to 1}}
SHIFT = 0.2  # of a workload from the middle of its size
HALF_WIDTH = 0.13  # of the stroke of a mean
DOTS = (-0.1, 0.05)  # where beside the middle of a workload the trials lie, from the first repetition to the last
INTERVAL_AT = 0.1
WORKLOADS = {"get-only": ("reads only", "blue", "o"), "mixed": ("reads and edits", "vermilion", "D")}


def draw(study: Ratios, ours: Ratios, ours_label: str) -> Figure:
    """Draw it, both panels on one scale.

    Args:
        study, ours: {workload: {size in kB: points}}; in `ours`, one per trial.
    """
    figure, axes = plot_style.new_figure(HEIGHT_IN, rows=2, sharey=True)
    for panel, data, label in ((axes[0], study, "The study: Cloudflare, 2016"), (axes[1], ours, ours_label)):
        _draw_panel(panel, data, label)
    shown = [ratio for data in (study, ours) for ratio in _all(data)]
    # The axis does not start at 0: dots have no length that could mislead, and the differences are far from 0.
    bottom = max(0.0, np.floor(10 * min(shown, default=0.0) - 0.5) / 10)
    axes[0].set_ylim(bottom, 1.0 + 0.06 * (1 - bottom))
    axes[0].yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{100 * value:.0f} %"))
    axes[1].set_xlabel("size of a page, kB (1000 characters)")
    limits = limited.label(point for sizes in ours.values() for points in sizes.values() for point in points)
    figure.legend(handles=_handles(axes[1], limits), loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure


def _all(data: Ratios) -> list[float]:
    return [ratio for sizes in data.values() for points in sizes.values() for ratio, _ in points]


def _draw_panel(axes: Axes, data: Ratios, label: str) -> None:
    sizes = sorted({size for values in data.values() for size in values})
    for shift, (workload, (_, name, marker)) in zip((-SHIFT, SHIFT), WORKLOADS.items(), strict=True):
        for at, size in enumerate(sizes):
            if points := data.get(workload, {}).get(size):
                _draw_points(axes, at + shift, points, plot_style.OKABE_ITO[name], marker)
    axes.set_xticks(range(len(sizes)), [f"{size:g}" for size in sizes])
    axes.set_xlim(-0.5, max(1, len(sizes)) - 0.5)
    axes.set_title(label)
    axes.set_ylabel("hit ratio")
    plot_style.frame(axes)


def _draw_points(axes: Axes, at: float, points: list[Point], colour: str, marker: str) -> None:
    values = [ratio for ratio, _ in points]
    mean = clipped(t_interval(values))
    places = np.linspace(*DOTS, len(values)) if len(values) > 1 else np.zeros(1)
    limited.scatter(axes, at + places, points, colour, s=15 if len(values) > 1 else 26, marker=marker)
    if mean.bounds:
        axes.plot([at - HALF_WIDTH, at + HALF_WIDTH], [mean.centre] * 2, color=colour, linewidth=2, zorder=2)
        axes.plot([at + INTERVAL_AT] * 2, mean.bounds, color=plot_style.INK, linewidth=1.2, zorder=2)
    axes.annotate(
        f"{100 * mean.centre:.1f}",
        (at, max([*values, *(mean.bounds or ())])),
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        fontsize=7.5,
    )


def _handles(axes: Axes, limits: str | None) -> list[Artist]:
    """The marks of the legend, without data."""
    handles: list[Artist] = [
        axes.scatter([], [], s=15, marker=marker, color=plot_style.OKABE_ITO[name], label=words)
        for words, name, marker in WORKLOADS.values()
    ]
    line: dict[str, Any] = {"color": plot_style.INK, "linewidth": 1.2, "label": "95 % interval of the mean"}
    handles += axes.plot([float("nan")], [float("nan")], **line)
    if limits:
        handles.append(axes.scatter([], [], s=15, label=limits, **limited.hollow()))
    return handles
