# SPDX-License-Identifier: Apache-2.0
"""The path of a request along the goroutines that its handler waits for: servers of Go with a planted cause."""

import contextlib

import pytest

from harness import free_port, go_built, needs_root, running, wait_until
from test_cases import filming, slow_beside
from test_explain import ask, explained, film_has, share

pytestmark = needs_root

GO = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

const ms = time.Millisecond

//go:noinline
func nap(d time.Duration) { time.Sleep(d) }

// Of the process, in which nothing else computes for long.
func cpuTime() time.Duration {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

//go:noinline
func crunch(d time.Duration) (n int) {
	for end := cpuTime() + d; cpuTime() < end; {
		for i := 0; i < 1<<16; i++ {
			n += n ^ i
		}
	}
	return n
}

var stock sync.Mutex

//go:noinline
func writeReport() {
	stock.Lock()
	nap(200 * ms)
	stock.Unlock()
}

//go:noinline
func takeOrder() {
	stock.Lock()
	stock.Unlock()
}

type job struct{ done chan int }

//go:noinline
func worker(jobs chan job) {
	for j := range jobs {
		j.done <- crunch(120 * ms)
	}
}

//go:noinline
func askWorker(jobs chan job) {
	j := job{make(chan int)}
	jobs <- j
	<-j.done
}

//go:noinline
func gather() {
	var all sync.WaitGroup
	for _, d := range []time.Duration{20, 150, 60} {
		all.Add(1)
		go func(d time.Duration) {
			defer all.Done()
			nap(d * ms)
		}(d)
	}
	all.Wait()
}

//go:noinline
func fetch(from string) {
	answer, err := http.DefaultClient.Get(from)
	if err == nil {
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}

//go:noinline
func spread(from ...string) {
	var all sync.WaitGroup
	for _, one := range from {
		all.Add(1)
		go func(one string) {
			defer all.Done()
			fetch(one)
		}(one)
	}
	all.Wait()
}

func main() {
	jobs := make(chan job)
	go worker(jobs)
	say := func(path string, f func()) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { f(); fmt.Fprint(w, "ok") })
	}
	say("/report", writeReport)
	say("/order/", takeOrder)
	say("/job/", func() { askWorker(jobs) })
	say("/gather/", gather)
	say("/slow/", func() { nap(150 * ms) })
	behind := "http://127.0.0.1:" + os.Args[2]
	say("/fetch/", func() { fetch(behind + "/slow/1") })
	say("/spread/", func() { spread(behind+"/order/1", behind+"/gather/1", behind+"/slow/1") })
	go http.ListenAndServe("127.0.0.1:"+os.Args[2], nil)
	fmt.Println("ready")
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""

ASKED = ("job", "gather", "fetch", "spread")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    program = go_built(tmp_path_factory.mktemp("go"), "orders", GO)
    with running(program, *(ports := (free_port(), free_port()))) as process:
        def is_served():
            with contextlib.suppress(OSError):
                return all(ask(port, "/order/0", "") for port in ports)
        assert wait_until(is_served)
        yield process, ports[0]


@pytest.fixture(scope="module")
def film(server, shared_lab):
    process, port = server

    def film_has_all():
        for name in ASKED:
            ask(port, f"/{name}/1", f"{name}-1")
        return all(film_has(shared_lab, film, f"/{name}/1") for name in ASKED)
    with filming(shared_lab, "-e", "requests,threads,on-cpu,go-lanes", "-p", process.pid, "-F", "499") as film:
        assert wait_until(lambda: slow_beside(shared_lab, film, port, ["/report", "/order/1"], 100_000_000))
        assert wait_until(film_has_all)
    return film


def by_name(lab, film, name):
    """The explanation of the slowest request of an endpoint: it was there when its goroutines were watched."""
    request = explained(lab, film, "--endpoint", f"GET /{name}/*")[0]
    assert request["comm"].startswith("goroutine ") and request["not_linked"] == [], request
    assert request["at_once"] is None, request
    cause = request["parts"][0]
    assert cause["thread"]["tid"] == request["tid"], cause
    assert share(cause, request) > 0.8, request["parts"]
    return request, cause


def check_end(cause, of, kind, function):
    """Another goroutine ended the wait, and most of that time was of this kind."""
    assert cause["end"] == "thread" and cause["waker"]["comm"] == f"goroutine {cause['waker']['tid']}", cause
    assert f"main.{of}" in cause["stack"], cause["stack"]
    part = cause["parts"][0]
    assert part["kind"] == kind and share(part, cause) > 0.5, cause["parts"]
    assert part["thread"] == cause["waker"], part
    assert function in part["words"], part["words"]
    return part


def test_a_mutex_leads_to_the_goroutine_that_holds_it(shared_lab, film):
    request, cause = by_name(shared_lab, film, "order")
    assert cause["object"] == "sync.Mutex" and cause["words"].startswith("waiting for sync.Mutex in main.takeOrder"), cause
    part = check_end(cause, "takeOrder", "sleep", "sleeping in main.nap")
    assert "main.writeReport" in part["stack"], part
    text = shared_lab.run("explain", "--endpoint", "GET /order/*", film.path).stdout
    assert f"in goroutine {request['tid']} of orders, endpoint GET /order/*" in text, text
    # since 1.20 Go says that it is a lock
    assert any(f"{words} goroutine {cause['waker']['tid']}, which spent" in text for words in ("ended by", "until a wake by")), text


def test_a_channel_leads_to_the_work_of_the_one_that_sends(shared_lab, film):
    request, cause = by_name(shared_lab, film, "job")
    assert cause["kind"] == "channel" and cause["object"] is None, cause
    assert cause["waker"]["comm"].startswith("goroutine "), cause
    own = [part for part in cause["parts"] if part["kind"] == "on-cpu"][0]
    # its thread may have had to share its CPU; both are of the goroutine that worked
    other = sum(part["duration"] for part in cause["parts"] if part["kind"] in ("ready", "unexplained"))
    assert own["duration"] + other > 0.9 * cause["duration"], cause["parts"]
    assert own["thread"] == cause["waker"] and own["duration"] > 30_000_000, own
    assert own["functions"][0]["name"] == "main.crunch", own


def test_a_wait_group_leads_to_the_last_of_its_goroutines(shared_lab, film):
    """It ends as it makes the handler ready: its own last record may be read before that of the handler."""
    _, cause = by_name(shared_lab, film, "gather")
    assert cause["object"] == "sync.WaitGroup", cause
    part = check_end(cause, "gather", "sleep", "sleeping in main.nap")
    assert part["duration"] >= 149_000_000, part


def test_an_answer_is_waited_for_in_the_goroutine_of_the_connection(shared_lab, film):
    _, cause = by_name(shared_lab, film, "fetch")
    part = check_end(cause, "fetch", "request", "waiting for the answer of 127.0.0.1:")
    assert "to GET /slow/*" in part["words"], part["words"]
    assert part["duration"] >= 149_000_000, part
    # and that one is a goroutine of the same film
    assert ", served by goroutine " in part["words"] and part["end"] == "thread", part["words"]
    slept = part["parts"][0]
    assert slept["kind"] == "sleep" and slept["thread"] == part["waker"] != part["thread"], part["parts"]
    assert "main.nap" in slept["stack"] and slept["duration"] >= 149_000_000, slept


def test_several_answers_are_waited_for_in_the_goroutines_that_asked_for_them(shared_lab, film):
    """Each reader of a connection waits for what the one has asked for that waits for the reader."""
    _, cause = by_name(shared_lab, film, "spread")
    assert cause["object"] == "sync.WaitGroup", cause
    child = check_end(cause, "spread", "select", "")
    assert "main.fetch" in child["stack"], child
    part = child["parts"][0]
    assert part["kind"] == "request" and any(f"to GET /{name}/*" in part["words"] for name in ("slow", "gather")), part["words"]
    assert part["duration"] >= 140_000_000 and part["end"] == "thread", part
    assert any("main.nap" in (below["stack"] or "") for below in [*part["parts"], *part["parts"][0]["parts"]]), part["parts"]


def test_without_lanes_of_goroutines_they_are_not_linked(shared_lab, server):
    process, port = server
    with filming(shared_lab, "-e", "requests,threads,on-cpu", "-p", process.pid) as film:
        assert wait_until(lambda: ask(port, "/gather/1", "") and film_has(shared_lab, film, "/gather/1"))
    request, = explained(shared_lab, film)
    assert not request["comm"].startswith("goroutine ") and request["not_linked"] == ["goroutines"], request


def test_without_threads_it_says_what_is_missing(shared_lab, server):
    process, port = server

    def job_and_film_has_it():
        ask(port, "/job/1", "")
        return film_has(shared_lab, film, "/job/1")
    with filming(shared_lab, "-e", "requests,go-lanes", "-p", process.pid) as film:
        assert wait_until(job_and_film_has_it)
    request, cause = by_name(shared_lab, film, "job")
    part = cause["parts"][0]
    assert part["kind"] == "running" and share(part, cause) > 0.8, cause["parts"]
    assert "record with -e threads" in part["words"], part["words"]
