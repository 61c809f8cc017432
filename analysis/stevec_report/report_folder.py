"""Writes the folder report/ of a run or study (page, tables, figures), completely or not at all."""

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from matplotlib.figure import Figure as MplFigure

from stevec_report import page, parts, plot_style, prediction, study_report, svg, trust, verdicts
from stevec_report.analysis import analyse
from stevec_report.blocks import Figure, Table
from stevec_report.claims import Claim
from stevec_report.experiments import at_once
from stevec_report.parts import DrawnFigure, Say
from stevec_report.run_folder import Run, RunFolderError
from stevec_report.study_folder import Study, StudyRun
from stevec_report.wording import slug

FOLDER = "report"
FIGURE_SUFFIXES = (".svg", ".png")


def write_report(results: Run | Study, say: Say) -> Path:
    """Write the report of a `Run` or `Study` into its folder; return the path of its index.html."""
    with _swapped_in(results.path / FOLDER) as folder:
        if isinstance(results, Study):
            crowd = _crowd_claim(results)
            built = [_build_study_part(entry, folder, say, crowd) for entry in results.runs]
            decided = verdicts.decide_study({p.name: p.evidence for p in built if p.evidence})
            head: list[Table | DrawnFigure] = [
                study_report.verdict_table(built, decided),
                trust.summary_table(
                    {part.name: part.outcomes for part in built if part.run},
                    {part.name: part.drifting for part in built},
                ),
                study_report.calibration_table(built, results.profile),
                *study_report.joined_tables(built),
                *[
                    parts.draw(figure, "", _picture_writer(folder, ""))
                    for figure in study_report.joined_figures(part.facts for part in built)
                ],
                prediction.summary_table({part.name: part.compared for part in built if part.run}),
            ]
        else:
            built = [_build_part(results, "..", "", folder, say)]
            decided = {p.name: verdicts.decide_one(p.evidence) for p in built if p.evidence}
            head = []
        for block in head:
            if isinstance(block, Table):
                _write_table(folder / "tables", block)
        text = page.render(results, built, decided, head)
        (folder / "index.html").write_text(text, encoding="utf-8", newline="\n")
    return results.path / FOLDER / "index.html"


def write_figure(results: Run | Study, name: str, target: Path) -> None:
    """Write the figure `name` of a run to the file `target` (.svg or .png).

    In a study, `name` is `<experiment>/<figure>`, or the name of a figure that joins two runs. RunFolderError if there
    is no such figure.
    """
    with _found_figure(results, name) as found, plot_style.style():
        figure = found.draw()
        data = (
            svg.scope(plot_style.to_svg(figure), slug(f" {found.name}")).encode()
            if target.suffix == ".svg"
            else plot_style.to_png(figure)
        )
    partial = target.with_name(f".{target.name}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _found_figure(results: Run | Study, name: str) -> Iterator[Figure]:
    """Yield the figure `name` while the samples that it draws are open."""
    if isinstance(results, Study) and name == study_report.JOINED_FIGURE:
        yield _joined_figure(results)
        return
    run, figure_name = _find_run(results, name)
    with closing(analyse(run)) as analysis:
        figures = {block.name: block for block in parts.list_blocks(analysis) if isinstance(block, Figure)}
        if figure_name not in figures:
            raise RunFolderError(
                f"There is no figure {name[:80]!r} in this report. Choose one of: {', '.join(figures)}."
            )
        yield figures[figure_name]


def _joined_figure(study: Study) -> Figure:
    facts = []
    for entry in study.runs:
        if entry.run and entry.experiment in study_report.JOINED:
            with closing(analyse(entry.run)) as analysis:
                facts.append(parts.facts(analysis))
    figures = study_report.joined_figures(facts)
    if not figures:
        needed = " and ".join(study_report.JOINED)
        raise RunFolderError(f"{study_report.JOINED_FIGURE} needs {needed}, and this study lacks one of them.")
    return figures[0]


def _find_run(results: Run | Study, name: str) -> tuple[Run, str]:
    if isinstance(results, Run):
        return results, name
    experiment, _, figure_name = name.partition("/")
    runs = {entry.experiment: entry.run for entry in results.runs if entry.run}
    if experiment not in runs:
        raise RunFolderError(
            f"A study's figure is named {study_report.JOINED_FIGURE} or EXPERIMENT/FIGURE, and {experiment[:60]!r} is "
            f"none of: {', '.join(runs)}."
        )
    return runs[experiment], figure_name


def _crowd_claim(study: Study) -> Claim | None:
    """The claim of the study's `at-once`; None without that run."""
    run = next((entry.run for entry in study.runs if entry.run and entry.experiment in at_once.NAMES), None)
    if run is None:
        return None
    with closing(analyse(run)) as analysis:
        return at_once.wait_claim(analysis)


def _build_study_part(entry: StudyRun, folder: Path, say: Say, crowd: Claim | None) -> parts.Part:
    if entry.run is None:
        say(f"{entry.experiment}: not reported on: {entry.problem}")
        return parts.Part(entry.experiment, f"../{entry.directory}", entry.experiment, problem=entry.problem)
    return _build_part(entry.run, f"../{entry.directory}", entry.experiment, folder, say, crowd)


def _build_part(
    run: Run, directory: str, prefix: str, folder: Path, say: Say, crowd: Claim | None = None
) -> parts.Part:
    part = parts.build(run, directory, prefix, _picture_writer(folder, prefix), say, crowd)
    for block in part.blocks:
        if isinstance(block, Table):
            _write_table(folder / "tables" / prefix, block)
    return part


def _picture_writer(folder: Path, prefix: str) -> parts.WriteFigure:
    def write(name: str, figure: MplFigure) -> str:
        text = plot_style.to_svg(figure)
        own = folder / "figures" / prefix
        own.mkdir(parents=True, exist_ok=True)
        (own / f"{name}.svg").write_text(svg.scope(text, slug(f"{prefix} {name}")), encoding="utf-8", newline="\n")
        (own / f"{name}.png").write_bytes(plot_style.to_png(figure))
        return text

    return write


def _write_table(folder: Path, table: Table) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    header, rows = table.csv()
    with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


@contextmanager
def _swapped_in(target: Path) -> Iterator[Path]:
    """Yield a new folder beside `target` that replaces it at the end, or is removed on failure."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-new-", dir=target.parent))
    try:
        umask = os.umask(0)
        os.umask(umask)
        fresh.chmod(0o777 & ~umask)  # mkdtemp grants access to the owner only, but others may read a report
        yield fresh
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    # A folder cannot be renamed onto one that has files. So the old folder is moved away first, and back if the new
    # one could not take its place for any reason.
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    old = aside / target.name
    try:
        target.rename(old)
        fresh.rename(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
