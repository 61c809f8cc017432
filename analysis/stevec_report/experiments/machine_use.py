"""The blocks on what the limit of each cell was, and on who used the machine meanwhile."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from stevec_report import outcomes as all_outcomes
from stevec_report import rows, wording
from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import TRIALS_COLUMN, Block, Cell, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.figures import machine_use
from stevec_report.outcomes import CellKey, MeasuredOutcome
from stevec_report.trial_saturation import PARTS, Saturation
from stevec_report.wording import NOT_RECORDED

TOO_SHORT = "the load took only a few tenths of a second, too short to be read"


def blocks(analysis: Analysis) -> list[Block]:
    """The table and the figure; a note where no trial recorded what used the machine."""
    groups = all_outcomes.cells(analysis.valid)
    recorded = {cell: found for cell, trials in groups.items() if (found := _recorded(trials))}
    if not recorded:
        return [Words("note", f"What used the machine during the trials is {NOT_RECORDED}.")]
    return [
        _table(groups),
        Figure(
            "machine-use",
            "Who used the machine",
            "Who used the machine: mean cores of each part while a cell was measured, without the time of interrupts. "
            "The dashed line is the number of cores.",
            lambda: machine_use.draw([_bar(cell, found) for cell, found in recorded.items()]),
        ),
    ]


def _recorded(trials: Iterable[MeasuredOutcome]) -> list[Saturation]:
    return [trial.saturation for trial in trials if trial.saturation]


def _table(groups: dict[CellKey, list[MeasuredOutcome]]) -> Table:
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("limit", "limit", "text", left=True, wrap=True),
        rows.LIMITED,
        Column("busy_cores", "in use", group="cores"),
        Column("cores", "of", "text", group="cores"),
        Column("others_cores", "others", group="cores"),
        Column("stolen_cores", "stolen", group="cores"),
        *[Column(f"{part}_cores", part, on_page=False) for part in PARTS],
        Column("busiest_thread", "busiest thread", "text", left=True, wrap=True),
        Column("pressure_ratio", "waited", "percent"),
        Column("held_up_ratio", "held up", "percent"),
        Column("disturbed", "disturbed", "text", left=True, wrap=True),
        TRIALS_COLUMN,
    ]
    return Table(
        "saturation",
        "What was the limit, and who used the machine.",
        "Means over the valid trials of a cell, under load. Others: processes that are not the lab's; stolen: what the "
        "machine's host gave to other guests; waited: share of the time in which a task had no core (PSI); held up: "
        "share of the time in which a thread woke up late.",
        columns,
        [_row(cell, trials) for cell, trials in groups.items()],
    )


def _row(cell: CellKey, trials: Sequence[MeasuredOutcome]) -> Row:
    found = _recorded(trials)
    row: Row = {
        "cell": all_outcomes.cell_text(cell),
        "limit": _limits_text(trials),
        "limited_by": rows.limited_by(trials),
        "trials": trials_cell(trial.number for trial in trials),
    }
    if not found:
        return row | {"disturbed": NOT_RECORDED}
    names = ("busy_cores", "others_cores", "stolen_cores", "pressure_ratio", "held_up_ratio")
    row |= {name: mean(getattr(one, name) for one in found) for name in names}
    row |= {f"{part}_cores": mean(_part_cores(one, part) for one in found) for part in PARTS}
    disturbed = sum(one.disturbed is not None for one in found)
    return row | {
        "cores": " or ".join(sorted({str(one.cores) for one in found})),
        "busiest_thread": _busiest_thread(found),
        "disturbed": wording.part_of(disturbed, len(found), "trial") if disturbed else "no",
    }


def _limits_text(trials: Sequence[MeasuredOutcome]) -> str:
    """`nothing`, or `wiki (2), machine (1)`: what was saturated, as the lab recorded it."""
    counts = Counter(trial.record.limit or NOT_RECORDED for trial in trials)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({number})" for name, number in counts.most_common())


def _part_cores(one: Saturation, part: str) -> float | None:
    return one.parts[part].cpu_cores if part in one.parts else None


def _busiest_thread(found: Sequence[Saturation]) -> Cell:
    """The thread that was nearest to a whole core, which limits a program of one thread."""
    cores = {part: mean(one.parts[part].busiest_thread_cores for one in found if part in one.parts) for part in PARTS}
    known = {part: value for part, value in cores.items() if value is not None}
    if not known:
        return Cell("")
    part = max(known, key=lambda name: known[name])
    return Cell(f"{part} {wording.three_digits(known[part])}")


def _bar(cell: CellKey, found: Sequence[Saturation]) -> dict[str, Any]:
    use = {part: mean(_part_cores(one, part) for one in found) or 0.0 for part in PARTS}
    use["others"] = mean(one.others_cores for one in found) or 0.0
    use["stolen"] = mean(one.stolen_cores for one in found) or 0.0
    names = {one.limit for one in found}
    return {
        "label": all_outcomes.cell_text(cell),
        "limit": names.pop() if len(names) == 1 else "several",
        "cores": max(one.cores for one in found),
        "use": use,
    }
