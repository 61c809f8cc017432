"""How often a verdict on a hypothesis of the study is wrong.

Each hypothesis is simulated where the truth is worst for it: at the border of one of its claims, while its other claims
clearly hold. "Confirmed" is then an error of at most ALPHA. In the other direction, "refuted" is one where the effect
is as large as the threshold says that it has to be.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from stevec_report import thresholds
from stevec_report.experiments import mixed_write, overload, read_hot, read_sparse, write_vs_read
from stevec_report.hypothesis_tests import ALPHA
from stevec_report.verdicts import Evidence, decide_one, decide_study
from stevec_simulate.made_up import MadeUpTrial, in_random_order, make_up
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

BLOCKS = 9  # as in the sample
LOADS = (0, 10, 40, 100, 250)
SIZES = (5000, 10_000, 20_000, 50_000)
ITERATIONS = 1000  # of E4
ORIGIN_READS = 60  # of a trial of E4 with the smallest pages
Blocks = Callable[[np.random.Generator, Noise], list[list[MadeUpTrial]]]


@dataclass(frozen=True)
class Truth:
    """What is true in the simulated runs of one hypothesis, `decide` what the report makes of a run."""

    experiment: str
    what: str
    decide: Callable[[Any], Evidence]
    blocks: Blocks
    wrong: str  # the verdict that is an error


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """The error rate of each hypothesis alone, and that of the study's six, under each of the `noises`."""
    for truth, noise in product(TRUTHS, noises):
        wrong = sum(decide_one(_evidence(truth, noise, rng)).result == truth.wrong for _ in range(simulations))
        what = f"{truth.experiment}: {truth.wrong}, but {truth.what}"
        yield Line("verdicts", what, str(noise), wrong, simulations, most=ALPHA)
    # Of each experiment the first: that none of the six is true.
    none = {truth.experiment: truth for truth in reversed(TRUTHS) if truth.wrong == "confirmed"}
    for noise in noises:
        wrong = 0
        for _ in range(simulations):
            found = decide_study({name: _evidence(truth, noise, rng) for name, truth in none.items()})
            wrong += any(verdict.result == "confirmed" for verdict in found.values())
        yield Line("verdicts", "the study: any of six confirmed, but none is true", str(noise), wrong, simulations,
                   most=ALPHA)  # fmt: skip


def _evidence(truth: Truth, noise: Noise, rng: np.random.Generator) -> Evidence:
    trials = in_random_order(truth.blocks(rng, noise), rng)
    deviations = noise.trials(rng, len(trials)) + noise.runs(rng, 1)[0]
    noisy = [trial.scaled(math.exp(deviation)) for trial, deviation in zip(trials, deviations, strict=True)]
    return truth.decide(make_up(truth.experiment, noisy))


def _doors(means_ms: Mapping[str, float], requests: int, served: int) -> Blocks:
    """One trial at each door; those with a cache serve `served` of the `requests`."""

    def block(repetition: int, _: np.random.Generator, __: Noise) -> list[MadeUpTrial]:
        return [
            _trial(repetition, {"door": door}, ms, requests, served if door in ("cached", "local") else 0)
            for door, ms in means_ms.items()
        ]

    return _repeated(block)


def _overload(idle: float, loaded: float) -> Blocks:
    """E3: source ÷ cached is `idle` without a background, `loaded` with any."""

    def block(repetition: int, _: np.random.Generator, __: Noise) -> list[MadeUpTrial]:
        return [
            _trial(
                repetition,
                {"door": door, "background_vus": load},
                100 * (1 if door == "cached" else loaded if load else idle),
                100,
            )
            for door, load in product(("source", "cached"), LOADS)
        ]

    return _repeated(block)


def _mixed(edits: float, large: float) -> Blocks:
    """E4: reads at the origin with edits are `edits` times those without, and `large` times from the smallest to the
    largest page. They are counted, thus Poisson, on top of the trials' own spread."""

    def reads(rng: np.random.Generator, noise: Noise, edit_ratio: float, size: int) -> int:
        rank = math.log(size / SIZES[0]) / math.log(SIZES[-1] / SIZES[0])
        mean = ORIGIN_READS * large**rank * (edits if edit_ratio else 1)
        return int(rng.poisson(mean * math.exp(noise.trials(rng, 1)[0])))

    def block(repetition: int, rng: np.random.Generator, noise: Noise) -> list[MadeUpTrial]:
        found = []
        for edit_ratio, size in product((0.05, 0), SIZES):
            settings = {"door": "cached", "page_size_chars": size, "edit_ratio": edit_ratio, "pages": 10, "ttl_s": 5}
            served = ITERATIONS - reads(rng, noise, edit_ratio, size)
            writes = round(edit_ratio * ITERATIONS)
            found.append(_trial(repetition, settings, 30, ITERATIONS + writes, served, writes))
        return found

    return _repeated(block)


def _operations(door: str, ratio: float) -> Blocks:
    """E5 and E6: a write takes `ratio` times as long as a read."""

    def block(repetition: int, _: np.random.Generator, __: Noise) -> list[MadeUpTrial]:
        return [
            _trial(repetition, {"door": door, "edit_ratio": edit_ratio, "pages": 30}, ms, 200, 0, 200 * edit_ratio)
            for edit_ratio, ms in ((1, 100 * ratio), (0, 100))
        ]

    return _repeated(block)


def _repeated(block: Callable[[int, np.random.Generator, Noise], list[MadeUpTrial]]) -> Blocks:
    return lambda rng, noise: [block(repetition, rng, noise) for repetition in range(1, BLOCKS + 1)]


def _trial(
    repetition: int, settings: Mapping[str, Any], mean_ms: float, requests: int, served: int = 0, writes: int = 0
) -> MadeUpTrial:
    cell = {name: str(value) for name, value in settings.items()}
    origin_reads = requests - writes - served
    return MadeUpTrial(repetition, settings["door"], cell, settings, mean_ms, requests, writes, origin_reads, served)


_FAR_MORE = thresholds.DEFAULT.far_more_ratio
_FAR = thresholds.DEFAULTS["write-vs-read-cached"].far_more_ratio
_SAME = thresholds.DEFAULT.equivalence_ratio
TRUTHS = (
    Truth(
        "read-hot", "the CDN's cache is as slow as the source", read_hot.evidence,
        _doors({"source": 76, "nocache": 76, "local": 14, "cached": 76}, 1000, 900), "confirmed",
    ),
    Truth(
        "read-sparse", f"cached ÷ nocache is {_SAME:g}", read_sparse.evidence,
        _doors({"nocache": 100, "cached": 100 * _SAME}, 100, 5), "confirmed",
    ),
    Truth(
        "read-sparse", "cached ÷ nocache is 1", read_sparse.evidence,
        _doors({"nocache": 100, "cached": 100}, 100, 5), "refuted",
    ),
    Truth("overload", "load makes no difference", overload.evidence, _overload(1, 1), "confirmed"),
    Truth(
        "overload", f"it degrades {_FAR_MORE:g} times as much", overload.evidence, _overload(2, 2 * _FAR_MORE),
        "confirmed",
    ),
    Truth("mixed-write", "edits cost no reads", mixed_write.evidence, _mixed(1, 4), "confirmed"),
    Truth("mixed-write", f"edits cost {_SAME:g} times the reads", mixed_write.evidence, _mixed(_SAME, 4), "refuted"),
    Truth("mixed-write", "the size makes no difference", mixed_write.evidence, _mixed(1.5, 1), "confirmed"),
    Truth(
        "write-vs-read-direct", "a write takes as long as a read", write_vs_read.evidence, _operations("source", 1),
        "confirmed",
    ),
    Truth(
        "write-vs-read-direct", f"write ÷ read is {_SAME:g}", write_vs_read.evidence, _operations("source", _SAME),
        "refuted",
    ),
    Truth(
        "write-vs-read-cached", f"write ÷ read is {_FAR:g}", write_vs_read.evidence, _operations("cached", _FAR),
        "confirmed",
    ),
)  # fmt: skip
