"""Figures 1.7 (E5) and 1.8 (E6): mean response time of writes and reads, the study's and this run's."""

from matplotlib.figure import Figure

from stevec_report.figures import columns
from stevec_report.figures.limited import unlimited
from stevec_report.measures import Point
from stevec_report.reference import Series

METHODS = {"POST": "write", "GET": "read"}


def draw(study: Series, ours: dict[str, list[Point]], direct: bool, ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {method: {repetition: ms}} of table 1.7 or 1.8. ours: {"write": ms, "read": ms} of the trials.
        direct: whether the requests went to the source (E5), not through the cache (E6).
    """
    door, path = ("source", "without a cache") if direct else ("cached", "through the cache")
    above, below = [], []
    for at, (method, operation) in enumerate(METHODS.items()):
        above.append(columns.column(f"{operation} ({method})", [float(at)], door, unlimited(study[method].values())))
        below.append(columns.column(f"{operation} ({method})", [float(at)], door, ours.get(operation, [])))
    return columns.draw(above, below, f"The study: Banana Pi, {path}, 2016", ours_label)
