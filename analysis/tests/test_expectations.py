"""The expectations of an experiment: when they are confirmed, refuted or undecided."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from stevec_report import expectations
from stevec_report.hypothesis_tests import ALPHA
from stevec_report.levels import level_text

EXPERIMENTS = Path(__file__).resolve().parents[2] / "loadgen/experiments"
FEWER = {
    "that": "Fewer.",
    "measure": "stale_ratio",
    "in": {"policy": "purge"},
    "is": "below",
    "than": {"policy": "ttl"},
}
NONE = {"that": "None.", "measure": "stale_ratio", "in": {"policy": ["purge", "none"]}, "is": "at_most", "value": 0}


def analysis_of(expected, measure="stale_ratio", /, **seen):
    """A run whose trials have these values, by default stale ratios: {policy: [one a repetition]}, for two rates of
    edits."""
    valid = []
    for policy, values in seen.items():
        for repetition, value in enumerate(values):
            for rate in ("0.01", "0.05"):
                cell = {"policy": policy, "edit_ratio": rate}
                stats = SimpleNamespace(**{measure: None if value is None else value + (rate == "0.05") * value / 50})
                record = SimpleNamespace(cell=cell)
                number = len(valid) + 1
                valid.append(SimpleNamespace(
                    number=number, block=(0, repetition), cell=tuple(cell.items()), record=record, stats=stats,
                    limited=False,
                ))  # fmt: skip
    run = SimpleNamespace(experiment={"name": "policy", "expectations": expected})
    return SimpleNamespace(run=run, valid=valid)


def results(expected, measure="stale_ratio", /, **seen):
    return [one.result for one in expectations.decide(analysis_of(expected, measure, **seen))]


def test_a_clear_difference_confirms_or_refutes_and_an_unclear_one_leaves_it_open():
    (found,) = expectations.decide(analysis_of([FEWER], ttl=[0.5, 0.52, 0.49], purge=[0.01, 0.02, 0.01]))
    assert (found.result, found.difference.n) == ("confirmed", 3)  # a block is a repetition, with both rates of edits
    assert found.difference.high < -0.4 and found.p_holm < 0.001
    assert 0 < found.detectable < 0.2
    assert found.trials == tuple(range(1, 13))
    assert results([FEWER], ttl=[0.01, 0.02, 0.01], purge=[0.5, 0.52, 0.49]) == ["refuted"]
    assert results([FEWER], ttl=[0.5, 0.1, 0.3], purge=[0.3, 0.25, 0.2]) == ["undecided"]
    # A tenth of 0.5 is 0.05.
    assert results([{**FEWER, "times": 0.1}], ttl=[0.5, 0.52, 0.49], purge=[0.07, 0.08, 0.07]) == ["refuted"]
    assert results([{**FEWER, "plus": -0.1}], ttl=[0.5, 0.52, 0.49], purge=[0.45, 0.46, 0.45]) == ["refuted"]


def test_times_as_long_is_judged_by_the_ratio():
    slower = {**FEWER, "measure": "p99_ms", "in": {"policy": "purge"}, "times": 1.5}
    # One block of a busy moment, in which both took long: the differences spread, the ratios do not.
    quiet, other = [50.0, 60.0, 400.0, 55.0, 52.0], [55.0, 63.0, 450.0, 58.0, 56.0]
    (found,) = expectations.decide(analysis_of([slower], "p99_ms", ttl=quiet, purge=other))
    assert (found.result, found.difference, found.blocks) == ("confirmed", None, 5)
    assert 1.04 < found.ratio.low < found.ratio.centre < found.ratio.high < 1.15
    assert 1.4 < found.detectable < 1.5
    above = {**slower, "is": "above", "times": 1.01}
    (found,) = expectations.decide(analysis_of([above], "p99_ms", ttl=quiet, purge=other))
    assert (found.result, found.detectable > 1.01) == ("confirmed", True)
    assert results([above], "p99_ms", ttl=other, purge=quiet) == ["refuted"]
    # A margin in ms is one.
    (found,) = expectations.decide(analysis_of([{**slower, "plus": 1.0}], "p99_ms", ttl=quiet, purge=other))
    assert (found.result, found.ratio) == ("undecided", None)


def test_what_was_not_seen_is_undecided_and_stays_in_the_family():
    unseen = {**FEWER, "in": {"policy": "other"}}
    alone, beside = (
        expectations.decide(analysis_of(expected, ttl=[0.5, 0.52], purge=[0.41, 0.47]))[0]
        for expected in ([FEWER], [FEWER, unseen, unseen])
    )
    assert beside.p_holm == pytest.approx(3 * alone.p_holm)
    assert results([FEWER, unseen], ttl=[0.5, 0.52], purge=[0.1, 0.1])[1] == "undecided"
    assert results([FEWER, NONE], ttl=[None] * 2, purge=[None] * 2) == ["undecided", "undecided"]


def test_a_count_is_broken_by_one_trial():
    kept, broken = (expectations.decide(analysis_of([NONE], purge=[0, last], none=[0])) for last in (0, 0.001))
    assert (kept[0].result, kept[0].why) == ("confirmed", "true of 6 of 6 trials: 0.")
    assert (broken[0].result, broken[0].why) == ("refuted", "true of 4 of 6 trials: 0 to 0.0010.")


def test_within_needs_the_whole_interval_inside():
    near = {**FEWER, "is": "within", "plus": 0.05}
    assert results([near], ttl=[0.50, 0.52, 0.49], purge=[0.51, 0.52, 0.50]) == ["confirmed"]
    assert results([near], ttl=[0.50, 0.52, 0.49], purge=[0.59, 0.62, 0.60]) == ["refuted"]
    assert results([near], ttl=[0.50, 0.52, 0.49], purge=[0.41, 0.40, 0.40]) == ["refuted"]
    assert results([near], ttl=[0.50, 0.52, 0.49], purge=[0.49, 0.62, 0.50]) == ["undecided"]


def test_of_many_runs_without_any_difference_few_confirm_something():
    rng = np.random.default_rng(8)
    expected = [{**FEWER, "in": {"policy": name}} for name in "abc"]
    false = 0
    for _ in range(400):
        trials = {name: rng.normal(0.3, 0.02, 3).tolist() for name in ("ttl", *"abc")}
        # Only one rate of edits: the other one has the same draws.
        analysis = analysis_of(expected, **trials)
        analysis.valid = [one for one in analysis.valid if one.record.cell["edit_ratio"] == "0.01"]
        false += any(one.result != "undecided" for one in expectations.decide(analysis))
    assert false / 400 < ALPHA + 0.03


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("all is well", "is not an object"),
        ({**FEWER, "measure": "joy"}, "measure is none of hit_ratio"),
        ({**FEWER, "value": 1}, "either than or value"),
        ({**NONE, "is": "below"}, "is is none of"),
        ({**FEWER, "than": {"door": "cached"}}, "of the same factors"),
        ({**FEWER, "in": {"policy": ["purge", "none"]}}, "name one level each"),
        ({**FEWER, "in": {}}, "is not an object such as"),
        ({**FEWER, "times": float("inf")}, "times is not a number"),
        ({**FEWER, "is": "within"}, "within needs plus"),
        ({**FEWER, "that": "x" * 1000}, "that is not a sentence"),
    ],
)
def test_an_expectation_that_makes_no_sense_is_said_and_decides_nothing(entry, message):
    (found,) = expectations.decide(analysis_of([entry], ttl=[0.1], purge=[0.1]))
    assert found.result == "undecided"
    assert message in found.why


def test_the_expectations_of_the_project_name_levels_that_there_are():
    stated = 0
    for file in EXPERIMENTS.glob("*.json"):
        experiment = json.loads(file.read_text(encoding="utf-8"))
        for one in expectations.read(experiment):
            stated += 1
            for factor, levels in [*one.levels.items(), *(one.than or {}).items()]:
                assert set(levels) <= set(map(level_text, experiment["factors"][factor])), (file.name, one.that)
    assert stated >= 15
