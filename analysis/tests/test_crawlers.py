"""People beside crawlers: views and saves apart, what the sweep got, the picture, and the expectations."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from run_folder_fixture import build_run_folder, edit_json, find_trial, saturate, scale_times

from stevec_report import expectations, key_numbers, plot_style
from stevec_report.analysis import analyse
from stevec_report.blocks import bare
from stevec_report.crawl_facts import read_crawl
from stevec_report.experiments import crawlers, module_for
from stevec_report.figures import beside_crawlers
from stevec_report.measures import MEASURES
from stevec_report.report_folder import write_report
from stevec_report.run_folder import read_run

EXPERIMENT = json.loads((Path(__file__).parents[2] / "loadgen/experiments/crawlers.json").read_text(encoding="utf-8"))
REPETITIONS = 3
SWEEP = {"200": 370, "429": 0, "499": 3, "503": 11_452}


def facts(**changed):
    rates = {"capacity_per_s": 21.5, "asked_per_s": 215, "sent_per_s": 215.0, "seconds": 55}
    return {**rates, "statuses": SWEEP, **changed}


def build(parent, slower=1.0, requests=1400):
    """A run with crawlers in half of its trials, which make people wait `slower` times as long."""
    run = build_run_folder(
        parent,
        experiment="crawlers",
        repetitions=REPETITIONS,
        factors=EXPERIMENT["factors"],
        requests=requests,
        edit_ratio=0.2,
    )
    for repetition in range(1, REPETITIONS + 1):
        _, folder = find_trial(run, repetition, crawlers="on")
        edit_json(folder / "trial.json", lambda value: value.update(crawl=facts()))
        if slower != 1:
            scale_times(folder, slower)
    edit_json(run / "manifest.json", lambda value: value["experiment"].update(expectations=EXPERIMENT["expectations"]))
    return run


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    with closing(analyse(read_run(build(tmp_path_factory.mktemp("results"))))) as opened:
        yield opened


def named(blocks, name):
    return next(block for block in blocks if getattr(block, "name", "") == name)


def test_the_sweep_has_a_row_for_each_trial_beside_crawlers(analysis):
    assert module_for("crawlers") is crawlers
    assert len(analysis.valid) == 2 * REPETITIONS, [o.reasons for o in analysis.outcomes if o.reasons]
    blocks = crawlers.blocks(analysis)
    assert blocks[0].text == (
        "In 3 trials, crawlers asked for 10.0 times the old texts that the wiki can show, of which 3.13 % were shown."
    )
    rows = named(blocks, "sweep").rows
    assert [row["repetition"] for row in rows] == [1, 2, 3]
    assert [bare(rows[0][f"status_{status}"]) for status in ("200", "429", "503")] == [370, 0, 11_452]
    assert (rows[0]["others"], rows[0]["times"]) == (3, 10)


def test_views_and_saves_are_judged_apart(analysis):
    trial = analysis.valid[0]
    times = analysis.samples.query(
        "SELECT quantile_cont(response_ms, 0.99) FILTER (is_read), "
        "quantile_cont(response_ms, 0.95) FILTER (NOT is_read) FROM {samples} WHERE answered",
        [trial.number],
    )[0]
    for measure, interval, expected in zip(
        ("read_p99_ms", "write_p95_ms"), (trial.stats.read_p99, trial.stats.write_p95), times, strict=True
    ):
        assert MEASURES[measure].of(trial) == interval.centre == pytest.approx(expected)
        assert interval.low < interval.centre < interval.high
    assert trial.stats.read_p99.n + trial.stats.write_p95.n == trial.stats.answered
    assert {row["method"] for row in named(crawlers.blocks(analysis), "by-method").rows} == {"GET", "POST"}


def test_the_picture_has_all_trials_and_what_the_crawlers_of_each_got(analysis, monkeypatch):
    drawn = []
    monkeypatch.setattr(beside_crawlers, "draw", drawn.append)
    figure = named(crawlers.blocks(analysis), "beside-crawlers")
    figure.draw()
    (trials,) = drawn
    assert len(trials) == 2 * REPETITIONS
    assert sum(trial.got is not None for trial in trials) == REPETITIONS
    assert next(trial.got for trial in trials if trial.got) == {"200": 370, "429": 0, "503": 11_452, "other": 3}
    monkeypatch.undo()
    with plot_style.style():
        views, saves, sweep = figure.draw().axes
    assert [axes.get_title(loc="left") for axes in (views, saves)] == ["views, p99, ms", "saves, p95, ms"]
    assert sum(bar.get_height() for bars in sweep.containers for bar in bars) == pytest.approx(REPETITIONS)


@pytest.mark.parametrize(("slower", "result"), [(1, "confirmed"), (3, "refuted")])
def test_the_ratio_of_times_is_decided_by_trials(tmp_path, slower, result):
    with closing(analyse(read_run(build(tmp_path, slower=slower)))) as opened:
        views, saves, failures, hits = expectations.decide(opened)
    assert (views.result, saves.result) == (result, result), (views, saves)
    assert views.blocks == saves.blocks == REPETITIONS
    assert (views.ratio.centre < 1.5) == (saves.ratio.centre < 1.5) == (slower == 1)
    assert failures.result == "confirmed"
    assert hits.difference.n == REPETITIONS


def test_saves_that_are_too_few_decide_nothing_and_are_not_drawn(tmp_path):
    with closing(analyse(read_run(build(tmp_path, requests=200)))) as opened:
        assert [o.stats.write_p95 for o in opened.valid] == [None] * 2 * REPETITIONS
        _, saves, _, _ = expectations.decide(opened)
        texts = [text.get_text() for axes in crawlers.draw(opened).axes for text in axes.texts]
    assert saves.result == "undecided"
    assert texts == ["too few in a trial"] * 2


def test_a_sweep_that_k6_did_not_send_decides_nothing_about_times(tmp_path):
    run = build(tmp_path)
    for repetition in range(1, REPETITIONS + 1):
        saturate(find_trial(run, repetition, crawlers="on")[1], "generator")
    with closing(analyse(read_run(run))) as opened:
        views, saves, failures, _ = expectations.decide(opened)
        assert {row["limited_by"] for row in named(crawlers.blocks(opened), "sweep").rows} == {"generator"}
    assert [one.result for one in (views, saves, failures)] == ["undecided"] * 3


def test_the_whole_report_is_written_with_its_figure(tmp_path):
    page = write_report(read_run(build(tmp_path)), lambda _: None)
    assert "p99 of response times of reads" in page.read_text(encoding="utf-8")
    assert (page.parent / "figures/beside-crawlers.svg").is_file()
    assert (page.parent / "tables/sweep.csv").is_file()
    assert set(MEASURES) == set(key_numbers.NAMES)


def test_facts_of_a_sweep_are_checked():
    assert read_crawl(None) is None
    assert read_crawl({"statuses": {"200": 1}, "k6": {}}) is None  # of before the capacity was measured
    wrong = (
        [],
        facts(capacity_per_s=0),
        facts(sent_per_s=None),
        facts(statuses={"<b>": 1}),
        facts(statuses={"200": -1}),
    )
    for value in wrong:
        with pytest.raises(ValueError, match=r"crawl|200"):
            read_crawl(value)
