"""Write batching: the study's rows beside ours, losses by signal, pages by strategy, which time of gathering pays."""

import json
from contextlib import closing

import pytest
from run_folder_fixture import build_run_folder, edit_json

from stevec_report.analysis import analyse
from stevec_report.blocks import bare
from stevec_report.experiments import write_batching
from stevec_report.record_counts import read_record_counts
from stevec_report.run_folder import read_run

PAGE = {"resource": "page", "framework": "none", "page_size_chars": 500}
KILL = {"signal": "SIGKILL", "after_requests": 50, "spread": 10}
CASES = {
    "koa-bulk": {"framework": "koa", "write_strategy": "bulk", "vus": 100},
    "fastify-get": {"framework": "fastify", "write_strategy": "none", "edit_ratio": 0, "vus": 100},
    "raw-sync": {"framework": "none", "write_strategy": "sync", "vus": 100},
    "sync-16": {"framework": "fastify", "write_strategy": "sync", "vus": 16},
    "bulk-16-1ms": {"framework": "fastify", "write_strategy": "bulk", "vus": 16, "gather_ms": 1},
    "bulk-16-5ms": {"framework": "fastify", "write_strategy": "bulk", "vus": 16, "gather_ms": 5},
    "kill-bulk": {"framework": "fastify", "write_strategy": "bulk", "vus": 100, "bound": "either", "record_stop": KILL},
    "page-sync-16": {**PAGE, "write_strategy": "sync", "vus": 16},
    "page-unsafe-write-behind-16": {**PAGE, "write_strategy": "unsafe-write-behind", "shared": "redis", "vus": 16},
    "page-unsafe-bulk-100": {**PAGE, "write_strategy": "unsafe-bulk", "vus": 100},
}
DATABASE_S = {
    **{"sync-16": 2.0, "bulk-16-1ms": 2.0, "bulk-16-5ms": 0.5},
    **{"page-sync-16": 2.0, "page-unsafe-write-behind-16": 0.5},
}
SHARED_S = {"page-unsafe-write-behind-16": 0.25}
LOST = (40, 10, 25, 0)
REPETITIONS = len(LOST)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    run = build_run_folder(
        tmp_path_factory.mktemp("results"),
        experiment="write-batching",
        repetitions=REPETITIONS,
        factors={"case": CASES},
        requests=100,
        edit_ratio=1,
        door="source",
        resource="record",
        page_size_chars=100,
        gather_ms=None,
        record_stop=None,
    )
    for trial in sorted((run / "trials").iterdir()):
        edit_json(trial / "trial.json", add_records)
    return run


@pytest.fixture(scope="module")
def analysis(folder):
    with closing(analyse(read_run(folder))) as opened:
        yield opened


def add_records(value):
    case, repetition = value["cell"]["case"], value["repetition"]
    killed = case == "kill-bulk"
    lost = LOST[repetition - 1] if killed else 0
    noise = 1 + 0.01 * ((value["trial"] * 7) % 5 - 2)
    value["records"] = {
        **{"acknowledged": 100, "stored": 100 - lost, "lost": lost, "stored_unacknowledged": 0},
        "extra_s": None if killed else 0.5 * repetition,
        "ops_per_s": None if killed else 50.0,
        "database_cpu_s": DATABASE_S.get(case, 1.0) * noise,
        "database_cpu_share": None if killed else 0.25,
        "service_cpu_s": None if killed else 0.5 * noise,
        "shared_cpu_s": SHARED_S.get(case),
        "stop": {"signal": "SIGKILL", "waiting": 30} if killed else None,
    }
    if killed:
        # The counter ended with the service, before the last requests.
        value["counter"] = {"requests": 90, "reads": 0, "writes": 90}
        value["counter_expected"] = None
    value["log_lines"] = {}


def table(analysis, name):
    return next(block for block in write_batching.blocks(analysis) if getattr(block, "name", "") == name)


def test_every_row_of_the_study_has_ours_below_it_where_it_was_measured(analysis):
    assert len(analysis.valid) == len(CASES) * REPETITIONS, [o.reasons for o in analysis.outcomes if o.reasons]
    found = table(analysis, "study-rows").rows
    study = [row for row in found if row["of"] == "study"]
    assert [row["row"] for row in study] == [str(number) for number in range(1, 16)]
    bulk, own = (row for row in found if (row["framework"], row["test"]) == ("Koa", "insert bulk"))
    assert [bulk[name] for name in ("http_s", "extra_s", "min_ms", "max_ms")] == [13.3, 1, 0.32, 85.47]
    assert [bulk[name].centre for name in ("http_per_s", "ops_per_s", "mean_ms", "p95_ms", "mongod_cpu_percent")] == [
        *(7515, 6993, 13.26, 24.28, 8)
    ]
    assert (own["of"], own["requests"], own["extra_s"]) == ("here", 100, 1.25)
    assert (own["ops_per_s"].centre, own["mongod_cpu_percent"].centre) == (pytest.approx(50), pytest.approx(25))
    assert own["min_ms"] <= own["mean_ms"].centre <= own["max_ms"]
    assert own["cpu_ms"].centre == pytest.approx(1000 * 1.5 / 100, rel=0.03)
    raw = next(row for row in found if (row["framework"], row["of"]) == ("raw", "here"))
    assert (raw["http_s"], raw["http_per_s"]) == (None, None)
    assert raw["extra_s"] > 0
    page = next(row for row in found if row["framework"] == "wiki, a page")
    assert (page["test"], page["extra_s"], page["ops_per_s"].centre) == ("insert unsafe-bulk", 1.25, pytest.approx(50))
    # Fastify stands behind the study's rows; fewer writers, and stopped services, are in other tables.
    assert [(row["framework"], row["test"]) for row in found if row["framework"] == "Fastify"] == [
        ("Fastify", "empty GET")
    ]


def test_a_page_that_is_stored_after_its_answer_has_its_extra_time_and_the_processor_time_of_redis(analysis):
    rows = {(row["what"], row["strategy"]): row for row in table(analysis, "writers").rows}
    behind = rows["page of the wiki", "unsafe-write-behind"]
    assert (behind["clients"], behind["extra_s"], behind["ops_per_s"].centre) == (16, 1.25, pytest.approx(50))
    assert behind["http_s"] > 0
    assert behind["cpu_ms"].centre == pytest.approx(1000 * 1.25 / 100, rel=0.03)
    assert rows["page of the wiki", "sync"]["cpu_ms"].centre == pytest.approx(1000 * 2.5 / 100, rel=0.03)
    # With 100 writers there is no sync to compare with.
    (row,) = table(analysis, "pages-against-sync").rows
    assert (row["strategy"], row["answers"], row["clients"]) == ("unsafe-write-behind", "before it is stored", 16)
    assert row["ratio"].centre == pytest.approx(0.5, rel=0.05)
    assert bare(row["verdict"]) == "less"


def test_losses_are_listed_trial_by_trial_with_an_interval(analysis):
    (row,) = table(analysis, "losses").rows
    assert (row["signal"], row["strategy"], row["stops"]) == ("SIGKILL", "bulk", REPETITIONS)
    assert (row["acknowledged"], row["lost"], row["each"]) == (400, 75, "40, 10, 25, 0")
    assert row["lost_mean"].centre == pytest.approx(18.75)
    assert row["lost_mean"].low == 0
    assert row["lost_share"].centre == pytest.approx(18.75)


def test_a_time_of_gathering_pays_only_where_a_record_takes_less_beyond_noise(analysis):
    rows = {row["gather_ms"]: row for row in table(analysis, "gathering").rows}
    assert bare(rows[5]["verdict"]) == "pays"
    assert rows[5]["ratio"].centre == pytest.approx(1.0 / 2.5, rel=0.05)
    assert bare(rows[1]["verdict"]) == "not shown to pay"
    words = next(block.text for block in write_batching.blocks(analysis) if hasattr(block, "text"))
    assert words == "The smallest time of gathering that pays: of bulk it is 5 ms."


def test_a_stopped_service_may_have_counted_less_but_not_more_than_was_sent(folder, analyse_run):
    trial = next(
        each for each in sorted((folder / "trials").iterdir())
        if json.loads((each / "trial.json").read_text())["cell"]["case"] == "kill-bulk"
    )  # fmt: skip
    before = (trial / "trial.json").read_bytes()
    try:
        edit_json(trial / "trial.json", lambda value: value["counter"].update(requests=101, writes=101))
        analysis = analyse_run(folder)
        (reasons,) = [o.reasons for o in analysis.outcomes if o.number == int(trial.name)]
        assert reasons == ("100 requests sent, but the counter says 101",)
    finally:
        (trial / "trial.json").write_bytes(before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lost": 101}, "101 lost of 100"),
        ({"stored": 50}, "0 lost of 100 acknowledged, and 50 stored"),
        ({"stop": {"signal": "SIGHUP", "waiting": 1}}, "neither null nor a known signal"),
        ({"acknowledged": -1}, "acknowledged"),
    ],
)
def test_counts_that_cannot_be_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        read_record_counts({"acknowledged": 100, "stored": 100, "lost": 0, "stop": None} | change)
