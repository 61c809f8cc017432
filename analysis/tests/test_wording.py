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
        (-0.5, "-0.500"),
    ],
)
def test_three_digits(value, text):
    assert wording.three_digits(value) == text


def test_intervals():
    assert wording.interval_text(None) == "–"
    assert wording.interval_text(Interval(2.0, None, None, 1)) == "2.00"
    assert wording.interval_text(Interval(2.0, 1.5, 2.5, 3)) == "2.00 (1.50 to 2.50)"


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
