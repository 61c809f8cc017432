"""Figure 1.5 (E3): mean response time of the probe against the load, source: without a cache."""

from matplotlib.figure import Figure

from stevec_report.figures import load_curve
from stevec_report.figures.load_curve import ByLevel

DOOR = "source"


def draw(study: dict[int, float], ours: ByLevel, ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {parallel requests: ms} of table 1.4. ours: {parallel requests: points of the trial means, ms}.
    """
    return load_curve.draw(study, ours, DOOR, ours_label)
