"""How often a system whose response times do not depend on the load is said to have a knee."""

from collections.abc import Iterator, Sequence

import numpy as np

from stevec_report.saturation import find_knee
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

LEVELS = (0, 10, 40, 100, 250)
BLOCKS = 9
WIDE = 6  # times the usual spread of trials: a flat system that looks like one with a knee now and then


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Knees that are found at twice the unloaded mean although the true means are all equal."""
    for noise in noises:
        found = 0
        for _ in range(simulations):
            deviations = WIDE * noise.trials(rng, BLOCKS * len(LEVELS)).reshape(BLOCKS, len(LEVELS))
            knee = find_knee(LEVELS, 100 * np.exp(deviations), seed=int(rng.integers(2**31)))
            found += knee.load is not None
        yield Line("knees", "a knee in a flat system", str(noise), found, simulations, most=0.05)
