"""Drift within trials: the first requests of a trial beside its later ones of the same kind."""

import pytest
from run_folder_fixture import build_run_folder, edit_samples, find_trial, saturate
from test_report import read_page

from stevec_report import trust
from stevec_report.__main__ import main
from stevec_report.experiments.drift import within_trials

HEADER_COLUMNS = {"method": 3, "cache_status": 6, "duration_ms": 7}


def slow_down(folder, factor, share=0.1, **kind):
    """Multiply the durations of the first requests of a trial; `kind` are values that these have."""

    def edit(lines):
        rows = [line.split(",") for line in lines[1:]]
        wanted = [row for row in rows if all(row[HEADER_COLUMNS[name]] == value for name, value in kind.items())]
        for row in wanted[: round(share * len(wanted))]:
            row[7] = f"{float(row[7]) * factor:.6f}"
        return [lines[0], *(",".join(row) for row in rows)]

    edit_samples(folder, edit)


def slow_down_all(run, factor, **where):
    door = where.pop("door")
    for repetition in (1, 2, 3):
        slow_down(find_trial(run, repetition, door=door)[1], factor, **where)


@pytest.fixture
def run(tmp_path):
    return build_run_folder(tmp_path, repetitions=3, requests=400, pages=40)


def by_group(analysis):
    return {(dict(one.cell)["door"], one.kind): one for one in within_trials(analysis)}


def test_without_drift_none_is_found_although_the_cache_fills(run, analyse_run):
    found = by_group(analyse_run(run))
    # A MISS takes some 14 ms, a HIT 2 to 6: with all reads together, the beginning would be twice as long.
    assert ("cached", "reads from a cache") in found and ("cached", "reads from the origin") in found
    assert [one for one in found.values() if one.is_drift] == []


def test_a_slow_beginning_is_found_in_its_own_kind(run, analyse_run):
    slow_down_all(run, 1.8, door="cached", cache_status="HIT")
    found = by_group(analyse_run(run))
    own = found.pop(("cached", "reads from a cache"))
    assert own.is_drift and own.ratio.centre == pytest.approx(1.8, rel=0.08) and own.ratio.n == 3
    assert own.first_ms / own.later_ms == pytest.approx(own.ratio.centre)
    assert [one for one in found.values() if one.is_drift] == []


def test_times_that_grow_are_drift_too_and_small_changes_are_none(run, analyse_run):
    slow_down_all(run, 0.5, door="source")
    assert by_group(analyse_run(run))["source", "reads from the origin"].is_drift
    slow_down_all(run, 2 * 1.03, door="source")
    assert not by_group(analyse_run(run))["source", "reads from the origin"].is_drift


def test_one_trial_alone_is_no_drift(run, analyse_run):
    slow_down(find_trial(run, 1, door="source")[1], 2.5)
    found = by_group(analyse_run(run))["source", "reads from the origin"]
    assert found.ratio.centre > 1.2 and found.ratio.n == 3 and not found.is_drift


def test_the_more_groups_are_tested_the_clearer_a_drift_has_to_be(run, tmp_path, analyse_run):
    alone = build_run_folder(tmp_path, name="alone", repetitions=3, requests=400, factors={"door": ["source"]})
    for folder in (alone, run):
        for repetition, factor in enumerate((1.5, 1.7, 2.0), start=1):
            slow_down(find_trial(folder, repetition, door="source")[1], factor)
    one, many = (analyse_run(folder) for folder in (alone, run))
    groups = [by_group(analysis)["source", "reads from the origin"] for analysis in (one, many)]
    assert all(group.ratio.low > 1.1 for group in groups)
    assert [group.is_drift for group in groups] == [True, False]
    assert any("in 1 of 6 groups" in said and "cannot tell this from chance" in said for said in trust.sentences(many))


def test_at_least_ten_requests_are_the_beginning(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, repetitions=1, requests=40, pages=5, factors={"door": ["source"]})
    slow_down(find_trial(run, 1, door="source")[1], 3, share=0.25)
    (found,) = within_trials(analyse_run(run))
    assert found.ratio.centre == pytest.approx(3, rel=0.2)
    short = build_run_folder(tmp_path, name="short", repetitions=1, requests=19, factors={"door": ["source"]})
    assert within_trials(analyse_run(short)) == []


def test_limited_trials_and_loads_that_are_not_steady_are_left_out(run, analyse_run, tmp_path):
    for repetition in (1, 2):
        saturate(find_trial(run, repetition, door="source")[1], "machine")
    assert by_group(analyse_run(run))["source", "reads from the origin"].ratio.n == 1
    crowd = build_run_folder(tmp_path, experiment="at-once", name="crowd")
    assert within_trials(analyse_run(crowd)) == []
    burst = {"burst": {"factor": 5, "at_s": 1, "ramp_s": 0, "for_s": 1}}
    assert within_trials(analyse_run(build_run_folder(tmp_path, name="burst", requests=60, **burst))) == []


@pytest.mark.usefixtures("without_pictures")
def test_the_first_page_says_so(run, analyse_run):
    assert "No drift within trials was found." in trust.sentences(analyse_run(run))
    slow_down_all(run, 1.8, door="cached", cache_status="HIT")
    assert main([str(run)]) == 0
    text = read_page(run).text
    assert "Times drift within trials, in 1 of 6 groups of cell and kind of request." in text
    assert "reads from a cache, cached: 1." in text
