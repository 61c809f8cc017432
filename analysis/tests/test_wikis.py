"""Several wikis: what grows with their number, what is planned and fails by method, and when nothing can be said."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from run_folder_fixture import build_run_folder, edit_json, edit_samples, find_trial, saturate, scale_times

from stevec_report import expectations, key_numbers, wiki_shares
from stevec_report.experiments import by_method, by_wikis, module_for, origins
from stevec_report.measures import MEASURES

TWICE = {
    "that": "Two wikis answer more.",
    "measure": "answered_per_s",
    "in": {"wikis": 2},
    "is": "above",
    "than": {"wikis": 1},
}
LEANER = TWICE | {"that": "Two wikis cost no more.", "measure": "requests_per_cpu_s", "times": 0.9}
REPETITIONS = 3
SCHEMA = Path(__file__).resolve().parents[2] / "loadgen/experiments/experiment.schema.json"


def hasten(folder):
    """Halve the times of a trial: those of its requests, and those between them."""
    scale_times(folder, 0.5)

    def halve(lines):
        rows = [line.split(",") for line in lines[1:]]
        begin = int(rows[0][0])
        return [lines[0], *(",".join([str(begin + (int(row[0]) - begin) // 2), *row[1:]]) for row in rows)]

    edit_samples(folder, halve)


@pytest.fixture
def run(tmp_path):
    """Three trials with one wiki, three with two that answer in half the time; the last request of the first trial
    failed. All parts used the same cores in each trial."""
    folder = build_run_folder(
        tmp_path,
        experiment="origins",
        repetitions=REPETITIONS,
        factors={"wikis": [1, 2]},
        door="source",
        edit_ratio=0.5,
        wiki_cpu_share=0.15,
        failures_at={1: 1},
    )
    for repetition in range(1, REPETITIONS + 1):
        for wikis in (1, 2):
            saturate(find_trial(folder, repetition, wikis=wikis)[1])
        hasten(find_trial(folder, repetition, wikis=2)[1])
    edit_json(folder / "manifest.json", lambda manifest: manifest["experiment"].update(expectations=[TWICE, LEANER]))
    return folder


def blocks_of(analysis):
    return {block.name: block for block in module_for(analysis.name).blocks(analysis) if hasattr(block, "name")}


def test_throughput_and_processor_time_are_compared_with_one_wiki_block_by_block(run, analyse_run):
    analysis = analyse_run(run)
    assert module_for("origins") is origins
    one, two = blocks_of(analysis)["origins"].rows
    assert (one["wikis"], two["wikis"], one["times_one"]) == (1, 2, None)
    rates = {o.number: o.stats.completed_per_s for o in analysis.valid}
    by_block = {(o.record.number("wikis"), o.block): rates[o.number] for o in analysis.valid}
    ratios = [by_block[2, block] / by_block[1, block] for wikis, block in by_block if wikis == 1]
    assert two["times_one"].centre == pytest.approx(statistics.geometric_mean(ratios))
    assert two["times_one"].bounds[0] > 1
    # The toy's parts used 0.6 and 0.2 cores.
    assert two["requests_per_cpu_s"].centre == pytest.approx(two["answered_per_s"].centre / 0.8)
    assert two["wiki_ms"] == pytest.approx(3 * two["database_ms"])
    # 600 requests were planned, and one of them failed.
    assert one["failed_share"] == pytest.approx(1 / 600)
    assert one["planned_per_s"].centre > one["answered_per_s"].centre
    assert [axes.get_title() for axes in by_wikis.figure(analysis).draw().axes] == list(by_wikis.LABELS.values())


def test_requests_are_counted_by_method_with_those_that_failed(run, analyse_run):
    analysis = analyse_run(run)
    found = blocks_of(analysis)
    rows = found["by-method"].rows
    assert [row["method"] for row in rows] == ["POST", "GET", "POST", "GET"]
    assert sum(row["planned"] for row in rows) == sum(row["succeeded"] for row in rows) + 1 == 1200
    assert [row["failed"] for row in rows].count(0) == 3
    assert all(row["min_ms"] <= row["median_ms"].centre <= row["max_ms"] for row in rows)
    (failure,) = found["failures-by-method"].rows
    assert (failure["kind"], failure["requests"]) == ("status 5xx", 1)


def test_requests_of_a_method_that_were_never_sent_have_a_row(run_folder, analyse_run):
    analysis = analyse_run(run_folder)
    plans = analysis.run.plans
    sent = {key: plan.requests for key, plan in plans.items()}
    assert not any(plan.writes for plan in plans.values())
    for key, plan in plans.items():
        plans[key] = replace(plan, requests=plan.requests + 10, writes=10)
    rows, failures = (block.rows for block in by_method.blocks(analysis))
    trials = len(analysis.valid)
    assert sum(row["planned"] for row in rows if row["method"] == "GET") == sum(
        sent[o.record.plan] for o in analysis.valid
    )
    posts = [row for row in rows if row["method"] == "POST"]
    assert sum(row["planned"] for row in posts) == sum(row["failed"] for row in posts) == 10 * trials
    assert all(row["median_ms"] is None and row["succeeded"] == 0 for row in posts)
    assert {(row["method"], row["kind"], row["share"]) for row in failures} == {("POST", "never sent", 1.0)}


def test_an_edit_that_is_read_back_plans_two_requests(run, analyse_run):
    analysis = analyse_run(run)
    outcome = analysis.valid[0]
    apart = by_method.planned(analysis, outcome)
    assert sum(apart.values()) == outcome.stats.requests == 200
    outcome.record.settings["edit"] = "create-get"
    assert by_method.planned(analysis, outcome) == {"POST": apart["POST"], "GET": 200}
    assert by_method.planned_in_all(analysis, outcome) == 200 + apart["POST"]


def test_expectations_about_more_wikis_are_decided_only_if_each_had_its_share(run, analyse_run):
    assert [one.result for one in expectations.decide(analyse_run(run))] == ["confirmed", "confirmed"]
    edit_json(run / "manifest.json", lambda manifest: manifest.update(wiki_shares_missing="cgroups are read-only"))
    analysis = analyse_run(run)
    assert [one.result for one in expectations.decide(analysis)] == ["undecided", "undecided"]
    said = module_for("origins").blocks(analysis)[0]
    assert said.text == f"{wiki_shares.WITHOUT} (cgroups are read-only)."
    assert wiki_shares.WITHOUT in expectations.decide(analysis)[0].why


def test_the_related_studies_failures_are_counted_and_not_as_it_says(run, analyse_run):
    rows = blocks_of(analyse_run(run))["related-latency"].rows
    (posts,) = [row for row in rows if (row["servers"], row["groups"], row["method"]) == (1, 30, "POST")]
    assert posts["failed"] == 8584
    assert len(blocks_of(analyse_run(run))["related-origins"].rows) == 9


def test_each_measure_that_an_expectation_may_name_can_stand_on_the_first_page(run, analyse_run):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    named = schema["definitions"]["expectation"]["properties"]["measure"]["enum"]
    assert set(named) <= MEASURES.keys()
    assert set(named) <= key_numbers.NAMES.keys()
    assert any("CPU second" in number.label for number in key_numbers.of(analyse_run(run), None))


def test_hosts_has_reads_and_writes_apart(tmp_path, analyse_run):
    operations = {"read": {"edit_ratio": 0}, "write": {"edit_ratio": 1}}
    wikis = {"1": {"wikis": 1, "vus": 30}, "2": {"wikis": 2, "vus": 60}}
    run = build_run_folder(
        tmp_path, experiment="hosts", repetitions=2, factors={"operation": operations, "wikis": wikis}, door="source"
    )
    found = blocks_of(analyse_run(run))
    assert [(row["rest"], row["wikis"]) for row in found["hosts"].rows] == [
        ("read", 1),
        ("read", 2),
        ("write", 1),
        ("write", 2),
    ]
    assert [row["reads_per_s"] for row in found["related-hosts"].rows] == [560, 730]
    titles = [axes.get_title() for axes in found["throughput-by-wikis"].draw().axes]
    assert titles[::2] == ["read: answered, 1/s", "write: answered, 1/s"]
    # Without control groups, the first words say that nothing can be concluded.
    assert wiki_shares.WITHOUT in module_for("hosts").blocks(analyse_run(run))[0].text
