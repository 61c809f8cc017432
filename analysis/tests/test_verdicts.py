"""From claims to verdicts: confirmed, refuted or undecided, for one experiment and for six."""

import pytest

from stevec_report import explain, verdicts
from stevec_report.hypothesis_tests import paired_test
from stevec_report.verdicts import Claim, Evidence, claim_status, decide_one, decide_study


def ratios(values):
    return paired_test(dict(enumerate(values)), dict.fromkeys(range(len(values)), 1.0))


def evidence(*claims, **more):
    return Evidence(list(claims), "a rule", "the study's", "ours", **more)


def above(values, name="Dearer"):
    return verdicts.test_claim(name, "mean_ms", ratios(values), "above", "a ÷ b")


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
    assert "5 pairs of trials cannot decide: the smallest possible p is 0.062, times 6" in verdict.why


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
