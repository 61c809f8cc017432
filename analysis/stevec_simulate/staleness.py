"""How often the interval of a stale ratio covers the truth, where stale reads come in clusters.

Pages are always cached. An edit makes the copy of its page stale until the purge, some time later.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from stevec_report.freshness import ClusterSums, ClusterTally, History
from stevec_report.stale_interval import TRIALS_ENOUGH, stale_interval
from stevec_simulate.intervals import Z
from stevec_simulate.noise import Noise
from stevec_simulate.rate import COVERAGE, WIDTH, Line

PAGES, DURATION_US = 20, 20_000_000
EDITS_PER_PAGE = 4
TRIALS = (3, 5)  # of a cell
POOL_MIN, POOL_MAX = 300, 1500  # simulated trials of a case; those of a simulated cell are drawn from them
CLUSTERS_FOR_WIDTH = 10  # with fewer stale edits an interval is exact, and no oracle's is normal
Delays = Callable[[np.random.Generator, int], np.ndarray]  # (generator, edits) → seconds until the purge, (edits,)


@dataclass(frozen=True)
class Case:
    """`delays` of purges in seconds, `reads` of a trial. `trials_sd` is that of the logarithm of a factor that all
    delays of a trial share."""

    what: str
    delays: Delays
    reads: int = 1600
    trials_sd: float = 0.0


def lines(_: Sequence[Noise], simulations: int, rng: np.random.Generator) -> Iterator[Line]:
    """Coverage of the stale ratio of three and of five trials, for each of `CASES`."""
    size = min(max(POOL_MIN, 3 * simulations), POOL_MAX)
    pools = [(case, [simulate_trial(rng, case) for _ in range(size)]) for case in CASES]
    for trials, (case, pool) in product(TRIALS, pools):
        yield _line(case, pool, trials, simulations, rng)


def _line(case: Case, pool: Sequence[ClusterSums], trials: int, simulations: int, rng: np.random.Generator) -> Line:
    """The coverage of cells of so many `trials` out of the `pool`, which is all that there is."""
    truth = sum(one.stale for one in pool) / sum(one.judged for one in pool)
    cells = [[pool[at] for at in rng.integers(0, len(pool), trials)] for _ in range(simulations)]
    found = [stale_interval(cell) for cell in cells]
    covered = sum((one.low or 0) <= truth <= (one.high or 0) for one in found)
    width = None
    if np.mean([sum(one.stale_clusters for one in cell) for cell in cells]) > CLUSTERS_FOR_WIDTH:
        oracle = 2 * Z * float(np.std([one.stale / one.judged for one in pool])) / math.sqrt(trials)
        width = float(np.median([(one.high or 0) - (one.low or 0) for one in found])) / oracle
    return Line(
        "staleness",
        f"stale ratio, {trials} trials",
        case.what,
        covered,
        simulations,
        least=COVERAGE,
        width=width,
        # With fewer trials, width is the price of coverage.
        width_most=WIDTH if trials >= TRIALS_ENOUGH else None,
    )


def simulate_trial(rng: np.random.Generator, case: Case) -> ClusterSums:
    """One trial: edits are Poisson, reads at random moments and pages; a read gets the copy of the last purge."""
    edits = rng.poisson(PAGES * EDITS_PER_PAGE)
    page, time_us = rng.integers(0, PAGES, edits), rng.integers(0, DURATION_US, edits)
    order = np.lexsort((time_us, page))
    page, time_us = page[order], time_us[order]
    revision = 1 + np.arange(edits) - np.searchsorted(page, page)
    delay_us = 1e6 * math.exp(case.trials_sd * rng.standard_normal()) * case.delays(rng, edits)
    delay_us = np.minimum(delay_us, DURATION_US).astype(np.int64)
    span = 2 * DURATION_US  # one page after the other on one line of time
    edited, purged = page * span + time_us, np.sort(page * span + time_us + delay_us)
    read_page, sent_us = rng.integers(0, PAGES, case.reads), rng.integers(0, DURATION_US, case.reads)
    begin = read_page * span
    last = np.searchsorted(purged, begin + sent_us, side="right") - 1
    copied = np.where(last >= 0, np.maximum(purged[np.maximum(last, 0)], begin), begin)
    returned = np.searchsorted(edited, copied, side="right") - np.searchsorted(edited, begin)
    history = History(page, time_us, revision)
    tally = ClusterTally(history)
    known = read_page < history.pages
    tally.add(read_page[known], history.judge(read_page[known], sent_us[known], returned[known]))
    return tally.sums(case.reads)


def _exponential(mean_s: float) -> Delays:
    return lambda rng, edits: rng.exponential(mean_s, edits)


def _pareto(scale_s: float) -> Delays:
    return lambda rng, edits: scale_s * rng.pareto(1.5, edits)


def _seldom(share: float, delays: Delays) -> Delays:
    return lambda rng, edits: np.where(rng.random(edits) < share, delays(rng, edits), 0.0)


CASES = (
    Case("purges take 0.2 s", _exponential(0.2)),
    Case("purges take 2 s", _exponential(2)),
    Case("many reads an edit", lambda _, edits: np.full(edits, 0.5), 8000),
    Case("purges with heavy tails", _pareto(0.1)),
    Case("one purge in 30 takes 2 s", _seldom(0.03, _exponential(2))),
    Case("one purge in 30 has heavy tails", _seldom(0.03, _pareto(1))),
    Case("one purge in 300 takes 2 s", _seldom(0.003, _exponential(2))),
    *(
        Case(f"purges take {mean_s:g} s, trials differ by {sd:g} (SD of the logarithm)", _exponential(mean_s), 1600, sd)
        for mean_s, sd in product((0.2, 2), (0.25, 0.5))
    ),
)
