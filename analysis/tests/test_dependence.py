"""Dependence of trials in time: intervals cover as often as they say, and are not much wider than they must be."""

import math

import numpy as np
import pytest
from run_folder_fixture import build_run_folder, scale_times
from scipy.signal import lfilter

from stevec_report import key_numbers, plot_style
from stevec_report.blocks import Figure
from stevec_report.dependence import FAR, drift, estimate_rho, mean_interval, run_dependence
from stevec_report.experiments import overload, overload_curve, read_hot
from stevec_report.experiments.common import cell_table
from stevec_report.intervals import geometric_mean, t_interval

BLOCKS, RUNS, RHO = 8, 800, 0.4
LOADS = {"door": ["source", "cached"], "background_vus": [0, 20]}
COVERAGE, WIDTH = 0.93, 1.5
NORMAL = 1.959964


def correlation(positions, rho=RHO):
    return rho ** np.abs(np.subtract.outer(positions, positions))


def made_up_runs(cells, rho=RHO, seed=5):
    """Yield (values of all trials, [positions of each cell]): cells in random order within blocks, AR(1) errors."""
    rng = np.random.default_rng(seed)
    for _ in range(RUNS):
        order = np.concatenate([rng.permutation(cells) for _ in range(BLOCKS)])
        noise = rng.normal(size=order.size)
        noise[1:] *= math.sqrt(1 - rho**2)
        yield lfilter([1], [1, -rho], noise), [np.flatnonzero(order == cell) for cell in range(cells)]


def check(intervals, oracle_half_widths, truth=0.0):
    covered = np.mean([one.low <= truth <= one.high for one in intervals])
    width = np.mean([one.high - one.low for one in intervals]) / (2 * np.mean(oracle_half_widths))
    assert covered >= COVERAGE
    assert width <= WIDTH


@pytest.mark.parametrize("cells", [2, 4])
def test_means_of_cells_cover_the_truth_though_trials_depend_on_each_other(cells):
    found, oracle, plain = [], [], 0
    for values, places in made_up_runs(cells):
        rho = estimate_rho([(own, values[own]) for own in places])
        found.append(mean_interval(values[places[0]], places[0], rho))
        oracle.append(NORMAL * math.sqrt(correlation(places[0]).sum()) / BLOCKS)
        interval = t_interval(values[places[0]])
        plain += interval.low <= 0 <= interval.high
    check(found, oracle)
    if cells == 2:
        assert plain < sum(one.low <= 0 <= one.high for one in found) - 0.01 * RUNS


def test_differences_within_blocks_need_no_correction():
    found, oracle = [], []
    for values, places in made_up_runs(cells=4):
        found.append(t_interval(values[places[0]] - values[places[1]]))
        # The oracle knows the correlation and the order of the trials, and the width is a mean over random orders.
        weights = np.zeros(values.size)
        weights[places[0]], weights[places[1]] = 1 / BLOCKS, -1 / BLOCKS
        oracle.append(NORMAL * math.sqrt(weights @ correlation(np.arange(values.size)) @ weights))
    check(found, oracle)


def test_a_drift_is_not_made_of_dependence():
    found, oracle = [], []
    for values, places in made_up_runs(cells=2):
        last = values.size - 1
        change = drift([(own / last, np.exp(values[own]), own) for own in places])
        found.append(change.map(math.log))
        moments = np.arange(values.size) / last
        slopes = np.zeros(values.size)
        for own in places:
            slopes[own] = moments[own] - moments[own].mean()
        slopes /= slopes @ slopes
        oracle.append(NORMAL * math.sqrt(slopes @ correlation(np.arange(values.size)) @ slopes))
    check(found, oracle)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.8])
def test_the_correlation_is_estimated_without_much_bias(rho):
    found = [estimate_rho([(own, values[own]) for own in places]) for values, places in made_up_runs(8, rho)]
    # An estimate is never below 0, so that of no correlation is above it.
    assert np.mean(found) == pytest.approx(rho, abs=0.08)


def test_without_correlation_an_interval_is_the_t_interval():
    values = np.array([3.0, 4.0, 8.0, 6.0])
    plain, found = t_interval(values), mean_interval(values, [0, 3, 5, 9], 0.0)
    assert (found.centre, found.low, found.high) == pytest.approx((plain.centre, plain.low, plain.high))
    far = mean_interval(values, np.arange(4) * FAR, 0.9)
    assert (far.low, far.high) == pytest.approx((plain.low, plain.high))
    near = mean_interval(values, np.arange(4), 0.5)
    assert near.high - near.low > 1.5 * (plain.high - plain.low)
    assert mean_interval([2.0], [0], 0.5).bounds is None


def test_too_few_trials_have_no_correlation():
    assert estimate_rho([]) is None
    assert estimate_rho([(np.arange(8), np.arange(8.0))]) is None
    assert estimate_rho([(np.arange(16) * 2, np.arange(16.0) % 3)]) is None  # none next to another
    assert estimate_rho([(np.arange(16), np.ones(16))]) is None


def test_the_trials_of_a_run_tell_their_dependence(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, repetitions=8, requests=30, pages=10)
    folders = sorted((run / "trials").iterdir())
    for number, folder in enumerate(folders):
        scale_times(folder, 3.0 if number < len(folders) / 2 else 1.0)
    analysis = analyse_run(run)
    found = run_dependence(analysis)
    assert found.rho > 0.5
    assert sorted(found.positions.values()) == list(range(len(folders)))
    trials = analysis.select(door="source")
    own, plain = found.mean("mean_ms", trials), geometric_mean([o.mean_ms for o in trials])
    assert own.centre == pytest.approx(plain.centre)
    assert own.high / own.low > plain.high / plain.low
    assert found.mean("mean_ms", []) is None
    assert f"(correlation {found.rho:.2f})" in cell_table(analysis).note


def drawn_intervals(figure, panel):
    """(ends, place) of the lines across which stand for intervals, in a panel of means."""
    lines = [line for line in figure.axes[panel].lines if len(line.get_xdata()) == 2]
    return [tuple(line.get_xdata()) for line in lines if np.ptp(line.get_ydata()) == 0]


def test_the_first_page_a_table_and_a_figure_have_one_interval(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, repetitions=6, requests=30, pages=10)
    folders = sorted((run / "trials").iterdir())
    for folder in folders[: len(folders) // 2]:
        scale_times(folder, 3.0)
    analysis = analyse_run(run)
    assert run_dependence(analysis).rho > 0.5
    first = {number.label: number.ours for number in key_numbers.of(analysis, read_hot.evidence(analysis))}
    cells = {row["cell"]: row["mean_ms"] for row in cell_table(analysis).rows}
    (figure,) = (block for block in read_hot.blocks(analysis) if isinstance(block, Figure))
    with plot_style.style():
        drawn = drawn_intervals(figure.draw(), 1)
    for door in ("source", "cached"):
        table = next(mean for cell, mean in cells.items() if door in cell)
        assert first[f"mean response time, {door}"] == table
        assert table.bounds in drawn


def test_a_load_has_one_interval_in_tables_and_figures(tmp_path, analyse_run):
    run = build_run_folder(tmp_path, experiment="overload", repetitions=4, requests=10, factors=LOADS)
    folders = sorted((run / "trials").iterdir())
    for folder in folders[: len(folders) // 2]:
        scale_times(folder, 3.0)
    analysis = analyse_run(run)
    assert run_dependence(analysis).rho > 0.5
    (table,) = (block for block in overload.blocks(analysis) if block.name == "table-1.4")
    shown = next(row["mean_ms"] for row in table.rows if row["parallel"] == 20)
    first = {number.label: number.ours for number in key_numbers.of(analysis, overload.evidence(analysis))}
    assert first["mean response time, source, beside 20 readers"] == shown
    points = {point["load"]: point for point in overload_curve.saturation_of(analysis, "source")["points"]}
    assert points[20]["mean_ms_interval"] == overload_curve.mean_at(analysis, "source", 20) == shown


def test_a_short_run_says_that_it_cannot_tell(run_folder, analyse_run):
    analysis = analyse_run(run_folder)
    assert run_dependence(analysis).rho is None
    assert "too few to tell" in cell_table(analysis).note


def test_drift_finds_the_slope_that_all_groups_share():
    moments = np.linspace(0, 1, 6)
    places = np.arange(0, 12, 2)
    groups = [(moments, 5 * 1.2**moments, places), (moments + 0.05, 80 * 1.2 ** (moments + 0.05), places + 1)]
    found = drift(groups)
    assert (found.centre, found.low, found.high) == pytest.approx((1.2, 1.2, 1.2))


def test_a_door_that_came_late_is_no_drift():
    found = drift([([0.0, 0.1, 0.2], [1, 1, 1], [0, 1, 2]), ([0.8, 0.9, 1.0], [50, 50, 50], [3, 4, 5])])
    assert found.centre == pytest.approx(1)


def test_drift_matches_ordinary_least_squares_by_hand():
    # one group, x = 0, 0.5, 1 and log y = 0, 1, 1: slope 1, residuals -1/6, 1/3, -1/6, 1 degree of freedom,
    # standard error sqrt((1/6) / (1/2)) = 0.577350
    found = drift([([0, 0.5, 1], np.exp([0.0, 1.0, 1.0]), [0, 1, 2])])
    assert math.log(found.centre) == pytest.approx(1)
    assert math.log(found.high) == pytest.approx(1 + 12.706205 * 0.577350, rel=1e-5)


@pytest.mark.parametrize(
    "groups", [[], [([0.0], [1.0], [0])], [([0.0, 1.0], [1.0, 2.0], [0, 1])], [([1, 1, 1], [1, 2, 3], [0, 1, 2])]]
)
def test_too_little_for_a_drift(groups):
    assert drift(groups) is None
