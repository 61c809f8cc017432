"""From edits to fresh reads: against brute force over random histories, with censored edits, and in a report."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from run_folder_fixture import build_run_folder, edit_json

from stevec_predict.cell import predict_cell
from stevec_report.__main__ import main
from stevec_report.freshness.edit_times import Distribution, EditTimes, Reads, Writes, edit_times

EXPERIMENTS = Path(__file__).resolve().parents[2] / "loadgen/experiments"
MS = 1000


def times_of(edits, reads, tolerance_us=0):
    """Edits are (page, sent ms, done ms, revision), reads are (page, sent ms, revision)."""
    pages, sent, done, revisions = (np.array(column) for column in zip(*edits, strict=True))
    writes = Writes(pages, sent * MS, done * MS, revisions)
    read_pages, read_sent, seen = (np.array(column) for column in zip(*reads, strict=True)) if reads else ([], [], [])
    return edit_times(writes, Reads(read_pages, np.array(read_sent, dtype=int) * MS, seen), tolerance_us)


def brute_force(edits, reads, tolerance_ms):
    """[(last outdated read, first read from which on all are fresh or None, reads)] in seconds, by page and sending."""
    found = []
    for page, sent, done, revision in sorted(edits):
        if revision < 0:
            continue
        next_sent = min((other[1] for other in edits if other[0] == page and other[1] > sent), default=10**9)
        own = sorted(read for read in reads if read[0] == page and done + tolerance_ms < read[1] < next_sent)
        old = [at for _, at, seen in own if seen < revision]
        new = [at for _, at, _ in own if all(later[2] >= revision for later in own if later[1] >= at)]
        found.append(((old[-1] - done) / 1000 if old else 0.0, (new[0] - done) / 1000 if new else None, len(own)))
    return found


@pytest.mark.parametrize("seed", range(30))
def test_times_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    moments = rng.choice(2000, 130, replace=False)  # no two requests at one moment
    pages = rng.integers(0, 3, 130)
    edits = [
        (int(page), int(at), int(at + rng.integers(1, 40)), int(rng.choice([-1, at], p=[0.1, 0.9])))
        for page, at in zip(pages[:30], moments[:30], strict=True)
    ]
    reads = []
    for page, at in zip(pages[30:], moments[30:], strict=True):
        behind_ms = int(rng.choice([0, 0, 20, 300]))
        reads.append(
            (int(page), int(at), max((r for p, sent, _, r in edits if p == page and sent <= at - behind_ms), default=0))
        )
    found = times_of(edits, reads, 1 * MS)
    expected = brute_force(edits, reads, 1)
    fresh = [None if np.isinf(at) else at for at in found.fresh_s.tolist()]
    assert list(zip(found.outdated_s.tolist(), fresh, found.reads.tolist(), strict=True)) == expected
    assert found.censored.any() and (found.outdated_s > 0).any() and (found.outdated_s == 0).any()


def test_a_page_is_fresh_once_no_later_read_is_outdated():
    reads = [("a", at, revision) for at, revision in ((50, 1), (110, 1), (150, 2), (200, 1), (260, 2), (300, 2))]
    found = times_of([(0, 90, 100, 2)], [(0, at, revision) for _, at, revision in reads])
    assert (found.outdated_s.tolist(), found.fresh_s.tolist(), found.reads.tolist()) == ([0.1], [0.16], [5])


def test_an_edit_is_censored_by_the_next_one_of_its_page_even_if_that_fails():
    edits = [(0, 90, 100, 2), (1, 150, 151, 9), (0, 290, 350, -1)]
    found = times_of(edits, [(0, 200, 1), (0, 300, 2), (0, 400, 2)])
    assert found.outdated_s.tolist() == [0.1, 0]
    assert found.censored.tolist() == [True, True]
    assert found.reads.tolist() == [1, 0]
    assert found.read().size == 1, "page 1 was never read"


def test_reads_within_the_tolerance_do_not_count():
    found = times_of([(0, 90, 100, 2)], [(0, 101, 1), (0, 102, 2)], tolerance_us=1 * MS)
    assert (found.outdated_s.tolist(), found.fresh_s.tolist()) == ([0], [0.002])


def test_without_censored_edits_the_distribution_is_the_share_of_edits():
    times = np.random.default_rng(1).integers(0, 20, 60) / 10
    found = Distribution.of(times, np.ones(60, dtype=bool))
    moments = np.linspace(-0.5, 2.5, 61)
    assert found.share_at(moments) == pytest.approx([(times <= at).mean() for at in moments])
    for level in (0.01, 0.5, 0.95, 1):
        assert found.quantile(level) == np.quantile(times, level, method="inverted_cdf")


def test_censored_edits_count_as_long_as_they_were_watched():
    # By hand: of five, one ends at 1; of the three that are left after 2, one at 3; the last is censored.
    found = Distribution.of([1, 2, 3, 3, 4], [True, False, True, False, False])
    assert found.times_s.tolist() == [1, 3]
    assert found.shares == pytest.approx([1 / 5, 1 - 4 / 5 * 2 / 3])
    assert found.left_s.tolist() == [2, 3, 4]
    assert found.quantile(0.4) == 3
    assert found.quantile(0.5) is None


def test_censoring_by_the_next_edit_does_not_shift_the_distribution():
    rng = np.random.default_rng(7)
    took, watched = rng.uniform(0, 1, 20_000), rng.exponential(1, 20_000)
    ended = took <= watched
    found = Distribution.of(np.where(ended, took, watched), ended)
    moments = np.array([0.1, 0.5, 0.9])
    assert found.share_at(moments) == pytest.approx(moments, abs=0.02)
    # Those that were left out would be the long ones.
    assert (took[ended] <= 0.5).mean() > 0.55


def test_both_ends_enclose_each_edit():
    parts = [EditTimes(np.array([0.0, 0.2]), np.array([0.05, np.inf]), np.array([3, 1]))] * 2
    times = EditTimes.of_all(parts)
    assert times.size == 4
    moments = np.linspace(0, 1, 50)
    assert (times.least_distribution().share_at(moments) >= times.distribution().share_at(moments)).all()
    assert times.least_distribution().share_at(0) == 0.5
    assert times.distribution().share_at([0.04, 0.05]).tolist() == [0, 0.5]


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    definition = json.loads((EXPERIMENTS / "edit-to-fresh.json").read_text(encoding="utf-8"))
    levels = ("ttl", "purge-tag", "bounded-local")
    run = build_run_folder(
        tmp_path_factory.mktemp("results"),
        experiment="edit-to-fresh",
        repetitions=3,
        factors={"policy": {level: definition["factors"]["policy"][level] for level in levels}},
        **{"pages": 5, "requests": 1500, "model": "open", "rate_per_s": 90, "edit_ratio": 0.02, "ttl_s": 1},
    )
    stated = [one for one in definition["expectations"] if one["in"]["policy"] in levels]
    edit_json(run / "manifest.json", lambda manifest: manifest["experiment"].update(expectations=stated))
    assert main([str(run)]) == 0
    return run


def test_the_report_has_the_distribution_by_door_and_policy(reported):
    table = next(reported.rglob("*edit-to-fresh.csv"))
    rows = {row["policy"]: row for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())}
    assert list(rows) == ["ttl", "purge-tag", "bounded-local"]
    assert {name: row["door"] for name, row in rows.items()} == {
        "ttl": "cached", "purge-tag": "cached", "bounded-local": "local",
    }  # fmt: skip
    ttl, purge = rows["ttl"], rows["purge-tag"]
    assert float(ttl["p50_s_low"]) <= float(ttl["p50_s"]) <= float(ttl["p50_s_high"])
    # The toy cache drops a page 60 ms after its edit was sent; without a purge, it keeps the page for a second.
    assert float(purge["outdated_max_s"]) < 0.06 < float(ttl["outdated_max_s"]) < 1.1
    assert float(purge["p50_s"]) < float(ttl["p50_s"])
    assert int(ttl["censored"]) > int(purge["censored"])
    assert ttl["p99_s"] == "", "too few edits"


def test_a_lifetime_beyond_the_bound_is_predicted_as_one_in_whole_seconds():
    settings = {"door": "local", "policy": "bounded", "pages": 5, "requests": 500, "edit_ratio": 0.02}
    settings |= {"model": "open", "rate_per_s": 50, "vus": 10, "ttl_s": 9}
    lasting = predict_cell({**settings, "beyond_bound_s": 1})
    assert "whole seconds" in lasting.model
    assert lasting.stale_ratio.centre > 0
    asking = predict_cell({**settings, "beyond_bound_s": 0})
    assert "every read asks the origin" in asking.model
    assert asking.hit_ratio.centre == 0
