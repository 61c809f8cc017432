"""The picture of a comparison: one row a cell, the ratio of response times with its interval."""

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from stevec_report import plot_style

ROW_IN = 0.45
MARGIN_IN = 1.1
CELLS_MAX = 60
MARKS = {"mean_ms": ("o", -0.12, "mean"), "p95_ms": ("s", 0.12, "95th percentile")}


def draw(comparison):
    """Return SVG text; the first `CELLS_MAX` cells. Filled marks are real differences."""
    cells = comparison.cells[:CELLS_MAX]
    with plot_style.style():
        figure, (axes,) = plot_style.new_figure(MARGIN_IN + ROW_IN * len(cells))
        for measure, (marker, shift, label) in MARKS.items():
            rows = comparison.differences[measure]
            for row, cell in enumerate(cells):
                if cell in rows:
                    _draw_mark(axes, rows[cell], row + shift, marker, label if row == 0 else None)
        axes.axvline(1, color=plot_style.MUTED, linewidth=1, zorder=1)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, 0.8), max(high, 1.25))
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0), numticks=12))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks(range(len(cells)), [cell.replace(", ", "\n") for cell in cells])
        axes.set_ylim(len(cells) - 0.5, -0.5)
        axes.grid(True, axis="x")
        axes.set_title("Response times, second run ÷ first")
        axes.set_xlabel("ratio (logarithmic), 95 % interval; filled: real by Holm")
        axes.legend(loc="best", fontsize=8, frameon=False)
        return plot_style.to_svg(figure)


def _draw_mark(axes, found, height, marker, label):
    colour = plot_style.OKABE_ITO["blue" if marker == "o" else "vermilion"]
    if found.low is not None:
        axes.plot([found.low, found.high], [height, height], color=colour, linewidth=1.8, zorder=2)
    axes.plot(
        [found.estimate], [height], marker, color=colour, markerfacecolor=colour if found.real else "white",
        markersize=6, linestyle="none", label=label, zorder=3,
    )  # fmt: skip
