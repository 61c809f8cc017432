"""How often a verdict on a hypothesis of the study is wrong.

Each hypothesis is simulated where the truth is worst for it: at the border of one of its claims, while its other claims
clearly hold. "Confirmed" is then an error of at most ALPHA. In the other direction, "refuted" is one where the effect
is as large as the threshold says that it has to be.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from stevec_report import thresholds
from stevec_report.analysis import Analysis
from stevec_report.experiments import at_once, mixed_write, overload, read_hot, read_sparse, write_vs_read
from stevec_report.hypothesis_tests import ALPHA
from stevec_report.verdicts import STUDY_EXPERIMENTS, Evidence, decide_one, decide_study
from stevec_simulate.made_up import MadeUpTrial, make_up, measure
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

BLOCKS = 9  # as in the sample
LOADS = (0, 10, 40, 100, 250)
TOLERATED_MS = thresholds.DEFAULT.tolerated_ms
SIZES = (5000, 10_000, 20_000, 50_000)
ITERATIONS = 1000  # of E4
ORIGIN_READS = 60  # of a trial of E4 with the smallest pages
Blocks = list[list[MadeUpTrial]]


@dataclass(frozen=True)
class Truth:
    """What is true in the simulated runs of one hypothesis, `decide` what the report makes of a run."""

    experiment: str
    what: str
    decide: Callable[[Any], Evidence]
    blocks: Blocks
    wrong: str  # the verdict that is an error

    @property
    def error(self) -> str:
        """The error in words."""
        return f"{self.experiment}: {self.wrong}, but {self.what}"

    def evidence(self, noise: Noise, rng: np.random.Generator, is_one_stack: bool = False) -> Evidence:
        """What one simulated run says."""
        return self.decide(make_up(self.experiment, measure(self.blocks, noise, rng, is_one_stack)))

    def count_wrong(self, noise: Noise, simulations: int, rng: np.random.Generator, is_one_stack: bool = False) -> int:
        """Simulated runs whose verdict is wrong."""
        found = (decide_one(self.evidence(noise, rng, is_one_stack)) for _ in range(simulations))
        return sum(verdict.result == self.wrong for verdict in found)


def lines(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """The error rate of each hypothesis alone, and that of the study's six, under each of the `noises`."""
    for truth, noise in product(TRUTHS, noises):
        wrong = truth.count_wrong(noise, simulations, rng)
        yield Line("verdicts", truth.error, str(noise), wrong, simulations, most=ALPHA)
    # Of each experiment the first: that none of the six is true.
    of_study = [truth for truth in reversed(TRUTHS) if truth.experiment in STUDY_EXPERIMENTS]
    none = {truth.experiment: truth for truth in of_study if truth.wrong == "confirmed"}
    what = "the study: any of six confirmed, but none is true"
    for noise in noises:
        wrong = 0
        for _ in range(simulations):
            found = decide_study({name: truth.evidence(noise, rng) for name, truth in none.items()})
            wrong += any(verdict.result == "confirmed" for verdict in found.values())
        yield Line("verdicts", what, str(noise), wrong, simulations, most=ALPHA)


def on_one_stack(noises: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """The same of runs whose blocks share one stack, so that no block can tell its level from the truth: not judged."""
    for truth, noise in product(TRUTHS, [noise for noise in noises if noise.between_runs]):
        wrong = truth.count_wrong(noise, simulations, rng, is_one_stack=True)
        yield Line("one-stack", f"one stack, {truth.error}", str(noise), wrong, simulations)


def _doors(means_ms: Mapping[str, float], requests: int, served: int) -> Blocks:
    """One trial at each door; those with a cache serve `served` of the `requests`."""
    return _repeated(
        lambda repetition: [
            _trial(repetition, {"door": door}, ms, requests, served if door in ("cached", "local") else 0)
            for door, ms in means_ms.items()
        ]
    )


def _overload(source: Sequence[float], cached: Sequence[float]) -> Blocks:
    """E3: the probe's times at each of LOADS, in multiples of what a user tolerates."""
    times = {"source": source, "cached": cached}
    return _repeated(
        lambda repetition: [
            _trial(repetition, {"door": door, "background_vus": load}, TOLERATED_MS * own[at], 100)
            for (door, own), (at, load) in product(times.items(), enumerate(LOADS))
        ]
    )


def _crowd(source: float) -> Blocks:
    """E3's readers at once: their mean at the source, in multiples of what a user tolerates."""
    settings = {"door": "source", "vus": 1000}
    return _repeated(lambda repetition: [_trial(repetition, settings, TOLERATED_MS * source, 1000)])


def _decide_crowd(crowd: Analysis) -> Evidence:
    """E3 of a study whose levels of load clearly hold."""
    blocks = _overload([0.1, 0.5, 1, 1.5, 2], [0.1] * 5)
    levels = [replace(t, mean_ms=t.mean_ms * (1 + t.repetition / 1000)) for block in blocks for t in block]
    return overload.with_crowd(overload.evidence(make_up("overload", levels)), at_once.wait_claim(crowd))


def _mixed(edits: float, large: float) -> Blocks:
    """E4: reads at the origin with edits are `edits` times those without, and `large` times from the smallest to the
    largest page. They are counted, thus Poisson, on top of the trials' own spread."""

    def trial(repetition: int, edit_ratio: float, size: int) -> MadeUpTrial:
        settings = {"door": "cached", "page_size_chars": size, "edit_ratio": edit_ratio, "pages": 10, "ttl_s": 5}
        rank = math.log(size / SIZES[0]) / math.log(SIZES[-1] / SIZES[0])
        writes = round(edit_ratio * ITERATIONS)
        reads = ORIGIN_READS * large**rank * (edits if edit_ratio else 1)
        return replace(_trial(repetition, settings, 30, ITERATIONS + writes, 0, writes), expected_reads=reads)

    return _repeated(lambda repetition: [trial(repetition, *cell) for cell in product((0.05, 0), SIZES)])


def _operations(door: str, ratio: float) -> Blocks:
    """E5 and E6: a write takes `ratio` times as long as a read."""
    return _repeated(
        lambda repetition: [
            _trial(repetition, {"door": door, "edit_ratio": edit_ratio, "pages": 30}, ms, 200, 0, 200 * edit_ratio)
            for edit_ratio, ms in ((1, 100 * ratio), (0, 100))
        ]
    )


def _repeated(block: Callable[[int], list[MadeUpTrial]]) -> Blocks:
    return [block(repetition) for repetition in range(1, BLOCKS + 1)]


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
    # The geometric mean of the ratios under load is 1: lower loads make up for the highest.
    Truth(
        "overload", "the source is as fast as the cache under load", overload.evidence,
        _overload([0.05, 0.1, 0.1, 0.5, 2], [0.2, 0.2, 0.2, 0.5, 0.5]), "confirmed",
    ),
    Truth(
        "overload", f"it degrades {_FAR_MORE:g} times as much", overload.evidence,
        _overload([0.2, 1, 1, 1, 2], [0.1, *[own / (2 * _FAR_MORE) for own in (1, 1, 1, 2)]]), "confirmed",
    ),
    Truth(
        "overload", "at the source a user waits for as long as is tolerated", overload.evidence,
        _overload([0.1, 0.2, 0.4, 0.7, 1], [0.1] * 5), "confirmed",
    ),
    Truth(
        "overload", "through the cache a user waits for as long as is tolerated", overload.evidence,
        _overload([1, 5, 10, 10, 10], [1] * 5), "confirmed",
    ),
    Truth(
        "at-once", "readers at once wait for as long as is tolerated", _decide_crowd, _crowd(1), "confirmed",
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
        "write-vs-read-direct", f"write ÷ read is {_FAR:g}", write_vs_read.evidence,
        _operations("source", _FAR), "confirmed",
    ),
    Truth(
        "write-vs-read-cached", f"write ÷ read is {_FAR:g}", write_vs_read.evidence, _operations("cached", _FAR),
        "confirmed",
    ),
)  # fmt: skip
