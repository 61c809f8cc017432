"""E3's last step: a thousand readers at the same moment."""

import math
import statistics
from collections.abc import Collection, Sequence

from stevec_report import limits, measures, percentiles, rows, thresholds, wording
from stevec_report.analysis import Analysis
from stevec_report.block_values import block_test
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Row, Table, Words, trials_cell
from stevec_report.claims import Claim, test_claim
from stevec_report.dependence import run_dependence

NAMES = ("at-once", "overload-at-once")  # today's, and that of older studies
CLAIM = "Past what a user tolerates"


def blocks(analysis: Analysis) -> list[Block]:
    """One table: how long the crowd waited at each door."""
    columns = [
        Column("door", "door", "text", left=True),
        Column("at_once", "at once", "count"),
        Column("answered", "answered", "count"),
        rows.FAILED,
        rows.SLOW,
        rows.P50,
        rows.P99,
        Column("max_ms", "longest"),
        Column("span_s", "until all were served, s"),
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    found, undecided, depending = [], set(), run_dependence(analysis)
    for door in analysis.run.doors:
        own = analysis.select(door=door)
        if not own:
            continue
        trials = limits.believed(own)
        if not measures.judged("wait_ms", own):
            undecided.add(door)
        found.append(
            {
                "door": door,
                "at_once": max(o.record.number("vus") for o in trials),
                "answered": sum(o.stats.requests - o.stats.failures for o in trials),
                "failed_share": rows.failed_share(trials),
                "slow_share": rows.slow_share(trials),
                **rows.percentiles(trials, depending),
                "max_ms": rows.longest_ms(trials),
                "span_s": statistics.median([o.stats.span_s for o in trials]),
                "limited_by": rows.limited_by(own),
                "trials": trials_cell(o.number for o in trials),
            }
        )
    table = Table(
        "at-once",
        "A crowd at once.",
        "The study: 1000 at once without a cache took over 4 s. The longest is that of all trials. "
        + percentiles.NOTE
        + rows.LIMITED_NOTE,
        columns,
        found,
    )
    return [Words("p", _say(found, undecided, thresholds.read(analysis.run.experiment).tolerated_ms)), table]


def evidence(analysis: Analysis) -> None:
    """This is a part of E3, to whose verdict it gives `wait_claim`."""
    return None


def wait_claim(analysis: Analysis) -> Claim:
    """The mean wait at the source of all readers at once, over the time that a user tolerates."""
    stated = thresholds.read(analysis.run.experiment)
    trials = analysis.select(door="source")
    logs = {b: math.log(ms / stated.tolerated_ms) for b, ms in measures.by_block("wait_ms", trials).items()}
    readers = max((o.record.number("vus") for o in trials), default=0)
    what = f"the mean at source of {readers:g} readers at once ÷ {stated.tolerated_ms / 1000:g} s"
    return test_claim(CLAIM, "wait_ms", block_test(analysis, logs), "above", what, stated, is_difference=False)


def _say(found: Sequence[Row], undecided: Collection[str], tolerated_ms: float) -> str:
    texts = []
    for row in found:
        longest = row["max_ms"]
        if longest is None:
            texts.append(f"at {row['door']} nothing was answered")
            continue
        if row["door"] in undecided:
            texts.append(f"at {row['door']} it cannot be decided, as all trials were limited ({row['limited_by']})")
            continue
        over = "over" if longest > tolerated_ms else "under"
        texts.append(
            f"at {row['door']} the last reader waited {wording.three_digits(longest / 1000)} s, {over} the "
            f"{tolerated_ms / 1000:g} s that a user tolerates"
        )
    return f"{'; '.join(texts)}.".capitalize() if texts else "There is no valid trial."
