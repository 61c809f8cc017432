"""E3's last step: a thousand readers at the same moment."""

import statistics

from stevec_report import wording
from stevec_report.blocks import TRIALS_COLUMN, Column, Table, Words, trials_cell
from stevec_report.tolerance import TOLERATED_MS


def blocks(analysis):
    """One table: how long the crowd waited at each door."""
    columns = [
        Column("door", "door", "text", left=True),
        Column("at_once", "at once", "count"),
        Column("answered", "answered", "count"),
        Column("failed_share", "failed", "percent"),
        Column("slow_share", "over 4 s", "percent"),
        Column("p50_ms", "p50, ms"),
        Column("p99_ms", "p99"),
        Column("max_ms", "longest"),
        Column("span_s", "until all were served, s"),
        Column("generator", "generator", "text", left=True),
        TRIALS_COLUMN,
    ]
    rows = []
    for door in analysis.run.doors:
        trials = analysis.select(door=door)
        if not trials:
            continue
        sent = sum(o.stats.requests for o in trials)
        failed = sum(o.stats.failures for o in trials)
        timed = [o for o in trials if o.mean_ms]
        numbers = tuple(o.number for o in trials)
        rows.append(
            {
                "door": door,
                "at_once": max(o.record.number("vus") for o in trials),
                "answered": sent - failed,
                "failed_share": failed / sent,
                "slow_share": sum(o.stats.slow for o in trials) / sent,
                "p50_ms": statistics.median([o.stats.p50_ms for o in timed]) if timed else None,
                "p99_ms": statistics.median([o.stats.p99_ms for o in timed]) if timed else None,
                "max_ms": max((o.stats.max_ms for o in timed), default=None),
                "span_s": statistics.median([o.stats.span_s for o in trials]),
                "generator": "limited" if any(o.limited for o in trials) else "",
                "trials": trials_cell(numbers),
            }
        )
    table = Table(
        "at-once",
        "A crowd at once.",
        "The study: 1000 at once without a cache took over 4 s. Percentiles are the median over the trials, the "
        "longest is that of all.",
        columns,
        rows,
    )
    return [Words("p", _say(rows)), table]


def evidence(analysis):
    """This is a part of E3; E3's levels decide its verdict."""
    return None


def _say(rows):
    texts = []
    for row in rows:
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
