"""Comparing two runs: which differences are real, which runs are refused, and which gates are violated."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from compared_runs import PROFILE, build
from run_folder_fixture import edit_json, edit_samples, resume, saturate, truncate

from stevec_compare import folders
from stevec_compare.__main__ import main
from stevec_compare.errors import CompareError
from stevec_compare.gate import LIMITS
from stevec_compare.run import read_numbers

NUMBERS = {}


def compare(a, b, force=False):
    """The comparison of one run of each side."""
    return folders.compare([a], [b], force=force).comparison


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run, one that differs in its seed only, and one whose cached door is a quarter slower."""
    parent = tmp_path_factory.mktemp("results")
    return {
        "before": build(parent / "before", seed=1),
        "again": build(parent / "again", seed=2),
        "slower": build(parent / "slower", seed=3, slower={"cached": 1.25}),
    }


@pytest.fixture(autouse=True)
def read_once(runs, monkeypatch):
    """Read the samples of `runs` only once: no test changes them, and reading takes most of a comparison's time."""
    shared = {path.resolve() for path in runs.values()}

    def read(run):
        if run.path.resolve() not in shared:
            return read_numbers(run)
        if run.path not in NUMBERS:
            NUMBERS[run.path] = read_numbers(run)
        return NUMBERS[run.path]

    monkeypatch.setattr(folders, "read_numbers", read)


def test_two_runs_differ_and_nothing_is_called_real(runs, capsys):
    comparison = compare(runs["before"], runs["slower"])
    found = comparison.differences
    cached, source = (found["mean_ms"][f"door={door}"] for door in ("cached", "source"))
    assert cached.significant and cached.low < 1.25 < cached.high and cached.effect > 3
    assert not source.significant and source.low < 1 < source.high
    assert found["p95_ms"]["door=cached"].significant
    assert comparison.unit == "trial" and not any(one.real for one in comparison.tests)
    assert found["hit_ratio"] == found["stale_ratio"] == found["failed_ratio"] == {}
    assert comparison.constants["hit_ratio", "door=cached"] == (0.95, 0.95)
    assert main([str(runs["before"]), str(runs["slower"])]) == 0
    said = capsys.readouterr().out
    assert "of these two runs only" in said and "2 of 4 measures differ between these two runs" in said
    assert "hit ratio of door=cached: 95 %" in said and "  *" not in said


def test_the_same_version_twice_differs_in_nothing(runs, capsys):
    assert main([str(runs["before"]), str(runs["again"])]) == 0
    assert "0 of 4 measures differ between these two runs." in capsys.readouterr().out


def test_runs_of_one_plan_are_paired(tmp_path, runs):
    twin = build(tmp_path / "twin", seed=1, slower={"source": 1.02, "cached": 1.02})
    comparison = compare(runs["before"], twin)
    assert comparison.paired and not compare(runs["before"], runs["again"]).paired
    # Both have the same random draws, so only the 2 % remain; an unpaired interval would be wider than that.
    found = comparison.differences["mean_ms"]["door=source"]
    assert found.significant and found.estimate == pytest.approx(1.02, abs=1e-3) and found.high - found.low < 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiment": {"name": "overload"}}, r'the experiment differs \("read-hot" and "overload"\)'),
        (
            {
                "experiment": {
                    "name": "read-hot",
                    "settings": {"pages": 20},
                    "factors": {"door": ["source", "cached"]},
                }
            },
            r"the settings differ \(pages: 10 and 20\)",
        ),
        ({"profile": {"name": "board"}}, "the profile differs"),
        (
            {"profile": PROFILE | {"calibration": {"experiment": "read-hot", "fitted": {"cpu_share": 0.2}}}},
            "what was fitted differs .* --force",
        ),
        ({"target": {"kind": "cloudflare", "zone": "example.com"}}, "the kind of target differs"),
        (
            {
                "experiment": {
                    "name": "read-hot",
                    "settings": {"pages": 10, "policy": "purge-url"},
                    "factors": {"door": ["source", "cached"]},
                }
            },
            r'the settings differ \(policy: null and "purge-url"\)',
        ),
        ({"profile": PROFILE | {"sha256": "1"}}, "the profile's content differs"),
        ({"profile": PROFILE | {"applied": {"cpu": True}}}, "what of the profile was applied differ"),
        ({"schema_version": 1}, "schema version 1, of an older stevec"),
        ({"status": "interrupted"}, "is not complete"),
        ({"kind": "study"}, "name one of its runs/ folders"),
        (
            {"host": {"cpu_model": "Another", "cores": 2, "memory_bytes": 4_000_000_000, "kernel": "6.1"}},
            "--force",
        ),
        ({"versions": {"node": "22.0.0", "k6": "1.8.1"}}, r"the versions differ \(node: .* --force"),
    ],
)
def test_incomparable_runs_are_refused_with_the_reason(tmp_path, runs, change, message):
    other = build(tmp_path / "other", seed=2, repetitions=1, **change)
    with pytest.raises(CompareError, match=message):
        compare(runs["before"], other)


def test_one_seed_that_gave_other_requests_is_another_lab(tmp_path, runs):
    def build_with(name, own_seed, word):
        plan = {"id": "p1", "repetition": 1, "hash": word, "requests": 200, "writes": 0, "distinct_pages": 10}
        folder = build(tmp_path / name, seed=2, repetitions=1, plans=[plan])
        edit_json(folder / "manifest.json", lambda manifest: manifest.update(seed=own_seed))
        return folder

    same, other, unlike = build_with("same", 5, "a"), build_with("other", 5, "b"), build_with("unlike", 6, "b")
    with pytest.raises(CompareError, match=r"the requests differ, although .* \(repetition 1\)\. --force"):
        compare(same, other)
    assert any("the requests differ" in text for text in compare(same, other, force=True).warnings)
    assert not any("requests" in text for text in compare(same, unlike).warnings)


def test_force_lets_only_the_arguable_pass(tmp_path, runs, capsys):
    other = build(tmp_path / "other", seed=2, versions={"node": "22.0.0", "k6": "1.8.1"})
    assert main([str(runs["before"]), str(other), "--force"]) == 0
    assert "note: compared by force: the versions differ" in capsys.readouterr().out
    edit_json(other / "manifest.json", lambda value: value["experiment"].update(name="overload"))
    with pytest.raises(SystemExit) as stopped:
        main([str(runs["before"]), str(other), "--force"])
    assert stopped.value.code == 2


def test_trials_that_cannot_be_trusted_are_left_out_and_named(tmp_path, runs):
    other = build(tmp_path / "other", seed=2)
    truncate(other / "trials/0001/samples.csv.gz")
    edit_json(other / "trials/0002/trial.json", lambda value: value["counter"].update(requests=11))
    edit_json(
        other / "trials/0003/trial.json",
        lambda value: value.update(valid=False, invalid_reasons=["k6 crashed"]),
    )
    edit_samples(other / "trials/0004", lambda lines: lines[:-1])
    (other / "trials/0005/trial.json").unlink()
    comparison = compare(runs["before"], other)
    assert len(comparison.second[0].cells["door=source"]) == 5
    assert len(comparison.second[0].cells["door=cached"]) == 6
    for number, reason in (
        (1, "is cut off"),
        (2, "counter says 11"),
        (3, "k6 crashed"),
        (4, "199 samples"),
        (5, "trial.json"),
    ):
        assert any(f"trial {number}:" in text and reason in text for text in comparison.warnings), number


def test_limited_trials_are_compared_by_their_counts_alone(tmp_path, runs):
    other = build(tmp_path / "other", seed=2, slower={"cached": 1.25})
    whole = compare(runs["before"], other).differences
    assert whole["mean_ms"]["door=cached"].significant
    edit_json(other / "trials/0002/trial.json", lambda value: value["k6"].update(generator_limited=True))
    found = compare(runs["before"], other)
    assert found.warnings == ("other, trial 2: limited by the load generator; its times and failures are left out",)
    assert found.differences["mean_ms"]["door=cached"] != whole["mean_ms"]["door=cached"]
    assert found.constants["hit_ratio", "door=cached"] == (0.95, 0.95)
    for folder in (other / "trials").iterdir():
        if int(folder.name) % 2 == 0:  # the door `cached`
            saturate(folder, "machine")
    found = compare(runs["before"], other)
    assert set(found.differences["mean_ms"]) == set(found.differences["p95_ms"]) == {"door=source"}
    assert found.constants["hit_ratio", "door=cached"] == (0.95, 0.95)
    assert found.second[0].counts == "16 of 16 trials valid, 8 limited by the whole machine, 0 disturbed"


@pytest.mark.parametrize(("undecided", "code"), [("pass", 0), ("fail", 1)])
def test_a_gate_on_times_cannot_be_decided_by_limited_trials(tmp_path, runs, capsys, undecided, code):
    other = build(tmp_path / "other", seed=2, slower={"cached": 3})
    for folder in (other / "trials").iterdir():
        saturate(folder, "links")
    file = tmp_path / "gate.json"
    file.write_text(json.dumps({"mean_ratio_max": 1.1, "failures_max": 0, "undecided": undecided}), encoding="utf-8")
    assert main([str(runs["before"]), str(other), "--gate", str(file)]) == code
    said = capsys.readouterr().out
    assert "gate undecided mean_ratio_max at door=cached: it cannot be decided: all its trials in other" in said
    assert "gate undecided failures_max at door=source" in said
    assert "limited by the links. Take a slower origin" in said


def test_a_disturbed_trial_is_compared_and_named(tmp_path, runs):
    other = build(tmp_path / "other", seed=2)
    whole = compare(runs["before"], other).differences
    saturate(other / "trials/0002", disturbed="other processes had 14 % of the cores")
    found = compare(runs["before"], other)
    assert found.differences == whole
    assert found.warnings == ("other, trial 2: disturbed, and compared: other processes had 14 % of the cores",)


def test_a_run_whose_conditions_changed_is_compared_by_force_alone(tmp_path, runs):
    other = build(tmp_path / "other", seed=2, resumed_at=[])
    resume(other, range(9, 17), 'host.kernel was "6.1" and is now "6.9"')
    with pytest.raises(CompareError, match=r"the conditions changed within other \(host\.kernel .* --force"):
        compare(runs["before"], other)
    assert any("conditions changed" in text for text in compare(runs["before"], other, force=True).warnings)


def test_a_cell_that_only_one_run_has_is_said(tmp_path, runs):
    experiment = {"name": "read-hot", "settings": {"pages": 10}, "factors": {"door": ["source", "cached"]}}
    other = build(tmp_path / "other", seed=2, doors=("source",), experiment=experiment)
    comparison = compare(runs["before"], other)
    assert comparison.cells == ("door=source",)
    assert "other has no valid trial of door=cached" in comparison.warnings


def test_a_cell_that_was_not_measured_keeps_no_limit(tmp_path, runs, capsys):
    other = build(tmp_path / "other", seed=2, repetitions=2)
    for number in (2, 4):
        edit_json(
            other / f"trials/{number:04d}/trial.json",
            lambda value: value.update(valid=False, invalid_reasons=["k6 crashed"]),
        )
    file = tmp_path / "gate.json"
    for gate, code in (({"failures_max": 0}, 1), ({"cells": [{"where": {"door": "source"}, "failures_max": 0}]}, 0)):
        file.write_text(json.dumps(gate), encoding="utf-8")
        assert main([str(runs["before"]), str(other), "--gate", str(file)]) == code
        assert ("violated  failures_max at door=cached: B has no valid trial of it" in capsys.readouterr().out) == code


def test_the_gate_of_the_documentation_is_one(tmp_path, runs):
    text = (Path(__file__).parents[2] / "docs/comparing.md").read_text(encoding="utf-8")
    shown = text.split("<!-- gate -->\n```json\n")[1].split("```")[0]
    (tmp_path / "gate.json").write_text(shown, encoding="utf-8")
    assert main([str(runs["before"]), str(runs["again"]), "--gate", str(tmp_path / "gate.json")]) == 0
    assert main([str(runs["before"]), str(runs["slower"]), "--gate", str(tmp_path / "gate.json")]) == 1
    for limit in LIMITS:
        assert f"`{limit}`" in text


def test_a_defect_is_no_violated_gate(runs):
    broken = "import runpy, stevec_compare.folders as c; c.compare = lambda *_: 1 / 0\n"
    broken += "runpy.run_module('stevec_compare', run_name='__main__')"
    command = [sys.executable, "-c", broken, str(runs["before"]), str(runs["again"])]
    found = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert found.returncode == 3 and "ZeroDivisionError" in found.stderr


@pytest.mark.parametrize(
    ("gate", "against", "code"),
    [
        ({"mean_ratio_max": 1.1, "failures_max": 0}, "again", 0),
        ({"mean_ratio_max": 1.1}, "slower", 1),
        ({"mean_ratio_max": 1.1, "cells": [{"where": {"door": "cached"}, "mean_ratio_max": 2}]}, "slower", 0),
        ({"cells": [{"where": {"door": "cached"}, "hit_ratio_min": 0.9}]}, "again", 0),
        ({"hit_ratio_min": 0.9}, "again", 1),
        # The estimate 1.25 is above the limit, but its interval includes the limit.
        ({"mean_ratio_max": 1.2}, "slower", 0),
        ({"mean_ratio_max": 1.2, "undecided": "fail"}, "slower", 1),
        ({"stale_ratio_max": 0.01, "undecided": "fail"}, "again", 1),
    ],
)
def test_a_gate_closes_on_what_violates_it(tmp_path, runs, gate, against, code):
    file = tmp_path / "gate.json"
    file.write_text(json.dumps(gate), encoding="utf-8")
    assert main([str(runs["before"]), str(runs[against]), "--gate", str(file)]) == code


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("{", "gate"),
        ("[]", "gate is not an object"),
        ('{"mean_max": 2}', "'mean_max', which is no limit; there is: mean_ratio_max"),
        ('{"mean_ratio_max": "2"}', "gate.mean_ratio_max is not a number"),
        ('{"mean_ratio_max": NaN}', "gate.mean_ratio_max is not a number"),
        ("{}", "no limit"),
        ('{"undecided": "maybe", "failures_max": 0}', "undecided is"),
        ('{"cells": [{"failures_max": 0}]}', r"cells\[0\].where"),
        ('{"cells": [{"where": {"door": "attic"}, "failures_max": 0}]}', "which no cell has"),
        ("[" * 100_000, "larger|recursion|nested|not"),
    ],
)
def test_a_gate_that_makes_no_sense_is_wrong_use(tmp_path, runs, capsys, gate, message):
    file = tmp_path / "gate.json"
    file.write_text(gate, encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main([str(runs["before"]), str(runs["again"]), "--gate", str(file)])
    assert stopped.value.code == 2
    assert re.search(message, capsys.readouterr().err)


def test_the_picture_and_the_json_say_the_same_each_time(tmp_path, runs, capsys):
    pictures = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for picture in pictures:
        assert main([str(runs["before"]), str(runs["slower"]), "--json", "--svg", str(picture)]) == 0
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert ET.fromstring(pictures[0].read_text()).tag.endswith("svg")
    first, second = capsys.readouterr().out.split("}\n{")
    value = json.loads(first + "}")
    assert value == json.loads("{" + second)
    assert value["differences"]["mean_ms"]["door=cached"]["differs"] is True
