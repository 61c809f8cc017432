"""The table of predictions in a report: every cell, the reason if no model applies, and the study's summary."""

import csv

import pytest
from run_folder_fixture import build_run_folder, edit_json, find_trial, scale_times

from stevec_report import prediction
from stevec_report.blocks import bare

POLICY = {"factors": {"door": ["source", "cached"], "edit_ratio": [0, 0.05]}, "requests": 2000, "pages": 50}


@pytest.fixture
def compare(analyse_run):
    """A function from a run folder to {cell: row of the table}."""

    def rows(folder):
        compared = prediction.compare_cells(analyse_run(folder))
        return {row["cell"]: row for row in prediction.table(compared).rows}

    return rows


def test_every_cell_has_its_prediction_beside_what_was_measured(run_folder, compare):
    rows = compare(run_folder)
    assert list(rows) == ["source", "nocache", "local", "cached"]
    for door in ("source", "nocache"):
        assert (rows[door]["hit_predicted"].high, rows[door]["model"]) == (0, "no cache on the way")
    for door in ("local", "cached"):
        row = rows[door]
        # 60 reads of 10 pages: each is fetched once.
        assert row["hit_measured"].centre == pytest.approx(100 * 50 / 60)
        assert row["hit_predicted"].low < row["hit_measured"].centre < row["hit_predicted"].high
        assert row["hit_difference"].centre == pytest.approx(row["hit_measured"].centre - row["hit_predicted"].centre)
        assert bare(row["hit_inside"]) == "3 of 3"
        assert "stale_predicted" not in row  # no edits


def test_a_cell_with_edits_has_stale_reads_too(tmp_path, compare):
    rows = compare(build_run_folder(tmp_path, experiment="policy", repetitions=3, **POLICY))
    assert rows["source, edit_ratio 0.05"]["stale_predicted"].centre == 0
    assert bare(rows["source, edit_ratio 0.05"]["stale_inside"]) == "3 of 3"
    row = rows["cached, edit_ratio 0.05"]
    assert row["stale_predicted"].centre > 20
    # The toy cache drops a page that is edited through it. The model does not, and the table shows the difference.
    assert row["stale_measured"].centre == 0 and bare(row["stale_inside"]) == "0 of 3"
    assert row["stale_difference"].centre == pytest.approx(-row["stale_predicted"].centre)


def test_the_background_reads_the_same_cache(overload_folder, compare):
    row = compare(overload_folder)["cached, background_vus 20"]
    assert "lifetimes" in row["model"] and row["hit_predicted"].centre > 0


def test_where_no_model_applies_the_reason_stands(run_folder, compare):
    for repetition in (1, 2, 3):
        _, folder = find_trial(run_folder, repetition, door="cached")
        edit_json(folder / "trial.json", lambda t: t["settings"].update(surge_factor=50))
        _, folder = find_trial(run_folder, repetition, door="local")
        edit_json(folder / "trial.json", lambda t: t.update(valid=False, invalid_reasons=["k6 crashed"]))
    rows = compare(run_folder)
    assert rows["cached"]["model"] == "no model: the setting surge_factor is in none of the models"
    assert rows["local"]["model"] == "no valid trial"
    assert "hit_predicted" not in rows["cached"]


def test_an_origin_that_fails_has_no_model(tmp_path, compare):
    run = build_run_folder(tmp_path, experiment="one", factors={"door": ["source"]}, failures_at={1: 20, 2: 20})
    assert compare(run)["source"]["model"] == "no model: 10 % of the requests failed"


def test_where_collapsed_requests_outwait_a_fetch_there_is_no_model(run_folder, compare):
    for door in ("cached", "nocache"):
        _, folder = find_trial(run_folder, 2, door=door)
        scale_times(folder, 20_000)
    rows = compare(run_folder)
    assert rows["cached"]["model"] == (
        "no model: in 1 of the 3 trials a response took longer than 5 s, after which the edge fetches a page again "
        "for the requests that wait for it"
    )
    assert rows["nocache"]["model"] == "no cache on the way"


def test_the_tables_are_in_the_report_of_a_run_and_of_a_study(reported_run, reported_study):
    for folder, name in (
        (reported_run / "report/tables", "prediction"),
        (reported_study / "report/tables/mixed-write", "prediction"),
        (reported_study / "report/tables", "predictions"),
    ):
        with (folder / f"{name}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) >= 4
    of_e4 = next(row for row in rows if row["experiment"] == "mixed-write")
    assert int(of_e4["cells"]) == int(of_e4["modelled"]) > 0
    assert 0 <= int(of_e4["hit_inside"]) <= int(of_e4["hit_trials"])
    page = (reported_study / "report/index.html").read_text(encoding="utf-8")
    assert page.count("Prediction beside measurement") > 5
