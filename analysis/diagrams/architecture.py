"""The architecture: clients, the four doors, what a request passes, and what the lab reads. `make figures` draws it.

python analysis/diagrams/architecture.py --output docs/figures/architecture.svg
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

ANALYSIS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ANALYSIS))

from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.patches import FancyBboxPatch  # noqa: E402
from matplotlib.typing import ColorType  # noqa: E402

from stevec_report import plot_style  # noqa: E402

SIZE_IN = (8.0, 3.9)
SCALE = (108, 54)
Point = tuple[float, float]

# name: (text, left, bottom, width, height, colour)
PARTS = {
    "clients": ("clients\nbrowsers, k6", 1, 10, 15, 36, "black"),
    "edge": ("CDN edge\nemulated, or\nCloudflare", 33, 32, 17, 14, "blue"),
    "local": ("client's proxy\nnginx, caching", 33, 10, 17, 9, "green"),
    "origin": ("origin's\nnginx", 61, 10, 12, 36, "black"),
    "wiki": ("wiki\nFastify,\nmongoose", 79, 22, 12, 12, "black"),
    "mongod": ("mongod", 97, 24, 10, 8, "black"),
    "lab": ("lab: stevec run → results/ → report", 33, 0, 40, 6, "purple"),
}

# from and to as (x, y), label, door (None: of no door alone)
REQUESTS = (
    ((16, 43), (33, 43), "cached", "cached"),
    ((16, 35), (33, 35), "nocache", "nocache"),
    ((16, 25.5), (61, 25.5), "source", "source"),
    ((16, 14.5), (33, 14.5), "local", "local"),
    ((50, 39), (61, 39), "misses", None),
    ((50, 14.5), (61, 14.5), "misses", None),
    ((73, 28), (79, 28), "", None),
    ((91, 28), (97, 28), "", None),
)

# corners of the line, label, its position and alignment
NOTES = (
    (((85, 34), (85, 50), (41.5, 50), (41.5, 46)), "purges: a page has changed", (63, 51), "center"),
    (((8.5, 10), (8.5, 3), (33, 3)), "samples", (20.5, 4), "center"),
    (((67, 10), (67, 6)), "access logs", (68, 7.3), "left"),
    (((85, 22), (85, 3), (73, 3)), "counter, /wiki/stevec:\nrequests that\nreached the wiki", (86, 9), "left"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments` (those of the process if None); return its exit status."""
    parser = argparse.ArgumentParser(description="Draw the architecture.")
    parser.add_argument("--output", type=Path, metavar="FILE", required=True, help="an SVG")
    options = parser.parse_args(arguments)
    with plot_style.style():
        options.output.write_text(plot_style.to_svg(draw()))
    return 0


def draw() -> Figure:
    """Return the figure."""
    figure = Figure(figsize=SIZE_IN, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set(xlim=(0, SCALE[0]), ylim=(-1, SCALE[1]))
    axes.axis("off")
    for part in PARTS.values():
        add_part(axes, *part)
    for start, end, label, door in REQUESTS:
        add_request(axes, start, end, label, door)
    for note in NOTES:
        add_note(axes, *note)
    return figure


def add_part(axes: Axes, text: str, left: float, bottom: float, width: float, height: float, colour: str) -> None:
    """Draw a box with its text."""
    box = FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0,rounding_size=1.2")
    box.set(facecolor="white", edgecolor=plot_style.OKABE_ITO[colour], linewidth=1.3, zorder=2)
    axes.add_patch(box)
    axes.text(left + width / 2, bottom + height / 2, text, ha="center", va="center", fontsize=8.5, zorder=3)


def add_request(axes: Axes, start: Point, end: Point, label: str, door: str | None) -> None:
    """Draw the path of a request, in the colour of its door."""
    colour = plot_style.MUTED if door is None else plot_style.door_colour(door)
    add_arrow(axes, start, end, colour, "solid", 1.5)
    weight = "normal" if door is None else "bold"
    # Doors' names stand near the clients, who choose them.
    middle = (start[0] + (end[0] if door != "source" else 33)) / 2
    axes.text(middle, start[1] + 0.9, label, color=colour, fontsize=8.5, ha="center", fontweight=weight)


def add_note(axes: Axes, corners: Sequence[Point], text: str, position: Point, alignment: str) -> None:
    """Draw a dashed line with an arrow at its end: what goes besides requests."""
    axes.plot(*zip(*corners[:-1], strict=True), color=plot_style.MUTED, lw=1, linestyle="dashed", zorder=1)
    add_arrow(axes, corners[-2], corners[-1], plot_style.MUTED, "dashed", 1)
    axes.text(*position, text, color=plot_style.MUTED, fontsize=8, ha=alignment)


def add_arrow(axes: Axes, start: Point, end: Point, colour: ColorType, line: str, width: float) -> None:
    """Draw an arrow."""
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": width, "linestyle": line, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=1)


if __name__ == "__main__":
    sys.exit(main())
