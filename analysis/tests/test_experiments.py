"""The verdict of each experiment on its hypothesis, for generated data with a clear result."""

import math
from dataclasses import replace

import pytest
from run_folder_fixture import build_run_folder, edit_column, edit_json, find_trial, scale_times

from stevec_report import concerns, reference, thresholds
from stevec_report.experiments import (
    edit_costs,
    mixed_write,
    module_for,
    other,
    overload,
    overload_curve,
    read_hot,
    read_sparse,
    write_vs_read,
)
from stevec_report.parts import Part
from stevec_report.threats import list_threats
from stevec_report.verdicts import decide_one


def scale(run, factor, repetitions, **cell):
    for repetition in range(1, repetitions + 1):
        scale_times(find_trial(run, repetition, **cell)[1], factor)


def test_the_study_is_read_as_it_was_printed():
    counts = reference.read_series("1.1", "origin_requests")
    assert {path: set(values.values()) for path, values in counts.items()} == {"without": {1000}, "with": {100}}
    times = reference.read_series("1.2", "mean_ms")
    assert [sum(v.values()) / 8 for v in times.values()] == [75.625, 14.375, 33.625]
    assert reference.read_series("1.5", "mean_ms", index="parallel")["with"][250] == 565
    assert sum(reference.read_series("1.7", "mean_ms", series="method")["POST"].values()) / 8 == 567.5


def test_an_unknown_experiment_is_reported_on_in_general():
    assert module_for("my-own") is other
    assert module_for("read-hot") is read_hot


def test_e1_is_confirmed_by_a_good_run(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, repetitions=6, requests=60, pages=10)
    verdict = decide_one(read_hot.evidence(analyse_run(run)))
    assert (verdict.result, verdict.p) == ("confirmed", 2 / 64)


def test_e1_is_refuted_where_the_cache_is_slower_or_the_origin_sees_half(tmp_path, analyse_run):
    run = build_run_folder(tmp_path / "a", repetitions=6, requests=60, pages=10)
    scale(run, 50, 6, door="cached")
    evidence = read_hot.evidence(analyse_run(run))
    assert decide_one(evidence).result == "refuted"
    assert decide_one(evidence).why == "Time at cached: the other way."
    sparse = build_run_folder(tmp_path / "b", repetitions=2, requests=30, pages=400)
    assert decide_one(read_hot.evidence(analyse_run(sparse))).why == "Offload at local: the other way."


def test_e1_is_open_without_valid_trials_or_doors(run_folder, tmp_path, analyse_run):
    for repetition in (1, 2, 3):
        folder = find_trial(run_folder, repetition, door="source")[1]
        edit_json(folder / "trial.json", lambda t: t.update(valid=False))
    assert decide_one(read_hot.evidence(analyse_run(run_folder))).result == "undecided"
    bare = build_run_folder(tmp_path, repetitions=2, requests=5, factors={"door": ["source"]})
    assert decide_one(read_hot.evidence(analyse_run(bare))).result == "undecided"


def test_an_invalid_trial_is_in_no_mean(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 2, door="source")
    scale_times(folder, 100)
    edit_json(folder / "trial.json", lambda t: t.update(valid=False, invalid_reasons=["noise"]))
    table = next(b for b in read_hot.blocks(analyse_run(run_folder)) if getattr(b, "name", "") == "table-1.2")
    cell = table.rows[1]["run_source"]
    assert (cell.off, cell.trials) == ("invalid", (number,))
    assert cell.value > 300
    assert table.footer[0]["run_source"].value < 20


def test_a_limited_trial_is_marked_and_in_no_mean_of_times(run_folder, analyse_run):
    number, folder = find_trial(run_folder, 2, door="source")
    edit_json(folder / "trial.json", lambda trial: trial["k6"].update(generator_limited=True))
    analysis = analyse_run(run_folder)
    counts, times = (b for b in read_hot.blocks(analysis) if b.name in ("table-1.1", "table-1.2"))
    others = [o for o in analysis.select(door="source") if o.number != number]
    assert times.footer[0]["run_source"].value == pytest.approx(sum(o.mean_ms for o in others) / 2)
    assert [row["run_source"].off for row in times.rows[:3]] == ["", "limited", ""]
    assert counts.footer[0]["run_source"].value == 60 and counts.rows[1]["run_source"].off == ""


def test_e2_same_times_are_shown_and_different_ones_refute(tmp_path, analyse_run):
    run = build_run_folder(tmp_path / "a", experiment="read-sparse", repetitions=8, requests=100)
    assert decide_one(read_sparse.evidence(analyse_run(run))).result == "confirmed"
    scale(run, 1.5, 8, door="cached")
    verdict = decide_one(read_sparse.evidence(analyse_run(run)))
    assert (verdict.result, verdict.why) == ("refuted", "Same time: the other way.")


def test_e2_hits_are_the_repeats_of_the_plan(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="read-sparse", repetitions=2, requests=300, pages=1000)
    table = next(b for b in read_sparse.blocks(analyse_run(run)) if getattr(b, "name", "") == "table-1.3-repeats")
    shown = [row for row in table.rows if "hits" in row]
    assert len(shown) == 2
    assert all(row["hits"].value == row["repeats"] > 0 and row["exact"].value == "yes" for row in shown)


def test_e3_is_confirmed_where_the_source_gives_way(overload_folder, analyse_run):
    evidence = overload.evidence(analyse_run(overload_folder))
    assert [claim.name for claim in evidence.claims if claim.holds] == [
        "Slower under load",
        "Degrades more",
        "Through the cache not",
    ]
    assert [(claim.test.n, claim.test.left_out) for claim in evidence.claims] == [(2, 0)] * 4
    assert decide_one(evidence).result == "undecided"  # two blocks
    assert evidence.effect.ratio.centre > 5


def test_e3_gives_one_value_a_block_from_all_its_levels(overload_folder, analyse_run):
    evidence = overload.evidence(analyse_run(overload_folder))
    trials = {(o.door, o.record.number("background_vus"), o.repetition): o for o in analyse_run(overload_folder).valid}

    def log_ratio(level, repetition):
        source, cached = (trials[door, level, repetition].stats.wait_ms for door in ("source", "cached"))
        return math.log(source / cached)

    slower, more, past, within = (claim.test for claim in evidence.claims)
    assert slower.logs == pytest.approx([(log_ratio(20, r) + log_ratio(250, r)) / 2 for r in (1, 2)])
    # The upper half of the levels 20 and 250 is 250, and each block has its own ratio without a background.
    assert more.logs == pytest.approx([log_ratio(250, r) - log_ratio(0, r) for r in (1, 2)])
    assert more.against == 2
    for test, door in ((past, "source"), (within, "cached")):
        assert test.logs == pytest.approx([math.log(trials[door, 250, r].stats.wait_ms / 4000) for r in (1, 2)])


def test_e3_leaves_blocks_with_limited_trials_out(overload_folder, analyse_run):
    folder = find_trial(overload_folder, 2, door="cached", background_vus=0)[1]
    edit_json(folder / "trial.json", lambda t: t["k6"].update(generator_limited=True))
    claims = overload.evidence(analyse_run(overload_folder)).claims
    assert [(claim.test.n, claim.test.left_out) for claim in claims] == [(2, 0), (1, 1), (2, 0), (2, 0)]
    for repetition in (1, 2):
        folder = find_trial(overload_folder, repetition, door="source", background_vus=250)[1]
        edit_json(folder / "trial.json", lambda t: t["background"]["k6"].update(generator_limited=True))
    analysis = analyse_run(overload_folder)
    claims = overload.evidence(analysis).claims
    assert [(claim.test.n, claim.test.left_out) for claim in claims] == [(0, 2), (0, 2), (0, 2), (2, 0)]
    assert [claim.holds for claim in claims] == [None, None, None, True]
    assert overload_curve.mean_at(analysis, "source", 250) is None
    assert overload_curve.mean_at(analysis, "source", 20).n == 2
    found = overload_curve.saturation_of(analysis, "source")
    assert [point["limited_by"] for point in found["points"]] == ["", "", "generator"]


def test_e4_edits_cost(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mixed-write", repetitions=3, pages=10, requests=300)
    analysis = analyse_run(run)
    evidence = mixed_write.evidence(analysis)
    assert [(claim.name, claim.test.n) for claim in evidence.claims] == [
        ("Edits cost reads", 3),
        ("Larger pages cost more", 3),
    ]
    assert evidence.claims[0].holds
    # Without the edits themselves, of which there is one in twenty.
    assert evidence.effect.ratio.centre > 1.2
    writes = sum(o.stats.writes for o in analysis.valid)
    assert evidence.asides[0].text.startswith(f"{writes} of {writes} edits reached the origin") and writes > 0


def test_e4_needs_all_cells_of_a_block_and_bears_a_count_of_zero(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mixed-write", repetitions=3, pages=10, requests=300)
    folder = find_trial(run, 2, workload="mixed")[1]
    edit_json(folder / "trial.json", lambda t: t.update(valid=False))
    analysis = analyse_run(run)
    assert [(claim.test.n, claim.test.left_out) for claim in mixed_write.evidence(analysis).claims] == [(2, 1), (2, 1)]
    nothing = [replace(o, record=replace(o.record, counter_reads=0)) for o in analysis.valid]
    claims = edit_costs.claims(replace(analysis, outcomes=nothing), thresholds.DEFAULT)
    assert [claim.test.ratio.centre for claim in claims] == [1, 1]


def test_e4_sets_edits_and_expiry_beside_the_study(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mixed-write", repetitions=3, pages=10, requests=300)
    analysis = analyse_run(run)
    tables = {block.name: block for block in mixed_write.blocks(analysis)}
    edits = {row["page_kb"]: row for row in tables["table-1.6-edits"].rows}
    shown = {kb: row["study_points"] for kb, row in edits.items() if "study_points" in row}
    assert shown == pytest.approx({"5": 6.32, "10": 5.70, "20": 5.83, "50": 8.09})
    measured = [row for row in edits.values() if row["points"]]
    assert measured
    for row in measured:
        assert row["points"].n == 3 and row["points"].low < row["points"].centre < row["points"].high
        assert row["points"].centre == pytest.approx(100 * (row["mixed"] - row["get_only"]))
        assert 0 <= row["read_points"].centre < row["points"].centre
    expiry = {row["page_kb"]: row for row in tables["table-1.6-expiry"].rows}
    assert (expiry["50"]["study_expected"], expiry["50"]["study_came"]) == (2000, 791)
    for row in (row for row in expiry.values() if row["ratio"]):
        assert row["expected"] == pytest.approx(10 * row["span_s"] / row["max_age_s"])
        assert row["ratio"].centre == pytest.approx(row["came"] / row["expected"], rel=0.05)


def test_e2_shows_the_hits_of_the_study_with_their_mean(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="read-sparse", repetitions=2, requests=100)
    table = next(b for b in read_sparse.blocks(analyse_run(run)) if b.name == "table-1.3")
    texts = {column.key: text for column, text, _, _ in table.cells(table.footer[0])}
    study = [texts[key] for key in ("study_cache_bypassed", "study_cached", "study_hits")]
    assert study == ["128.12", "130.75", "2.75"]
    hits = [row["run_hits"].value for row in table.rows if row["run_hits"]]
    assert float(texts["run_hits"]) == pytest.approx(sum(hits) / 2, abs=0.01)


@pytest.mark.parametrize(("factor", "result"), [(1.0, "undecided"), (3.0, "confirmed"), (0.5, "refuted")])
def test_e6_far_longer_is_more_than_a_quarter(tmp_path, analyse_run, factor, result):
    run = build_run_folder(
        tmp_path,
        experiment="write-vs-read-cached",
        repetitions=6,
        pages=1000,
        factors={"operation": {"write": {"edit_ratio": 1}, "read": {"edit_ratio": 0}}},
    )
    scale(run, factor, 6, operation="write")
    verdict = decide_one(write_vs_read.evidence(analyse_run(run)))
    if result == "undecided":
        # Nearly all reads miss here, so the toy's writes take 1.2 times as long: longer, but not far longer.
        assert verdict.evidence.effect.ratio.centre == pytest.approx(1.2, rel=0.1)
        assert verdict.result != "confirmed"
    else:
        assert verdict.result == result


def test_e5_a_little_dearer(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="write-vs-read-direct", repetitions=6, requests=100)
    verdict = decide_one(write_vs_read.evidence(analyse_run(run)))
    assert verdict.result == "confirmed"
    assert [claim.holds for claim in verdict.evidence.claims] == [True, True]


def test_e3_shows_how_full_the_cache_is_for_the_probe(overload_folder, analyse_run):
    analysis = analyse_run(overload_folder)
    (table,) = (block for block in overload.blocks(analysis) if block.name == "table-1.5")
    shares = {row["parallel"]: row.get("cached_share") for row in table.rows}
    own = analysis.select(door="cached", background_vus=20)
    assert shares[20] == sum(o.stats.served_by_cache for o in own) / sum(o.stats.requests for o in own)
    threat = dict(
        list_threats(analysis.run, [Part("overload", "..", "", run=analysis.run, outcomes=analysis.outcomes)])
    )
    text = threat["A cache that is still filling"]
    assert f"{100 * shares[0]:.0f} % of the probe's requests beside 0 readers, and {100 * shares[250]:.0f} %" in text


@pytest.mark.parametrize("pause_s", [0, 0.01])
def test_e4_says_that_the_page_size_sets_the_pace(tmp_path, analyse_run, pause_s):
    sizes = {str(size): {"page_size_chars": size, "pause_s": pause} for size, pause in ((5000, 0), (50_000, pause_s))}
    workloads = {"mixed": {"edit_ratio": 0.05}, "get-only": {"edit_ratio": 0}}
    factors = {"page_size_chars": sizes, "workload": workloads}
    run = build_run_folder(tmp_path, experiment="mixed-write", repetitions=1, requests=40, factors=factors)
    shorts = [concern.short for concern in concerns.of(analyse_run(run))]
    assert ("pace set by page size" in shorts) == (pause_s > 0)


def test_one_trial_is_not_called_all(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="mine", repetitions=1, factors={"door": ["source"]}, requests=20)
    texts = [concern.text for concern in concerns.of(analyse_run(run))]
    assert "The only trial is valid: every request is accounted for." in texts


def test_e3_counts_who_was_not_answered_as_having_waited(overload_folder, analyse_run):
    folder = find_trial(overload_folder, 1, door="cached", background_vus=0)[1]
    edit_column(folder, "status", lambda text: "504")
    edit_json(folder / "trial.json", lambda t: t.update(requests_failed=t["requests_sent"], counter_expected=None))
    outcome = next(o for o in analyse_run(overload_folder).outcomes if o.folder == f"trials/{folder.name}")
    assert outcome.stats.mean_ms is None
    assert outcome.stats.wait_ms == 4000
