"""Measures the time and the memory that a report on many samples takes: creates a run of that size and reports on it.

    python analysis/bench/report.py [--samples 10000000] [--trials 20] [--keep FOLDER]

Prints seconds of wall time, seconds of processor time, and the largest resident memory of the process that writes the
report. Exit status 1 if it takes more than 60 s or 1 GB.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

ANALYSIS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ANALYSIS), str(ANALYSIS / "tests")]

from run_folder_fixture import build_run_folder, edit_json, write_gzip  # noqa: E402

LIMIT_S, LIMIT_BYTES = 60, 1_000_000_000
PAGES = 1000


def main() -> int:
    """Create the run, report on it, and print the time and memory used."""
    parser = argparse.ArgumentParser(description="Measure stevec_report on a large run.")
    parser.add_argument("--samples", type=int, default=10_000_000, metavar="N")
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="a multiple of 4, one for each door")
    parser.add_argument("--keep", metavar="FOLDER", help="make the run there, or use the one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stevec-bench-") as scratch:
        parent = Path(options.keep or scratch)
        run = parent / "20261121T100000Z-read-hot-abc1234"
        if not run.exists():
            make_run(parent, options.trials, options.samples // options.trials)
        return measure(run)


def make_run(parent: Path, trials: int, requests: int) -> None:
    """Write a run of `trials` trials of `requests` requests each, in which the law of the counter holds."""
    print(f"making a run of {trials} × {requests} samples in {parent}", file=sys.stderr)
    parent.mkdir(parents=True, exist_ok=True)
    run = build_run_folder(parent, repetitions=trials // 4, requests=100, pages=10)
    database = duckdb.connect(config={"threads": 2})
    for number in range(1, trials + 1):
        folder = run / "trials" / f"{number:04d}"
        _fill_trial(database, folder, requests)
    edit_json(
        run / "manifest.json",
        lambda m: [plan.update(requests=requests, distinct_pages=PAGES) for plan in m["plans"]],
    )


def _fill_trial(database: duckdb.DuckDBPyConnection, folder: Path, requests: int) -> None:
    trial = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    begin_us = 1_795_255_200_000_000
    status = {"source": "", "nocache": "BYPASS"}.get(trial["door"])
    cached = status is None
    # The first PAGES requests read each page once, so the counter's value is known.
    plain = folder / "samples.csv"
    database.execute(
        f"""
        COPY (
            SELECT {begin_us} + i * 100 AS sent_at_us, i AS iteration,
                   'page-' || lpad(CAST(CASE WHEN i < {PAGES} THEN i ELSE hash(i) % {PAGES} END AS VARCHAR), 6, '0')
                       AS page,
                   'GET' AS method, 200 AS status, '' AS error_code,
                   '{status or ""}' || CASE WHEN {cached} THEN CASE WHEN i < {PAGES} THEN 'MISS' ELSE 'HIT' END
                       ELSE '' END AS cache_status,
                   round(exp(ln(5) + 0.5 * sqrt(-2 * ln((hash(i + 7) % 999983 + 1) / 999984.0))
                       * cos(2 * pi() * (hash(i + 13) % 999983) / 999983.0)), 6) AS duration_ms,
                   5210 AS size_bytes, 1 AS revision
            FROM range({requests}) t(i) ORDER BY i
        ) TO '{plain}' (HEADER, QUOTE '')
        """
    )
    with plain.open("rb") as source, gzip.open(folder / "samples.csv.gz", "wb", compresslevel=1) as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)
    plain.unlink()
    counter = PAGES if cached else requests
    for name in trial["log_lines"]:
        trial["log_lines"][name] = 0 if name != "origin" else counter
    write_gzip(folder / "edge.log.gz", b"")
    write_gzip(folder / "origin.log.gz", b"{}\n" * counter)
    trial |= {"requests_sent": requests, "reads_sent": requests, "distinct_pages": PAGES}
    trial |= {"served_by_cache": requests - counter, "counter_expected": None, "monotonic_s": 3600.0}
    trial |= {"counter": {"requests": counter, "reads": counter, "writes": 0}}
    trial |= {"started_at": "2026-11-21T10:00:00.000Z", "finished_at": "2026-11-21T11:00:00.000Z"}
    (folder / "trial.json").write_text(json.dumps(trial), encoding="utf-8")


def measure(run: Path) -> int:
    """Write the report in a separate process; print the time and memory used and check them against the limits."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    command = [sys.executable, "-m", "stevec_report", str(run)]
    done = subprocess.run(command, cwd=ANALYSIS, env={**os.environ}, check=False)
    wall_s = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory_bytes = after.ru_maxrss * 1024
    print(f"wall {wall_s:.1f} s, processor {cpu_s:.1f} s, memory {memory_bytes / 1e6:.0f} MB")
    good = done.returncode == 0 and wall_s <= LIMIT_S and memory_bytes <= LIMIT_BYTES
    print(f"{'within' if good else 'NOT within'} {LIMIT_S} s and {LIMIT_BYTES / 1e6:.0f} MB")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
