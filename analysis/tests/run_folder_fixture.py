"""Builds small run folders in the format of schema version 1, from a seed: a fixture, not data.

The times are drawn from lognormal distributions whose levels resemble the study's; no figure made from them
says anything about a real system.
"""

import csv
import gzip
import io
import json
from datetime import UTC, datetime, timedelta

import numpy as np

DOORS = {
    "cached": {"url": "http://wiki.localhost:8080", "caching": True},
    "nocache": {"url": "http://nocache.localhost:8080", "caching": False},
    "source": {"url": "http://source.localhost:8081", "caching": False},
    "local": {"url": "http://localhost:8082", "caching": True},
}
# Typical time in ms of a request that the origin answers, and of one that the cache does.
LEVELS_MS = {"source": (5.2, None), "nocache": (6.1, None), "local": (6.0, 0.9), "cached": (6.3, 1.4)}
UNCACHED_STATUS = {"source": "", "nocache": "BYPASS"}
HEADER = ["sent_at_us", "iteration", "page", "method", "status", "cache_status"]
HEADER += ["duration_ms", "size_bytes", "revision"]
BEGIN = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def build_run_folder(parent, *, repetitions=5, requests=200, pages=20, seed=1, name=None, failures_at=None):
    """Write a complete and valid run into a new folder under `parent` and return its path.

    Args:
        failures_at: {trial: n}: the last n requests of the trial were answered with a 503 by the origin.
    """
    rng = np.random.default_rng(seed)
    run = parent / (name or "20261121T100000Z-read-hot-abc1234")
    (run / "trials").mkdir(parents=True)
    plans, trials, moment = [], 0, BEGIN
    for repetition in range(1, repetitions + 1):
        plan = rng.integers(0, pages, requests)
        distinct = len(set(plan.tolist()))
        plans.append(
            {
                "repetition": repetition,
                "hash": f"sha256:{repetition:064x}",
                "requests": requests,
                "distinct_pages": distinct,
            }
        )
        for door in rng.permutation(list(DOORS)):
            trials += 1
            failures = (failures_at or {}).get(trials, 0)
            seconds = _write_trial(run, trials, repetition, str(door), plan, distinct, moment, rng, failures)
            moment += timedelta(seconds=seconds + 1.5)
    write_json(run / "manifest.json", _manifest(repetitions, requests, pages, seed, plans, trials, moment))
    return run


def write_json(path, value):
    """Write `value` as JSON."""
    path.write_text(json.dumps(value), encoding="utf-8")


def edit_json(path, change):
    """Let `change(object)` alter the JSON file in place."""
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    write_json(path, value)


def find_trial(run, door, repetition):
    """Return (number, folder) of one cell."""
    for folder in sorted((run / "trials").iterdir()):
        value = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
        if (value["door"], value["repetition"]) == (door, repetition):
            return value["trial"], folder
    raise LookupError((door, repetition))


def write_gzip(path, data):
    """Write bytes compressed, without the time of day."""
    with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
        file.write(data)


def edit_samples(folder, change):
    """Let `change(lines)` return other lines for samples.csv.gz; the first one is the header."""
    path = folder / "samples.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    write_gzip(path, "".join(f"{line}\n" for line in change(lines)).encode())


def truncate(path, share=0.5):
    """Cut a file off."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def _write_trial(run, number, repetition, door, plan, distinct, moment, rng, failures):
    """Write one trial and return how many seconds it lasted."""
    folder = run / "trials" / f"{number:04d}"
    folder.mkdir()
    origin_ms, cache_ms = LEVELS_MS[door]
    level = rng.lognormal(0, 0.03)  # what differs from trial to trial
    durations = level * origin_ms * rng.lognormal(0, 0.25, plan.size)
    statuses = np.full(plan.size, UNCACHED_STATUS.get(door, "HIT"), dtype=object)
    if cache_ms is not None:
        first = np.zeros(plan.size, dtype=bool)
        first[np.unique(plan, return_index=True)[1]] = True
        statuses[first] = "MISS"
        durations[~first] = level * cache_ms * rng.lognormal(0, 0.2, int((~first).sum()))
    durations[rng.integers(0, plan.size, 2)] *= 6  # a pause of the machine now and then
    codes = np.full(plan.size, 200)
    if failures:
        codes[-failures:] = 503
    sent_us = int(moment.timestamp() * 1e6) + np.concatenate([[0], np.cumsum(durations[:-1] * 1000)]).astype(
        int
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for i in range(plan.size):
        page = f"page-{plan[i]:04d}"
        writer.writerow([sent_us[i], i, page, "GET", codes[i], statuses[i], f"{durations[i]:.6f}", 5210, 1])
    write_gzip(folder / "samples.csv.gz", text.getvalue().encode())

    hits = int((statuses == "HIT").sum())
    counter = plan.size - hits
    edge_lines = plan.size if door in ("cached", "nocache") else 0
    write_gzip(folder / "edge.log.gz", b'{"status":200}\n' * edge_lines)
    write_gzip(folder / "origin.log.gz", b'{"status":200}\n' * counter)
    seconds = float(durations.sum()) / 1000
    values, counts = np.unique(statuses[statuses != ""].astype(str), return_counts=True)
    trial = {
        "trial": number,
        "repetition": repetition,
        "door": door,
        "valid": True,
        "invalid_reasons": [],
        "started_at": _text(moment),
        "finished_at": _text(moment + timedelta(seconds=seconds)),
        "cold_proof": {"cold": True, "observed": ["MISS", "HIT", "MISS"], "origin_requests": 2},
        "requests_planned": plan.size,
        "requests_sent": plan.size,
        "requests_failed": failures,
        "distinct_pages": distinct,
        "counter": {"requests": counter, "reads": counter, "writes": 0},
        "counter_expected": distinct if cache_ms is not None else plan.size,
        "served_by_cache": hits,
        "cache_statuses": dict(zip(values.tolist(), counts.tolist(), strict=True)),
        "log_lines": {"edge": edge_lines, "origin": counter},
        "k6": {
            "exit_code": 0,
            "dropped_iterations": 0,
            "wall_s": round(seconds, 3),
            "generator_cpu_s": round(seconds * 0.21, 3),
            "generator_cpu_share": 0.21,
            "generator_limited": False,
        },
    }
    write_json(folder / "trial.json", trial)
    return seconds


def _manifest(repetitions, requests, pages, seed, plans, trials, finished):
    return {
        "schema_version": 1,
        "status": "complete",
        "experiment": {
            "id": "E1",
            "name": "read-hot",
            "title": "Many reads over few pages",
            "why": "The case that a cache is made for: everybody reads the same few pages.",
            "hypothesis": "The cache answers most requests and unburdens the origin.",
            "expected": "The origin sees every page once.",
            "study": {"section": "1.4.1", "tables": ["1.1", "1.2"], "figures": ["1.3"]},
            "pages": pages,
            "page_size_chars": 5000,
            "requests": requests,
            "pause_s": 0,
            "vus": 1,
            "connection_reuse": False,
            "doors": ["source", "nocache", "local", "cached"],
            "repetitions": repetitions,
            "ttl_s": 180,
        },
        "preset": "quick",
        "command": "stevec run read-hot --preset quick",
        "seed": seed,
        "plan_hash": f"sha256:{seed:064x}",
        "plans": plans,
        "started_at": _text(BEGIN),
        "finished_at": _text(finished),
        "trials_planned": trials,
        "git": {"commit": "abc1234abc1234abc1234abc1234abc1234abc12", "dirty": False},
        "versions": {"node": "20.20.0", "k6": "1.8.1", "nginx": "1.22.1", "mongod": "6.0.5"},
        "host": {
            "cpu_model": "A Processor",
            "cores": 2,
            "memory_bytes": 4_000_000_000,
            "kernel": "6.1.0",
            "load_average_1m": 0.3,
        },
        "config_hashes": {"edge.conf": f"sha256:{7:064x}"},
        "doors": DOORS,
    }


def _text(moment):
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
