"""Fan-out: the cells beside the study's two figures, the picture, and what the measures make of a trial."""

from contextlib import closing

import pytest
from run_folder_fixture import build_run_folder, edit_json

from stevec_report.analysis import analyse
from stevec_report.blocks import bare
from stevec_report.experiments import fan_out
from stevec_report.fan_out_facts import read_fan_out
from stevec_report.figures import by_watchers
from stevec_report.measures import MEASURES
from stevec_report.run_folder import read_run

REPETITIONS = 3
REQUESTS = 100


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    run = build_run_folder(
        tmp_path_factory.mktemp("results"),
        experiment="fan-out",
        repetitions=REPETITIONS,
        factors={"watchers": [1, 10000], "fan_out": ["in-request", "on-queue", "on-read"]},
        requests=REQUESTS,
        edit_ratio=1,
        door="source",
        resource="watched-page",
    )
    for trial in sorted((run / "trials").iterdir()):
        edit_json(trial / "trial.json", add_fan_out)
    with closing(analyse(read_run(run))) as opened:
        yield opened


def facts(**changed):
    return {
        **{"acknowledged": REQUESTS, "shown": 3 * REQUESTS, "never_shown": 0, "items_written": 0},
        **{"looks": 300, "looks_failed": 0, "edit_cpu_ms": 20.0, "look_cpu_ms": 4.0},
        **{"delay_mean_ms": 50.0, "delay_p50_ms": 45.0, "delay_p95_ms": 90.0, "delay_max_ms": 99.0},
        **changed,
    }


def add_fan_out(value):
    watchers, way = value["settings"]["watchers"], value["settings"]["fan_out"]
    written = way != "on-read"
    value["fan_out"] = facts(
        items_written=watchers * REQUESTS if written else 0,
        edit_cpu_ms=20.0 + (0.02 * watchers if written else 0) + 0.1 * value["repetition"],
    )
    value["log_lines"] = {}


def table(analysis):
    return next(block for block in fan_out.blocks(analysis) if getattr(block, "name", "") == "watchers")


def test_the_studys_two_figures_stand_above_a_row_for_each_cell(analysis):
    assert len(analysis.valid) == 6 * REPETITIONS, [o.reasons for o in analysis.outcomes if o.reasons]
    found = table(analysis).rows
    assert [(row["watchers"], row["way"], row["study_ms"]) for row in found if row["of"] == "study"] == [
        (1, "in-request", 29.41),
        (1, "on-queue", 14.61),
    ]
    ours = {(row["watchers"], row["way"]): row for row in found if row["of"] == "here"}
    assert list(ours) == [(n, way) for n in (1, 10000) for way in fan_out.WAYS]
    dear = ours[10000, "on-queue"]
    assert (dear["items"], dear["delay_max_ms"], dear["never_shown"]) == (10000, 99, 0)
    assert bare(dear["edit_cpu_ms"]).centre == pytest.approx(220.2, rel=1e-3)
    assert ours[10000, "on-read"]["items"] == 0
    assert "one follower" in table(analysis).note


def test_the_picture_has_a_line_for_each_way_in_each_panel(analysis, monkeypatch):
    drawn = []
    monkeypatch.setattr(by_watchers, "draw", drawn.append)
    (figure,) = (block for block in fan_out.blocks(analysis) if getattr(block, "name", "") == "by-watchers")
    figure.draw()
    (panels,) = drawn
    assert [panel.label for panel in panels] == ["save, ms", "shown after, ms", "work, ms an edit"]
    for panel in panels:
        assert list(panel.lines) == list(fan_out.WAYS)
        assert [len(one.points) for line in panel.lines.values() for one in line] == [REPETITIONS] * 6
    monkeypatch.undo()
    assert figure.draw().axes[0].get_xscale() == "log"


def test_measures_take_a_change_that_was_never_seen_as_long_as_the_watchers_looked(analysis):
    outcome = analysis.valid[0]
    assert MEASURES["feed_delay_max_ms"].of(outcome) == 99
    assert MEASURES["edit_cpu_ms"].of(outcome) == outcome.record.fan_out.edit_cpu_ms
    assert read_fan_out(facts(never_shown=1)).longest_ms == 60_000
    assert read_fan_out(None) is None


@pytest.mark.parametrize(
    "changed", [{"shown": -1}, {"edit_cpu_ms": -1}, {"delay_max_ms": None}, {"looks": "3"}, {"items_written": 1.5}]
)
def test_a_wrong_field_is_refused(changed):
    with pytest.raises(ValueError):
        read_fan_out(facts(**changed))
