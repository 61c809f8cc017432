"""P2, freshness-under-faults: how old reads become while something fails, and what a bound on that costs."""

from collections.abc import Sequence
from typing import Any

from stevec_report import limits, measures, rows, staleness, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.figures import price_of_bound
from stevec_report.levels import place_in
from stevec_report.outcomes import MeasuredOutcome

Found = dict[str, Any]
BOUNDED = "bounded"
TITLES = {
    "none": "Nothing fails",
    "purges-lost": "Purges are lost",
    "edge-parted": "The edge is cut off",
}


def blocks(analysis: Analysis) -> list[Block]:
    """The result for the hypothesis, the figure, and the table by fault and policy."""
    found = _cells(analysis)
    if not found:
        return [Words("note", "There is no valid trial whose freshness is known.")]
    bound_s = _bound_s(found)
    return [
        Words("p", _say(found, bound_s)),
        Figure(
            "price-of-the-bound",
            "The price of a bound on staleness, by fault",
            "One point per policy: the oldest read of the trials (upwards, from 0 on linearly to 0.1 s and "
            "logarithmically from there) against the share of the reads sent during the fault that were answered (to "
            "the right; without a fault, of all). Low and to the right is good. The line is the bound. Below: the "
            "reads that reached the origin for each answered read of the whole trial. A point with limited trials in "
            "it is hollow.",
            lambda: price_of_bound.draw(_panels(found), bound_s),
        ),
        _table(found),
    ]


def evidence(analysis: Analysis) -> None:
    """None of the study's hypotheses; the experiment states its expectations as data (`expectations.py`)."""
    return None


def _cells(analysis: Analysis) -> list[Found]:
    """The cells with a valid trial whose freshness is known, by fault and policy in the order of the definition."""
    factors = analysis.run.experiment.get("factors", {})

    def order(cell: tuple[str, str]) -> Any:
        fault, policy = cell
        return place_in(list(factors.get("fault", {})), fault), place_in(list(factors.get("policy", {})), policy)

    members: dict[tuple[str, str], list[MeasuredOutcome]] = {}
    for outcome in analysis.valid:
        level = outcome.record.cell.get("fault", "none"), outcome.record.cell.get("policy", "")
        members.setdefault(level, []).append(outcome)
    found = [_cell(analysis, *level, members[level]) for level in sorted(members, key=order)]
    return [cell for cell in found if cell is not None]


def _cell(analysis: Analysis, fault: str, policy: str, trials: list[MeasuredOutcome]) -> Found | None:
    believed = limits.believed(trials)
    old = staleness.of_trials(believed)
    if old is None:
        return None
    counts = zip(*(_reads(analysis, outcome) for outcome in believed), strict=True)
    asked, answered, answered_in_all, failed_edits = map(sum, counts)
    return {
        "fault": fault,
        "policy": policy,
        "trials": believed,
        "limited_by": limits.cell_text(trials),
        "decided": bool(measures.judged("staleness_max_s", trials)),
        "asked": asked,
        "answered": rows.share(answered, asked),
        "origin_reads": rows.share(sum(o.record.counter_reads for o in believed), answered_in_all),
        "failed_edits": failed_edits,
        "stale_ratio": staleness.ratio_of(analysis, believed),
        "old": old,
    }


def _reads(analysis: Analysis, outcome: MeasuredOutcome) -> tuple[int, ...]:
    """(reads sent during the fault, answered of these, answered reads of the trial, failed edits of the trial)."""
    fault = outcome.record.fault
    from_us, until_us = (fault.began_us, fault.ended_us) if fault else (0, 2**62)
    return analysis.samples.query(
        "SELECT count(*) FILTER (is_read AND during), count(*) FILTER (is_read AND during AND answered), "
        "count(*) FILTER (is_read AND answered), count(*) FILTER (NOT is_read AND NOT answered) "
        "FROM (SELECT *, sent_at_us BETWEEN $from_us AND $until_us AS during FROM {samples})",
        [outcome.number],
        from_us=from_us,
        until_us=until_us,
    )[0]


def _bound_s(found: Sequence[Found]) -> float | None:
    """The bound of the trials that have one, in seconds."""
    trials = [o for cell in found for o in cell["trials"] if o.record.setting("policy") == BOUNDED]
    return trials[0].record.number("staleness_bound_ms") / 1000 if trials else None


def _say(found: Sequence[Found], bound_s: float | None) -> str:
    own = [cell for cell in found if cell["policy"] == BOUNDED and cell["decided"]]
    if bound_s is None or not own:
        return f"No trial of the policy {BOUNDED} can be judged."
    oldest_s = max(cell["old"].oldest_s for cell in own)
    older = "no read was older" if oldest_s <= bound_s else "a read was older"
    text = (
        f"With {BOUNDED} and a bound of {bound_s:g} s, {older}: the oldest was outdated by "
        f"{wording.three_digits(oldest_s)} s. Reads answered during the fault: "
    )
    text += ", ".join(f"{wording.percent(cell['answered'])} ({cell['fault']})" for cell in own) + "."
    others = [cell for cell in found if cell["policy"] != BOUNDED and cell["decided"]]
    if others:
        worst = max(others, key=lambda cell: cell["old"].oldest_s)
        text += (
            f" The oldest read of the other policies was outdated by "
            f"{wording.three_digits(worst['old'].oldest_s)} s ({worst['policy']}, {worst['fault']})."
        )
    return text


def _table(found: Sequence[Found]) -> Table:
    columns = [
        Column("fault", "fault", "text", left=True),
        Column("policy", "policy", "text", left=True),
        Column("asked", "reads during the fault", "count"),
        Column("answered", "answered", "percent"),
        Column("stale_percent", "stale reads, %", "interval"),
        Column("staleness_p95_s", "p95", group="outdated by, s"),
        Column("oldest_s", "longest", group="outdated by, s"),
        Column("origin_reads", "reads at the origin for each answered"),
        Column("failed_edits", "failed edits", "count", on_page=False),
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "freshness-under-faults",
        "What readers get while something fails, by fault and policy.",
        "Reads during the fault are those sent from its begin to its end, without a fault all. A read that got no "
        "answer below 400 within the time-out is not answered. Stale reads and their ages are of the whole trial, as "
        "pages may stay old after the fault; so are the reads at the origin. " + rows.LIMITED_NOTE,
        columns,
        [_row(cell) for cell in found],
    )


def _row(cell: Found) -> Row:
    return {
        **{key: cell[key] for key in ("fault", "policy", "asked", "answered", "origin_reads", "failed_edits")},
        "stale_percent": cell["stale_ratio"].in_percent() if cell["stale_ratio"] else None,
        "staleness_p95_s": cell["old"].seconds["p95"],
        "oldest_s": cell["old"].oldest_s,
        "limited_by": cell["limited_by"],
        "trials": trials_cell(o.number for o in cell["trials"]),
    }


def _panels(found: Sequence[Found]) -> list[dict[str, Any]]:
    return [
        {
            "title": TITLES.get(fault, fault),
            "points": [
                {
                    "label": cell["policy"],
                    "answered": 100 * cell["answered"],
                    "oldest_s": cell["old"].oldest_s,
                    "origin_reads": cell["origin_reads"],
                    "limited_by": cell["limited_by"],
                }
                for cell in found
                if cell["fault"] == fault and cell["answered"] is not None
            ],
        }
        for fault in dict.fromkeys(cell["fault"] for cell in found)
    ]
