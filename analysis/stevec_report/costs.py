"""Computes the cost of a million views from the measured offload and the newest file of prices."""

from collections.abc import Sequence
from statistics import fmean

from stevec_predict.cost import ORIGIN_PER_S, Measured, PricesError, cost_per_million_views, newest_prices
from stevec_report import wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Column, Table, Words, trials_cell
from stevec_report.offload import Offload, measure_offload
from stevec_report.outcomes import MeasuredOutcome

PARTS = (
    ("cdn_requests", "CDN, requests"),
    ("cdn_egress", "CDN, egress"),
    ("cdn_purges", "CDN, purges"),
    ("origin_egress", "origin, egress"),
    ("origin_hours", "origin, hours"),
    ("total", "together"),
)


def cost_block(
    analysis: Analysis, groups: Sequence[tuple[dict[str, str], str, Sequence[MeasuredOutcome]]], label: str
) -> Table | Words:
    """The table of costs, or a note that there is none.

    Args:
        groups: [({column: text}, door, outcomes)], one for each row; all have the same columns.
        label: what the rows stand for.
    """
    try:
        prices = newest_prices()
    except PricesError as error:
        return Words("note", f"No costs: {error}")
    rows = []
    for names, door, outcomes in groups:
        measured = [(o, m) for o in outcomes if (m := measure_offload(analysis, o))]
        if not measured:
            continue
        costs = cost_per_million_views(
            mean_of(measured),
            prices,
            page_bytes=fmean(m.read_bytes for _, m in measured),
            origin_capacity_per_s=ORIGIN_PER_S,
        )[door]
        rows.append(names | costs | {"trials": trials_cell(o.number for o, _ in measured)})
    if not rows:
        return Words("note", "No costs: no valid trial without a background.")
    columns = [Column(name, name, "text", left=True) for name in groups[0][0]]
    columns += [Column(key, text) for key, text in PARTS]
    columns.append(TRIALS_COLUMN)
    examples = wording.join_words(name.replace("_", " ") for name in prices.examples)
    note = (
        f"{prices.currency}, by list prices of {prices.date} in {prices.file}, without free allowances, for the "
        f"measured shares and sizes; each URL or tag named is a purge. An origin serves "
        f"{wording.grouped(ORIGIN_PER_S)} requests a second; its idle time costs nothing here."
        + (f" Examples without a source: {examples}." if examples else "")
    )
    return Table("cost", f"What a million views cost, by {label}.", note, columns, rows)


def mean_of(measured: Sequence[tuple[MeasuredOutcome, Offload]]) -> Measured:
    """The means over trials, as input for `cost_per_million_views`; `measured` is [(outcome, Offload)]."""
    outcomes = [o for o, _ in measured]
    seconds = sum(o.stats.span_s for o in outcomes) or 1.0
    named = sum(o.record.purges.urls + o.record.purges.tags for o in outcomes if o.record.purges)
    in_bytes = [m.bytes for _, m in measured if m.bytes is not None]
    requests = fmean(m.requests for _, m in measured)
    return Measured(
        offload_requests=requests,
        offload_bytes=fmean(in_bytes) if len(in_bytes) == len(measured) else requests,
        reads_per_s=sum(o.stats.reads for o in outcomes) / seconds,
        edits_per_s=sum(o.stats.writes for o in outcomes) / seconds,
        purges_per_s=named / seconds,
    )
