"""The common style of all figures: sizes, type, colours, and the export to bytes.

A figure is as wide as a phone's screen can show without shrinking the type below about 9 px. Colours are those of
`palette`, warm without a cache and cool with one; no information is given by colour alone.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter

from stevec_report import svg
from stevec_report.palette import GRID, INK, MUTED, OKABE_ITO, PAPER
from stevec_report.tolerance import TOLERATED_MS

WIDTH_IN = 4.5
PNG_DPI = 200
DOOR_COLOURS = {
    "source": OKABE_ITO["vermilion"],
    "nocache": OKABE_ITO["orange"],
    "local": OKABE_ITO["green"],
    "cached": OKABE_ITO["blue"],
}
LINE_COLOURS = ("vermilion", "blue", "green", "orange", "sky_blue", "purple", "black", "yellow")
DOOR_MARKERS = {"source": "o", "nocache": "s", "local": "^", "cached": "D"}

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 8.5,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    # Labels come from files: a $ in them is a character, not a formula.
    "text.parse_math": False,
    # Text as text: outlines of letters would be most of a figure's bytes.
    "svg.fonttype": "none",
    # Ids in the SVG derive from this salt instead of random numbers, so that a rebuild gives the same bytes.
    "svg.hashsalt": "stevec",
}


def door_colour(door: str) -> str:
    """Colour of a door; grey for doors without one of their own."""
    return DOOR_COLOURS.get(door, MUTED)


def door_marker(door: str) -> str:
    """Marker of a door."""
    return DOOR_MARKERS.get(door, "v")


@contextmanager
def style() -> Iterator[None]:
    """Context for drawing and saving: matplotlib's defaults, without the user's matplotlibrc, then our settings."""
    # The DejaVu fonts that come with matplotlib take precedence over the system's version.
    bundled = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf")
    fonts = font_manager.fontManager
    fonts.ttflist.sort(key=lambda entry: not entry.fname.startswith(bundled))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def new_figure(height_in: float, rows: int = 1, hspace: float | None = None, **grid: Any) -> tuple[Figure, np.ndarray]:
    """Return (figure, axes of shape (rows,)) of the common width.

    `hspace` is the space between rows if not the usual one; `grid` is passed to `Figure.subplots`.
    """
    layout = ConstrainedLayoutEngine(h_pad=0.07, w_pad=0.06, hspace=hspace)
    figure = Figure(figsize=(WIDTH_IN, height_in), layout=layout)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, 1, squeeze=False, **grid)[:, 0]


def new_panels(count: int, panel_in: float, rest_in: float, **grid: Any) -> tuple[Figure, np.ndarray]:
    """Return (figure, axes) of `count` panels, at least one, of height `panel_in`, over one another on one x axis."""
    rows = max(1, count)
    return new_figure(rest_in + panel_in * rows, rows=rows, sharex=True, **grid)


def frame(axes: Axes, grid: Literal["x", "y", "both"] = "y", **ticks: Any) -> None:
    """Give axes the common frame: lines of a grid (x, y or both), no tick marks, no line at the left.

    `ticks` is passed to `Axes.tick_params`.
    """
    axes.grid(True, axis=grid)
    axes.tick_params(axis="both", which="both", length=0, **ticks)
    axes.spines["left"].set_visible(False)


def label_numbers(axis: Axis) -> None:
    """Label the ticks of an axis with plain numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))


def label_shares(axis: Axis) -> None:
    """Label the ticks of an axis of shares (0 to 1) in per cent."""
    axis.set_major_formatter(FuncFormatter(lambda value, _position: f"{100 * value:g} %"))


def legend_above(figure: Figure, axes: Axes, columns: int, **spacing: Any) -> None:
    """Place the legend of `axes` above the panels, in `columns` columns. `spacing` is passed to `Figure.legend`."""
    spacing = {"borderpad": 0.1, "columnspacing": 1.0} | spacing
    handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5, **spacing)


def mark_tolerated(axes: Axes, highest_ms: float, reach: float) -> None:
    """Mark the tolerated time in axes in ms that show values up to `highest_ms`, and set their upper end.

    It is a line if it lies within `reach` times the highest value, else a note: farther away it would crush the rest.
    """
    is_log = axes.get_yscale() == "log"
    is_near = highest_ms * reach >= TOLERATED_MS
    top = max(highest_ms, TOLERATED_MS) if is_near else highest_ms
    axes.set_ylim(top=(top * (2.5 if is_log else 1.15)) or 1)
    if is_near:
        axes.axhline(TOLERATED_MS, color=INK, linewidth=1, linestyle="dashed", zorder=1)
        place: dict[str, Any] = {"xy": (0.99, TOLERATED_MS), "xycoords": ("axes fraction", "data"), "va": "bottom"}
        text = "4 s: what a user tolerates"
    else:
        place = {"xy": (0.99, 1), "xycoords": "axes fraction", "va": "top"}
        text = f"4 s, what a user tolerates, is {TOLERATED_MS / highest_ms:.0f} times higher" if highest_ms else ""
    axes.annotate(
        text, ha="right", fontsize=8, color=MUTED, xytext=(0, 2 if is_near else -2), textcoords="offset points", **place
    )


def to_svg(figure: Figure) -> str:
    """Return the figure as SVG text (see `svg.compact`), without a date or the name of a program."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return svg.compact(buffer.getvalue().decode())


def to_png(figure: Figure) -> bytes:
    """Return the figure as PNG bytes, as on a light page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
