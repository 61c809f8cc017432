"""How often an expectation that a run states is decided wrongly. Each is simulated where it is just not true."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from stevec_report.expectations import decide
from stevec_report.hypothesis_tests import ALPHA
from stevec_simulate.made_up import MadeUpTrial, make_up, measure
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

BLOCKS = (3, 9)
MEANS_MS = {"source": 50.0, "nocache": 60.0, "local": 55.0, "cached": 50.0}


def _expect(door: str, relation: str, than: str, plus_ms: float = 0.0, times: float = 1.0) -> dict[str, object]:
    that = f"{door} is {relation} {than}"
    return {"that": that, "measure": "mean_ms", "in": {"door": door}, "is": relation, "than": {"door": than},
            "plus": plus_ms, "times": times}  # fmt: skip


# The truth is at the border of each, so that neither verdict on it should be frequent.
EXPECTED = (
    _expect("cached", "below", "source"),
    _expect("nocache", "above", "source", MEANS_MS["nocache"] - MEANS_MS["source"]),
    _expect("local", "within", "source", MEANS_MS["local"] - MEANS_MS["source"]),
    _expect("nocache", "below", "source", times=MEANS_MS["nocache"] / MEANS_MS["source"]),
)


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Runs in which any of four expectations at their border is confirmed, and in which any is refuted."""
    for blocks in BLOCKS:
        found = [(noise, [_results(blocks, noise, rng) for _ in range(simulations)]) for noise in noises]
        for result, (noise, seen) in product(("confirmed", "refuted"), found):
            what = f"any of four expectations {result} at its border, {blocks} blocks"
            yield Line("expectations", what, str(noise), sum(result in one for one in seen), simulations, most=ALPHA)


def _results(blocks: int, noise: Noise, rng: np.random.Generator) -> set[str]:
    trials = [
        [MadeUpTrial(repetition, door, {"door": door}, {"door": door}, ms) for door, ms in MEANS_MS.items()]
        for repetition in range(1, blocks + 1)
    ]
    return {one.result for one in decide(make_up("made-up", measure(trials, noise, rng), EXPECTED))}
