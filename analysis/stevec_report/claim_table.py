"""The table of a hypothesis' tests: what each found, over how many blocks, and what it could have found."""

from stevec_report.blocks import Column, Row, Table
from stevec_report.claims import Claim, detectable_ratio, needed
from stevec_report.power import BLOCKS_MAX
from stevec_report.thresholds import Thresholds
from stevec_report.verdicts import Evidence

ALONE, STUDY = "alone", "study"


def tables(evidence: Evidence | None) -> list[Table]:
    """The table, in a list; [] without a test."""
    tested = [claim for claim in evidence.claims if claim.test] if evidence else []
    if evidence is None or not tested:
        return []
    stated = evidence.thresholds
    corrected = f"corrected for {stated.hypotheses}"
    columns = [
        Column("claim", "claim", "text", left=True),
        Column("ratio", "ratio (95 % interval)", "interval"),
        Column("against", "against", "text"),
        Column("p", "p", "p"),
        Column("no_effect_p", "p, near 1", "p"),
        Column("blocks", "blocks", "count"),
        Column("left_out", "left out", "count"),
        Column("detectable_alone", "could find", "number", "alone"),
        Column("needed_alone", "a new run needs", "text", "alone"),
        Column("detectable_study", "could find", "number", corrected),
        Column("needed_study", "a new run needs", "text", corrected),
    ]
    rows = [_row(claim, stated) for claim in tested]
    return [Table("claims", "The tests, and what they could have found.", _note(stated), columns, rows)]


def _row(claim: Claim, stated: Thresholds) -> Row:
    test = claim.test
    assert test is not None
    row: Row = {
        "claim": claim.name,
        "ratio": test.ratio,
        "against": f"1/{test.against:g} to {test.against:g}" if claim.is_equivalence else f"{test.against:g}",
        "p": test.p,
        "no_effect_p": claim.no_effect_p,
        "blocks": test.n,
        "left_out": test.left_out,
    }
    for name, factor in ((ALONE, 1), (STUDY, stated.hypotheses)):
        row[f"detectable_{name}"] = detectable_ratio(claim, stated.alpha / factor)
        row[f"needed_{name}"] = needed(claim, stated, factor) or f"over {BLOCKS_MAX}"
    return row


def _note(stated: Thresholds) -> str:
    recorded = "" if stated.recorded else " These thresholds are not recorded in this run; they are the defaults."
    return (
        f"A block is a repetition. Thresholds: alpha {stated.alpha:g}, {stated.hypotheses} hypotheses, equivalence "
        f"within 1/{stated.equivalence_ratio:g} to {stated.equivalence_ratio:g}.{recorded} “Could find” is the least "
        "ratio beyond “against”, or its inverse, that the test finds with 80 % power at the spread seen; for "
        "an equivalence the narrowest margin. A new run needs so many repetitions, fixed before it, for the effect "
        "seen or that of equivalence if it is larger."
    )
