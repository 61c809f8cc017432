"""The command as a whole: what it writes, what it refuses, and that it never leaves an incomplete report."""

import base64
import csv
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from run_folder_fixture import build_run_folder, edit_column, edit_json, find_trial, truncate

from stevec_report import page
from stevec_report.__main__ import main

ANALYSIS = Path(__file__).resolve().parents[1]
NAMES = ["drift", "figure-1.3", "response-times"]
TABLES = [
    "cells",
    "claims",
    "cost",
    "door-times",
    "drift-within",
    "prediction",
    "table-1.1",
    "table-1.2",
    "table-1.2-ratios",
    "trials",
]
FILES = sorted(
    [f"figures/{name}.{kind}" for name in NAMES for kind in ("png", "svg")]
    + ["index.html"]
    + [f"tables/{name}.csv" for name in TABLES]
)


class Page(HTMLParser):
    """Collects the tags, ids, references and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.references, self.events, self.words = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data", "srcset"):
                self.references.append(value)
            if name.startswith("on"):
                self.events.append(name)

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def read_page(run):
    return Page((run / "report/index.html").read_text(encoding="utf-8"))


def test_the_command_writes_the_whole_report_with_the_same_bytes_each_time(reported_run, tmp_path):
    run = tmp_path / reported_run.name
    shutil.copytree(reported_run, run, ignore=shutil.ignore_patterns("report"))
    environment = {**os.environ, "PYTHONHASHSEED": "3", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    done = subprocess.run(
        [sys.executable, "-m", "stevec_report", str(run)],
        cwd=ANALYSIS,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(run / "report/index.html")
    assert len(done.stderr.splitlines()) <= 2
    assert sorted(p.name for p in run.iterdir()) == ["manifest.json", "report", "trials"]
    first, second = contents(reported_run / "report"), contents(run / "report")
    assert list(first) == list(second) == FILES
    assert [name for name in first if first[name] != second[name]] == []


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "python -m stevec_report results/" in capsys.readouterr().out


def test_the_page_stands_alone(reported_run):
    found = read_page(reported_run)
    assert not {"link", "img", "iframe", "object", "form", "base"} & set(found.tags)
    assert found.events == []
    outside = [r for r in found.references if not re.fullmatch(r"#\S+|\.\./trials/\d{4}/|(tables|figures)/\S+", r)]
    assert outside == []
    text = (reported_run / "report/index.html").read_text(encoding="utf-8")
    assert not re.search(r"@import|url\((?!#)", text)


def test_the_one_script_is_the_one_that_the_policy_allows(reported_run):
    text = (reported_run / "report/index.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_links_lead_to_files_that_are_there(reported_run):
    for reference in read_page(reported_run).references:
        if not reference.startswith("#"):
            assert (reported_run / "report" / reference).exists(), reference


@pytest.mark.usefixtures("without_pictures")
def test_the_waterfall_and_the_flame_graph_of_a_run_are_linked(run_folder):
    (run_folder / "flame.html").write_text("flames")
    assert main([str(run_folder)]) == 0
    assert "../flame.html" in read_page(run_folder).references
    assert "../trace.html" not in read_page(run_folder).references

    (run_folder / "trace.html").write_text("spans")
    assert main([str(run_folder)]) == 0
    page_read = read_page(run_folder)
    assert {"../flame.html", "../trace.html"} <= set(page_read.references)
    sentence = "Recorded beside this run: the waterfall of one request and the flame graph of the wiki under page views"
    assert sentence in page_read.text


def test_ids_of_the_figures_do_not_clash(reported_run):
    found = read_page(reported_run)
    assert len(found.ids) == len(set(found.ids))
    text = (reported_run / "report/index.html").read_text(encoding="utf-8")
    referred = {r[1:] for r in found.references if r.startswith("#")} | set(re.findall(r"url\(#([^)]+)\)", text))
    assert referred
    assert referred <= set(found.ids)


def test_the_answer_comes_first_and_everything_is_there(reported_run):
    found = read_page(reported_run)
    text = found.text
    order = ["Is this true?", "Undecided in this run:", "cached ÷ source", "the study: 0.445", "What could be wrong"]
    order += ["All 20 trials are valid", "thresholds of the verdict are not recorded", "commit that ran abc1234abc"]
    order += ["Why this verdict", "Table 1.1.", "Figure 1.3.", "Table 1.2."]
    order += [
        "Every cell of the experiment.",
        "The tails of response times",
        "Prediction beside measurement.",
        "Times at the client and at the door.",
        "Drift check",
        "Error budget",
    ]
    order += ["Every trial", "The law of the counter holds in all 20 trials.", "What could mislead"]
    order += ["coordinated omission", "Where the numbers come from", "sha256:"]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert found.tags.count("table") == found.tags.count("caption") == len(TABLES)
    assert found.tags.count("svg") == found.tags.count("figure") == len(NAMES)
    for number in range(1, 21):
        assert found.references.count(f"../trials/{number:04d}/") >= 3
    for words in ("stevec run read-hot --preset quick", "abc1234abc1234", "20.20.0", "A Processor", "edge.conf"):
        assert words in text


def test_tables_as_csv(reported_run):
    with (reported_run / "report/tables/table-1.1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["repetition"] for row in rows] == [*"12345678", "mean"]
    assert [row["run_cached"] for row in rows] == ["20"] * 5 + [""] * 3 + ["20.0"]
    assert {row["study_without_a_cache"] for row in rows} == {"1000.0"}
    with (reported_run / "report/tables/table-1.2-ratios.csv").open(newline="") as file:
        ratios = {row["door"]: row for row in csv.DictReader(file)}
    assert float(ratios["cached"]["ratio_low"]) < float(ratios["cached"]["ratio"]) < 1
    assert ratios["cached"]["origin_share"] == "0.1"
    with (reported_run / "report/tables/trials.csv").open(newline="") as file:
        trials = list(csv.DictReader(file))
    assert [row["trial"] for row in trials] == [str(n) for n in range(1, 21)]
    assert {row["state"] for row in trials} == {"valid"}


@pytest.mark.usefixtures("without_pictures")
def test_invalid_trials_are_said_and_marked(run_folder, capsys):
    missing, folder = find_trial(run_folder, 1, door="cached")
    shutil.rmtree(folder)
    cut, folder = find_trial(run_folder, 2, door="local")
    truncate(folder / "samples.csv.gz")
    wrong, folder = find_trial(run_folder, 3, door="source")
    edit_json(folder / "trial.json", lambda t: t["counter"].update(requests=7))
    _, folder = find_trial(run_folder, 3, door="nocache")
    edit_json(folder / "trial.json", lambda t: t["k6"].update(generator_limited=True))
    assert main([str(run_folder)]) == 0
    assert "3 trials are invalid" in capsys.readouterr().err
    text = read_page(run_folder).text
    assert "The law of the counter fails in 1 of 12 trials, and could not be checked in 2." in text
    assert f"Trial {missing}: missing: the trial has no folder" in text
    assert f"Trial {cut} (local, repetition 2): samples.csv.gz is cut off before its end" in text
    assert f"Trial {wrong} (source, repetition 3): 60 lines in the origin's log, but the counter says 7" in text
    assert "60 requests sent − 0 served by cache = 60, but the counter says 7" in text
    assert "3 of 12 trials are invalid." in text
    assert f"../trials/{missing:04d}/" not in read_page(run_folder).references
    assert "7 invalid" in text
    assert "unreadable" in text
    assert "1 of 9 valid trials was limited by the load generator" in text


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(("shares", "said"), [((0.31, 0.001), True), ((0.019, 0.0), False), ((None, None), False)])
def test_a_host_that_gave_the_processor_to_others_is_told(run_folder, shares, said):
    for number, share in enumerate(shares, start=1):
        edit_json(
            run_folder / f"trials/{number:04d}/trial.json",
            lambda trial, share=share: trial["k6"].update(stolen_cpu_share=share),
        )
    assert main([str(run_folder)]) == 0
    text = read_page(run_folder).text
    assert ("gave up to 31 % of the processor time" in text) == said
    assert ("in 1 of 2 trials it was 2 % or more" in text) == said


@pytest.mark.usefixtures("without_pictures")
def test_a_run_without_one_valid_trial_still_has_a_report(run_folder):
    for folder in (run_folder / "trials").iterdir():
        (folder / "samples.csv.gz").unlink()
    assert main([str(run_folder)]) == 0
    text = read_page(run_folder).text
    assert "12 of 12 trials are invalid." in text
    assert "Undecided in this run:" in text


@pytest.mark.usefixtures("without_pictures")
def test_a_run_of_one_repetition_has_no_intervals(tmp_path):
    run = build_run_folder(tmp_path, repetitions=1, requests=20, pages=4)
    assert main([str(run)]) == 0
    text = read_page(run).text
    assert "1 block cannot decide" in text
    assert "no check against drift" in text


def test_a_run_with_two_doors_has_a_report(tmp_path, without_pictures):
    run = build_run_folder(tmp_path, repetitions=2, requests=20, factors={"door": ["local", "nocache"]})
    assert main([str(run)]) == 0
    assert "ratio to nocache" in read_page(run).text


def test_an_experiment_of_ones_own_has_a_report(tmp_path, capsys):
    factors = {"ttl_s": [1, 60], "crowd": {"one <b>": {"vus": 1}, "few": {"vus": 3}}}
    run = build_run_folder(tmp_path, experiment="my-own", repetitions=2, requests=20, factors=factors)
    assert main([str(run)]) == 0
    text = read_page(run).text
    assert "ttl_s 60, one <b>" in text
    assert "No rule was fixed for it in advance" in text
    assert (run / "report/figures/response-times.svg").is_file()


@pytest.mark.usefixtures("without_pictures")
def test_hostile_text_stays_text(run_folder):
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}$x_1$ & </style></title>'

    def change(manifest):
        manifest["experiment"].update(title=hostile, why=hostile, hypothesis=hostile, expected=hostile, pages=hostile)
        manifest["experiment"][hostile] = [hostile]
        for key in ("preset", "command", "plan_hash", "started_at", "finished_at", "seed"):
            manifest[key] = hostile
        for key in ("versions", "host", "config_hashes"):
            manifest[key] = {hostile: hostile}
        manifest["git"] = {"commit": hostile, "dirty": hostile}
        for door in manifest["doors"].values():
            door["url"] = f"javascript:{hostile}"
        for plan in manifest["plans"]:
            plan["hash"] = hostile

    edit_json(run_folder / "manifest.json", change)
    edit_json(
        run_folder / "trials/0001/trial.json",
        lambda t: t.update(valid=False, invalid_reasons=[hostile, {"a": 1}], cell={hostile: hostile}),
    )
    odd = run_folder.with_name("run <b> ' & $(x)")
    run_folder.rename(odd)
    assert main([str(odd)]) == 0
    found = read_page(odd)
    assert "img" not in found.tags
    assert found.tags.count("script") == 1
    assert found.events == []
    assert "<script>alert(1)</script>" in found.text
    assert "{{ 7 * 7 }}" in found.text
    raw = (odd / "report/index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in raw
    assert "run <b>" not in raw


def test_strange_cache_statuses_are_drawn(run_folder):
    count = iter(range(10**6))
    strange = lambda _: f'"<i>$\\frac{next(count) % 9}"'  # noqa: E731
    edit_column(find_trial(run_folder, 1, door="nocache")[1], "cache_status", strange)
    assert main([str(run_folder)]) == 0
    assert "i" not in read_page(run_folder).tags


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(schema_version=3), "schema version 3"),
        (lambda m: m.update(status="interrupted"), "12 of 12 trials exist. It was interrupted"),
    ],
)
def test_what_cannot_be_reported_on_is_refused_in_one_line(run_folder, capsys, change, words):
    edit_json(run_folder / "manifest.json", change)
    assert main([str(run_folder)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1
    assert not (run_folder / "report").exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path, capsys):
    assert main([str(tmp_path / "nothing")]) == 1
    assert "is not a run folder" in capsys.readouterr().err


@pytest.mark.parametrize("error", [OSError("disk full"), RuntimeError("a mistake"), KeyboardInterrupt()])
@pytest.mark.usefixtures("without_pictures")
def test_a_report_that_fails_leaves_the_old_one(reported_run, tmp_path, monkeypatch, error):
    run = tmp_path / reported_run.name
    shutil.copytree(reported_run, run)
    before = contents(run)

    def fail(*_):
        raise error

    monkeypatch.setattr(page, "render", fail)
    if isinstance(error, RuntimeError):
        with pytest.raises(RuntimeError):
            main([str(run)])
    else:
        assert main([str(run)]) in (1, 130)
    assert contents(run) == before
    assert sorted(p.name for p in run.iterdir()) == ["manifest.json", "report", "trials"]


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(("error", "status"), [(OSError("no"), 1), (KeyboardInterrupt(), 130)])
def test_a_report_that_cannot_take_its_place_leaves_the_old_one(
    reported_run, tmp_path, monkeypatch, capsys, error, status
):
    run = tmp_path / reported_run.name
    shutil.copytree(reported_run, run)
    before = contents(run)
    rename = Path.rename

    def refuse_new(self, target):
        if self.name.startswith(".report-new-"):
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_new)
    assert main([str(run)]) == status
    assert "What was there before is unchanged" in capsys.readouterr().err
    assert contents(run) == before
    assert sorted(p.name for p in run.iterdir()) == ["manifest.json", "report", "trials"]


@pytest.mark.usefixtures("without_pictures")
def test_a_new_report_takes_the_place_of_the_old_one(run_folder):
    (run_folder / "report").mkdir()
    (run_folder / "report/old.txt").write_text("old")
    assert main([str(run_folder)]) == 0
    assert sorted(contents(run_folder / "report")) == FILES


def test_one_figure_as_svg(reported_run, tmp_path, capsys):
    before = contents(reported_run)
    target = tmp_path / "means.svg"
    assert main([str(reported_run), "--figure", "figure-1.3", "--output", str(target)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(target)
    text = target.read_text(encoding="utf-8")
    assert text.startswith(("<?xml", "<svg "))
    assert "</svg>" in text
    assert contents(reported_run) == before
    assert before["report/figures/figure-1.3.svg"].decode() == text


def test_one_figure_as_png(run_folder, tmp_path):
    target = tmp_path / "drift.png"
    assert main([str(run_folder), "--figure", "drift", "--output", str(target)]) == 0
    data = target.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">I", data[16:20])[0] == 900
    assert not (tmp_path / ".drift.png.partial").exists()


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("figure-9.9", "a.svg", "Choose one of: figure-1.3, response-times, drift."),
        ("figure-1.3", "a.pdf", "neither .svg nor .png"),
        ("figure-1.3", "no/such/folder/a.svg", "could not be written"),
    ],
)
def test_a_figure_that_cannot_be_written(run_folder, tmp_path, capsys, name, file, words):
    assert main([str(run_folder), "--figure", name, "--output", str(tmp_path / file)]) == 1
    assert words in capsys.readouterr().err


def test_figure_and_output_go_together(run_folder):
    with pytest.raises(SystemExit) as ended:
        main([str(run_folder), "--figure", "figure-1.3"])
    assert ended.value.code == 2


def test_the_first_page_has_the_extremes_of_an_experiment_without_a_verdict(tmp_path, without_pictures):
    factors = {"door": ["source", "cached"], "crowd": {"one": {"vus": 1}}}
    run = build_run_folder(tmp_path, experiment="my-own", repetitions=3, requests=40, pages=4, factors=factors)
    assert main([str(run)]) == 0
    text = read_page(run).text
    first = text[: text.index("What could be wrong")]
    assert "shortest mean response time: cached, one" in first
    assert "longest mean response time: source, one" in first
    assert "highest hit ratio: cached, one 90 %" in first


def test_a_long_table_is_whole_in_its_csv_file(reported_run):
    found = read_page(reported_run)
    assert "The first 16 of 20 rows" in found.text
    with (reported_run / "report/tables/trials.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert (len(rows), {"cache_statuses", "lag_max_ms"} <= set(header)) == (20, True)


@pytest.mark.usefixtures("without_pictures")
def test_thresholds_of_the_manifest_are_listed(run_folder):
    stated = {"alpha": 0.05, "hypotheses": 6, "equivalence_ratio": 1.1}
    edit_json(run_folder / "manifest.json", lambda manifest: manifest["experiment"].update(thresholds=stated))
    assert main([str(run_folder)]) == 0
    text = read_page(run_folder).text
    assert "Thresholds, fixed before the run: alpha 0.05, hypotheses 6, equivalence_ratio 1.1." in text
    assert "not recorded in this run" not in text


def test_several_wikis_are_counted_apart_and_together(run_folder, without_pictures):
    def count(requests):
        return {"epoch": "a", "epoch_after": "a", "count": {"requests": requests, "reads": requests, "writes": 0}}

    for repetition in (1, 2):
        _, folder = find_trial(run_folder, repetition, door="source")
        edit_json(
            folder / "trial.json", lambda t: t.update(wiki_totals={"each": [count(1025), count(35)], "sum": None})
        )
        if repetition == 2:
            edit_json(folder / "trial.json", lambda t: t.update(wiki_totals={"each": [count(25), count(35)]}))
    assert main([str(run_folder)]) == 0
    text = " ".join(read_page(run_folder).text.split())
    assert "In 1 valid trial, wiki 1 counted 25 and wiki 2 counted 35: together 60." in text
    assert "totals that each wiki keeps and no reading resets" in text
