"""The experiments that are not the study's: what their tables and words say of made data."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from run_folder_fixture import build_run_folder, edit_json, edit_samples, find_trial
from scipy.stats import chi2

from stevec_predict.popularity import zipf
from stevec_report.experiments import module_for

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
    # The toy cache serves what was asked for before, and forgets at an edit.
    assert rows[0]["hit_ratio"] < 0.6 < 0.8 < rows[1]["hit_ratio"]
    assert rows[0]["offload_bytes"] == pytest.approx(rows[0]["hit_ratio"])
    assert rows[1]["stale_ratio"] == 0
    assert "in every repetition the more, the steeper" in words(analysis)
    assert "Stale were 0 % of the reads at most, below 1 % in 4 of 4 trials" in words(analysis)


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
        # Ten readers at the same moment, none of whom is served; ten others after them, one by one.
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
    # 100 a second, ten times as many in the crowd, 0.2 s for a fetch, where nothing else was measured.
    assert module._arrivals({"trials": [outcome], "asked": [module._asked(analysis, outcome)]}) == pytest.approx(200)
    assert "without collapsing so many ask the origin" in words(analysis)
    panels = module._panels(analysis, [module._cell(analysis, "expiry", "none")])
    assert panels[0]["crowd_s"] == (0, 2)
    assert panels[0]["lines"][0]["waits_ms"][0] == 200
    assert table(analysis, "waits-over-time").draw().axes[0].get_title() == "expiry"
