"""`stevec predict --trace`: the replay against the simulation, the forms of a trace, and traces that are hostile."""

import gzip
import io
import json
import sys
import tracemalloc

import numpy as np
import pytest

from stevec_predict import Scenario, replay, trace_lines, trace_reader
from stevec_predict.__main__ import main
from stevec_predict.replay import Replay
from stevec_predict.simulation import simulate
from stevec_predict.trace import replay_trace
from stevec_predict.trace_format import csv_parser, parse_clf, parse_txt, parser_for
from stevec_predict.trace_lines import LINE_MAX_BYTES, TraceError, read_lines
from stevec_predict.trace_request import BadLineError, Kind

PLAIN = '10.0.0.1 - - [01/Mar/2026:10:00:00 +0000] "GET /wiki/A HTTP/1.1" 200 120'


def cache(**settings):
    return Scenario(pages=1, rate_per_s=1, **settings)


def write(path, *lines, mode="wb"):
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    path.write_bytes(gzip.compress(data) if mode == "gzip" else data)
    return str(path)


def get(second, page="A", method="GET", status=200, size=100):
    minute, second = divmod(second, 60)
    return (
        f'h - - [01/Mar/2026:10:{minute:02}:{second:02} +0000] "{method} /wiki/{page} HTTP/1.1" {status} {size} "-" "x"'
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "settings",
    [
        {"ttl_s": 3},
        {"ttl_s": 2, "policy": "ttl+swr", "swr_s": 3},
        {"ttl_s": 50, "policy": "purge-url"},
        {"ttl_s": 4, "policy": "purge-url", "purge_delay_s": 1.5},
        {"ttl_s": 50, "policy": "purge-url", "purge_delay_s": 20},
        {"ttl_s": 3, "collapse": False, "fetch_s": 0.7},
        {"ttl_s": 9, "policy": "purge-url", "purge_delay_s": 0.4, "collapse": False, "fetch_s": 1.0},
        {"ttl_s": 0.5, "collapse": False, "fetch_s": 1.0},
    ],
    ids=str,
)
def test_a_replay_does_what_the_simulation_does(settings, seed):
    rng = np.random.default_rng(seed)
    n, e, pages, run_s = 4_000, 300, 40, 100.0
    page, edited = rng.zipf(1.4, n) % pages, rng.zipf(1.4, e) % pages
    read_s, edit_s = rng.uniform(0, run_s, n), rng.uniform(0, run_s, e)
    scenario = cache(**settings)
    replayed = Replay(scenario)
    for now, kind, place in sorted(
        [(t, 0, i) for i, t in enumerate(read_s)] + [(t, 1, i) for i, t in enumerate(edit_s)]
    ):
        if kind == 0:
            replayed.read(b"%d" % page[place], now, 10)
        else:
            replayed.edit(b"%d" % edited[place], now)
    delay_s = scenario.purge_delay_s if scenario.policy == "purge-url" else None
    fetch_s = 0.0 if scenario.collapse else scenario.fetch_s
    found = simulate(
        page, read_s, edited, edit_s, ttl_s=scenario.ttl_s, swr_s=scenario.swr_s, delay_s=delay_s, fetch_s=fetch_s
    )
    stale = found.behind_s[found.behind_s > 0]
    assert (0 < found.hit.sum() < n and stale.size > 0) or settings == {"ttl_s": 50, "policy": "purge-url"}
    assert (replayed.reads, replayed.edits) == (n, e)
    assert (replayed.hits, replayed.fetches, replayed.stale) == (found.hit.sum(), found.fetched.sum(), stale.size)
    assert replayed.bytes_fetched == 10 * replayed.fetches
    if stale.size:
        for level in (0.5, 0.95):
            nearest = np.quantile(stale, level, method="inverted_cdf")
            assert replayed.staleness_s(level) == pytest.approx(nearest, rel=0.005)


def test_revalidation_saves_the_bodies_of_what_has_not_changed(tmp_path):
    file = write(tmp_path / "a.log", get(0), get(1), get(2, method="POST", status=303), get(3), get(4))
    asked, _ = replay_trace(file, cache(policy="revalidate"))
    assert (asked.hit_ratio, asked.offload_requests, asked.offload_bytes) == (0, 0, 0.5)
    never, _ = replay_trace(file, cache(policy="no-store"))
    assert (never.offload_bytes, never.stale_ratio) == (0, 0)
    unsized = write(tmp_path / "a.csv", "0,a", "1,a", "2,a", "3,b")
    assert replay_trace(unsized, cache(policy="revalidate"))[0].offload_bytes == 0.5


def test_edits_count_in_the_order_of_lines_within_a_second(tmp_path):
    lines = [get(0), get(0, method="PUT"), get(0), get(9, "B")]
    kept, _ = replay_trace(write(tmp_path / "a.log", *lines), cache(ttl_s=60))
    assert (kept.hit_ratio, kept.stale_ratio, kept.staleness_p50_s) == (1 / 3, 1 / 3, 0)
    purged, _ = replay_trace(str(tmp_path / "a.log"), cache(ttl_s=60, policy="purge-url"))
    assert (purged.hit_ratio, purged.stale_ratio, purged.purges_per_s) == (0, 0, 1 / 9)


@pytest.mark.parametrize(
    ("line", "kind", "size"),
    [
        (PLAIN, Kind.READ, 120),
        (PLAIN + ' "http://a/?q=%22" "Mozilla/5.0 (X11; \\"odd\\")"', Kind.READ, 120),
        ("wiki.example:443 " + PLAIN, Kind.READ, 120),
        (PLAIN.replace("- -", '- "a user"'), Kind.READ, 120),
        (PLAIN.replace("10.0.0.1", "2001:db8::1"), Kind.READ, 120),
        (PLAIN.replace("GET", "HEAD").replace("120", "-"), Kind.READ, None),
        (PLAIN.replace(" HTTP/1.1", ""), Kind.READ, 120),
        (PLAIN.replace("200 120", "304 0"), Kind.READ, None),
        (PLAIN.replace("GET", "POST").replace("200", "303"), Kind.EDIT, 120),
        (PLAIN.replace("GET", "PUT"), Kind.EDIT, 120),
        (PLAIN.replace("GET", "POST").replace("200", "409"), Kind.OTHER, None),
        (PLAIN.replace("GET", "OPTIONS"), Kind.OTHER, 120),
        (PLAIN.replace("GET", "get"), Kind.OTHER, 120),
        (PLAIN.replace("200", "302"), Kind.OTHER, 120),
        (PLAIN.replace("200", "500"), Kind.OTHER, None),
        (PLAIN.replace("GET /wiki/A HTTP/1.1", "\\x16\\x03\\x01").replace("200", "400"), Kind.OTHER, None),
    ],
)
def test_a_line_of_an_access_log(line, kind, size):
    request = parse_clf(line.encode())
    assert (request.kind, request.size_bytes) == (kind, size)
    assert request.time_s == 1_772_359_200
    assert request.page == (b"/wiki/A" if kind is not Kind.OTHER or size else b"")
    assert parse_clf(line.replace("+0000", "-0130").encode()).time_s == 1_772_359_200 + 5_400


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("01/Mar/2026", "31/Feb/2026"), "no date"),
        (("01/Mar/2026", "01/Mrz/2026"), "no date"),
        (("10:00:00", "25:00:00"), "no date"),
        (("01/Mar/2026", "01/Mar/1950"), "below 0"),
        (("GET", '"GET'), "no Common Log Format"),
        (("200 120", "200"), "no Common Log Format"),
        (("200 120", "200 -5"), "no Common Log Format"),
        (("200 120", "²00 120"), "no Common Log Format"),
    ],
)
def test_a_line_that_is_none_of_an_access_log(change, reason):
    with pytest.raises(BadLineError, match=reason):
        parse_clf(PLAIN.replace(*change).encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("-1,a,5", "below 0"),
        ("nan,a,5", "no number"),
        ("inf,a,5", "no number"),
        ("1_0,a,5", "no number"),
        ("٣,a,5", "no number"),
        ("1e999,a,5", "no number of seconds"),
        ("1772359200000,a,5", "no number of seconds"),
        ("1,,5", "no object id"),
        ("1", "fewer than 2 columns"),
        ("1,a,-5", "no number of bytes"),
        ("1,a,1.5", "no number of bytes"),
        ('1,"a,5', "quotes"),
        ("1,a\0b,x", "no number of bytes"),
    ],
)
def test_a_line_that_is_none_of_a_csv(line, reason):
    with pytest.raises(BadLineError, match=reason):
        csv_parser((0, 1, 2, None), b",")(line.encode())


@pytest.mark.parametrize(
    ("parameters", "lines"),
    [
        ("", ["0,a,100,3", "5,b,300,-1", "9,a,100,-1"]),
        ("", ["time,obj_id,size,next", "0.0,a,100,3", "5.0,b,300,-1", "9e0,a,100,-1"]),
        ("", ["0\ta\t100", "5\tb\t300", "9\ta\t100"]),
        ("time-col=2, obj-id-col=5, obj-size-col=4", ["x,0,r,100,a", "x,5,r,300,b", "x,9,r,100,a"]),
        ("time-col=2,obj-id-col=1,size-col=3,delimiter=,,has-header=true", ["7,7,7", "a,0,100", "b,5,300", "a,9,100"]),
        ("obj-size-col=3,delimiter=|,obj-id-is-num=0", ["0|a|100", "5|b|300", "9|a|100"]),
        ("obj-size-col=3,delimiter=\\t", ["0\ta\t100", "5\tb\t300", "9\ta\t100"]),
        ("obj-size-col=3", ['0,"a","100"', '5,"b",300', '"9",a,100']),
        ("obj-size-col=3,op-col=4", ["0,a,100,get", "5,b,300,READ", "9,a,100,Head", "9,a,100,scan", "9,c,1,put"]),
    ],
)
def test_a_csv_as_of_libcachesim(tmp_path, parameters, lines):
    found, facts = replay_trace(write(tmp_path / "t", *lines), cache(ttl_s=60), parameters=parameters)
    assert (facts.type, facts.reads, facts.bad, facts.span_s) == ("csv", 3, 0, 9)
    assert (found.hit_ratio, found.offload_bytes) == pytest.approx((1 / 3, 1 / 5))
    assert (facts.edits, facts.other) == ((1, 1) if "op-col" in parameters else (0, 0))


def test_a_txt_has_its_times_from_the_rate(tmp_path):
    file = write(tmp_path / "t", "a", "b", "a", "", "a")
    found, facts = replay_trace(file, cache(ttl_s=1.5), rate_per_s=1.0)
    assert (facts.type, facts.lines, facts.span_s, found.hit_ratio) == ("txt", 5, 3, 0.25)
    assert replay_trace(file, cache(ttl_s=1.5), rate_per_s=0.5)[0].hit_ratio == 0
    for kind, rate in (("txt", None), ("csv", 1.0)):
        with pytest.raises(TraceError, match="rate gives times to a trace of type txt"):
            replay_trace(file, cache(), kind=kind, rate_per_s=rate)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("time-col", "are such as time-col=1"),
        ("time-col=0", "time-col is a column from 1"),
        ("obj-id-col=-2", "obj-id-col is a column from 1"),
        ("obj-id-col=99999999999", "obj-id-col is a column from 1"),
        ("obj-id-col=", None),
        ("color=3", "color is not known"),
        ("delimiter=ab", "one character"),
        ("has-header=maybe", "true or false"),
    ],
)
def test_parameters_that_are_wrong(parameters, message):
    if message is None:
        with pytest.raises(TraceError, match="are needed"):
            parser_for("csv", parameters, [b"1,a"])
        return
    with pytest.raises(TraceError, match=message):
        parser_for("csv", parameters, [b"1,a"])


def test_packed_or_not_or_from_standard_input_is_the_same(tmp_path, monkeypatch):
    lines = [get(second, "AB"[second % 2]) for second in range(90)]
    plain, packed = (write(tmp_path / mode, *lines, mode=mode) for mode in ("wb", "gzip"))
    expected = replay_trace(plain, cache(ttl_s=10))[0]
    assert replay_trace(packed, cache(ttl_s=10))[0] == expected
    for data in (tmp_path / "wb", tmp_path / "gzip"):
        given = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data.read_bytes())))
        monkeypatch.setattr(sys, "stdin", given)
        assert replay_trace("-", cache(ttl_s=10))[0] == expected


def test_bad_lines_are_counted_and_named_and_the_rest_is_replayed(tmp_path, capsys):
    good = [get(second, "AB"[second % 2]) for second in range(120)]
    expected = replay_trace(write(tmp_path / "good", *good), cache(ttl_s=10))[0]
    mixed = [
        *good[:30],
        b"\x00\xff\xfe\x80binary\x1f",
        PLAIN.replace("2026", "1950"),
        *good[30:60],
        "x" * (LINE_MAX_BYTES + 1),
        b'" ' * LINE_MAX_BYTES,
        *good[60:90],
        "",
        PLAIN.replace("2026", "2025"),
        *good[90:],
    ]
    file = write(tmp_path / "mixed", *mixed)
    found, facts = replay_trace(file, cache(ttl_s=10))
    assert found == expected
    assert (facts.lines, facts.reads, facts.bad, facts.first_bad_line) == (126, 120, 5, 31)
    assert facts.bad_reasons == {
        "longer than 65536 bytes": 2,
        "no Common Log Format": 1,
        "the time is below 0": 1,
        "the time goes back by more than 60 s": 1,
    }
    assert main(["--trace", file, "--ttl", "10"]) == 0
    text = capsys.readouterr().out
    assert "5 bad lines left out, the first is line 31: longer than 65536 bytes (2), " in text
    assert "clf, 126 lines: 120 reads, 0 edits." in text
    assert main(["--trace", file, "--ttl", "10", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["hit_ratio"] == expected.hit_ratio and value["trace"]["bad"] == 5


def test_a_line_may_be_late_by_a_minute(tmp_path):
    file = write(tmp_path / "a.log", get(100), get(130), get(99), get(140), get(79), get(150))
    _, facts = replay_trace(file, cache())
    assert (facts.late, facts.bad, facts.first_bad_line, facts.span_s) == (1, 1, 5, 50)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "neither Common Log Format nor CSV"),
        ([b"\x89PNG\r\n\x1a\n\x00\x00", b"\x00" * 99], "neither Common Log Format nor CSV|bad lines and 0 good"),
        (
            ["one two three"] * 2_000,
            "no good line among the first 1001: the first bad one is line 2, most often the time is no number",
        ),
        ([get(0), "x", "y"], r"2 bad lines and 1 good: the first bad one is line 2, most often no Common Log"),
        # A time far ahead makes all later ones go back.
        ([get(0), PLAIN.replace("2026", "9999"), get(1), get(2), get(3)], "3 bad lines and 2 good: .*goes back"),
        ([get(0, method="POST"), get(9, status=404)], "the trace has no reads"),
        ([get(5), get(5)], "all requests have the same time"),
    ],
)
def test_a_trace_from_which_nothing_follows_says_why(tmp_path, lines, message):
    with pytest.raises(TraceError, match=message):
        replay_trace(write(tmp_path / "t", *lines), cache())


def test_a_damaged_file_says_after_which_line(tmp_path):
    rng = np.random.default_rng(5)
    lines = [f"{i},{rng.integers(10**9)},{rng.integers(10**9)}" for i in range(5_000)]
    file = tmp_path / "t.gz"
    write(file, *lines, mode="gzip")
    data = file.read_bytes()
    for damaged in (data[: len(data) // 2], data[:2000] + bytes(50) + data[2050:], data[:-6] + b"123456"):
        file.write_bytes(damaged)
        with pytest.raises(TraceError, match=r"cannot be unpacked after line \d+"):
            replay_trace(str(file), cache())


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        (replay, "PAGES_MAX", "more than 5 different pages"),
        (replay, "PENDING_MAX", "more than 5 edits within the delay of a purge"),
        (trace_reader, "LINES_MAX", "more than 5 lines"),
        (trace_lines, "BYTES_MAX", "has more than 0 GiB"),
    ],
)
def test_all_that_can_grow_has_a_limit(tmp_path, monkeypatch, module, name, message):
    monkeypatch.setattr(module, name, 5)
    lines = [get(second, second, method="PUT" if "PENDING" in name and second else "GET") for second in range(8)]
    with pytest.raises(TraceError, match=message):
        replay_trace(write(tmp_path / "t", *lines), cache(policy="purge-url", purge_delay_s=60))


def test_a_line_without_an_end_takes_no_memory(tmp_path):
    file = tmp_path / "zeros.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for _ in range(64):
            packed.write(bytes(1024 * 1024))
        packed.write(b"\n1,a\n")
    tracemalloc.start()
    try:
        assert list(read_lines(str(file))) == [None, b"1,a"]
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_no_bytes_at_all_break_a_parser():
    rng = np.random.default_rng(11)
    samples = [PLAIN.encode(), b'1.5,abc,100,"x",get', b"a"]
    parsers = [parse_clf, parse_txt, csv_parser((0, 1, 2, 4), b",")]
    kinds = set()
    for _ in range(3_000):
        line = bytearray(samples[rng.integers(3)])
        for _ in range(rng.integers(0, 6)):
            line[rng.integers(len(line))] = rng.integers(256)
        for parse in parsers:
            try:
                kinds.add(parse(bytes(line).replace(b"\n", b"")).kind)
            except BadLineError:
                kinds.add(None)
    assert kinds == {Kind.READ, Kind.OTHER, None}
    for hostile in (
        b'"' * LINE_MAX_BYTES,
        b"a b [" * 10_000,
        b"\\" * LINE_MAX_BYTES,
        PLAIN[:60].encode() + b'\\"' * 30_000,
    ):
        for parse in (parse_clf, parsers[2]):
            with pytest.raises(BadLineError):
                parse(hostile)


def test_costs_follow_from_a_trace_too(tmp_path, capsys):
    file = write(tmp_path / "a.log", *(get(second) for second in range(10)))
    prices = trace_lines.__file__.replace("stevec_predict/trace_lines.py", "prices/2026-11.json")
    assert main(["--trace", file, "--json", "--prices", prices]) == 0
    doors = json.loads(capsys.readouterr().out)["cost_per_million_views"]["doors"]
    assert 0 < doors["local"]["origin_egress"] < doors["source"]["origin_egress"]
