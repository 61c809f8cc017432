"""The common style of all figures: sizes, type, colours, and the export to bytes.

A figure is as wide as a phone's screen can show without shrinking the type below about 9 px, on a white
card that stays legible on a dark page. Colours are those of Okabe and Ito ("Color universal design", 2008),
warm without a cache and cool with one; no information is given by colour alone.
"""

import io
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from stevec_report.tolerance import TOLERATED_MS

WIDTH_IN = 4.5
PNG_DPI = 200
INK = "#1d2330"
MUTED = "#5b6472"
GRID = "#dfe3e8"
OKABE_ITO = {
    name: matplotlib.color_sequences["okabe_ito"][index]
    for index, name in enumerate(("black", "orange", "sky_blue", "green", "yellow", "blue", "vermilion", "purple"))
}
DOOR_COLOURS = {
    "source": OKABE_ITO["vermilion"],
    "nocache": OKABE_ITO["orange"],
    "local": OKABE_ITO["green"],
    "cached": OKABE_ITO["blue"],
}
DOOR_MARKERS = {"source": "o", "nocache": "s", "local": "^", "cached": "D"}

_RC = {
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
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    # Labels come from files: a $ in them is a character, not a formula.
    "text.parse_math": False,
    # Text as outlines: the same letters on every machine and in every browser.
    "svg.fonttype": "path",
    # Ids in the SVG derive from this salt instead of random numbers, so that a rebuild gives the same bytes.
    "svg.hashsalt": "stevec",
}


def door_colour(door):
    """Colour of a door; grey for doors without one of their own."""
    return DOOR_COLOURS.get(door, MUTED)


def door_marker(door):
    """Marker of a door."""
    return DOOR_MARKERS.get(door, "v")


@contextmanager
def style():
    """Context for drawing and saving: matplotlib's defaults, without the user's matplotlibrc, then our settings."""
    # The DejaVu fonts that come with matplotlib take precedence over the system's version.
    bundled = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf")
    fonts = font_manager.fontManager
    fonts.ttflist.sort(key=lambda entry: not entry.fname.startswith(bundled))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def new_figure(height_in, rows=1, **grid):
    """Return (figure, axes of shape (rows,)) of the common width. `grid` is passed to `Figure.subplots`."""
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(h_pad=0.07, w_pad=0.06)
    return figure, figure.subplots(rows, 1, squeeze=False, **grid)[:, 0]


def legend_above(figure, axes, columns, **spacing):
    """Place the legend of `axes` above the panels, in `columns` columns. `spacing` is passed to `Figure.legend`."""
    spacing = {"borderpad": 0.1, "columnspacing": 1.0} | spacing
    handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper left", ncols=columns, frameon=False, fontsize=8.5, **spacing)


def mark_tolerated(axes, text, x, **placed):
    """Draw the tolerated time as a line across axes in ms, with `text` at `x`, a share of the axes' width."""
    axes.axhline(TOLERATED_MS, color=INK, linewidth=1, linestyle="dashed", zorder=1)
    axes.annotate(
        text,
        (x, TOLERATED_MS),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=8.5,
        **placed,
    )


def to_svg(figure):
    """Return the figure as SVG text, without a date or the name of a program."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue().decode()


def to_png(figure):
    """Return the figure as PNG bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return buffer.getvalue()
