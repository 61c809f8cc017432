"""The command `stevec predict`: what it prints, what it refuses, and the cost."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from stevec_predict import Scenario, predict
from stevec_predict.__main__ import main
from stevec_predict.cost import PricesError, cost_per_million_views, read_prices

ROOT = Path(__file__).parents[2]
PRICES = ROOT / "analysis/prices/2026-11.json"


def test_the_table_names_the_model_and_what_it_assumes(capsys):
    command = "--pages 100 --rate 1000 --edits 0.05 --ttl 180 --requests 10000"
    assert main(command.split()) == 0
    text = capsys.readouterr().out
    for part in ("hit ratio", "98.9 %", "stale reads", "79.1 %", "closed form", "begins with empty caches"):
        assert part in text
    command = "--pages 100 --rate 10 --policy revalidate --flash 1000 --pops 3"
    assert main(command.split()) == 0
    text = capsys.readouterr().out
    assert "3 requests" in text and "Every read asks the origin" in text


def test_json_holds_the_numbers_and_the_file_of_prices(capsys):
    command = ["--pages", "100", "--rate", "10", "--edits", "0.01", "--json", "--flash", "500"]
    assert main([*command, "--prices", str(PRICES)]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["hit_ratio"] == predict(Scenario(pages=100, rate_per_s=10, edits=0.01)).hit_ratio
    assert value["cold_flash"]["uncollapsed"] == 26
    cost = value["cost_per_million_views"]
    assert cost["prices_file"] == str(PRICES) and cost["prices_date"] == "2026-11-21"
    assert "origin_hour" in cost["examples"] and "cdn_egress_per_gb" not in cost["examples"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("--pages 0 --rate 1", "pages is 0, and has to be a number from 1 to 1e+10"),
        ("--pages 1.5 --rate 1", "1.5 is no whole number"),
        ("--pages inf --rate 1", "--pages: inf is no whole number"),
        ("--pages many --rate 1", "--pages: many is no whole number"),
        ("--pages 9 --rate -1", "rate is -1, and has to be a number from"),
        ("--pages 9 --rate nan", "rate is nan, and has to be a number from"),
        ("--pages 9 --rate 1 --zipf -0.5", "zipf is -0.5, and has to be a number from 0"),
        ("--pages 9 --rate 1 --edits 1", "edits is 1, and has to be a number from 0 to 0.999"),
        ("--pages 9 --rate 1 --ttl 0", "give --policy revalidate, or no-store"),
        ("--pages 9 --rate 1 --ttl -3", "ttl is -3, and has to be a number from 0.001"),
        ("--pages 9 --rate 1 --policy lru", "invalid choice: 'lru' (choose from"),
        ("--pages 9 --rate 1 --policy ttl-swr", "needs swr"),
        ("--pages 9 --rate 1 --swr 5", "swr belongs to the policy ttl+swr"),
        ("--pages 9 --rate 1 --pop-shares 0.5,0.6", "add up to 1.1, not 1"),
        ("--pages 9 --rate 1 --pop-shares 1.5,-0.5", "each with a share above 0"),
        ("--pages 9 --rate 1 --tiered --pops 3 --duration 9", "leave out duration and requests"),
        ("--pages 9 --rate 1e6 --policy purge-url --ttl 5 --duration 300", "leave out duration and requests"),
        ("--pages 9 --rate 1 --duration 5 --requests 5", "give duration or requests, not both"),
        ("--pages 9 --rate 1 --pop-shares 0.5,x", "numbers with commas"),
        ("--pages 9 --rate 1 --pops 3 --pop-shares 1", "give one of them"),
        ("--pages 9 --rate 1 --pops 0", "pops are 1 to 10000"),
        ("--pages 9 --rate 0 --requests 5", "at a rate above 0"),
        ("--pages 9 --rate 1 --prices /nowhere.json", "cannot be read"),
        ("--pages 9 --rate 1 --flash -1", "flash is -1"),
        ("--rate 1", "required: --pages"),
        ("--pages 9", "required: --rate, or --trace"),
        ("--pages 9 --rate 1 --trace-type clf", "belong to trace"),
        ("--trace x --pages 9", "pages does not go with trace"),
        ("--trace x --pop-shares 0.5,0.5", "pop-shares does not go with trace"),
        ("--trace x --rate nan", "rate is nan"),
        ("--trace x --ttl -1", "ttl is -1"),
        ("--trace x --policy purge-tag", "which pages share a tag"),
        ("--trace /nowhere/x", "/nowhere/x cannot be read (No such file"),
        ("--trace /", "cannot be read (Is a directory"),
    ],
)
def test_wrong_use_is_told_in_two_lines(capsys, command, message):
    with pytest.raises(SystemExit) as stopped:
        main(command.split())
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 2


@pytest.mark.parametrize(
    "command", ["--pages 1e6 --rate 10 --zipf 0", "--pages 1 --rate 1e-9", "--pages 9 --rate 1 --pops 1"]
)
def test_what_looks_odd_and_is_not_is_answered(capsys, command):
    assert main(command.split()) == 0
    assert "hit ratio" in capsys.readouterr().out


def test_every_example_of_the_help_works(capsys, monkeypatch, tmp_path):
    from stevec_predict.__main__ import EXAMPLES

    (tmp_path / "analysis").symlink_to(ROOT / "analysis")
    (tmp_path / "trace.csv").write_text("0,1,read,512,a\n0,7,read,512,a\n", encoding="utf-8")
    entry = '::1 - - [01/Mar/2026:10:00:0{} +0000] "GET / HTTP/1.1" 200 5\n'
    with gzip.open(tmp_path / "access.log.gz", "wt") as file:
        file.writelines(entry.format(second) for second in range(3))
    monkeypatch.chdir(tmp_path)
    examples = [line.split()[2:] for line in EXAMPLES.splitlines() if line.startswith("  stevec predict")]
    assert len(examples) >= 4
    for example in examples:
        assert main(example) == 0, example


def test_what_the_documentation_shows_is_what_the_command_prints():
    text = (ROOT / "docs/prediction.md").read_text(encoding="utf-8")
    table = text.split("<!-- table -->\n")[1].split("<!-- end -->")[0]
    printed = subprocess.run(
        [sys.executable, "-m", "stevec_predict.reference_table"],
        cwd=ROOT / "analysis",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert table.strip() == printed.strip()


def test_a_million_views_cost_what_the_prices_say():
    prices = read_prices(PRICES)
    found = predict(Scenario(pages=1, rate_per_s=10, edits=0.1, policy="purge-url", ttl_s=1e6))
    rows = cost_per_million_views(found, prices, page_bytes=10_000, origin_capacity_per_s=100)
    edits = 1e6 / 9
    assert rows["source"]["origin_egress"] == pytest.approx(10 * 0.09)
    assert rows["source"]["origin_hours"] == pytest.approx((1e6 + edits) / 100 / 3600 * 0.02)
    assert rows["cached"]["cdn_egress"] == pytest.approx(10 * 0.085)
    assert rows["cached"]["cdn_purges"] == pytest.approx(edits * 0.005)
    assert rows["nocache"]["cdn_purges"] == rows["local"]["cdn_requests"] == 0
    assert rows["local"]["origin_egress"] == pytest.approx((1 - found.offload_bytes) * 10 * 0.09)
    for row in rows.values():
        assert row["total"] == pytest.approx(sum(value for name, value in row.items() if name != "total"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: value["prices"].pop("origin_hour"), "prices.origin_hour is missing"),
        (lambda value: value["prices"]["origin_hour"].update(price=-1), "origin_hour.price is not a number"),
        (
            lambda value: value["prices"]["origin_hour"].update(price=True),
            "origin_hour.price is not a number",
        ),
        (
            lambda value: value["prices"]["origin_hour"].update(source="javascript:0"),
            "neither an address nor null",
        ),
        (lambda value: value["prices"].update(cdn_hour={"price": 1}), "prices.cdn_hour is not known"),
        (lambda value: value.update(date="soon"), "Invalid isoformat"),
        (lambda value: value.update(currency=3), "currency"),
        (lambda value: value.pop("prices"), "no object"),
    ],
)
def test_a_file_of_prices_that_is_wrong_says_where(tmp_path, change, message):
    value = json.loads(PRICES.read_text(encoding="utf-8"))
    change(value)
    file = tmp_path / "prices.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(PricesError, match=message):
        read_prices(file)
