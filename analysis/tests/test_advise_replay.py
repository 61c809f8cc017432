"""`stevec advise --replay`: the sample of a log, and what its model says."""

import json

import numpy as np
import pytest

from stevec_advise.__main__ import main
from stevec_advise.classes import Classifier, UrlClass
from stevec_advise.limits import LimitError
from stevec_advise.log import SPAN_MS, ClassLog, read_log
from stevec_advise.made_up_log import main as made_up_log
from stevec_advise.replay import rows_of, sample_of, window_s_of
from stevec_predict import Scenario
from stevec_predict.replay import Replay


def class_of(name, reads, edits=(), path=None):
    """A class of reads (URL, ms) and edits (path, ms); every URL has a path of its own if `path` is None."""
    path = np.arange(max(url for url, _ in reads) + 1) if path is None else np.array(path)
    return ClassLog(
        UrlClass(name, "^/"),
        np.sort(np.array([url * SPAN_MS + time_ms for url, time_ms in reads], dtype=np.int64)),
        path,
        np.sort(np.array([page * SPAN_MS + time_ms for page, time_ms in edits], dtype=np.int64)),
    )


def test_the_window_is_the_one_with_most_reads_of_all_classes():
    a = class_of("a", [(0, 0), (0, 20_000), (0, 20_500), (0, 40_000)], [(0, 19_999), (0, 20_400), (0, 23_000)])
    b = class_of("b", [(0, 22_500), (0, 23_000), (0, 60_000)])
    sample = sample_of([a, b], 60_001, 3)
    assert (sample.begin_ms, sample.span_ms, sample.reads_in_window) == (20_000, 3000, 3)
    assert list(rows_of(sample)) == [
        {"at_ms": 0, "class": 0, "page": 0, "url": 0},
        {"at_ms": 400, "class": 0, "page": 0},
        {"at_ms": 500, "class": 0, "page": 0, "url": 0},
        {"at_ms": 2500, "class": 1, "page": 0, "url": 0},
    ]


def test_a_log_that_is_shorter_than_the_window_is_played_whole():
    sample = sample_of([class_of("a", [(0, 0), (0, 4000)])], 4001, 30)
    assert (sample.begin_ms, sample.span_ms, len(sample.classes[0].reads)) == (0, 4001, 2)


def test_an_edit_comes_before_a_read_of_the_same_millisecond():
    sample = sample_of([class_of("a", [(0, 0), (0, 5)], [(0, 5)])], 1000, 1)
    assert ["url" in row for row in rows_of(sample)] == [True, False, True]


def busy(reads, urls=400, seed=1):
    """A class of `reads` reads in ten seconds, two URLs to a path, with some edits."""
    random = np.random.default_rng(seed)
    requests = list(zip(random.integers(0, urls, reads).tolist(), random.integers(0, 10_000, reads).tolist()))  # noqa: B905
    edits = [(url // 2, time_ms) for url, time_ms in requests[:: reads // 50]]
    return class_of("busy", requests, edits, [url // 2 for url in range(urls)])


def test_of_a_busy_log_whole_paths_are_played_up_to_the_limit():
    log = busy(9000)
    sample = sample_of([log, busy(900, seed=2)], 10_000, 10, per_s=200)
    played = sum(len(one.reads) + len(one.edits) for one in sample.classes)
    assert 0.9 * 2000 < played <= 2000
    assert sample.reads_in_window == 9900 and sample.paths < sample.paths_in_window
    chosen = np.unique(sample.classes[0].path[sample.classes[0].url])
    assert 0 < len(chosen) < 200
    assert len(sample.classes[0].reads) == np.isin(log.path[log.url], chosen).sum()
    assert len(sample.classes[0].edits) == np.isin(log.edits // SPAN_MS, chosen).sum()
    assert list(rows_of(sample)) == list(rows_of(sample_of([log, busy(900, seed=2)], 10_000, 10, per_s=200)))


def test_a_page_with_more_requests_than_are_played_is_left_out():
    hot = class_of("hot", [(0, time_ms) for time_ms in range(1000)])
    sample = sample_of([hot, class_of("calm", [(0, 0), (0, 900)])], 1000, 1)
    assert [len(one.reads) for one in sample.classes] == [0, 2]
    with pytest.raises(LimitError, match="at most 200 requests a second"):
        sample_of([hot], 1000, 1)


def test_the_length_has_limits():
    assert window_s_of("30s") == 30 and window_s_of("10min") == 600
    for text in ("11min", "999ms", "soon"):
        with pytest.raises(LimitError, match="--replay"):
            window_s_of(text)


POLICIES = {"none": "no-store", "revalidate": "revalidate", "ttl": "ttl", "swr": "ttl+swr", "purge": "purge-url"}


@pytest.mark.parametrize(
    ("limits", "families"),
    [
        (["--max-age", "3s"], {"purge"}),
        (["--max-age", "3s", "--purge-delay", "10s"], {"bounded"}),
        (["--max-age", "0s"], {"revalidate"}),
    ],
)
def test_the_model_is_the_replay_of_exactly_the_schedule(tmp_path, capsys, limits, families):
    random = np.random.default_rng(4)
    rows = sorted(
        (float(time_s), int(url), "write" if write else "read")
        for time_s, url, write in zip(
            random.uniform(0, 300, 6000).round(3), random.integers(0, 30, 6000), random.random(6000) < 0.02, strict=True
        )
    )
    log = tmp_path / "a.csv"
    log.write_text(
        "time,id,op\n" + "".join(f"{1795564800 + time_s:.3f},/wiki/{url},{op}\n" for time_s, url, op in rows)
    )
    options = ["--trace-type", "csv", "--trace-params", "time-col=1,obj-id-col=2,op-col=3", *limits]
    assert main([str(log), "--replay", "20s", "--replay-folder", str(tmp_path), *options]) == 0
    assert "/wiki/: 30 URLs" in capsys.readouterr().out
    (one,) = json.loads((tmp_path / "plan.json").read_text())["classes"]
    assert {one["family"]} == families
    policy = POLICIES.get(one["family"], "purge-url")
    delay_s = {} if one["purge_delay_s"] is None else {"purge_delay_s": one["purge_delay_s"]}
    replay = Replay(Scenario(pages=1, rate_per_s=1, policy=policy, ttl_s=one["lifetime_s"] or 1, **delay_s))
    for row in map(json.loads, (tmp_path / "schedule.jsonl").read_text().splitlines()):
        (replay.read if "url" in row else replay.edit)(b"%d" % row["page"], row["at_ms"] / 1000)
    assert (one["reads"], one["edits"]) == (replay.reads, replay.edits)
    assert replay.reads > 300 and replay.edits > 3
    assert (one["model"]["fetches"], one["model"]["stale"]) == (replay.fetches, replay.stale)


def test_the_made_up_log_is_one_that_advice_takes(tmp_path, capsys):
    assert made_up_log(["--sites", "2", "--hours", "1"]) == 0
    text = capsys.readouterr().out
    log = tmp_path / "a.log"
    log.write_text(text)
    site = read_log([str(log)], [], Classifier([]))
    assert sorted(one.url_class.name for one in site.classes) == ["/site-0/", "/site-1/"]
    assert sum(len(one.reads) for one in site.classes) == text.count("GET") > 1000
    assert 0 < site.edits <= text.count("POST") and 3_500_000 < site.span_ms <= 3_600_000
    with pytest.raises(SystemExit):
        made_up_log(["--hours", "49"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replay", "--cache", "nginx"], "give one of them"),
        (["--replay", "11min", "--replay-folder", "."], "at most 600 s"),
        (["--replay"], "needs the command stevec advise"),
    ],
)
def test_what_cannot_be_played_is_refused(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "a.log"), "--stale", "1%", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
