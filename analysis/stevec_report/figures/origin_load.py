"""Resource use of the origin over the course of a trial: processor, memory, network, temperature."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from stevec_report import plot_style

PANEL_HEIGHT_IN = 1.3
LEGEND_HEIGHT_IN = 0.6
STEPS_MAX = 60  # points of a line
PANELS = (
    ("cpu", "processors busy", 100, "{:g} %"),
    ("memory", "memory in use, MB", 1e-6, "{:g}"),
    ("sent", "sent, MB/s", 1e-6, "{:g}"),
    ("temperature", "temperature, °C", 1, "{:g}"),
)


def draw(trials: Sequence[dict[str, Any]]) -> Figure:
    """Draw a panel for each quantity that was measured, over the seconds since the probe's first request.

    A line is the median over the trials of a door, and the area behind it is from the least to the greatest of them.

    Args:
        trials: list of {"door", "seconds", "cpu", "memory", "sent", "temperature"}: values may be None; cpu from 0 to
            1, memory in bytes, sent in bytes per second, temperature in °C.
    """
    panels = [panel for panel in PANELS if any(value is not None for trial in trials for value in trial[panel[0]])]
    longest_s = max((trial["seconds"][-1] for trial in trials if len(trial["seconds"])), default=1)
    step_s = max(1, math.ceil(longest_s / STEPS_MAX))
    doors = list(dict.fromkeys(trial["door"] for trial in trials))
    figure, rows = plot_style.new_panels(len(panels), PANEL_HEIGHT_IN, LEGEND_HEIGHT_IN)
    for axes, (name, label, factor, form) in zip(rows, panels, strict=False):
        for door in doors:
            at, values = _in_steps([trial for trial in trials if trial["door"] == door], name, step_s)
            if not at.size:
                continue
            colour = plot_style.door_colour(door)
            axes.plot(at, factor * np.nanmedian(values, axis=0), color=colour, linewidth=1.3, label=door)
            if len(values) > 1:
                low, high = factor * np.nanmin(values, axis=0), factor * np.nanmax(values, axis=0)
                axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set_title(label)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position, form=form: form.format(value)))
        plot_style.frame(axes, "both")
    rows[-1].set_xlabel("seconds since the first request of the trial")
    plot_style.legend_above(figure, rows[0], 4, borderpad=0.4, columnspacing=2.0)
    return figure


def _in_steps(
    trials: Sequence[dict[str, Any]], name: str, step_s: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means in steps of time.

    Returns:
        The middles of the n steps in which some trial has a value, in seconds (n,), and each trial's mean in them
        (trials, n), NaN where it has none.
    """
    found: list[dict[int, float]] = []
    for trial in trials:
        steps: dict[int, list[float]] = {}
        for second, value in zip(trial["seconds"], trial[name], strict=True):
            if value is not None:
                steps.setdefault(math.floor(second / step_s), []).append(value)
        found.append({step: sum(values) / len(values) for step, values in steps.items()})
    known = sorted(set().union(*found))
    means = [[means.get(step, math.nan) for step in known] for means in found]
    return (np.array(known, dtype=float) + 0.5) * step_s, np.array(means, dtype=float).reshape(len(found), len(known))
