# SPDX-License-Identifier: Apache-2.0
"""What goroutines ask for that a handler of Go has started is for its request, and what others ask for is not."""

import os
import re
import sys
from pathlib import Path

import pytest

from harness import go_built, needs_root, wait_until
from test_cases import filming
from test_explain import explained
from test_inspect import GO, build_go
from test_requests import CLIENT, asyncio_server, of_process, requests_of, serving  # pylint: disable=unused-import

pytestmark = needs_root

CONNECTIONS, ROUNDS = 100, 2

GOCODE = os.environ.get("GOPATH", "/usr/share/gocode")

SERVER = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func ask(what, path string) {
	answer, err := http.Get("http://127.0.0.1:" + os.Args[2] + "/" + what + path)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

type job struct {
	path string
	done chan bool
}

var jobs = make(chan job)
var once sync.Once

func work() {
	for j := range jobs {
		ask("worker", j.path)
		j.done <- true
	}
}

func handle(w http.ResponseWriter, r *http.Request) {
	var all sync.WaitGroup
	start := func(f func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			f()
		}()
	}
	/* a worker for all requests, which the first one starts */
	once.Do(func() { go work() })
	ask("self", r.URL.Path)
	start(func() { ask("child", r.URL.Path) })
	start(func() {
		ask("other", r.URL.Path)
		start(func() { ask("grand", r.URL.Path) })
	})
	j := job{r.URL.Path, make(chan bool)}
	jobs <- j
	<-j.done
	all.Wait()
	fmt.Fprint(w, r.URL.Path)
}

func main() {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 300
	http.HandleFunc("/", handle)
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""


@pytest.fixture(params=GO)
def built(request, lab):
    """Builds a program with each version of Go."""
    def build(text):
        source, program = lab.folder / "server.go", lab.folder / "server"
        source.write_text(text)
        build_go(lab, request.param, source, program)
        return str(program)
    return build


def links(answer, process):
    """Of each kind of request that was made: how many are right, wrong, and not known; and what shows it."""
    served = {r["number"]: r["id"] or r["path"][1:] for r in of_process(answer, process)}
    counts, shown_by = {}, {}
    for r in of_process(answer, process, "made"):
        kind, mark = (r["id"] or r["path"][1:]).split("/")
        count = counts.setdefault(kind, [0, 0, 0])
        count[2 if r["parent"] is None else served[r["parent"]] != mark] += 1
        if r["parent"] is not None:
            shown_by.setdefault(kind, set()).add(r["parent_by"])
    return counts, shown_by


def test_what_goroutines_ask_that_a_handler_has_started(lab, serving, built):
    program = built(SERVER)
    _, behind, _ = serving(asyncio_server)
    process, port, _ = serving(lambda folder, port: [program, str(port), str(behind)])
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, CONNECTIONS, ROUNDS)
    counts, shown_by = links(requests_of(lab, film), process)
    assert {kind: sum(count) for kind, count in counts.items()} == dict.fromkeys(
        ("self", "child", "other", "grand", "worker"), CONNECTIONS * ROUNDS)
    assert not [kind for kind, count in counts.items() if count[1]], counts
    # one goroutine works for all
    assert counts["worker"][0] == 0, counts
    assert all(counts[kind][0] >= 0.9 * CONNECTIONS * ROUNDS for kind in ("self", "child", "other", "grand")), counts
    assert shown_by == {"self": {"goroutine"}, "child": {"start"}, "other": {"start"}, "grand": {"start"}}


MANY = """
package main

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

func main() {
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	go http.Serve(listener, nil)
	/* until the recorder has seen it, or gives up */
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		http.Get("http://" + listener.Addr().String())
		if _, err := os.Stat(os.Args[1]); err == nil {
			return
		}
		var all sync.WaitGroup
		for i := 0; i < 20000; i++ {
			all.Add(1)
			go all.Done()
		}
		all.Wait()
	}
}
"""


def test_a_program_that_makes_too_many_goroutines_is_left_alone(lab):
    """Then a part of its links is missing, and the film says so."""
    program = str(go_built(lab.folder, "server", MANY))
    seen = lab.folder / "seen"
    with filming(lab, "-e", "requests", "--", program, seen) as film:
        def is_said():
            done = lab.run("report", "--format", "requests-json", film.path)
            return done.returncode == 0 and "that make too many goroutines, or many" in done.stdout
        assert wait_until(is_said)
        seen.touch()


STREAMS = """
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"time"
)

var client = &http.Client{Transport: &http.Transport{
	TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	ForceAttemptHTTP2: true,
}}

func ask(port, what, path string) {
	answer, err := client.Get("https://127.0.0.1:" + port + what + path)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	if answer.ProtoMajor != 2 {
		panic(answer.Proto)
	}
}

/* Calls for all of it, in goroutines. */
func all(calls ...func()) {
	var group sync.WaitGroup
	for _, call := range calls {
		group.Add(1)
		go func(call func()) {
			defer group.Done()
			call()
		}(call)
	}
	group.Wait()
}

func handle(w http.ResponseWriter, r *http.Request) {
	behind := os.Args[3]
	ask(behind, "/self", r.URL.Path)
	all(func() { ask(behind, "/child", r.URL.Path) },
		func() { all(func() { ask(behind, "/grand", r.URL.Path) }) })
	fmt.Fprint(w, r.URL.Path)
}

func answer(w http.ResponseWriter, r *http.Request) {
	time.Sleep(10 * time.Millisecond)
	fmt.Fprint(w, r.URL.Path)
}

func serve(handler http.HandlerFunc) {
	server := httptest.NewUnstartedServer(handler)
	server.Listener, _ = net.Listen("tcp", "127.0.0.1:"+os.Args[2])
	server.EnableHTTP2 = true
	server.StartTLS()
	select {}
}

func main() {
	switch os.Args[1] {
	case "front":
		serve(handle)
	case "behind":
		serve(answer)
	default:
		count, _ := strconv.Atoi(os.Args[3])
		ask(os.Args[2], "", "/first")
		var calls []func()
		for i := 0; i < count; i++ {
			path := fmt.Sprint("/mark-", i)
			calls = append(calls, func() { ask(os.Args[2], "", path) })
		}
		all(calls...)
	}
}
"""


@pytest.fixture
def streams(serving, built):
    """A server of HTTP/2 and its port, which asks another one; and the program that asks it."""
    program = built(STREAMS)
    _, behind, _ = serving(lambda _, port: [program, "behind", str(port)])
    process, port, _ = serving(lambda _, port: [program, "front", str(port), str(behind)])
    return process, port, program


def test_streams_of_http2_are_of_the_goroutines_that_handle_them(lab, streams):
    process, port, program = streams
    film = lab.record("-e", "requests", "-a", "--", program, "ask", port, 100)
    answer = requests_of(lab, film)
    counts, _ = links(answer, process)
    assert {r["protocol"] for r in of_process(answer, process)} == {"http2"}
    assert {kind: sum(count) for kind, count in counts.items()} == dict.fromkeys(("self", "child", "grand"), 101)
    assert not [kind for kind, count in counts.items() if count[1]], counts
    assert all(count[0] >= 90 for count in counts.values()), counts


def test_the_path_of_a_stream_is_that_of_its_goroutine(lab, streams):
    process, port, program = streams
    film = lab.record("-e", "requests,threads,go-lanes", "-a", "--", program, "ask", port, 5)
    requests = [r for r in explained(lab, film, "--endpoint", "GET /mark-*", "--slowest", "5") if r["pid"] == process.pid]
    assert len(requests) == 5
    asked = []
    for request in requests:
        assert request["comm"].startswith("goroutine ") and request["not_linked"] == [], request
        # each answer takes 10 ms, of which two are waited for, one after the other; of children's, two at once
        waits = [part for part in request["parts"] if part["duration"] > 9_000_000]
        assert any("RoundTrip" in part["words"] for part in waits), waits
        assert any("sync.WaitGroup in main.all" in part["words"] for part in waits), waits
        below = [inner for part in waits for inner in part["parts"]]
        below += [inner for part in below for inner in part["parts"]]
        asked += [part["words"] for part in below if part["kind"] == "request"]
    # one goroutine reads what all of them wait for, and may be seen to wait for another one's
    for name in ("self", "(child|grand)"):
        assert any(re.search(f" to GET /{name}/mark-.*, served by goroutine ", words) for words in asked), asked


GRPC = """
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

func dial(port string) health.HealthClient {
	connection, err := grpc.Dial("127.0.0.1:"+port, grpc.WithInsecure())
	if err != nil {
		panic(err)
	}
	return health.NewHealthClient(connection)
}

func check(client health.HealthClient, id string) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-request-id", id)
	if _, err := client.Check(ctx, &health.HealthCheckRequest{}); err != nil {
		panic(err)
	}
}

func all(calls ...func()) {
	var group sync.WaitGroup
	for _, call := range calls {
		group.Add(1)
		go func(call func()) {
			defer group.Done()
			call()
		}(call)
	}
	group.Wait()
}

type server struct {
	health.UnimplementedHealthServer
	work func(id string)
}

func (s server) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	about, _ := metadata.FromIncomingContext(ctx)
	s.work(about["x-request-id"][0])
	return &health.HealthCheckResponse{}, nil
}

func serve(work func(id string)) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[2])
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	health.RegisterHealthServer(s, server{work: work})
	panic(s.Serve(listener))
}

var once sync.Once
var behind health.HealthClient

func front(id string) {
	/* its goroutines write for all, whichever request has needed it first */
	once.Do(func() { behind = dial(os.Args[3]) })
	fetch := func(what string) {
		answer, err := http.Get("http://127.0.0.1:" + os.Args[4] + "/" + what + "/" + id)
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	fetch("self")
	all(func() { fetch("child") }, func() { check(behind, "rpc/"+id) })
	check(behind, "own/"+id)
}

func main() {
	switch os.Args[1] {
	case "front":
		serve(front)
	case "behind":
		serve(func(string) { time.Sleep(10 * time.Millisecond) })
	default:
		count, _ := strconv.Atoi(os.Args[3])
		client := dial(os.Args[2])
		var calls []func()
		for i := 0; i < count; i++ {
			id := fmt.Sprint("mark-", i)
			calls = append(calls, func() { check(client, id) })
		}
		all(calls...)
	}
}
"""


def test_calls_of_grpc_are_of_the_goroutines_that_handle_them(lab, serving):
    if not Path(GOCODE, "src/google.golang.org/grpc").is_dir():
        pytest.skip("golang-google-grpc-dev is missing")
    program = str(go_built(lab.folder, "server", GRPC, GOPATH=GOCODE))
    _, plain, _ = serving(asyncio_server)
    _, behind, _ = serving(lambda _, port: [program, "behind", str(port)])
    process, port, _ = serving(lambda _, port: [program, "front", str(port), str(behind), str(plain)])
    film = lab.record("-e", "requests", "-a", "--", program, "ask", port, 100)
    answer = requests_of(lab, film)
    counts, shown_by = links(answer, process)
    assert {r["protocol"] for r in of_process(answer, process)} == {"grpc"}
    assert {kind: sum(count) for kind, count in counts.items()} == dict.fromkeys(("self", "child", "rpc", "own"), 100)
    assert not [kind for kind, count in counts.items() if count[1]], counts
    assert all(count[0] >= 90 for count in counts.values()), counts
    assert shown_by == {"self": {"goroutine"}, "child": {"start"}, "own": {"goroutine"}, "rpc": {"start"}}
