"""Labels of points in a column at the right of the axes, with a line from each to its point."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from stevec_report import plot_style

LABEL_IN = 0.165  # between the middles of two labels
LABELS_AT = 1.06  # in widths of the axes


def height_in(labels: int) -> float:
    """The least height of axes with so many labels beside them."""
    return LABEL_IN * (labels + 1)


def place(axes: Axes, labels: Sequence[str], points: Sequence[tuple[float, float]], axes_in: float) -> None:
    """Label `points` in the order of their heights. Call it when the scales and limits of the axes are final.

    Args:
        axes_in: height of the axes.
    """
    to_axes = axes.transScale + axes.transLimits
    order = sorted(range(len(points)), key=lambda at: (points[at][1], points[at][0]))
    heights = [float(to_axes.transform(points[at])[1]) for at in order]
    for at, y in zip(order, spread(heights, LABEL_IN / axes_in), strict=True):
        axes.annotate(
            labels[at],
            points[at],
            xytext=(LABELS_AT, y),
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": plot_style.MUTED,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move rising `places` apart, within 0 to 1, until neighbours are `gap` from each other.

    Places that are too near form a block, which is centred on the mean of where its members want to be.
    """
    blocks: list[list[float]] = []  # [sum of the wanted places of the first label, labels]
    for place in places:
        blocks.append([place, 1])
        while len(blocks) > 1 and _start(blocks[-2], gap) + blocks[-2][1] * gap > _start(blocks[-1], gap):
            wanted, count = blocks.pop()
            blocks[-1] = [blocks[-1][0] + wanted - count * blocks[-1][1] * gap, blocks[-1][1] + count]
    return [_start(block, gap) + at * gap for block in blocks for at in range(int(block[1]))]


def _start(block: Sequence[float], gap: float) -> float:
    """Where the first label of a block lies, so that all its labels are between 0 and 1."""
    return max(gap / 2, min(block[0] / block[1], 1 - (block[1] - 0.5) * gap))
