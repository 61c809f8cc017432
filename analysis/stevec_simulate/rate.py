"""Rates that a simulation finds, each with its Monte-Carlo interval, beside what they have to be."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

LEVEL = 0.99  # of a Monte-Carlo interval: more than a hundred lines are read at once
COVERAGE = 0.93  # of an interval that claims 0.95
WIDTH = 1.5  # times the width of the interval of an oracle, who knows the model


@dataclass(frozen=True)
class Line:
    """`hits` of `n` simulations did what `what` says, under this `noise`.

    The rate has to be at most `most`, or at least `least`; without both it is shown and not judged.

    `width` is the median width of the intervals ÷ that of an oracle that knows the model, None where it makes no sense;
    it has to be at most `width_most`.
    """

    area: str
    what: str
    noise: str
    hits: int
    n: int
    most: float | None = None
    least: float | None = None
    width: float | None = None
    width_most: float | None = None

    @property
    def is_judged(self) -> bool:
        """Whether the rate has to be anything."""
        return self.most is not None or self.least is not None

    @property
    def rate(self) -> float:
        """Share of the simulations."""
        return self.hits / self.n

    @property
    def bounds(self) -> tuple[float, float]:
        """The Monte-Carlo interval of the rate (Clopper–Pearson)."""
        found = binomtest(self.hits, self.n).proportion_ci(LEVEL, "exact")
        return float(found.low), float(found.high)

    @property
    def holds(self) -> bool:
        """False where the whole Monte-Carlo interval contradicts what the rate has to be, or the width is too large."""
        low, high = self.bounds
        if self.width is not None and self.width_most is not None and self.width > self.width_most:
            return False
        return not ((self.most is not None and low > self.most) or (self.least is not None and high < self.least))

    @property
    def required(self) -> str:
        """What the rate, and the width, have to be, in words."""
        words = [f"≤ {100 * self.most:g} %"] if self.most is not None else []
        words += [f"≥ {100 * self.least:g} %"] if self.least is not None else []
        words += [f"width ≤ {self.width_most:g}"] if self.width_most is not None else []
        return ", ".join(words) or "shown, not judged"


def coverage(area: str, what: str, noise: str, covered: Sequence[bool], widths: Sequence[float], oracle: float) -> Line:
    """The line of an interval: how often it `covered` the truth, and its median width ÷ that of the `oracle`."""
    ratio = float(np.median(np.asarray(widths))) / oracle
    return Line(area, what, noise, sum(covered), len(covered), least=COVERAGE, width=ratio, width_most=WIDTH)
