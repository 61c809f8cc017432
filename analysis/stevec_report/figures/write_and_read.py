"""Figures 1.7 (E5) and 1.8 (E6): mean response time of writes and reads, the study's and this run's."""

from matplotlib.figure import Figure

from stevec_report.dependence import Shown
from stevec_report.figures import means
from stevec_report.figures.ratios import Ratio
from stevec_report.reference import Series

METHODS = {"POST": "write", "GET": "read"}
DOORS = {True: "source", False: "cached"}  # by `direct`


def draw(study: Series, ours: dict[str, Shown], direct: bool, ratio: Ratio, against: float, ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {method: {repetition: ms}} of table 1.7 or 1.8. ours: {"write": (points, mean) in ms, "read": …}.
        direct: whether the requests went to the source (E5), not through the cache (E6).
        ratio: write ÷ read. against: the ratio that the hypothesis speaks of.
    """
    door, path = DOORS[direct], "without a cache" if direct else "through the cache"
    above = [means.study_row(operation, door, study[method].values()) for method, operation in METHODS.items()]
    below = [means.Row(operation, door, *ours[operation]) for operation in METHODS.values()]
    labels = (f"The study: Banana Pi, {path}, 2016", ours_label)
    title = "Ratio of mean response times" + (f" (dotted: {against:g})" if against != 1 else "")
    return means.draw(above, below, labels, [ratio], title, against=against)
