"""The experiments beyond the study: their tables and sentences for generated data."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from run_folder_fixture import build_run_folder, edit_json, edit_samples, find_trial, plan_samples, write_gzip
from scipy.stats import chi2

from stevec_predict.popularity import zipf
from stevec_report.blocks import Table, Words
from stevec_report.experiments import door_times, module_for, trials
from stevec_report.parts import Part
from stevec_report.threats import list_threats

ROOT = Path(__file__).resolve().parents[2]
# How often the lab's plan chooses each page, as JSON; run by node, as k6 and the lab do.
COUNTS = """
import { requestAt } from './loadgen/scenarios/plan.js'
const { plan, edits } = JSON.parse(process.argv[1])
const seen = new Array(plan.pages).fill(0)
for (let index = 0; index < plan.requests; index++) {
  const { page, edit } = requestAt(plan, index)
  if (edit === edits) seen[page] += 1
}
console.log(JSON.stringify(seen))
"""


def table(analysis, name):
    return next(b for b in module_for(analysis.name).blocks(analysis) if getattr(b, "name", "") == name)


def words(analysis):
    return next(b.text for b in module_for(analysis.name).blocks(analysis) if hasattr(b, "kind"))


@pytest.mark.parametrize(("exponent", "edits"), [(0.5, False), (0.9, False), (0.9, True)])
def test_the_lab_draws_pages_by_the_law_that_the_prediction_has(exponent, edits):
    pages, popularity = 500, {"zipf": exponent}
    plan = {"seed": 11, "stream": 5, "requests": 200_000, "pages": pages, "edit_ratio": 0.5}
    plan |= {"popularity": "uniform" if edits else popularity, "edit_popularity": popularity}
    command = ["node", "--input-type=module", "--eval", COUNTS, json.dumps({"plan": plan, "edits": edits})]
    seen = np.array(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))
    law = zipf(pages, exponent)
    expected = seen.sum() * law.share
    low, high = chi2.ppf([0.001, 0.999], pages - 1)
    assert law.pages.tolist() == [1] * pages
    assert low < ((seen - expected) ** 2 / expected).sum() < high


def test_wikipedia_like_tells_popularities_apart(tmp_path, analyse_run):
    levels = {
        "uniform": {"popularity": "uniform", "edit_popularity": "uniform", "pages": 400},
        "zipf-0-9": {"popularity": {"zipf": 0.9}, "edit_popularity": {"zipf": 0.9}, "pages": 20},
    }
    run = build_run_folder(
        tmp_path, experiment="wikipedia-like", factors={"popularity": levels}, requests=500, edit_ratio=0.02
    )
    analysis = analyse_run(run)
    rows = table(analysis, "popularity").rows
    assert [row["popularity"] for row in rows] == ["uniform", "Zipf 0.9"]
    # The toy cache serves a page from its second read on, and drops it at an edit.
    assert rows[0]["hit_ratio"] < 0.6 < 0.8 < rows[1]["hit_ratio"]
    assert rows[0]["offload_bytes"] == pytest.approx(rows[0]["hit_ratio"])
    assert rows[1]["stale_percent"].centre == 0
    assert "; the share grows with the exponent in every repetition." in words(analysis)
    assert "At most 0 % of reads were stale; in 4 of 4 trials it was less than 1 %" in words(analysis)
    for repetition, level in ((1, "uniform"), (2, "zipf-0-9")):
        folder = find_trial(run, repetition, popularity=level)[1]
        edit_json(folder / "trial.json", lambda trial: trial.update(valid=False, invalid_reasons=["cut off"]))
    assert "; whether the share grows with the exponent is not known" in words(analyse_run(run))


def test_a_page_that_is_read_by_law_is_a_hit_where_it_ranks_high(tmp_path, analyse_run):
    factors = {"popularity": {"uniform": {"popularity": "uniform"}}}
    run = build_run_folder(tmp_path, experiment="wikipedia-like", factors=factors, requests=300, pages=8)
    analysis = analyse_run(run)
    module = module_for("wikipedia-like")
    line = module._line(analysis, module._of_exponent(analysis, 0.0))
    # Ranks 1, 2 to 3, 4 to 7; the toy's page 0 has none.
    assert [round(rank, 2) for rank in line["ranks"]] == [1, 2.83, 5.66]
    assert all(0.9 < ratio < 1 for ratio in line["ratios"])
    assert table(analysis, "hits-by-rank").draw().axes[0].get_xlabel() == "rank of the page"


def test_overload_open_shows_times_from_the_plan_and_what_was_never_sent(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="overload-open", repetitions=1)
    _, folder = find_trial(run, 1, door="cached", rate_per_s=50)
    plan_samples(folder, lag_ms=lambda i: 40, never_sent=5)
    shown = next(b for b in module_for("overload-open").blocks(analyse_run(run)) if isinstance(b, Table))
    rows = {(row["door"], row["offered_per_s"]): row for row in shown.rows}
    planned, unplanned = rows["cached", 50], rows["cached", 20]
    assert planned["lag_p99_ms"] == 40
    assert (planned["p99_ms"], planned["service_p99_ms"]) == (None, None)  # of 50 requests
    assert planned["mean_ms"] > 40 > unplanned["mean_ms"]
    assert planned["never_sent_share"] == pytest.approx(5 / 55)
    assert planned["p99_of_all"] == "> 60 s"
    # Results from before the plan was recorded.
    assert unplanned["lag_p99_ms"] is None


def test_the_lag_of_the_schedule_is_shown_with_its_median_and_its_greatest_value(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="overload-open", repetitions=1)
    _, folder = find_trial(run, 1, door="cached", rate_per_s=50)
    schedule = {"never_sent": 0, "lag_p50_ms": 0.2, "lag_p99_ms": 7.5, "lag_max_ms": 31.0, "response_mean_ms": 1.0}
    edit_json(folder / "trial.json", lambda trial: trial.update(schedule=schedule))
    analysis = analyse_run(run)
    shown = next(b for b in module_for("overload-open").blocks(analysis) if isinstance(b, Table))
    for rows in (shown.rows, trials.table(analysis).rows):
        lags = [tuple(row.get(f"lag_{name}_ms") for name in ("p50", "p99", "max")) for row in rows]
        assert [lag for lag in lags if lag != (None, None, None)] == [(0.2, 7.5, 31.0)]
    part = Part("overload-open", "..", "", run=analysis.run, outcomes=analysis.outcomes)
    text = dict(list_threats(analysis.run, [part]))["The generator"]
    assert "requests were sent 0.200 ms (median), 7.50 ms (p99) and 31.0 ms (maximum) after it" in text


def test_a_queue_in_front_of_the_door_is_found_by_the_door_s_log(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="overload-open", repetitions=1)
    number, folder = find_trial(run, 1, door="cached", rate_per_s=100)
    # The generator sends each request 40 ms late; the log of the door knows nothing of it.
    plan_samples(folder, lag_ms=lambda i: 40)
    analysis = analyse_run(run)
    rows = {row["cell"]: row for row in next(b for b in door_times.blocks(analysis) if isinstance(b, Table)).rows}
    assert [o.number for o in analysis.valid if o.limited] == [number]
    assert rows["cached, rate_per_s 100"]["limited_by"] == "queue"
    assert rows["cached, rate_per_s 100"]["between_ms"].centre == pytest.approx(41, abs=0.1)
    assert rows["cached, rate_per_s 20"]["limited_by"] == ""
    assert rows["cached, rate_per_s 20"]["between_ms"].centre == pytest.approx(1, abs=0.1)
    saturation = next(b for b in module_for("overload-open").blocks(analysis) if isinstance(b, Table))
    limited = {(row["door"], row["offered_per_s"]): row["keeps_up"] for row in saturation.rows if row["limited_by"]}
    assert limited == {("cached", 100): "cannot be decided"}


def test_compressed_ratios_are_said_and_runs_without_logs_have_no_door_times(run_folder, analyse_run):
    words = [b.text for b in door_times.blocks(analyse_run(run_folder)) if isinstance(b, Words)]
    # At the client 12 ÷ 2.4 ms, at the doors 11 ÷ 1.4.
    assert len(words) == 1 and "ratios between doors are compressed" in words[0]
    for folder in (run_folder / "trials").iterdir():
        edit_json(folder / "trial.json", lambda trial: trial.update(log_lines={}))
    assert door_times.blocks(analyse_run(run_folder)) == []


def test_flash_crowd_counts_who_waits_for_the_origin_at_once(tmp_path, analyse_run):
    burst = {"factor": 10, "at_s": 0, "ramp_s": 0, "for_s": 2}
    factors = {
        "moment": {"expiry": {"ttl_s": 2, "burst": burst}},
        "protection": {"none": {"collapsing": False}, "collapsing": {"collapsing": True}},
    }
    open_model = {"model": "open", "rate_per_s": 100, "bound": "either", "duration_max_s": 5}
    run = build_run_folder(tmp_path, experiment="flash-crowd", factors=factors, pages=1, requests=300, **open_model)
    number, folder = find_trial(run, 1, protection="none")

    def at_once(lines):
        # Ten reads at the same moment, then ten more, one by one; all are misses.
        begin = int(lines[1].split(",")[0])
        found = [lines[0]]
        for i in range(20):
            sent = begin + (0 if i < 10 else i * 100_000)
            found.append(f"{sent},{i},page-000000,GET,200,,MISS,200.0,5210,1")
        return found

    edit_samples(folder, at_once)
    edit_json(
        folder / "trial.json", lambda t: t.update(requests_sent=20, served_by_cache=0, reads_sent=20, writes_sent=0)
    )
    edit_json(folder / "trial.json", lambda t: t.update(counter={"requests": 20, "reads": 20, "writes": 0}))
    edit_json(folder / "trial.json", lambda t: t.update(log_lines={}, cache_statuses={"MISS": 20}))
    analysis = analyse_run(run)
    assert [o.reasons for o in analysis.outcomes if o.number == number] == [()]
    module = module_for("flash-crowd")
    outcome = next(o for o in analysis.outcomes if o.number == number)
    assert module._asked(analysis, outcome) == {"readers": 20, "at_once": 10, "fetch_ms": 200.0}
    rows = table(analysis, "flash-crowd").rows
    assert [row["protection"] for row in rows] == ["none", "collapsing"]
    assert rows[0]["waiting_at_once"] == 10
    # 100 requests a second, ten times as many in the burst, 0.2 s for each fetch.
    assert module._arrivals({"trials": [outcome], "asked": [module._asked(analysis, outcome)]}) == pytest.approx(200)
    assert "Without collapsing, all of them reach the origin" in words(analysis)
    panels = module._panels(analysis, [module._cell(analysis, "expiry", "none")])
    assert panels[0]["crowd_s"] == (0, 2)
    assert panels[0]["lines"][0]["waits_ms"][0] == 200
    assert table(analysis, "waits-over-time").draw().axes[0].get_title() == "expiry"


DOWN = {"model": "open", "rate_per_s": 100, "bound": "either", "duration_max_s": 8, "pages": 5, "requests": 700}
KILL_MS, DEAD_MS, STARTED_MS, BACK_MS = 2000, 2010, 4000, 4100


@pytest.fixture
def outage(tmp_path):
    """A run of origin-down: from 0.5 s after the kill until the origin is back, readers get errors under `ttl`, and
    stale copies under `ttl-sie`. One request was in flight at the kill; the wiki had counted it."""
    run = build_run_folder(
        tmp_path,
        experiment="origin-down",
        repetitions=1,
        factors={"policy": {"ttl": {"ttl_s": 1}, "ttl-sie": {"ttl_s": 1, "stale_if_error_s": 60}}},
        **DOWN,
    )
    for policy in ("ttl", "ttl-sie"):
        _, folder = find_trial(run, 1, policy=policy)
        seen = {}

        def break_off(lines, policy=policy, seen=seen):
            begin = seen["begin_us"] = int(lines[1].split(",")[0])
            found = [lines[0]]
            for line in lines[1:]:
                cells = line.split(",")
                after_ms = (int(cells[0]) - begin) / 1000
                # At 100 requests a second, one is sent at the kill itself: it is in flight.
                if after_ms == KILL_MS or KILL_MS + 500 <= after_ms < BACK_MS:
                    cells[4], cells[6], cells[7] = (
                        ("502", "MISS", "8.0") if policy == "ttl" else ("200", "STALE", "8.0")
                    )
                elif KILL_MS < after_ms < BACK_MS:
                    cells[6] = "HIT"
                found.append(",".join(cells))
            seen["lines"] = [line.split(",") for line in found[1:]]
            return found

        edit_samples(folder, break_off)
        failed = sum(cells[4] == "502" for cells in seen["lines"])
        served = sum(cells[6] in ("HIT", "STALE") for cells in seen["lines"])
        answered = len(seen["lines"]) - served - failed
        fault = {"kind": "origin-down", "cut_off": 1}
        for name, at_ms in (
            ("kill_began", KILL_MS),
            ("dead", DEAD_MS),
            ("started", STARTED_MS),
            ("answering", BACK_MS),
        ):
            fault[f"{name}_at_us"] = seen["begin_us"] + 1000 * at_ms

        def tell(trial, fault=fault, failed=failed, served=served, answered=answered):
            trial |= {"fault": fault, "requests_failed": failed, "served_by_cache": served, "log_lines": {}}
            # The wiki had counted the request that was cut off.
            trial["counter"] = {"requests": answered + 1, "reads": answered + 1, "writes": 0}

        edit_json(folder / "trial.json", tell)
    return run


def test_origin_down_shows_what_readers_get(outage, analyse_run):
    analysis = analyse_run(outage)
    assert [outcome.reasons for outcome in analysis.outcomes] == [(), ()]
    assert analysis.law.holds
    ttl, sie = table(analysis, "origin-down").rows
    assert [ttl["policy"], sie["policy"]] == ["ttl", "ttl-sie"]
    # 2.1 s at 100 requests a second, both ends included: the first fails, and those from 0.5 s to the last but one.
    assert (ttl["asked"], ttl["outage_s"]) == (211, 2.1)
    assert ttl["failed_share"] == pytest.approx(161 / 211)
    assert (ttl["errors_from_s"], ttl["recovery_s"], ttl["old_share"]) == (0.008, 0, 0)
    assert (sie["failed_share"], sie["errors_from_s"], sie["recovery_s"]) == (0, None, None)
    assert sie["old_share"] == pytest.approx(161 / 211)
    assert "No request failed with ttl-sie." in words(analysis)
    module = module_for("origin-down")
    panel = module._panel(analysis, module._of_policy(analysis, "ttl"))
    by_second = dict(zip(panel["seconds"], panel["failed"], strict=True))
    assert (by_second[-0.25], by_second[0.25], by_second[1.25], by_second[2.75]) == (0, 0.02, 1, 0)
    assert table(analysis, "answers-over-time").draw().axes[1].get_title() == "ttl-sie"


@pytest.mark.parametrize(
    ("more", "refreshes", "reason"),
    [
        (1, 0, "but the counter says"),
        (-2, 0, "but the counter says"),
        (-1, 0, None),
        (5, 5, None),
        (6, 5, "and the edge sent 5 of its own, but the counter says"),
    ],
)
def test_the_counter_of_an_outage_may_be_off_by_what_nobody_saw_and_no_more(
    outage, analyse_run, more, refreshes, reason
):
    number, folder = find_trial(outage, 1, policy="ttl")
    if refreshes:

        def renewing(lines):
            # As many UPDATING responses as the edge sent refreshes.
            rows = [line.split(",") for line in lines]
            hits = [row for row in rows if row[6] == "HIT"][:refreshes]
            for row in hits:
                row[6] = "UPDATING"
            return [",".join(row) for row in rows]

        edit_samples(folder, renewing)

    def miscount(trial):
        trial["refreshes"] = refreshes
        trial["counter"] = {
            name: max(0, count + (more if name != "writes" else 0)) for name, count in trial["counter"].items()
        }

    edit_json(folder / "trial.json", miscount)
    outcome = next(o for o in analyse_run(outage).outcomes if o.number == number)
    assert outcome.valid == (reason is None)
    assert reason is None or reason in outcome.reasons[0]


def test_a_log_of_an_outage_lacks_no_more_than_was_cut_off(outage, analyse_run):
    _, folder = find_trial(outage, 1, policy="ttl")
    counter = json.loads((folder / "trial.json").read_text())["counter"]["requests"]
    for missing, valid in ((1, True), (2, False)):
        write_gzip(folder / "origin.log.gz", b"{}\n" * (counter - missing))
        edit_json(folder / "trial.json", lambda t, n=counter - missing: t.update(log_lines={"origin": n}))
        outcome = next(o for o in analyse_run(outage).outcomes if o.folder == f"trials/{folder.name}")
        assert outcome.valid is valid


def test_caches_are_set_beside_each_other(tmp_path, analyse_run):
    load = {
        "paced": {"model": "open", "rate_per_s": 100, "edit_ratio": 0.02},
        "full-speed": {"model": "closed", "rate_per_s": None, "edit_ratio": 0},
    }
    factors = {"cache": ["squid", "edge"], "load": load}
    run = build_run_folder(tmp_path, experiment="caches", repetitions=2, factors=factors, requests=300, pages=20)
    missing = [{"level": "varnish", "reason": "varnish is not on this machine; run `apt-get install varnish`"}]
    edit_json(run / "manifest.json", lambda manifest: manifest["experiment"].update(left_out=missing))
    for repetition in (1, 2):
        edit_json(
            find_trial(run, repetition, cache="edge", load="full-speed")[1] / "trial.json",
            lambda trial: trial["k6"].update(generator_limited=True),
        )
    analysis = analyse_run(run)
    assert words(analysis) == "Left out: varnish is not on this machine; run `apt-get install varnish`."
    edge, squid = table(analysis, "caches").rows
    assert [edge["cache"], squid["cache"]] == ["our edge", "Squid"]
    assert (edge["limited_by"], squid["limited_by"]) == ("generator", "")
    assert 0.8 < edge["hit_ratio"] < 1
    assert (edge["stale_percent"].centre, edge["failed_share"]) == (0, 0)
    assert squid["per_s"] > 0
    assert [axes.get_title() for axes in table(analysis, "caches-figure").draw().axes][1] == "Stale reads, %"
