"""Short links: the percentiles beside a study's, processor time per request, and which differences are noise."""

import csv
import gzip
import io
import json
from contextlib import contextmanager

import numpy as np
import pytest
from run_folder_fixture import CURRENT_HEADER, build_run_folder, edit_json, edit_samples, write_gzip

from stevec_report import plot_style, processor_time
from stevec_report.blocks import bare
from stevec_report.experiments import course, short_links, statuses

CASES = {
    "read-5-id": {"vus": 5},
    "read-5-btree": {"vus": 5, "short_link_index": "btree"},
    "write-10-id": {"vus": 10, "edit_ratio": 1},
    "write-10-redis": {"vus": 10, "edit_ratio": 1, "short_link_reads": "redis", "shared": "redis"},
}
MONGOD_CORES = {"read-5-id": 0.2, "read-5-btree": 0.4, "write-10-id": 0.2, "write-10-redis": 0.2}
REQUESTS = 2500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    run = build_run_folder(
        tmp_path_factory.mktemp("results"),
        experiment="short-links",
        repetitions=4,
        factors={"case": CASES},
        requests=REQUESTS,
        door="source",
        resource="short-link",
        short_link_index="id",
        short_link_reads="database",
        shared="none",
    )
    for number, trial in enumerate(sorted((run / "trials").iterdir())):
        use_processors(trial, noise=1 + 0.01 * (number % 3 - 1))
    return run


def use_processors(trial, noise):
    """Let the processes of a trial use known shares of a core, second by second."""
    cell = json.loads((trial / "trial.json").read_text())["cell"]["case"]
    first, last = span_of(trial)
    seconds = range(first - 2_500_000, last + 2_000_000, 1_000_000)
    machine = "".join(f"{until},1,1,1,0,0,0,0\n" for until in seconds)
    write_gzip(
        trial / "machine.csv.gz",
        b"time_us,duration_s,busy_cores,idle_cores,stolen_cores,others_cores,pressure_ratio,held_up_ratio\n"
        + machine.encode(),
    )
    cores = {"wiki": 0.5 * noise, "mongod": MONGOD_CORES[cell] * noise, "nginx origin": 0.1, "k6": 0.3}
    if cell == "write-10-redis":
        cores |= {"redis": 0.05, "sentinel 1": 0.01}
    # Outside the load, a process does something else.
    rows = [
        f"{until},{name},part,{used if first + 1_000_000 <= until <= last else 9},0,0\n"
        for until in seconds
        for name, used in cores.items()
    ]
    header = "time_us,process,part,cpu_cores,busiest_thread_cores,run_queue_cores\n"
    write_gzip(trial / "processes.csv.gz", (header + "".join(rows)).encode())


def samples_of(trial):
    return list(csv.DictReader(io.StringIO(gzip.decompress((trial / "samples.csv.gz").read_bytes()).decode())))


def span_of(trial):
    rows = samples_of(trial)
    ends = [int(row["sent_at_us"]) + round(1000 * float(row["duration_ms"])) for row in rows]
    return min(int(row["sent_at_us"]) for row in rows), max(ends)


def trials_of(run, case):
    found = sorted((run / "trials").iterdir())
    return [f for f in found if json.loads((f / "trial.json").read_text())["cell"]["case"] == case]


@contextmanager
def edited(files, change):
    """Changes JSON files, and puts them back: the folder is shared."""
    before = {file: file.read_bytes() for file in files}
    try:
        for file in files:
            edit_json(file, change)
        yield
    finally:
        for file, content in before.items():
            file.write_bytes(content)


def table(analysis, name):
    return next(block for block in short_links.blocks(analysis) if getattr(block, "name", "") == name)


def test_percentiles_are_apachebenchs_and_stand_beside_the_studys(folder, analyse_run):
    found = table(analyse_run(folder), "percentiles-write-10")
    rows = {row["what"]: row for row in found.rows}
    assert list(rows)[2:] == ["50 %", "66 %", "75 %", "80 %", "90 %", "95 %", "98 %", "99 %", "100 %"]
    assert [rows[f"{level} %"]["study"] for level in (50, 66, 75, 80, 90, 95, 98, 99, 100)] == [
        *(4, 19, 53, 55, 58, 61, 64, 69, 106)
    ]
    assert (rows["mean"]["study"], rows["answered, 1/s"]["study"]) == (22, 462.5)
    times = [[float(row["duration_ms"]) for row in samples_of(trial)] for trial in trials_of(folder, "write-10-id")]
    logs = [np.log(np.quantile(own, 0.9)) for own in times]
    assert rows["90 %"]["id"].centre == pytest.approx(np.exp(np.mean(logs)))
    assert rows["90 %"]["id"].low < rows["90 %"]["id"].centre < rows["90 %"]["id"].high
    assert rows["100 %"]["redis"].centre >= rows["99 %"]["redis"].centre
    assert "one key for all" in found.note


def test_a_load_that_the_study_lacks_has_no_column_of_it(folder, analyse_run):
    trials = trials_of(folder, "read-5-id") + trials_of(folder, "read-5-btree")
    with edited([trial / "trial.json" for trial in trials], lambda value: value["settings"].update(vus=7)):
        found = table(analyse_run(folder), "percentiles-read-7")
    assert "study" not in [column.key for column in found.columns]


def test_processor_time_is_of_the_seconds_under_load_per_request_done_in_them(folder, analyse_run):
    rows = {(row["load"], row["way"]): row for row in table(analyse_run(folder), "processor-time").rows}
    (trial, *_) = trials_of(folder, "read-5-id")
    first, last = span_of(trial)
    used = processor_time.per_request_ms(trial, first, last, lambda begin, end: 100)
    whole_seconds = len([until for until in range(first - 2_500_000, last + 1, 1_000_000) if until >= first + 1e6])
    assert used["nginx"] == pytest.approx(1000 * 0.1 * whole_seconds / 100)
    by_id, by_btree = rows["Reads, 5 at once", "id"], rows["Reads, 5 at once", "btree"]
    assert by_btree["mongod_ms"].centre / by_id["mongod_ms"].centre == pytest.approx(2, rel=0.2)
    assert by_id["redis_ms"] is None
    assert rows["Writes, 10 at once", "redis"]["redis_ms"].centre > 0


def test_a_load_too_short_to_be_read_has_no_processor_time(folder):
    (trial, *_) = trials_of(folder, "read-5-id")
    first, _ = span_of(trial)
    assert processor_time.per_request_ms(trial, first, first + 900_000, lambda begin, end: 100) == {}
    assert processor_time.per_request_ms(trial / "none", first, first + 9_000_000, lambda begin, end: 100) == {}


def test_differences_beyond_noise_are_named(folder, analyse_run):
    analysis = analyse_run(folder)
    found = {
        (row["load"], row["way"], row["measure"]): row["verdict"].value for row in table(analysis, "differences").rows
    }
    assert found["Reads, 5 at once", "btree", "processor time of mongod"] == "more"
    assert found["Reads, 5 at once", "btree", "response time"] == "within noise"
    words = short_links.blocks(analysis)[0].text
    assert words.startswith("Beyond noise: reads, 5 at once: btree takes 2.0")
    assert words.endswith(" times the processor time of mongod that id takes. 5 of 6 comparisons are within noise.")


def test_the_course_has_a_line_for_each_way_(folder, analyse_run):
    with plot_style.style():
        figure = table(analyse_run(folder), "course").draw()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Reads, 5 at once", "Writes, 10 at once"]
    # p50 and p90 of two ways.
    assert [len(axes.lines) for axes in figure.axes] == [4, 4]
    assert all(len(line.get_xdata()) == course.BINS for axes in figure.axes for line in axes.lines)


def test_the_course_is_of_trials_that_nothing_limited_or_of_all_without_such(folder, analyse_run, monkeypatch):
    drawn = {}
    monkeypatch.setattr(course, "blocks", lambda _, groups: drawn.update(groups) or [])
    limit = lambda value: value["k6"].update(generator_limited=True)  # noqa: E731
    by_id, by_btree = trials_of(folder, "read-5-id"), trials_of(folder, "read-5-btree")
    with edited([trial / "trial.json" for trial in [by_id[0], *by_btree]], limit):
        short_links.blocks(analyse_run(folder))
    numbers = dict(drawn["Reads, 5 at once"])
    assert numbers == {
        "id": [int(trial.name) for trial in by_id[1:]],
        "btree": [int(trial.name) for trial in by_btree],
    }


def test_trials_of_few_requests_have_no_course(run_folder, analyse_run):
    assert course.blocks(analyse_run(run_folder), [("few", [("cached", [1, 2, 3])])]) == []


def test_statuses_have_rows_of_their_own_and_a_wrong_answer_is_a_failure(tmp_path, analyse_run):
    run = build_run_folder(
        tmp_path,
        experiment="short-links",
        repetitions=1,
        factors={"case": {"read-5-id": {}}},
        requests=40,
        door="source",
    )
    (trial,) = trials_of(run, "read-5-id")

    def redirect(lines):
        out = [",".join(CURRENT_HEADER)]
        for at, cells in enumerate(csv.reader(io.StringIO("\n".join(lines[1:])))):
            status, failure, code = ("302", "wrong-answer", "9000") if at < 3 else ("302", "", "")
            out.append(",".join(["", *cells[:4], status, failure, "", code, *cells[6:]]))
        return out

    edit_samples(trial, redirect)
    edit_json(trial / "trial.json", lambda value: value.update(requests_failed=3))
    analysis = analyse_run(run)
    (own,) = analysis.valid
    assert (own.stats.failures, own.stats.failure_kinds) == (3, {"wrong-answer (status 302)": 3})
    (found,) = statuses.blocks(analysis)
    assert [(row["method"], row["status"], bare(row["requests"])) for row in found.rows] == [
        ("GET", "302", 37),
        ("GET", "302, not the right one", 3),
    ]


def test_new_links_have_names_that_are_not_in_the_plan(tmp_path, analyse_run):
    case = {"write-10-id": {"edit_ratio": 1, "resource": "short-link"}}
    run = build_run_folder(tmp_path, experiment="short-links", repetitions=1, factors={"case": case}, door="source")
    (trial,) = trials_of(run, "write-10-id")
    edit_samples(
        trial, lambda lines: [lines[0], *[line.replace(",page-", f",{at}-", 1) for at, line in enumerate(lines[1:])]]
    )
    (own,) = analyse_run(run).outcomes
    assert own.stats.distinct_pages == own.stats.requests
    assert not any("the plan has" in reason for reason in own.reasons)
