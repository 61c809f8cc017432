"""People beside crawlers: what they wait with and without a sweep, per trial, and what the sweep got."""

from collections.abc import Sequence

from matplotlib.figure import Figure as MplFigure

from stevec_report import rows
from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Figure, Row, Table, Words, trials_cell
from stevec_report.experiments import by_method
from stevec_report.figures import beside_crawlers
from stevec_report.figures.beside_crawlers import Trial
from stevec_report.outcomes import MeasuredOutcome
from stevec_report.wording import count_of, three_digits

STATUSES = ("200", "429", "503")


def blocks(analysis: Analysis) -> list[Block]:
    """What the sweep was and got, the picture, and people's times by method."""
    swept = [o for o in analysis.valid if o.record.crawl]
    if not swept:
        return by_method.blocks(analysis)
    return [
        Words("p", say(swept)),
        sweep_table(swept),
        Figure(
            "beside-crawlers",
            "What people wait, and what crawlers get",
            "From above: the 99th percentile of views and the 95th of saves, in each trial with its 95 % interval "
            "(from order statistics), and the share of the sweep by status. A trial has too few saves for their 99th; "
            "one with fewer than 200 saves has no mark for them, and one with fewer than 1000 views none for views.",
            lambda: draw(analysis),
        ),
        *by_method.blocks(analysis),
    ]


def evidence(analysis: Analysis) -> None:
    """Not one of the study's hypotheses; `expectations.py` decides what the experiment expects."""
    return None


def say(swept: Sequence[MeasuredOutcome]) -> str:
    """How many times the capacity the sweeps were, and what most of their requests got."""
    facts = [o.record.crawl for o in swept if o.record.crawl]
    ratios = sorted(one.sent_times_capacity for one in facts)
    span = " to ".join(dict.fromkeys(three_digits(ratio) for ratio in (ratios[0], ratios[-1])))
    requests = sum(one.requests for one in facts)
    shown = sum(one.statuses.get("200", 0) for one in facts)
    share = f", of which {three_digits(100 * shown / requests)} % were shown" if requests else ""
    return (
        f"In {count_of(len(swept), 'trial')}, crawlers asked for {span} times the old texts that the wiki can "
        f"show{share}."
    )


def sweep_table(swept: Sequence[MeasuredOutcome]) -> Table:
    """A row for each trial beside crawlers."""
    columns = [
        Column("repetition", "repetition", "count"),
        Column("capacity_per_s", "wiki can show, 1/s"),
        Column("asked_per_s", "to send, 1/s"),
        Column("sent_per_s", "sent, 1/s"),
        Column("times", "times the capacity"),
        *[Column(f"status_{status}", status, "count") for status in STATUSES],
        Column("others", "other", "count"),
        rows.LIMITED,
        TRIALS_COLUMN,
    ]
    return Table(
        "sweep",
        "What crawlers asked for, and got.",
        "Requests of crawlers in the edge’s log, by status. A 503 is of nginx, or of the wiki’s full queue. The "
        "capacity is measured once, at the run’s start, with eight requests at a time and no people. Where k6 sent "
        "less than 95 % of the sweep, the load generator limited the trial.",
        columns,
        [_row(o) for o in sorted(swept, key=lambda o: o.block)],
    )


def _row(outcome: MeasuredOutcome) -> Row:
    crawl = outcome.record.crawl
    if crawl is None:
        return {}
    return {
        "repetition": outcome.repetition,
        "capacity_per_s": crawl.capacity_per_s,
        "asked_per_s": crawl.asked_per_s,
        "sent_per_s": crawl.sent_per_s,
        "times": crawl.sent_times_capacity,
        **{f"status_{status}": crawl.statuses.get(status, 0) for status in STATUSES},
        "others": crawl.others(STATUSES),
        "limited_by": rows.limited_by([outcome]),
        "trials": trials_cell([outcome.number]),
    }


def draw(analysis: Analysis) -> MplFigure:
    """The picture of all valid trials."""
    return beside_crawlers.draw([_trial(o) for o in sorted(analysis.valid, key=lambda o: o.block)])


def _trial(outcome: MeasuredOutcome) -> Trial:
    crawl = outcome.record.crawl
    got = None
    if crawl is not None:
        got = {status: crawl.statuses.get(status, 0) for status in STATUSES} | {"other": crawl.others(STATUSES)}
    return Trial(outcome.number, outcome.stats.read_p99, outcome.stats.write_p95, got, outcome.limited_by)
