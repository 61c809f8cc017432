"""In which trials requests queued in front of the door, beside trials that differ in their load alone."""

import gzip
import json

import pytest
from run_folder_fixture import build_run_folder, edit_json, find_trial, plan_samples, saturate, write_gzip

from stevec_report import trust
from stevec_report.experiments import machine_use

QUICK, SLOW = 20, 100  # requests a second


def build(tmp_path, **factors):
    """A run of the open model at the door cached, where 1 ms lies between the client and the door."""
    factors = {"door": ["cached"], "rate_per_s": [QUICK, SLOW]} | factors
    return build_run_folder(tmp_path, experiment="overload-open", repetitions=1, factors=factors)


def send_late(run, by_ms, **cell):
    """Send all requests of a trial later than planned: the door's log knows nothing of it. Returns its number."""
    number, folder = find_trial(run, 1, **cell)
    plan_samples(folder, lag_ms=lambda i: by_ms)
    return number


def queued(analysis):
    return [o.number for o in analysis.valid if o.limited_by == "queue"]


def test_more_than_twice_the_floor_and_a_fifth_of_the_time_is_a_queue(tmp_path, analyse_run):
    run = build(tmp_path)
    assert queued(analyse_run(run)) == []
    number = send_late(run, 9, rate_per_s=SLOW)
    assert queued(analyse_run(run)) == [number]


def test_what_is_a_small_part_of_the_time_is_no_queue(tmp_path, analyse_run):
    # At the source a request takes over 100 ms, and 5 ms in front of the door change no verdict.
    run = build(tmp_path, door=["source"])
    send_late(run, 4, rate_per_s=SLOW)
    assert queued(analyse_run(run)) == []


@pytest.mark.parametrize(
    "factor",
    [
        {"connection_reuse": [True, False]},
        {"page_size_chars": [500, 50_000]},
        {"edit_ratio": [0, 1]},
        {"door": ["local", "cached"]},
    ],
)
def test_each_kind_of_request_has_a_floor_of_its_own(tmp_path, analyse_run, factor):
    run = build(tmp_path, **factor)
    ((name, (_, dear)),) = factor.items()
    send_late(run, 9, rate_per_s=QUICK, **{name: dear})
    number = send_late(run, 39, rate_per_s=SLOW, **{name: dear})
    assert queued(analyse_run(run)) == [number]


def test_the_closed_model_has_a_floor_of_its_own(tmp_path, analyse_run):
    closed = {"model": "closed", "rate_per_s": None, "vus": 1}
    run = build(tmp_path, rate_per_s={"paced": {"rate_per_s": QUICK}, "crowd": {"rate_per_s": SLOW}, "closed": closed})
    send_late(run, 9, rate_per_s="paced")
    number = send_late(run, 39, rate_per_s="crowd")
    assert queued(analyse_run(run)) == [number]


def test_a_level_without_a_lighter_one_is_not_marked(tmp_path, analyse_run):
    factors = {"door": ["cached"], "rate_per_s": [SLOW]}
    run = build_run_folder(tmp_path, experiment="overload-open", repetitions=2, factors=factors)
    send_late(run, 39, rate_per_s=SLOW)
    analysis = analyse_run(run)
    assert queued(analysis) == []
    said = trust.sentences(analysis)[1]
    assert said.startswith("No valid trial was limited by the load generator. Whether requests queued in front of")
    assert "is not known: this takes the log of the door, a lighter load" in said


def test_a_log_of_another_server_that_has_no_times_tells_of_no_queue(tmp_path, analyse_run):
    run = build(tmp_path)
    send_late(run, 9, rate_per_s=SLOW)
    for log in run.glob("trials/*/*.log.gz"):
        lines = [json.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]
        untimed = [{name: value for name, value in line.items() if name != "duration_s"} for line in lines]
        write_gzip(log, "".join(f"{json.dumps(line)}\n" for line in untimed).encode())
    analysis = analyse_run(run)
    assert [o.stats.door_time for o in analysis.valid] == [None] * len(analysis.valid)
    assert queued(analysis) == []


def test_what_is_not_known_of_some_trials_is_said(tmp_path, analyse_run):
    run = build(tmp_path)
    edit_json(find_trial(run, 1, rate_per_s=SLOW)[1] / "trial.json", lambda trial: trial.update(log_lines={}))
    edit_json(find_trial(run, 1, rate_per_s=QUICK)[1] / "trial.json", lambda trial: trial["settings"].update(vus=1))
    assert [o.queued for o in analyse_run(run).outcomes] == [None, None]
    closed = {"model": "closed", "vus": 1}
    edit_json(find_trial(run, 1, rate_per_s=QUICK)[1] / "trial.json", lambda trial: trial["settings"].update(closed))
    assert "queued in front of the door is not known in 1 of 2 trials" in trust.sentences(analyse_run(run))[1]


@pytest.mark.parametrize(("vus", "expected"), [(1, 0), (2, 1)])
def test_a_single_client_does_not_queue_behind_itself(tmp_path, analyse_run, vus, expected):
    run = build(tmp_path)
    number = send_late(run, 39, rate_per_s=SLOW)
    for rate in (QUICK, SLOW):
        closed = {"model": "closed", "vus": vus}
        edit_json(find_trial(run, 1, rate_per_s=rate)[1] / "trial.json", lambda t, c=closed: t["settings"].update(c))
    assert queued(analyse_run(run)) == [number] * expected


@pytest.mark.parametrize("name", ["uplink_mbit_per_s", "origin_uplink_mbit_per_s", "client_uplink_mbit_per_s"])
def test_where_the_profile_limits_an_uplink_nothing_is_marked(tmp_path, analyse_run, name):
    run = build(tmp_path)
    number = send_late(run, 39, rate_per_s=SLOW)
    for rate_mbit_per_s, expected in ((None, [number]), (8.3, [])):
        links = {"client_edge_rtt_ms": 9, name: rate_mbit_per_s}
        edit_json(run / "manifest.json", lambda m, links=links: m["profile"].update(asked={"links": links}))
        assert queued(analyse_run(run)) == expected


def test_a_queue_is_named_beside_a_limit_behind_the_door(tmp_path, analyse_run):
    run = build(tmp_path)
    number = send_late(run, 39, rate_per_s=SLOW)
    saturate(find_trial(run, 1, rate_per_s=SLOW)[1], "wiki")
    analysis = analyse_run(run)
    outcome = next(o for o in analysis.outcomes if o.number == number)
    assert (outcome.record.limit, outcome.limited_by) == ("wiki", "queue")
    shown = [(row["limit"], row["limited_by"]) for row in machine_use.blocks(analysis)[0].rows]
    assert shown == [("not recorded", ""), ("wiki", "queue")]
