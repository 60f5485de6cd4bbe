# SPDX-License-Identifier: Apache-2.0
"""More cases of doc/cases.md: real servers with a planted cause, which stackcam explain names first."""

import contextlib
import glob
import json
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness import PATIENCE, filming, free_port, go_built, listening_port, needs_root, running, wait_until
from test_explain import EVENTS, ask, explained, film_has, of_work, share, work_of

pytestmark = needs_root

HERE = Path(__file__).resolve().parent
CLIENT = HERE / "requests_client.py"
REQUESTS = ("-e", EVENTS[1] + ",requests")


@pytest.fixture(scope="module")
def tomcat(tmp_path_factory):
    jars = glob.glob("/usr/share/java/tomcat10-*.jar")
    if not shutil.which("javac") or not jars:
        pytest.skip("Tomcat 10 or a Java compiler is missing")
    folder = tmp_path_factory.mktemp("tomcat")
    path = ":".join([*jars, str(folder)])
    subprocess.run(["javac", "-nowarn", "-cp", path, "-d", folder, HERE.parent / "programs" / "Tomcat10.java"], check=True,
                   timeout=PATIENCE, stderr=subprocess.DEVNULL)
    return ["java", "-XX:+UseSerialGC", "-Xmx256m", "-cp", path, "Tomcat10", folder]


def slow_beside(lab, film, port, paths, duration):
    """Makes two requests, the second one while the first is under way. Whether the order took that many ns at least."""
    first, second = paths
    beside = threading.Thread(target=ask, args=(port, first, first.strip("/").replace("/", "-")))
    beside.start()
    ask(port, second, second.strip("/").replace("/", "-"))
    beside.join()
    return film_has(lab, film, "/order/1", duration)


def test_a_request_through_tomcat_that_waits_for_a_monitor(lab, tomcat):
    port = free_port()
    with running(*tomcat, port) as server:
        for _ in range(20):
            ask(port, "/warm", "")
        with filming(lab, *REQUESTS, "-p", server.pid) as film:
            assert wait_until(lambda: slow_beside(lab, film, port, ["/report", "/order/1"], 100_000_000))
    request = explained(lab, film, "--endpoint", "GET /order/*")[0]
    cause = work_of(film, request)[0]
    assert request["comm"].startswith("orders-") and request["duration"] > 100_000_000
    assert cause["kind"] == "lock" and cause["object"].startswith("Java monitor 0x"), request["parts"]
    assert cause["holder"]["comm"].startswith("orders-") and of_work(cause, request) > 0.5, cause
    assert "Tomcat10.takeOrder" in cause["words"] and "Tomcat10.writeReport" in cause["parts"][0]["stack"], cause


def test_requests_through_tomcat_are_each_attributed(lab, tomcat):
    """400 connections, 1,200 requests with marks: none is missing, none has another one's answer or thread."""
    port = free_port()
    with running(*tomcat, port) as server:
        film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, 400, 3)
    done = lab.run("report", "--format", "requests-json", "-p", server.pid, film.path)
    served = [r for r in json.loads(done.stdout)["requests"] if r["role"] == "served"]
    assert len(served) == len({r["id"] for r in served}) == 1200
    assert all(r["path"] == "/" + r["id"] and r["status"] == 200 and not r["open"] for r in served)
    assert {r["thread"].rstrip("0123456789") for r in served} == {"orders-"}


NODE = """
const server = require("http").createServer((request, response) => {
    function buildReport() { for (const end = Date.now() + 300; Date.now() < end;); }
    if (request.url.startsWith("/report"))
        buildReport();
    if (request.url.startsWith("/order"))
        setTimeout(() => response.end("ok"), 10);
    else
        response.end("ok");
}).listen(0, "127.0.0.1", () => console.log("ready"));
"""


def test_an_event_loop_that_is_blocked(lab, tmp_path):
    """An order waits 10 ms for a timer, during which another request keeps the loop's thread busy."""
    node = shutil.which("node") or pytest.skip("Node.js is missing")
    script = tmp_path / "loop.js"
    script.write_text(NODE)
    with running(node, "--perf-basic-prof", "--interpreted-frames-native-stack", script, cwd=tmp_path) as server:
        port = listening_port(server.pid)
        ask(port, "/warm", "")
        with filming(lab, *REQUESTS, "-p", server.pid, "-F", "499") as film:
            assert wait_until(lambda: slow_beside(lab, film, port, ["/order/1", "/report"], 200_000_000))
    request = explained(lab, film, "--endpoint", "GET /order/*")[0]
    cause = work_of(film, request)[0]
    assert request["duration"] > 200_000_000 and cause["kind"] == "on-cpu", request["parts"]
    assert "buildReport" in cause["functions"][0]["name"] and of_work(cause, request) > 0.5, cause
    # whose work that was
    assert request["at_once"]["requests"] == 1 and request["at_once"]["endpoint"] == "GET /report", request["at_once"]
    assert request["at_once"]["longest"] > 200_000_000
    text = lab.run("explain", "--endpoint", "GET /order/*", film.path).stdout
    assert "Its thread had 1 other request at the same time, longest GET /report, for " in text, text


LIBRARY = """
#include <stddef.h>
/* The length is asked for anew at each character: its time grows with the square of the text. */
__attribute__((noinline)) static size_t length(const volatile char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}
__attribute__((noinline)) unsigned codec_normalize(const char *text)
{
	unsigned sum = 0;

	for (size_t i = 0; i < length(text); i++)
		sum = sum * 31 + (unsigned char)text[i];
	return sum;
}
"""

USES_LIBRARY = """
import ctypes, http.server, sys
codec = ctypes.CDLL(sys.argv[1])

def import_order(size):
    return codec.codec_normalize(b"a" * size)

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        import_order(int(self.path.split("/")[-1]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("ready", flush=True)
server.serve_forever()
"""


def test_a_bug_in_a_library_below_the_code(lab, tmp_path):
    """One order of many is large, and a spike: the time is in the library, not in the code that calls it."""
    (tmp_path / "codec.c").write_text(LIBRARY)
    (tmp_path / "server.py").write_text(USES_LIBRARY)
    library = tmp_path / "libcodec.so"
    subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", library, tmp_path / "codec.c"], check=True)
    with running(sys.executable, tmp_path / "server.py", library) as server:
        port = listening_port(server.pid)
        with filming(lab, *REQUESTS, "-p", server.pid, "-F", "499") as film:
            for number in range(30):
                ask(port, f"/order/{number}", "")
            assert wait_until(lambda: ask(port, "/order/30000", "large") and film_has(lab, film, "/order/30000"))
    request = explained(lab, film)[0]
    cause = work_of(film, request)[0]
    assert request["path"] == "/order/30000" and cause["kind"] == "on-cpu" and of_work(cause, request) > 0.8, request
    first = cause["functions"][0]
    assert first["name"] in ("length", "codec_normalize") and first["image"].endswith("libcodec.so"), cause
    assert "(libcodec.so)" in cause["words"] and cause["words"].endswith(" below import_order"), cause["words"]
    # below the code of the program that called it
    table = lab.run("report", "-e", "on-cpu", "--request", "large", "--focus", "import_order", film.path).stdout
    assert "libcodec.so" in table and "import_order" in table, table


GO = """
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

var stock sync.Mutex

//go:noinline
func writeReport() {
	stock.Lock()
	time.Sleep(200 * time.Millisecond)
	stock.Unlock()
}

//go:noinline
func takeOrder() {
	stock.Lock()
	stock.Unlock()
}

func main() {
	http.HandleFunc("/report", func(w http.ResponseWriter, r *http.Request) { writeReport(); fmt.Fprint(w, "ok") })
	http.HandleFunc("/order/", func(w http.ResponseWriter, r *http.Request) { takeOrder(); fmt.Fprint(w, "ok") })
	fmt.Println("ready")
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""


def test_a_go_mutex_that_is_held_long(lab, tmp_path):
    """Threads of the kernel say nothing of it: the goroutines' own waits do, with the stack that let the mutex go."""
    port = free_port()
    with running(go_built(tmp_path, "orders", GO), port) as server:
        def is_served():
            with contextlib.suppress(OSError):
                return ask(port, "/order/0", "")
        assert wait_until(is_served)
        with filming(lab, "-e", "requests,threads,on-cpu,go-wait", "-p", server.pid) as film:
            assert wait_until(lambda: slow_beside(lab, film, port, ["/report", "/order/1"], 100_000_000))
    done = lab.run("explain", "--format", "json", film.path)
    first = json.loads(done.stdout)["goroutines"][0]
    assert first["object"] == "sync.Mutex" and first["longest"] > 100_000_000, first
    assert first["stack"][0] == "main.takeOrder" and first["waker_stack"][0] == "main.writeReport", first
    assert first["duration"] >= first["longest"] and first["count"] >= 1
    text = lab.run("explain", film.path).stdout
    assert "Goroutines of orders (" in text.splitlines()[1], text
    assert "waiting in main.takeOrder for sync.Mutex (" in text.splitlines()[2], text
    assert ", until a wake in main.writeReport < " in text.splitlines()[2], text
    # without the waits of goroutines there is nothing of them
    assert json.loads(lab.run("explain", "--format", "json", film.path, "--from", "0s", "--to", "1ms").stdout or
                      '{"goroutines": []}')["goroutines"] == []


SPIKE = """
import datetime, signal, threading, time

def rebuild_index():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass

def serve():
    while True:
        time.sleep(0.01)

def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
threading.Thread(target=serve, daemon=True).start()
print("ready", flush=True)
signal.sigwait([signal.SIGUSR1])
begin = now()
rebuild_index()
open("spike", "w").write(begin + " " + now())
signal.pause()
"""


def test_a_cpu_spike(lab, tmp_path):
    """A third of a second in a longer film: of that time, the thread that ran, and in which function."""
    (tmp_path / "spike.py").write_text(SPIKE)
    times = tmp_path / "spike"
    with running(sys.executable, tmp_path / "spike.py", cwd=tmp_path) as target:
        with filming(lab, *EVENTS, "-a", "-F", "499") as film:
            assert wait_until(lambda: not lab.run("explain", "-p", target.pid, film.path).returncode)
            target.process.send_signal(signal.SIGUSR1)
            assert wait_until(lambda: times.exists() and len(times.read_text().split()) == 2)
    begin, end = times.read_text().split()
    request = explained(lab, film, "-p", target.pid, "--from", begin, "--to", end)[0]
    cause = work_of(film, request)[0]
    assert request["tid"] == target.pid and cause["kind"] == "on-cpu" and of_work(cause, request) > 0.7, request["parts"]
    assert cause["functions"][0]["name"] == "rebuild_index" and cause["duration"] > 200_000_000, cause
    text = lab.run("explain", "-p", target.pid, "--from", begin, "--to", end, film.path).stdout
    assert "in rebuild_index" in text, text
