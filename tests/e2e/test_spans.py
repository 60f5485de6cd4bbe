# SPDX-License-Identifier: Apache-2.0
"""Spans of OpenTelemetry that programs send to stackcam serve, and that belong to requests of a film."""

import json
import re
import signal
import struct
import sys
import time
import urllib.error
import urllib.request

import pytest

import planted
from harness import PATIENCE, listening_port, needs_root, running, wait_until
from openapi import Api
from test_explain import EVENTS, film_has
from test_serve import serving

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


# -- the protocol, written again: protobuf's wire format, and OTLP's numbers of fields

def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def attribute(number, key, value):
    return field(number, field(1, key) + field(2, field(1 if isinstance(value, str) else 3, value)))


def span(trace, name, number, parent, start, end, kind=1, code=0, tid=0):
    number = number.to_bytes(8, "big")
    return field(2, field(1, bytes.fromhex(trace)) + field(2, number) + (field(4, parent.to_bytes(8, "big")) if parent else b"") +
                 field(5, name) + field(6, kind) + fixed64(7, start) + fixed64(8, end) + attribute(9, "thread.id", tid) +
                 attribute(9, "http.route", "/x") + field(15, field(3, code)))


def body(*spans, service="shop", host="web-1", pid=1234):
    resource = attribute(1, "service.name", service) + attribute(1, "process.pid", pid) + \
        (attribute(1, "host.name", host) if host else b"")
    return field(1, field(1, resource) + field(2, b"".join(spans)))


def send(serve, data, kind="application/x-protobuf", token="write"):
    headers = {"Content-Type": kind, "Authorization": f"Bearer {serve.made_token(token)}"}
    request = urllib.request.Request(f"{serve.url}/v1/traces", data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


@pytest.fixture(scope="module")
def serve(shared_lab, tmp_path_factory):
    """One that films next to nothing."""
    with serving(shared_lab, tmp_path_factory.mktemp("spans") / "store", "-F", "1") as serve:
        yield serve


@needs_root
def test_a_trace_is_found_as_a_tree(serve):
    now = time.time_ns()
    data = body(span(TRACE, "SELECT", 3, 2, now + 200, now + 300, kind=3), span(TRACE, "GET /orders", 1, 0, now, now + 1000, kind=2, code=2, tid=77),
                span(TRACE, "price", 2, 1, now + 100, now + 500))
    assert send(serve, data) == (200, "application/x-protobuf", b"")
    assert send(serve, data) == (200, "application/x-protobuf", b""), "a client sends again what was not confirmed"
    answer = serve.get("spans", trace=TRACE)
    Api().check_answer("GET", "/api/v1/spans", 200, "application/json", json.dumps(answer).encode())
    told = [(one["depth"], one["name"], one["kind"], int(one["start"]) - now, one["duration"]) for one in answer["spans"]]
    assert told == [(0, "GET /orders", "server", 0, 1000), (1, "price", "internal", 100, 400), (2, "SELECT", "client", 200, 100)]
    first = answer["spans"][0]
    assert (first["service"], first["host"], first["pid"], first["tid"], first["status"]) == ("shop", "web-1", 1234, 77, "error")
    assert (first["parent"], answer["spans"][1]["parent"]) == ("", first["id"]) and answer["kept"] == 3
    assert serve.get("spans", trace=TRACE, limit=2)["cut"]
    # of a process and a time
    at = now / 1e9
    assert len(serve.get("spans", pid=1234, host="web-1", **{"from": at - 5, "to": at + 5})["spans"]) == 3
    assert serve.get("spans", pid=1235)["spans"] == [] == serve.get("spans", trace="0" * 31 + "1")["spans"]
    assert serve.get("spans", pid=1234, **{"from": at - 50, "to": at - 5})["spans"] == []


@needs_root
def test_json_and_what_is_rejected(serve):
    now, trace = time.time_ns(), "a" * 32
    good = {"traceId": trace, "spanId": "00000000000000aa", "name": "\x1b[31m<b>\u202e", "kind": 2,
            "startTimeUnixNano": str(now), "endTimeUnixNano": now + 5}
    data = {"resourceSpans": [{"scopeSpans": [{"spans": [good, {**good, "spanId": "7"}, {**good, "endTimeUnixNano": "1"}]}]}]}
    status, kind, answer = send(serve, json.dumps(data).encode(), "application/json; charset=utf-8")
    partial = json.loads(answer)["partialSuccess"]
    assert (status, kind) == (200, "application/json") and partial["rejectedSpans"] == "2" and partial["errorMessage"], answer
    one, = serve.get("spans", trace=trace)["spans"]
    assert one["duration"] == 5 and one["host"] == "" and "<b>" in one["name"]
    rejected = send(serve, body(span("0" * 32, "x", 1, 0, now, now)))
    assert rejected[0] == 200 and rejected[2].startswith(field(1, field(1, 1))[:1]) and b"trace id" in rejected[2]


@needs_root
@pytest.mark.parametrize("data, kind, token, status", [
    (b"x", "application/x-protobuf", "write", 400), (b"[]", "application/json", "write", 400),
    (b"", "text/plain", "write", 415), (b"", "application/x-protobuf", "read", 403),
    (b'{"resourceSpans": [' + b"0," * (1 << 20) + b"0]}", "application/json", "write", 413),
], ids=["no message", "other json", "another type", "a token to read", "too much json"])
def test_what_is_refused(serve, data, kind, token, status):
    assert send(serve, data, kind, token)[0] == status


def ask(port, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read() == path.encode()


@needs_root
def test_spans_of_a_request_are_listed_with_its_explanation(lab, serve, tmp_path):
    """By the trace id that it carried; of one without, by its process and time. They are there after a restart of serve, too."""
    trace = "c0ffee" + "0" * 25 + "1"
    with running(sys.executable, planted.PROGRAMS / "slow_http.py", 0.05) as server:
        port = listening_port(server.pid)
        with lab.recording("-e", EVENTS[1] + ",requests", "-p", server.pid) as (recorder, film):
            assert wait_until(film.begun)
            assert wait_until(lambda: ask(port, "/warm") and film_has(lab, film, "/warm", 0))
            before = time.time_ns()
            assert ask(port, "/traced", traceparent=f"00-{trace}-00f067aa0ba902b7-01")
            after = time.time_ns()
            assert ask(port, "/other")
            assert wait_until(lambda: film_has(lab, film, "/other", 0))
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        send(serve, body(span(trace, "GET /traced", 1, 0, before, after, kind=2), span(trace, "price_order", 2, 1, before + 1000, after - 1000),
                         pid=server.pid, host=""))
    store = serve.tokens.parent
    text = lab.run("explain", "--request", trace, "--spans", store, film.path).stdout
    lines = text[text.index("Spans of its trace:"):].splitlines()
    assert len(lines) == 3, text
    assert re.fullmatch(r" +[\d.]+ [mun]?s (before|after ) +[\d.]+ ms  GET /traced of shop \(server\)", lines[1]), lines
    assert re.fullmatch(r" +[\d.]+ [mun]?s (before|after ) +[\d.]+ ms    price_order of shop \(internal\)", lines[2]), lines
    # this one began behind the others' end
    other = lab.run("explain", "--endpoint", "GET /other", "--spans", store, film.path).stdout
    assert "took" in other and "Spans" not in other, other
    whole = lab.run("explain", "-t", server.pid, "--spans", store, film.path).stdout
    assert "Spans of its process in that time:" in whole and "price_order" in whole, whole
    assert lab.run("explain", "--spans", tmp_path, film.path).returncode == 1
    assert lab.run("explain", "--spans", store, "--format", "json", film.path).returncode == 2
