# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: causes that the kernel, other processes or a database have, which it must name first."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request

import pytest

from harness import PATIENCE, needs_root, running, wait_until
from test_explain import EVENTS, explained, is_of_machine, listening_port, of_work, work_of
from test_explain_retries import film_beside, first_of, known, statement
from test_flight import memory_group
from test_requests import postgres  # noqa: F401: a fixture

pytestmark = needs_root

TOUCHES = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long sum;

static __attribute__((noipa)) void touch_all(const volatile char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		sum += at[i];
}

int main(int argc, char **argv)
{
	size_t size = 96ul << 20;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *at;

	if (argc != 2 || ftruncate(fd, size))
		return 1;
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || madvise(at, size, MADV_RANDOM))
		return 1;
	for (int i = 0; i < 4; i++)
		touch_all(at, size);
	return sum == 1;
}
"""


def build(tmp_path, source, name):
    (tmp_path / f"{name}.c").write_text(source)
    subprocess.run(["cc", "-O1", "-g", "-o", tmp_path / name, tmp_path / f"{name}.c", "-pthread"], check=True)
    return tmp_path / name


def causes(request):
    """The parts that are the program's, the longest first."""
    return [part for part in request["parts"] if not is_of_machine(part)]


def test_the_kernel_frees_memory_for_a_group_at_its_limit(lab, tmp_path):
    """More of it is freeing than a tenth; of the time on CPU both parts have the function that asked for memory."""
    program = build(tmp_path, TOUCHES, "touches")
    with memory_group(32 << 20) as group:
        film = lab.record(*EVENTS, "--", "sh", "-c", f"echo $$ >{group}/cgroup.procs; exec {program} {tmp_path}/file", hz=999)
    request, = explained(lab, film, "-n", "touches")
    found, = [part for part in request["parts"] if part["kind"] == "reclaim"]
    rest, = [part for part in request["parts"] if part["kind"] == "on-cpu"]
    assert found in causes(request)[:2] and found["duration"] > 0.1 * (found["duration"] + rest["duration"]), request["parts"]
    assert found["functions"][0]["name"] == rest["functions"][0]["name"] == "touch_all", found
    assert f"{group.name} is at its limit" in found["words"], found
    assert found["samples"] + rest["samples"] > 20, (found, rest)


@contextlib.contextmanager
def served(lab):
    """A file of a file system that a process serves."""
    folder, point = lab.folder / "files", lab.folder / "point"
    folder.mkdir()
    point.mkdir()
    (folder / "data").write_bytes(os.urandom(8 << 20))
    server = subprocess.Popen([lab.program("fuse_server"), folder, point], stdout=subprocess.PIPE)
    try:
        if not server.stdout.readline():
            pytest.skip("no file system of FUSE can be mounted here")
        yield point / "data"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        subprocess.run(["umount", "-l", point], check=False, capture_output=True)


def test_a_file_of_fuse_is_waited_for_by_its_daemon(lab):
    """And no other process is said to have kept a disk busy."""
    with served(lab) as path:
        film = lab.record("-a", *EVENTS, "--", "cp", path, "/dev/null", hz=99)
    reader, = explained(lab, film, "-n", "cp")
    found = [part for part in reader["parts"] if part["kind"] == "served-file"]
    assert found and all(part["waker"]["comm"] == "fuse_server" for part in found), reader["parts"]
    assert any(str(path) in part["words"] and part["parts"] for part in found), found
    # a disk that nothing waits for is no disk that others kept busy
    assert not reader["disk_users"] or any(part["kind"] == "disk" for part in reader["parts"]), reader["disk_users"]


BORN = """
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void *answer(void *unused)
{
	pthread_mutex_lock(&mutex);
	done = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static __attribute__((noipa)) void prepare(void)
{
	usleep(500000);
}

static void *make(void *unused)
{
	pthread_t thread;

	pthread_setname_np(pthread_self(), "maker");
	prepare();
	pthread_create(&thread, NULL, answer, NULL);
	pthread_join(thread, NULL);
	return unused;
}

int main(void)
{
	pthread_t maker;

	pthread_create(&maker, NULL, make, NULL);
	pthread_setname_np(pthread_self(), "handler");
	pthread_mutex_lock(&mutex);
	while (!done)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(maker, NULL);
	return 0;
}
"""


def test_a_thread_that_was_made_during_the_wait(lab, tmp_path):
    """It leads to the thread that made it, and to what that one did before."""
    program = build(tmp_path, BORN, "born")

    def cause_of():
        request, = explained(lab, lab.record(*EVENTS, "--", program), "-n", "handler")
        return causes(request)[0], request

    cause, request = known(cause_of)
    assert cause["kind"] == "condition" and cause["duration"] > 400_000_000, request["parts"]
    made = first_of(cause)
    assert made["kind"] == "made" and made["waker"]["comm"] == "maker" and "made by maker" in made["words"], cause
    did = first_of(made)
    assert did["kind"] == "sleep" and "prepare" in did["stack"], made
    assert not request["unexplained"], request["parts"]


def test_a_row_lock_of_a_transaction_whose_client_is_slow(lab, postgres, tmp_path):  # noqa: F811
    """With requests, and by the lives of threads alone."""
    place, data, port = postgres
    psql = f"{place}/psql -q -h 127.0.0.1 -p {port} -U postgres"
    blocked = f"{psql} -Atc \"select 1 from pg_stat_activity where wait_event_type = 'Lock'\""
    script = tmp_path / "rows.sh"
    script.write_text(f"""
(
	echo 'begin; update pgbench_branches set bbalance = bbalance + 1;'
	until {blocked} | grep -q 1; do :; done
	sleep 1.5
	echo 'commit;'
) | {psql} &
until {psql} -Atc "select 1 from pg_stat_activity where state = 'idle in transaction'" | grep -q 1; do :; done
{psql} -c 'update pgbench_branches set bbalance = bbalance + 2'
wait
""")
    server = int((data / "postmaster.pid").read_text().split()[0])
    cause, request = known(lambda: statement(lab, film_beside(lab, server, script), "update pgbench_branches*", 1_000_000_000))
    assert cause["kind"] == "row-lock" and cause["words"].startswith("waiting for a row lock"), cause
    assert of_work(cause, request) > 0.9, request["parts"]
    did = first_of(cause)
    assert did["kind"] == "client" and did["words"].startswith("idle in transaction"), cause


STOPS = """
public class Stops {
	static volatile long sink;
	static final long[] numbers = new long[1 << 14];

	/* a counted loop: the compiler leaves out the question whether to stop */
	static long grind() {
		long sum = 0;
		for (int i = 0; i < 50000000; i++)
			sum += numbers[i & 16383] * i;
		return sum;
	}

	static void handle() {
		try {
			for (;;) {
				Thread.sleep(20);
				System.gc();
			}
		} catch (InterruptedException e) {
		}
	}

	public static void main(String[] unused) throws Exception {
		Thread grinder = new Thread(() -> { for (;;) sink = grind(); }, "grinder");
		Thread handler = new Thread(Stops::handle, "handler");
		grinder.setDaemon(true);
		handler.setDaemon(true);
		grinder.start();
		handler.start();
		Thread.sleep(3000);
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(100000);
	}
}
"""


def test_the_java_thread_that_did_not_stop(lab, tmp_path):
    """The time until all threads have stopped leads to the one that stopped last, and to what it did."""
    if not shutil.which("javac"):
        pytest.skip("no Java compiler")
    (tmp_path / "Stops.java").write_text(STOPS)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Stops.java"], check=True, timeout=PATIENCE)
    with running("java", "-XX:+UseSerialGC", "-XX:-UseCountedLoopSafepoints", "-Xmx64m", "-cp", tmp_path, "Stops") as target:
        film = lab.record(*EVENTS, "-p", target.pid, "-d", 5, hz=499)
    handler, = explained(lab, film, "-n", "handler")
    pauses = [part for part in handler["parts"] if part["kind"] == "safepoint"]
    stops = [part for pause in pauses for part in pause["parts"] if part["kind"] == "stopping"]
    assert stops and stops[0]["waker"]["comm"] == "grinder" and "last grinder" in stops[0]["words"], handler["parts"]
    did = first_of(stops[0])
    assert did["kind"] == "on-cpu" and did["functions"][0]["name"] == "Stops.grind", stops


def test_threads_names_a_deadlock_and_a_child(lab):
    with running(lab.program("cases"), 60, "deadlock") as target:
        assert wait_until(lambda: len(deadlocked(lab, target.pid)) == 2)
        threads = deadlocked(lab, target.pid)
        assert {(thread["comm"], thread["object"], thread["holder"]["comm"]) for thread in threads} == {
            ("handler", "mutex stock_lock in cases", "restocker"), ("restocker", "mutex orders_lock in cases", "handler")}, threads
        text = lab.run("threads", "-p", target.pid).stdout
        assert "for mutex stock_lock in cases, held by restocker (" in text and "a deadlock, as that one waits" in text, text
    with running("sh", "-c", "echo ready; sleep 100; true") as target:
        assert wait_until(target.children)
        shell, = [thread for thread in threads_of(lab, target.pid) if thread["pid"] == target.pid]
        assert shell["wait"] == "child" and "child" in shell["object"], shell
        target.process.kill()
        subprocess.run(["kill", *map(str, target.children())], check=False)


def threads_of(lab, pid):
    return json.loads(lab.run("threads", "--format", "json", "-p", pid).stdout)["threads"]


def deadlocked(lab, pid):
    return [thread for thread in threads_of(lab, pid) if thread.get("deadlock")]


def test_a_child_that_does_not_end(lab):
    with running("sh", "-c", "echo ready; sleep 100; true") as target:
        assert wait_until(target.children)
        film = lab.record(*EVENTS, "-p", ",".join(map(str, [target.pid, *target.children()])), "-d", 1)
        subprocess.run(["kill", *map(str, target.children())], check=True)
        target.wait()
    shell, = explained(lab, film, "-n", "sh")
    cause = shell["parts"][0]
    assert cause["kind"] == "child" and cause["waker"]["comm"] == "sleep", cause
    assert "which had not ended by then: sleep (" in cause["words"] and cause["parts"][0]["kind"] == "sleep", cause


def test_the_other_end_of_a_pipe_that_hangs(lab):
    """It is waited for still when the film ends: the one process that can write is known by its descriptor."""
    with running(lab.program("cases"), 60, "hang") as target:
        film = lab.record(*EVENTS, "-p", ",".join(map(str, [target.pid, *target.children()])), "-d", 1)
    handler, = explained(lab, film, "-n", "handler")
    cause = handler["parts"][0]
    assert cause["kind"] == "ipc" and "take_part" in cause["stack"] and cause["waker"]["comm"] == "producer", cause
    assert "which had not ended by then; its other end is in producer (" in cause["words"], cause
    did = first_of(cause)
    assert did["kind"] == "sleep" and "make_part" in did["stack"], cause


def test_the_timeout_of_a_socket(lab):
    """SO_RCVTIMEO: a timer of the kernel ends the wait in a soft interrupt, as a packet would."""
    film = lab.record(*EVENTS, "--", lab.program("cases"), 1.5, "timeout")
    cause = work_of(film, explained(lab, film, "-n", "handler")[0])[0]
    assert cause["kind"] == "socket-read" and "ask_in_vain" in cause["stack"] and cause["longest"] > 290_000_000, cause
    assert cause["end"] in ("timer", "open") and cause["object"].startswith("tcp 127.0.0.1:"), cause
    assert any("until its time was over" in part["words"] for part in explained(lab, film, "-n", "handler")[0]["parts"]), film


def test_the_exit_status_and_who_asked_for_it(lab):
    film = lab.record(*EVENTS, "--", "sh", "-c", "sleep 0.1; exit 3", check=False)
    text = lab.run("explain", "-n", "sh", film.path).stdout
    assert re.search(r"Its process ended with exit status 3: sh \(\d+\) asked for that\.", text), text


def test_who_sent_a_signal_that_kills(lab):
    """Of SIGTERM the kernel says it as well, of SIGKILL it does not; and the sender may have ended since."""
    for name in ("TERM", "KILL"):
        film = lab.record("-a", "-e", "threads,deaths", "--", "timeout", "--foreground", "-s", name, "0.3", "sleep", "100", check=False)
        text = lab.run("explain", "-n", "sleep", film.path).stdout
        assert re.search(rf"SIG{name}, sent by process \d+ \(timeout\)", text), text


def test_the_printed_column_adds_up(lab):
    """And what is not explained of the thread itself stands there once, though a part of others is not explained, too."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    film = lab.record(*EVENTS, "--", lab.program("cases"), 1, "downstream", hz=99)
    lines = lab.run("explain", "-n", "handler", film.path).stdout.splitlines()
    whole = next(line for line in lines if line.endswith(":") and "handler" in line)
    rows = [line for line in lines if re.match(r" *[\d.]+ (ns|us|ms|s) ", line) and line[12:13] == " " and line[:12].strip()]
    times = [float(row[:12].split()[0]) * units[row[:12].split()[1]] for row in rows]
    value, unit = re.search(r", ([\d.]+) (ns|us|ms|s):$", whole).groups()
    assert abs(sum(times) - float(value) * units[unit]) < 0.002 * float(value) * units[unit], lines
    assert len([row for row in rows if row[13:].startswith("unexplained")]) == 1, lines
    assert not any("not explained" in row for row in rows if not row[13:].startswith("unexplained")), lines


SERVER = """
import http.server, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(1.2)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port)
print("ready", flush=True)
server.serve_forever()
"""


def test_a_request_that_a_client_made(lab, tmp_path):
    """By the client's name, or the endpoint's: curl polls with a timeout, and makes requests only."""
    if not shutil.which("curl"):
        pytest.skip("no curl")
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    with running(sys.executable, script) as server:
        port = listening_port(server.pid)
        film = lab.record("-e", EVENTS[1] + ",requests", "-n", "curl", "--", "curl", "-s", f"http://127.0.0.1:{port}/slow", hz=99)
    for options in (("-n", "curl"), ("--endpoint", "GET /slow")):
        request, = explained(lab, film, *options)
        assert request["endpoint"] == "GET /slow" and request["duration"] > 1_000_000_000, request
        assert causes(request)[0]["kind"] == "request", request["parts"]


ONE_P = """
package main

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"
)

var sink uint64

//go:noinline
func grind(until time.Time) {
	for time.Now().Before(until) {
		for i := uint64(0); i < 1000000; i++ {
			sink += i * i
		}
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	go func() {
		for {
			grind(time.Now().Add(time.Second))
		}
	}()
	http.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 5; i++ {
			runtime.Gosched()
		}
		fmt.Fprint(w, "ok")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	fmt.Println("ready")
	http.Serve(l, nil)
}
"""


def test_what_ran_on_the_only_p_of_go(lab, tmp_path):
    """A goroutine that is ready waits for the one that has the only place to run."""
    if not shutil.which("go"):
        pytest.skip("no Go compiler")
    (tmp_path / "main.go").write_text(ONE_P)
    subprocess.run(["go", "build", "-o", tmp_path / "one_p", tmp_path / "main.go"], check=True, timeout=PATIENCE,
                   env={**os.environ, "GO111MODULE": "off"})
    with running(tmp_path / "one_p") as server:
        port = listening_port(server.pid)
        with lab.recording("-e", "requests,threads,on-cpu,go-lanes", "-p", server.pid, hz=99) as (recorder, film):
            assert wait_until(film.begun)
            for _ in range(20):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/slow", timeout=PATIENCE).read()
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    requests = explained(lab, film, "--endpoint", "GET /slow", "--slowest", "20")
    waits = [part for request in requests for part in all_parts(request)
             if part["kind"] == "ready" and "while threads worked for goroutine" in part["words"]]
    assert sum(part["duration"] for part in waits) > 20_000_000, [request["parts"] for request in requests]
    # no other goroutine runs for long
    assert len({part["behind"][0]["thread"]["tid"] for part in waits if part["duration"] > 10_000_000}) == 1, waits


def all_parts(part):
    for one in part["parts"]:
        yield one
        yield from all_parts(one)
