"""From claims to verdicts: confirmed, refuted or undecided, for one experiment and for six."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from stevec_report import claim_table, claims, explain
from stevec_report.experiments import at_once, overload, write_vs_read
from stevec_report.hypothesis_tests import ALPHA, equivalence, least_p, paired_test
from stevec_report.run_folder import RunFolderError
from stevec_report.thresholds import DEFAULT, Thresholds, describe, read
from stevec_report.verdicts import STUDY_EXPERIMENTS, Claim, Evidence, claim_status, decide_one, decide_study
from stevec_simulate.made_up import MadeUpTrial, make_up


def ratios(values, against=1.0):
    return paired_test(dict(enumerate(values)), dict.fromkeys(range(len(values)), 1.0), against)


def evidence(*claims, **more):
    return Evidence(list(claims), "a rule", "the study's", "ours", **more)


def above(values, name="Dearer", against=1.0):
    return claims.test_claim(name, "mean_ms", ratios(values, against), "above", "a ÷ b")


CLEAR = [1.2, 1.3, 1.25, 1.22, 1.31, 1.27, 1.24, 1.26]
COUNT = Claim("Offload", "all of it", True)


def test_a_clear_effect_is_confirmed():
    verdict = decide_one(evidence(above(CLEAR), COUNT))
    assert (verdict.result, verdict.p, verdict.p_holm) == ("confirmed", 2 / 256, None)


def test_one_clear_effect_among_six_is_confirmed_if_p_survives_holm():
    verdict = decide_study({"read-hot": evidence(above(CLEAR))})["read-hot"]
    assert verdict.p_holm == pytest.approx(6 * 2 / 256)
    assert verdict.result == "confirmed"


def test_few_pairs_leave_it_open_and_it_is_said_why():
    verdict = decide_study({"read-hot": evidence(above(CLEAR[:5]))})["read-hot"]
    assert verdict.result == "undecided"
    assert "5 blocks cannot decide: the smallest possible p is 0.062, times 6" in verdict.why
    assert verdict.why.endswith("The number of repetitions is fixed before a run; a new run needs about 8.")


def test_the_other_way_is_refuted():
    verdict = decide_study({"write-vs-read-direct": evidence(above([1 / value for value in CLEAR]))})
    assert verdict["write-vs-read-direct"].result == "refuted"
    assert claim_status(above([1 / value for value in CLEAR])) == "refuted"


def test_a_count_that_fails_refutes():
    assert decide_one(evidence(above(CLEAR), Claim("Offload", "none of it", False))).result == "refuted"


def test_what_was_not_seen_is_open():
    verdict = decide_one(evidence(above(CLEAR), Claim("Offload", "no valid trial", None)))
    assert verdict.result == "undecided"
    assert "no valid trials for Offload" in verdict.why
    assert decide_one(evidence(above([]))).result == "undecided"


def test_an_unclear_effect_is_open_either_way():
    mixed = [1.2, 0.8, 1.1, 1.3, 0.7, 1.4, 1.2, 1.1]
    assert "is not clear enough" in decide_one(evidence(above(mixed))).why
    assert "not clearly" in decide_one(evidence(above([1 / value for value in mixed]))).why


def test_a_hypothesis_is_as_strong_as_its_weakest_claim():
    weak = above([1.2, 1.3], "Weak")
    verdict = decide_one(evidence(above(CLEAR), weak))
    assert (verdict.p, verdict.result) == (0.5, "undecided")
    assert verdict.why.startswith("Weak points the expected way")


def test_leaving_a_run_out_helps_no_other():
    one = decide_study({"read-hot": evidence(above(CLEAR))})["read-hot"].p_holm
    both = decide_study({name: evidence(above(CLEAR)) for name in ("read-hot", "overload")})["read-hot"].p_holm
    assert both <= one


def test_an_experiment_of_ones_own_takes_no_part_in_the_correction():
    verdict = decide_study({"my-own": evidence(above(CLEAR))})["my-own"]
    assert (verdict.p_holm, verdict.result) == (None, "confirmed")


def test_direction_and_size_beside_the_study():
    ours = evidence(above(CLEAR), effect=ratios(CLEAR), study_effect=1.3, effect_name="write ÷ read")
    same, text = explain.compare(ours)
    assert same
    assert "the same direction" in text
    assert explain.agrees(ours, decide_one(ours))
    far = evidence(above(CLEAR), effect=ratios(CLEAR), study_effect=1.64, effect_name="write ÷ read")
    assert not explain.agrees(far, decide_one(far))
    other = evidence(above(CLEAR), effect=ratios(CLEAR), study_effect=0.5, effect_name="write ÷ read")
    assert explain.compare(other)[0] is False


@pytest.mark.parametrize(
    ("values", "margin", "same", "words"),
    [
        ([1.2, 0.8, 1.1, 1.3, 0.7, 1.4, 1.2, 1.1], None, None, "open: there is no interval on one side of 1"),
        ([1.2], None, None, "open"),
        ([1.01, 0.99, 1.02, 0.98], 1.1, True, "within the margin"),
        ([1.2, 1.21, 1.22, 1.2], 1.1, False, "outside the margin"),
        ([1.0, 1.08, 1.12, 1.1], 1.1, None, "open: the interval is not wholly within"),
    ],
)
def test_the_interval_says_whether_it_agrees_with_the_study(values, margin, same, words):
    found, text = explain.compare(evidence(effect=ratios(values), study_effect=1.02, margin=margin))
    assert found is same
    assert words in text


NEAR = [1.01, 0.99, 1.02, 0.98, 1.01, 0.99, 1.0, 1.0, 1.01]


def test_a_difference_that_is_shown_to_be_none_is_refuted():
    verdict = decide_study({"mixed-write": evidence(above(NEAR, "Edits"), above(NEAR, "Larger"))})["mixed-write"]
    assert (verdict.result, verdict.why) == ("refuted", "Edits: no difference, as the ratio is within 1/1.10 to 1.10.")
    assert claim_status(above(NEAR)) == "refuted"


def test_a_small_but_clear_difference_is_not_none():
    small = [1.02, 1.03, 1.025, 1.022, 1.031, 1.027, 1.024, 1.026]
    assert above(small).no_effect_p < 1e-6
    assert decide_one(evidence(above(small))).result == "confirmed"
    # With the correction it is neither confirmed nor none.
    unclear = [1.03, 1.04, 1.02, 1.03, 1.05, 1.04, 0.999, 1.03]
    assert decide_study({"mixed-write": evidence(above(unclear))})["mixed-write"].result == "undecided"


def test_two_equal_blocks_decide_nothing():
    assert above([1.0, 1.0]).no_effect_p == 0
    assert decide_one(evidence(above([1.0, 1.0]))).result == "undecided"
    same = dict.fromkeys(range(2), 1.0)
    claim = Claim("Same time", "", True, equivalence(same, same, 1.1), opposite_p=1.0, is_equivalence=True)
    assert (claim.p, decide_one(evidence(claim)).result, claim_status(claim)) == (0, "undecided", "undecided")


def test_a_claim_of_far_more_is_refuted_where_there_is_no_effect():
    assert above(NEAR, against=2.0).no_effect_p is None
    assert decide_one(evidence(above(NEAR, against=2.0))).why == "Dearer: the other way."


@pytest.mark.parametrize(
    ("ratio", "result", "why"),
    [
        (1.16, "confirmed", "all of its claims hold."),
        (1.64, "refuted", "Only a little: the other way."),
        (0.8, "refuted", "Dearer: the other way."),
        (1.0, "refuted", "Dearer: no difference, as the ratio is within 1/1.10 to 1.10."),
        (1.25, "undecided", None),
    ],
)
def test_a_little_longer_is_neither_as_long_nor_far_longer(ratio, result, why):
    trials = [
        MadeUpTrial(block, "source", {}, {"edit_ratio": edits}, ms * (1 + (block % 3 - 1) / 100 * edits))
        for block in range(1, 10)
        for edits, ms in ((1, 100 * ratio), (0, 100))
    ]
    evidence = write_vs_read.evidence(make_up("write-vs-read-direct", trials))
    assert [claim.name for claim in evidence.claims] == ["Dearer", "Only a little"]
    verdict = decide_study({"write-vs-read-direct": evidence})["write-vs-read-direct"]
    assert (verdict.result, why or verdict.why) == (result, verdict.why)


def overload_of(source_ms, cached_ms):
    """The verdict on E3 of made-up blocks; the times are those without a background and beside 100 and 250 readers."""
    trials = [
        MadeUpTrial(block, door, {}, {"door": door, "background_vus": load}, ms[at] * (1 + (block % 3 - 1) / 100))
        for block, (door, ms) in product(range(1, 10), (("source", source_ms), ("cached", cached_ms)))
        for at, load in enumerate((0, 100, 250))
    ]
    return decide_study({"overload": overload.evidence(make_up("overload", trials))})["overload"]


@pytest.mark.parametrize(
    ("source_ms", "cached_ms", "result", "why"),
    [
        ((300, 1500, 4600), (300, 310, 380), "confirmed", "all of its claims hold."),
        ((300, 1500, 3000), (300, 310, 380), "refuted", "Past what a user tolerates: the other way."),
        ((300, 9000, 40_000), (300, 1500, 5000), "refuted", "Through the cache not: the other way."),
        ((300, 1500, 3980), (300, 310, 380), "undecided", None),  # near the limit is not beyond it, nor clearly within
    ],
)
def test_overload_is_about_what_a_user_tolerates(source_ms, cached_ms, result, why):
    verdict = overload_of(source_ms, cached_ms)
    assert len(verdict.evidence.claims) == 4
    assert (verdict.result, why or verdict.why) == (result, verdict.why)


@pytest.mark.parametrize(
    ("crowd_ms", "result", "why"),
    [
        (9000, "confirmed", "all of its claims hold."),
        (3000, "refuted", "Past what a user tolerates: the other way."),
        (4010, "undecided", None),
    ],
)
def test_readers_at_once_decide_in_a_study_what_a_user_tolerates(crowd_ms, result, why):
    levels = overload_of((300, 1500, 3980), (300, 310, 380)).evidence
    crowd = make_up(
        "at-once",
        [
            MadeUpTrial(block, "source", {}, {"door": "source", "vus": 1000}, crowd_ms * (1 + (block % 3 - 1) / 100))
            for block in range(1, 10)
        ],
    )
    verdict = decide_study({"overload": overload.with_crowd(levels, at_once.wait_claim(crowd))})["overload"]
    assert (verdict.result, why or verdict.why) == (result, verdict.why)
    assert [claim.name for claim in verdict.evidence.claims] == [claim.name for claim in levels.claims]
    (aside,) = verdict.evidence.asides
    assert "beside 250 requesters" in aside.text
    assert "1000 readers at once" in verdict.evidence.claims[2].text
    assert verdict.evidence.rule.startswith(levels.rule)


def test_more_claims_refute_no_more_often_by_chance():
    slightly = ratios([1 / value for value in CLEAR[:7]])  # p is 1/64, below 0.05 and above 0.05 times 2 ÷ 8
    claim = claims.test_claim("One", "mean_ms", slightly, "above", "a ÷ b")
    assert decide_one(evidence(claim)).result == claim_status(claim, tests=2) == "refuted"
    assert decide_one(evidence(claim, *[above(CLEAR)] * 7)).result == claim_status(claim, tests=8) == "undecided"


@pytest.mark.parametrize("against", [1.0, 1.25])
def test_wrong_verdicts_are_as_rare_as_they_say(against):
    """Without an effect nothing is confirmed, and with one of the margin nothing is refuted, but for 5 %."""
    rng = np.random.default_rng(3)
    wrong = {"confirmed": 0, "refuted": 0}
    for result, effect in (("confirmed", against), ("refuted", against * DEFAULT.equivalence_ratio)):
        for logs in rng.normal(np.log(effect), 0.05, (300, 2, 8)):
            both = (above(np.exp(own), name, against) for name, own in zip("ab", logs, strict=True))
            wrong[result] += decide_one(evidence(*both)).result == result
    # The standard error of 0.05 over 300 is 0.013.
    assert max(wrong.values()) / 300 <= ALPHA + 2 * 0.013


def test_a_hypothesis_is_decided_either_way_where_the_power_says_so():
    rng = np.random.default_rng(5)
    results = {}
    for effect in (1.0, 1.2):
        runs = [evidence(above(np.exp(logs))) for logs in rng.normal(np.log(effect), 0.05, (200, 9))]
        results[effect] = [decide_study({"write-vs-read-direct": one})["write-vs-read-direct"].result for one in runs]
    assert results[1.2].count("confirmed") / 200 >= 0.8
    assert results[1.0].count("refuted") / 200 >= 0.8


def test_thresholds_are_those_of_the_manifest():
    name = "write-vs-read-cached"
    stated = {"alpha": 0.01, "hypotheses": 6, "equivalence_ratio": 1.05}
    assert read({"name": name, "thresholds": stated}) == Thresholds(0.01, 6, 1.05, 1.25, recorded=True)
    assert read({"name": name}) == Thresholds(far_more_ratio=1.25)
    assert read({}) == DEFAULT
    assert describe({"thresholds": stated}) == "alpha 0.01, hypotheses 6, equivalence_ratio 1.05"
    assert describe({}).startswith("thresholds not recorded")
    strict = replace(DEFAULT, alpha=0.001)
    assert decide_one(evidence(above(CLEAR), thresholds=strict)).result == "undecided"
    more = replace(DEFAULT, hypotheses=10)
    verdict = decide_study({"read-hot": evidence(above(CLEAR), thresholds=more)})["read-hot"]
    assert verdict.p_holm == pytest.approx(10 * 2 / 256)


@pytest.mark.parametrize(
    "stated", [[], {"beta": 1}, {"alpha": "low"}, {"alpha": 5}, {"equivalence_ratio": 0.9}, {"hypotheses": 1.5}]
)
def test_thresholds_that_make_no_sense_are_said(stated):
    with pytest.raises(RunFolderError, match="thresholds"):
        read({"name": "read-hot", "thresholds": stated})


def test_the_table_of_tests_says_what_they_could_have_found():
    (table,) = claim_table.tables(evidence(above(CLEAR), above(CLEAR[:7], "Fewer"), COUNT))
    first, second = table.rows
    assert (first["claim"], first["blocks"], first["against"]) == ("Dearer", 8, "1")
    assert 1 < first["detectable_alone"] < first["detectable_study"] < 1.1
    # Seven blocks: p is 0.016 at least, times six.
    assert (second["detectable_study"], second["needed_study"]) == (None, 8)
    assert "alpha 0.05, 6 hypotheses" in table.note and "not recorded" in table.note
    assert claim_table.tables(evidence(COUNT)) == claim_table.tables(None) == []


def test_the_numbers_of_repetitions_are_those_that_can_decide():
    assert claims.needed(above([1.3]), DEFAULT, len(STUDY_EXPERIMENTS)) == 8
    assert 6 * least_p(8) < ALPHA <= 6 * least_p(7)
    wild = above([1.2, 0.8, 1.1, 1.3, 0.7, 1.4, 1.2, 1.1])
    number = claims.needed(wild, DEFAULT, 6)
    assert 40 < number <= 100
    assert decide_study({"read-hot": evidence(wild)})["read-hot"].why.endswith(f"a new run needs about {number}.")
    wilder = above([2, 0.4, 1.1, 3, 0.7, 1.4, 1.2, 0.5])
    assert "needs more than 100." in decide_one(evidence(wilder)).why
