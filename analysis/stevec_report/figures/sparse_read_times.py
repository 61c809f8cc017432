"""E2, without a number in the study: mean response time without and with a cache, the study's and this run's."""

from matplotlib.figure import Figure

from stevec_report.dependence import Shown
from stevec_report.figures import means
from stevec_report.figures.ratios import Ratio
from stevec_report.reference import Series

# The study's two paths, both through the CDN, and the corresponding door here.
PATHS = {"without": ("nocache", "cache bypassed"), "with": ("cached", "cached")}


def draw(study: Series, ours: dict[str, Shown], ratio: Ratio, margin: float, ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {path: {repetition: ms}} of table 1.3. ours: {door: (points, mean) in ms}, both doors.
        ratio: of the two. margin: ratios within 1/margin to margin count as equal.
    """
    above = [means.study_row(label, door, study[path].values()) for path, (door, label) in PATHS.items()]
    below = [means.Row(door, door, *ours[door]) for door, _ in PATHS.values()]
    labels = ("The study: Banana Pi, Cloudflare, 2016", ours_label)
    title = f"Ratio (shaded: equal, 1/{margin:g} to {margin:g})"
    return means.draw(above, below, labels, [ratio], title, margin)
