"""Comparing several runs of each version, in real folders: sides, spread, gates and what is refused."""

import json

import numpy as np
import pytest
from compared_runs import build
from run_folder_fixture import edit_json

from stevec_compare.__main__ import main
from stevec_compare.errors import CompareError
from stevec_compare.folders import compare

CACHED = "door=cached"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs each of two versions with a spread between runs of 3 %; the second version's cache is 40 % slower."""
    rng = np.random.default_rng(11)
    parent = tmp_path_factory.mktemp("results")

    def side(name, factor):
        return [
            build(
                parent / f"{name}{number}",
                seed=number,
                slower={door: rng.lognormal(0, 0.03) * (factor if door == "cached" else 1) for door in doors},
                repetitions=3,
                requests=40,
                git={"commit": name * 40},
            )
            for number in (1, 2, 3)
        ]

    doors = ("source", "cached")
    return {"a": side("a", 1), "b": side("b", 1.4)}


def command(runs, *options):
    return [*map(str, runs["a"]), "--", *map(str, runs["b"]), *options]


def test_several_runs_of_each_version_show_what_is_real(tmp_path, runs, capsys):
    gate = tmp_path / "gate.json"
    gate.write_text(json.dumps({"mean_ratio_max": 1.2, "failures_max": 0}), encoding="utf-8")
    assert main(command(runs, "--gate", str(gate), "--svg", str(tmp_path / "a.svg"))) == 1
    said = capsys.readouterr().out
    assert "the unit is the run" in said and "differences are real." in said
    assert "gate violated  mean_ratio_max at door=cached" in said and "would be found in 80 % of cases" in said
    assert "filled: real" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    found = compare(runs["a"], runs["b"]).comparison
    cached, source = (found.differences["mean_ms"][cell] for cell in (CACHED, "door=source"))
    assert cached.real and cached.low < 1.4 < cached.high and cached.freedom == 4
    assert not source.real and source.low < 1 < source.high
    assert 1 < cached.detectable < 1.4


def test_an_earlier_comparison_is_the_spread_of_a_later_one(tmp_path, runs, capsys):
    assert main(command(runs, "--json")) == 0
    earlier = tmp_path / "earlier.json"
    earlier.write_text(capsys.readouterr().out, encoding="utf-8")
    alone = compare(runs["a"][:1], runs["b"][:1]).comparison
    stored = compare(runs["a"][:1], runs["b"][:1], [earlier]).comparison
    assert not alone.differences["mean_ms"][CACHED].real
    found = stored.differences["mean_ms"][CACHED]
    # As many degrees of freedom as the six runs of two versions have.
    assert found.real and found.freedom == 4 and stored.unit == "run"
    # The folder of the same runs of one version, which has two.
    folder = compare(runs["a"][:1], runs["b"][:1], runs["a"]).comparison
    assert folder.differences["mean_ms"][CACHED].freedom == 2


def test_a_run_of_one_side_is_compared_with_the_spread_of_the_other(runs):
    found = compare(runs["a"], runs["b"][:1]).comparison
    assert found.unit == "run" and found.differences["mean_ms"][CACHED].freedom == 2


def test_what_is_no_side_or_no_spread_is_refused(tmp_path, runs):
    with pytest.raises(CompareError, match="named more than once"):
        compare([runs["a"][0], runs["a"][0]], runs["b"])
    with pytest.raises(CompareError, match="needs three runs"):
        compare(runs["a"][:1], runs["b"][:1], runs["a"][:2])
    with pytest.raises(CompareError, match="neither a run, nor"):
        compare(runs["a"][:1], runs["b"][:1], [tmp_path])
    (tmp_path / "bad.json").write_text('{"runs": {"first": [1], "second": []}}', encoding="utf-8")
    with pytest.raises(CompareError, match="no JSON of `stevec compare"):
        compare(runs["a"][:1], runs["b"][:1], [tmp_path / "bad.json"])


def test_a_side_of_two_versions_needs_force(runs):
    with pytest.raises(CompareError, match="on one side, the commit differs"):
        compare([runs["a"][0], runs["b"][0]], runs["b"][1:])


def test_a_spread_of_another_machine_needs_force(tmp_path, runs):
    others = [build(tmp_path / f"c{n}", seed=n, repetitions=1, requests=20) for n in (1, 2, 3)]
    for folder in others:
        edit_json(folder / "manifest.json", lambda value: value["host"].update(cpu_model="Another"))
    with pytest.raises(CompareError, match="for the spread, the processor differs"):
        compare(runs["a"][:1], runs["b"][:1], [tmp_path])
    forced = compare(runs["a"][:1], runs["b"][:1], [tmp_path], force=True).comparison
    assert any("for the spread, the processor differs" in text for text in forced.warnings)
    edit_json(others[0] / "manifest.json", lambda value: value["experiment"]["settings"].update(pages=99))
    with pytest.raises(CompareError, match="of other measurements: the settings differ"):
        compare(runs["a"][:1], runs["b"][:1], [tmp_path], force=True)


@pytest.mark.parametrize("arguments", [[], ["a"], ["a", "b", "c"], ["--", "b"], ["a", "--"]])
def test_without_two_sides_the_command_is_wrongly_used(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2 and "A1 A2 … -- B1 B2 …" in capsys.readouterr().err
