"""What every figure owes its reader: labels that do not touch, lines that do not lie, and the values it is about."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

from stevec_report import parts, plot_style, reference, saturation, study_report
from stevec_report.blocks import Figure
from stevec_report.figures import (
    answers_over_time,
    beside_each_other,
    coinciding,
    edit_to_fresh,
    figure_1_3,
    freshness_offload,
    hit_ratio_by_size,
    hits_by_rank,
    hits_over_time,
    load_curve,
    machine_use,
    means,
    origin_load,
    price_of_bound,
    ratios,
    response_times,
    side_labels,
    waits_over_time,
    write_and_read,
)
from stevec_report.figures import saturation as saturation_figure
from stevec_report.freshness.edit_times import Distribution
from stevec_report.intervals import Interval, geometric_mean
from stevec_report.tolerance import TOLERATED_MS
from stevec_report.wording import three_digits

ROOT = Path(__file__).parents[2]
RUNS = [ROOT / "results/sample-policy", *sorted((ROOT / "results/sample/runs").iterdir())]
SLACK_PX = 0.5  # boxes of letters may share an edge
WIDTHS_IN = (3.2, 4.5, 7.0)


def each_pair(counts, thirds):
    """Each count at each width, beside one of `thirds` in turn: all pairs of two of them, but few triples."""
    places = itertools.product(range(len(counts)), range(len(WIDTHS_IN)))
    return [(thirds[(at + width) % len(thirds)], counts[at], WIDTHS_IN[width]) for at, width in places]


@pytest.fixture
def written(monkeypatch):
    """A function that draws a figure and returns [(text, box in pixels)] of all text that was really drawn."""
    found = []
    original = Text.draw

    def draw(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            found.append((self.get_text(), Text.get_window_extent(self, renderer)))
        return original(self, renderer, *args, **kwargs)

    def texts_of(make):
        with plot_style.style():
            figure = make()
            # As when it is saved: matplotlib lays it out once, then draws it.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            found.clear()
            monkeypatch.setattr(Text, "draw", draw)
            figure.canvas.draw()
            monkeypatch.setattr(Text, "draw", original)
        return figure, list(found)

    return texts_of


def touching(texts):
    """Pairs of texts whose boxes overlap."""
    pairs = []
    for (one, a), (other, b) in itertools.combinations(texts, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > SLACK_PX and down > SLACK_PX:
            pairs.append((one, other))
    return pairs


def outside(figure, texts):
    """Texts that are cut off by the figure's edge."""
    box = figure.bbox
    return [
        text
        for text, own in texts
        if own.x0 < box.x0 - 1 or own.x1 > box.x1 + 1 or own.y0 < box.y0 - 1 or own.y1 > box.y1 + 1
    ]


def check(written, make):
    figure, texts = written(make)
    assert len(texts) > 2
    assert touching(texts) == []
    assert outside(figure, texts) == []
    return figure


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_labels_of_the_samples_figures_do_not_touch(written, blocks_once, run):
    figures = [block for block in blocks_once(run) if isinstance(block, Figure)]
    assert figures
    for figure in figures:
        check(written, figure.draw)


def test_labels_of_the_joined_figure_do_not_touch(written, analyse_once):
    facts = [parts.facts(analyse_once(run)) for run in RUNS if run.name in study_report.JOINED]
    (figure,) = study_report.joined_figures(facts)
    check(written, figure.draw)


def policies(seed, count):
    """Points of which most are near each other, as policies are."""
    rng = np.random.default_rng(seed)
    offload = np.clip(rng.normal(90, 4, count), 0, 100)
    stale = np.clip(rng.choice([0, 0.8, 10, 99], count) * rng.normal(1, 0.05, count), 0, 100)
    return [
        {
            "label": f"purge-tag-{at}",
            "door": "cached",
            "offload": Interval(float(x), float(x) - 1, float(x) + 1, 3),
            "stale": Interval(float(y), float(y) / 2, float(y) * 2, 3),
            "front": at % 2 == 0,
            "limited_by": "",
        }
        for at, (x, y) in enumerate(zip(offload, stale, strict=True))
    ]


@pytest.mark.parametrize(("seed", "count", "width_in"), each_pair([1, 7, 20], [0, 1, 2]))
def test_labels_of_policies_do_not_touch_at_any_width(written, monkeypatch, seed, count, width_in):
    monkeypatch.setattr(plot_style, "WIDTH_IN", width_in)
    panels = [{"title": f"{edits} % edits", "points": policies(seed + edits, count)} for edits in (1, 5)]
    check(written, lambda: freshness_offload.draw(panels))


@pytest.mark.parametrize("places", [[0.5], [0, 0, 0], [1, 1, 1], [0.1, 0.1, 0.12, 0.5, 0.98, 1], [0.3] * 9])
def test_labels_are_spread_as_little_as_needed(places):
    gap = 0.1
    found = side_labels.spread(places, gap)
    assert all(later - earlier >= gap - 1e-9 for earlier, later in itertools.pairwise(found))
    assert found[0] >= 0 and found[-1] <= 1
    if len(places) == 1:
        assert found == places


def row(label, door, points):
    values = [ms for ms, limit in points if limit is None]
    return means.Row(label, door, points, geometric_mean(values) if values else None)


ROWS = {
    "usual": [row("source", "source", [(3.0, None), (3.2, None), (9.0, "machine")])],
    "alone": [row("cached", "cached", [(0.01, None)])],
    "none": [row("local", "local", [])],
    "far": [row("a", "source", [(0.02, None), (0.03, None)]), row("b", "local", [(9e5, None)] * 8)],
    "same": [row("source", "source", [(5.0, None)] * 8), row("cached", "cached", [(5.0, None)] * 8)],
}


@pytest.mark.parametrize("width_in", WIDTHS_IN)
@pytest.mark.parametrize("name", ROWS)
def test_labels_of_means_and_ratios_do_not_touch(written, monkeypatch, name, width_in):
    monkeypatch.setattr(plot_style, "WIDTH_IN", max(width_in, 4.0))
    compared = [
        ratios.Ratio("cached ÷ source", 0.4, Interval(0.41, 0.38, 0.45, 8), "cached"),
        ratios.Ratio("local ÷ source", 1.0, Interval(1.0, 0.99, 1.01, 8), "local"),
        ratios.Ratio("nocache ÷ source", None, None, "nocache"),
    ]
    check(written, lambda: means.draw(ROWS[name], ROWS["usual"], ("the study", "this run"), compared, "Ratio", 1.1))


def test_the_studys_means_are_its_own():
    ours = {door: ([(3.0, None)], Interval(3.0, None, None, 1)) for door in ("source", "write", "read")}
    with plot_style.style():
        paths = figure_1_3.draw(reference.read_series("1.2", "mean_ms"), {"source": ours["source"]}, [], "ours")
        study = reference.read_series("1.7", "mean_ms", series="method")
        ratio = ratios.Ratio("write ÷ read", 1.2, None, "source")
        writes = write_and_read.draw(study, ours, True, ratio, 1.25, "ours")
    for figure, table, path in ((paths, "1.2", "cdn"), (writes, "1.7", "POST")):
        series = reference.read_series(table, "mean_ms", series="caching" if table == "1.2" else "method")
        mean_ms = np.mean(list(series[path].values()))
        assert f"{three_digits(mean_ms)} ms" in {text.get_text() for text in figure.axes[0].texts}
        assert mean_ms in {line.get_xdata()[0] for line in figure.axes[0].lines}


def test_the_ratio_is_drawn_with_its_interval_its_margin_and_the_studys():
    ours = geometric_mean([0.9, 1.0, 1.05])
    compared = [ratios.Ratio("cached ÷ nocache", 1.02, ours, "cached")]
    with plot_style.style():
        figure = means.draw(ROWS["usual"], ROWS["usual"], ("a", "b"), compared, "Ratio", margin=1.1)
    axes = figure.axes[2]
    ends = [line.get_xdata() for line in axes.lines]
    assert any(list(x) == list(ours.bounds) for x in ends)
    places = [mark.get_offsets()[0][0] for mark in axes.collections if len(mark.get_offsets())]
    assert places == pytest.approx([1.02, ours.centre])
    (shade,) = axes.patches
    assert shade.get_x() == pytest.approx(1 / 1.1) and shade.get_x() + shade.get_width() == pytest.approx(1.1)
    assert {text.get_text() for text in axes.texts} == {"1.02", "0.981"}


def test_hit_ratios_have_no_columns_and_one_scale():
    study = {"get-only": {5.0: [(0.96, None)]}, "mixed": {5.0: [(0.7, None)]}}
    ours = {"get-only": {5.0: [(0.9, None), (0.92, None), (0.91, None)]}}
    with plot_style.style():
        figure = hit_ratio_by_size.draw(study, ours, "ours")
    assert [list(axes.patches) for axes in figure.axes] == [[], []]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert [text.get_text() for text in figure.axes[1].texts] == ["91.0"]


def point(load, mean_ms, limited_by=""):
    values = [0.9 * mean_ms, mean_ms, 1.1 * mean_ms]
    return {
        "load": load,
        "per_s": 100.0 + load,
        "per_s_trials": [90.0 + load, 100.0 + load, 110.0 + load],
        "per_s_interval": Interval(100.0 + load, 85.0 + load, 115.0 + load, 3),
        "mean_ms": mean_ms,
        "mean_ms_interval": geometric_mean(values),
        "mean_ms_trials": values,
        "p99_ms": 3 * mean_ms,
        "failed": 0.0,
        "limited_by": limited_by,
    }


def drawn_saturation(points, **door):
    doors = {name: {"points": points, "law": None, "knee": None} | door for name in ("source", "cached")}
    with plot_style.style():
        return saturation_figure.draw(doors, "load")


def test_a_level_of_limited_trials_interrupts_the_line():
    figure = drawn_saturation([point(0, 5), point(20, 6, "queue"), point(50, 7), point(100, 9)])
    rate, time, failed = figure.axes
    for axes, lines in ((rate, 2), (time, 4), (failed, 2)):
        joined = [line for line in axes.lines if len(line.get_xdata()) == 4]
        assert len(joined) == lines
        for line in joined:
            assert [bool(value) for value in np.isnan(line.get_ydata())] == [False, True, False, False]


def test_doors_are_drawn_alike_with_trials_and_intervals():
    law = saturation.ScalabilityLaw(100.0, 0.01, 0.0, 0.95)
    doors = {
        "source": {"points": [point(0, 5), point(50, 7)], "law": law, "knee": 30.0, "knee_interval": (20.0, 40.0)},
        "cached": {"points": [point(0, 5), point(50, 7)], "law": None, "knee": None},
    }
    with plot_style.style():
        rate, time, _ = saturation_figure.draw(doors, "load").axes
    joined = [line for line in rate.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 50]
    assert [(line.get_linestyle(), line.get_linewidth()) for line in joined] == [("-", 1.6)] * 2
    upright = [line for line in rate.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0]
    assert len(upright) == 4, "an interval for each point"
    dots = sum(np.isfinite(np.ma.filled(mark.get_offsets(), np.nan)).all(axis=1).sum() for mark in rate.collections)
    assert dots == 12, "a dot for each trial"
    (band,) = time.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == (20, 40)


@pytest.mark.parametrize(("mean_ms", "is_line"), [(2.0, False), (900.0, True), (9000.0, True)])
def test_the_tolerated_time_is_a_line_only_where_it_does_not_crush_the_rest(mean_ms, is_line):
    axes = drawn_saturation([point(0, mean_ms), point(10, mean_ms)]).axes[1]
    lines = [line for line in axes.lines if list(line.get_ydata()) == [TOLERATED_MS] * 2]
    assert len(lines) == is_line
    low, high = axes.get_ylim()
    assert np.log(3.3 / 0.9) / np.log(high / low) > 0.3, "the data have a third of the axis at least"
    assert ("times higher" in axes.texts[0].get_text()) is not is_line


def test_the_curve_over_the_load_shows_the_ratio_of_its_doors():
    study = {"source": {0: 300.0, 250: 3800.0}, "cached": {0: 300.0, 250: 560.0}}
    ours = {door: {0: [(3.0, None)], 20: [(4.0, "queue")], 250: [(9.0, None)]} for door in study}
    ratio = Interval(3.0, 2.5, 3.6, 8)
    with plot_style.style():
        figure = load_curve.draw(study, ours, "ours", {0: Interval(1.0, 0.9, 1.1, 8), 250: ratio})
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[2].lines}
    assert lines["the study's ratio"] == pytest.approx([1, 3800 / 560])
    assert lines["ours"] == pytest.approx([1, float("nan"), 3], nan_ok=True)
    assert any(list(line.get_ydata()) == [2.5, 3.6] for line in figure.axes[2].lines)


def over_time(label, shift=0.0, colour=0):
    seconds = [0.5 + at for at in range(20)]
    ratios_ = [0.5 + 0.4 * np.sin(at / 3) + shift for at in range(20)]
    return {"label": label, "seconds": seconds, "ratios": ratios_, "colour": colour, "second_kind": False}


def test_lines_that_coincide_become_one_with_a_note():
    alike = [over_time(f"{at} kB", shift=0.01 * (at % 3), colour=at) for at in range(8)]
    with plot_style.style():
        figure = hits_over_time.draw(alike, None)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["all 8 alike: their mean and their range"]
    assert len([line for line in figure.axes[0].lines if len(line.get_xdata())]) == 1
    (one,) = coinciding.merge(alike, "seconds", "ratios", 1.0)
    assert one.mean == pytest.approx(np.mean([line["ratios"] for line in alike], axis=0))
    assert (one.low <= one.mean).all() and (one.mean <= one.high).all()


def test_lines_that_differ_stay_apart():
    lines = [over_time("a"), over_time("b", 0.2), over_time("c", 0.01)]
    merged = coinciding.merge(lines, "seconds", "ratios", 1.0)
    assert [line.label for line in merged] == ["a,\nc", "b"]
    assert list(merged[1].mean) == lines[1]["ratios"]


def test_lines_that_hardly_share_a_place_are_not_compared():
    later = over_time("b") | {"seconds": [100.5 + at for at in range(20)]}
    assert [line.label for line in coinciding.merge([over_time("a"), later], "seconds", "ratios", 1.0)] == ["a", "b"]


def test_waits_that_are_alike_are_one_line_with_a_note(written):
    seconds = [float(at) for at in range(30)]
    lines = [
        {"label": label, "seconds": seconds, "waits_ms": [top * (1 + at % 5) for at in range(30)]}
        for label, top in (("no protection", 400), ("collapse", 10), ("swr", 10.1), ("both", 9.9))
    ]
    panels = [{"title": title, "lines": lines, "crowd_s": (5, 20)} for title in ("cold", "expired")]
    figure = check(written, lambda: waits_over_time.draw(panels))
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
    assert [text.get_text() for text in figure.axes[0].texts] == ["alike: collapse, swr, both"]
    assert len(figure.legends[0].get_texts()) == 4


def cell(at, limit):
    use = {"generator": 0.6, "links": 0.1, "edge": 0.2, "origin": 0.2, "wiki": 0.6, "database": 0.2, "stolen": 0.05}
    return {"label": f"page_size_chars {10**at}, get-only", "limit": limit, "cores": 2, "use": use}


def test_labels_of_the_other_figures_do_not_touch(written):
    check(written, lambda: machine_use.draw([cell(at, "generator") for at in range(6)]))
    seconds = list(range(20))
    lines = [{"label": f"zipf {at}", "ranks": [1, 10, 100], "ratios": [1, 0.5 + at / 10, 0.1]} for at in range(4)]
    check(written, lambda: hits_by_rank.draw(lines))
    panel = {"title": "ttl", "seconds": seconds, "old": [0.2] * 20, "failed": [0.1] * 20, "back_s": 9.0}
    check(written, lambda: answers_over_time.draw([panel, panel | {"title": "purge"}]))
    load = {"door": "cached", "seconds": seconds, "cpu": [0.5] * 20, "memory": [1e8] * 20, "sent": [1e6] * 20}
    check(written, lambda: origin_load.draw([load | {"temperature": [None] * 20}]))
    named = {"names": ["nginx", "varnish"], "points": [[(1.0, None)], [(2.0, "machine")]]}
    check(written, lambda: beside_each_other.draw([{"title": "Hit ratio, %"} | named, {"title": "Stale, %"} | named]))


def test_tails_can_be_read():
    curve = {"status": "HIT", "requests": 2000, "share": 1.0, "times_ms": [1, 2, 5, 30], "slower": [1, 0.1, 0.01, 5e-4]}
    with plot_style.style():
        figure = response_times.draw([{"door": "cached", "title": "cached", "curves": [curve], "all": curve}])
    (axes,) = figure.axes
    assert axes.get_xscale() == axes.get_yscale() == "log"
    low, high = axes.get_ylim()
    shown = {label: share for share, label in response_times.PERCENTILES.items() if low <= share <= high}
    assert {"p90", "p99", "p99.9"} <= shown.keys()
    (line,) = axes.lines
    assert list(line.get_ydata()) == curve["slower"]


def test_the_load_of_the_origin_is_the_median_over_a_doors_trials_with_their_range():
    of_trial = {"door": "cached", "memory": [None, None], "sent": [None, None], "temperature": [None, None]}
    trials = [
        of_trial | {"seconds": [0.2, 1.2], "cpu": [0.2, 0.4]},
        of_trial | {"seconds": [0.4, 1.4], "cpu": [0.4, 0.5]},
        of_trial | {"seconds": [0.3], "cpu": [0.3], "memory": [None], "sent": [None], "temperature": [None]},
    ]
    with plot_style.style():
        (axes,) = origin_load.draw(trials).axes
    (line,) = axes.lines
    assert line.get_xydata() == pytest.approx(np.array([[0.5, 30], [1.5, 45]]))
    (area,) = axes.collections
    assert {tuple(at) for at in np.round(area.get_paths()[0].vertices, 6).tolist()} == {
        (0.5, 20),
        (0.5, 40),
        (1.5, 40),
        (1.5, 50),
    }


def failing(seed, count):
    """Points of policies while something fails, of which most are near each other."""
    rng = np.random.default_rng(seed)
    return [
        {
            "label": f"purge-tag-{at}",
            "answered": float(rng.choice([0, 16, 97, 100])),
            "oldest_s": float(rng.choice([0, 0.03, 0.4, 4, 31])),
            "origin_reads": None if at == 1 else float(rng.choice([0.07, 0.1, 1])),
            "limited_by": "machine" if at == 2 else "",
        }
        for at in range(count)
    ]


@pytest.mark.parametrize(("bound_s", "count", "width_in"), each_pair([1, 6, 12], [None, 0.5]))
def test_labels_of_faults_do_not_touch_at_any_width(written, monkeypatch, count, bound_s, width_in):
    monkeypatch.setattr(plot_style, "WIDTH_IN", width_in)
    titles = ("Nothing fails", "Purges are lost", "The edge is cut off")
    panels = [{"title": title, "points": failing(seed, count)} for seed, title in enumerate(titles)]
    check(written, lambda: price_of_bound.draw(panels, bound_s))


def fresh_after(seed, edits, mark, trials):
    """A strip of edits that were seen at once or after up to ten seconds, some of them censored."""
    rng = np.random.default_rng(seed)
    outdated_s = rng.choice([0, 0.004, 0.08, 0.9, 9], edits)
    seen = rng.random(edits) < 0.7
    latest = Distribution.of(outdated_s + 0.05 * seen, seen)
    return {
        "title": f"bounded-local-1s, door local: {edits} edits (limited)",
        "door": "local",
        "latest": latest,
        "earliest": Distribution.of(outdated_s, seen),
        "trials": [latest] * trials,
        "mark": mark,
    }


@pytest.mark.parametrize("width_in", WIDTHS_IN[1:])
@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("edits", [1, 40])
def test_labels_of_edits_do_not_touch(written, monkeypatch, edits, count, width_in):
    monkeypatch.setattr(plot_style, "WIDTH_IN", width_in)
    marks = [None, (0.5, "bound: 0.5 s"), (1, "lifetime: 1 s")] * 2
    strips = [fresh_after(seed, edits, marks[seed], 3 * (seed % 2)) for seed in range(count)]
    check(written, lambda: edit_to_fresh.draw(strips))


def test_the_area_of_an_edit_lies_between_its_last_outdated_and_its_first_fresh_read():
    strip = fresh_after(1, 1, None, 0) | {
        "latest": Distribution.of([0.3], [True]),
        "earliest": Distribution.of([0.2], [True]),
    }
    figure = edit_to_fresh.draw([strip])
    (area,) = figure.axes[0].collections
    corners = {tuple(at) for at in area.get_paths()[0].vertices.tolist()}
    assert {(0.2, 1.0), (0.3, 1.0), (0.3, 0.0)} <= corners
    assert not any(at < 0.2 and share > 0 for at, share in corners)
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[0, 0], [0.3, 1], [1, 1]]
