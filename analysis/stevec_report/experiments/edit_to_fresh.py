"""P3, edit-to-fresh: how long after an edit all reads at a door show it, by door and policy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stevec_report import limits, rows, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Table, Words, trials_cell
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.figures import edit_to_fresh
from stevec_report.freshness.edit_times import EditTimes, Reads, Writes, edit_times
from stevec_report.freshness.trial import TOLERANCE_MS
from stevec_report.intervals import Interval, clipped, t_interval
from stevec_report.levels import place_in
from stevec_report.order_statistics import BEYOND_MIN, enough
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.sample_table import DONE_AT

Found = dict[str, Any]


def blocks(analysis: Analysis) -> list[Block]:
    """The result in words, the distributions, and the table by door and policy."""
    found = _cells(analysis)
    if not found:
        return [Words("note", "There is no valid trial with an edit whose page was read.")]
    return [
        Words("p", _say(found)),
        Figure(
            "edit-to-fresh",
            "From an edit to fresh reads",
            "The share of edits (upwards) that all readers of a door see after a time (to the right, linearly from 0 "
            "to 0.01 s and logarithmically from there). Readers look at moments only: the area lies between the last "
            "read that got an older text, at 0 if none did, and the first one from which on all got this text or a "
            "newer one. The truth is within it. Edits whose page was edited again before such a read are marked, and "
            "taken into account (Kaplan and Meier).",
            lambda: edit_to_fresh.draw(_strips(found)),
        ),
        _table(found, run_dependence(analysis)),
    ]


def evidence(analysis: Analysis) -> None:
    """None of the study's hypotheses; the experiment states its expectations as data (`expectations.py`)."""
    return None


def _cells(analysis: Analysis) -> list[Found]:
    """The cells with an edit whose page was read, in the order of the definition."""
    order = list(analysis.run.experiment.get("factors", {}).get("policy", {}))
    members: dict[str, list[MeasuredOutcome]] = {}
    for outcome in analysis.valid:
        members.setdefault(outcome.record.cell.get("policy", ""), []).append(outcome)
    found = []
    for policy in sorted(members, key=lambda level: place_in(order, level)):
        trials = limits.believed(members[policy])
        own = {trial.number: _times(analysis, trial) for trial in trials}
        times = EditTimes.of_all(list(own.values()))
        if times.read().size:
            found.append(
                {
                    "policy": policy,
                    "door": trials[0].door,
                    "trials": trials,
                    "limited_by": rows.limited_by(members[policy]),
                    "own": {number: one.read() for number, one in own.items() if one.read().size},
                    "edits": times.size,
                    "times": times.read(),
                }
            )
    return found


def _times(analysis: Analysis, trial: MeasuredOutcome) -> EditTimes:
    """The times of the edits of one trial."""
    samples = analysis.samples.query(
        f"SELECT dense_rank() OVER (ORDER BY page), sent_at_us, {DONE_AT}, "
        "CASE WHEN answered THEN coalesce(revision, -1) ELSE -1 END, is_read FROM {samples}",
        [trial.number],
    )
    page, sent, done, revision, is_read = np.array(samples, dtype=np.int64).reshape(-1, 5).T
    read = (is_read == 1) & (revision >= 0)
    return edit_times(
        Writes(*(column[is_read == 0] for column in (page, sent, done, revision))),
        Reads(*(column[read] for column in (page, sent, revision))),
        round(1000 * (TOLERANCE_MS + trial.record.clock_skew_bound_ms)),
    )


def _at_once(times: EditTimes) -> float:
    """The share of edits after which no read got an older text."""
    return float((times.outdated_s == 0).mean())


def _say(found: Sequence[Found]) -> str:
    longest = ", ".join(
        f"{wording.three_digits(float(cell['times'].outdated_s.max()))} s ({cell['policy']})" for cell in found
    )
    text = f"How long after an edit a read still got an older text, at most: {longest}."
    if any(cell["door"] == "local" for cell in found):
        text += " The door local follows no purge log, so no bound is promised there."
    return text


def _table(found: Sequence[Found], depending: Dependence) -> Table:
    columns = [
        Column("policy", "policy", "text", left=True),
        Column("door", "door", "text", left=True),
        Column("edits", "edits", "count"),
        Column("unread", "not read before the next", "count", on_page=False),
        Column("censored", "not fresh before the next", "count"),
        Column("at_once_percent", "fresh at once, %", "interval"),
        Column("p50_s", "median", "interval", group="fresh after, s"),
        Column("p95_s", "p95", group="fresh after, s"),
        Column("p99_s", "p99", group="fresh after, s"),
        Column("outdated_max_s", "last outdated read, s"),
        Column("known_within_s", "known to within, s"),
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "edit-to-fresh",
        "From the acknowledgement of an edit to fresh reads, by door and policy.",
        "Fresh at once: no read that was sent after the acknowledgement got an older text; the mean of the trials, "
        "with its 95 % interval. Fresh after: until the first read from which on all were fresh, late by up to the "
        "time between two reads of a page (known to within: the median). The median is the geometric mean of the "
        "trials' own with its 95 % interval; p95 and p99 are of the edits of all trials, and a dash if fewer than "
        f"{BEYOND_MIN} edits lie beyond. Edits whose page was edited again before a fresh read are censored, and not "
        f"left out (Kaplan and Meier). {rows.LIMITED_NOTE}",
        columns,
        [_row(cell, depending) for cell in found],
    )


def _row(cell: Found, depending: Dependence) -> dict[str, Any]:
    times = cell["times"]
    seen = times.fresh_s[~times.censored] - times.outdated_s[~times.censored]
    return {
        "policy": cell["policy"],
        "door": cell["door"],
        "edits": cell["edits"],
        "unread": cell["edits"] - times.size,
        "censored": int(times.censored.sum()),
        "at_once_percent": clipped(t_interval([_at_once(own) for own in cell["own"].values()])).in_percent(),
        "p50_s": _median(cell, depending),
        "p95_s": _pooled(times, 0.95),
        "p99_s": _pooled(times, 0.99),
        "outdated_max_s": float(times.outdated_s.max()),
        "known_within_s": float(np.median(seen)) if seen.size else None,
        "limited_by": cell["limited_by"],
        "trials": trials_cell(o.number for o in cell["trials"]),
    }


def _median(cell: Found, depending: Dependence) -> Interval | None:
    """The median over the trials; None if one of them has none."""
    own = {
        number: times.distribution().quantile(0.5) if enough(times.size, 0.5) else None
        for number, times in cell["own"].items()
    }
    known = {number: value for number, value in own.items() if value is not None}
    return depending.geometric(known) if len(known) == len(own) else None


def _pooled(times: EditTimes, level: float) -> float | None:
    return times.distribution().quantile(level) if enough(times.size, level) else None


def _strips(found: Sequence[Found]) -> list[dict[str, Any]]:
    return [
        {
            "title": _title(cell),
            "door": cell["door"],
            "latest": cell["times"].distribution(),
            "earliest": cell["times"].least_distribution(),
            "trials": [own.distribution() for own in cell["own"].values()] if len(cell["own"]) > 1 else [],
            "mark": _mark(cell["trials"][0]),
        }
        for cell in found
    ]


def _title(cell: Found) -> str:
    title = f"{cell['policy']}, door {cell['door']}: {wording.count_of(cell['times'].size, 'edit')}"
    return f"{title} (limited)" if cell["limited_by"] else title


def _mark(trial: MeasuredOutcome) -> tuple[float, str] | None:
    """The bound or the lifetime of a trial, in seconds and in words."""
    policy = trial.record.setting("policy", "ttl")
    lifetime_s = trial.record.number("beyond_bound_s", 0) if policy == "bounded" else 0
    if policy == "ttl":
        lifetime_s = trial.record.number("ttl_s")
    if policy == "bounded" and trial.door == "cached":
        bound_s = trial.record.number("staleness_bound_ms", 500) / 1000
        return bound_s, f"bound: {bound_s:g} s"
    return (lifetime_s, f"lifetime: {lifetime_s:g} s") if lifetime_s else None
