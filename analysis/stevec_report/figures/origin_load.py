"""Resource use of the origin over the course of each trial: processor, memory, network, temperature."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stevec_report import plot_style

PANEL_HEIGHT_IN = 1.3
LEGEND_HEIGHT_IN = 0.6
PANELS = (
    ("cpu", "processors busy", 100, "{:g} %"),
    ("memory", "memory in use, MB", 1e-6, "{:g}"),
    ("sent", "sent, MB/s", 1e-6, "{:g}"),
    ("temperature", "temperature, °C", 1, "{:g}"),
)


def draw(lines: Sequence[dict[str, Any]]) -> Figure:
    """Draw a panel for each quantity that was measured, over the seconds since the probe's first request.

    Args:
        lines: list of {"door", "seconds", "cpu", "memory", "sent", "temperature"}, one per trial: values may be None;
            cpu from 0 to 1, memory in bytes, sent in bytes per second, temperature in °C.
    """
    panels = [panel for panel in PANELS if any(value is not None for line in lines for value in line[panel[0]])]
    figure, rows = plot_style.new_panels(len(panels), PANEL_HEIGHT_IN, LEGEND_HEIGHT_IN)
    for axes, (name, label, factor, form) in zip(rows, panels, strict=False):
        named = set()
        for line in lines:
            door = line["door"]
            axes.plot(
                line["seconds"],
                [float("nan") if value is None else factor * value for value in line[name]],
                color=plot_style.door_colour(door),
                linewidth=1,
                alpha=0.75,
                label=door if door not in named else None,
            )
            named.add(door)
        axes.set_title(label)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position, form=form: form.format(value)))
        plot_style.frame(axes, "both")
    rows[-1].set_xlabel("seconds since the first request of the trial")
    plot_style.legend_above(figure, rows[0], 4, borderpad=0.4, columnspacing=2.0)
    return figure
