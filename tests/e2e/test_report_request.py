# SPDX-License-Identifier: Apache-2.0
"""The flame graph of one request, and of endpoints: against what the same film says of its thread and its time."""

import datetime
import json
import sys
import time

import pytest

from harness import go_built, needs_root
from test_requests import BURN_AND_NAP, BURNS_AND_NAPS, CLIENT, nginx_server, node_server, of_process, requests_of, \
    serving  # noqa: F401 (a fixture)

pytestmark = needs_root

# Between the film's clock and that of a test, which reads its two halves one after the other.
EDGE = 100_000

GO = """
package main

import (
	"net/http"
	"os"
	"time"
)

//go:noinline
func spin(until time.Time) (n int) {
	for time.Now().Before(until) {
		n++
	}
	return n
}

//go:noinline
func brew(n int) int { return spin(time.Now().Add(60*time.Millisecond)) + n }

//go:noinline
func weld(n int) int { return spin(time.Now().Add(60*time.Millisecond)) + n }

func main() {
	answer := func(path string, work func(int) int) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Millisecond)
			w.Write([]byte{byte('0' + work(1)%2)})
		})
	}
	answer("/brew/", brew)
	answer("/weld/", weld)
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""

AT_ONCE = """
import http.client, sys, threading
def work(kind, number):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    for i in range(4):
        connection.request("GET", f"/{kind}/{i}", headers={"X-Request-Id": f"{kind}-{number}-{i}"})
        connection.getresponse().read()
threads = [threading.Thread(target=work, args=(kind, number)) for number in range(3) for kind in ("brew", "weld")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def monotonic_start(answer):
    """When a film began, on the clock of the times of requests; right to less than EDGE."""
    def both():
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        return after - before, wall - before
    _, offset = min(both() for _ in range(50))
    head, _, rest = answer["film"]["start"].partition(".")
    seconds = int(datetime.datetime.fromisoformat(head + "+00:00").timestamp())
    return seconds * 1_000_000_000 + int(rest.rstrip("Z")) - offset


def of_thread(film, start, request, edge):
    """The film's own sum of what a request's thread did in its time, which is edge longer at both ends."""
    if request["duration"] + 2 * edge <= 0:
        return 0
    answer = film.json("-e", "on-cpu", "-t", str(request["tid"]), "--from", f"{request['start'] - start - edge}ns",
                       "--to", f"{request['start'] + request['duration'] - start + edge}ns")
    return answer["event"]["total"]


def sum_of(film, *options):
    return film.json(*options)["event"]["total"]


def test_the_sum_is_what_the_thread_did_in_that_time(lab, serving):
    process, port, _ = serving(lambda folder, port: [sys.executable, "-c", BURN_AND_NAP, str(port)])
    film = lab.record("-e", "requests,threads,on-cpu,off-cpu", "--sample-cpu", "-a", "--", sys.executable, "-c", BURNS_AND_NAPS,
                      port, hz=499)
    answer = requests_of(lab, film)
    served, start = of_process(answer, process), monotonic_start(answer)
    assert len(served) == 6
    burnt = {}
    for request in served:
        assert request["answered_by"] == request["tid"]
        asked = "--request", request["number"]
        total = sum_of(film, "-e", "on-cpu", *asked)
        assert of_thread(film, start, request, -EDGE) <= total <= of_thread(film, start, request, EDGE), request
        assert sum_of(film, "-e", "on-cpu", "--request", request["id"], "-p", str(process.pid)) == total
        # every format has the same sum
        assert sum(value for _, value in film.folded("-e", "on-cpu", *asked)) == total
        by_cpu = film.json("-e", "on-cpu", "--by", "cpu", *asked)["groups"]
        assert sum(group["total"] for group in by_cpu) == total and None not in [group["cpu"] for group in by_cpu]
        states = film.json("-e", "threads", "--by", "wait", *asked)
        assert sum(group["total"] for group in states["groups"]) == request["duration"]
        assert sum_of(film, "-e", "off-cpu", *asked) <= request["duration"]
        assert "request" not in states, states["request"]
        burnt[request["path"].split("/")[1]] = burnt.get(request["path"].split("/")[1], 0) + total
    # and endpoints have the sums of their requests
    by = film.json("-e", "on-cpu", "--by", "endpoint", "-p", str(process.pid))
    rows = {group["endpoint"]: group["total"] for group in by["groups"]}
    assert burnt["burn"] > 200_000_000 and rows["GET /burn/*"] == burnt["burn"], (rows, burnt)
    assert rows.get("GET /nap/*", 0) == burnt["nap"], (rows, burnt)
    assert sum(rows.values()) == sum_of(film, "-e", "on-cpu", "-p", str(process.pid))
    by_both = dict.fromkeys(rows, 0)
    for group in film.json("-e", "on-cpu", "--by", "cpu,endpoint", "-p", str(process.pid))["groups"]:
        assert isinstance(group["cpu"], int)
        by_both[group["endpoint"]] += group["total"]
    assert by_both == rows
    refused = film.report("-e", "off-cpu", "--by", "cpu,endpoint", check=False)
    assert refused.returncode == 1 and "off-cpu has no samples that were made on a CPU" in refused.stderr
    # as flame graphs, too
    for name in "svg", "html", "pprof", "speedscope", "tree":
        assert film.report("-e", "on-cpu", "--request", "burn-1", "--format", name, text=False).stdout
    unknown = lab.run("report", "--request", "x-9", film.path)
    assert unknown.returncode == 1
    assert "no request of the film has the id 'x-9'" in unknown.stderr
    assert "'stackcam report --format requests' lists" in unknown.stderr


@pytest.mark.parametrize("make, tasks", [(nginx_server, []), (node_server, ["asynchronous calls of Node.js"])])
def test_what_an_event_loop_did_for_others_is_said(lab, serving, make, tasks):
    process, port, _ = serving(make)
    film = lab.record("-e", "requests,threads,on-cpu", "-a", "--", sys.executable, CLIENT, port, 50, 40, hz=1999)
    own = ("-e", "on-cpu", "-p", str(process.pid))
    answer = requests_of(lab, film)
    assert len(of_process(answer, process)) == 2000
    by = film.json(*own, "--by", "endpoint")
    assert sum(group["total"] for group in by["groups"]) == sum_of(film, *own) > 0
    assert any(group["endpoint"].startswith("GET /") for group in by["groups"]), by["groups"]
    assert by.get("request", {"not_linked": []})["not_linked"] == tasks, by["request"]
    start = monotonic_start(answer)
    for request in sorted(of_process(answer, process), key=lambda r: -r["duration"])[:5]:
        one = film.json(*own, "--request", request["number"])
        assert of_thread(film, start, request, -EDGE) <= one["event"]["total"] <= of_thread(film, start, request, EDGE)
        assert "request" not in one or one["request"]["not_linked"] in (tasks, []), one["request"]


@pytest.fixture
def go_film(lab, serving, tmp_path):
    program = go_built(tmp_path, "server", GO)
    process, port, _ = serving(lambda _, port: [str(program), str(port)])

    def record(events):
        film = lab.record("-e", events, "-a", "--", sys.executable, "-c", AT_ONCE, port, hz=499)
        return process, film, of_process(requests_of(lab, film), process)
    return record


def test_a_request_of_go_has_what_its_goroutine_did(lab, go_film):
    """Six of them take turns on the machine's CPUs, and on the same threads."""
    process, film, served = go_film("requests,threads,on-cpu,go-lanes")
    assert len(served) == 24
    of, others = 0, 0
    for request in served:
        kind = request["id"].split("-")[0]
        other = "main.weld" if kind == "brew" else "main.brew"
        for stack, value in film.folded("-e", "on-cpu", "--request", request["number"]):
            of += value if f"main.{kind}" in stack else 0
            others += value if other in stack else 0
        # all of its time: it ran, and waited; its sleep is a wait of no thread
        lane = film.json("-e", "go-lanes", "--by", "wait", "--request", request["number"])
        assert sum(group["total"] for group in lane["groups"]) == request["duration"], lane["groups"]
        slept, = [group["total"] for group in lane["groups"] if group["wait"] == "[sleep]"]
        assert slept >= 5_000_000, lane["groups"]
        assert "request" not in lane, lane["request"]
    work = sum(value for stack, value in film.folded("-e", "on-cpu", "-p", str(process.pid))
               if "main.brew" in stack or "main.weld" in stack)
    assert of > 0.95 * work > 100_000_000 and others < 0.01 * work, (of, others, work)
    # and an endpoint has what its requests have
    for stack, value in film.folded("-e", "on-cpu", "--by", "endpoint", "-p", str(process.pid)):
        others += value if stack[0] == "GET /brew/*" and "main.weld" in stack else 0
        others += value if stack[0] == "GET /weld/*" and "main.brew" in stack else 0
    assert others < 0.02 * work, (others, work)
    table = film.report("-e", "on-cpu", "--request", served[0]["number"]).stdout
    assert "not linked" not in table and "shared:" not in table, table


def test_without_lanes_of_goroutines_it_is_said_that_others_may_be_in_it(lab, go_film):
    process, film, served = go_film("requests,threads,on-cpu,go-wait")
    own = ("-e", "threads", "--by", "wait", "--request", served[0]["number"])
    assert film.json(*own)["request"]["not_linked"] == ["goroutines"]
    assert "which of the goroutines a thread ran is not known" in film.report(*own).stdout
    refused = lab.run("report", "-e", "go-wait", "--by", "endpoint", film.path)
    assert refused.returncode != 0 and "does not say for which request a goroutine waited" in refused.stderr
    assert "go-lanes" in refused.stderr
