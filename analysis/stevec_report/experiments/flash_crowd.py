"""A crowd for one page: how many requests reach the origin while there is no fresh copy, and how long readers wait."""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from stevec_report import limits, measures, percentiles, rows, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.figures import waits_over_time
from stevec_report.levels import place_in
from stevec_report.outcomes import MeasuredOutcome

BIN_S = 0.1
FACTORS = ("moment", "protection")


def blocks(analysis: Analysis) -> list[Block]:
    """The result for the hypothesis, the table, and the longest wait over time."""
    found = [_cell(analysis, moment, protection) for moment, protection in _cells(analysis)]
    return [
        Words("p", _say(found)),
        _table(found, run_dependence(analysis)),
        Figure(
            "waits-over-time",
            "Longest wait in the course of a trial",
            f"Longest wait of the requests sent in each {1000 * BIN_S:g} ms (logarithmic), over all trials of a cell, "
            "since the first request. Grey: during the burst.",
            lambda: waits_over_time.draw(_panels(analysis, found)),
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses: the study had no such crowd."""
    return None


def _cells(analysis: Analysis) -> list[tuple[str, ...]]:
    """The (moment, protection) pairs of the valid trials, in the order of the experiment's definition."""
    factors = analysis.run.experiment.get("factors", {})
    order = [list(factors.get(name, {})) for name in FACTORS]
    there = {tuple(o.record.cell.get(name, "") for name in FACTORS) for o in analysis.valid}
    return sorted(there, key=lambda cell: [place_in(levels, level) for levels, level in zip(order, cell, strict=True)])


def _cell(analysis: Analysis, moment: str, protection: str) -> dict[str, Any]:
    trials = [
        o
        for o in analysis.valid
        if (o.record.cell.get("moment", ""), o.record.cell.get("protection", "")) == (moment, protection)
    ]
    return {
        "moment": moment,
        "protection": protection,
        "trials": trials,
        "asked": [_asked(analysis, o) for o in trials],
    }


def _asked(analysis: Analysis, outcome: MeasuredOutcome) -> dict[str, Any]:
    """The number of readers who waited for the origin, the most at once, and the median of their times in ms."""
    asked = analysis.samples.query(
        "SELECT sent_at_us, duration_ms FROM {samples} WHERE NOT served ORDER BY sent_at_us", [outcome.number]
    )
    if not asked:
        return {"readers": 0, "at_once": 0, "fetch_ms": None}
    sent, durations = (np.array(column) for column in zip(*asked, strict=True))
    done = np.sort(sent + np.round(1000 * durations).astype(np.int64))
    under_way = np.arange(1, sent.size + 1) - np.searchsorted(done, sent, side="right")
    return {"readers": sent.size, "at_once": int(under_way.max()), "fetch_ms": float(np.median(durations))}


def _say(found: Sequence[dict[str, Any]]) -> str:
    if not found:
        return "There is no valid trial."
    texts = []
    for moment in dict.fromkeys(own["moment"] for own in found):
        parts = [
            f"{own['protection']} {wording.three_digits(mean([o.record.counter_requests for o in own['trials']]))} "
            f"({_longest(own['trials'])})"
            for own in found
            if own["moment"] == moment
        ]
        texts.append(f"{moment}: {', '.join(parts)}")
    text = f"Requests at the origin, per trial: {'; '.join(texts)}."
    expected = _arrivals(next((own for own in found if own["protection"] == "none"), None))
    if expected is not None:
        text += (
            f" At the peak of the burst about {wording.three_digits(expected)} requests arrive during one fetch. "
            "Without collapsing, all of them reach the origin whenever there is no fresh copy."
        )
    return text


def _longest(trials: Sequence[MeasuredOutcome]) -> str:
    judged = measures.judged("wait_ms", trials)
    if not judged:
        return f"longest wait cannot be decided: limited by {limits.by_words(trials)}"
    return f"longest wait {wording.three_digits(rows.longest_ms(judged))} ms"


def _arrivals(own: dict[str, Any] | None) -> float | None:
    """Readers that arrive at the peak of the burst while the origin answers one request, or None."""
    if own is None:
        return None
    record = own["trials"][0].record
    burst = record.setting("burst")
    judged = {o.number for o in measures.judged("wait_ms", own["trials"])}
    asked = [asked for o, asked in zip(own["trials"], own["asked"], strict=True) if o.number in judged]
    fetches = [one["fetch_ms"] for one in asked if one["fetch_ms"]]
    if not isinstance(burst, dict) or not fetches:
        return None
    return record.number("rate_per_s") * burst.get("factor", 1) * statistics.median(fetches) / 1000


def _table(found: Sequence[dict[str, Any]], depending: Dependence) -> Table:
    columns = [
        Column("moment", "moment", "text", left=True),
        Column("protection", "protection", "text", left=True),
        Column("requests", "requests", "count"),
        Column("origin_requests", "reached the origin"),
        Column("waiting_at_once", "readers waiting for it at once, most", "count"),
        rows.FAILED,
        rows.P50,
        rows.P99,
        Column("max_ms", "longest"),
        Column("never_sent", "never sent", "count"),
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "flash-crowd",
        "A crowd for one page.",
        "Requests and what reached the origin are means over the trials, the longest wait is that of all. A request "
        "that waits at the edge for another request's fetch takes as long, but is not counted as waiting for the "
        "origin. " + percentiles.NOTE + rows.LIMITED_NOTE,
        columns,
        [_row(own, depending) for own in found],
    )


def _row(own: dict[str, Any], depending: Dependence) -> Row:
    trials = own["trials"]
    timed = limits.believed(trials)
    return {
        "moment": own["moment"],
        "protection": own["protection"],
        "requests": rows.count_sent(trials) / len(trials),
        "origin_requests": mean([o.record.counter_requests for o in trials]),
        "waiting_at_once": max(asked["at_once"] for asked in own["asked"]),
        "failed_share": rows.failed_share(timed),
        **rows.percentiles(timed, depending),
        "max_ms": rows.longest_ms(timed),
        "never_sent": sum(o.record.never_sent for o in trials),
        "limited_by": rows.limited_by(trials),
        "trials": trials_cell(o.number for o in trials),
    }


def _panels(analysis: Analysis, found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    panels = []
    for moment in dict.fromkeys(own["moment"] for own in found):
        lines, crowd = [], None
        for own in (own for own in found if own["moment"] == moment):
            burst = own["trials"][0].record.setting("burst")
            if isinstance(burst, dict):
                crowd = (burst["at_s"], burst["at_s"] + burst["ramp_s"] + burst["for_s"])
            lines.append({"label": own["protection"], **_waits(analysis, own["trials"])})
        panels.append({"title": moment, "lines": lines, "crowd_s": crowd})
    return panels


def _waits(analysis: Analysis, trials: Sequence[MeasuredOutcome]) -> dict[str, list[float]]:
    longest: dict[int, float] = {}
    for outcome in trials:
        bins = analysis.samples.query(
            "SELECT bin, max(response_ms) FROM ("
            "SELECT CAST(floor((at_us - min(at_us) OVER ()) / (1e6 * $bin)) AS INTEGER) AS bin, response_ms "
            "FROM (SELECT coalesce(planned_at_us, sent_at_us) AS at_us, response_ms FROM {samples})) GROUP BY 1",
            [outcome.number],
            bin=BIN_S,
        )
        for at, wait_ms in bins:
            longest[at] = max(longest.get(at, 0.0), wait_ms)
    return {
        "seconds": [(at + 0.5) * BIN_S for at in sorted(longest)],
        "waits_ms": [longest[at] for at in sorted(longest)],
    }
