"""Tables of the study's values beside this run's, and the differences in settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stevec_report.analysis import Analysis
from stevec_report.averages import mean
from stevec_report.blocks import Cell, Column, Row, Table
from stevec_report.levels import level_text
from stevec_report.measures import MEASURES, judged
from stevec_report.outcomes import MeasuredOutcome, Outcome, valid_of
from stevec_report.wording import count_of, three_digits

MEAN_ROW = "The last row is the arithmetic mean, as in the study; limited trials are not in it."


def by_repetition(
    name: str,
    title: str,
    note: str,
    study: Mapping[str, Mapping[int, float]],
    ours: Mapping[str, Sequence[Outcome]],
    measure: str,
    show: str = "number",
    study_show: str = "number",
) -> Table:
    """A table with one row per repetition.

    Args:
        study: {label: {repetition: value}}. ours: {label: outcomes, invalid ones too}.
        measure: one of `measures.MEASURES`. The last row is the mean of the trials that may enter a verdict on it.
    """
    columns = [Column("repetition", "rep.", "text")]
    columns += [Column(f"study_{key(label)}", label, study_show, "the study") for label in study]
    columns += [Column(f"run_{key(label)}", label, show, "this run") for label in ours]
    last = max(
        [r for values in study.values() for r in values]
        + [o.repetition for outcomes in ours.values() for o in outcomes if o.repetition is not None],
        default=0,
    )
    rows = []
    for repetition in range(1, last + 1):
        row: Row = {"repetition": repetition}
        row |= {f"study_{key(label)}": values.get(repetition) for label, values in study.items()}
        for label, outcomes in ours.items():
            outcome = next((o for o in outcomes if o.repetition == repetition), None)
            row[f"run_{key(label)}"] = of_trial(outcome, measure)
        rows.append(row)
    means: Row = {"repetition": "mean"}
    means |= {f"study_{key(label)}": _study_mean_cell(values.values()) for label, values in study.items()}
    for label, outcomes in ours.items():
        means[f"run_{key(label)}"] = _mean_cell(MEASURES[measure].of(o) for o in judged(measure, valid_of(outcomes)))
    return Table(name, title, note, columns, rows, [means])


def beside_each_other(left: Table, right: Table) -> Table:
    """The table `left` of `by_repetition` with the columns of `right`, another one over some of the same outcomes."""
    groups = ("", *dict.fromkeys(column.group for column in left.columns if column.group))
    columns = [c for group in groups for c in left.columns + right.columns[1:] if c.group == group]
    more = {row["repetition"]: row for row in right.rows + right.footer}
    rows, footer = ([row | more.get(row["repetition"], {}) for row in own] for own in (left.rows, left.footer))
    return replace(left, columns=columns, rows=rows, footer=footer)


def of_trial(outcome: Outcome | None, measure: str) -> Cell | None:
    """The value of one trial as a cell that links to the trial, and says why the value is in no mean."""
    if outcome is None:
        return None
    found = MEASURES[measure].of(outcome) if isinstance(outcome, MeasuredOutcome) else None
    text = "unreadable" if found is None and not outcome.valid else None
    off = "invalid" if not outcome.valid else "limited" if MEASURES[measure].is_time and outcome.limited else ""
    return Cell(found, text=text, trials=(outcome.number,), off=off)


def key(label: str) -> str:
    """A label as part of a column's name."""
    return "".join(c if c.isalnum() else "_" for c in label.lower()).strip("_")


def deviations(analysis: Analysis, study: dict[str, Any]) -> list[str]:
    """Return texts on the settings in which this run differs from the study's.

    Args:
        study: {setting: value}, or {setting: (values)} where the study varied it; `repetitions` is not a setting.
    """
    texts = []
    for setting, wanted in study.items():
        if setting == "repetitions":
            repetitions = {o.repetition for o in analysis.outcomes if o.record}
            if len(repetitions) != wanted:
                texts.append(f"{count_of(len(repetitions), 'repetition')} (the study: {wanted})")
            continue
        wanted = [level_text(v) for v in (wanted if isinstance(wanted, tuple) else (wanted,))]
        found = [level_text(value) for value in analysis.levels(setting)]
        if set(found) != set(wanted):
            texts.append(f"{setting} {_short(found)} (the study: {_short(wanted)})")
    return texts


def _short(values: list[str]) -> str:
    shown = values if len(values) <= 6 else [*values[:3], "…", values[-1]]
    return ", ".join(str(value) for value in shown)


def _mean_cell(values: Iterable[float | None]) -> Cell:
    """The arithmetic mean, as in the study, with three digits even where the values are counts."""
    centre = mean(values)
    return Cell(centre, text=three_digits(centre))


def _study_mean_cell(values: Iterable[float]) -> Cell:
    """The same of the study's values, with up to two decimals, as the study prints it."""
    centre = mean(values)
    return Cell(centre, text=None if centre is None else f"{centre:.2f}".rstrip("0").rstrip("."))


def run_label(analysis: Analysis) -> str:
    """`This run: read-hot, 2026`."""
    started_at = analysis.run.manifest.get("started_at")
    if isinstance(started_at, str) and started_at[:4].isdecimal():
        return f"This run: {analysis.name}, {started_at[:4]}"
    return "This run"
