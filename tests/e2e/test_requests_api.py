# SPDX-License-Identifier: Apache-2.0
"""The API's answer about requests, of a real server's film: it says what the report says, and only that."""
import contextlib
import json
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest

import asking
from harness import free_port, needs_root, wait_until
from openapi import Api
from test_requests import CLIENT, PYTHON, nginx_server, python_server, serving  # noqa: F401 (a fixture)

pytestmark = needs_root

PATH = "/api/v1/requests"
SERVICES = "/api/v1/services"
EXPLAIN = "/api/v1/explain"


@pytest.fixture(scope="module")
def film(shared_lab):
    """40 requests to /fast and 4 to /slow/N of a server in Python."""
    port = free_port()
    code = PYTHON.replace("        body =", "        __import__('time').sleep('slow' in self.path and 0.05)\n        body =")
    server = subprocess.Popen([sys.executable, "-c", code, str(port)])
    try:
        assert wait_until(lambda: answers(port, "/ready"))
        with shared_lab.recording("-e", "requests,threads", "-p", server.pid) as (recorder, film):
            assert wait_until(lambda: answers(port, "/first") and film.path.exists() and count_of(shared_lab, film))
            for i in range(40):
                assert answers(port, "/fast")
                assert i % 10 or answers(port, f"/slow/{i}")
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=20) == 0, recorder.stderr.read()
        yield film
    finally:
        server.terminate()
        server.wait(timeout=20)


def answers(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.status == 200
    except OSError:
        return False


def count_of(lab, film):
    return json.loads(lab.run("report", film.path, "--format", "requests-json").stdout or '{"count": 0}')["count"]


@contextlib.contextmanager
def playing(lab, film):
    """A function that asks the API of a film, and checks the answer against its description."""
    api = Api()
    with asking.playing(lab.stackcam, film.path) as player:
        def ask(path=PATH, expected=200, **what):
            status, _, body = player.request(f"{path}?{urllib.parse.urlencode(what)}")
            assert status == expected, body
            api.check_answer("GET", path, status, "application/json", body)
            return json.loads(body)

        yield ask


@pytest.fixture(scope="module")
def asked(shared_lab, film):
    with playing(shared_lab, film) as ask:
        yield ask


@pytest.fixture(scope="module")
def told(shared_lab, film):
    return json.loads(shared_lab.run("report", film.path, "--format", "requests-json").stdout)


@pytest.mark.parametrize("limit", (3, 20, 0))
def test_a_report_for_people_says_how_many_it_leaves_out(shared_lab, film, told, limit):
    _, _, listed = shared_lab.run("report", film.path, "--format", "requests", "--limit", limit).stdout.partition("Slowest")
    rows = [row for row in listed.splitlines()[1:] if " served " in row]
    assert len(rows) == (limit or told["count"])
    left = re.search(r"(\d+) more; --limit 0 shows all", listed)
    assert (int(left[1]) if left else 0) == told["count"] - len(rows), listed


def test_it_says_what_the_report_says(asked, told):
    answer = asked(steps=10, limit=1000)
    assert answer["count"] == told["count"] >= 44
    report = {row["endpoint"]: row for row in told["endpoints"]}
    assert {"GET /fast", "GET /slow/*"} <= set(report)
    for row in answer["endpoints"]:
        assert {key: report[row["endpoint"]][key] for key in ("count", "failed", "open", "total", "p50", "p99")} == \
            {key: row[key] for key in ("count", "failed", "open", "total", "p50", "p99")}
    assert sorted(row["duration"] for row in answer["slowest"]) == sorted(row["duration"] for row in told["requests"])
    assert sum(answer["map"]) == answer["count"]
    for number, least in enumerate(answer["rows"]):
        most = (answer["rows"] + [2**63])[number + 1]
        within = sum(least <= row["duration"] < most for row in told["requests"])
        assert sum(answer["map"][number::len(answer["rows"])]) == within, (number, least, most)


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 13])
def test_the_slowest_are_the_slowest(asked, told, limit):
    slowest = sorted((row["duration"] for row in told["requests"]), reverse=True)[:limit]
    assert [row["duration"] for row in asked(limit=limit)["slowest"]] == slowest


def test_parts(asked):
    """An endpoint and a length choose what is listed and mapped; the table of endpoints stays."""
    answer = asked(endpoint="GET /slow/*", steps=5)
    assert len(answer["slowest"]) == sum(answer["map"]) == 4 and len(answer["endpoints"]) > 1
    assert all(re.fullmatch(r"/slow/\d+", row["path"]) and row["duration"] >= 50_000_000 for row in answer["slowest"])
    # the first one may take long, too
    assert len(asked(least=50_000_000, endpoint="GET /slow/*")["slowest"]) == 4
    assert not any(row["duration"] > 49_000_000 for row in asked(most=49_000_000, limit=1000)["slowest"])
    assert asked(role="made")["count"] == 0


def test_a_request_is_explained(shared_lab, asked, told, film):
    """As the verb explains it; what the film does not have is said."""
    slowest = max(told["requests"], key=lambda row: row["duration"])
    verb = json.loads(shared_lab.run("explain", "--format", "json", "--request", slowest["number"], film.path).stdout)
    one, = asked(EXPLAIN, request=slowest["number"])["requests"]
    assert one == verb["requests"][0]
    assert one["duration"] == sum(part["duration"] for part in one["parts"]) >= one["unexplained"]
    assert "no film of this time has such a request" in asked(EXPLAIN, 404, request="none")["error"]


@pytest.mark.parametrize("wrong", [{"role": "both"}, {"limit": 1001}, {"steps": -1}, {"least": "x"}])
def test_wrong_questions_are_refused(asked, wrong):
    assert asked(expected=400, **wrong)["error"]


def test_what_was_done_for_one_request(shared_lab, asked, told, film):
    """As the verb says it; the server's waits of 50 ms are those of its slow requests."""
    slowest = max((row for row in told["requests"] if row["endpoint"] == "GET /slow/*"), key=lambda row: row["duration"])
    verb = film.json("-e", "threads", "--request", slowest["number"])
    flame = asked("/api/v1/flame", event="threads", request=slowest["number"], functions=1)
    assert flame["sum"]["total"] == verb["event"]["total"] > 45_000_000
    # the verb leaves out what is 0
    assert flame["request"] == {"id": slowest["number"]} | verb.get("request", {"shared": 0, "not_known": 0, "not_linked": []})
    assert flame["nodes"]["total"][0] == flame["sum"]["total"] < asked("/api/v1/flame", event="threads")["sum"]["total"]
    rows = asked("/api/v1/functions", event="threads", request=slowest["number"])["functions"]
    assert {row["name"] for row in rows} <= {row["name"] for row in flame["functions"]}
    refused = asked("/api/v1/flame", 404, event="threads", request="none")
    assert "no film of this time has the request 'none'" in refused["error"]


def test_services_and_which_asked_which(lab, serving):  # noqa: F811
    """A proxy and the server behind it, which both are filmed; the client's side is, too."""
    behind, behind_port, _ = serving(python_server)
    proxy, port, _ = serving(nginx_server, behind=behind_port, what=(
        'proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";'))
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, 10, 5)
    with playing(lab, film) as ask:
        answer = ask(SERVICES)
        alone = ask(SERVICES, pid=proxy.pid)
    services, calls = answer["services"], {call["peer"]: call for call in answer["calls"]}
    call = calls[f"127.0.0.1:{behind_port}"]
    assert services[call["from"]]["service"] == "nginx" and call["count"] == 50 and not call["failed"]
    server = services[call["to"]]
    # tests that run beside this one may have servers of that name, too
    assert "python" in server["service"] and server["count"] >= 50, server
    assert min(services[call["from"]]["count"], services[call["from"]]["made"]) >= 50
    assert call["p50"] <= call["p99"] <= call["longest"] and not call["several"]
    # where the server's requests are left out, its address is all that is known
    call, = alone["calls"]
    assert call["to"] is None and call["peer"] == f"127.0.0.1:{behind_port}"
    proxying, = alone["services"]
    assert proxying["count"] == proxying["made"] == 50
