"""The areas that are simulated, and the noise that they meet."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from stevec_simulate import comparisons, expectations, gates, intervals, knees, staleness, verdicts
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

# `between_runs` is in multiples of the trials' own spread.
NOISES = (
    Noise(),
    Noise(between_runs=0.5),
    Noise(between_runs=1),
    Noise(between_runs=2),
    Noise(correlation=0.4),
    Noise(heavy_tails=True),
    Noise(between_runs=2, correlation=0.4, heavy_tails=True),
)
AREAS: dict[str, Callable[[Sequence[Noise], int, np.random.Generator], Iterator[Line]]] = {
    "verdicts": verdicts.lines,
    "expectations": expectations.lines,
    "comparisons": comparisons.lines,
    "intervals": intervals.lines,
    "staleness": staleness.lines,
    "knees": knees.lines,
    "gates": gates.lines,
    "one-stack": verdicts.on_one_stack,
}


def simulate(names: Sequence[str], simulations: int, seed: int, noises: Sequence[Noise] = NOISES) -> Iterator[Line]:
    """The lines of the areas `names`, each with `simulations` simulations. The same seed gives the same lines."""
    for name in names:
        yield from AREAS[name](noises, simulations, np.random.default_rng([seed, list(AREAS).index(name)]))
