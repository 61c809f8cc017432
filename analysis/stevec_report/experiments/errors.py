"""The error budget of every section: which requests of valid trials failed, and with what."""

from collections import Counter
from collections.abc import Sequence

from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Column, Row, Table, Words, trials_cell
from stevec_report.outcomes import CellKey, cell_text, cells
from stevec_report.trial_stats import BackgroundStats, TrialStats


def blocks(analysis: Analysis) -> list[Block]:
    """The table of failures by cell, or a note that there are none."""
    rows = []
    for cell, members in cells(analysis.valid).items():
        probe = [(o.number, o.stats) for o in members]
        background = [(o.number, o.stats.background) for o in members if o.stats.background]
        rows += _rows(cell, "probe", probe) + _rows(cell, "background", background)
    if not rows:
        return [Words("note", "Error budget: no request of a valid trial failed.")]
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("sender", "sent by", "text", left=True),
        Column("kind", "failed with", "text", left=True),
        Column("requests", "requests", "count"),
        Column("share", "of those sent", "percent"),
        Column("trials", "in trials", "text", left=True),
    ]
    note = (
        "Requests without a response, by k6's error code, or with a status of 400 or more. Failed requests are in no "
        "response time."
    )
    return [Table("errors", "Error budget.", note, columns, rows)]


def _rows(cell: CellKey, sender: str, stats: Sequence[tuple[int, TrialStats | BackgroundStats]]) -> list[Row]:
    """One row a kind of failure; `stats` is [(number of the trial, statistics of the sender)]."""
    sent = sum(own.requests for _, own in stats)
    kinds: Counter[str] = Counter()
    for _, own in stats:
        kinds.update(own.failure_kinds)
    return [
        {
            "cell": cell_text(cell),
            "sender": sender,
            "kind": kind,
            "requests": kinds[kind],
            "share": kinds[kind] / sent,
            "trials": trials_cell(number for number, own in stats if own.failures),
        }
        for kind in sorted(kinds)
    ]
