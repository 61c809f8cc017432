"""The blocks of a report's section: tables, figures, and paragraphs. Data only; `page.py` renders them as HTML.

Each table is written twice from the same rows: into the page, and as CSV with the bare values.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from stevec_report import wording
from stevec_report.intervals import Interval

CSV_DIGITS = 6
SHOW = {
    "text": lambda value: "–" if value is None or value == "" else str(value),
    "number": wording.three_digits,
    "count": lambda value: "–" if value is None else wording.grouped(value),
    "percent": wording.percent,
    "interval": wording.interval_text,
    "p": wording.p_text,
}


@dataclass(frozen=True)
class Column:
    """A column: `show` is one of SHOW. Columns of one `group` share a heading."""

    key: str
    label: str
    show: str = "number"
    group: str = ""
    left: bool = False
    wrap: bool = False


@dataclass(frozen=True)
class Cell:
    """A value with the trials that it comes from. `text` replaces the column's format.

    `off` marks a value of an invalid trial, `mark` is a CSS class such as confirmed,
    `anchor` the id of a section that the cell links to.
    """

    value: object = None
    text: str | None = None
    trials: tuple[int, ...] = ()
    off: bool = False
    mark: str = ""
    anchor: str = ""


TRIALS_COLUMN = Column("trials", "from trials", "text", left=True)


def trials_cell(numbers):
    """The cell that lists the trials that a row's values come from, with a link to each."""
    return Cell(" ".join(map(str, numbers)), trials=tuple(numbers))


@dataclass(frozen=True)
class Table:
    """Rows are {column key: value or Cell}; `footer` has summary rows, which stay last when the table is sorted."""

    name: str
    title: str
    note: str
    columns: list[Column]
    rows: list[dict]
    footer: list[dict] = field(default_factory=list)

    def csv(self):
        """Return (header, rows) of bare values; an interval takes three columns."""
        header = []
        for column in self.columns:
            header.append(column.key)
            if column.show == "interval":
                header += [f"{column.key}_low", f"{column.key}_high"]
        return header, [self._csv_row(row) for row in self.rows + self.footer]

    def _csv_row(self, row):
        cells = []
        for column in self.columns:
            value = bare(row.get(column.key))
            if column.show == "interval":
                bounds = (value.centre, value.low, value.high) if value else (None, None, None)
                cells += [_csv_value(bound) for bound in bounds]
            else:
                cells.append(_csv_value(value))
        return cells

    def cells(self, row):
        """Yield (column, text, sort value, Cell) for each column of a row."""
        for column in self.columns:
            entry = row.get(column.key)
            cell = entry if isinstance(entry, Cell) else Cell(entry)
            text = SHOW[column.show](cell.value) if cell.text is None else cell.text
            value = cell.value.centre if isinstance(cell.value, Interval) else cell.value
            yield column, text, "" if value is None else value, cell

    def groups(self):
        """Return [(group, number of columns)] over adjacent columns, or [] if no column has a group."""
        found = []
        for column in self.columns:
            if found and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return found if any(group for group, _ in found) else []


@dataclass(frozen=True)
class Figure:
    """A figure: `draw()` returns a matplotlib figure and is called while the samples are open."""

    name: str
    title: str
    caption: str
    draw: Callable


@dataclass(frozen=True)
class Words:
    """Paragraphs. `kind` is p, note, or heading."""

    kind: str
    text: str


def bare(entry):
    """The value of an entry of a row, whether it is a Cell or not."""
    return entry.value if isinstance(entry, Cell) else entry


def _csv_value(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return round(value, CSV_DIGITS) if isinstance(value, float) else value
