"""Short links: percentiles as ApacheBench prints them beside a study's, and what a request costs each process."""

from collections.abc import Mapping, Sequence

from stevec_report import dependence, limits, processor_time, reference, rows, wording
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Cell, Column, Row, Table, Words, trials_cell
from stevec_report.dependence import Dependence
from stevec_report.experiments import course
from stevec_report.experiments.common import Strip
from stevec_report.experiments.short_link_ways import (
    COMPARED,
    SERVERS,
    Difference,
    Load,
    Way,
    differences_of,
    loads_of,
    title_of,
)
from stevec_report.intervals import Interval
from stevec_report.order_statistics import enough
from stevec_report.outcomes import MeasuredOutcome

LEVELS = (50, 66, 75, 80, 90, 95, 98, 99)  # per cent, as ApacheBench has them; and the longest
STUDY = "3-short-links"
# The study's column of a level; it states no others.
STUDY_COLUMNS = {50: "median_ms", **{level: f"p{level}_ms" for level in LEVELS[1:]}}
STUDY_TESTS = {("read", 5): "GET c=5", ("read", 100): "GET c=100", ("write", 10): "PUT c=10"}
WAY_COLUMNS = (Column("load", "load", "text", left=True), Column("way", "found by", "text", left=True))


def blocks(analysis: Analysis) -> list[Block]:
    """What differs, the percentiles of each load, processor time, and the course of the trials."""
    loads, depending = loads_of(analysis), dependence.run_dependence(analysis)
    differences = differences_of(loads)
    return [
        Words("p", _say(differences)),
        *[_percentile_table(analysis, load, ways, depending) for load, ways in loads.items()],
        _cost_table(loads, depending),
        *_difference_table(differences),
        *course.blocks(
            analysis,
            [
                (title_of(load), [(way.label, [o.number for o in limits.believed(way.trials)]) for way in ways])
                for load, ways in loads.items()
            ],
        ),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses."""
    return None


def strips(analysis: Analysis) -> list[Strip]:
    """One strip for each load."""
    return [
        (title_of(load), ways[0].trials[0].door, [o.number for way in ways for o in way.trials])
        for load, ways in loads_of(analysis).items()
    ]


def _percentile_table(analysis: Analysis, load: Load, ways: Sequence[Way], depending: Dependence) -> Table:
    study = next((row for row in reference.read_related(STUDY) if row["test"] == STUDY_TESTS.get(load)), None)
    keys = {way.label: way.label.replace("-", "_") for way in ways}
    found: list[Row] = [
        {"what": "answered, 1/s", "study": _number(study, "per_s")},
        {"what": "mean", "study": _number(study, "mean_ms")},
        *[{"what": f"{level} %", "study": _number(study, STUDY_COLUMNS[level])} for level in LEVELS],
        {"what": "100 %", "study": _number(study, "max_ms")},
    ]
    for way in ways:
        timed = limits.believed(way.trials)
        values: list[Interval | None] = [depending.mean("answered_per_s", timed), depending.mean("mean_ms", timed)]
        values += _percentiles(analysis, timed, depending)
        for row, value in zip(found, [*values, _longest(timed)], strict=True):
            row[keys[way.label]] = value
    limited = [f"{way.label} by {words}" for way in ways if (words := limits.cell_text(way.trials))]
    return Table(
        f"percentiles-{load[0]}-{load[1]}",
        f"{title_of(load)}: response times as ApacheBench prints them.",
        "Milliseconds but for the first row: so many per cent of the answered requests took no longer. Geometric means "
        f"of the trials' own with their 95 % interval, {depending.words}; 100 % is the longest of all trials. A dash: "
        "too few requests lie beyond. "
        + (f"Limited: {'; '.join(limited)}. " if limited else "")
        + (f"Study: {study['requests']} requests; {study['note'] or 'no more is stated'}." if study else ""),
        [
            Column("what", "", "text", left=True),
            *[Column(keys[way.label], way.label, "interval") for way in ways],
            *([Column("study", "study")] if study else []),
        ],
        found,
    )


def _number(row: Mapping[str, str] | None, column: str) -> float | None:
    return float(row[column]) if row and row[column] else None


def _percentiles(analysis: Analysis, trials: Sequence[MeasuredOutcome], depending: Dependence) -> list[Interval | None]:
    """Of each of LEVELS."""
    shares = ", ".join(str(level / 100) for level in LEVELS)
    sql = f"SELECT quantile_cont(response_ms, [{shares}]) FROM {{samples}} WHERE answered"
    own = {o.number: analysis.samples.query(sql, [o.number])[0][0] for o in trials if o.stats.answered}
    answered = {o.number: o.stats.answered for o in trials}
    return [
        depending.geometric(
            {number: times[at] for number, times in own.items() if enough(answered[number], level / 100)}
        )
        for at, level in enumerate(LEVELS)
    ]


def _longest(trials: Sequence[MeasuredOutcome]) -> Interval | None:
    longest = rows.longest_ms(trials)
    return None if longest is None else Interval(longest, None, None, 1)


def _cost_table(loads: Mapping[Load, Sequence[Way]], depending: Dependence) -> Table:
    kinds = processor_time.KINDS
    found = []
    for load, ways in loads.items():
        for way in ways:
            own = {number: cost for number, cost in way.costs.items() if cost}
            row: Row = {"load": title_of(load), "way": way.label, "trials": trials_cell(own)}
            for kind in kinds:
                # A process that is not there, or did nothing, has no geometric mean.
                used = {number: cost[kind] for number, cost in own.items() if cost[kind] > 0}
                row[f"{kind}_ms"] = depending.geometric(used) if len(used) == len(own) else None
            row["server_ms"] = depending.geometric({n: sum(cost[kind] for kind in SERVERS) for n, cost in own.items()})
            found.append(row)
    return Table(
        "processor-time",
        "Processor time per request.",
        "Milliseconds of processor time of all processes of a kind, whole seconds of load ÷ requests done in them; "
        "redis with its replica and sentinels; a dash: none ran, or the load was too short. Geometric means over "
        "trials with their 95 % interval. Processor time has less of the neighbours' noise in it than response times.",
        [
            *WAY_COLUMNS,
            *[Column(f"{kind}_ms", kind, "interval") for kind in SERVERS],
            Column("server_ms", "together", "interval"),
            Column("nginx_ms", "nginx", "interval", on_page=False),
            TRIALS_COLUMN,
        ],
        found,
    )


def _difference_table(differences: Sequence[Difference]) -> list[Block]:
    if not differences:
        return []
    marks = {"less": "confirmed", "more": "refuted"}
    return [
        Table(
            "differences",
            "Which differences are more than noise.",
            "The ratio to the first way of the load, in the same repetition, with the 95 % interval of its geometric "
            "mean; p of a t test after Holm's correction over all rows. Within noise: these trials do not tell a "
            "difference, which does not mean that there is none.",
            [
                *WAY_COLUMNS,
                Column("base", "against", "text", left=True),
                Column("measure", "per request", "text", left=True),
                Column("ratio", "ratio", "interval"),
                Column("p_holm", "p, Holm", "p"),
                Column("verdict", "", "text", left=True),
            ],
            [
                {
                    "load": title_of(one.load),
                    "way": one.way,
                    "base": one.base,
                    "measure": COMPARED[one.measure],
                    "ratio": one.ratio,
                    "p_holm": one.p,
                    "verdict": Cell(one.verdict, mark=marks.get(one.verdict, "")),
                }
                for one in differences
            ],
        )
    ]


def _say(differences: Sequence[Difference]) -> str:
    if not differences:
        return "There are no two ways to compare under one load."
    beyond = [one for one in differences if one.verdict != "within noise"]
    rest = len(differences) - len(beyond)
    parts = [
        f"{title_of(one.load).lower()}: {one.way} takes {wording.three_digits(one.ratio.centre)} times the "
        f"{COMPARED[one.measure]} that {one.base} takes"
        for one in beyond
    ]
    if not parts:
        return f"None of the {wording.count_of(len(differences), 'comparison')} shows a difference beyond noise."
    sentence = f"Beyond noise: {'; '.join(parts)}."
    within = wording.part_of(rest, len(differences), "comparison")
    return f"{sentence} {within} {wording.is_or_are(rest)} within noise." if rest else sentence
