"""Figure 1.5 (E3): mean response time of the probe against the load, source: without a cache."""

from stevec_report.figures import load_curve

DOOR = "source"


def draw(study, ours, ours_label):
    """Draw it.

    Args:
        study: {parallel requests: ms} of table 1.4. ours: {parallel requests: (trial means in ms, limited)}.
    """
    return load_curve.draw(study, ours, DOOR, ours_label)
