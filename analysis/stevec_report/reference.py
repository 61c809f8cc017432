"""The study's own values, from analysis/reference/table-*.csv (one value per row; times in milliseconds), and those of
related studies, from related-*.csv (one row for each of their settings)."""

import csv
from functools import cache
from pathlib import Path

Series = dict[str, dict[int, float]]
FOLDER = Path(__file__).resolve().parents[1] / "reference"


@cache
def read_rows(table: str) -> tuple[dict[str, str], ...]:
    """Return the rows of one of the study's tables, such as "1.4", as dicts of text."""
    return _read(f"table-{table}.csv")


@cache
def read_related(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a table of a related study, such as "2-origins", as dicts of text."""
    return _read(f"related-{name}.csv")


def _read(name: str) -> tuple[dict[str, str], ...]:
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
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
