"""How often the intervals of one run cover the truth, and how wide they are."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from stevec_report import key_numbers
from stevec_report.experiments import read_hot
from stevec_report.intervals import Interval
from stevec_report.outcomes import MeasuredOutcome
from stevec_simulate.made_up import MadeUpTrial, make_up, measure
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line, coverage

BLOCKS = 9
MEANS_MS = {"source": 76.0, "nocache": 78.0, "local": 14.0, "cached": 34.0}
Z = 1.959964  # of an oracle, who knows the standard deviation


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Coverage of a cell's mean, and of the ratio of two doors, under each of the `noises`."""
    found = [(noise, [_simulate(noise, rng) for _ in range(simulations)]) for noise in noises]
    for (what, name), (noise, seen) in product(
        (("the first page: mean of a door", "mean"), ("the first page: ratio of two doors", "ratio")), found
    ):
        own = [one[name] for one in seen]
        oracle = float(np.median([one.oracle_width for one in own]))
        covered, widths = [one.covers for one in own], [one.width for one in own]
        yield coverage("intervals", f"{what}, {BLOCKS} blocks", str(noise), covered, widths, oracle)


@dataclass(frozen=True)
class _Seen:
    """An interval: whether it covers the truth, its width on a logarithmic scale, and that of the oracle's."""

    covers: bool
    width: float
    oracle_width: float


def _simulate(noise: Noise, rng: np.random.Generator) -> dict[str, _Seen]:
    """The interval of a mean and that of a ratio in one simulated run."""
    blocks = [
        [MadeUpTrial(repetition, door, {"door": door}, {"door": door}, ms) for door, ms in MEANS_MS.items()]
        for repetition in range(1, BLOCKS + 1)
    ]
    analysis = make_up("read-hot", measure(blocks, noise, rng))
    evidence = read_hot.evidence(analysis)
    # The first page's numbers, which are those of all tables and figures, too.
    shown = {one.label: one.ours for one in key_numbers.of(analysis, evidence)}
    at = [_positions(analysis.select(door=door)) for door in ("cached", "source")]
    # Each block has a level of its own in each cell.
    level_sd = noise.between_runs * noise.trial_sd / math.sqrt(BLOCKS)
    return {
        "mean": _see(
            shown["mean response time, cached"], MEANS_MS["cached"], math.hypot(noise.mean_sd(at[0]), level_sd)
        ),
        "ratio": _see(
            shown[evidence.effect_name],
            MEANS_MS["cached"] / MEANS_MS["source"],
            math.hypot(noise.difference_sd(*at), math.sqrt(2) * level_sd),
        ),
    }


def _see(found: Interval | None, truth: float, deviation: float) -> _Seen:
    low, high = (found.bounds if found else None) or (math.nan, math.nan)
    return _Seen(low <= truth <= high, math.log(high / low), 2 * Z * deviation)


def _positions(trials: Sequence[MeasuredOutcome]) -> np.ndarray:
    return np.array([float(o.number) for o in trials])
