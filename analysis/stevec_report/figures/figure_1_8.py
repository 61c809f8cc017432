"""Figure 1.8 (E5): mean response time of writes and reads without a cache, the study's and this run's."""

from matplotlib.figure import Figure

from stevec_report.figures import write_and_read
from stevec_report.measures import Point
from stevec_report.reference import Series

STUDY_LABEL = "The study: Banana Pi, without a cache, 2016"


def draw(study: Series, ours: dict[str, list[Point]], ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {method: {repetition: ms}} of table 1.7. ours: {"write": ms, "read": ms} of the trials.
    """
    return write_and_read.draw(study, ours, "source", STUDY_LABEL, ours_label)
