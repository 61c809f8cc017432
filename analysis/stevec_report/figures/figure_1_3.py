"""Figure 1.3 (E1): mean response time by path, the study's and this run's, and its ratio to a path without a cache."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from stevec_report.dependence import Shown
from stevec_report.figures import means
from stevec_report.figures.ratios import Ratio
from stevec_report.reference import Series

# The study's paths: the door whose colour they use, and a label.
STUDY_PATHS = {"without": ("source", "without a cache"), "local": ("local", "local nginx"), "cdn": ("cached", "CDN")}


def draw(study: Series, ours: dict[str, Shown], compared: Sequence[Ratio], ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {path: {repetition: ms}} of table 1.2. ours: {door: (points, mean) in ms}, doors in their order.
        compared: the ratios of doors.
    """
    above = [
        means.study_row(label, door, study[path].values())
        for path, (door, label) in STUDY_PATHS.items()
        if path in study
    ]
    below = [means.Row(door, door, *shown) for door, shown in ours.items()]
    labels = ("The study: Banana Pi, Cloudflare, 2016", ours_label)
    return means.draw(above, below, labels, compared, "Ratio of mean response times")
