"""Run folders that the tests share."""

import pytest
from run_folder_fixture import build_run_folder

from stevec_report import plot_style
from stevec_report.__main__ import main
from stevec_report.run_folder import read_run


@pytest.fixture
def run_folder(tmp_path):
    """A small valid run of its own for a test that changes it: 3 repetitions at 4 doors."""
    return build_run_folder(tmp_path / "results", repetitions=3, requests=60, pages=10)


@pytest.fixture(scope="session")
def reported_run(tmp_path_factory):
    """A run with its report, for tests that only look."""
    run = build_run_folder(tmp_path_factory.mktemp("results"), repetitions=5, requests=200, pages=20)
    assert main([str(run)]) == 0
    return run


@pytest.fixture
def without_png(monkeypatch):
    """Leave the pixels out, which take a third of the time of a report, where a test looks at none."""
    monkeypatch.setattr(plot_style, "to_png", lambda figure: b"")


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
