"""R2, origins: one wiki, or several behind a load balancer, beside the figures of a related study."""

from stevec_report import reference
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Column, Table
from stevec_report.experiments import by_method, by_wikis
from stevec_report.origin import without_capacity

DATABASES = {"first": "its first database", "tuned": "another database, tuned"}


def blocks(analysis: Analysis) -> list[Block]:
    """Throughput by the number of wikis, times and failures by method, and the related study's tables."""
    if analysis.run.origin.emulated:
        return [without_capacity("What several wikis answer")]
    return [
        *by_wikis.say(analysis),
        by_wikis.figure(analysis),
        *by_wikis.tables(analysis, "origins", "Requests a second, by the number of wikis."),
        _related_origins(),
        *by_method.blocks(analysis),
        _related_latency(),
    ]


def evidence(analysis: Analysis) -> None:
    """None of the study's hypotheses; `expectations.py` decides what the experiment states."""
    return None


def _related_origins() -> Table:
    columns = [
        Column("servers", "servers", "count"),
        Column("database", "database", "text", left=True),
        Column("groups", "groups", "count"),
        Column("wall_s", "wall, s", "count"),
        Column("throughput_per_s", "throughput, 1/s", "count"),
        Column("note", "remark", "text", left=True, wrap=True),
    ]
    numbers = ("servers", "groups", "wall_s", "throughput_per_s")
    rows = [
        {**row, "database": DATABASES[row["database"]]} | {name: int(row[name]) for name in numbers}
        for row in reference.read_related("2-origins")
    ]
    return Table(
        "related-origins",
        "The related study: its throughput.",
        "Groups of 10 threads, each 1000 times a POST of an album with a picture of 67 bytes and its GET; one server, "
        "or two behind a load balancer that asks for health every 30 s. Its throughput at 30 groups is planned ÷ wall; "
        "with two servers, successes alone give 2310/s. The delay between its groups is not stated. Each server was a "
        "machine; our wikis are as fast as their share of a core, so ratios compare, and rates do not.",
        columns,
        rows,
    )


def _related_latency() -> Table:
    columns = [
        Column("servers", "servers", "count"),
        Column("groups", "groups", "count"),
        Column("method", "method", "text", left=True),
        Column("planned", "planned", "count"),
        Column("succeeded", "succeeded", "count"),
        Column("failed", "failed", "count"),
        *[Column(name, label) for name, label in (("mean_ms", "mean, ms"), ("median_ms", "median"), ("p99_ms", "p99"))],
        Column("min_ms", "min"),
        Column("max_ms", "max"),
    ]
    rows = []
    for row in reference.read_related("2-latency"):
        counts = {name: int(row[name]) for name in ("servers", "groups", "planned", "succeeded")}
        times = {name: float(row[name]) for name in by_method.TIMES}
        rows.append({**counts, **times, "method": row["method"], "failed": counts["planned"] - counts["succeeded"]})
    return Table(
        "related-latency",
        "The related study: its response times by method.",
        "It reports “failed: 0”. Failed here are planned − succeeded, by its own counts.",
        columns,
        rows,
    )
