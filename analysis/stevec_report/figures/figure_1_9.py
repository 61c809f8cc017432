"""Figure 1.9 (E5 beside E6): the means of table 1.9, the study's and those of this study's runs."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from stevec_report.figures import means
from stevec_report.figures.ratios import Ratio
from stevec_report.figures.write_and_read import DOORS, METHODS
from stevec_report.intervals import Interval

PATHS = {True: "without a cache", False: "with a cache"}  # by `direct`
Means = Mapping[bool, Mapping[str, float | None]]  # {True without a cache, False with one: {"write": ms, "read": ms}}


def draw(study: Means, ours: Means, ratios: Mapping[bool, Interval | None], ours_label: str) -> Figure:
    """Draw the means, and below the ratio of a write to a read without and with a cache, where `ratios` has ours."""
    compared = [Ratio(f"write ÷ read,\n{path}", _ratio(study[d]), ratios.get(d), DOORS[d]) for d, path in PATHS.items()]
    labels = ("The study: Banana Pi, Cloudflare, 2016", ours_label)
    return means.draw(_rows(study), _rows(ours), labels, compared, "Ratio of mean response times")


def _rows(own: Means) -> list[means.Row]:
    return [
        means.study_row(f"{operation},\n{path}", DOORS[direct], (ms for ms in [own[direct][operation]] if ms))
        for direct, path in PATHS.items()
        for operation in METHODS.values()
    ]


def _ratio(pair: Mapping[str, float | None]) -> float | None:
    write_ms, read_ms = pair["write"], pair["read"]
    return write_ms / read_ms if write_ms and read_ms else None
