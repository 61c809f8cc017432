"""Access logs in JSON: whose fields are known, and lines that are hostile."""

import json

import pytest

from stevec_predict import Scenario
from stevec_predict.trace import replay_trace
from stevec_predict.trace_json import parse_json
from stevec_predict.trace_lines import TraceError
from stevec_predict.trace_request import BadLineError, Kind

AT_S = 1_764_000_000
NGINX = {"msec": f"{AT_S}.250", "request": "GET /a?b=1 HTTP/1.1", "status": "200", "body_bytes_sent": "12"}
CADDY = {
    "ts": AT_S + 0.25,
    "request": {"method": "GET", "uri": "/a?b=1", "host": "Example.org"},
    "status": 200,
    "size": 12,
}
CLOUDFLARE = {
    "EdgeStartTimestamp": (AT_S * 1000 + 250) * 1_000_000,
    "ClientRequestMethod": "GET",
    "ClientRequestURI": "/a?b=1",
    "ClientRequestHost": "example.org",
    "EdgeResponseStatus": 200,
    "EdgeResponseBytes": 12,
}


@pytest.mark.parametrize("fields", [NGINX, CADDY, CLOUDFLARE])
def test_each_server_has_its_names(fields):
    request = parse_json(json.dumps(fields).encode())
    assert (request.kind, request.page, request.size_bytes) == (Kind.READ, b"/a?b=1", 12)
    assert request.time_s == pytest.approx(AT_S + 0.25, abs=1e-3)
    assert request.host == (b"" if fields is NGINX else b"example.org")


@pytest.mark.parametrize(
    "time", [AT_S, AT_S * 1000, AT_S * 10**6, AT_S * 10**9, "2025-11-24T16:00:00Z", "24/Nov/2025:17:00:00 +0100"]
)
def test_a_time_is_a_number_or_a_date(time):
    assert parse_json(json.dumps({**NGINX, "msec": time}).encode()).time_s == AT_S


def test_what_writes_is_an_edit_and_what_failed_is_neither():
    written = {**CLOUDFLARE, "ClientRequestMethod": "put"}
    assert parse_json(json.dumps(written).encode()).kind is Kind.EDIT
    assert parse_json(json.dumps({**written, "EdgeResponseStatus": 503}).encode()).kind is Kind.OTHER
    assert parse_json(json.dumps({**CLOUDFLARE, "EdgeResponseStatus": 302}).encode()).kind is Kind.OTHER


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[1]", b"null", b"[" * 60_000, b'{"msec": NaN}', b"{}", b'{"msec": -1, "status": 200}',
        json.dumps({**NGINX, "msec": "yesterday"}).encode(), json.dumps({**NGINX, "msec": [1]}).encode(),
        json.dumps({**NGINX, "status": "2000"}).encode(), json.dumps({**NGINX, "status": None}).encode(),
        json.dumps({**CLOUDFLARE, "ClientRequestURI": ""}).encode(), b"\xff{",
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_refused(line):
    with pytest.raises(BadLineError):
        parse_json(line)


def test_hosts_are_told_apart(tmp_path):
    hosts = ["a.example", "a.example", "b.example", "a.example"]
    lines = [
        json.dumps({**CLOUDFLARE, "EdgeStartTimestamp": AT_S + second, "ClientRequestHost": host})
        for second, host in enumerate(hosts)
    ]
    log = tmp_path / "log.json"
    log.write_text("\n".join(lines))
    scenario = Scenario(pages=1, rate_per_s=1, ttl_s=60)
    with pytest.raises(TraceError, match=r"a\.example and b\.example: choose one by --host"):
        replay_trace(str(log), scenario)
    _, facts = replay_trace(str(log), scenario, host="A.example")
    assert (facts.type, facts.reads, facts.other) == ("json", 3, 1)
