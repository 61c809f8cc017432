"""How often a comparison calls two sides of one version different, and how often its intervals cover a difference."""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from stevec_compare.comparison import compare_numbers
from stevec_compare.counts import Count
from stevec_compare.run import RunNumbers, TrialNumbers
from stevec_report.hypothesis_tests import ALPHA
from stevec_simulate.intervals import Z
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line, coverage

CELLS = ("door=cached", "door=source")
RUNS = (2, 3, 5)  # of each side
RUNS_FOR_WIDTH = (3, 5)  # with two, a variance has two degrees of freedom, and intervals are wide
TRIALS = 6
READS = 1000
STALE = 4  # stale reads of a trial, in clusters
CLUSTER = 5
SLOWER = 1.1


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """The share of "real" where both sides are of one version, and the coverage where B is slower."""
    for runs, noise in product(RUNS, noises):
        wrong = 0
        for _ in range(simulations):
            first, second = ([made_up_run(rng, noise) for _ in range(runs)] for _ in "AB")
            found = compare_numbers(first, second)
            wrong += any(one.real for one in found.tests)
        what = f"A/A, {runs} runs a side: something is real"
        yield Line("comparisons", what, str(noise), wrong, simulations, most=ALPHA)
    for runs, noise in product(RUNS_FOR_WIDTH, noises):
        covered, widths = [], []
        for _ in range(simulations):
            first = [made_up_run(rng, noise) for _ in range(runs)]
            second = [made_up_run(rng, noise, SLOWER) for _ in range(runs)]
            one = compare_numbers(first, second).differences["mean_ms"][CELLS[0]]
            low, high = one.low or math.nan, one.high or math.nan
            covered.append(low <= SLOWER <= high)
            widths.append(math.log(high / low))
        spread = math.hypot(noise.between_runs * noise.trial_sd, noise.mean_sd(np.arange(TRIALS)))
        oracle = 2 * Z * spread * math.sqrt(2 / runs)
        yield coverage("comparisons", f"B ÷ A, {runs} runs a side", str(noise), covered, widths, oracle)


def made_up_run(rng: np.random.Generator, noise: Noise, slower: float = 1.0) -> RunNumbers:
    """A run of two cells. Each cell has its own level in this run; stale reads come in clusters."""
    cells = {}
    for cell in CELLS:
        level = float(noise.runs(rng, 1)[0])
        clusters = rng.poisson(STALE / CLUSTER * math.exp(level), TRIALS)
        cells[cell] = [
            TrialNumbers(
                repetition=at,
                mean_ms=5 * slower * math.exp(level + deviation),
                p95_ms=9 * slower * math.exp(level + deviation),
                stale=Count(CLUSTER * int(clusters[at]), READS),
            )
            for at, deviation in enumerate(noise.trials(rng, TRIALS))
        ]
    return RunNumbers("made up", cells)
