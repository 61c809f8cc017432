"""What a stop of the service in the middle of the load loses of the acknowledged records: a table."""

from stevec_report import intervals
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Row, Table, trials_cell
from stevec_report.experiments.batching_ways import TITLES, Ways
from stevec_report.intervals import Interval


def losses(ways: Ways) -> list[Block]:
    """Empty where no trial stops its service."""
    found: list[Row] = []
    for way, trials in ways.items():
        if way.signal is None:
            continue
        counts = [o.record.records for o in trials if o.record.records]
        shares = [own.lost_share for own in counts if own.lost_share is not None]
        found.append(
            {
                "signal": way.signal,
                "framework": TITLES[way.framework],
                "strategy": way.strategy,
                "stops": len(counts),
                "acknowledged": sum(own.acknowledged for own in counts),
                "lost": sum(own.lost for own in counts),
                "lost_mean": _bounded(intervals.t_interval([own.lost for own in counts])),
                "lost_share": intervals.clipped(intervals.t_interval(shares)).map(lambda share: 100 * share)
                if shares
                else None,
                "each": ", ".join(str(own.lost) for own in counts),
                "waiting": ", ".join(str(own.waiting) for own in counts),
                "trials": trials_cell(o.number for o in trials),
            }
        )
    if not found:
        return []
    found.sort(key=lambda row: str(row["signal"]), reverse=True)
    return [
        Table(
            "losses",
            "Acknowledged records that are lost when the service is stopped in the middle of the load.",
            "Acknowledged: answered 201 or 202. Lost: not in the database once it is idle, compared by each record's "
            "key. Means of the trials with their 95 % t interval, cut at 0; trial by trial in their order. Waiting: "
            "records that the service had accepted and not stored, just before the signal.",
            [
                Column("signal", "signal", "text", left=True),
                Column("framework", "framework", "text", left=True),
                Column("strategy", "strategy", "text", left=True),
                Column("stops", "stops", "count"),
                Column("acknowledged", "acknowledged", "count"),
                Column("lost", "lost", "count"),
                Column("lost_mean", "lost at a stop", "interval"),
                Column("lost_share", "of the acknowledged, %", "interval"),
                Column("each", "trial by trial", "text", left=True),
                Column("waiting", "waiting", "text", left=True, on_page=False),
                TRIALS_COLUMN,
            ],
            found,
        )
    ]


def _bounded(interval: Interval) -> Interval:
    return intervals.clipped(interval, float("inf"))
