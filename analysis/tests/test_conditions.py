"""A run that was resumed under other conditions: which trials may be paired, and where that is said."""

import csv

import pytest
from run_folder_fixture import edit_json, find_trial, resume
from test_report import read_page

from stevec_report import expectations
from stevec_report.__main__ import main
from stevec_report.conditions import read_conditions
from stevec_report.experiments import drift, read_hot

CHANGE = 'versions.k6 was "1.8.1" and is now "2.0.0"'


def conditions_of(run, analyse_run):
    return {o.number: o.conditions.number for o in analyse_run(run).outcomes}


def test_a_resumption_without_a_change_is_the_same_conditions(run_folder, analyse_run):
    resume(run_folder, range(7, 13))
    assert set(conditions_of(run_folder, analyse_run).values()) == {0}


def test_trials_after_a_change_have_conditions_of_their_own(run_folder, analyse_run):
    # Each resumption names all trials that are left; the changes are since the run began.
    resume(run_folder, range(5, 13), CHANGE)
    resume(run_folder, range(7, 13))
    resume(run_folder, range(9, 13), CHANGE)
    resume(run_folder, range(11, 13), CHANGE, "host.cores was 2 and is now 4")
    assert list(conditions_of(run_folder, analyse_run).values()) == [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("value", [None, {}, [None], [{"trials": "all", "changes": ["x"]}], [{"changes": ["x"]}]])
def test_resumptions_that_make_no_sense_change_nothing(value):
    assert read_conditions({"resumptions": value}) == {}


def test_pairs_are_of_the_same_conditions(run_folder, analyse_run):
    expected = [{"that": "x", "measure": "p99_ms", "in": {"door": "cached"}, "is": "below", "than": {"door": "source"}}]
    edit_json(run_folder / "manifest.json", lambda manifest: manifest["experiment"].update(expectations=expected))
    before = analyse_run(run_folder)
    assert read_hot.door_test(before, "cached", "source").n == expectations.decide(before)[0].difference.n == 3
    number, _ = find_trial(run_folder, 2, door="cached")
    resume(run_folder, [number], CHANGE)
    after = analyse_run(run_folder)
    assert read_hot.door_test(after, "cached", "source").n == expectations.decide(after)[0].difference.n == 2
    assert read_hot.door_test(after, "local", "source").n == 3


def test_drift_over_the_run_is_not_what_the_change_made(run_folder, analyse_run):
    for repetition in (2, 3):
        resume(run_folder, [find_trial(run_folder, repetition, door="cached")[0]], CHANGE)
    lines = [line for line in drift.relative_means(analyse_run(run_folder)) if line["door"] == "cached"]
    # One trial is left of the first conditions, which tells nothing.
    assert [len(line["moments"]) for line in lines] == [2]


@pytest.mark.usefixtures("without_pictures")
def test_the_first_page_names_the_change_and_the_table_the_conditions(run_folder):
    resume(run_folder, [11, 12], CHANGE, at="2026-11-22T08:00:00.000Z")
    assert main([str(run_folder)]) == 0
    text = read_page(run_folder).text
    assert "2 trials (trials 11, 12) ran under other conditions (1)" in text
    assert f"resumed at 2026-11-22T08:00:00.000Z: {CHANGE}." in text
    with (run_folder / "report/tables/trials.csv").open(newline="") as file:
        assert [row["conditions"] for row in csv.DictReader(file)] == ["0"] * 10 + ["1"] * 2
