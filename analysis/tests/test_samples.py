"""Reading samples.csv.gz and the logs: the numbers, and every way in which a file may be broken."""

import csv
import gzip
import io
import shutil

import numpy as np
import pytest
from run_folder_fixture import HEADER as OLD_COLUMNS
from run_folder_fixture import edit_json, edit_samples, find_trial, plan_samples, truncate, write_gzip

from stevec_report import sample_files, samples
from stevec_report.run_folder import read_run

HEADER = ",".join(OLD_COLUMNS).encode()


@pytest.fixture
def load():
    opened = []

    def load_folder(folder):
        run = read_run(folder)
        opened.append(samples.load(run))
        return run, opened[-1]

    yield load_folder
    for loaded in opened:
        loaded.close()


def problems_of(run, number):
    return run.trials[number - 1].problems


def test_statistics_are_those_of_numpy(run_folder, load):
    _, loaded = load(run_folder)
    text = gzip.decompress((run_folder / "trials/0005/samples.csv.gz").read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    times = np.array([float(row["duration_ms"]) for row in rows])
    stats = loaded.stats[5]
    assert stats.requests == len(rows) == 60
    assert stats.distinct_pages == len({row["page"] for row in rows})
    assert stats.mean_ms == pytest.approx(times.mean(), rel=1e-12)
    assert (stats.p50_ms, stats.p95_ms, stats.p99_ms) == pytest.approx(np.percentile(times, [50, 95, 99]))
    assert stats.max_ms == times.max()


def test_failed_requests_are_counted_and_not_timed(run_folder, load):
    def fail(lines):
        cells = lines[1].split(",")
        cells[4], cells[7] = "0", "60000"
        other = lines[2].split(",")
        other[4] = "503"
        return [lines[0], ",".join(cells), ",".join(other), *lines[3:]]

    edit_samples(run_folder / "trials/0001", fail)
    _, loaded = load(run_folder)
    assert loaded.stats[1].failures == 2
    assert loaded.stats[1].requests == 60
    assert loaded.stats[1].max_ms < 60000


def test_only_answers_without_the_origin_count_as_served_by_cache(run_folder, load):
    statuses = ["HIT", "STALE", "UPDATING", "MISS", "EXPIRED", "REVALIDATED", "BYPASS", "DYNAMIC", ""]

    def vary(lines):
        out = [lines[0]]
        for i, line in enumerate(lines[1:]):
            cells = line.split(",")
            cells[6] = statuses[i] if i < len(statuses) else "MISS"
            out.append(",".join(cells))
        return out

    edit_samples(run_folder / "trials/0001", vary)
    _, loaded = load(run_folder)
    assert loaded.stats[1].served_by_cache == 3
    assert sum(loaded.stats[1].cache_statuses.values()) == 60


@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_truncated_samples_are_named_and_nothing_of_them_is_used(run_folder, load, share):
    truncate(run_folder / "trials/0002/samples.csv.gz", share)
    run, loaded = load(run_folder)
    assert problems_of(run, 2) == ["samples.csv.gz is cut off before its end"]
    assert set(loaded.stats) == set(range(1, 13)) - {2}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "has another header"),
        (b"not gzip", "is damaged"),
        (gzip.compress(b"a,b\n1,2\n"), "has another header"),
        (gzip.compress(HEADER + b"\n"), "has no rows"),
        (gzip.compress(HEADER + b"\n1,2,3\n"), "is not a table of samples"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,200,,HIT,slow,1,1\n"), "is not a table of samples"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,200,,HIT,nan,1,1\n"), "1 rows without a time"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,200,,HIT,-1,1,1\n"), "1 rows without a time"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,200,,HIT,1e300,1,1\n"), "1 rows without a time"),
        (gzip.compress(HEADER + b"\n-9,0,p,GET,200,,HIT,1,1,1\n"), "1 rows without a time"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,,,HIT,1.5,1,1\n"), "1 without a page, method or status"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,0,1050,,1.5,,\n"), "none of its 1 requests was answered"),
        (gzip.compress(HEADER + b"\n1,0,p,GET,200,,,0,,\n"), "none of its 1 requests took any time"),
    ],
)
def test_broken_samples_are_named(run_folder, load, data, words):
    (run_folder / "trials/0002/samples.csv.gz").write_bytes(data)
    run, _ = load(run_folder)
    (problem,) = problems_of(run, 2)
    assert words in problem


def test_missing_files_are_named(run_folder, load):
    for name in ("samples.csv.gz", "edge.log.gz", "origin.log.gz"):
        (run_folder / "trials/0002" / name).unlink()
    run, _ = load(run_folder)
    assert problems_of(run, 2) == [
        "edge.log.gz is missing",
        "origin.log.gz is missing",
        "samples.csv.gz is missing",
    ]


def test_logs_are_checked_to_their_end(run_folder, load):
    truncate(run_folder / "trials/0002/origin.log.gz", 0.6)
    write_gzip(run_folder / "trials/0003/origin.log.gz", b"{}\n{}")
    run, _ = load(run_folder)
    assert problems_of(run, 2) == ["origin.log.gz is cut off before its end"]
    assert problems_of(run, 3)[0].startswith("origin.log.gz has 2 lines, and trial.json says ")


def test_a_log_that_trial_json_does_not_count_is_not_asked_for(run_folder, load):
    (run_folder / "trials/0002/edge.log.gz").unlink()
    edit_json(run_folder / "trials/0002/trial.json", lambda t: t["log_lines"].pop("edge"))
    run, _ = load(run_folder)
    assert problems_of(run, 2) == []


def test_decompressing_has_a_limit(run_folder, load, monkeypatch):
    monkeypatch.setattr(sample_files, "FILE_MAX_BYTES", 1500)
    run, _ = load(run_folder)
    assert "larger than 1500 bytes when decompressed" in problems_of(run, 2)[-1]


def test_a_run_has_a_limit_of_samples(run_folder, load, monkeypatch):
    monkeypatch.setattr(samples, "SAMPLES_MAX", 130)
    run, loaded = load(run_folder)
    assert set(loaded.stats) == {1, 2}
    assert "takes the run over 130 samples" in problems_of(run, 3)[-1]


def test_a_folder_name_that_looks_like_a_pattern_is_a_name(run_folder, load):
    odd = run_folder.parent / "run [1] * ? {a,b} $HOME"
    shutil.copytree(run_folder, odd)
    _, loaded = load(odd)
    assert len(loaded.stats) == 12


def test_failures_are_told_apart_by_kind(run_folder, load):
    codes = [("0", "1050"), ("0", "1212"), ("0", ""), ("503", ""), ("502", ""), ("404", ""), ("0", "1050")]

    def fail(lines):
        out = [lines[0]]
        for i, line in enumerate(lines[1:]):
            cells = line.split(",")
            if i < len(codes):
                cells[4], cells[5] = codes[i]
            out.append(",".join(cells))
        return out

    edit_samples(run_folder / "trials/0001", fail)
    _, loaded = load(run_folder)
    assert loaded.stats[1].failure_kinds == {
        "timeout (k6 1050)": 2,
        "connection refused (k6 1212)": 1,
        "no answer": 1,
        "status 4xx": 1,
        "status 5xx": 2,
    }
    assert loaded.stats[1].unanswered == 4


def test_a_stale_read_is_one_that_is_older_than_an_acknowledged_write(run_folder, load):
    rows = [
        "1000000,0,a,POST,200,,BYPASS,10,1,2",
        "1005000,1,a,GET,200,,HIT,1,1,1",  # the write is not acknowledged yet
        "1020000,2,a,GET,200,,HIT,1,1,1",  # stale
        "1030000,3,a,GET,200,,MISS,1,1,2",
        "1030000,4,b,GET,200,,HIT,1,1,1",  # b has no write
    ]
    data = "\n".join([HEADER.decode(), *rows, ""]).encode()
    write_gzip(run_folder / "trials/0001/samples.csv.gz", data)
    _, loaded = load(run_folder)
    assert loaded.stats[1].stale_ratio == 0.25
    # Outdated since 1.010 s, when the write was acknowledged.
    old = loaded.stats[1].freshness
    assert (old["reads_stale"], old["staleness_max_s"], old["versions_behind_max"]) == (1, pytest.approx(0.01), 1)
    assert loaded.stats[2].freshness is None, "no edits"
    assert (loaded.stats[1].reads, loaded.stats[1].writes, loaded.stats[1].served_reads) == (4, 1, 3)


def test_the_background_is_counted_apart(overload_folder, load):
    number, folder = find_trial(overload_folder, background_vus=20, door="cached")
    _, loaded = load(overload_folder)
    background = loaded.stats[number].background
    rows = gzip.decompress((folder / "background.csv.gz").read_bytes()).decode().splitlines()[1:]
    assert background.requests == len(rows)
    assert background.served_by_cache == sum(",HIT," in row for row in rows)
    stats, done = loaded.stats[number], 0
    for row in rows:
        cells = row.split(",")
        at = int(cells[0]) + round(float(cells[7]) * 1000)
        done += stats.first_sent_us <= at <= stats.last_done_us
    assert background.completed_per_s == pytest.approx(done / stats.span_s)


def test_a_truncated_background_makes_the_trial_unreadable(overload_folder, load):
    number, folder = find_trial(overload_folder, background_vus=20, door="cached")
    truncate(folder / "background.csv.gz")
    run, loaded = load(overload_folder)
    assert problems_of(run, number) == ["background.csv.gz is cut off before its end"]
    assert number not in loaded.stats


def test_nothing_is_left_behind(run_folder, load, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, loaded = load(run_folder)
    assert [p for p in tmp_path.iterdir() if p.name.startswith("stevec-report-")]
    loaded.close()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("stevec-report-")]


def test_times_count_from_the_plan_and_requests_that_were_never_sent_are_slower_than_any(run_folder, load):
    folder = run_folder / "trials/0005"
    _, before = load(run_folder)
    plan_samples(folder, lag_ms=lambda i: i, never_sent=2)
    _, loaded = load(run_folder)
    old, new = before.stats[5], loaded.stats[5]
    assert (new.requests, new.failures, new.first_sent_us) == (old.requests, old.failures, old.first_sent_us)
    assert new.service_mean_ms == pytest.approx(old.mean_ms)
    assert new.service_p99_ms == pytest.approx(old.p99_ms)
    lags = np.arange(60)
    assert new.mean_ms == pytest.approx(old.mean_ms + lags.mean())
    rows = loaded.query("SELECT duration_ms, response_ms FROM {samples} ORDER BY sent_at_us, iteration", [5])
    assert sorted(response - service for service, response in rows) == pytest.approx(lags)
    # Two of 62 requests were never sent: the 95th percentile of all is still a time, the 99th is not.
    assert np.isfinite(new.all_percentiles_ms[3]) and new.all_p99_ms == np.inf
    responses = sorted(response for _, response in rows)
    assert new.all_percentiles_ms[0] == pytest.approx((responses[30] + responses[31]) / 2)


def test_a_sample_before_its_planned_time_does_not_shorten_the_response(run_folder, load):
    folder = run_folder / "trials/0005"
    plan_samples(folder, lag_ms=lambda i: -0.5)
    _, loaded = load(run_folder)
    assert loaded.stats[5].mean_ms == pytest.approx(loaded.stats[5].service_mean_ms)
