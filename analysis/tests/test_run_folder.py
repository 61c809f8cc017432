"""Which folders are read as complete runs, and the errors for the others."""

import shutil

import pytest
from run_folder_fixture import build_run_folder, build_study_folder, edit_json, find_trial

from stevec_report.measured_blocks import is_one_stack, sample_words
from stevec_report.run_folder import RunFolderError, read_run
from stevec_report.study_folder import read_results


def refuse(folder):
    with pytest.raises(RunFolderError) as caught:
        read_run(folder)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_whole_run_is_read(run_folder):
    run = read_run(run_folder)
    assert run.name == "20261121T100000Z-read-hot-abc1234"
    assert list(run.doors) == ["source", "nocache", "local", "cached"]
    assert [trial.number for trial in run.trials] == list(range(1, 13))
    assert all(trial.problems == [] for trial in run.trials)
    assert run.notes == []


def test_a_folder_without_manifest_is_no_run(tmp_path):
    assert "is not a run folder" in refuse(tmp_path)
    assert "is not a run folder" in refuse(tmp_path / "nowhere")


def test_a_newer_schema_is_refused(run_folder):
    edit_json(run_folder / "manifest.json", lambda m: m.update(schema_version=3))
    assert "schema version 3" in refuse(run_folder)
    assert "Update stevec" in refuse(run_folder)


def test_an_older_schema_is_refused(run_folder):
    edit_json(run_folder / "manifest.json", lambda m: m.update(schema_version=1))
    assert "schema version 1, of an older stevec" in refuse(run_folder)


@pytest.mark.parametrize("status", ["running", "interrupted", "failed", None, 7, "<b>"])
def test_an_incomplete_run_is_refused_with_its_progress(run_folder, status):
    edit_json(run_folder / "manifest.json", lambda m: m.update(status=status))
    shutil.rmtree(run_folder / "trials" / "0012")
    (run_folder / "trials" / "0011").rename(run_folder / "trials" / "0011.partial")
    text = refuse(run_folder)
    assert "10 of 12 trials exist" in text
    assert "--resume" in text or "run it again" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.pop("schema_version"), "schema_version is missing"),
        (lambda m: m.update(schema_version=True), "schema_version is missing or not of type int"),
        (lambda m: m.pop("experiment"), "experiment is missing"),
        (lambda m: m["experiment"].pop("name"), "name is missing"),
        (lambda m: m.update(trials_planned=-1), "trials_planned is -1"),
        (lambda m: m.update(trials_planned=10**6), "trials_planned is 1000000"),
        (lambda m: m.update(plans=[]), "plans is empty"),
        (lambda m: m.update(kind="walk"), "kind is neither"),
        (lambda m: m["experiment"].update(name="<b>"), "experiment.name is not kebab-case"),
        (lambda m: m["plans"].append(m["plans"][0]), "the id p1 twice"),
        (lambda m: m["plans"][0].pop("id"), "without an id"),
        (lambda m: m.update(doors={}), "doors has 0 entries"),
        (lambda m: m["doors"].update({"<b>": m["doors"]["local"]}), "not kebab-case"),
        (lambda m: m["doors"].update(local=3), "doors.local is not an object"),
    ],
)
def test_a_manifest_that_lacks_something_is_named(run_folder, change, words):
    edit_json(run_folder / "manifest.json", change)
    text = refuse(run_folder)
    assert text.startswith("manifest.json: ")
    assert words in text


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema_version": NaN}', "[" * 100_000])
def test_a_manifest_that_is_no_json_object_is_refused(run_folder, text):
    (run_folder / "manifest.json").write_text(text)
    assert refuse(run_folder).startswith("manifest.json: ")


def test_a_huge_manifest_is_not_read(run_folder):
    (run_folder / "manifest.json").write_bytes(b" " * 8_000_001)
    assert "larger than" in refuse(run_folder)


def test_doors_that_no_trial_uses_are_left_out(tmp_path):
    run = read_run(build_run_folder(tmp_path, repetitions=1, requests=5, factors={"door": ["cached", "source"]}))
    assert list(run.doors) == ["source", "cached"]


def test_levels_of_any_kind_become_texts(tmp_path):
    factors = {"page_size_chars": [[100, 200], 300], "kind": {"with <b>": {"ttl_s": 1.5}}}
    run = read_run(build_run_folder(tmp_path, experiment="my-own", repetitions=1, requests=5, factors=factors))
    cells = {tuple(trial.record.cell.items()) for trial in run.trials}
    assert cells == {
        (("page_size_chars", "100–200"), ("kind", "with <b>")),
        (("page_size_chars", "300"), ("kind", "with <b>")),
    }
    assert {trial.record.number("ttl_s") for trial in run.trials} == {1.5}


def test_a_missing_trial_is_a_problem_of_that_trial(run_folder):
    shutil.rmtree(run_folder / "trials" / "0003")
    run = read_run(run_folder)
    assert run.trials[2].record is None
    assert "missing" in run.trials[2].problems[0]
    assert all(not trial.problems for trial in run.trials if trial.number != 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.update(trial=9), "it says trial 9"),
        (lambda t: t.update(door="moon"), "door"),
        (lambda t: t.update(plan="p99"), 'no plan "p99"'),
        (lambda t: t.update(settings=[]), "settings is missing or not of type dict"),
        (lambda t: t.update(cell={str(i): i for i in range(17)}), "more than 16"),
        (lambda t: t.update(background=[]), "background is neither null nor an object"),
        (lambda t: t.update(valid="yes"), "valid is missing or not of type bool"),
        (lambda t: t.update(requests_sent=-1), "requests_sent is -1"),
        (lambda t: t.update(counter={}), "requests is missing"),
        (lambda t: t.update(started_at="yesterday"), "Invalid isoformat"),
        (lambda t: t.update(started_at="2026-11-21T10:00:00"), "no time zone"),
        (lambda t: t.update(log_lines={"edge": "many"}), "log_lines"),
    ],
)
def test_a_broken_trial_json_is_named(run_folder, change, words):
    edit_json(run_folder / "trials" / "0004" / "trial.json", change)
    trial = read_run(run_folder).trials[3]
    assert trial.record is None
    assert trial.problems[0].startswith("trial.json: ")
    assert words in trial.problems[0]


def test_a_trial_without_trial_json_is_named(run_folder):
    (run_folder / "trials" / "0004" / "trial.json").unlink()
    assert read_run(run_folder).trials[3].problems == ["trial.json is missing"]


def test_a_cell_that_was_measured_twice_counts_once(run_folder):
    number, folder = find_trial(run_folder, 2, door="cached")
    other, _ = find_trial(run_folder, 1, door="cached")
    edit_json(folder / "trial.json", lambda t: t.update(repetition=1))
    trials = read_run(run_folder).trials
    later, earlier = max(number, other), min(number, other)
    assert trials[later - 1].problems == [f"repeats the cell and repetition of trial {earlier}"]


def test_trials_beyond_the_plan_are_mentioned(run_folder):
    shutil.copytree(run_folder / "trials" / "0001", run_folder / "trials" / "0013")
    (notes,) = read_run(run_folder).notes
    assert "0013" in notes


def test_reasons_are_limited(run_folder):
    edit_json(run_folder / "trials" / "0001" / "trial.json", lambda t: t.update(invalid_reasons=["x" * 600] * 99))
    reasons = read_run(run_folder).trials[0].record.invalid_reasons
    assert len(reasons) == 20
    assert all(len(reason) == 500 for reason in reasons)


def test_of_a_run_that_goes_on_whole_blocks_are_read(run_folder):
    run = read_run(run_folder)
    cells = len(run.trials) // 3
    edit_json(run_folder / "manifest.json", lambda manifest: manifest.update(status="partial", repetitions_done=2))
    partial = read_run(run_folder)
    assert [trial.record.repetition for trial in partial.trials] == [1] * cells + [2] * cells
    assert partial.notes == ["2 of 3 blocks are measured: the study goes on with `stevec run --resume`."]
    # Its study knows of one block, as it was killed in the second.
    edit_json(run_folder / "manifest.json", lambda manifest: manifest.update(status="running"))
    with pytest.raises(RunFolderError, match="is not complete"):
        read_run(run_folder)
    assert len(read_run(run_folder, blocks=1).trials) == cells


def test_of_a_study_that_goes_on_whole_blocks_are_read(tmp_path):
    study = build_study_folder(tmp_path, experiments=("read-hot", "read-sparse"), repetitions=3)
    edit_json(study / "manifest.json", lambda manifest: manifest.update(status="interrupted"))
    with pytest.raises(RunFolderError, match="The study is not complete"):
        read_results(study)
    edit_json(study / "manifest.json", lambda manifest: manifest.update(sample={"blocks": [{}, {}]}))
    assert [len(entry.run.trials) for entry in read_results(study).runs] == [8, 4]


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ({}, ""),
        (
            {"blocks": [{}] * 3, "blocks_planned": 9, "reasons": ["3 of 9 blocks are measured"]},
            "3 of 9 blocks are measured. The study is not a sample yet.",
        ),
        ({"blocks": [{}] * 9, "blocks_planned": 9, "is_sample": True}, "9 of 9 blocks are measured."),
        (
            {"blocks": [{}] * 2, "blocks_planned": 2, "reasons": [f"reason {n}" for n in range(8)]},
            "2 of 2 blocks are measured. The study is not a sample: "
            "reason 0; reason 1; reason 2; reason 3; reason 4; reason 5; and 2 more.",
        ),
    ],
)
def test_a_sample_says_how_much_of_it_there_is(sample, words):
    assert sample_words({"sample": sample}) == words


def test_only_a_sample_of_several_blocks_has_several_stacks():
    assert is_one_stack({}) and is_one_stack({"sample": {"blocks": [{}]}})
    assert not is_one_stack({"sample": {"blocks": [{}, {}]}})
