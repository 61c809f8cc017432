"""The committed study and policy run. The real stack made them, so the tests read what the lab really writes."""

import csv
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from stevec_report import parts, plot_style, prediction, reference, report_folder, study_report
from stevec_report.__main__ import main
from stevec_report.analysis import Analysis
from stevec_report.blocks import Figure
from stevec_report.tolerance import TOLERATED_MS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "results" / "sample"
POLICY = ROOT / "results" / "sample-policy"
PAGE_MAX_BYTES = 1_000_000
RUNS = [*sorted((SAMPLE / "runs").iterdir()), POLICY]
# By number in the study: the experiment that has it ("" for the study's own), and the study's values.
TIMES, LOADED = ("mean_ms",), ("background_rate_per_min", "mean_ms")
STUDY_TABLES = {
    "1.1": ("read-hot/", ("origin_requests",)),
    "1.2": ("read-hot/", TIMES),
    "1.3": ("read-sparse/", ("mean_ms", "cached_requests")),
    "1.4": ("overload/", LOADED),
    "1.5": ("overload/", LOADED),
    "1.6": ("mixed-write/", ("post_requests", "origin_requests")),
    "1.7": ("write-vs-read-direct/", TIMES),
    "1.8": ("write-vs-read-cached/", TIMES),
    "1.9": ("", ("without_cache_mean_ms", "with_cache_mean_ms")),
}
STUDY_FIGURES = {  # the tables that a figure draws
    "1.3": ("read-hot/", ("1.2",)),
    "1.4": ("overload/", ("1.4",)),
    "1.5": ("overload/", ("1.5",)),
    "1.6": ("overload/", ("1.4", "1.5")),
    "1.7": ("write-vs-read-direct/", ("1.7",)),
    "1.8": ("write-vs-read-cached/", ("1.8",)),
    "1.9": ("", ("1.9",)),
}


@pytest.fixture(scope="module", autouse=True)
def read_once(analyse_once, blocks_once):
    """The report and the figures of the samples share what was read of each run; reading takes most of their time."""
    folders = {path.name: path for path in RUNS}
    with pytest.MonkeyPatch.context() as patch:
        for module in (parts, report_folder):
            patch.setattr(module, "analyse", lambda run: analyse_once(folders[run.path.name]))
        patch.setattr(parts, "list_blocks", lambda analysis: blocks_once(folders[analysis.run.path.name]))
        patch.setattr(Analysis, "close", lambda analysis: None)
        yield


@pytest.fixture(scope="module")
def reported_sample(tmp_path_factory):
    """The folder of the sample's report, with empty PNG files."""
    study = tmp_path_factory.mktemp("results") / SAMPLE.name
    shutil.copytree(SAMPLE, study, ignore=shutil.ignore_patterns("report"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plot_style, "to_png", lambda figure: b"")
        assert main([str(study)]) == 0
    return study / "report"


def test_the_page_of_the_sample_is_at_most_a_megabyte(reported_sample):
    assert (reported_sample / "index.html").stat().st_size <= PAGE_MAX_BYTES


def test_the_sample_decides_all_six_hypotheses(reported_sample):
    with (reported_sample / "tables/hypotheses.csv").open(newline="") as file:
        verdicts = {row["id"]: row["verdict"] for row in csv.DictReader(file)}
    assert set(verdicts) == {f"E{number}" for number in range(1, 7)}
    assert set(verdicts.values()) <= {"confirmed", "refuted"}


def study_values(table, columns):
    """Without zeros: what no cache can have served is not shown."""
    return {float(row[column]) for row in reference.read_rows(table) for column in columns} - {0.0}


def drawn_values(axes):
    """The coordinates of lines and dots, without the line of the tolerated time and the marks of the legend."""
    lines = [np.asarray(line.get_xydata(), dtype=float).ravel() for line in axes.lines]
    dots = [np.ma.filled(collection.get_offsets(), np.nan).ravel() for collection in axes.collections]
    values = np.concatenate([*lines, *dots])
    return {*values[np.isfinite(values)].tolist()} - {TOLERATED_MS}


@pytest.mark.parametrize(("number", "where", "columns"), [(n, *rest) for n, rest in STUDY_TABLES.items()])
def test_each_table_of_the_study_has_its_number_and_both_sides(reported_sample, number, where, columns):
    assert f"<b>Table {number}. " in (reported_sample / "index.html").read_text(encoding="utf-8")
    with (reported_sample / f"tables/{where}table-{number}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    theirs = {float(row[key]) for row in rows for key in row if key.startswith("study_") and row[key]}
    assert study_values(number, columns) <= theirs
    ours = [key for key in rows[0] if not key.startswith("study_")][1:]
    assert any(row[key] for row in rows for key in ours)


@pytest.mark.parametrize(("number", "where", "tables"), [(n, *rest) for n, rest in STUDY_FIGURES.items()])
def test_each_figure_of_the_study_has_its_number_and_both_sides(
    analyse_once, blocks_once, reported_sample, number, where, tables
):
    assert (reported_sample / f"figures/{where}figure-{number}.svg").stat().st_size > 0
    assert f"<figcaption>Figure {number}. " in (reported_sample / "index.html").read_text(encoding="utf-8")
    if where:
        blocks = blocks_once(SAMPLE / "runs" / where.strip("/"))
    else:
        blocks = study_report.joined_figures(
            parts.facts(analyse_once(SAMPLE / "runs" / name)) for name in study_report.JOINED
        )
    (figure,) = (block for block in blocks if isinstance(block, Figure) and block.name == f"figure-{number}")
    with plot_style.style():
        above, below, *_ = figure.draw().axes
    columns = STUDY_TABLES["1.9"][1] if number == "1.9" else TIMES
    wanted = set().union(*(study_values(table, columns) for table in tables))
    assert wanted <= drawn_values(above)
    assert drawn_values(below)


def test_no_figure_has_a_number_that_the_study_gives_to_another(reported_sample):
    found = {path.stem for path in (reported_sample / "figures").rglob("figure-*.svg")}
    assert found == {f"figure-{number}" for number in STUDY_FIGURES}
    page = (reported_sample / "index.html").read_text(encoding="utf-8")
    assert sorted(re.findall(r"<figcaption>Figure (\d\.\d)\.", page)) == sorted(STUDY_FIGURES)


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_law_of_the_counter_holds_in_every_trial(analyse_once, run):
    read = analyse_once(run)
    assert read.law.holds
    assert read.law.trials == read.run.manifest["trials_planned"] > 0
    assert [o.reasons for o in read.outcomes if not o.valid] == []


@pytest.mark.parametrize(
    ("sample", "figure", "name"),
    [
        (SAMPLE, "read-hot/figure-1.3", "figure-1.3"),
        (SAMPLE, "overload/figure-1.6", "figure-1.6"),
        (SAMPLE, "mixed-write/hit-ratio-by-size", "hit-ratio-by-size"),
        (SAMPLE, "figure-1.9", "figure-1.9"),
        (POLICY, "freshness-offload", "policy"),
    ],
)
def test_pictures_of_the_docs_are_those_that_the_sample_gives(tmp_path, sample, figure, name):
    drawn = tmp_path / "drawn.svg"
    assert main([str(sample), "--figure", figure, "--output", str(drawn)]) == 0
    committed = ROOT / "docs" / "figures" / f"{name}.svg"
    assert drawn.read_bytes() == committed.read_bytes(), "run `make figures`"


def test_the_architecture_of_the_docs_is_the_one_that_is_drawn(tmp_path):
    drawn = tmp_path / "drawn.svg"
    subprocess.run([sys.executable, ROOT / "analysis/diagrams/architecture.py", "--output", drawn], check=True)
    committed = ROOT / "docs/figures/architecture.svg"
    assert drawn.read_bytes() == committed.read_bytes(), "run `make figures`"


def test_nineteen_trials_of_twenty_are_where_the_models_say(analyse_once):
    of_run = {
        name: prediction.compare_cells(analyse_once(SAMPLE / "runs" / name))
        for name in ("mixed-write", "overload", "read-sparse", "at-once")
    }
    compared = list(itertools.chain.from_iterable(of_run.values()))
    # Under the heaviest loads the origin takes longer than collapsed requests wait for each other, or than nginx waits.
    without = {name: [one for one in cells if one.missing] for name, cells in of_run.items()}
    assert without["mixed-write"] == without["read-sparse"] == []
    assert all(dict(one.cell)["background_vus"] in ("100", "250") for one in without["overload"])
    for one in itertools.chain.from_iterable(without.values()):
        assert "took longer than 5 s" in one.missing or "of the requests failed" in one.missing
    cached = [one for one in compared if one.trials and one.trials[0].predicted.hit_ratio.high > 0]
    for ratio, cells, points in (("hit", cached, 1.2), ("stale", [one for one in cached if one.gaps("stale")], 2.1)):
        trials = sum(len(one.gaps(ratio)) for one in cells)
        assert trials >= 8
        assert sum(one.inside(ratio) for one in cells) >= 0.85 * trials
        for one in cells:
            # By chance alone, the mean of n trials differs 1/√n times as much as one trial.
            intervals = [getattr(trial.predicted, f"{ratio}_ratio") for trial in one.trials]
            chance = max(interval.high - interval.low for interval in intervals) / 2 / len(intervals) ** 0.5
            assert abs(sum(one.gaps(ratio)) / len(one.gaps(ratio))) < max(points / 100, chance)
