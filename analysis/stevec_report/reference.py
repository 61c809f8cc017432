"""The study's own values, from analysis/reference/*.csv (one value per row; times in milliseconds)."""

import csv
from functools import cache
from pathlib import Path

Series = dict[str, dict[int, float]]
FOLDER = Path(__file__).resolve().parents[1] / "reference"


@cache
def read_rows(table: str) -> tuple[dict[str, str], ...]:
    """Return the rows of one of the study's tables, such as "1.4", as dicts of text."""
    with (FOLDER / f"table-{table}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def read_series(table: str, value_column: str, series: str = "caching", index: str = "repetition") -> Series:
    """Return {series: {index: value}} of one of the study's tables, in the order of the file.

    Args:
        table: such as "1.1".
        value_column: the column with the values, read as numbers.
        series, index: columns that identify a value; `index` is read as a whole number.
    """
    found: Series = {}
    for row in read_rows(table):
        found.setdefault(row[series], {})[int(row[index])] = float(row[value_column])
    return found
