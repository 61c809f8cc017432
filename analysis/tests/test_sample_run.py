"""The committed study and policy run. The real stack made them, so the tests read what the lab really writes."""

import subprocess
import sys
from pathlib import Path

import pytest

from stevec_report import prediction
from stevec_report.__main__ import main
from stevec_report.analysis import analyse
from stevec_report.run_folder import read_run

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "results" / "sample"
POLICY = ROOT / "results" / "sample-policy"
RUNS = [*sorted((SAMPLE / "runs").iterdir()), POLICY]


@pytest.fixture(scope="module")
def analyse_once():
    """A function from the folder of a run to its analysis, read once for all tests here."""
    opened = {}

    def analyse_and_remember(run):
        if run not in opened:
            opened[run] = analyse(read_run(run))
        return opened[run]

    yield analyse_and_remember
    for analysis in opened.values():
        analysis.close()


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
    compared = [
        one
        for name in ("mixed-write", "overload", "read-sparse", "at-once")
        for one in prediction.compare_cells(analyse_once(SAMPLE / "runs" / name))
    ]
    assert {one.missing for one in compared} == {""}
    cached = [one for one in compared if one.trials[0].predicted.hit_ratio.high > 0]
    for ratio, cells, points in (("hit", cached, 1.2), ("stale", [one for one in cached if one.gaps("stale")], 2.1)):
        trials = sum(len(one.gaps(ratio)) for one in cells)
        assert trials >= 8
        assert sum(one.inside(ratio) for one in cells) >= 0.85 * trials
        for one in cells:
            assert abs(sum(one.gaps(ratio)) / len(one.gaps(ratio))) < points / 100
