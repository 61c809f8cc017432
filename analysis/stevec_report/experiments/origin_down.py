"""The origin is killed under load: the responses that readers get under each policy, and the time to recover."""

import statistics
from collections.abc import Sequence
from typing import Any

from stevec_report import limits, measures, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.figures import answers_over_time
from stevec_report.levels import place_in
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.rows import LIMITED, LIMITED_NOTE, share
from stevec_report.sample_table import DONE_AT
from stevec_report.trial_fault import Fault

BIN_S = 0.5
OLD = "cache_status IN ('STALE', 'UPDATING')"


def blocks(analysis: Analysis) -> list[Block]:
    """The result for the hypothesis, the table by policy, and the answers over time."""
    found = [_of_policy(analysis, policy) for policy in _policies(analysis)]
    return [
        Words("p", _say(found)),
        _table(found),
        Figure(
            "answers-over-time",
            "What readers get while the origin is down, by policy",
            f"Responses in each {1000 * BIN_S:g} ms since the origin was killed, all trials of a policy together: "
            "fresh as far as the cache knows, a copy past its lifetime, or an error. Lines: killed, and back.",
            lambda: answers_over_time.draw([_panel(analysis, own) for own in found]),
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses: in the study nothing failed on purpose."""
    return None


def _policies(analysis: Analysis) -> list[str]:
    """The levels of the factor that have trials, in the order of the experiment's definition."""
    order = list(analysis.run.experiment.get("factors", {}).get("policy", {}))
    there = {o.record.cell.get("policy", "") for o in analysis.valid if o.record.fault}
    return sorted(there, key=lambda level: place_in(order, level))


def _of_policy(analysis: Analysis, policy: str) -> dict[str, Any]:
    own = [o for o in analysis.valid if o.record.fault and o.record.cell.get("policy", "") == policy]
    trials = limits.believed(own)
    return {
        "policy": policy,
        "trials": trials,
        "limited_by": limits.cell_text(own),
        "decided": bool(measures.judged("failed_ratio", own)),
        "seen": [_seen(analysis, o, o.record.fault) for o in trials if o.record.fault],
    }


def _seen(analysis: Analysis, outcome: MeasuredOutcome, fault: Fault) -> dict[str, Any]:
    """The responses during the outage, from the kill until the origin answered again, and the times of errors."""
    asked, failed, old, first_failed, last_failed, longest = analysis.samples.query(
        "SELECT count(*) FILTER (down), count(*) FILTER (down AND NOT answered), "
        f"count(*) FILTER (down AND answered AND {OLD}), min(done_at_us) FILTER (NOT answered), "
        "max(done_at_us) FILTER (NOT answered), max(response_ms) FILTER (down) FROM (SELECT *, "
        f"{DONE_AT} AS done_at_us, "
        "sent_at_us BETWEEN $kill AND $back AS down FROM {samples})",
        [outcome.number],
        kill=fault.began_us,
        back=fault.ended_us,
    )[0]
    return {
        "outage_s": (fault.ended_us - fault.began_us) / 1e6,
        "asked": asked,
        "failed": failed,
        "old": old,
        "errors_from_s": None if first_failed is None else (first_failed - fault.began_us) / 1e6,
        # Seconds from the origin's first answer after the outage to the last error; 0 if the last error is earlier.
        "recovery_s": None if last_failed is None else max(0.0, (last_failed - fault.ended_us) / 1e6),
        "longest_ms": longest,
    }


def _say(found: Sequence[dict[str, Any]]) -> str:
    if not found:
        return "There is no valid trial in which the origin was down."
    outage = statistics.fmean(seen["outage_s"] for own in found for seen in own["seen"])
    decided = [own for own in found if own["decided"]]
    parts = [f"{own['policy']} {wording.percent(_share(own, 'failed'))}" for own in decided]
    parts += [f"{own['policy']} cannot be decided (all trials limited)" for own in found if not own["decided"]]
    spared = [own["policy"] for own in decided if _share(own, "failed") == 0]
    text = (
        f"The origin was down for {wording.three_digits(outage)} s in a trial. Share of the requests in that time that "
        f"got an error: {', '.join(parts)}."
    )
    if spared:
        text += f" No request failed with {wording.join_words(spared)}."
    return text


def _share(own: dict[str, Any], key: str) -> float | None:
    return share(sum(seen[key] for seen in own["seen"]), sum(seen["asked"] for seen in own["seen"]))


def _table(found: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column("policy", "policy", "text", left=True),
        Column("outage_s", "outage, s"),
        Column("asked", "asked meanwhile", "count"),
        Column("failed_share", "got an error", "percent"),
        Column("old_share", "got an old copy", "percent"),
        Column("errors_from_s", "first error after, s"),
        Column("recovery_s", "last error after it is back, s"),
        Column("longest_ms", "longest wait, ms"),
        Column("failed", "errors in all", "count"),
        Column("cut_off", "of the counter unsure", "count"),
        LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "origin-down",
        "What readers get while the origin is down.",
        "Shares are of the requests sent between the kill of the origin's nginx and the wiki's first answer through "
        "it. An old copy is one past its lifetime (STALE, UPDATING). The first error counts from the kill, the last "
        "from that first answer. Times are means over the trials, the longest wait is the maximum of all. Unsure: "
        "requests in flight at the kill, which the counter may have or lack. " + LIMITED_NOTE,
        columns,
        [_row(own) for own in found],
    )


def _row(own: dict[str, Any]) -> Row:
    trials = own["trials"]
    return {
        "policy": own["policy"],
        "outage_s": mean([seen["outage_s"] for seen in own["seen"]]),
        "asked": sum(seen["asked"] for seen in own["seen"]),
        "failed_share": _share(own, "failed"),
        "old_share": _share(own, "old"),
        "errors_from_s": mean([seen["errors_from_s"] for seen in own["seen"]]),
        "recovery_s": mean([seen["recovery_s"] for seen in own["seen"]]),
        "longest_ms": max((seen["longest_ms"] for seen in own["seen"] if seen["longest_ms"] is not None), default=None),
        "failed": sum(o.stats.failures for o in trials),
        "cut_off": sum(o.stats.cut_off for o in trials),
        "limited_by": own["limited_by"],
        "trials": trials_cell(o.number for o in trials),
    }


def _panel(analysis: Analysis, own: dict[str, Any]) -> dict[str, Any]:
    """{"title", "seconds", "current", "old", "failed", "back_s"}: shares in bins of time since the kill."""
    bins: dict[int, tuple[int, ...]] = {}
    for outcome in own["trials"]:
        rows = analysis.samples.query(
            "SELECT CAST(floor((sent_at_us - $kill) / (1e6 * $bin)) AS INTEGER) AS bin, count(*), "
            f"count(*) FILTER (NOT answered), count(*) FILTER (answered AND {OLD}) FROM {{samples}} GROUP BY 1",
            [outcome.number],
            kill=outcome.record.fault.began_us,
            bin=BIN_S,
        )
        for at, asked, failed, old in rows:
            bins[at] = tuple(map(sum, zip(bins.get(at, (0, 0, 0)), (asked, failed, old), strict=True)))
    at = sorted(bins)
    return {
        "title": own["policy"],
        "seconds": [(k + 0.5) * BIN_S for k in at],
        "failed": [bins[k][1] / bins[k][0] for k in at],
        "old": [bins[k][2] / bins[k][0] for k in at],
        "back_s": statistics.fmean(seen["outage_s"] for seen in own["seen"]),
    }
