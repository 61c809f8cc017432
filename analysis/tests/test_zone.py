"""A run through a zone: points of presence, and Cloudflare's own count beside ours."""

import csv
import gzip
import json
import math

import pytest
from run_folder_fixture import build_run_folder, edit_json, edit_samples, find_trial, write_json
from test_report import read_page

from stevec_report import cloudflare_count, points_of_presence
from stevec_report.__main__ import main
from stevec_report.blocks import Table, Words

ZONE = {"kind": "cloudflare", "zone": "example.com"}
SENT = 60


@pytest.fixture
def zone_folder(tmp_path):
    """A small valid run through a zone: 2 repetitions at 3 doors; no logs, and a point of presence in each sample."""
    run = build_run_folder(
        tmp_path / "results", repetitions=2, requests=SENT, pages=10, factors={"door": ["source", "nocache", "cached"]}
    )
    edit_json(run / "manifest.json", lambda manifest: manifest.update(target=ZONE))
    for folder in (run / "trials").iterdir():
        for log in folder.glob("*.log.gz"):
            log.unlink()
        edit_json(folder / "trial.json", lambda trial: trial.update(log_lines={}))
        door = json.loads((folder / "trial.json").read_text())["door"]
        put_places(folder, lambda at, door=door: "" if door == "source" else "LJU")
    return run


def put_places(folder, place):
    """Set the column `pop` of a trial's samples.csv.gz to `place(number of the row)`; add the column if missing."""
    edit_samples(
        folder,
        lambda lines: [",".join([*line.split(",")[:10], place(at) if at else "pop"]) for at, line in enumerate(lines)],
    )


def count_as_cloudflare(run, *, interval=1, missed=0, silent=()):
    """Write cloudflare.json with counts of the requests sent, minus `missed` a trial; none for `silent` trials."""
    trials = []
    for folder in sorted((run / "trials").iterdir()):
        trial = json.loads((folder / "trial.json").read_text())
        if trial["door"] == "source":
            continue
        counts = dict(trial["cache_statuses"])
        for status in trial["cold_proof"]["observed"]:
            counts[status] = counts.get(status, 0) + 1
        counts = {status: requests for status, requests in counts.items() if requests}
        counts[max(counts, key=counts.get)] -= missed
        groups = [
            {
                "host": "wiki.example.com",
                "cache_status": status,
                "requests": requests,
                "edge_response_bytes": requests * 6000,
                "sample_interval": interval,
            }
            for status, requests in counts.items()
        ]
        trials.append(
            {"trial": trial["trial"], "door": trial["door"], "groups": [] if trial["trial"] in silent else groups}
        )
    value = {"schema_version": 1, "zone": "example.com", "fetched_at": "2026-11-21T11:00:00.000Z", "trials": trials}
    write_json(run / "cloudflare.json", value)


def tables_of(found):
    return {block.name: block for block in found if isinstance(block, Table)}


def words_of(found):
    return " ".join(block.text for block in found if isinstance(block, Words))


def test_a_run_without_places_says_nothing_of_them(run_folder, analyse_run):
    analysis = analyse_run(run_folder)
    assert points_of_presence.blocks(analysis) == []
    assert cloudflare_count.blocks(analysis) == []


def test_requests_are_shown_by_point_of_presence(zone_folder, analyse_run):
    analysis = analyse_run(zone_folder)
    assert [o.reasons for o in analysis.outcomes] == [()] * 6
    found = points_of_presence.blocks(analysis)
    rows = tables_of(found)["points-of-presence"].rows
    assert [(row["cell"], row["pop"], row["requests"], row["share"]) for row in rows] == [
        ("nocache", "LJU", 2 * SENT, 1),
        ("cached", "LJU", 2 * SENT, 1),
    ]
    assert words_of(found) == "No trial met more than one point of presence."


def test_a_trial_that_met_two_places_is_named_and_each_place_has_its_row(zone_folder, analyse_run):
    number, folder = find_trial(zone_folder, door="cached", repetition=1)
    put_places(folder, lambda at: "VIE" if at % 3 == 0 else "LJU")
    with gzip.open(folder / "samples.csv.gz", "rt") as file:
        own = list(csv.DictReader(file))
    found = points_of_presence.blocks(analyse_run(zone_folder))
    (row,) = [row for row in tables_of(found)["points-of-presence"].rows if row["pop"] == "VIE"]
    vienna = [line for line in own if line["pop"] == "VIE"]
    assert (row["requests"], row["trials"].trials) == (SENT // 3, (number,))
    assert row["served_share"] == sum(line["cache_status"] == "HIT" for line in vienna) / len(vienna)
    assert math.isclose(row["mean_ms"], sum(float(line["duration_ms"]) for line in vienna) / len(vienna))
    assert f"1 of 4 trials met more than one point of presence (trial {number}: LJU and VIE)" in words_of(found)


def test_the_same_count_on_both_sides_is_said_to_be_no_difference(zone_folder, analyse_run):
    count_as_cloudflare(zone_folder)
    found = cloudflare_count.blocks(analyse_run(zone_folder))
    sent = 4 * (SENT + 3)
    assert f"of the {sent} requests that 4 trials sent through it, it has counted {sent}, no difference" in words_of(
        found
    )
    assert "It sampled nothing" in words_of(found)
    by_status = tables_of(found)["cloudflare"].rows
    assert {row["requests_difference"].text for row in by_status} == {"no difference"}
    assert sum(row["requests_ours"] for row in by_status) == sent
    # Our samples have the size of each body, 5210 bytes here; Cloudflare counts 6000 bytes for each response.
    assert sum(row["bytes_ours"] for row in by_status) == 4 * SENT * 5210
    assert sum(row["bytes_cloudflare"] for row in by_status) == sent * 6000
    assert {row["means"] for row in tables_of(found)["cloudflare-trials"].rows} == {"the same"}


def test_a_difference_is_one_unless_cloudflare_sampled(zone_folder, analyse_run):
    count_as_cloudflare(zone_folder, missed=2)
    found = cloudflare_count.blocks(analyse_run(zone_folder))
    assert "−8. It sampled nothing: each request is counted, and a difference is one." in words_of(found)
    rows = tables_of(found)["cloudflare-trials"].rows
    assert {(row["requests_difference"].text, row["means"]) for row in rows} == {("−2", "not all counted yet, or lost")}

    count_as_cloudflare(zone_folder, missed=2, interval=10)
    found = cloudflare_count.blocks(analyse_run(zone_folder))
    assert "It sampled in 4 trials (one of up to 10.0 requests stands for all)" in words_of(found)
    assert "a difference proves nothing" in words_of(found)
    rows = tables_of(found)["cloudflare-trials"].rows
    assert {(row["requests_difference"].text, row["means"]) for row in rows} == {
        ("≈ −2", "an estimate: proves nothing")
    }


def test_what_cloudflare_does_not_know_yet_is_no_difference(zone_folder, analyse_run):
    number, _ = find_trial(zone_folder, door="cached", repetition=2)
    count_as_cloudflare(zone_folder, silent=(number,))
    found = cloudflare_count.blocks(analyse_run(zone_folder))
    assert "Of 1 trial it said nothing yet." in words_of(found)
    (row,) = [r for r in tables_of(found)["cloudflare-trials"].rows if r["trial"].value == number]
    assert (row["requests_cloudflare"], row["requests_difference"], row["means"]) == (None, None, "it says nothing yet")
    cached = [row for row in tables_of(found)["cloudflare"].rows if row["door"] == "cached"]
    assert sum(row["requests_ours"] for row in cached) == SENT + 3


def test_before_cloudflare_says_anything_there_is_nothing_to_compare(zone_folder, analyse_run):
    count_as_cloudflare(zone_folder, silent=range(1, 7))
    found = cloudflare_count.blocks(analyse_run(zone_folder))
    assert "Cloudflare's own count: of 4 trials it said nothing yet." in words_of(found)
    assert tables_of(found) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda value: value.update(schema_version=2), "schema version 2"),
        (lambda value: value.update(fetched_at="yesterday"), "yesterday"),
        (lambda value: value["trials"].append(value["trials"][0]), "a trial is there twice"),
        (lambda value: value["trials"][0].update(groups=[7]), "groups has an entry that is not an object"),
        (lambda value: value["trials"][0]["groups"][0].update(requests=-1), "requests is missing or not 0 to"),
        (lambda value: value["trials"][0]["groups"][0].update(sample_interval="1"), "sample_interval is missing"),
    ],
)
def test_a_file_that_is_something_else_is_named_and_the_rest_of_the_report_stands(
    zone_folder, analyse_run, change, words
):
    count_as_cloudflare(zone_folder)
    edit_json(zone_folder / "cloudflare.json", change)
    (block,) = cloudflare_count.blocks(analyse_run(zone_folder))
    assert "cannot be read" in block.text
    assert words in block.text


def test_the_page_tells_of_the_zone_and_of_what_it_has_not(zone_folder, without_pictures):
    (zone_folder / "cloudflare.json").unlink(missing_ok=True)
    edit_json(
        zone_folder / "manifest.json",
        lambda manifest: manifest.update(
            verification={
                "verified_at": "then",
                "checks": [{"id": "hit", "outcome": "ok", "saw": "MISS, then <b>HIT</b>"}],
            }
        ),
    )
    assert main([str(zone_folder)]) == 0
    text = read_page(zone_folder).text
    for words in (
        "The law of the counter holds in all 6 trials.",
        "The counter has no second witness here",
        "stevec cloudflare analytics",
        "ok: MISS, then <b>HIT</b>",
        "The doors are those of example.com",
    ):
        assert words in text
    assert "the origin has all of this machine" not in text

    count_as_cloudflare(zone_folder)
    assert main([str(zone_folder)]) == 0
    assert "Cloudflare's count beside ours." in read_page(zone_folder).text
    with (zone_folder / "report/tables/cloudflare.csv").open() as file:
        assert {row["requests_difference"] for row in csv.DictReader(file)} == {"0"}
