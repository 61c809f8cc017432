"""The table of responses by method and status of every section: what was measured, a page, a redirect, or an error?"""

from collections import Counter
from dataclasses import replace

from stevec_report.analysis import Analysis
from stevec_report.blocks import TRIALS_COLUMN, Block, Column, Table, trials_cell
from stevec_report.outcomes import cell_text, cells
from stevec_report.sample_table import IS_RIGHT


def blocks(analysis: Analysis) -> list[Block]:
    """The table, or nothing if each response of the valid trials was a right one with 2xx."""
    found = []
    is_plain = True
    for cell, members in cells(analysis.valid).items():
        numbers = [o.number for o in members]
        counts: Counter[tuple[str, int, bool]] = Counter()
        for number in numbers:
            for *key, requests in analysis.samples.query(
                f"SELECT method, status, NOT {IS_RIGHT}, count(*) FROM {{samples}} GROUP BY ALL",
                [number],
            ):
                counts[(str(key[0]), int(key[1]), bool(key[2]))] += requests
        is_plain &= all(200 <= status < 300 and not wrong for _, status, wrong in counts)
        sent: Counter[str] = Counter()
        for (method, _, _), requests in counts.items():
            sent[method] += requests
        found += [
            {
                "cell": cell_text(cell),
                "method": method,
                "status": ("no response" if status == 0 else str(status)) + (", not the right one" if wrong else ""),
                "requests": counts[method, status, wrong],
                "share": counts[method, status, wrong] / sent[method],
                "trials": trials_cell(numbers),
            }
            for method, status, wrong in sorted(counts)
        ]
    columns = [
        Column("cell", "cell", "text", left=True),
        Column("method", "method", "text", left=True),
        Column("status", "status", "text", left=True),
        Column("requests", "requests", "count"),
        Column("share", "of the method's", "percent"),
        replace(TRIALS_COLUMN, on_page=False),
    ]
    note = "Requests of the probe in valid trials. Response times elsewhere are of the right ones below 400."
    return [] if is_plain else [Table("statuses", "Responses by method and status.", note, columns, found)]
