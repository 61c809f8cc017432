"""Builds small runs of schema version 2 to be compared, from a seed: a fixture, not data."""

import gzip
import json

import numpy as np

BEGIN_US = 1_795_000_000_000_000
HEADER = "sent_at_us,iteration,page,method,status,error_code,cache_status,duration_ms,size_bytes,revision"


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
            "settings": {"pages": 10},
            "factors": {"door": list(doors)},
        },
        "plan_hash": f"sha256:{seed:064x}",
        "trials_planned": number,
        "profile": {
            "name": "none",
            "sha256": "0",
            "asked": {},
            "applied": {},
            "missing": [],
            "calibration": None,
        },
        "host": {"cpu_model": "A Processor", "cores": 2, "memory_bytes": 4_000_000_000, "kernel": "6.1"},
        "versions": {"node": "20.20.0", "k6": "1.8.1"},
        **changes,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def _write_trial(folder, number, repetition, door, level, requests, rng):
    trial = folder / "trials" / f"{number:04d}"
    trial.mkdir(parents=True)
    durations = level * 5 * rng.lognormal(0, 0.25, requests)
    hits = 0
    with gzip.open(trial / "samples.csv.gz", "wt", newline="") as file:
        file.write(f"{HEADER}\n")
        for i, duration in enumerate(durations):
            hit = door == "cached" and i >= 10
            hits += hit
            status = ("HIT" if hit else "MISS") if door == "cached" else ""
            sent = BEGIN_US + i * 100_000
            file.write(f"{sent},{i},page-{i % 10:06d},GET,200,,{status},{duration:.6f},5000,1\n")
    value = {
        "trial": number,
        "repetition": repetition,
        "door": door,
        "cell": {"door": door},
        "valid": True,
        "invalid_reasons": [],
        "requests_sent": requests,
        "requests_failed": 0,
        "reads_sent": requests,
        "writes_sent": 0,
        "counter": {"requests": requests - hits, "reads": requests - hits, "writes": 0},
        "served_by_cache": hits,
        "background": None,
    }
    (trial / "trial.json").write_text(json.dumps(value), encoding="utf-8")
