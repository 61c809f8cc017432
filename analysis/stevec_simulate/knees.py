"""How often a system whose response times do not depend on the load is said to have a knee, and how often the interval
of a knee that exists covers it."""

from collections.abc import Iterator, Sequence

import numpy as np

from stevec_report.saturation import DEGRADED, Knee, crossing, find_knee
from stevec_simulate.intervals import Z
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line, coverage

LEVELS = (0, 10, 40, 100, 250)
FLAT_MS = (100.0,) * len(LEVELS)
RISING_MS = (100.0, 110.0, 160.0, 400.0, 1500.0)
BLOCKS = 9
WIDE = 6  # times the usual spread of trials: a flat system that looks like one with a knee now and then
USUAL = 3  # times: the spread beside a background
ORACLE_RUNS = 500  # whose spread of knees the oracle of an interval knows


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Knees at twice the unloaded mean: those found where there is none, and the coverage of one that exists."""
    for noise in noises:
        found = sum(_knee(FLAT_MS, WIDE, noise, rng).load is not None for _ in range(simulations))
        yield Line("knees", "a knee in a flat system", str(noise), found, simulations, most=0.05)
    truth = _point(RISING_MS)
    for noise in noises:
        seen = [_knee(RISING_MS, USUAL, noise, rng) for _ in range(simulations)]
        bounds = [knee.interval or (np.nan, np.nan) for knee in seen]
        covered = [low <= truth <= high for low, high in bounds]
        points = [_point(np.exp(_log_means(RISING_MS, USUAL, noise, rng).mean(axis=0))) for _ in range(ORACLE_RUNS)]
        widths = [high - low for low, high in bounds]
        oracle = 2 * Z * float(np.std(points))
        yield coverage("knees", f"the knee at {truth:g}, {BLOCKS} blocks", str(noise), covered, widths, oracle)


def _knee(means_ms: Sequence[float], spread: float, noise: Noise, rng: np.random.Generator) -> Knee:
    return find_knee(LEVELS, np.exp(_log_means(means_ms, spread, noise, rng)), seed=int(rng.integers(2**31)))


def _point(means_ms: Sequence[float]) -> float:
    return crossing(LEVELS, means_ms, DEGRADED * means_ms[0]) or 0.0


def _log_means(means_ms: Sequence[float], spread: float, noise: Noise, rng: np.random.Generator) -> np.ndarray:
    """Logarithms (BLOCKS, levels) of one simulated run, in which each block and level has a stack of its own."""
    trials = BLOCKS * len(LEVELS)
    deviations = spread * (noise.trials(rng, trials) + noise.runs(rng, trials))
    return np.log(means_ms) + deviations.reshape(BLOCKS, len(LEVELS))
