"""How often the intervals of one run cover what is true of that run, and how wide they are."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stevec_report.dependence import run_dependence
from stevec_report.experiments.read_hot import door_test
from stevec_report.intervals import Interval
from stevec_report.outcomes import MeasuredOutcome
from stevec_simulate.made_up import MadeUpTrial, in_random_order, make_up
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line, coverage

BLOCKS = 9
MEANS_MS = {"source": 76.0, "nocache": 78.0, "local": 14.0, "cached": 34.0}
Z = 1.959964  # of an oracle, who knows the standard deviation


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Coverage of a cell's mean, and of the ratio of two doors, under each of the `noises`."""
    for noise in noises:
        found = [_simulate(noise, rng) for _ in range(simulations)]
        for what, name in (("mean of a door", "mean"), ("ratio of two doors", "ratio")):
            own = [one[name] for one in found]
            yield coverage(
                "intervals",
                f"{what}, {BLOCKS} blocks",
                str(noise),
                [one.covers for one in own],
                [one.width for one in own],
                float(np.median([one.oracle_width for one in own])),
            )


@dataclass(frozen=True)
class _Seen:
    """An interval: whether it covers the truth, its width on a logarithmic scale, and that of the oracle's."""

    covers: bool
    width: float
    oracle_width: float


def _simulate(noise: Noise, rng: np.random.Generator) -> dict[str, _Seen]:
    """The interval of a mean and that of a ratio in one simulated run."""
    level = float(noise.runs(rng, 1)[0])
    blocks = [
        [MadeUpTrial(repetition, door, {"door": door}, {"door": door}, ms) for door, ms in MEANS_MS.items()]
        for repetition in range(1, BLOCKS + 1)
    ]
    trials = in_random_order(blocks, rng)
    deviations = level + noise.trials(rng, len(trials))
    analysis = make_up("read-hot", [trial.scaled(math.exp(by)) for trial, by in zip(trials, deviations, strict=True)])
    cached, source = (analysis.select(door=door) for door in ("cached", "source"))
    mean = run_dependence(analysis).mean("mean_ms", cached)
    ratio = door_test(analysis, "cached", "source").ratio
    truth_ms, at = MEANS_MS["cached"] * math.exp(level), [_positions(own) for own in (cached, source)]
    return {
        "mean": _see(mean, truth_ms, noise.mean_sd(at[0])),
        "ratio": _see(ratio, MEANS_MS["cached"] / MEANS_MS["source"], noise.difference_sd(*at)),
    }


def _see(found: Interval | None, truth: float, deviation: float) -> _Seen:
    low, high = (found.bounds if found else None) or (math.nan, math.nan)
    return _Seen(low <= truth <= high, math.log(high / low), 2 * Z * deviation)


def _positions(trials: Sequence[MeasuredOutcome]) -> np.ndarray:
    return np.array([float(o.number) for o in trials])
