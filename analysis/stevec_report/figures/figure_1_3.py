"""Figure 1.3 (E1): mean response time by path, the study's and this run's."""

from matplotlib.figure import Figure

from stevec_report.figures import columns
from stevec_report.figures.limited import unlimited
from stevec_report.measures import Point
from stevec_report.reference import Series

# The study's paths: the doors above whose columns they are drawn, the door whose colour they use, and a label.
STUDY_PATHS = {
    "without": (("source", "nocache"), "source", "without a cache"),
    "local": (("local",), "local", "local nginx"),
    "cdn": (("cached",), "cached", "CDN"),
}


def draw(study: Series, ours: dict[str, list[Point]], ours_label: str) -> Figure:
    """Draw it.

    Args:
        study: {path: {repetition: ms}} of table 1.2. ours: {door: points of the trial means, ms}, doors in their order.
    """
    places = {door: float(at) for at, door in enumerate(ours)}
    above = []
    for path, values in study.items():
        doors, colour_of, label = STUDY_PATHS[path]
        under = [places[door] for door in doors if door in places]
        if under:
            above.append(columns.column(label, under, colour_of, unlimited(values.values())))
    below = [columns.column(door, [at], door, ours[door]) for door, at in places.items()]
    return columns.draw(above, below, "The study: Banana Pi, Cloudflare, 2016", ours_label)
