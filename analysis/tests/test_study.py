"""The report of a whole study: a verdict and a section for each experiment, also if one run is broken."""

import csv
import json
import re
import shutil

import pytest
from run_folder_fixture import EXPERIMENTS, build_study_folder, edit_json
from test_report import Page

from stevec_report.__main__ import main
from stevec_report.run_folder import RunFolderError
from stevec_report.study_folder import read_results

SMALL = ("read-hot", "read-sparse", "write-vs-read-direct")
CALIBRATED = {
    "name": "banana-pi",
    "sha256": "sha256:00",
    "asked": {"cpu": 0.2},
    "applied": {"cpu": True, "memory": False, "links": True},
    "missing": ["The memory of the stack is not held to 1 GB: no memory cgroup."],
    "calibration": {"experiment": "E1", "run": "20261121T090000Z-read-hot-abc1234", "fitted": {"cpu": 0.2}},
}


def read_page(folder):
    return Page((folder / "report/index.html").read_text(encoding="utf-8"))


def read_table(folder, name):
    with (folder / f"report/tables/{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_experiment_has_its_section(reported_study):
    found = read_page(reported_study)
    text = found.text
    assert text.index("Of six hypotheses: ") < text.index("Calibration and prediction.") < text.index("Table 1.1.")
    for name in EXPERIMENTS:
        assert name in found.ids
    tables = {f"1.{n}" for n in range(1, 10)}
    assert tables <= set(re.findall(r"Table (1\.\d)\.", text))
    figures = {path.stem for path in (reported_study / "report/figures").glob("*/*.svg")}
    assert {f"figure-1.{n}" for n in range(3, 9)} <= figures
    assert (reported_study / "report/figures/figure-1.9.svg").exists()
    assert {
        "sparse-read-times",
        "hit-ratio-by-size",
        "saturation",
        "saturation-open",
        "hits-over-time",
        "response-times",
        "drift",
    } <= figures


def test_every_section_stands_in_one_page(reported_study):
    found = read_page(reported_study)
    assert len(found.ids) == len(set(found.ids))
    assert set(found.tags) & {"link", "img", "iframe", "object"} == set()
    for reference in found.references:
        if reference.startswith("#"):
            assert reference[1:] in found.ids
        else:
            assert (reported_study / "report" / reference).exists(), reference


def test_all_six_have_a_verdict(reported_study):
    rows = read_table(reported_study, "hypotheses")
    assert [row["id"] for row in rows] == ["E1", "E2", "E3", "E4", "E5", "E6"]
    assert {row["verdict"] for row in rows} <= {"confirmed", "refuted", "undecided"}
    for row in rows:
        assert float(row["p_holm"]) >= float(row["p"])
        assert float(row["effect_low"]) < float(row["effect"]) < float(row["effect_high"])
        assert float(row["study_effect"]) > 0
    by_id = {row["id"]: row for row in rows}
    assert float(by_id["E1"]["study_effect"]) == pytest.approx(33.625 / 75.625, abs=1e-5)
    assert "12.8" in by_id["E3"]["study"]
    assert "5 blocks cannot decide" in by_id["E5"]["why"]


def test_the_law_is_told_of_each_run(reported_study):
    text = read_page(reported_study).text
    assert text.count("The law of the counter holds in all") == len(EXPERIMENTS)


def test_what_e4_saw_is_taken_apart(reported_study):
    rows = read_table(reported_study, "mixed-write/table-1.6-origin")
    assert len(rows) == 4  # 2 sizes, 2 repetitions
    for row in rows:
        parts = sum(int(row[name]) for name in ("writes", "expiry", "more_than_twin"))
        assert parts == int(row["origin_requests"])
        assert row["hits_samples"] == row["hits_counter"] == row["hits_log"]
    models = read_table(reported_study, "mixed-write/table-1.6-model")
    assert len(models) == 4
    for row in models:
        # The toy cache expires to the microsecond, so the replay must be exact, and the model close.
        assert row["replayed"] == row["misses"]
        assert float(row["model_misses"]) == pytest.approx(int(row["misses"]), rel=0.1)
        assert row["inside"] == "inside"


def test_both_readings_of_the_hit_ratio(reported_study):
    rows = [row for row in read_table(reported_study, "mixed-write/table-1.6") if row["iterations"]]
    for row in rows:
        n = float(row["iterations"])
        at_origin = float(row["origin_reads"]) + float(row["origin_writes"])
        assert float(row["hit_ratio_requests"]) == pytest.approx(1 - at_origin / n, abs=1e-5)
        assert float(row["hit_ratio_reads"]) == pytest.approx(1 - float(row["origin_reads"]) / n, abs=1e-5)
        assert (float(row["origin_writes"]) > 0) == (row["workload"] == "mixed")


def test_the_load_curve_has_the_study_beside_it(reported_study):
    rows = {row["parallel"]: row for row in read_table(reported_study, "overload/table-1.4")}
    assert rows["250"]["study_mean_ms"] == "3836.0"
    assert float(rows["250"]["mean_ms"]) > 2000
    assert rows["20"]["study_mean_ms"] == ""
    assert float(rows["60"]["background_per_min"]) > 0
    knee = {row["door"]: row for row in read_table(reported_study, "overload/knee")}
    # Two repetitions are too few for a knee.
    assert knee["source"]["over_twice_idle_at"] == knee["cached"]["over_4_s_at"] == ""
    assert "needs 3 repetitions" in read_page(reported_study).text


def test_without_a_calibration_nothing_is_called_a_prediction(reported_study):
    rows = read_table(reported_study, "calibration")
    assert {row["kind"] for row in rows} == {"measured"}
    assert "nothing here was fitted" in read_page(reported_study).text


@pytest.mark.usefixtures("without_pictures")
def test_calibration_and_prediction_are_kept_apart(tmp_path):
    study = build_study_folder(tmp_path, experiments=(*SMALL, "overload"), profile=CALIBRATED)
    assert main([str(study)]) == 0
    kinds = {row["what"]: row["kind"] for row in read_table(study, "calibration")}
    assert kinds["E1: cached ÷ source"] == kinds["E1: local ÷ source in mean response time"] == "calibration"
    assert {kind for what, kind in kinds.items() if not what.startswith("E1")} == {"prediction"}
    rows = {row["what"]: row for row in read_table(study, "calibration")}
    # Above 2000 ms, but the interval of two repetitions is not.
    top = rows["E3: mean at source with 250 background requesters, ms"]
    assert float(top["ours_low"]) < 2000 < float(top["ours"])
    assert top["met"] == "open"
    assert rows["E1: cached ÷ source"]["met"] == "yes"
    text = read_page(study).text
    assert "was fitted on E1 only" in text
    assert "no memory cgroup" in text
    assert "memory applied no" in text


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("blocks", [1, 2])
def test_a_sample_says_under_its_answer_what_it_lacks(tmp_path, blocks):
    study = build_study_folder(tmp_path, experiments=("read-sparse",), repetitions=2, requests=20)
    why = "other processes disturbed 3 of the 4 trials of block 1"
    sample = {"blocks_planned": 9, "blocks": [{}] * blocks, "is_sample": False, "reasons": [why]}
    edit_json(study / "manifest.json", lambda m: m.update(sample=sample, status="partial"))
    assert main([str(study)]) == 0
    text = read_page(study).text
    said = f"{blocks} of 9 blocks are measured. The study is not a sample: {why}."
    assert text.index("Of six hypotheses: ") < text.index(said) < text.index("The six hypotheses.")
    # Every block has a start of its own, so one block is one run.
    assert ("Undecided in this run:" in text) == ("one start of the system" in text) == (blocks == 1)


@pytest.mark.usefixtures("without_pictures")
def test_a_broken_run_does_not_take_the_others_down(tmp_path, capsys):
    study = build_study_folder(tmp_path, experiments=SMALL)
    edit_json(study / "runs/read-sparse/manifest.json", lambda m: m.update(schema_version=3))
    shutil.rmtree(study / "runs/write-vs-read-direct/trials/0003")
    assert main([str(study)]) == 0
    assert "read-sparse: not reported on: manifest.json has schema version 3" in capsys.readouterr().err
    text = read_page(study).text
    assert "This run is not reported on. manifest.json has schema version 3" in text
    assert "Table 1.1." in text
    rows = {row["id"]: row for row in read_table(study, "hypotheses")}
    assert rows["E2"]["verdict"] == "undecided"
    assert "schema version 3" in rows["E2"]["why"]
    assert rows["E6"]["why"] == "the study has no run of it."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(runs=[]), "runs has 0 entries"),
        (lambda m: m.update(runs=[{"experiment": "../x"}]), "without the name of an experiment"),
        (lambda m: m.update(runs=m["runs"] * 2), "an experiment twice"),
        (lambda m: m.update(status="running"), "The study is not complete"),
        (lambda m: m.update(schema_version=1), "schema version 1"),
    ],
)
def test_what_is_no_study_is_refused(tmp_path, change, words):
    study = build_study_folder(tmp_path, experiments=("read-sparse",), repetitions=1, requests=5)
    edit_json(study / "manifest.json", change)
    with pytest.raises(RunFolderError, match=words):
        read_results(study)


def test_a_run_elsewhere_is_not_followed(tmp_path):
    study = build_study_folder(tmp_path, experiments=("read-sparse",), repetitions=1, requests=5)
    edit_json(study / "manifest.json", lambda m: m["runs"][0].update(directory="../../elsewhere"))
    (entry,) = read_results(study).runs
    assert entry.run is None
    assert entry.problem == "its directory is not runs/read-sparse"


def test_one_figure_of_a_study(tmp_path, capsys):
    study = build_study_folder(tmp_path, experiments=("read-sparse",), repetitions=2, requests=5)
    target = tmp_path / "means.svg"
    assert main([str(study), "--figure", "read-sparse/sparse-read-times", "--output", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith(("<?xml", "<svg "))
    assert main([str(study), "--figure", "figure-1.4", "--output", str(target)]) == 1
    assert "EXPERIMENT/FIGURE" in capsys.readouterr().err
    assert main([str(study), "--figure", "figure-1.9", "--output", str(target)]) == 1
    assert "needs write-vs-read-direct and write-vs-read-cached" in capsys.readouterr().err


def test_the_fixture_is_what_the_contract_says(reported_study):
    trial = json.loads((reported_study / "runs/overload/trials/0001/trial.json").read_text())
    for field in ("cell", "settings", "plan", "monotonic_s", "reads_sent", "writes_sent", "overlap", "background"):
        assert field in trial
