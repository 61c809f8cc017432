"""Numbers as words."""

import pytest

from stevec_report import wording
from stevec_report.intervals import Interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0"),
        (3836, "3836"),
        (99.96, "100"),
        (75.625, "75.6"),
        (9.999, "10.0"),
        (1, "1.00"),
        (0.99999, "1.00"),
        (0.4449, "0.445"),
        (0.0123, "0.0123"),
        (0.00001234, "1.23e-05"),
        (-0.5, "−0.500"),
    ],
)
def test_three_digits(value, text):
    assert wording.three_digits(value) == text


def test_intervals():
    assert wording.interval_text(None) == "–"
    assert wording.interval_text(Interval(2.0, None, None, 1)) == "2.00"
    assert wording.interval_text(Interval(2.0, 1.5, 2.5, 3)) == "2.00 (1.50\u202f…\u202f2.50)"
    assert wording.interval_text(Interval(-1.04, -2.2, 0.1, 3)) == "−1.04 (−2.20\u202f…\u202f0.10)"
    assert wording.interval_text(Interval(150, 0.03, 310, 3)) == "150 (0\u202f…\u202f310)"
    assert wording.interval_text(Interval(0.1, -0.0004, 0.2, 3), 2) == "0.10 (0.00\u202f…\u202f0.20)"


def test_a_constant_has_no_interval():
    assert wording.interval_text(Interval(0.0, 0.0, 0.0, 3)) == "0"
    assert wording.interval_text(Interval(5.0, 5.0, 5.0, 3), 1) == "5.0"


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([], None),
        ([0.0], None),
        ([75.6, 14.4], 1),
        ([3836.0, 12.5], 0),
        ([0.42, 7.83], 3),
        ([0.42, 3836.0], None),
        ([10.0, 100.0, 0.0], 0),
        ([-0.5, 99.0], 2),
    ],
)
def test_a_column_has_one_number_of_decimals(values, decimals):
    assert wording.common_decimals(values) == decimals


def test_one_thing_is_singular():
    assert [wording.count_of(number, "trial") for number in (0, 1, 2)] == ["0 trials", "1 trial", "2 trials"]
    assert [wording.part_of(1, number, "trial") for number in (1, 2)] == ["1 of 1 trial", "1 of 2 trials"]
    assert [wording.is_or_are(number) for number in (0, 1, 2)] == ["are", "is", "are"]


def test_units_stand_behind_narrow_spaces():
    assert wording.typeset("12.3 ms, 10 % of 4 sources in 4 s") == "12.3\u202fms, 10\u202f% of 4 sources in 4\u202fs"


def test_shares_changes_and_counts():
    assert wording.percent(0.1) == "10 %"
    assert wording.percent(0.0275) == "2.75 %"
    assert wording.percent(None) == "–"
    assert wording.signed_percent(1.02) == "+2.0 %"
    assert wording.signed_percent(0.98) == "−2.0 %"
    assert wording.count_of(1, "trial") == "1 trial"
    assert wording.count_of(0, "trial") == "0 trials"
    assert wording.grouped(9999) == "9999"
    assert wording.grouped(1234567) == "1\u202f234\u202f567"


@pytest.mark.parametrize(
    ("words", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_lists(words, text):
    assert wording.join_words(words) == text
