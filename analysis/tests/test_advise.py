"""`stevec advise`: its cache against the replay's, its limits, the classes, and what it writes."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from stevec_advise.__main__ import main
from stevec_advise.classes import ClassError, Classifier, UrlClass, class_given
from stevec_advise.hindsight import main as hindsight
from stevec_advise.limits import LimitError, Limits, seconds_of, share_of
from stevec_advise.log import SPAN_MS, ClassLog, read_log
from stevec_advise.outcome import outcome_of
from stevec_advise.popularity import zipf_exponent
from stevec_advise.search import Search
from stevec_advise.setting import Setting, of_lifetime, purged
from stevec_advise.workloads import workloads
from stevec_predict import Scenario
from stevec_predict.replay import Replay
from stevec_predict.trace_lines import TraceError

SPAN_TEST_MS = 3_600_000


def made_up(seed, reads=3000, edits=300, urls=20):
    """A class whose requests all have different times."""
    random = np.random.default_rng(seed)
    times_ms = random.choice(SPAN_TEST_MS, reads + edits, replace=False)
    ranks = np.arange(1, urls + 1) ** -1.0
    url = random.choice(urls, reads + edits, p=ranks / ranks.sum())
    keys = url * SPAN_MS + times_ms
    return ClassLog(UrlClass("pages", "^/"), np.sort(keys[:reads]), np.arange(urls), np.sort(keys[reads:]))


SETTINGS = [
    (Setting("none"), {"policy": "no-store"}),
    (Setting("revalidate"), {"policy": "revalidate"}),
    (of_lifetime("ttl", 7), {"policy": "ttl", "ttl_s": 7}),
    (of_lifetime("ttl", 600), {"policy": "ttl", "ttl_s": 600}),
    (of_lifetime("swr", 30), {"policy": "ttl+swr", "ttl_s": 30, "swr_s": 3}),
    (replace(of_lifetime("swr", 5), window_s=100), {"policy": "ttl+swr", "ttl_s": 5, "swr_s": 100}),
    (purged("purge", 0.5), {"policy": "purge-url", "ttl_s": 86_400, "purge_delay_s": 0.5}),
    (purged("purge", 40), {"policy": "purge-url", "ttl_s": 86_400, "purge_delay_s": 40}),
    (replace(purged("purge", 20), lifetime_s=60), {"policy": "purge-url", "ttl_s": 60, "purge_delay_s": 20}),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("setting", "scenario"), SETTINGS)
def test_a_setting_does_what_the_replay_does(setting, scenario, seed):
    log = made_up(seed)
    replay = Replay(Scenario(pages=1, rate_per_s=1, **scenario))
    requests = [(key % SPAN_MS, key // SPAN_MS, True) for key in log.reads.tolist()]
    requests += [(key % SPAN_MS, key // SPAN_MS, False) for key in log.edits.tolist()]
    for time_ms, url, is_read in sorted(requests):
        (replay.read if is_read else replay.edit)(b"%d" % url, time_ms / 1000)
    outcome = outcome_of(log, setting, SPAN_TEST_MS, blocks=7)
    assert outcome.reads.sum() == replay.reads == 3000
    assert outcome.fetches.sum() == replay.fetches
    assert outcome.reads.sum() - outcome.waits.sum() == replay.hits
    assert outcome.stale.sum() == replay.stale
    assert outcome.fetches.sum() - outcome.bodies.sum() == replay.unchanged
    oldest_s = replay.staleness_s(1.0) or 0.0
    assert outcome.oldest_ms / 1000 == pytest.approx(oldest_s, rel=0.01)
    assert outcome.oldest_ms / 1000 <= setting.oldest_s


@pytest.mark.parametrize("family", ["ttl", "swr"])
def test_the_longest_lifetime_within_the_limit_is_found(family):
    log = made_up(1, reads=20_000, edits=2000)
    search = Search(log, SPAN_TEST_MS, Limits(0.05, None, confidence=None))
    found = search.of_family(family, 1)
    assert 0 < found.stale_share <= 0.05
    longer = search.of_setting(of_lifetime(family, round(found.setting.lifetime_s * 1.1) + 1))
    assert longer.stale_share > 0.05


def test_a_limit_of_age_is_kept_by_every_family_or_there_is_none():
    search = Search(made_up(1), SPAN_TEST_MS, Limits(None, 2.0))
    assert search.of_family("ttl", 5).setting.lifetime_s == 2
    swr = search.of_family("swr", 5).setting
    assert swr.lifetime_s + swr.window_s == 2
    assert search.of_family("purge", 5) is None
    assert search.of_family("purge", 1).setting.purge_delay_s == 1
    assert search.of_family("bounded", 5).setting.purge_delay_s == 0.5
    assert Search(made_up(1), SPAN_TEST_MS, Limits(None, 0.05)).of_family("bounded", 5) is None
    assert Search(made_up(1), SPAN_TEST_MS, Limits(None, 0.05)).of_family("none", 5).stale_share == 0


def test_without_an_edit_a_lifetime_is_no_longer_than_a_first_edit_allows():
    log = replace(made_up(1, reads=3000, edits=1, urls=1), edits=np.zeros(0, dtype=np.int64))
    found = Search(log, SPAN_TEST_MS, Limits(0.01, None)).of_family("ttl", 1)
    assert found.stale_share == 0 < found.stale_upper <= 0.01
    # 4.6 edits may be due within the hour; each makes half a lifetime stale.
    assert found.setting.lifetime_s == pytest.approx(0.01 * 3600 / 4.6 * 2, rel=0.1)


@pytest.mark.slow
def test_advice_from_half_of_a_made_up_log_is_judged_by_the_other_half(capsys):
    assert hindsight(["--sites", "1", "--seed", "3"]) == 0
    text = capsys.readouterr().out
    assert "4 of 4 lines hold" in text and "ttl" in text and "bounded 500 ms" in text
    # Without a margin, the limit is exceeded at the same site.
    assert hindsight(["--sites", "1", "--seed", "3", "--confidence", "0.000001"]) == 1


def test_a_longer_made_up_log_is_the_same_site_for_more_days():
    once, longer = (next(iter(workloads(1, 1, times))) for times in (1, 3))
    assert longer.span_ms == 3 * once.span_ms
    assert len(longer.log.reads) == pytest.approx(3 * len(once.log.reads), rel=0.1)
    assert len(longer.log.path) == len(once.log.path)


def test_zipfs_exponent_is_that_of_the_requests():
    random = np.random.default_rng(1)
    share = np.arange(1, 301) ** -0.8
    counts = random.multinomial(100_000, share / share.sum())
    assert zipf_exponent(counts) == pytest.approx(0.8, abs=0.03)
    assert zipf_exponent(counts[:5]) is None


def line(second, url="/wiki/A", method="GET", status=200):
    hour, rest = divmod(second, 3600)
    minute, second = divmod(rest, 60)
    time = f"25/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000"
    return f'h - - [{time}] "{method} {url} HTTP/1.1" {status} 100 "-" "x"'


def test_edits_make_all_urls_of_their_path_stale(tmp_path):
    log = tmp_path / "a.log"
    log.write_text(
        "\n".join([line(1, "/wiki/%C4%8Das?x=1"), line(2, "/wiki/B"), line(5, "/wiki/B"), line(9, "/a.css")])
    )
    edits = tmp_path / "edits.json.gz"
    times = ["2026-11-25T00:00:03Z", "2026-11-25T00:00:04Z", "2026-11-26T00:00:00Z"]
    urls = ["/wiki/\u010das", "/wiki/unread", "/wiki/B"]
    rows = [
        {"request_method": "PUT", "request_uri": url, "status": 200, "time_iso8601": time}
        for url, time in zip(urls, times, strict=True)
    ]
    edits.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    site = read_log([str(log)], [str(edits)], Classifier([]))
    assert [one.url_class.name for one in site.classes] == ["files", "/wiki/"]
    # That of an unread page, and that after the log, do not count.
    assert site.edits == 1 and site.classes[1].edits[0] % SPAN_MS == pytest.approx(2000, abs=500)
    assert site.classes[1].path.tolist() != [0, 0] and len(site.classes[1].reads) == 3


def test_of_a_file_of_edits_only_what_writes_counts_and_of_csv_every_line(tmp_path):
    log = tmp_path / "a.log"
    # Edits of the log itself do not count beside a file of edits.
    log.write_text("\n".join([*(line(second, "/wiki/A") for second in range(9)), line(9, "/wiki/A", "POST")]))
    edits = tmp_path / "edits.log"
    edits.write_text("\n".join([line(3, "/wiki/A"), line(4, "/wiki/A", "PUT"), line(5, "/wiki/A", "PUT", 409)]))
    rows = tmp_path / "edits.csv"
    rows.write_text("".join(f"{1795564800 + second},/wiki/A\n" for second in (2, 6)))
    assert read_log([str(log)], [str(edits)], Classifier([])).edits == 1
    assert read_log([str(log)], [str(rows)], Classifier([])).edits == 2
    assert read_log([str(log)], [], Classifier([])).edits == 0, "it came after the last read"


def test_logs_of_different_hosts_are_not_mixed(tmp_path):
    for host in ("a.example", "b.example"):
        rows = [
            {"method": "GET", "uri": "/", "status": 200, "ts": 1795564800 + second, "host": host} for second in range(9)
        ]
        (tmp_path / host).write_text("\n".join(map(json.dumps, rows)))
    files = [str(tmp_path / host) for host in ("a.example", "b.example")]
    with pytest.raises(TraceError, match=r"a\.example and b\.example: choose one by --host"):
        read_log(files, [], Classifier([]))
    assert len(read_log(files, [], Classifier([]), host="b.example").classes[0].reads) == 9


def test_requests_of_one_second_keep_their_order(tmp_path):
    log = tmp_path / "a.log"
    lines = [line(1, "/p/1"), line(1, "/p/1", "POST"), line(1, "/p/1"), line(2, "/p/1")]
    log.write_text("\n".join(lines))
    site = read_log([str(log)], [], Classifier([]))
    first, second, _ = site.classes[0].reads.tolist()
    assert first < site.classes[0].edits[0] < second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "without a limit"),
        (["--stale", "much"], "a share such as '1% of reads'"),
        (["--stale", "101%"], "a share such as"),
        (["--max-age", "soon"], "a time such as 500ms"),
        (["--stale", "1%", "--class", "x"], "NAME=PATTERN"),
        (["--stale", "1%", "--class", "x=("], "no regular expression"),
        (["--stale", "1%", "--class", 'x=";}'], "without quotes"),
        (["--stale", "1%", "--class", "x=^/a", "--class", "x=^/b"], "two classes have one name"),
        (["--stale", "1%", "--cache", "nginx", "--json"], "give one of them"),
        (["--stale", "1%", "--purge-delay", "2d"], "at most 86400 s"),
        (["--stale", "1%"], "give --edits"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_next_step(tmp_path, capsys, arguments, message):
    log = tmp_path / "a.log"
    log.write_text("\n".join(line(second) for second in range(30)))
    with pytest.raises(SystemExit) as ended:
        main([str(log), *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_limits_are_read_as_people_write_them():
    assert share_of("1% of reads") == share_of(" 1 % ") == 0.01
    assert share_of("0.5 % of the reads") == 0.005
    assert [seconds_of(text, "x") for text in ("500ms", "2 s", "5min", "1d")] == [0.5, 2, 300, 86_400]
    for text in ("1", "-1%", "1 %%", "NaN%"):
        with pytest.raises(LimitError):
            share_of(text)


def test_a_class_is_the_first_whose_pattern_matches():
    classifier = Classifier([class_given("a=^/wiki/A"), class_given("wiki=^/wiki/")])
    assert [classifier.number_of(path) for path in ("/wiki/A", "/wiki/B", "/x")] == [0, 1, -1]
    usual = Classifier([])
    names = [usual.classes[usual.number_of(path)].name for path in ("/", "/a/b", "/a/c.PNG", "/b/c/d", "/robots.txt")]
    assert names == ["top", "/a/", "files", "/b/", "top"]
    for number in range(30):
        usual.number_of(f"/folder-{number}/x")
    assert len(usual.classes) == 20
    with pytest.raises(ClassError):
        class_given("1=x")


def site_log(tmp_path):
    random = np.random.default_rng(5)
    requests = [(int(second), f"/wiki/{url}", "GET") for second, url in random.integers(0, [3600, 40], (8000, 2))]
    requests += [(int(second), f"/wiki/{url}", "POST") for second, url in random.integers(0, [3600, 40], (400, 2))]
    requests += [(int(second), f"/static/{url}.css", "GET") for second, url in random.integers(0, [3600, 9], (900, 2))]
    path = tmp_path / "site.log"
    path.write_text("\n".join(line(second, url, method) for second, url, method in sorted(requests)))
    return str(path)


def test_the_table_has_each_class_with_each_family_and_marks_the_advice(tmp_path, capsys):
    assert main([site_log(tmp_path), "--stale", "1% of reads"]) == 0
    text = capsys.readouterr().out
    assert "8900 reads and 400 edits" in text
    assert text.index("/wiki/: 40 URLs, 8000 reads") < text.index("files: 9 URLs, 900 reads")
    assert text.count("\n  * ") == 2 and "  * purge 86400 s" in text
    assert "elsewhere: nginx ttl" in text
    assert main([site_log(tmp_path), "--max-age", "2s", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["limits"] == {"stale_max": None, "oldest_max_s": 2, "confidence": 0.99}
    wiki = next(one for one in value["classes"] if one["name"] == "/wiki/")
    assert wiki["advice"]["nginx"] == "ttl 2 s"
    assert all(setting["oldest_s"] <= 2 for setting in wiki["settings"])


def test_rules_are_in_the_order_of_the_classes_and_cloudflares_in_reverse(tmp_path, capsys):
    # A file of the folder is of the class of files, whichever of the two is read more.
    assert main([site_log(tmp_path), "--stale", "1%", "--cache", "nginx"]) == 0
    locations = capsys.readouterr().out
    assert locations.index("# files: ttl") < locations.index("# /wiki/: ttl")
    assert main([site_log(tmp_path), "--stale", "1%", "--cache", "varnish"]) == 0
    text = capsys.readouterr().out
    assert text.index("# files: purge") < text.index("# /wiki/: purge")
    assert text.index("beresp.status != 200") < text.index("# files: purge"), "an error gets no lifetime"
    assert main([site_log(tmp_path), "--stale", "1%", "--cache", "cloudflare"]) == 0
    rules = json.loads(capsys.readouterr().out)["rules"]
    assert [rule["description"].split(":")[0] for rule in rules] == ["/wiki/", "files"]
    assert rules[0]["expression"] == 'starts_with(http.request.uri.path, "/wiki/")'
    errors = {"status_code_range": {"from": 400, "to": 599}, "value": -1}
    assert rules[0]["action_parameters"]["edge_ttl"]["status_code_ttl"] == [errors]
    assert rules[1]["expression"].startswith('http.request.uri.path.extension in {"avif"')
