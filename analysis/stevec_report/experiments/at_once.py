"""E3's last step: a thousand readers at the same moment."""

import statistics
from collections.abc import Sequence

from stevec_report import rows, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Row, Table, Words, trials_cell
from stevec_report.tolerance import TOLERATED_MS


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
        rows.GENERATOR,
        TRIALS_COLUMN,
    ]
    found = []
    for door in analysis.run.doors:
        trials = analysis.select(door=door)
        if not trials:
            continue
        found.append(
            {
                "door": door,
                "at_once": max(o.record.number("vus") for o in trials),
                "answered": sum(o.stats.requests - o.stats.failures for o in trials),
                "failed_share": rows.failed_share(trials),
                "slow_share": rows.slow_share(trials),
                **rows.percentiles(trials),
                "max_ms": rows.longest_ms(trials),
                "span_s": statistics.median([o.stats.span_s for o in trials]),
                "generator": rows.generator_text(trials),
                "trials": trials_cell(o.number for o in trials),
            }
        )
    table = Table(
        "at-once",
        "A crowd at once.",
        "The study: 1000 at once without a cache took over 4 s. Percentiles are the median over the trials, the "
        "longest is that of all.",
        columns,
        found,
    )
    return [Words("p", _say(found)), table]


def evidence(analysis: Analysis) -> None:
    """This is a part of E3; E3's levels decide its verdict."""
    return None


def _say(found: Sequence[Row]) -> str:
    texts = []
    for row in found:
        longest = row["max_ms"]
        if longest is None:
            texts.append(f"at {row['door']} nothing was answered")
            continue
        over = "over" if longest > TOLERATED_MS else "under"
        limited = ", and the load generator was at its limit" if row["generator"] else ""
        texts.append(
            f"at {row['door']} the last reader waited {wording.three_digits(longest / 1000)} s, {over} the 4 s that "
            f"a user tolerates{limited}"
        )
    return f"{'; '.join(texts)}.".capitalize() if texts else "There is no valid trial."
