"""Writes the folder RUN_DIR/report: the page, the tables, the figures. All of it, or nothing."""

import csv
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from stevec_report import page, plot_style, svg, trial_table

FOLDER = "report"
FIGURE_SUFFIXES = (".svg", ".png")


def write_report(analysis):
    """Write the report of `analysis` into its run folder; return the path of its index.html."""
    with _swapped_in(analysis.run.path / FOLDER) as folder:
        figures = _write_figures(analysis, folder / "figures")
        _write_tables(analysis, folder / "tables")
        (folder / "index.html").write_text(page.render(analysis, figures), encoding="utf-8", newline="\n")
    return analysis.run.path / FOLDER / "index.html"


def write_figure(analysis, name, target):
    """Write one figure of `analysis` to the file `target`, as what its suffix says (.svg or .png)."""
    _title, draw = analysis.experiment.FIGURES[name]
    target = Path(target)
    with plot_style.style():
        figure = draw(analysis)
        data = (
            svg.scope(plot_style.to_svg(figure), name.replace(".", "-")).encode()
            if target.suffix == ".svg"
            else plot_style.to_png(figure)
        )
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _write_figures(analysis, folder):
    """Write every figure as SVG and PNG; return {name: SVG text}."""
    folder.mkdir()
    texts = {}
    with plot_style.style():
        for name, (_title, draw) in analysis.experiment.FIGURES.items():
            figure = draw(analysis)
            texts[name] = svg.scope(plot_style.to_svg(figure), name.replace(".", "-"))
            (folder / f"{name}.svg").write_text(texts[name], encoding="utf-8", newline="\n")
            (folder / f"{name}.png").write_bytes(plot_style.to_png(figure))
    return texts


def _write_tables(analysis, folder):
    folder.mkdir()
    tables = {**analysis.experiment.csv_tables(analysis), "trials.csv": trial_table.rows_csv(analysis)}
    for name, (header, rows) in tables.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)


@contextmanager
def _swapped_in(target):
    """Give a new folder beside `target` that takes its place at the end, or is removed on failure."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-new-", dir=target.parent))
    try:
        umask = os.umask(0)
        os.umask(umask)
        fresh.chmod(0o777 & ~umask)  # mkdtemp lets only its owner in, and a report is to be read
        yield fresh
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh, target):
    if not target.exists():
        fresh.rename(target)
        return
    # A folder cannot be renamed onto one that has files: the old one steps aside, and back if the new one did
    # not get in, whatever stopped it.
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    old = aside / target.name
    try:
        target.rename(old)
        fresh.rename(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
