"""What limited a trial, what disturbed it, and what that keeps it out of."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from run_folder_fixture import build_run_folder, edit_json, find_trial, saturate
from test_report import read_page

from stevec_report import expectations, limits, measures, plot_style, trust
from stevec_report.__main__ import main
from stevec_report.experiments import machine_use, mixed_write, origin_down, overload, overload_curve, read_hot
from stevec_report.experiments.policy_choice import Measured, Tolerance
from stevec_report.figures import (
    beside_each_other,
    drift,
    freshness_offload,
    hit_ratio_by_size,
    load_curve,
    means,
    saturation,
)
from stevec_report.freshness import ClusterSums
from stevec_report.intervals import Interval
from stevec_report.staleness import LEVELS, Staleness
from stevec_report.verdicts import decide_one
from stevec_verify.__main__ import describe


def saturate_all(run, limit="nothing", **cell):
    """Say the limit of all trials of the cells that have these levels."""
    for folder in sorted((run / "trials").iterdir()):
        value = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
        if cell.items() <= value["cell"].items():
            saturate(folder, limit)


def verdict_of(analysis):
    """As `parts.build` decides it."""
    evidence = replace(read_hot.evidence(analysis), left_out=limits.left_out(analysis.valid))
    return decide_one(evidence)


@pytest.mark.parametrize(
    ("limit", "limited_by"),
    [
        ("nothing", None),
        ("generator", "generator"),
        ("links", "links"),
        ("machine", "machine"),
        ("edge", None),
        ("origin", None),
        ("wiki", None),
        ("database", None),
    ],
)
def test_what_is_not_of_the_system_under_test_limits_a_trial(run_folder, analyse_run, limit, limited_by):
    number, folder = find_trial(run_folder, 1, door="source")
    saturate(folder, limit)
    outcome = next(o for o in analyse_run(run_folder).outcomes if o.number == number)
    assert outcome.valid
    assert (outcome.record.limit, outcome.limited_by, outcome.limited) == (limit, limited_by, limited_by is not None)


def test_runs_from_before_it_was_recorded_know_the_generator_alone(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 1, door="source")
    edit_json(folder / "trial.json", lambda trial: trial["k6"].update(generator_limited=True))
    outcomes = {o.number: o for o in analyse_run(run_folder).outcomes}
    assert outcomes.pop(number).limited_by == "generator"
    assert {(o.record.limit, o.limited_by, o.saturation, o.disturbed) for o in outcomes.values()} == {(None,) * 4}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limit": "moon"}, "saturation.limit is 'moon'"),
        ({"cores": 0}, "saturation.cores is 0"),
        ({"cores": "two"}, "cores is missing or not of type int"),
    ],
)
def test_a_wrong_field_makes_the_trial_unreadable_and_names_itself(run_folder, analyse_run, change, words):
    number, folder = find_trial(run_folder, 1, door="source")
    saturate(folder)
    edit_json(folder / "trial.json", lambda trial: trial["saturation"].update(change))
    outcome = next(o for o in analyse_run(run_folder).outcomes if o.number == number)
    assert not outcome.valid and words in outcome.reasons[0]


def test_a_limited_trial_is_in_no_pair_of_times_and_its_counts_hold(run_folder, analyse_run):
    saturate_all(run_folder)
    saturate(find_trial(run_folder, 2, door="cached")[1], "machine")
    claims = {claim.name: claim for claim in read_hot.evidence(analyse_run(run_folder)).claims}
    assert claims["Time at cached"].test.n == 2
    assert claims["Time at local"].test.n == 3
    assert claims["Offload at cached"].text.endswith("(3 valid trials).")


def test_where_too_few_are_left_it_cannot_be_decided_and_what_to_do_is_said(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, repetitions=6, requests=60, pages=10)
    saturate_all(run)
    assert verdict_of(analyse_run(run)).result == "confirmed"
    saturate_all(run, "links", door="local")
    verdict = verdict_of(analyse_run(run))
    assert verdict.result == "undecided"
    assert verdict.why.startswith("it cannot be decided: too few blocks are left for Time at local (0 blocks).")
    assert "6 of 24 valid trials were limited by the links" in verdict.why
    assert "slower origin (--profile), more cores or a lower rate" in verdict.why


def test_limited_trials_are_not_blamed_where_counts_are_compared(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mixed-write", repetitions=2, pages=10, requests=200)
    saturate_all(run, "generator")
    analysis = analyse_run(run)
    evidence = replace(mixed_write.evidence(analysis), left_out=limits.left_out(analysis.valid))
    assert evidence.left_out.startswith("8 of 8 valid trials were limited by the load generator. Such times are in no")
    assert evidence.claims[0].test.n == 2
    assert "cannot be decided" not in decide_one(evidence).why


def test_each_measure_of_the_lab_is_a_time_or_a_count(analyse_run, run_folder):
    saturate_all(run_folder, "generator")
    trials = analyse_run(run_folder).valid
    counts = {name for name in measures.MEASURES if len(measures.judged(name, trials)) == len(trials)}
    assert counts == {
        *{"hit_ratio", "cache_hits", "origin_offload", "origin_requests", "origin_reads", "stale_ratio"},
        # Processor time of the origin, which no other program's takes away.
        "requests_per_cpu_s",
        "requests_per_wiki_cpu_s",
        "edit_cpu_ms",
    }
    assert all(measures.judged(name, trials) == [] for name in measures.MEASURES.keys() - counts)


def test_expectations_on_times_leave_limited_trials_out(run_folder, analyse_run):
    beside = {"in": {"door": "cached"}, "is": "below", "than": {"door": "source"}}
    stated = [
        {"that": "Quicker.", "measure": "p50_ms", **beside},
        {"that": "Fewer.", "measure": "origin_requests", **beside},
        {"that": "Quick.", "measure": "p99_ms", "in": {"door": "cached"}, "is": "at_most", "value": 1000},
    ]
    edit_json(run_folder / "manifest.json", lambda manifest: manifest["experiment"].update(expectations=stated))
    assert [one.result for one in expectations.decide(analyse_run(run_folder))] == ["confirmed"] * 3
    saturate_all(run_folder, "generator", door="cached")
    times, counts, value = expectations.decide(analyse_run(run_folder))
    assert (times.result, counts.result, value.result) == ("undecided", "confirmed", "undecided")
    assert counts.difference.n == 3
    for one in (times, value):
        assert one.why.startswith("it cannot be decided: there is no")
        assert "limited by the load generator" in one.why and "--profile" in one.why


def test_the_age_of_stale_reads_is_a_time():
    behind = dict.fromkeys(LEVELS, 5.0)
    clusters = [ClusterSums.of(1000, [1] * 10, [100] * 10)] * 3
    old = Staleness(clusters, 3000, 30, 0, 0, behind, behind)
    facts = ("purge", 0.05, "cached", False, [], [0.9] * 3, [0.9] * 3, [], old)
    tolerance = Tolerance(0.1, 1)
    assert Measured(*facts, ages_s=[5.0, 5.0, 5.0]).meets(tolerance) is False
    # The read that was 5 s old belongs to a limited trial.
    assert Measured(*facts, ages_s=[0.5, 0.5]).meets(tolerance) is True
    assert Measured(*facts, ages_s=[]).meets(tolerance) is None


def test_a_knee_is_of_trials_that_were_not_limited(tmp_path, analyse_run):
    factors = {"door": ["source"], "background_vus": [0, 20, 1000]}
    run = build_run_folder(tmp_path, experiment="overload", repetitions=3, factors=factors)
    assert 20 < overload_curve.saturation_of(analyse_run(run), "source")["knee"] < 1000
    saturate_all(run, "machine", background_vus=1000)
    found = overload_curve.saturation_of(analyse_run(run), "source")
    assert found["knee"] is None
    assert [point["limited_by"] for point in found["points"]] == ["", "", "machine"]


def test_a_knee_is_not_drawn_across_levels_that_are_left_out(tmp_path, analyse_run):
    factors = {"door": ["source"], "background_vus": [0, 20, 60, 400]}
    run = build_run_folder(tmp_path, experiment="overload", repetitions=3, factors=factors)
    saturate_all(run, "machine", background_vus=60)
    analysis = analyse_run(run)
    assert overload_curve.saturation_of(analysis, "source")["knee"] is None
    knees = next(b for b in overload_curve.blocks(analysis) if b.name == "knee")
    # The load that doubles the time is between 0 and 20, and both are there.
    assert knees.rows[0]["over_4_s_at"].text == "none found"
    assert 0 < knees.rows[0]["over_twice_idle_at"].value.centre < 20


def test_the_upper_half_of_the_loads_is_of_those_that_were_planned(overload_folder, analyse_run):
    saturate_all(overload_folder, "machine", background_vus=250)
    claims = {claim.name: claim for claim in overload.evidence(analyse_run(overload_folder)).claims}
    assert claims["Degrades more"].holds is None
    assert claims["Degrades more"].text == (
        "source ÷ cached from 250 requesters on, over the same without a background (p against 2): no block has all "
        "the trials that it needs."
    )
    assert claims["Slower under load"].test.n == 0  # a block needs the level of 250, too


def test_a_level_of_which_some_trials_were_limited_has_two_points(overload_folder, analyse_run):
    saturate(find_trial(overload_folder, 1, door="source", background_vus=20)[1], "links")
    points = overload_curve.saturation_of(analyse_run(overload_folder), "source")["points"]
    assert [(point["load"], point["limited_by"]) for point in points] == [(0, ""), (20, ""), (20, "links"), (250, "")]


def test_the_table_says_who_used_the_machine(run_folder, analyse_run):
    saturate_all(run_folder, "wiki", door="source")
    saturate(find_trial(run_folder, 2, door="source")[1], "machine", disturbed="others had 14 % of the cores")
    table, figure = machine_use.blocks(analyse_run(run_folder))
    rows = {row["cell"]: row for row in table.rows}
    source = rows["source"]
    assert source["limit"] == "wiki (2), machine (1)"
    assert source["limited_by"] == "machine (1 of 3 trials)"
    # 0.32 of two cores in two trials, and 0.3 in the third.
    assert source["wiki_cores"] == pytest.approx((2 * 0.64 + 0.6) / 3)
    assert source["busy_cores"] == pytest.approx((2 * 2 + 1.96) / 3)
    assert (source["others_cores"], source["cores"], source["disturbed"]) == (0.02, "2", "1 of 3 trials")
    assert source["busiest_thread"].value == "wiki 0.564"
    assert rows["cached"]["disturbed"] == "not recorded" and "busy_cores" not in rows["cached"]
    axes = figure.draw().axes[0]
    assert sum(patch.get_width() for patch in axes.patches) == pytest.approx(source["busy_cores"])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["source"]
    assert {tuple(line.get_xdata()) for line in axes.lines} == {(2, 2)}
    assert "several" in {text.get_text() for text in axes.texts}


def test_stolen_time_is_drawn_once(run_folder, analyse_run):
    saturate_all(run_folder)
    # Stolen time is busy time, and no other processes'. Interrupts, here 0.1 of a core, are nobody's.
    use = {"busy_cores": 2.0, "stolen_cores": 0.5, "others_cores": 0.4, "parts": {"wiki": {"cpu_cores": 1.0}}}
    for folder in (run_folder / "trials").iterdir():
        saturate(folder, **use)
    figure = machine_use.blocks(analyse_run(run_folder))[1].draw()
    axes = figure.axes[0]
    widths = sorted(patch.get_width() for patch in axes.patches)
    assert widths == pytest.approx(4 * [0.4] + 4 * [0.5] + 4 * [1.0])
    assert set(labels(figure)) == {"wiki", "other processes", "stolen by the host", "all cores"}


def test_old_runs_have_no_table_of_the_machine(run_folder, analyse_run):
    (note,) = machine_use.blocks(analyse_run(run_folder))
    assert "not recorded" in note.text


def hollow(axes):
    """Number of hollow points of the scattered ones; those of the legend have no place."""
    marks = [m for m in axes.collections if isinstance(m, PathCollection) and len(m.get_facecolor()) == 0]
    return sum(int(np.isfinite(np.ma.filled(mark.get_offsets(), np.nan)).all(axis=1).sum()) for mark in marks)


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


POINTS = [(3.0, None), (9.0, "machine"), (4.0, None)]


def test_means_draw_limited_trials_hollow():
    mixed = means.Row("a", "source", POINTS, Interval(3.5, 3.0, 4.0, 2))
    alone = means.Row("b", "cached", [(9.0, "links"), (4.0, "links")], Interval(6.0, 4.0, 9.0, 2))
    figure = means.draw([], [mixed, alone], ("the study", "ours"))
    axes = figure.axes[1]
    assert hollow(axes) == 3
    strokes = [line.get_linestyle() for line in axes.lines if np.ptp(line.get_xdata()) == 0]
    assert strokes == ["-", "--"]
    assert "limited: links, machine" in labels(figure)


def test_the_curve_over_the_load_leaves_limited_trials_out():
    figure = load_curve.draw({"source": {0: 1.0}}, {"source": {0: POINTS, 5: [(20.0, "queue")]}}, "ours")
    axes = figure.axes[1]
    assert hollow(axes) == 2
    (line,) = [line for line in axes.lines if len(line.get_xdata())]
    assert list(line.get_xdata()) == [0, 5]
    assert line.get_ydata() == pytest.approx([12**0.5, float("nan")], nan_ok=True)
    assert labels(figure) == ["limited: machine, queue"]


def test_other_figures_of_trials_draw_limited_ones_hollow():
    ratios = {"mixed": {5.0: [(0.8, None), (0.7, "generator")]}}
    figure = hit_ratio_by_size.draw(ratios, ratios, "ours")
    assert hollow(figure.axes[1]) == 1 and "limited: generator" in labels(figure)
    figure = drift.draw([{"door": "source", "minutes": [0, 1], "points": [(1.0, None), (1.2, "queue")]}], [])
    assert hollow(figure.axes[0]) == 1 and "limited: queue" in labels(figure)
    figure = beside_each_other.draw([{"title": "a", "names": ["x"], "points": [POINTS]}])
    assert hollow(figure.axes[0]) == 1 and labels(figure) == ["limited: machine"]
    point = {"load": 1, "per_s": 5.0, "mean_ms": 2.0, "p99_ms": 3.0, "failed": 0.0, "limited_by": "links"}
    point |= {"per_s_trials": [5.0], "mean_ms_trials": [2.0], "per_s_interval": None, "mean_ms_interval": None}
    figure = saturation.draw({"source": {"points": [point], "law": None, "knee": None}}, "load")
    assert labels(figure) == ["source", "one trial", "limited: links"]
    assert [hollow(axes) for axes in figure.axes] == [1, 2, 1]


def test_the_front_of_policies_has_no_hollow_points_but_limited_ones():
    interval = Interval(10.0, 9.0, 11.0, 3)
    faces, said = [], []
    for limited_by in ("", "links"):
        point = {"label": "ttl", "door": "cached", "offload": interval, "stale": interval, "front": False}
        figure = freshness_offload.draw([{"title": "5 %", "points": [point | {"limited_by": limited_by}]}])
        faces.append([line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "D"])
        said.append(labels(figure))
    assert faces[0] != faces[1] == [plot_style.PAPER]
    assert said == [[], ["some trials limited: links"]]


@pytest.mark.usefixtures("without_pictures")
def test_the_first_page_counts_the_limited_and_names_the_disturbed(run_folder):
    saturate_all(run_folder)
    limited, folder = find_trial(run_folder, 1, door="cached")
    saturate(folder, "machine")
    disturbed, folder = find_trial(run_folder, 2, door="source")
    saturate(folder, disturbed="other processes had 14 % of the cores")
    assert main([str(run_folder)]) == 0
    text = read_page(run_folder).text
    assert "12 of 12 trials are valid." in text
    assert f"1 of 12 valid trials was limited by the whole machine (trial {limited})." in text
    assert f"1 of 12 valid trials was disturbed (trial {disturbed})." in text
    assert f"trial {disturbed}: other processes had 14 % of the cores" in text
    assert "is not recorded" not in text
    with (run_folder / "report/tables/trials.csv").open(newline="") as file:
        rows = {int(row["trial"]): row for row in csv.DictReader(file)}
    assert rows[limited]["limited_by"] == "machine" and rows[limited]["evidence"].endswith("% busy")
    assert [n for n, row in rows.items() if row["disturbed"]] == [disturbed]


def test_a_disturbed_trial_stays_in_verdicts(run_folder, analyse_run):
    saturate_all(run_folder)
    saturate(find_trial(run_folder, 2, door="cached")[1], disturbed="others")
    claims = {claim.name: claim for claim in read_hot.evidence(analyse_run(run_folder)).claims}
    assert claims["Time at cached"].test.n == 3


def test_what_old_runs_lack_is_said(run_folder, analyse_run):
    said = trust.sentences(analyse_run(run_folder))
    assert "Whether links or machine were a limit, and what disturbed the machine, is not recorded: the run" in said[1]
    assert "or the load took only a few tenths of a second" in said[1]
    saturate(find_trial(run_folder, 1, door="cached")[1])
    said = trust.sentences(analyse_run(run_folder))
    assert "is not recorded in 11 of 12 trials: the run is older, or" in said[1]


def test_a_study_says_it_of_each_experiment(run_folder, reported_study, analyse_run):
    with (reported_study / "report/tables/trust.csv").open(newline="") as file:
        rows = {row["experiment"]: row for row in csv.DictReader(file)}
    assert rows["read-hot"]["valid"] == rows["read-hot"]["trials"] == "20"
    assert {row["disturbed"] for row in rows.values()} == {"not recorded"}
    saturate_all(run_folder, "machine", door="local")
    saturate(find_trial(run_folder, 2, door="source")[1], "generator", disturbed="others")
    (row,) = trust.summary_table({"read-hot": analyse_run(run_folder).outcomes}, {"read-hot": 2}).rows
    assert (row["limited"], row["limited_by"]) == (4, "the load generator (1) and the whole machine (3)")
    assert (row["disturbed"], row["drifting"], row["conditions"]) == ("1", 2, 1)


def test_shares_of_errors_are_said_only_of_trials_that_were_not_limited():
    seen = {"asked": 100, "failed": 40, "old": 0, "outage_s": 2.0}
    one = {"policy": "ttl", "trials": [], "seen": [seen], "decided": True}
    other = {"policy": "no-store", "trials": [], "seen": [seen | {"failed": 0}], "decided": False}
    text = origin_down._say([one, other])
    assert "ttl 40 %, no-store cannot be decided" in text
    assert "No request failed" not in text


def test_verify_gets_the_limit_and_what_used_the_machine(run_folder):
    number, folder = find_trial(run_folder, 1, door="source")
    saturate(folder, "wiki", disturbed="others")
    trials = {trial["trial"]: trial for trial in json.loads(json.dumps(describe(run_folder, None)))["trials"]}
    own = trials.pop(number)
    assert (own["limit"], own["disturbed"], own["saturation"]["parts"]["wiki"]["cpu_cores"]) == ("wiki", "others", 0.64)
    assert {(trial["limit"], trial["disturbed"], trial["saturation"]) for trial in trials.values()} == {(None,) * 3}
    assert "generator_limited" not in own
