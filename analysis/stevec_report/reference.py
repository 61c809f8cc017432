"""The study's own values, from analysis/reference/*.csv (one value a row; times in milliseconds)."""

import csv
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "reference"


def read_series(table, value_column):
    """Return {caching: {repetition: value}} of one of the study's tables, in the order of the file.

    Args:
        table: such as "1.1".
        value_column: the column with the values, read as numbers.
    """
    series = {}
    with (FOLDER / f"table-{table}.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            series.setdefault(row["caching"], {})[int(row["repetition"])] = float(row[value_column])
    return series
