"""Samples of machines whose clocks differ: the bound of the difference widens the tolerance of staleness."""

import pytest
from run_folder_fixture import build_run_folder, edit_json, find_trial

from stevec_report import staleness

PURGE_MS = 60  # after an edit the toy cache has the old page for as long


@pytest.fixture
def analyse_with(tmp_path, analyse_run):
    """A function from the bound in ms of the clocks of all trials to the analysis of their run."""

    def analyse(bound_ms):
        run = build_run_folder(
            tmp_path / f"results-{bound_ms}",
            repetitions=2,
            requests=400,
            pages=2,
            edit_ratio=0.2,
            factors={"policy": ["purge-url"]},
        )
        for repetition in (1, 2):
            _, folder = find_trial(run, repetition)
            edit_json(folder / "trial.json", lambda trial: trial.update(clock_skew_bound_ms=bound_ms))
        return analyse_run(run)

    return analyse


def test_a_read_is_stale_only_beyond_what_the_clocks_may_differ(analyse_with):
    bounds_ms = (None, PURGE_MS / 2, 2 * PURGE_MS)
    one, half, whole = (staleness.of_trials(analyse_with(bound_ms).valid) for bound_ms in bounds_ms)
    assert one.stale > half.stale > whole.stale == 0
    assert one.uncertain < half.uncertain < whole.uncertain
    assert one.stale + one.uncertain == half.stale + half.uncertain == whole.uncertain
    assert one.judged == half.judged == whole.judged


def test_the_table_says_the_tolerance(analyse_with):
    for bound_ms, expected in ((None, "within 1 ms."), (30, "within up to 31 ms.")):
        (table,) = staleness.tables(analyse_with(bound_ms))
        assert f"as the edit came {expected}" in table.note


def test_a_bound_below_zero_is_no_bound(analyse_with):
    for outcome in analyse_with(-1).outcomes:
        assert not outcome.valid
        assert "clock_skew_bound_ms is negative" in "; ".join(outcome.reasons)
