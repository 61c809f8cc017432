"""The experiments that are not the study's: what their tables and words say of made data."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from run_folder_fixture import build_run_folder
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
