"""The CSV of `make bench-cost` becomes points with intervals, and an SVG."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import cost

HEADER = "axis,value,trial,operation,connections,requests,rate_per_s,wiki_cpu_us,mongod_cpu_us,generator_cpu_share"


def write(path, *rows):
    path.write_text("\n".join(["# the machine", HEADER, *rows, ""]), encoding="utf-8")
    return path


def test_the_trials_of_a_point_are_one_interval_of_wiki_and_mongod_together(tmp_path):
    csv = write(
        tmp_path / "cost.csv",
        "pages,1000,1,view,16,9000,4500,100,60,0.5",
        "pages,100,1,view,16,9000,4500,50,50,0.5",
        "pages,1000,2,view,16,9000,4500,150,100,0.5",
        "bytes,1000,1,save,1,200,90,900,100,0.1",
    )
    points = cost.read_points(csv)
    view = points["pages", "view"]
    assert list(view) == [100, 1000]
    assert view[1000].centre == pytest.approx(200)  # √(160 · 250)
    assert view[1000].low < 160 < 250 < view[1000].high
    assert view[100].low is None
    assert points["bytes", "save"][1000].centre == pytest.approx(1000)


def test_it_draws_the_same_picture_twice_and_says_what_each_point_is(tmp_path, capsys):
    rows = [f"pages,{n},{t},view,16,9,9,{n + t},5,0.5" for n in (100, 1000) for t in (1, 2, 3)]
    csv = write(tmp_path / "cost.csv", *rows, "bytes,1000,1,not modified,16,9,9,70,20,0.5")
    assert cost.main([str(csv), "--output", str(tmp_path / "a.svg")]) == 0
    assert cost.main([str(csv), "--output", str(tmp_path / "b.svg")]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "pages     1000  view" in capsys.readouterr().out


def test_a_file_without_trials_or_with_other_columns_is_refused(tmp_path, capsys):
    (tmp_path / "other.csv").write_text("axis,value\npages,1\n", encoding="utf-8")
    for csv, why in ((write(tmp_path / "empty.csv"), "no trial"), (tmp_path / "other.csv", "no column")):
        with pytest.raises(SystemExit) as ended:
            cost.main([str(csv)])
        assert ended.value.code == 2
        assert why in capsys.readouterr().err
