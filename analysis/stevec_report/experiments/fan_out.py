"""R4, fan-out: what a save costs, and when watchers see it, by their number and by when the work is done."""

from collections.abc import Callable, Mapping, Sequence

from matplotlib.figure import Figure as MplFigure

from stevec_report import dependence, limits, reference, rows
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, trials_cell
from stevec_report.dependence import Dependence
from stevec_report.experiments.common import Strip
from stevec_report.fan_out_facts import FanOutFacts
from stevec_report.figures import by_watchers
from stevec_report.outcomes import MeasuredOutcome

STUDY = "4-before-after"
STUDY_ROW = "fan-out"  # how the study's row begins
WAYS = ("in-request", "on-queue", "on-read")
Cells = Mapping[tuple[int, str], list[MeasuredOutcome]]
Of = Callable[[FanOutFacts], float | None]


def blocks(analysis: Analysis) -> list[Block]:
    """The cells beside the study's two figures, and the picture."""
    cells, depending = cells_of(analysis), dependence.run_dependence(analysis)
    if not cells:
        return []
    return [
        _table(cells, depending),
        Figure(
            "by-watchers",
            "A save, its delay and its work, by the number of watchers",
            "From above: the mean time of a save; the mean time from its answer until a list shows it, of three "
            "watchers that look every 100 ms; processor time of wiki and database for an edit with all that comes "
            "after it, without the looks. Dots are trials, lines geometric means, bars their 95 % intervals. All axes "
            "are logarithmic.",
            lambda: draw(cells, depending),
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses."""
    return None


def strips(analysis: Analysis) -> list[Strip]:
    """One strip for each number of watchers."""
    found: dict[int, list[int]] = {}
    for (watchers, _), trials in cells_of(analysis).items():
        found.setdefault(watchers, []).extend(o.number for o in trials)
    return [(f"{watchers} watching", "source", numbers) for watchers, numbers in found.items()]


def cells_of(analysis: Analysis) -> dict[tuple[int, str], list[MeasuredOutcome]]:
    """{(watchers, way): its valid trials}, in the order of rows."""
    found: dict[tuple[int, str], list[MeasuredOutcome]] = {}
    for o in analysis.valid:
        way = str(o.record.setting("fan_out", ""))
        if o.record.fan_out and way in WAYS:
            found.setdefault((int(o.record.number("watchers")), way), []).append(o)
    return {
        cell: sorted(found[cell], key=lambda o: o.block)
        for cell in sorted(found, key=lambda cell: (cell[0], WAYS.index(cell[1])))
    }


def _table(cells: Cells, depending: Dependence) -> Table:
    study = [row for row in reference.read_related(STUDY) if row["change"].startswith(STUDY_ROW)]
    found: list[Row] = []
    for row in study:
        for way, column in (("in-request", "before_ms"), ("on-queue", "after_ms")):
            found.append({"of": "study", "watchers": 1, "way": way, "study_ms": float(row[column])})
    return Table(
        "watchers",
        "What a save costs, by the number of watchers.",
        "Geometric means of the trials with their 95 % interval. Save: from the planned moment. Shown after: from the "
        "answer until the list of a watcher shows the change, of three that look every 100 ms, so a change is seen up "
        "to 100 ms late; the longest is that of all trials. Work: processor time of wiki and database for an edit with "
        "what the queue does after it, without the looks; a look: one list, read when nothing else is done. Items are "
        "those written for an edit. The study's figures are traces of the handler that composes a post, with one "
        "follower, on other machines: before, the handler wrote to the follower's list; after, a queue did. It says "
        "nothing of more followers, of when they see the post, or of the work, which does not go away. "
        f"{rows.LIMITED_NOTE}",
        [
            Column("of", "", "text", left=True),
            Column("watchers", "watchers", "count"),
            Column("way", "items are written", "text", left=True),
            Column("study_ms", "study's handler, ms"),
            Column("save_ms", "save, ms", "interval"),
            Column("p95_ms", "p95", "interval", on_page=False),
            Column("delay_ms", "shown after, ms", "interval"),
            Column("delay_p95_ms", "p95", "interval"),
            Column("delay_max_ms", "longest"),
            Column("never_shown", "never", "count"),
            Column("edit_cpu_ms", "work, ms an edit", "interval"),
            Column("look_cpu_ms", "ms a look", "interval"),
            Column("items", "items an edit"),
            rows.FAILED,
            rows.LIMITED,
            TRIALS_COLUMN,
        ],
        found + [_row(*cell, trials, depending) for cell, trials in cells.items()],
    )


def _row(watchers: int, way: str, trials: Sequence[MeasuredOutcome], depending: Dependence) -> Row:
    timed = limits.believed(trials)
    longest = list(_facts(timed, lambda own: own.longest_ms).values())
    items = list(_facts(trials, lambda own: own.items_per_edit).values())
    return {
        "of": "here",
        "watchers": watchers,
        "way": way,
        "save_ms": depending.mean("mean_ms", timed),
        "p95_ms": depending.mean("p95_ms", timed),
        "delay_ms": depending.geometric(_facts(timed, lambda own: own.delay_mean_ms)),
        "delay_p95_ms": depending.geometric(_facts(timed, lambda own: own.delay_p95_ms)),
        "delay_max_ms": max(longest, default=None),
        "never_shown": sum(o.record.fan_out.never_shown for o in trials if o.record.fan_out),
        "edit_cpu_ms": depending.geometric(_facts(trials, lambda own: own.edit_cpu_ms)),
        "look_cpu_ms": depending.geometric(_facts(trials, lambda own: own.look_cpu_ms)),
        "items": sum(items) / len(items) if items else 0.0,
        "failed_share": rows.failed_share(timed),
        "limited_by": rows.limited_by(trials),
        "trials": trials_cell(o.number for o in trials),
    }


def _facts(trials: Sequence[MeasuredOutcome], of: Of) -> dict[int, float]:
    """{number of a trial: a positive figure}; trials without it are left out."""
    found = {o.number: of(o.record.fan_out) for o in trials if o.record.fan_out}
    return {number: value for number, value in found.items() if value is not None and value > 0}


def draw(cells: Cells, depending: Dependence) -> MplFigure:
    """The picture: a panel for each of save, delay and work."""
    return by_watchers.draw(
        [
            _panel("save, ms", cells, lambda trials: depending.shown("mean_ms", limits.believed(trials))),
            _panel("shown after, ms", cells, lambda trials: _shown(limits.believed(trials), _delay, depending)),
            _panel("work, ms an edit", cells, lambda trials: _shown(trials, _work, depending)),
        ]
    )


def _delay(own: FanOutFacts) -> float | None:
    return own.delay_mean_ms


def _work(own: FanOutFacts) -> float | None:
    return own.edit_cpu_ms


def _shown(trials: Sequence[MeasuredOutcome], of: Of, depending: Dependence) -> dependence.Shown:
    values = _facts(trials, of)
    limited = {o.number: o.limited_by for o in trials}
    return [(value, limited[number]) for number, value in values.items()], depending.geometric(values)


def _panel(
    label: str, cells: Cells, shown: Callable[[Sequence[MeasuredOutcome]], dependence.Shown]
) -> by_watchers.Panel:
    lines: dict[str, list[by_watchers.Place]] = {}
    for (watchers, way), trials in cells.items():
        points, mean = shown(trials)
        lines.setdefault(way, []).append(by_watchers.Place(watchers, points, mean))
    return by_watchers.Panel(label, {way: lines[way] for way in WAYS if way in lines})
