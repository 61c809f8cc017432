"""The report on the cache policies: origin offload, staleness, recommendations and costs."""

import csv
import json
import math
from pathlib import Path

import pytest
from run_folder_fixture import build_run_folder, edit_json, find_trial

from stevec_predict.cost import newest_prices
from stevec_report import key_numbers
from stevec_report.__main__ import main
from stevec_report.experiments import policy
from stevec_report.experiments.policy import measured_cells
from stevec_report.experiments.policy_choice import Measured, Tolerance, pareto_front, recommend
from stevec_report.freshness import ClusterSums
from stevec_report.staleness import LEVELS, Staleness

EXPERIMENTS = Path(__file__).resolve().parents[2] / "loadgen/experiments"
POLICIES = {
    "ttl": {"policy": "ttl", "door": "cached", "ttl_s": 3},
    "purge-url": {"policy": "purge-url", "door": "cached", "ttl_s": 86400},
    "no-store": {"policy": "no-store", "door": "cached"},
}


def build(parent, **settings):
    run = build_run_folder(
        parent,
        experiment="policy",
        repetitions=settings.pop("repetitions", 3),
        factors={"policy": POLICIES, "edit_ratio": [0.05]},
        pages=20,
        requests=1500,
        model="open",
        rate_per_s=90,
        **settings,
    )
    stated = json.loads((EXPERIMENTS / "policy.json").read_text(encoding="utf-8"))["expectations"]
    edit_json(run / "manifest.json", lambda manifest: manifest["experiment"].update(expectations=stated))
    return run


def reads_by_edit(stale, judged, edits):
    """(stale reads, reads) of each edit."""
    per_edit = max(2, -(-stale // edits))
    return [min(per_edit, max(0, stale - per_edit * edit)) for edit in range(edits)], [judged // edits] * edits


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    run = build(tmp_path_factory.mktemp("results"))
    assert main([str(run)]) == 0
    return run


def cell(name, offloads, stale, behind_s=(), judged=10_000, asks_each_time=False, edits=500):
    """A cell as `measured_cells` makes it; each of the edits is followed by as many reads as any other, and each of
    those with stale reads makes two reads stale."""
    outcomes = [type("Outcome", (), {"block": (0, r + 1)})() for r in range(len(offloads))]
    behind = dict.fromkeys(LEVELS, max(behind_s) if behind_s else None)
    clusters = [ClusterSums.of(judged, *reads_by_edit(round(ratio * judged), judged, edits)) for ratio in stale]
    old = Staleness(clusters, judged * len(stale), sum(c.stale for c in clusters), 0, 0, behind, behind)
    ages_s = [max(behind_s, default=0.0)] * len(offloads)
    return Measured(name, 0.05, "cached", asks_each_time, outcomes, offloads, offloads, [], old, ages_s)


def test_the_cells_are_what_the_samples_say(reported, analyse_run):
    analysis = analyse_run(reported)
    assert analysis.law.holds
    assert [o.reasons for o in analysis.outcomes if not o.valid] == []
    cells = {own.name: own for own in measured_cells(analysis)}
    assert set(cells) == set(POLICIES)
    ttl, purge, none = cells["ttl"], cells["purge-url"], cells["no-store"]
    for own in cells.values():
        for outcome, offload, hit in zip(own.outcomes, own.offloads, own.hits, strict=True):
            lines = (reported / outcome.folder / "trial.json").read_text()
            trial = json.loads(lines)
            assert offload == hit == trial["served_by_cache"] / trial["reads_sent"]
    assert none.offload.centre == 0
    assert none.bytes == [0.0] * 3
    assert none.old.stale == 0
    assert min(ttl.offload.centre, purge.offload.centre) > 0.9
    assert ttl.stale_ratio.centre > 10 * purge.stale_ratio.centre > 0
    # The toy cache drops a page 60 ms after its edit was sent; without a purge, it keeps the page for 3 s.
    assert purge.old.oldest_s < 0.06 < ttl.old.oldest_s < 3.1
    # All bodies of the toy are equally long.
    assert ttl.bytes == pytest.approx(ttl.offloads)


def test_the_report_has_the_table_the_picture_the_choices_and_the_price_file(reported):
    page = (reported / "report/index.html").read_text(encoding="utf-8")
    with (reported / "report/tables/expectations.csv").open(encoding="utf-8") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    # This run has no purge-tag and no bounded: their expectations are undecided.
    undecided = ["undecided", "undecided"]
    assert verdicts == ["confirmed", "undecided", "confirmed", "confirmed", *undecided, "confirmed", "confirmed"]
    assert "5 confirmed, 0 refuted and 3 undecided" in page
    assert "What to choose." in page
    assert newest_prices().file in page
    assert newest_prices().date in page
    tables = reported / "report/tables"
    rows = (tables / "policies.csv").read_text().splitlines()
    assert len(rows) == 1 + len(POLICIES)
    with (tables / "staleness.csv").open(encoding="utf-8") as file:
        old = {row["cell"]: row for row in csv.DictReader(file)}
    assert set(old) == {f"{name}, edit_ratio 0.05" for name in POLICIES}
    ttl, none = old["ttl, edit_ratio 0.05"], old["no-store, edit_ratio 0.05"]
    assert 0 < float(ttl["staleness_p50_s"]) < float(ttl["staleness_p95_s"]) < float(ttl["staleness_max_s"]) < 3.1
    assert 1 <= float(ttl["versions_behind_p50"]) <= float(ttl["versions_behind_max"])
    assert (none["stale"], none["staleness_max_s"]) == ("0", "")
    costs = dict(line.split(",", 1) for line in (tables / "cost.csv").read_text().splitlines())
    assert set(costs) == {"policy", *POLICIES}
    assert (reported / "report/figures/freshness-offload.svg").is_file()


def test_costs_are_the_prices_times_what_was_measured(reported, analyse_run):
    analysis = analyse_run(reported)
    table = next(b for b in policy.blocks(analysis) if getattr(b, "name", "") == "cost")
    price, row = newest_prices().price, next(r for r in table.rows if r["policy"] == "no-store")
    trials = [o for o in analysis.valid if o.record.cell["policy"] == "no-store"]
    edits = sum(o.stats.writes for o in trials) / sum(o.stats.reads for o in trials)
    assert row["cdn_requests"] == pytest.approx((1 + edits) * price["cdn_requests_per_million"])
    assert row["cdn_egress"] == pytest.approx(1e6 * 5210 / 1e9 * price["cdn_egress_per_gb"])
    assert row["cdn_purges"] == 0
    assert row["origin_hours"] == pytest.approx(1e6 * (1 + edits) / 500 / 3600 * price["origin_hour"])
    purge = next(r for r in table.rows if r["policy"] == "purge-url")
    assert purge["cdn_purges"] == pytest.approx(16 * 1e6 * edits * price["cdn_purge_per_path"], rel=0.1)


def test_the_first_page_has_offload_and_stale_reads_with_the_intervals_of_the_table(reported, analyse_run):
    analysis = analyse_run(reported)
    cells = {cell.name: cell for cell in measured_cells(analysis)}
    found = {number.label: number.ours for number in key_numbers.of(analysis, None)}
    assert found == {
        f"{name}: {policy}, edit_ratio 0.05": of(cells[policy]).in_percent()
        for name, of in (("stale reads", lambda c: c.stale_ratio), ("reads kept from the origin", lambda c: c.offload))
        for policy in ("purge-url", "ttl")
    }
    del analysis.run.experiment["expectations"]
    labels = [number.label.partition(":")[0] for number in key_numbers.of(analysis, None)]
    assert labels == [
        "most reads kept from the origin",
        "fewest reads kept from the origin",
        "most stale reads",
        "fewest stale reads",
    ]


def test_invalid_trials_are_in_no_cell(tmp_path, analyse_run):
    run = build(tmp_path, repetitions=2)
    for repetition in (1, 2):
        folder = find_trial(run, repetition, policy="ttl")[1]
        edit_json(folder / "trial.json", lambda t: t.update(valid=False, invalid_reasons=["noise"]))
    assert {own.name for own in measured_cells(analyse_run(run))} == {"purge-url", "no-store"}


def test_a_policy_is_within_a_tolerance_only_with_its_whole_interval():
    tolerance = Tolerance(0.01, 2)
    assert cell("a", [0.9] * 3, [0.004, 0.005, 0.006], [0.1]).meets(tolerance) is True
    assert cell("a", [0.9] * 3, [0.001, 0.005, 0.015], [0.1]).meets(tolerance) is None
    assert cell("a", [0.9] * 3, [0.05, 0.06, 0.07], [0.1]).meets(tolerance) is False
    assert cell("a", [0.9] * 3, [0.004, 0.005, 0.006], [0.1, 2.5]).meets(tolerance) is False, "one read was older"
    assert cell("a", [0.9], [0.0]).meets(tolerance) is None, "one trial proves nothing"


def test_no_stale_read_is_promised_only_by_construction():
    seen_none = cell("a", [0.9] * 3, [0.0] * 3)
    # At most 3.69 of the 1500 edits (Poisson, 97.5 %) had stale reads, 20 reads each.
    assert seen_none.stale_ratio.high == pytest.approx(-math.log(0.025) * 20 / 30_000)
    assert seen_none.meets(Tolerance(0, 0)) is None
    assert seen_none.meets(Tolerance(0.001, 2)) is None
    assert seen_none.meets(Tolerance(0.01, 2)) is True
    assert cell("b", [0.0] * 3, [0.0] * 3, asks_each_time=True).meets(Tolerance(0, 0)) is True


def test_the_most_saving_of_those_within_is_chosen_and_the_others_are_explained():
    within = cell("purge", [0.80, 0.81, 0.82], [0.004, 0.005, 0.006], [0.05])
    beyond = cell("ttl", [0.90, 0.91, 0.92], [0.2, 0.2, 0.21], [1.0])
    fresh = cell("none", [0.0] * 3, [0.0] * 3, asks_each_time=True)
    chosen, why = recommend([beyond, within, fresh], Tolerance(0.01, 2))
    assert chosen == [within]
    assert why.startswith("purge keeps 81 % from the origin, stale: 0.500 (0.2")
    assert "ttl would keep 91 % and is beyond it: 20.3" in why
    assert "none" not in why
    assert recommend([beyond, within, fresh], Tolerance(0, 0))[0] == [fresh]
    chosen, why = recommend([beyond], Tolerance(0.01, 2))
    assert chosen == []
    assert "is beyond it" in why


def test_two_that_the_trials_cannot_tell_apart_are_both_chosen():
    one = cell("one", [0.80, 0.82, 0.84], [0.001, 0.001, 0.001], [0.05])
    two = cell("two", [0.81, 0.80, 0.84], [0.001, 0.001, 0.001], [0.05])
    less = cell("less", [0.70, 0.72, 0.74], [0.001, 0.001, 0.001], [0.05])
    assert recommend([two, less, one], Tolerance(0.01, 2))[0] == [one, two]


def test_a_single_repetition_recommends_only_what_needs_no_trial():
    lone = cell("purge", [0.8], [0.001], [0.05])
    fresh = cell("none", [0.0], [0.0], asks_each_time=True)
    chosen, why = recommend([lone, fresh], Tolerance(0.01, 2))
    assert chosen == [fresh]
    assert "purge would keep 80 % and is not shown to be within" in why


def test_the_front_has_what_nothing_beats():
    cells = [
        cell("none", [0.0] * 2, [0.0] * 2),
        cell("purge", [0.8] * 2, [0.005] * 2, [0.1]),
        cell("same", [0.8] * 2, [0.005] * 2, [0.1]),
        cell("worse", [0.7] * 2, [0.006] * 2, [0.1]),
        cell("ttl", [0.9] * 2, [0.2] * 2, [0.1]),
    ]
    assert [own.name for own in pareto_front(cells)] == ["none", "purge", "same", "ttl"]


def test_what_the_edge_asked_on_its_own_is_in_the_law(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mine", repetitions=1, factors={"door": ["cached"]}, edit_ratio=0.01)
    number, folder = find_trial(run)

    def renew(trial):
        trial["refreshes"] = 1
        trial["counter"]["requests"] += 1
        trial["counter"]["reads"] += 1
        trial["counter_expected"] = None

    edit_json(folder / "trial.json", renew)
    text = "; ".join(analyse_run(run).law.failures[number])
    assert "1 request of the edge's own, but fewer answers that it was renewing" in text
    assert "the counter says" not in text
