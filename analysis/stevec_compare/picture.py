"""The picture of a comparison: one row a cell, ratios of response times and differences of shares, with intervals."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from stevec_compare.comparison import Comparison
from stevec_compare.difference import Difference
from stevec_report import plot_style

ROW_IN = 0.45
MARGIN_IN = 1.1
CELLS_MAX = 60
SHOWN_FACTOR = 4
NARROW = 6  # a range of ratios that has room for more labels
Mark = tuple[str, float, str, str]
# Measure: marker, how far from the middle of its row, colour, name.
TIMES = {"mean_ms": ("o", -0.12, "blue", "mean"), "p95_ms": ("s", 0.12, "vermilion", "95th percentile")}
SHARES = {
    "hit_ratio": ("D", -0.12, "green", "hit ratio"),
    "stale_ratio": ("^", 0.0, "orange", "stale reads"),
    "failed_ratio": ("v", 0.12, "purple", "failed requests"),
}


def draw(comparison: Comparison) -> str:
    """Return SVG text; the first `CELLS_MAX` cells. Filled marks differ after Holm's correction."""
    cells = comparison.cells[:CELLS_MAX]
    shares = any(comparison.differences[measure] for measure in SHARES)
    panels = 2 if shares else 1
    said = "95 % interval; filled: " + ("real" if comparison.unit == "run" else "differs between these two runs")
    with plot_style.style():
        figure, axes = plot_style.new_figure(panels * (MARGIN_IN + ROW_IN * len(cells)), panels)
        _draw_panel(axes[0], comparison, cells, TIMES, 1)
        axes[0].axvline(1, color=plot_style.MUTED, linewidth=1, zorder=1)
        axes[0].set_xscale("log")
        low, high = _ratio_limits(comparison, axes[0].get_xlim())
        axes[0].set_xlim(low, high)
        subs = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0) if high / low < NARROW else (1.0, 2.0, 5.0)
        axes[0].xaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
        plot_style.label_numbers(axes[0].xaxis)
        axes[0].xaxis.set_minor_formatter(NullFormatter())
        axes[0].set_title("Response times, B ÷ A")
        axes[0].set_xlabel(f"ratio (logarithmic), {said}")
        if shares:
            _draw_panel(axes[1], comparison, cells, SHARES, 100)
            axes[1].axvline(0, color=plot_style.MUTED, linewidth=1, zorder=1)
            low, high = axes[1].get_xlim()
            axes[1].set_xlim(min(low, -1), max(high, 1))
            axes[1].set_title("Hit ratio, stale reads and failures, B − A")
            axes[1].set_xlabel(f"points, {said}")
        return plot_style.to_svg(figure)


def _ratio_limits(comparison: Comparison, wanted: tuple[float, float]) -> tuple[float, float]:
    """The axis of ratios: all estimates and `SHOWN_FACTOR` either way; intervals of few runs reach beyond."""
    found = [one.estimate for measure in TIMES for one in comparison.differences[measure].values()] or [1.0]
    low, high = min(1.0, *found) / SHOWN_FACTOR, max(1.0, *found) * SHOWN_FACTOR
    return max(low, min(wanted[0], 0.8)), min(high, max(wanted[1], 1.25))


def _draw_panel(axes: Axes, comparison: Comparison, cells: Sequence[str], marks: dict[str, Mark], scale: float) -> None:
    for measure, (marker, shift, colour, label) in marks.items():
        rows = comparison.differences[measure]
        named = False
        for row, cell in enumerate(cells):
            if cell in rows:
                _draw_mark(axes, rows[cell], row + shift, scale, marker, colour, "" if named else label)
                named = True
    axes.set_yticks(range(len(cells)), [cell.replace(", ", "\n") for cell in cells])
    axes.set_ylim(len(cells) - 0.5, -0.5)
    axes.grid(True, axis="x")
    axes.legend(loc="best", fontsize=8, frameon=False)


def _draw_mark(
    axes: Axes, found: Difference, height: float, scale: float, marker: str, colour: str, label: str
) -> None:
    drawn = plot_style.OKABE_ITO[colour]
    if found.low is not None and found.high is not None:
        bounds = [scale * found.low, scale * found.high]
        axes.plot(bounds, [height, height], color=drawn, linewidth=1.8, zorder=2)
    filled = drawn if found.significant else "white"
    axes.plot(
        [scale * found.estimate], [height], marker, color=drawn, markerfacecolor=filled, markersize=6,
        linestyle="none", label=label or None, zorder=3,
    )  # fmt: skip
