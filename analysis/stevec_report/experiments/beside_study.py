"""Tables of the study's values beside this run's, and the differences in settings."""

import statistics

from stevec_report.blocks import Cell, Column, Table
from stevec_report.run_folder import level_text
from stevec_report.wording import three_digits


def by_repetition(name, title, note, study, ours, value, show="number", study_show="number"):
    """A table with one row per repetition.

    Args:
        study: {label: {repetition: value}}. ours: {label: outcomes, invalid ones too}.
        value: function of an outcome; returns None where the outcome lacks the data for it.
    """
    columns = [Column("repetition", "rep.", "text")]
    columns += [Column(f"study_{key(label)}", label, study_show, "the study") for label in study]
    columns += [Column(f"run_{key(label)}", label, show, "this run") for label in ours]
    last = max(
        [r for values in study.values() for r in values]
        + [o.repetition for outcomes in ours.values() for o in outcomes],
        default=0,
    )
    rows = []
    for repetition in range(1, last + 1):
        row = {"repetition": repetition}
        row |= {f"study_{key(label)}": values.get(repetition) for label, values in study.items()}
        for label, outcomes in ours.items():
            outcome = next((o for o in outcomes if o.repetition == repetition), None)
            row[f"run_{key(label)}"] = of_trial(outcome, value)
        rows.append(row)
    means = {"repetition": "mean"}
    means |= {f"study_{key(label)}": _mean_cell(values.values()) for label, values in study.items()}
    for label, outcomes in ours.items():
        means[f"run_{key(label)}"] = _mean_cell([value(o) for o in outcomes if o.valid and o.stats])
    return Table(name, title, note, columns, rows, [means])


def of_trial(outcome, value):
    """The value of one trial as a cell that links to the trial and is marked if the trial is invalid."""
    if outcome is None:
        return None
    found = value(outcome) if outcome.stats else None
    text = "unreadable" if found is None and not outcome.valid else None
    return Cell(found, text=text, trials=(outcome.number,), off=not outcome.valid)


def key(label):
    """A label as part of a column's name."""
    return "".join(c if c.isalnum() else "_" for c in label.lower()).strip("_")


def deviations(analysis, study):
    """Return texts on the settings in which this run differs from the study's.

    Args:
        study: {setting: value}, or {setting: (values)} where the study varied it; `repetitions` is not a setting.
    """
    texts = []
    for setting, wanted in study.items():
        if setting == "repetitions":
            found = {o.repetition for o in analysis.outcomes if o.record}
            if len(found) != wanted:
                texts.append(f"{len(found)} repetitions (the study: {wanted})")
            continue
        wanted = [level_text(v) for v in (wanted if isinstance(wanted, tuple) else (wanted,))]
        found = [level_text(value) for value in analysis.levels(setting)]
        if set(found) != set(wanted):
            texts.append(f"{setting} {_short(found)} (the study: {_short(wanted)})")
    return texts


def _short(values):
    shown = values if len(values) <= 6 else [*values[:3], "…", values[-1]]
    return ", ".join(str(value) for value in shown)


def _mean_cell(values):
    """The arithmetic mean, as in the study, with three digits even where the values are counts."""
    values = [value for value in values if value is not None]
    mean = statistics.fmean(values) if values else None
    return Cell(mean, text=three_digits(mean))


def run_label(analysis):
    """`This run: read-hot, 2026`."""
    started_at = analysis.run.manifest.get("started_at")
    dated = isinstance(started_at, str) and started_at[:4].isdecimal()
    return f"This run: {analysis.name}, {started_at[:4]}" if dated else "This run"
