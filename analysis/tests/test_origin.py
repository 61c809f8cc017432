"""An origin on another machine: what a report shows of it, and what it must not claim."""

import gzip
import json
import re
from datetime import datetime

import pytest
from run_folder_fixture import build_run_folder, edit_json
from test_report import read_page

from stevec_report import origin
from stevec_report.__main__ import main
from stevec_report.experiments import overload, overload_open
from stevec_report.parts import list_blocks

BOARD = {
    "kind": "board",
    "emulated": True,
    "machine": "QEMU virt",
    "kernel": "Linux 6.12.48 armv7l",
    "cores": 2,
    "memory_bytes": 1_000_000_000,
    "image_sha256": "sha256:1",
}
HEADER = ",".join(origin.HEADER)


def put_on_board(run, facts=BOARD):
    edit_json(run / "manifest.json", lambda manifest: manifest.update(origin=facts))
    return run


def write_samples(run, number, rows, header=HEADER):
    path = run / f"trials/{number:04d}/origin.csv.gz"
    path.write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))
    return path


def a_second(run, number, at_s, cpu=0.5, temperature=""):
    began = json.loads((run / f"trials/{number:04d}/trial.json").read_text())["started_at"]
    time_us = int(datetime.fromisoformat(began).timestamp() * 1e6) + at_s * 1_000_000
    return f"{time_us},{cpu},250000000,{temperature},1000,2000"


def test_a_report_on_an_emulated_origin_says_so_before_anything_else_and_names_the_machine(run_folder):
    assert main([str(put_on_board(run_folder))]) == 0
    text = read_page(run_folder).text
    assert text.index("The origin was emulated.") < text.index("Results")
    assert "say nothing of a real board" in text
    assert "QEMU virt" in text
    assert "the origin has all of this machine" not in text


def test_a_report_on_a_local_origin_does_not_speak_of_emulation(reported_run):
    assert "emulated." not in read_page(reported_run).text


def test_no_report_on_an_emulated_origin_has_a_rate_or_a_capacity(overload_folder, without_pictures):
    assert main([str(put_on_board(overload_folder))]) == 0
    tables = sorted((overload_folder / "report/tables").glob("*.csv"))
    assert len(tables) > 3
    for table in tables:
        header = table.read_text().splitlines()[0].split(",")
        assert [key for key in header if re.search(r"per_(s|min)$", key)] in ([], ["study_background_per_min"]), (
            table.name
        )
    assert not (overload_folder / "report/tables/knee.csv").exists()
    assert not (overload_folder / "report/figures/saturation.svg").exists()
    assert "would claim what the origin can take" in read_page(overload_folder).text


def test_the_same_run_on_a_local_origin_has_them(overload_folder, analyse_run):
    names = {getattr(block, "name", "") for block in overload.blocks(analyse_run(overload_folder))}
    assert {"knee", "saturation"} <= names


def test_the_open_model_claims_nothing_of_an_emulated_origin(tmp_path, analyse_run):
    run = build_run_folder(
        tmp_path / "results",
        experiment="overload-open",
        repetitions=1,
        factors={"door": ["source"], "rate_per_s": [20, 100]},
        settings={"model": "open"},
    )
    assert [block.kind for block in overload_open.blocks(analyse_run(put_on_board(run)))] == ["note"]


def test_what_the_origin_was_busy_with_stands_beside_the_times_at_the_door(run_folder, analyse_run):
    write_samples(run_folder, 1, [a_second(run_folder, 1, second, cpu=0.25 * second) for second in (1, 2, 3)])
    write_samples(run_folder, 2, [a_second(run_folder, 2, 1, temperature="61.5")])
    analysis = analyse_run(run_folder)
    blocks = list_blocks(analysis)
    names = [getattr(block, "name", "") for block in blocks]
    assert names.index("origin-load") > names.index("door-times")
    figure = blocks[names.index("origin-load")].draw()
    assert [axes.get_title() for axes in figure.axes] == [
        "processors busy",
        "memory in use, MB",
        "sent, MB/s",
        "temperature, °C",
    ]
    busy = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == 3)
    assert busy.get_ydata() == pytest.approx([25, 50, 75])
    assert list(busy.get_xdata()[1:] - busy.get_xdata()[:-1]) == pytest.approx([1, 1])
    rows = blocks[names.index("origin-load") + 1].rows
    assert sum(row["seconds"] for row in rows) == 4
    assert max(row["temperature_max_c"] or 0 for row in rows) == 61.5
    assert max(row["cpu_max"] for row in rows) == 0.75


def test_a_run_that_did_not_look_has_no_such_figure(run_folder, analyse_run):
    assert "origin-load" not in [getattr(block, "name", "") for block in list_blocks(analyse_run(run_folder))]


@pytest.mark.parametrize(
    "rows, header",
    [
        (["1,0.5,1,,1,1"], "time,cpu"),
        (["1,0.5,1,,1"], HEADER),
        (["later,0.5,1,,1,1"], HEADER),
        (["1,nan,1,,1,1"], HEADER),
        (["1,1e99,1,,1,1"], HEADER),
        (["9" * 30 + ",0.5,1,,1,1"], HEADER),
        (["1," + "5" * 1000 + ",1,,1,1"], HEADER),
    ],
)
def test_what_is_no_sample_is_refused(run_folder, rows, header):
    with pytest.raises(ValueError):
        origin.read_samples(write_samples(run_folder, 1, rows, header))


def test_a_damaged_file_is_said_and_costs_no_trial(run_folder, analyse_run):
    path = write_samples(run_folder, 1, [a_second(run_folder, 1, 1)])
    path.write_bytes(path.read_bytes()[:-6])
    analysis = analyse_run(run_folder)
    assert len(analysis.valid) == len(analysis.outcomes)
    assert any("cannot be read in 1 trial (1)" in getattr(block, "text", "") for block in list_blocks(analysis))


def test_an_endless_file_is_not_read_to_its_end(run_folder, monkeypatch):
    monkeypatch.setattr(origin, "ROWS_MAX", 3)
    with pytest.raises(ValueError, match="more than 3 rows"):
        origin.read_samples(write_samples(run_folder, 1, ["1,0.5,1,,1,1"] * 4))
