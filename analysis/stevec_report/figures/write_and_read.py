"""Writes beside reads, for figures 1.8 and 1.9."""

from matplotlib.figure import Figure

from stevec_report.figures import columns
from stevec_report.figures.limited import unlimited
from stevec_report.measures import Point
from stevec_report.reference import Series

METHODS = {"POST": "write", "GET": "read"}


def draw(study: Series, ours: dict[str, list[Point]], door: str, study_label: str, ours_label: str) -> Figure:
    """Draw the two columns of both panels, in the colour of `door`."""
    above, below = [], []
    for at, (method, operation) in enumerate(METHODS.items()):
        above.append(columns.column(f"{operation} ({method})", [float(at)], door, unlimited(study[method].values())))
        below.append(columns.column(f"{operation} ({method})", [float(at)], door, ours.get(operation, [])))
    return columns.draw(above, below, study_label, ours_label)
