"""`make verify-analysis`: the analysis errs as seldom as it says, and a wrong analysis is found out."""

import json
import statistics
from dataclasses import replace

import numpy as np
import pytest

from stevec_compare.comparison import compare_numbers
from stevec_report import block_values
from stevec_report.experiments import overload
from stevec_simulate import areas, comparisons, verdicts
from stevec_simulate.__main__ import main
from stevec_simulate.noise import Noise
from stevec_simulate.rate import Line

pytestmark = pytest.mark.slow

WORST = Noise(between_runs=2, correlation=0.4, heavy_tails=True)


@pytest.mark.parametrize("area", areas.AREAS)
def test_no_line_contradicts_what_the_analysis_claims(area):
    simulations = {"verdicts": 15, "one-stack": 2, "comparisons": 60}.get(area, 40)  # what takes longest, less often
    lines = list(areas.simulate([area], simulations, seed=2, noises=[Noise(), WORST]))
    assert [line for line in lines if not line.holds] == []
    assert {line.n for line in lines} == {simulations}
    assert {line.is_judged for line in lines} == {area != "one-stack"}


def test_blocks_that_share_a_stack_cannot_tell_its_level_from_the_truth():
    truth = next(one for one in verdicts.TRUTHS if one.experiment == "write-vs-read-cached")
    wrong = {
        is_one_stack: truth.count_wrong(Noise(between_runs=2), 100, np.random.default_rng(4), is_one_stack)
        for is_one_stack in (False, True)
    }
    assert wrong[False] <= 10 < 20 <= wrong[True]


def test_trials_that_are_taken_for_runs_are_found_out(monkeypatch):
    def of_trials(first, second):
        sides = ([replace(run, cells=one) for run in side for one in _apart(run)] for side in (first, second))
        return compare_numbers(*sides)

    monkeypatch.setattr(comparisons, "compare_numbers", of_trials)
    alike = [line for line in areas.simulate(["comparisons"], 40, 2, [WORST]) if line.what.startswith("A/A")]
    assert alike
    assert [line.holds for line in alike] == [False] * len(alike)


def _apart(run):
    """Each repetition of a run as if it were a run."""
    return [
        {cell: [trials[at]] for cell, trials in run.cells.items()} for at in range(len(next(iter(run.cells.values()))))
    ]


def test_a_ratio_that_is_taken_for_known_is_found_out(monkeypatch):
    def as_if_known(values, needed):
        found = block_values.block_means(values, needed)
        return dict.fromkeys(found, statistics.fmean(found.values())) if list(needed) == [0] else found

    monkeypatch.setattr(overload, "block_means", as_if_known)
    truth = next(truth for truth in verdicts.TRUTHS if "degrades" in truth.what)
    monkeypatch.setattr(verdicts, "TRUTHS", (truth,))
    alone = [line for line in areas.simulate(["verdicts"], 250, 2, [Noise()]) if truth.what in line.what]
    assert [line.holds for line in alone] == [False], alone


def test_the_same_seed_gives_the_same_lines():
    first, second = (list(areas.simulate(["knees", "intervals"], 5, seed, [Noise()])) for seed in (3, 3))
    assert first == second


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        (Line("a", "a", "n", 8, 100, most=0.05), True),  # 8 % of 100 may be 5 % by chance
        (Line("a", "a", "n", 80, 1000, most=0.05), False),
        (Line("a", "a", "n", 90, 100, least=0.93), True),
        (Line("a", "a", "n", 900, 1000, least=0.93), False),
        (Line("a", "a", "n", 95, 100, least=0.93, width=1.6, width_most=1.5), False),
    ],
)
def test_a_line_fails_where_chance_does_not_explain_it(line, holds):
    assert line.holds is holds


def test_the_command_prints_lines_and_says_how_many_hold(capsys):
    assert main(["--only", "gates", "--simulations", "3"]) == 0
    shown = capsys.readouterr().out
    lines = 4 * len(areas.NOISES)
    assert shown.count("mean_ratio_max violated where the truth is the limit, 3 runs a side: ≤ 5 %") == 1
    assert f"{lines} of {lines} lines hold; 3 simulations each" in shown


def test_lines_that_are_only_shown_are_not_counted_as_held(capsys, monkeypatch):
    monkeypatch.setattr(verdicts, "TRUTHS", verdicts.TRUTHS[-1:])
    assert main(["--only", "one-stack", "--simulations", "2"]) == 0
    shown = capsys.readouterr().out
    assert "shown, not judged" in shown
    assert "0 of 0 lines hold" in shown


def test_the_command_gives_its_lines_as_json(capsys):
    assert main(["--only", "gates", "--simulations", "2", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert {(line["area"], line["n"], line["holds"]) for line in lines} == {("gates", 2, True)}


@pytest.mark.parametrize("wrong", [["--simulations", "0"], ["--only", "everything"], ["--seed", "x"]])
def test_wrong_use_is_said_in_a_line(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(wrong)
    assert stopped.value.code == 2
    assert "see python -m stevec_simulate --help" in capsys.readouterr().err
