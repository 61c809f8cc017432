"""Trials of a run depend on each other in time: neighbours meet the same minutes of the machine.

One rule for all of it. The logarithms of the trials' means, in the order in which the trials ran, are a cell's mean
(for a trend: and a line) plus an autoregressive process of order 1, whose correlation falls as ρ to the power of the
distance (G. E. P. Box, G. M. Jenkins, "Time series analysis", 1970). ρ is estimated once from all residuals of the run.
Then the variance of any contrast of trials follows from where they stood, and its degrees of freedom from
F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2(6), 1946.

Differences within a block need none of this: the order of trials in a block is random, which makes their errors nearly
independent of each other from block to block.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from stevec_report import limits
from stevec_report.analysis import Analysis
from stevec_report.intervals import LEVEL, Interval
from stevec_report.measures import MEASURES, Point, points
from stevec_report.outcomes import CellKey, MeasuredOutcome

RHO_MAX = 0.95
RHO_STEPS = 20
FREE_MIN = 10  # residual degrees of freedom; below, it would be a guess, and 0 stands for it
TRIALS_MAX = 400  # the first ones of a longer run; the work grows with the cube
TIE = 1e-9  # residuals that are rounding only have no correlation
FAR = 1e6  # between trials under different conditions, in trials


Shown = tuple[list[Point], Interval | None]  # the points of a cell's trials, and their mean


@dataclass(frozen=True)
class Dependence:
    """`rho` is the correlation of neighbouring trials, None if there are too few to tell. `positions` are {number of a
    trial: its place in the order of time}."""

    rho: float | None
    positions: Mapping[int, float]

    @property
    def words(self) -> str:
        """What intervals of means allow for: a clause for the note of a table."""
        if self.rho is None:
            return "which takes trials for independent, as there are too few to tell"
        return f"widened for trials that depend on those before them (correlation {self.rho:.2f})"

    def mean(self, measure: str, trials: Sequence[MeasuredOutcome]) -> Interval | None:
        """Geometric mean of a measure over the trials of a cell: those that nothing limited, or all without such.

        None without a value.
        """
        values = {o.number: MEASURES[measure].of(o) for o in limits.believed(trials)}
        return self.geometric({number: value for number, value in values.items() if value is not None and value > 0})

    def geometric(self, values: Mapping[int, float]) -> Interval | None:
        """Geometric mean of {number of a trial: positive value}, the trials of one cell; None without any."""
        logs = {number: math.log(value) for number, value in values.items()}
        found = self.arithmetic(logs)
        return found.map(math.exp) if found else None

    def arithmetic(self, values: Mapping[int, float]) -> Interval | None:
        """Arithmetic mean of {number of a trial: value}, the trials of one cell; None without any."""
        if not values:
            return None
        positions = [self.positions[number] for number in values]
        return mean_interval(list(values.values()), positions, self.rho or 0.0)

    def shown(self, measure: str, trials: Sequence[MeasuredOutcome]) -> Shown:
        """What a figure draws of a cell: its points, and the mean as `mean`, which tables show."""
        return points(measure, trials), self.mean(measure, trials)


def run_dependence(analysis: Analysis) -> Dependence:
    """The `Dependence` of a run's trials, by their mean response times without limited trials."""
    positions = positions_of(analysis)
    groups: dict[tuple[CellKey, int], list[MeasuredOutcome]] = {}
    for o in analysis.valid:
        if o.mean_ms and not o.limited:
            groups.setdefault((o.cell, o.conditions.number), []).append(o)
    return Dependence(estimate_rho(_series(groups.values(), positions)), positions)


def positions_of(analysis: Analysis) -> dict[int, float]:
    """{number of a trial: its place in the order of time}, those of other conditions far away."""
    ran = sorted((o for o in analysis.outcomes if isinstance(o, MeasuredOutcome)), key=lambda o: o.record.started_at)
    return {o.number: at + FAR * o.conditions.number for at, o in enumerate(ran)}


Series = tuple[Sequence[float], Sequence[float]]  # positions and logarithms of one cell's trials


def _series(groups: Iterable[Sequence[MeasuredOutcome]], positions: Mapping[int, float]) -> list[Series]:
    found: list[Series] = []
    left = TRIALS_MAX
    for members in groups:
        kept = members[: max(0, left)]
        left -= len(kept)
        if len(kept) > 1:
            found.append(([positions[o.number] for o in kept], [math.log(o.mean_ms or 1.0) for o in kept]))
    return found


def estimate_rho(series: Sequence[Series]) -> float | None:
    """ρ of trials from the residuals of their cells' means, 0 to RHO_MAX; None with too few trials, or none in a row.

    Args:
        series: (positions, logarithms) of each cell with two or more trials. Positions count trials.
    """
    if not series:
        return None
    positions, values, design = _stack(series)
    return _estimate(positions, values, _residual_projector(design))


def mean_interval(values: ArrayLike, positions: ArrayLike, rho: float, level: float = LEVEL) -> Interval:
    """`Interval` of the mean of trials of one cell: the t interval where `rho` is 0, wider above.

    Args:
        values: (n,), n ≥ 1; positions: (n,), places in the order of trials; rho: from `estimate_rho`.
    """
    values = np.asarray(values, dtype=float)
    weights, ones = np.full(values.size, 1 / values.size), np.ones((values.size, 1))
    if values.size == 1:
        return Interval(float(values[0]), None, None, 1)
    return _contrast(values, weights, _residual_projector(ones), _correlation(positions, rho), level)


def drift(groups: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]], level: float = LEVEL) -> Interval | None:
    """Change of the times over a run: the common slope of log(time) within the groups, by least squares.

    Every group (a door) has its own level, and all share one slope, so a door that happened to be measured late does
    not appear as drift. ρ is that of the residuals of this line, as a drift would pass for dependence otherwise.

    Args:
        groups: list of (moments, values, positions) with shapes (n,), moments scaled so that the run lasts from 0 to 1,
            values positive, and positions in the order of trials.

    Returns:
        `Interval` of the factor from the beginning to the end of the run (1 = no drift), or None if fewer than one
        degree of freedom is left or all the moments of each group are equal.
    """
    if not groups:
        return None
    series = [(positions, np.log(np.asarray(values, dtype=float))) for _, values, positions in groups]
    positions, values, design = _stack(series)
    moments = np.concatenate([np.asarray(own, dtype=float) for own, _, _ in groups])
    slopes = _residual_projector(design) @ moments
    spread = float(slopes @ slopes)
    if values.size - len(groups) - 1 < 1 or spread <= 1e-12:
        return None
    residual = _residual_projector(np.column_stack([design, moments]))
    rho = _estimate(positions, values, residual) or 0.0
    return _contrast(values, slopes / spread, residual, _correlation(positions, rho), level).map(math.exp)


def _stack(series: Sequence[tuple[ArrayLike, ArrayLike]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(positions (n,), values (n,), design (n, cells)) of all cells together."""
    sizes = [np.size(own) for own, _ in series]
    positions, values = (np.concatenate([np.asarray(one[at], dtype=float) for one in series]) for at in (0, 1))
    return positions, values, np.repeat(np.eye(len(sizes)), sizes, axis=0)


def _residual_projector(design: np.ndarray) -> np.ndarray:
    basis, _ = np.linalg.qr(design)
    return np.eye(len(design)) - basis @ basis.T


def _correlation(positions: ArrayLike, rho: float) -> np.ndarray:
    positions = np.asarray(positions, dtype=float)
    apart = np.abs(positions[:, None] - positions[None, :])
    return np.where(apart == 0, 1.0, rho**apart)


def _estimate(positions: np.ndarray, values: np.ndarray, residual: np.ndarray) -> float | None:
    """The ρ whose expected correlation of neighbouring residuals is the one seen.

    Residuals are correlated by the cells' means that were taken from them, which biases their correlation downwards
    where trials are few. Both expectations follow from the design, so ρ is found by inverting their ratio.
    """
    neighbours = (np.abs(positions[:, None] - positions[None, :]) == 1) / 2
    errors = residual @ values
    is_constant = float(np.abs(errors).max()) <= TIE * max(1.0, float(np.abs(values).max()))
    if np.trace(residual) < FREE_MIN or not neighbours.any() or is_constant:
        return None
    seen = float(errors @ neighbours @ errors) / float(errors @ errors)
    weights = residual @ neighbours @ residual
    grid = np.linspace(0, RHO_MAX, RHO_STEPS)
    expected = []
    for rho in grid:
        correlation = _correlation(positions, rho)
        expected.append(float((weights * correlation).sum() / (residual * correlation).sum()))
    return float(np.interp(seen, np.maximum.accumulate(expected), grid))


def _contrast(
    values: np.ndarray, weights: np.ndarray, residual: np.ndarray, correlation: np.ndarray, level: float
) -> Interval:
    """`Interval` of weights · values, with the variance of the residuals and Satterthwaite's degrees of freedom."""
    spread = residual @ correlation
    scale, errors = float(np.trace(spread)), residual @ values
    freedom = scale**2 / float((spread * spread.T).sum())
    variance = float(errors @ errors) / scale * float(weights @ correlation @ weights)
    centre, half = float(weights @ values), float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(max(0.0, variance))
    return Interval(centre, centre - half, centre + half, values.size)
