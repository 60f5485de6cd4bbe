# SPDX-License-Identifier: Apache-2.0
"""Tokens of teams: no route of serve shows one what is of another service; and the audit of who asked what."""

import hashlib
import json
import shutil
import signal
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_serve import serving

ADMIN, TEAM, SLOW = "admin-admin-admin", "the-token-of-a-team", "slow-slow-slow-slow"
SPEC = Path(__file__).resolve().parents[2] / "doc" / "openapi.json"
SECRET, SHOP = "secretd", "shopd"

# what cannot be limited to some services
REFUSED = {"/api/v1/explain", "/api/v1/losses", "/api/v1/timeline/machine", "/mcp"}
QUERIER = "/querier.v1.QuerierService/"
EVENTS = "on-cpu,off-cpu,threads"


@pytest.fixture(scope="module")
def film(lab_of_module, tmp_path_factory):
    """Two programs that wake each other through a pipe, each with its name in its file's path."""
    folder = tmp_path_factory.mktemp("programs")
    for name, of in ((SECRET, "yes"), (SHOP, "cat")):
        shutil.copy(shutil.which(of), folder / name)
    path = folder / "a.film"
    done = lab_of_module.run("record", "-e", EVENTS, "-o", path, "--", "sh", "-c",
                             f"timeout 1 {folder}/{SECRET} | {folder}/{SHOP} > /dev/null")
    assert path.exists(), done.stderr
    return path


@pytest.fixture(scope="module")
def lab_of_module(places, tmp_path_factory):
    from harness import Lab
    return Lab(*places, tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def served(lab_of_module, film, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    tokens = folder / "tokens"
    tokens.touch(mode=0o600)
    digest = hashlib.sha256(TEAM.encode()).hexdigest()
    tokens.write_text(f"{ADMIN} admin name=boss\nsha256:{digest} read services={SHOP[:-1]}*,none name=shop-team\n"
                      f"{SLOW} read questions=2 name=slow\n")
    rules = [word for name in (SECRET, SHOP) for word in ("--service", f"exe=*/{name} {name}")]
    with serving(lab_of_module, folder / "store", "--no-record", "--token-file", tokens, *rules, "--audit",
                 folder / "audit", "--user-header", "X-User", "--trusted-proxy", "127.0.0.1") as serve:
        serve.audit = folder / "audit"
        status, answer = ask(serve, "/api/v1/films", ADMIN, film.read_bytes(), {"X-Stackcam-Host": "host1"})
        assert status == 200, answer
        for service in (SECRET, SHOP):
            status, answer = ask(serve, "/api/v1/marks", ADMIN, f"service={service}&text=of+{service}".encode())
            assert status == 200, answer
            status, answer = ask(serve, "/v1/traces", ADMIN, span_of(service), {"Content-Type": "application/json"})
            assert status == 200, answer
        assert wait_until(lambda: SECRET in ask(serve, "/api/v1/series", ADMIN)[1])
        yield serve


def ask(serve, path, token, body=None, headers=None):
    """(status, text)"""
    request = urllib.request.Request(serve.url + path, data=body, headers={"Authorization": f"Bearer {token}", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")


def span_of(service):
    """Of a trace that goes through both."""
    now = time.time_ns()
    span = {"traceId": "ab" * 16, "spanId": hashlib.sha256(service.encode()).hexdigest()[:16], "name": f"of {service}",
            "startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1000)}
    return json.dumps({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"spans": [span]}]}]}).encode()


def lanes_of(serve, name):
    """Of a service: a program that the recorder met as it began may still be called what its thread was before."""
    answer = json.loads(ask(serve, "/api/v1/timeline/lanes", ADMIN)[1])
    base = int(answer["base"])
    return [(lane["pid"], lane["tid"], base + (lane["first"] + lane["last"]) // 2, base, base + answer["length"])
            for lane in answer["lanes"] if lane["service"] == name]


def questions(serve):
    """(path, query) of each route that answers, so that an answer has names."""
    pid, tid, at, start, end = lanes_of(serve, SECRET)[0]
    shop, its, _, _, _ = lanes_of(serve, SHOP)[0]
    whole = {"from": f"{start / 1e9:.6f}", "to": f"{end / 1e9:.6f}"}
    special = {
        "/api/v1/timeline/slices": {**whole, "lanes": f"{pid}.{tid},{shop}.{its}", "pixel": 1000000},
        "/api/v1/timeline/cpus": {**whole, "pixel": 1000000}, "/api/v1/timeline/devices": {**whole, "pixel": 1000000},
        "/api/v1/timeline/slice": {"lane_pid": pid, "lane_tid": tid, "at": f"{at // 10**9}.{at % 10**9:09}"},
        "/api/v1/sandwich": {"name": "read"}, "/api/v1/search": {"text": "d"}, "/api/v1/places": {"name": "read"},
        "/api/v1/export": {"format": "folded", "by": "process"}, "/api/v1/flame": {"by": "process,thread"},
        "/api/v1/functions": {"by": "process"}, "/api/v1/timeline": {"group": "service"}, "/api/v1/marks": {"from": "-1h"},
        "/api/v1/spans": {"trace": "ab" * 16, "limit": 1},
        "/api/v1/diff": {"by": "process", **{f"before_{key}": value for key, value in whole.items()}},
    }
    for path, methods in json.loads(SPEC.read_text())["paths"].items():
        if "get" in methods:
            yield path, special.get(path, {}), None
        elif path == "/mcp":
            yield path, {}, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
        elif path.startswith(QUERIER):
            yield path, {}, json.dumps({
                "profileTypeID": profile_type(serve), "labelSelector": "{}", "name": "service_name",
                "start": start // 10**6 - 60000, "end": end // 10**6 + 60000, "step": 15,
                "groupBy": ["service_name"]}).encode()


def profile_type(serve):
    status, answer = ask(serve, QUERIER + "ProfileTypes", ADMIN, b"{}", {"Content-Type": "application/json"})
    assert status == 200, answer
    return next(one["ID"] for one in json.loads(answer)["profileTypes"] if "cpu" in one["ID"])


@needs_root
def test_no_route_shows_another_service(served):
    """Of each route that the description has: with the token of all it shows the secret one, with the team's it does not."""
    shown, hidden, refused, own = set(), set(), set(), set()
    for path, query, body in questions(served):
        for more in ({}, {"event": "threads"}) if body is None else ({},):
            address = f"{path}?{urllib.parse.urlencode({**query, **more})}" if query or more else path
            headers = {"Content-Type": "application/json"} if body else {}
            _, everything = ask(served, address, ADMIN, body, headers)
            status, answer = ask(served, address, TEAM, body, headers)
            shown |= {path} if SECRET in everything else set()
            own |= {path} if SHOP in answer else set()
            assert SECRET not in answer, (address, answer)
            if status == 403:
                assert "some services only" in answer, answer
                refused.add(path)
            else:
                hidden.add(path)
    assert refused == REFUSED
    # the test shows something only of what has the names
    wanted = {f"/api/v1/{name}" for name in (
        "series", "flame", "functions", "search", "diff", "export", "processes", "marks", "spans", "timeline", "timeline/lanes", "timeline/cpus",
    )} | {QUERIER + name for name in ("LabelValues", "Series", "SelectMergeStacktraces", "SelectSeries")}
    assert wanted <= shown & hidden & own, (wanted - shown, wanted - hidden, wanted - own)
    slice_of_shop = dict(zip(("lane_pid", "lane_tid", "at"), lanes_of(served, SHOP)[0]))
    slice_of_shop["at"] = f"{slice_of_shop['at'] // 10**9}.{slice_of_shop['at'] % 10**9:09}"
    status, answer = ask(served, "/api/v1/timeline/slice?" + urllib.parse.urlencode(slice_of_shop), TEAM)
    assert status == 200 and json.loads(answer)["slice"], answer


@needs_root
def test_what_a_team_asks_for_directly(served):
    flame = json.loads(ask(served, "/api/v1/flame", TEAM)[1])
    assert 0 < flame["sum"]["total"] < json.loads(ask(served, "/api/v1/flame", ADMIN)[1])["sum"]["total"]
    assert flame["sum"]["total"] == json.loads(ask(served, f"/api/v1/flame?service={SHOP}", ADMIN)[1])["sum"]["total"]
    assert json.loads(ask(served, f"/api/v1/flame?service={SECRET}", TEAM)[1])["sum"]["total"] == 0
    pid, tid, at, _, _ = lanes_of(served, SECRET)[0]
    query = {"lane_pid": pid, "lane_tid": tid, "at": f"{at // 10**9}.{at % 10**9:09}"}
    assert json.loads(ask(served, "/api/v1/timeline/slice?" + urllib.parse.urlencode(query), TEAM)[1])["slice"] is None
    assert json.loads(ask(served, "/api/v1/timeline/slice?" + urllib.parse.urlencode(query), ADMIN)[1])["slice"]
    assert ask(served, "/api/v1/flame?event=off-cpu&by=waker", TEAM)[0] == 403
    assert ask(served, "/api/v1/flame?event=off-cpu&by=waker", ADMIN)[0] == 200
    assert ask(served, "/api/v1/films", TEAM, b"x", {"X-Stackcam-Host": "host1"})[0] == 403
    assert ask(served, "/api/v1/keep", TEAM, b"")[0] == 403


@needs_root
def test_questions_of_a_minute(served):
    assert [ask(served, "/api/v1/series", SLOW)[0] for _ in range(3)] == [200, 200, 429]
    status, answer = ask(served, "/api/v1/status", SLOW)
    assert status == 200, answer


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@needs_root
def test_audit(served):
    hostile = 'eve","token":"boss\u2028'
    ask(served, f"/api/v1/flame?service={SHOP}&from=1700000000&to=1700000060", TEAM, None, {"X-User": hostile.encode().decode("latin-1")})
    ask(served, "/api/v1/explain", TEAM)
    ask(served, "/api/v1/series", "wrong-wrong-wrong")
    ask(served, f"{QUERIER}SelectMergeStacktraces", TEAM, json.dumps(
        {"profileTypeID": profile_type(served), "labelSelector": f'{{service_name="{SHOP}"}}'}).encode(),
        {"Content-Type": "application/json"})
    assert served.audit.stat().st_mode & 0o777 == 0o600

    def found(**wanted):
        return [line for line in lines_of(served.audit) if all(line[key] == value for key, value in wanted.items())]

    assert wait_until(lambda: found(route=f"{QUERIER}SelectMergeStacktraces", service=SHOP, token="shop-team", status=200))
    line, = found(user=hostile)
    assert line["route"] == "/api/v1/flame" and line["token"] == "shop-team" and line["service"] == SHOP
    assert line["from"] == "2023-11-14T22:13:20.000Z" and line["to"] == "2023-11-14T22:14:20.000Z"
    assert line["status"] == 200 and line["bytes"] > 0 and line["ms"] > 0 and line["address"] == "127.0.0.1"
    assert found(route="/api/v1/explain", status=403, token="shop-team")
    assert found(route="/api/v1/series", status=401, token="")
    assert not any(TEAM in line or ADMIN in line for line in served.audit.read_text().splitlines())
    # as logrotate does, and a machine that went down within a line
    served.audit.rename(served.audit.with_suffix(".1"))
    served.audit.write_text('{"time":')
    served.process.send_signal(signal.SIGHUP)
    served.hear("the configuration was read again|nothing is changed")
    ask(served, "/api/v1/series", ADMIN)
    assert wait_until(lambda: served.audit.read_text().endswith("}\n"))
    torn, line = served.audit.read_text().splitlines()
    assert torn == '{"time":' and json.loads(line)["token"] == "boss"
