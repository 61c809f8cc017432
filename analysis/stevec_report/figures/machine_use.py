"""Who used the machine: the cores of each part while a cell was measured, stacked, one bar a cell."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stevec_report import plot_style
from stevec_report.palette import AREAS

ROW_IN = 0.27
REST_IN = 1.35
CELLS_MAX = 60
LABEL_MAX_CHARS = 34
# Colours of neighbours differ in lightness; hatches tell apart what colour alone would not.
LOOK = {
    "generator": ("generator", "vermilion", ""),
    "links": ("links", "yellow", "///"),
    "edge": ("edge", "blue", ""),
    "origin": ("origin", "sky_blue", "\\\\\\"),
    "wiki": ("wiki", "green", ""),
    "database": ("database", "orange", "xxx"),
    "lab": ("lab", "purple", ""),
    "others": ("other processes", "black", ""),
    "stolen": ("stolen by the host", None, "xxx"),
}


def draw(bars: Sequence[dict[str, Any]]) -> Figure:
    """Draw the bars, at most CELLS_MAX.

    Args:
        bars: list of {"label", "limit", "cores", "use"}: `limit` is the text at the end of the bar, `cores` the number
            of the machine's cores, `use` {key of LOOK: cores}.
    """
    bars = bars[:CELLS_MAX]
    figure, (axes,) = plot_style.new_figure(REST_IN + ROW_IN * len(bars))
    names = [name for name in LOOK if any(bar["use"].get(name, 0) > 0 for bar in bars)]
    left = [0.0] * len(bars)
    for name in names:
        label, colour, hatch = LOOK[name]
        widths = [max(0.0, bar["use"].get(name, 0)) for bar in bars]
        axes.barh(
            range(len(bars)),
            widths,
            0.68,
            left,
            color=AREAS[colour] if colour else plot_style.GRID,
            hatch=hatch,
            edgecolor=plot_style.PAPER if colour else plot_style.MUTED,
            linewidth=0.4,
            label=label,
        )
        left = [start + width for start, width in zip(left, widths, strict=True)]
    most = max((bar["cores"] for bar in bars), default=1)
    for cores in sorted({bar["cores"] for bar in bars}):
        name = "all cores" if cores == most else ""
        axes.axvline(cores, color=plot_style.INK, linewidth=1.1, linestyle="dashed", label=name or None)
    for row, (bar, end) in enumerate(zip(bars, left, strict=True)):
        at = max(end, bar["cores"]) + 0.02 * most
        axes.annotate(bar["limit"], (at, row), va="center", fontsize=7.5, color=plot_style.MUTED)
    axes.set_yticks(range(len(bars)), [_short(bar["label"]) for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    # Room for the limits at the right.
    axes.set_xlim(0, 1.3 * max([most, *left]))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    plot_style.label_numbers(axes.xaxis)
    axes.set_xlabel("cores in use; at the right the limit")
    plot_style.frame(axes, "x")
    axes.tick_params(axis="y", labelcolor=plot_style.INK)
    plot_style.legend_above(figure, axes, 3)
    return figure


def _short(label: str) -> str:
    return label if len(label) <= LABEL_MAX_CHARS else f"{label[: LABEL_MAX_CHARS - 1]}…"
