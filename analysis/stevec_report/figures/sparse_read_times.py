"""E2, without a number in the study: mean response time without and with a cache, the study's and this run's."""

from matplotlib.figure import Figure

from stevec_report.figures import columns
from stevec_report.figures.limited import unlimited
from stevec_report.measures import Point
from stevec_report.reference import Series

# The study's two paths, both through the CDN, and the corresponding door here.
PATHS = {"without": ("nocache", "cache bypassed"), "with": ("cached", "cached")}


def draw(study: Series, ours: dict[str, list[Point]], ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {path: {repetition: ms}} of table 1.3. ours: {door: points of the trial means, ms}.
    """
    above, below = [], []
    for at, (path, (door, label)) in enumerate(PATHS.items()):
        above.append(columns.column(label, [float(at)], door, unlimited(study[path].values())))
        below.append(columns.column(door, [float(at)], door, ours.get(door, [])))
    return columns.draw(above, below, "The study: Banana Pi, Cloudflare, 2016", ours_label)
