"""The committed run. The real stack made it, so what the lab writes and what is read here stay in step."""

import json
from pathlib import Path

import pytest

from stevec_report import SCHEMA_VERSION
from stevec_report.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "results" / "sample"
WRITTEN_BY = json.loads((SAMPLE / "manifest.json").read_text(encoding="utf-8"))["schema_version"]

pytestmark = pytest.mark.skipif(
    WRITTEN_BY != SCHEMA_VERSION,
    reason=f"results/sample has schema version {WRITTEN_BY}: make a new one, then `make figures`",
)


def test_law_of_the_counter_holds_in_every_trial(analyse_run):
    read = analyse_run(SAMPLE)
    assert read.law.holds
    assert read.law.trials == read.run.manifest["trials_planned"] > 0
    assert [o.reasons for o in read.outcomes if not o.valid] == []


def test_picture_in_the_readme_is_the_one_that_the_sample_gives(tmp_path):
    drawn = tmp_path / "figure-1.3.svg"
    assert main([str(SAMPLE), "--figure", "figure-1.3", "--output", str(drawn)]) == 0
    committed = ROOT / "docs" / "figures" / "figure-1.3.svg"
    assert drawn.read_bytes() == committed.read_bytes(), "run `make figures`"
