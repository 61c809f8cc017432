"""The noise of simulated trials: what the logarithm of a trial's value has beside its true level."""

import math
from dataclasses import dataclass

import numpy as np

TAIL_FREEDOM = 3  # of Student's t: the fewest whole degrees that have a variance


@dataclass(frozen=True)
class Noise:
    """Standard deviations are of natural logarithms.

    `trial_sd` is that of one trial, `between_runs` the standard deviation of the runs' own levels in multiples of it.
    `correlation` is that of trials that follow each other (AR(1)). With `heavy_tails` a trial's surprise is Student's t
    with TAIL_FREEDOM degrees, scaled to the same variance.
    """

    trial_sd: float = 0.05
    between_runs: float = 0.0
    correlation: float = 0.0
    heavy_tails: bool = False

    def __str__(self) -> str:
        words = [f"runs {self.between_runs:g} ×"] if self.between_runs else []
        words += [f"ρ {self.correlation:g}"] if self.correlation else []
        words += ["heavy tails"] if self.heavy_tails else []
        return ", ".join(words) or "independent trials"

    def trials(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw (n,) deviations of the trials of one run, in their order of time."""
        if self.heavy_tails:
            surprises = rng.standard_t(TAIL_FREEDOM, n) / math.sqrt(TAIL_FREEDOM / (TAIL_FREEDOM - 2))
        else:
            surprises = rng.standard_normal(n)
        deviations = surprises.copy()
        for at in range(1, n):
            deviations[at] = self.correlation * deviations[at - 1] + math.sqrt(1 - self.correlation**2) * surprises[at]
        return self.trial_sd * deviations

    def runs(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw (n,) deviations of the levels of runs."""
        return self.between_runs * self.trial_sd * rng.standard_normal(n)

    def mean_sd(self, positions: np.ndarray) -> float:
        """The true standard deviation of the mean of the trials of one run at these `positions` (n,) in its order."""
        return self._sd(positions, np.full(positions.size, 1 / positions.size))

    def difference_sd(self, one: np.ndarray, other: np.ndarray) -> float:
        """That of the difference of the means of the trials at two sets of positions, (n,) and (m,)."""
        weights = np.concatenate([np.full(one.size, 1 / one.size), np.full(other.size, -1 / other.size)])
        return self._sd(np.concatenate([one, other]), weights)

    def _sd(self, positions: np.ndarray, weights: np.ndarray) -> float:
        apart = np.abs(np.subtract.outer(positions, positions))
        shared = np.where(apart == 0, 1.0, self.correlation**apart)
        return self.trial_sd * math.sqrt(float(weights @ shared @ weights))
