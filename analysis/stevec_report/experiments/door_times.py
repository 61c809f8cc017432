"""The table of times at the door beside those at the client."""

import statistics
from collections.abc import Sequence

from stevec_report import limits, measures
from stevec_report import outcomes as all_outcomes
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Table, Words, trials_cell
from stevec_report.dependence import Dependence, run_dependence
from stevec_report.door_times import INSTRUMENT_SHARE_MAX, DoorTime
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.rows import LIMITED
from stevec_report.wording import percent, three_digits


def blocks(analysis: Analysis) -> list[Block]:
    """The table and a sentence on compressed ratios; nothing where no trial has the log of its door."""
    timed = [o for o in analysis.valid if o.stats.door_time is not None]
    if not timed:
        return []
    groups = all_outcomes.cells(timed)
    return [_table(groups, run_dependence(analysis)), *_say(groups)]


def _table(groups: dict[all_outcomes.CellKey, list[MeasuredOutcome]], depending: Dependence) -> Table:
    rows = []
    for cell, trials in groups.items():
        times = _times(trials)
        client_ms, door_ms = _medians(times)
        rows.append(
            {
                "cell": all_outcomes.cell_text(cell),
                "client_ms": client_ms,
                "door_ms": door_ms,
                "between_ms": depending.arithmetic(
                    {o.number: time.between_ms for o, time in zip(trials, times, strict=True)}
                ),
                "share": _share(times),
                "limited_by": limits.cell_text(trials),
                "trials": trials_cell(o.number for o in trials),
            }
        )
    return Table(
        "door-times",
        "Times at the client and at the door.",
        "Means of answered requests in ms, at the client and in the log of the door's nginx. Between them lie the load "
        "generator, its connections and the links.",
        [
            Column("cell", "cell", "text", left=True),
            Column("client_ms", "client"),
            Column("door_ms", "door"),
            Column("between_ms", "between", "interval"),
            Column("share", "of the client's", "percent"),
            LIMITED,
            TRIALS_COLUMN,
        ],
        rows,
    )


def _say(groups: dict[all_outcomes.CellKey, list[MeasuredOutcome]]) -> list[Block]:
    """Where the instrument takes much of what is compared: by how much ratios between doors are compressed."""
    judged = {cell: _times(measures.judged("mean_ms", trials)) for cell, trials in groups.items()}
    clean = {cell: times for cell, times in judged.items() if times}
    if not clean or all(_share(times) <= INSTRUMENT_SHARE_MAX for times in clean.values()):
        return []
    text = f"Up to {percent(max(map(_share, clean.values())))} of the time at the client is the instrument's own"
    pair = _most_compressed(clean)
    if pair is None:
        return [Words("note", f"{text}.")]
    slow, fast = pair
    (slow_client, slow_door), (fast_client, fast_door) = _medians(clean[slow]), _medians(clean[fast])
    at_doors = f"{three_digits(slow_door / fast_door)} times" if fast_door > 0 else "far longer"
    return [
        Words(
            "note",
            f"{text}, so ratios between doors are compressed. At the client, {all_outcomes.cell_text(slow)} takes "
            f"{three_digits(slow_client / fast_client)} times as long as {all_outcomes.cell_text(fast)}; at the doors "
            f"themselves, {at_doors}.",
        )
    ]


def _most_compressed(
    clean: dict[all_outcomes.CellKey, list[DoorTime]],
) -> tuple[all_outcomes.CellKey, all_outcomes.CellKey] | None:
    """The slower and the faster of two cells that differ in their door only, whose ratio shrinks most; None without."""
    found, most = None, 1.0
    for slow in clean:
        for fast in clean:
            if _load(slow) != _load(fast):
                continue
            (slow_client, slow_door), (fast_client, fast_door) = _medians(clean[slow]), _medians(clean[fast])
            at_doors = slow_door / fast_door if fast_door > 0 else float("inf")
            compression = at_doors / (slow_client / fast_client)
            if slow_client > fast_client and compression > most:
                found, most = (slow, fast), compression
    return found


def _load(cell: all_outcomes.CellKey) -> all_outcomes.CellKey:
    return tuple((factor, level) for factor, level in cell if factor != "door")


def _times(trials: Sequence[MeasuredOutcome]) -> list[DoorTime]:
    return [o.stats.door_time for o in trials if o.stats.door_time is not None]


def _medians(times: Sequence[DoorTime]) -> tuple[float, float]:
    """(client, door), ms: medians over the trials."""
    return statistics.median(time.client_ms for time in times), statistics.median(time.door_ms for time in times)


def _share(times: Sequence[DoorTime]) -> float:
    client_ms, door_ms = _medians(times)
    return max(0.0, 1 - door_ms / client_ms)
