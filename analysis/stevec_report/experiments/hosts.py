"""R3, hosts: reads and writes a second against the number of wikis, beside the figures of a related study."""

from stevec_report import reference
from stevec_report.analysis import Analysis
from stevec_report.blocks import Block, Column, Table
from stevec_report.experiments import by_method, by_wikis
from stevec_report.origin import without_capacity


def blocks(analysis: Analysis) -> list[Block]:
    """Reads and writes a second by the number of wikis, times and failures by method, the related study's figures."""
    if analysis.run.origin.emulated:
        return [without_capacity("What several wikis answer")]
    return [
        *by_wikis.say(analysis),
        by_wikis.figure(analysis, apart=True),
        *by_wikis.tables(analysis, "hosts", "Reads and writes a second, by the number of wikis."),
        _related(),
        *by_method.blocks(analysis),
    ]


def evidence(analysis: Analysis) -> None:
    """None of the study's hypotheses; `expectations.py` decides what the experiment states."""
    return None


def _related() -> Table:
    columns = [
        Column("hosts", "hosts", "count"),
        Column("reads_per_s", "reads, 1/s", "count"),
        Column("writes_per_s", "writes, 1/s", "count"),
    ]
    rows = [{name: int(value) for name, value in row.items()} for row in reference.read_related("3-hosts")]
    return Table(
        "related-hosts",
        "The related study: a shortener of addresses on several hosts.",
        "Each host added an application and a node of the database, of which each keeps 2/n of the data; ours share "
        "one database. All its writes had one key, and no answer of its long run of reads was 2xx, so its "
        "rates do not measure what they seem to.",
        columns,
        rows,
    )
