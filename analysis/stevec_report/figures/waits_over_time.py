"""The longest wait over the course of a trial: one panel per moment, one line per protection."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from stevec_report import plot_style
from stevec_report.figures import coinciding

PANEL_IN = 2.3
LINES = ("solid", (0, (4, 1.5)), (0, (1, 1)), "dashdot")
PANELS_MAX = 6
LEAST_MS = 0.1


def draw(panels: Sequence[dict[str, Any]]) -> Figure:
    """Draw the panels.

    Args:
        panels: list of {"title", "lines": [{"label", "seconds", "waits_ms"}], "crowd_s": (begin, end) or None}. A label
            has the same look in all of them.
    """
    panels = panels[:PANELS_MAX]
    labels = dict.fromkeys(line["label"] for panel in panels for line in panel["lines"])
    looks = {label: _look(at) for at, label in enumerate([*labels][: len(plot_style.LINE_COLOURS)])}
    figure, all_axes = plot_style.new_panels(len(panels), PANEL_IN, 0.7)
    for axes, panel in zip(all_axes, panels, strict=False):
        _draw_panel(axes, panel, looks)
    all_axes[-1].set_xlabel("seconds since the first request")
    all_axes[-1].set_xlim(left=0)
    handles = [Line2D([], [], label=label, **look) for label, look in looks.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False, fontsize=8.5, borderpad=0.1)
    return figure


def _look(at: int) -> dict[str, Any]:
    colour = plot_style.OKABE_ITO[plot_style.LINE_COLOURS[at]]
    return {"color": colour, "linestyle": LINES[at % len(LINES)], "linewidth": 1.4}


def _draw_panel(axes: Axes, panel: dict[str, Any], looks: dict[str, dict[str, Any]]) -> None:
    axes.set_title(panel["title"])
    if panel["crowd_s"] is not None:
        axes.axvspan(*panel["crowd_s"], color=plot_style.GRID, alpha=0.6, zorder=0)
    lines = [
        line | {"log_ms": [float(np.log10(max(LEAST_MS, wait))) for wait in line["waits_ms"]]}
        for line in panel["lines"]
        if line["label"] in looks
    ]
    logs = [log for line in lines for log in line["log_ms"]]
    merged = coinciding.merge(lines, "seconds", "log_ms", max(logs, default=1.0) - min(logs, default=0.0))
    for line in merged:
        axes.plot(line.x, 10**line.mean, **looks[line.first["label"]])
    notes = [f"alike: {line.label.replace(chr(10), ' ')}" for line in merged if line.count > 1]
    axes.annotate(
        "\n".join(notes),
        (1, 1),
        xycoords="axes fraction",
        ha="right",
        va="bottom",
        fontsize=7.5,
        color=plot_style.MUTED,
    )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    plot_style.label_numbers(axes.yaxis)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("longest wait, ms")
    plot_style.frame(axes)
