"""Run and study folders that the tests share."""

import functools

import pytest
from run_folder_fixture import build_run_folder, build_study_folder

from stevec_report import plot_style
from stevec_report.__main__ import main
from stevec_report.run_folder import read_run


@pytest.fixture
def run_folder(tmp_path):
    """A small valid run of its own for a test that changes it: 3 repetitions at 4 doors."""
    return build_run_folder(tmp_path / "results", repetitions=3, requests=60, pages=10)


@pytest.fixture
def overload_folder(tmp_path):
    """A small valid run with a background."""
    return build_run_folder(
        tmp_path / "results",
        experiment="overload",
        repetitions=2,
        factors={"door": ["source", "cached"], "background_vus": [0, 20, 250]},
    )


@pytest.fixture(scope="session")
def reported_run(tmp_path_factory):
    """A run with its report, for tests that only read it."""
    run = build_run_folder(tmp_path_factory.mktemp("results"), repetitions=5, requests=200, pages=20)
    assert main([str(run)]) == 0
    return run


@pytest.fixture(scope="session")
def reported_study(tmp_path_factory):
    """A study of all experiments with its report, with empty PNG files, for tests that only read it."""
    study = build_study_folder(tmp_path_factory.mktemp("results"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plot_style, "to_png", lambda figure: b"")
        assert main([str(study)]) == 0
    return study


@pytest.fixture
def without_pictures(monkeypatch):
    """Skip the drawing, which takes most of the time of a report, for tests that check no figure."""
    empty = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'
    monkeypatch.setattr(plot_style, "to_png", lambda figure: b"")
    monkeypatch.setattr(plot_style, "to_svg", lambda figure: empty)


@pytest.fixture
def analyse_run():
    """A function from a run folder to its analysis, closed at the end of the test."""
    from stevec_report.analysis import analyse

    opened = []

    def analyse_and_remember(folder):
        opened.append(analyse(read_run(folder)))
        return opened[-1]

    yield analyse_and_remember
    for analysis in opened:
        analysis.close()


@pytest.fixture(scope="session")
def analyse_once():
    """A function from the folder of a run to its analysis, read once for all tests, which only read it."""
    from stevec_report.analysis import analyse

    opened = {}

    def analyse_and_remember(run):
        if run not in opened:
            opened[run] = analyse(read_run(run))
        return opened[run]

    yield analyse_and_remember
    for analysis in opened.values():
        analysis.close()


@pytest.fixture(scope="session")
def blocks_once(analyse_once):
    """A function from the folder of a run to the blocks of its report, computed once for all tests."""
    from stevec_report.parts import list_blocks

    return functools.cache(lambda run: list_blocks(analyse_once(run)))
