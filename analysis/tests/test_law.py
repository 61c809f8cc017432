"""The law of the counter: it holds in a good run, and every break of it is found and told with numbers."""

import shutil

import pytest
from run_folder_fixture import edit_json, edit_samples, find_trial, truncate, write_gzip


def fail_of(analysis, number):
    return "; ".join(analysis.law.failures[number])


def test_it_holds_in_a_good_run(run_folder, analyse_run):
    analysis = analyse_run(run_folder)
    assert analysis.law.holds
    assert analysis.law.held == tuple(range(1, 13))
    assert all(outcome.valid for outcome in analysis.outcomes)


@pytest.mark.parametrize(
    ("door", "counter", "words"),
    [
        ("cached", 11, "counter 11, but the plan has 10 different pages"),
        ("local", 9, "50 served by cache + counter 9 = 59, but 60 requests were sent"),
        ("source", 59, "counter 59, but 60 requests were sent and no cache is on the way"),
        ("nocache", 61, "0 served by cache + counter 61 = 61, but 60 requests were sent"),
    ],
)
def test_a_wrong_counter(run_folder, analyse_run, door, counter, words):
    number, folder = find_trial(run_folder, door, 2)

    def change(trial):
        trial["counter"]["requests"] = counter
        trial["counter_expected"] = counter  # trial.json itself sees nothing wrong

    edit_json(folder / "trial.json", change)
    analysis = analyse_run(run_folder)
    assert not analysis.law.holds
    assert list(analysis.law.failures) == [number]
    assert words in fail_of(analysis, number)
    assert not analysis.outcomes[number - 1].valid


def test_missing_sample_rows(run_folder, analyse_run):
    number, folder = find_trial(run_folder, "source", 1)
    edit_samples(folder, lambda lines: lines[:-3])
    text = fail_of(analyse_run(run_folder), number)
    assert "57 samples, but trial.json says that 60 requests were sent" in text
    assert "57 samples, but the plan has 60 requests" in text
    assert "counter 60, but 57 requests were sent and no cache is on the way" in text


def test_a_page_that_was_never_asked_for(run_folder, analyse_run):
    number, _ = find_trial(run_folder, "cached", 1)
    edit_json(run_folder / "manifest.json", lambda m: m["plans"][0].update(distinct_pages=11))
    text = fail_of(analyse_run(run_folder), number)
    assert "samples of 10 pages, but the plan has 11" in text
    assert "counter 10, but the plan has 11 different pages" in text


def test_a_hit_that_reached_the_origin(run_folder, analyse_run):
    number, folder = find_trial(run_folder, "cached", 3)

    def change(lines):
        out = list(lines)
        at = next(i for i, line in enumerate(out) if ",HIT," in line)
        out[at] = out[at].replace(",HIT,", ",EXPIRED,")
        return out

    edit_samples(folder, change)
    text = fail_of(analyse_run(run_folder), number)
    assert "49 served by cache + counter 10 = 59, but 60 requests were sent" in text
    assert "trial.json says 50" in text


def test_the_log_of_the_origin_is_a_second_witness(run_folder, analyse_run):
    number, folder = find_trial(run_folder, "source", 3)
    edit_json(folder / "trial.json", lambda t: t["log_lines"].update(origin=61))
    write_gzip(folder / "origin.log.gz", b"{}\n" * 61)
    analysis = analyse_run(run_folder)
    assert analysis.law.holds  # requests and counter add up; it is the witness that disagrees
    assert analysis.outcomes[number - 1].reasons == ("61 lines in the origin's log, but the counter says 60",)


def test_failures_that_nobody_counted(run_folder, analyse_run):
    number, folder = find_trial(run_folder, "source", 3)
    edit_samples(folder, lambda lines: [line.replace(",GET,200,", ",GET,500,") for line in lines])
    assert "60 failed samples, but trial.json says 0" in fail_of(analyse_run(run_folder), number)


def test_what_cannot_be_checked_does_not_hold(run_folder, analyse_run):
    shutil.rmtree(run_folder / "trials/0002")
    truncate(run_folder / "trials/0005/samples.csv.gz")
    analysis = analyse_run(run_folder)
    assert not analysis.law.holds
    assert analysis.law.failures == {}
    assert analysis.law.unchecked == (2, 5)
    assert len(analysis.law.held) == 10
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
