"""The longest wait over the course of a trial: one panel per moment, one line per protection."""

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from stevec_report import plot_style

PANEL_IN = 2.3
COLOURS = ("vermilion", "blue", "green", "orange", "sky_blue", "purple", "black", "yellow")
LINES = ("solid", (0, (4, 1.5)), (0, (1, 1)), "dashdot")
PANELS_MAX = 6
LEAST_MS = 0.1


def draw(panels):
    """Draw the panels.

    Args:
        panels: list of {"title", "lines": [{"label", "seconds", "waits_ms"}], "crowd_s": (begin, end) or None}.
    """
    panels = panels[:PANELS_MAX]
    figure, all_axes = plot_style.new_figure(
        0.7 + PANEL_IN * max(1, len(panels)), rows=max(1, len(panels)), sharex=True
    )
    for axes, panel in zip(all_axes, panels, strict=False):
        axes.set_title(panel["title"])
        if panel["crowd_s"] is not None:
            axes.axvspan(*panel["crowd_s"], color=plot_style.GRID, alpha=0.6, zorder=0)
        for index, line in enumerate(panel["lines"][: len(COLOURS)]):
            axes.plot(
                line["seconds"],
                [max(LEAST_MS, wait) for wait in line["waits_ms"]],
                color=plot_style.OKABE_ITO[COLOURS[index]],
                linestyle=LINES[index % len(LINES)],
                linewidth=1.4,
                label=line["label"],
            )
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=8))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("longest wait, ms")
        axes.yaxis.grid(True)
        axes.tick_params(axis="both", which="both", length=0)
        axes.spines["left"].set_visible(False)
    all_axes[-1].set_xlabel("seconds since the first request")
    all_axes[-1].set_xlim(left=0)
    plot_style.legend_above(figure, all_axes[0], 4)
    return figure
