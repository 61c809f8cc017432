"""Builds small runs of schema version 2 to be compared, from a seed: a fixture, not data."""

from datetime import timedelta

import numpy as np
from run_folder_fixture import BEGIN, DOORS, HEADER, SETTINGS, k6_facts, text_of, write_gzip, write_json, write_logs

PAGES = 10
PROFILE = {"name": "none", "sha256": "0", "asked": {}, "applied": {}, "missing": [], "calibration": None}


def build(
    folder,
    *,
    seed,
    doors=("source", "cached"),
    repetitions=8,
    slower=None,
    spread=0.03,
    requests=200,
    **changes,
):
    """Write a complete run into `folder` and return it.

    Args:
        slower: {door: factor} on all times. spread: of the trials' levels (lognormal). changes: of the
        manifest.
    """
    rng = np.random.default_rng(seed)
    number = 0
    for repetition in range(1, repetitions + 1):
        for door in doors:
            number += 1
            level = (slower or {}).get(door, 1) * rng.lognormal(0, spread)
            _write_trial(folder, number, repetition, door, level, requests, rng)
    manifest = {
        "schema_version": 2,
        "kind": "run",
        "status": "complete",
        "experiment": {
            "id": "X1",
            "name": "read-hot",
            "settings": {"pages": PAGES},
            "factors": {"door": list(doors)},
        },
        "plan_hash": f"sha256:{seed:064x}",
        "plans": [
            {"id": f"p{r}", "repetition": r, "hash": "", "requests": requests, "writes": 0, "distinct_pages": PAGES}
            for r in range(1, repetitions + 1)
        ],
        "trials_planned": number,
        "profile": PROFILE,
        "host": {"cpu_model": "A Processor", "cores": 2, "memory_bytes": 4_000_000_000, "kernel": "6.1"},
        "versions": {"node": "20.20.0", "k6": "1.8.1"},
        "doors": DOORS,
        **changes,
    }
    write_json(folder / "manifest.json", manifest)
    return folder


def _write_trial(folder, number, repetition, door, level, requests, rng):
    trial = folder / "trials" / f"{number:04d}"
    trial.mkdir(parents=True)
    durations = level * 5 * rng.lognormal(0, 0.25, requests)
    begin = BEGIN + timedelta(minutes=number)
    rows = []
    for i, duration in enumerate(durations):
        status = ("HIT" if i >= PAGES else "MISS") if door == "cached" else ""
        sent_us = int(begin.timestamp() * 1e6) + i * 100_000
        page = f"page-{i % PAGES:06d}"
        rows.append([sent_us, i, page, "GET", 200, "", status, round(float(duration), 6), 5000, 1])
    text = "".join(",".join(map(str, row)) + "\n" for row in [HEADER, *rows])
    write_gzip(trial / "samples.csv.gz", text.encode())
    hits = sum(row[6] == "HIT" for row in rows)
    seconds = requests / 10 + 5
    value = {
        "trial": number,
        "repetition": repetition,
        "plan": f"p{repetition}",
        "door": door,
        "cell": {"door": door},
        "settings": SETTINGS | {"door": door, "pages": PAGES, "requests": requests},
        "valid": True,
        "invalid_reasons": [],
        "started_at": text_of(begin),
        "finished_at": text_of(begin + timedelta(seconds=seconds)),
        "monotonic_s": seconds,
        "requests_sent": requests,
        "requests_failed": 0,
        "reads_sent": requests,
        "writes_sent": 0,
        "distinct_pages": PAGES,
        "counter": {"requests": requests - hits, "reads": requests - hits, "writes": 0},
        "counter_expected": requests - hits,
        "served_by_cache": hits,
        "log_lines": write_logs(trial, door, rows),
        "k6": k6_facts(seconds, 0),
        "background": None,
        "overlap": None,
    }
    write_json(trial / "trial.json", value)
