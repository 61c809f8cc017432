"""What a save of a page of the wiki takes by each strategy, against sync: a table."""

from stevec_report.blocks import TRIALS_COLUMN, Block, Cell, Column, Row, Table, trials_cell
from stevec_report.experiments.batching_ways import Comparison, Ways, compare_to_sync

ANSWERS = {"group-commit": "after it is stored"}


def against_sync(ways: Ways) -> list[Block]:
    """Empty where no strategy was measured beside sync."""
    pages = [way for way in ways if way.framework == "wiki" and way.strategy != "sync" and way.gather_ms is None]
    compared = compare_to_sync(ways, pages)
    if not compared:
        return []
    found: list[Row] = [
        {
            "strategy": way.strategy,
            "answers": ANSWERS.get(way.strategy, "before it is stored"),
            "clients": way.clients,
            "ratio": own.ratio,
            "p_holm": own.p_holm,
            "verdict": _verdict(own),
            "trials": trials_cell(o.number for o in ways[way]),
        }
        for way, own in compared.items()
    ]
    return [
        Table(
            "pages-against-sync",
            "What a save of a page takes by each strategy.",
            "Processor time of wiki, mongod and Redis for a stored page, from the first request until everything is "
            "stored, ÷ that of sync with as many writers in the same repetition; geometric means with their 95 % "
            "interval, p of a t test after Holm's correction over all rows. A trial that has lost an acknowledged save "
            "is invalid, and in no row.",
            [
                Column("strategy", "strategy", "text", left=True),
                Column("answers", "answers", "text", left=True),
                Column("clients", "writers", "count"),
                Column("ratio", "÷ sync", "interval"),
                Column("p_holm", "p, Holm", "p"),
                Column("verdict", "", "text", left=True),
                TRIALS_COLUMN,
            ],
            found,
        )
    ]


def _verdict(own: Comparison) -> Cell:
    if not own.is_shown:
        return Cell("no difference shown")
    return Cell("less" if own.ratio.centre < 1 else "more", mark="confirmed")
