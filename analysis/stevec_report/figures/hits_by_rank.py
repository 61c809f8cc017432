"""Hit ratio of reads by the rank of the page that was read: one line per popularity."""

from matplotlib.ticker import FuncFormatter

from stevec_report import plot_style

HEIGHT_IN = 3.2
COLOURS = ("vermilion", "blue", "green", "orange", "sky_blue", "purple", "black", "yellow")
MARKERS = ("o", "D", "s", "^", "v", "P", "X", "*")


def draw(lines):
    """Draw the lines: {"label", "ranks", "ratios"}, ratios from 0 to 1."""
    figure, (axes,) = plot_style.new_figure(HEIGHT_IN)
    for index, line in enumerate(lines[: len(COLOURS)]):
        axes.plot(
            line["ranks"],
            line["ratios"],
            color=plot_style.OKABE_ITO[COLOURS[index]],
            marker=MARKERS[index],
            markersize=4.5,
            linewidth=1.5,
            label=line["label"],
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
    axes.set_ylim(-0.03, 1.04)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _position: f"{100 * value:g} %"))
    axes.set_ylabel("reads served by the cache")
    axes.set_xlabel("rank of the page")
    axes.yaxis.grid(True)
    axes.tick_params(axis="both", which="both", length=0)
    axes.spines["left"].set_visible(False)
    plot_style.legend_above(figure, axes, 4)
    return figure
