"""The blocks of a report's section: tables, figures, and paragraphs. Data only; `page.py` renders them as HTML.

Each table is written twice from the same rows: into the page, and as CSV with the bare values.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stevec_report import wording
from stevec_report.intervals import Interval

if TYPE_CHECKING:  # at run time matplotlib takes a second to load, and most users of this module draw nothing
    from matplotlib.figure import Figure as MplFigure

Row = dict[str, Any]  # {key of a column: value or Cell}
CSV_DIGITS = 6
SHOW: dict[str, Callable[[Any, int | None], str]] = {  # the second argument: decimals of the column, if it has some
    "text": lambda value, _: "–" if value is None or value == "" else str(value),
    "number": lambda value, decimals: (
        wording.three_digits(value) if value is None or decimals is None else wording.fixed(value, decimals)
    ),
    "count": lambda value, _: "–" if value is None else wording.grouped(value),
    "percent": wording.percent,
    "interval": wording.interval_text,
    "p": lambda value, _: wording.p_text(value),
}


@dataclass(frozen=True)
class Column:
    """A column: `show` is one of SHOW. Columns of one `group` share a heading; `on_page` is False for one of the CSV
    file only."""

    key: str
    label: str
    show: str = "number"
    group: str = ""
    left: bool = False
    wrap: bool = False
    on_page: bool = True


@dataclass(frozen=True)
class Cell:
    """A value with the trials that it comes from. `text` replaces the column's format.

    `off` says why a value is in no mean (`invalid`, `limited`), '' if it is in one; `mark` is a CSS class such as
    confirmed, `anchor` the id of a section that the cell links to.
    """

    value: Any = None
    text: str | None = None
    trials: tuple[int, ...] = ()
    off: str = ""
    mark: str = ""
    anchor: str = ""


TRIALS_COLUMN = Column("trials", "from trials", "text", left=True)


def trials_cell(numbers: Iterable[int]) -> Cell:
    """The cell that lists the trials that a row's values come from, with a link to each."""
    numbers = tuple(numbers)
    return Cell(" ".join(map(str, numbers)), trials=numbers)


def judged_cell(good: bool, yes: str = "valid", no: str = "invalid") -> Cell:
    """The cell that says `yes` in the colour of what is valid, or `no` in the colour of what is not."""
    return Cell(yes, mark="valid") if good else Cell(no, mark="invalid")


@dataclass(frozen=True)
class Table:
    """Rows are {column key: value or Cell}; `footer` has summary rows, which stay last when the table is sorted.

    `rows_max` limits the rows on the page; the CSV file has all. Where `stacks` is true, the cells of a row are below
    each other on a narrow screen.
    """

    name: str
    title: str
    note: str
    columns: list[Column]
    rows: list[Row]
    footer: list[Row] = field(default_factory=list)
    rows_max: int | None = None
    stacks: bool = False

    @property
    def page_columns(self) -> list[Column]:
        """The columns on the page."""
        return [column for column in self.columns if column.on_page]

    @property
    def page_rows(self) -> list[Row]:
        """The rows on the page, without the footer."""
        return self.rows[: self.rows_max]

    def csv(self) -> tuple[list[str], list[list[Any]]]:
        """Return (header, rows) of bare values; an interval takes three columns."""
        header = []
        for column in self.columns:
            header.append(column.key)
            if column.show == "interval":
                header += [f"{column.key}_low", f"{column.key}_high"]
        return header, [self._csv_row(row) for row in self.rows + self.footer]

    def _csv_row(self, row: Row) -> list[Any]:
        cells = []
        for column in self.columns:
            value = bare(row.get(column.key))
            if column.show == "interval":
                bounds = (value.centre, value.low, value.high) if value else (None, None, None)
                cells += [_csv_value(bound) for bound in bounds]
            else:
                cells.append(_csv_value(value))
        return cells

    def cells(self, row: Row) -> Iterator[tuple[Column, str, Any, Cell]]:
        """Yield (column, text, sort value, Cell) for each column of a row on the page."""
        for column in self.page_columns:
            entry = row.get(column.key)
            cell = entry if isinstance(entry, Cell) else Cell(entry)
            text = SHOW[column.show](cell.value, self._decimals.get(column.key)) if cell.text is None else cell.text
            value = cell.value.centre if isinstance(cell.value, Interval) else cell.value
            yield column, text, "" if value is None else value, cell

    @cached_property
    def _decimals(self) -> dict[str, int | None]:
        """{key of a column: decimals}, so that all numbers of a column have the same."""
        factors = {"number": 1, "interval": 1, "percent": 100}
        return {
            column.key: wording.common_decimals(
                factors[column.show] * value
                for row in self.rows + self.footer
                if (value := _centre(row.get(column.key))) is not None
            )
            for column in self.columns
            if column.show in factors
        }

    def groups(self) -> list[tuple[str, int]]:
        """Return [(group, number of columns)] over adjacent columns of the page, or [] if no column has a group."""
        found: list[tuple[str, int]] = []
        for column in self.page_columns:
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
    draw: "Callable[[], MplFigure]"


@dataclass(frozen=True)
class Words:
    """A paragraph. `kind` is p or note."""

    kind: str
    text: str


Block = Table | Figure | Words


@dataclass(frozen=True)
class Section:
    """Blocks that the page folds together. `name` is part of the section's id."""

    name: str
    title: str
    blocks: Sequence[Any]  # of `Block`, or of what they were drawn as


def bare(entry: Any) -> Any:
    """The value of an entry of a row, whether it is a Cell or not."""
    return entry.value if isinstance(entry, Cell) else entry


def _centre(entry: Any) -> float | None:
    """The number that a cell shows; None if it has a text of its own."""
    if isinstance(entry, Cell) and entry.text is not None:
        return None
    value = bare(entry)
    return value.centre if isinstance(value, Interval) else value


def _csv_value(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return round(value, CSV_DIGITS) if isinstance(value, float) else value
