"""Resource use of the origin over the course of each trial: processor, memory, network, temperature."""

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


def draw(lines):
    """Draw a panel for each quantity that was measured, over the seconds since the probe's first request.

    Args:
        lines: list of {"door", "seconds", "cpu", "memory", "sent", "temperature"}, one per trial: values may be None;
            cpu from 0 to 1, memory in bytes, sent in bytes per second, temperature in °C.
    """
    panels = [panel for panel in PANELS if any(value is not None for line in lines for value in line[panel[0]])]
    figure, rows = plot_style.new_figure(
        LEGEND_HEIGHT_IN + PANEL_HEIGHT_IN * max(1, len(panels)), rows=max(1, len(panels)), sharex=True
    )
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
        axes.grid(True)
        axes.tick_params(axis="both", length=0)
        axes.spines["left"].set_visible(False)
    rows[-1].set_xlabel("seconds since the first request of the trial")
    figure.legend(*rows[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False, fontsize=8.5)
    return figure
