"""Lists the points of presence of a CDN that answered, if the samples name them: each has a cache of its own."""

from collections.abc import Sequence

from stevec_report import outcomes, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Column, Table, Words, trials_cell
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.rows import count_sent

TRIALS_SHOWN_MAX = 10
NAME_MAX_CHARS = 16


def blocks(analysis: Analysis) -> list[Block]:
    """A table of requests by cell and point of presence, and a note on trials with several; [] without any."""
    placed = [o for o in analysis.valid if o.stats.pops]
    if not placed:
        return []
    return [_table(analysis, placed), _words(placed)]


def _table(analysis: Analysis, placed: Sequence[MeasuredOutcome]) -> Table:
    rows = []
    for cell, members in outcomes.cells(placed).items():
        found = analysis.samples.query(
            f"""
            SELECT left(pop, {NAME_MAX_CHARS}), count(*), count(*) FILTER (served), avg(response_ms) FILTER (answered)
            FROM {{samples}} WHERE pop <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50
            """,
            [o.number for o in members],
        )
        sent = count_sent(members)
        for pop, requests, served, mean_ms in found:
            rows.append(
                {
                    "cell": outcomes.cell_text(cell),
                    "pop": pop,
                    "requests": requests,
                    "share": requests / sent,
                    "served_share": served / requests,
                    "mean_ms": mean_ms,
                    "trials": trials_cell(o.number for o in members if pop in o.stats.pops),
                }
            )
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("pop", "point of presence", "text", left=True),
        Column("requests", "requests", "count"),
        Column("share", "of those sent", "percent"),
        Column("served_share", "served by cache", "percent"),
        Column("mean_ms", "mean, ms"),
        Column("trials", "in trials", "text", left=True),
    ]
    note = (
        "Requests of the probes of valid trials, by the place that the response names (CF-Ray): a CDN's airport, or "
        "an edge of the lab's own (EDA is the first). The mean is the arithmetic one over answered requests."
    )
    return Table("points-of-presence", "Requests by point of presence.", note, columns, rows)


def _words(placed: Sequence[MeasuredOutcome]) -> Words:
    several = [o for o in placed if len(o.stats.pops) > 1 and not _is_planned(o)]
    if not several and any(_is_planned(o) for o in placed):
        return Words("p", "Each edge has a cache of its own: a page is a MISS once at each.")
    if not several:
        return Words("note", "No trial met more than one point of presence.")
    shown = "; ".join(f"trial {o.number}: {wording.join_words(o.stats.pops)}" for o in several[:TRIALS_SHOWN_MAX])
    rest = len(several) - TRIALS_SHOWN_MAX
    more = f"; and {rest} more" if rest > 0 else ""
    return Words(
        "p",
        f"{wording.part_of(len(several), len(placed), 'trial')} met more than one point of presence "
        f"({shown}{more}). Each has a cache of its own: a page is a MISS once at each, and "
        "distances differ. Such trials compare badly with others.",
    )


def _is_planned(outcome: MeasuredOutcome) -> bool:
    """Whether the experiment asked for several edges."""
    return outcome.record is not None and outcome.record.setting("edges", 1) != 1
