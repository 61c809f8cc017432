"""What experiments with several wikis have in common: a row for each cell, the growth with their number, a figure."""

from collections.abc import Callable, Sequence
from typing import Any

from stevec_report import limits, measures, wiki_shares
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.dependence import run_dependence
from stevec_report.experiments import by_method
from stevec_report.figures import by_wikis
from stevec_report.intervals import Interval, geometric_mean
from stevec_report.outcomes import BlockKey, CellKey, MeasuredOutcome, cell_text
from stevec_report.rows import LIMITED, failed_share
from stevec_report.wording import interval_text, part_of

RATES = ("answered_per_s", "requests_per_cpu_s")
LABELS = {"answered_per_s": "answered, 1/s", "requests_per_cpu_s": "answered in a CPU second"}
WIKIS, REST = Column("wikis", "wikis", "count"), Column("rest", "load", "text", left=True)
COLUMNS = [
    WIKIS,
    REST,
    Column("wall_s", "wall, s", "interval"),
    Column("answered_per_s", "answered ÷ wall", "interval"),
    Column("planned_per_s", "planned ÷ wall", "interval"),
    Column("times_one", "× one wiki", "interval"),
    Column("failed_share", "failed", "percent"),
    LIMITED,
    TRIALS_COLUMN,
]
CPU_COLUMNS = [
    WIKIS,
    REST,
    Column("requests_per_cpu_s", "answered in a CPU second", "interval"),
    Column("cpu_times_one", "× one wiki", "interval"),
    Column("wiki_ms", "of wikis", group="CPU, ms a request"),
    Column("database_ms", "of mongods", group="CPU, ms a request"),
    Column("disturbed", "machine disturbed", "text"),
    TRIALS_COLUMN,
]
NOTE = (
    "Wall: from the first request to the last answer; requests a second are those answered (2xx, 3xx) ÷ wall, and "
    "those planned ÷ wall: one that fails is not answered. The unit is the trial: means are geometric, with 95 % "
    "intervals. "
    "“× one wiki” is the mean of the ratios to the trial with one wiki of the same block. "
)
CPU_NOTE = (
    "A CPU second is one of all wikis and mongods together, by the kernel’s account of the time under load; nginx and "
    "the load generator are not in it. Waiting for a core does not count, but other programs on the same cores empty "
    "their caches, and make each request dearer. A wiki with fewer requests at once also reads fewer pages from the "
    "database in one go. "
)
Group = tuple[int, CellKey]  # wikis, and the other levels


def groups(analysis: Analysis) -> dict[Group, list[MeasuredOutcome]]:
    """{(wikis, other levels): valid trials}, by other levels, then by wikis."""
    found: dict[Group, list[MeasuredOutcome]] = {}
    for outcome in analysis.valid:
        rest = tuple(item for item in outcome.cell if item[0] != wiki_shares.FACTOR)
        found.setdefault((int(outcome.record.number("wikis", 1)), rest), []).append(outcome)
    order = list(dict.fromkeys(rest for _, rest in found))
    return {key: found[key] for key in sorted(found, key=lambda key: (order.index(key[1]), key[0]))}


def _row(analysis: Analysis, key: Group) -> Row:
    trials, depending = groups(analysis)[key], run_dependence(analysis)
    timed = limits.believed(trials)
    wikis, rest = key

    def mean(of: Callable[[MeasuredOutcome], float | None], members: Sequence[MeasuredOutcome]) -> Interval | None:
        return depending.geometric({o.number: value for o in members if (value := of(o))})

    def milliseconds(part: str) -> float | None:
        found = mean(lambda o: measures.cpu_ms_per_request(o, part), trials)
        return found.centre if found else None

    return {
        "wikis": wikis,
        "rest": cell_text(rest),
        "wall_s": mean(lambda o: o.stats.span_s, timed),
        "answered_per_s": mean(measures.MEASURES["answered_per_s"].of, timed),
        "planned_per_s": mean(lambda o: by_method.planned_in_all(analysis, o) / o.stats.span_s, timed),
        "times_one": growth(analysis, key, "answered_per_s"),
        "requests_per_cpu_s": mean(measures.MEASURES["requests_per_cpu_s"].of, trials),
        "cpu_times_one": growth(analysis, key, "requests_per_cpu_s"),
        "wiki_ms": milliseconds("wiki"),
        "database_ms": milliseconds("database"),
        "failed_share": failed_share(timed),
        "disturbed": part_of(sum(o.disturbed is not None for o in trials), len(trials), "trial"),
        "limited_by": limits.cell_text(trials),
        "trials": trials_cell(o.number for o in trials),
    }


def growth(analysis: Analysis, key: Group, measure: str) -> Interval | None:
    """The measure of these trials ÷ that with one wiki, in the same blocks; None for one wiki, and without pairs.

    Of a time, as a table shows it: of trials that nothing limited, or of all without such.
    """
    wikis, rest = key
    own, ones = (_by_block(groups(analysis).get(group, []), measure) for group in ((wikis, rest), (1, rest)))
    ratios = [own[block] / ones[block] for block in own.keys() & ones.keys()]
    return geometric_mean(ratios) if ratios and wikis > 1 else None


def _by_block(trials: Sequence[MeasuredOutcome], measure: str) -> dict[BlockKey, float]:
    one = measures.MEASURES[measure]
    return {o.block: value for o in (limits.believed(trials) if one.is_time else trials) if (value := one.of(o))}


def say(analysis: Analysis) -> list[Words]:
    """What grew with the number of wikis, or that nothing can be concluded."""
    if missing := wiki_shares.missing(analysis.run):
        return [Words("note", missing)]
    parts = []
    for key, trials in groups(analysis).items():
        rate, spent = (growth(analysis, key, measure) for measure in RATES)
        if rate and spent:
            ones = groups(analysis)[1, key[1]]
            decided = all(measures.judged("answered_per_s", own) for own in (trials, ones))
            gain = f"{interval_text(rate)} times" if decided else "cannot be decided (all trials limited)"
            parts.append(
                f"{key[0]} wikis ({cell_text(key[1])}): requests a second {gain}, requests in a second of processor "
                f"time {interval_text(spent)} times."
            )
    if any(o.disturbed for o in analysis.valid):
        parts.append("Other programs used the machine meanwhile, which makes each request dearer.")
    return [Words("p", "Beside one wiki, in equal control groups. " + " ".join(parts))] if parts else []


def tables(analysis: Analysis, name: str, title: str) -> list[Table]:
    """The rates, and the processor time, one row for each cell."""
    rows = [_row(analysis, key) for key in groups(analysis)]
    return [
        Table(name, title, NOTE, COLUMNS, rows),
        Table("processor-time", "Processor time of wikis and database.", CPU_NOTE, CPU_COLUMNS, rows),
    ]


def figure(analysis: Analysis, apart: bool = False) -> Figure:
    """Throughput, and requests for a second of processor time, against the number of wikis.

    With `apart`, each load has panels of its own, as rates of other kinds of requests do not compare.
    """
    return Figure(
        "throughput-by-wikis",
        "Requests a second against the number of wikis",
        "Answered requests a second; the dashed lines are the ideal: so many times the rate of one wiki. And answered "
        "requests for each second of processor time of wikis and database. Dots are trials, hollow if something else "
        "than the stack limited them; upright lines are 95 % intervals of the means, cut off at the axes.",
        lambda: by_wikis.draw(_panels(analysis, apart)),
    )


def _panels(analysis: Analysis, apart: bool) -> list[dict[str, Any]]:
    found = [(LABELS[measure], measure == "answered_per_s", _lines(analysis, measure)) for measure in RATES]
    if not apart:
        return [{"label": label, "ideal": ideal, "lines": lines} for label, ideal, lines in found]
    return [
        {"label": f"{name}: {label}", "ideal": ideal, "lines": {name: lines[name]}}
        for name in found[0][2]
        for label, ideal, lines in found
    ]


def _lines(analysis: Analysis, measure: str) -> dict[str, list[dict[str, Any]]]:
    depending = run_dependence(analysis)
    lines: dict[str, list[dict[str, Any]]] = {}
    for (wikis, rest), trials in groups(analysis).items():
        points, mean = depending.shown(measure, trials)
        lines.setdefault(cell_text(rest), []).append({"wikis": wikis, "points": points, "mean": mean})
    return lines
