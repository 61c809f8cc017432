"""How often a gate is decided wrongly where the truth is its limit."""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from stevec_compare.comparison import compare_numbers
from stevec_compare.gate import judge
from stevec_report.hypothesis_tests import ALPHA
from stevec_simulate.comparisons import CELLS, READS, SLOWER, STALE, made_up_run
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

RUNS = 3  # of each side


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Limits on a time and on stale reads of one cell that are called violated, and that are called kept."""
    found = [(noise, [_outcomes(noise, rng) for _ in range(simulations)]) for noise in noises]
    for limit, outcome, (noise, seen) in product(("mean_ratio_max", "stale_ratio_max"), ("violated", "kept"), found):
        hits = sum(one[limit] == outcome for one in seen)
        what = f"{limit} {outcome} where the truth is the limit, {RUNS} runs a side"
        yield Line("gates", what, str(noise), hits, simulations, most=ALPHA)


def _outcomes(noise: Noise, rng: np.random.Generator) -> dict[str, str]:
    first = [made_up_run(rng, noise) for _ in range(RUNS)]
    second = [made_up_run(rng, noise, SLOWER) for _ in range(RUNS)]
    # The mean of a lognormal level.
    stale = STALE * math.exp((noise.between_runs * noise.trial_sd) ** 2 / 2) / READS
    judged = judge({"mean_ratio_max": SLOWER, "stale_ratio_max": stale}, compare_numbers(first, second))
    return {one.limit: one.outcome for one in judged if one.cell == CELLS[0]}
