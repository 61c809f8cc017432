"""The law of the counter, the clock and the overlap: a good run satisfies all; violations are reported in numbers."""

import shutil
from datetime import datetime, timedelta

import pytest
from run_folder_fixture import build_run_folder, edit_column, edit_json, edit_samples, find_trial, truncate, write_gzip

READ = ("requests", "reads")


def fail_of(analysis, number):
    return "; ".join(analysis.law.failures[number])


def reasons_of(analysis, number):
    return "; ".join(analysis.outcomes[number - 1].reasons)


@pytest.mark.parametrize(
    "experiment", ["read-hot", "overload", "overload-open", "at-once", "mixed-write", "write-vs-read-cached"]
)
def test_it_holds_in_a_good_run(tmp_path, analyse_run, experiment):
    analysis = analyse_run(build_run_folder(tmp_path, experiment=experiment, repetitions=1))
    assert analysis.law.failures == {}
    assert analysis.law.holds
    assert [o.reasons for o in analysis.outcomes if not o.valid] == []


@pytest.mark.parametrize(
    ("door", "counter", "words"),
    [
        ("cached", 11, "60 requests sent − 50 served by cache = 10, but the counter says 11"),
        ("local", 9, "counter 9, but 10 was expected"),
        ("source", 59, "60 requests sent − 0 served by cache = 60, but the counter says 59"),
    ],
)
def test_a_wrong_counter(run_folder, analyse_run, door, counter, words):
    number, folder = find_trial(run_folder, 2, door=door)
    edit_json(folder / "trial.json", lambda t: t["counter"].update(requests=counter))
    analysis = analyse_run(run_folder)
    assert not analysis.law.holds
    assert list(analysis.law.failures) == [number]
    assert words in fail_of(analysis, number)
    assert not analysis.outcomes[number - 1].valid


def test_the_background_is_in_the_law(overload_folder, analyse_run):
    number, folder = find_trial(overload_folder, background_vus=20, door="cached")
    edit_samples(folder, lambda lines: lines[:-1], kind="background")
    text = fail_of(analyse_run(overload_folder), number)
    assert "served by cache = " in text
    assert "samples of the background, but trial.json says that" in text


def test_an_expectation_that_theory_does_not_give(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 1, door="cached")

    def change(trial):
        trial["counter_expected"] = 11
        trial["counter"].update(requests=11, reads=11)
        trial["served_by_cache"] = 49
        trial["log_lines"]["origin"] = 11

    edit_json(folder / "trial.json", change)
    write_gzip(folder / "origin.log.gz", b"{}\n" * 11)
    assert "trial.json expects a counter of 11, but the samples give 10" in fail_of(analyse_run(run_folder), number)


def test_reads_and_writes_are_counted_apart(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="write-vs-read-cached", repetitions=1)
    number, folder = find_trial(run, operation="write")
    edit_json(folder / "trial.json", lambda t: t["counter"].update(reads=1, writes=49))
    assert "50 writes sent, but the counter says 49" in fail_of(analyse_run(run), number)


def test_missing_sample_rows(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 1, door="source")
    edit_samples(folder, lambda lines: lines[:-3])
    text = fail_of(analyse_run(run_folder), number)
    assert "57 samples, but trial.json says that 60 requests were sent" in text
    assert "57 iterations in the samples, but the plan has 60" in text


def test_a_trial_bound_by_time_may_send_fewer_than_its_plan(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 1, door="source")
    edit_samples(folder, lambda lines: lines[:-3])

    def change(trial):
        trial["settings"]["bound"] = "either"
        trial |= {"requests_sent": 57, "reads_sent": 57, "counter_expected": 57}
        trial["counter"].update(requests=57, reads=57)
        trial["log_lines"]["origin"] = 57

    edit_json(folder / "trial.json", change)
    write_gzip(folder / "origin.log.gz", b"{}\n" * 57)
    assert analyse_run(run_folder).outcomes[number - 1].reasons == ()


def test_a_page_that_was_never_asked_for(run_folder, analyse_run):
    number, _ = find_trial(run_folder, 1, door="cached")
    edit_json(run_folder / "manifest.json", lambda m: m["plans"][0].update(distinct_pages=11))
    assert "samples of 10 pages, but the plan has 11" in fail_of(analyse_run(run_folder), number)


def test_a_hit_without_a_cache(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 3, door="source")
    edit_column(folder, "cache_status", lambda text: "HIT")
    assert "60 requests served by a cache, but no cache is on the way" in fail_of(analyse_run(run_folder), number)


def test_the_log_of_the_origin_is_a_second_witness(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 3, door="source")
    edit_json(folder / "trial.json", lambda t: t["log_lines"].update(origin=61))
    write_gzip(folder / "origin.log.gz", b"{}\n" * 61)
    analysis = analyse_run(run_folder)
    assert analysis.law.holds  # requests and counter agree; only the log differs
    assert analysis.outcomes[number - 1].reasons == ("61 lines in the origin's log, but the counter says 60",)


def count(requests):
    return {"epoch": "a", "epoch_after": "a", "count": {"requests": requests, "reads": requests, "writes": 0}}


def record_totals(folder, *each):
    edit_json(folder / "trial.json", lambda t: t.update(wiki_totals={"each": list(each), "sum": None}))


LOST = {"epoch": "a", "epoch_after": "b", "count": None}


@pytest.mark.parametrize(
    ("each", "reasons"),
    [
        ([count(25), count(35)], ()),
        ([count(25), None], ()),
        ([count(25), count(34)], tuple(f"the wikis' totals have 59 {n}, but the counter says 60" for n in READ)),
        ([count(25), LOST], ("wiki 2 was started again during the trial, so its count is lost",)),
        ([count(60), "x"], ("trial.json: wiki_totals has a wiki that is neither null nor an object",)),
    ],
)
def test_the_totals_of_the_wikis_are_a_witness_too(run_folder, analyse_run, each, reasons):
    number, folder = find_trial(run_folder, 3, door="source")
    record_totals(folder, *each)
    assert analyse_run(run_folder).outcomes[number - 1].reasons == reasons


def test_failures_that_nobody_counted(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 3, door="source")
    edit_column(folder, "status", lambda text: "500")
    assert "60 failed samples, but trial.json says that 0 failed" in fail_of(analyse_run(run_folder), number)


def test_what_cannot_be_checked_does_not_hold(run_folder, analyse_run):
    shutil.rmtree(run_folder / "trials/0002")
    truncate(run_folder / "trials/0005/samples.csv.gz")
    analysis = analyse_run(run_folder)
    assert not analysis.law.holds
    assert analysis.law.failures == {}
    assert analysis.law.unchecked == (2, 5)
    assert [o.number for o in analysis.outcomes if not o.valid] == [2, 5]


def test_a_trial_that_the_run_called_invalid_stays_so(run_folder, analyse_run):
    edit_json(
        run_folder / "trials/0001/trial.json",
        lambda t: t.update(valid=False, invalid_reasons=["it was not cold"]),
    )
    edit_json(run_folder / "trials/0002/trial.json", lambda t: t.update(valid=False))
    analysis = analyse_run(run_folder)
    assert analysis.law.holds
    assert analysis.outcomes[0].reasons == ("it was not cold",)
    assert analysis.outcomes[1].reasons == ("marked invalid",)


def test_a_clock_that_stepped_shows_against_the_monotonic_one(run_folder, analyse_run):
    edit_json(run_folder / "trials/0001/trial.json", lambda t: t.update(monotonic_s=t["monotonic_s"] + 3600))
    edit_json(run_folder / "trials/0002/trial.json", lambda t: t.update(monotonic_s=t["monotonic_s"] + 0.04))
    analysis = analyse_run(run_folder)
    assert analysis.outcomes[0].reasons == ("the clock stepped by −3600.0 s during the trial",)
    assert analysis.outcomes[1].valid


@pytest.mark.parametrize(
    ("key", "hours", "words"),
    [("started_at", 1, "before the trial began"), ("finished_at", -1, "after the trial ended")],
)
def test_samples_outside_of_their_trial(run_folder, analyse_run, key, hours, words):
    def change(trial):
        # Both moments move, so that only the samples contradict them.
        for name in ("started_at", "finished_at"):
            moved = datetime.fromisoformat(trial[name]) + timedelta(hours=hours)
            trial[name] = moved.isoformat()

    edit_json(run_folder / "trials/0001/trial.json", change)
    assert words in reasons_of(analyse_run(run_folder), 1)


def test_an_overlap_that_is_not_proved(overload_folder, analyse_run):
    number, folder = find_trial(overload_folder, background_vus=20, door="source")
    edit_json(folder / "trial.json", lambda t: t["overlap"].update(proved=False))
    other, folder = find_trial(overload_folder, background_vus=250, door="source")
    edit_json(folder / "trial.json", lambda t: t.update(overlap=None))
    analysis = analyse_run(overload_folder)
    for trial in (number, other):
        assert reasons_of(analysis, trial) == "that background and probe overlapped is not proved"


def test_an_overlap_that_the_samples_deny(overload_folder, analyse_run):
    number, folder = find_trial(overload_folder, background_vus=20, door="source")
    edit_samples(folder, lambda lines: [lines[0], *lines[-5:]], kind="background")
    assert "the background began" in reasons_of(analyse_run(overload_folder), number)


def test_one_bad_trial_takes_no_other_down(overload_folder, analyse_run):
    number, folder = find_trial(overload_folder, background_vus=20, door="source")
    truncate(folder / "samples.csv.gz")
    analysis = analyse_run(overload_folder)
    assert [o.number for o in analysis.outcomes if not o.valid] == [number]


def test_a_trial_that_was_cut_off_may_have_asked_for_fewer_pages_than_its_plan(overload_folder, analyse_run):
    number, folder = find_trial(overload_folder, background_vus=20, door="source")
    edit_json(folder / "trial.json", lambda t: t.update(distinct_pages=t["distinct_pages"] + 30))
    assert analyse_run(overload_folder).outcomes[number - 1].valid
