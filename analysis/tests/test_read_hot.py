"""E1's tables and verdict."""

import csv
import io

import pytest
from run_folder_fixture import build_run_folder, edit_json, edit_samples, find_trial

from stevec_report import reference
from stevec_report.experiments.read_hot import tables, verdict


def scale_times(folder, factor):
    def change(lines):
        out = [lines[0]]
        for cells in csv.reader(io.StringIO("\n".join(lines[1:]))):
            cells[6] = f"{float(cells[6]) * factor:.6f}"
            out.append(",".join(cells))
        return out

    edit_samples(folder, change)


def test_the_study_is_read_as_it_was_printed():
    counts = reference.read_series("1.1", "origin_requests")
    assert {path: set(values.values()) for path, values in counts.items()} == {
        "without": {1000},
        "with": {100},
    }
    times = reference.read_series("1.2", "mean_ms")
    assert list(times) == ["without", "local", "cdn"]
    assert [sum(v.values()) / 8 for v in times.values()] == [75.625, 14.375, 33.625]


def test_table_1_1_puts_ours_beside_the_study(run_folder, analyse_run):
    table = tables.origin_requests(analyse_run(run_folder))
    assert len(table["rows"]) == 8  # the study has more repetitions than this run
    assert table["rows"][0]["study"] == ["1000", "100"]
    assert [cell["text"] for cell in table["rows"][0]["ours"]] == ["60", "60", "10", "10"]
    assert [cell["outcome"] for cell in table["rows"][7]["ours"]] == [None] * 4
    assert table["study_shares"] == ["100 %", "10 %"]
    assert table["shares"] == ["100 %", "100 %", "16.7 %", "16.7 %"]


def test_an_invalid_trial_is_shown_and_in_no_mean(run_folder, analyse_run):
    before = tables.summary(analyse_run(run_folder))
    number, folder = find_trial(run_folder, "source", 2)
    scale_times(folder, 100)
    edit_json(folder / "trial.json", lambda t: t.update(valid=False, invalid_reasons=["noise"]))
    analysis = analyse_run(run_folder)
    after = tables.summary(analysis)
    assert [o.repetition for o in after[0]["trials"]] == [1, 3]
    assert after[0]["planned"] == 3
    assert after[0]["mean"].centre == pytest.approx(before[0]["mean"].centre, rel=0.1)
    assert after[3]["ratio"].n == 2
    cell = tables.means(analysis)["rows"][1]["ours"][0]
    assert float(cell["text"]) > 300
    assert not cell["outcome"].valid
    rows = tables.means_csv(analysis)[1]
    assert [row[4] for row in rows if row[3] == number] == ["false"]


def test_the_ratio_to_source_is_paired(run_folder, analyse_run):
    analysis = analyse_run(run_folder)
    source, _, _, cached = tables.summary(analysis)
    by_hand = 1.0
    for a, b in zip(cached["trials"], source["trials"], strict=True):
        assert a.repetition == b.repetition
        by_hand *= a.stats.mean_ms / b.stats.mean_ms
    assert cached["ratio"].centre == pytest.approx(by_hand ** (1 / 3))
    assert source["ratio"] is None


def test_every_csv_row_is_as_long_as_its_header(run_folder, analyse_run):
    analysis = analyse_run(run_folder)
    for make in (tables.origin_requests_csv, tables.means_csv, tables.summary_csv):
        header, rows = make(analysis)
        assert {len(row) for row in rows} == {len(header)}


def test_differences_from_the_study_are_named():
    settings = dict(tables.STUDY_SETTINGS)
    assert tables.deviations(settings) == []
    assert tables.deviations(settings | {"repetitions": 5}) == ["repetitions 5 (the study: 8)"]


def test_the_hypothesis_is_confirmed_by_a_good_run(run_folder, analyse_run):
    decided = verdict.decide(analyse_run(run_folder))
    assert decided.result == "confirmed"
    assert [part.result for part in decided.parts] == ["confirmed"] * 4
    assert "16.7 %" in decided.parts[0].text
    assert "3 pairs" in decided.parts[1].text
    assert len(decided.asides) == 1


def test_it_is_refuted_where_the_cache_is_slower(run_folder, analyse_run):
    for repetition in (1, 2, 3):
        scale_times(find_trial(run_folder, "cached", repetition)[1], 50)
    decided = verdict.decide(analyse_run(run_folder))
    assert decided.result == "refuted"
    assert [part.result for part in decided.parts] == ["confirmed", "confirmed", "confirmed", "refuted"]


def test_it_is_undecided_where_the_interval_contains_one(run_folder, analyse_run):
    for repetition, factor in ((1, 0.1), (2, 10), (3, 1)):
        scale_times(find_trial(run_folder, "cached", repetition)[1], factor)
    decided = verdict.decide(analyse_run(run_folder))
    assert decided.result == "undecided"
    assert decided.parts[3].result == "undecided"


def test_it_is_refuted_where_the_origin_sees_half(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, repetitions=2, requests=30, pages=400)
    decided = verdict.decide(analyse_run(run))
    assert decided.parts[0].result == "refuted"
    assert decided.result == "refuted"


def test_it_is_undecided_without_valid_trials(run_folder, analyse_run):
    for repetition in (1, 2, 3):
        folder = find_trial(run_folder, "source", repetition)[1]
        edit_json(folder / "trial.json", lambda t: t.update(valid=False))
    decided = verdict.decide(analyse_run(run_folder))
    assert decided.result == "undecided"
    assert "fewer than two valid pairs" in decided.parts[1].text


def test_it_is_undecided_without_a_door_that_caches(run_folder, analyse_run):
    edit_json(run_folder / "manifest.json", lambda m: m["experiment"].update(doors=["source", "nocache"]))
    assert verdict.decide(analyse_run(run_folder)).result == "undecided"
