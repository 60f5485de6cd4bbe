# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: programs that are slow for a reason that is known, which it must name first, with its object."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from harness import PATIENCE, free_port, listening_port, needs_root, running, wait_until

pytestmark = needs_root

EVENTS = ("-e", "threads,on-cpu")


def check_sums(part):
    """The parts of a part add up to it, to the nanosecond."""
    assert all(p["duration"] > 0 for p in part["parts"])
    if part["parts"]:
        assert sum(p["duration"] for p in part["parts"]) == part["duration"], part
    for p in part["parts"]:
        check_sums(p)


# the ends of parts of which nothing is known
NOT_KNOWN = ("earlier", "absent", "hole", "unlinked", "shared")


def check_kinds(part):
    """What is not explained is called that, and nothing else is."""
    for p in part["parts"]:
        # a queue is what its thread did for others
        assert p["kind"] == "queue" or (p["kind"] == "unexplained") == (p["end"] in NOT_KNOWN), p
        check_kinds(p)


def explained(lab, film, *options):
    """The explanations that stackcam gives of a film."""
    done = lab.run("explain", "--format", "json", *options, getattr(film, "path", film))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for request in answer["requests"]:
        assert request["parts"], request
        check_sums(request)
        check_kinds(request)
    return answer["requests"]


def film_case(lab, name, *arguments, options=(), seconds=2):
    return lab.record(*EVENTS, *options, "--", lab.program("cases"), seconds, name, *arguments, hz=499)


def is_of_machine(part):
    """
    Tests run beside others, so that a thread was not given a CPU is true, too. And some virtual machines hide switches:
    that time is not explained, and the film counts it.
    """
    return part["kind"] in ("ready", "unexplained")


def work_of(film, request):
    """The parts of what the thread did itself, the longest first."""
    hidden = sum(part["duration"] for part in request["parts"] if part["kind"] == "unexplained")
    assert hidden < 0.5 * request["duration"], request["parts"]
    assert not hidden or any("time of a thread not known" in reason for reason in film.json("-e", "threads")["loss"])
    return [part for part in request["parts"] if not is_of_machine(part)]


def first_cause(lab, film, *options):
    """The first part of what the slow thread did itself, and the whole."""
    request, = explained(lab, film, "-n", "handler", *options)
    assert request["comm"] == "handler"
    return work_of(film, request)[0], request


def ready_below(part):
    """How long the threads that it waited for were not given a CPU."""
    return sum(one["duration"] if one["kind"] == "ready" else ready_below(one) for one in part["parts"])


def of_work(part, request):
    """The share of a part in what the thread did itself, without what the machine made it, and those it waited for, wait."""
    of_machine = sum(one["duration"] if is_of_machine(one) else ready_below(one) for one in request["parts"])
    return (part["duration"] - ready_below(part)) / (request["duration"] - of_machine)


def share(part, request):
    return part["duration"] / request["duration"]


def test_a_lock_that_is_held_long(lab):
    film = film_case(lab, "lock")
    cause, request = first_cause(lab, film)
    assert cause["kind"] == "lock" and cause["object"] == "mutex orders_lock in cases", cause
    assert cause["holder"]["comm"] == cause["waker"]["comm"] == "flusher" and of_work(cause, request) > 0.5
    assert "take_order" in cause["stack"] and "in take_order" in cause["words"]
    # what its holder did meanwhile, and where
    did = work_of(film, cause)
    slept = [part for part in did if part["thread"]["comm"] == "flusher" and part["kind"] == "sleep" and "flush_log" in part["stack"]]
    # where a record was lost, what ended a sleep may not be known: that is a part of its own
    assert did[0] in slept and sum(of_work(part, cause) for part in slept) > 0.9, did
    assert request["more_threads"] == "no"
    text = lab.run("explain", "-n", "handler", film.path).stdout
    assert re.search(r"waiting in take_order for mutex orders_lock in cases, held by flusher \(\d+\) \(\d+ times.*\n"
                     r" +[\d.]+ m?s +sleeping \(clock_nanosleep\) in flush_log", text), text


def test_its_own_code_is_slow(lab):
    cause, request = first_cause(lab, film_case(lab, "burn"))
    assert cause["kind"] == "on-cpu" and cause["functions"][0]["name"] == "parse_order", cause
    # it spins ten times as long as the other one
    assert cause["functions"][0]["samples"] > 0.8 * cause["samples"] and of_work(cause, request) > 0.5


TWO_PLACES = """
#include <string.h>

static char buffer[1 << 20];

static __attribute__((noipa)) void fill(void)
{
	memset(buffer, 1, sizeof(buffer));
	__asm__ volatile("" ::: "memory");
	memset(buffer, 2, sizeof(buffer));
	__asm__ volatile("" ::: "memory");
}

int main(void)
{
	for (int i = 0; i < 5000; i++)
		fill();
	return buffer[9] - 2;
}
"""


def test_a_function_without_a_name_is_named_once(lab, tmp_path):
    (tmp_path / "two.c").write_text(TWO_PLACES)
    subprocess.run(["cc", "-O1", "-fno-builtin", "-s", "-o", tmp_path / "two", tmp_path / "two.c"], check=True)
    film = lab.record(*EVENTS, "--", tmp_path / "two", hz=999)
    cause = next(part for part in explained(lab, film)[0]["parts"] if part["kind"] == "on-cpu")
    first = cause["functions"][0]
    assert first["name"].startswith("two+0x") and first["samples"] > 0.9 * cause["samples"], cause


def test_two_threads_that_wait_for_each_other(lab):
    """Of a process that hangs, and of one that was killed for it."""
    with running(lab.program("cases"), 60, "deadlock") as target:
        hangs = lab.record(*EVENTS, "-p", target.pid, "-d", 1)
    for film in (hangs, film_case(lab, "deadlock")):
        cause, request = first_cause(lab, film)
        assert cause["kind"] == "lock" and cause["object"] == "mutex stock_lock in cases", cause
        assert cause["holder"]["comm"] == "restocker" and share(cause, request) > 0.9
        holder = cause["parts"][0]
        assert holder["end"] == "deadlock" and holder["object"] == "mutex orders_lock in cases", cause
        assert holder["holder"]["comm"] == "handler" and share(holder, cause) > 0.9


def test_the_last_wait_of_a_command_has_ended(lab):
    """And leads to what it waited for, although the command ends right behind it; a kill does not end what was waited for."""
    film = lab.record(*EVENTS, "--", "sh", "-c", "sleep 0.3; true")
    shell, = explained(lab, film, "-n", "sh")
    wait = next(part for part in shell["parts"] if part["kind"] == "child")
    assert wait["end"] == "thread" and wait["waker"]["comm"] == "sleep", wait
    assert wait["parts"][0]["kind"] == "sleep" and wait["parts"][0]["end"] == "timer", wait
    assert "had not ended" not in wait["words"] + wait["parts"][0]["words"], wait
    # it waits until its child executes a program, which the kernel counts as frozen
    assert not any(part["kind"] == "stopped" for part in shell["parts"]), shell["parts"]

    # in the foreground it does not kill itself as well, and awaits the end of what it kills
    film = lab.record(*EVENTS, "--", "timeout", "--foreground", "-s", "KILL", "0.3", "sleep", "100", check=False)
    killed, = explained(lab, film, "-n", "sleep")
    wait = next(part for part in killed["parts"] if part["kind"] == "sleep")
    assert wait["end"] == "open" and "had not ended" in wait["words"], wait


def test_a_pool_that_is_too_small(lab):
    cause, request = first_cause(lab, film_case(lab, "pool"))
    assert cause["kind"] == "condition" and "submit_and_wait" in cause["stack"], cause
    assert cause["waker"]["comm"] == "pool-1" and of_work(cause, request) > 0.7
    did = next(part for part in cause["parts"] if not is_of_machine(part))
    assert did["kind"] == "on-cpu" and did["functions"][0]["name"] == "serve_job", did


def test_a_slow_service_downstream(lab):
    """On the same machine the connection leads to the other process, and to what that one did."""
    cause, request = first_cause(lab, film_case(lab, "downstream"))
    assert cause["kind"] == "socket-read" and "ask_downstream" in cause["stack"], cause
    assert re.fullmatch(r"tcp 127\.0\.0\.1:\d+ -> 127\.0\.0\.1:\d+", cause["object"]), cause
    assert cause["waker"]["pid"] != request["pid"] and of_work(cause, request) > 0.7
    did = cause["parts"][0]
    assert did["kind"] == "sleep" and "find_order" in did["stack"] and of_work(did, cause) > 0.8, did


def test_an_accept_queue_that_stays_full(lab):
    cause, request = first_cause(lab, film_case(lab, "accept"))
    assert cause["kind"] == "connect" and cause["end"] == "open" and "connect_to_full" in cause["stack"], cause
    assert re.fullmatch(r"tcp 127\.0\.0\.1:\d+ -> 127\.0\.0\.1:\d+", cause["object"]), cause
    assert share(cause, request) > 0.9


SERVER = """
import http.server, threading, time

lock = threading.Lock()

def write_report():
    with lock:
        time.sleep(0.15)

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/report"):
            write_report()
        else:
            with lock:
                pass
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port)
print("ready", flush=True)
server.serve_forever()
"""


def test_a_request_that_waits_for_another_one(lab, tmp_path):
    """By its id: the request's parts add up to its latency, and lead to what the other request did under the lock."""
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    with running(sys.executable, script) as server:
        port = listening_port(server.pid)
        with lab.recording("-e", EVENTS[1] + ",requests", "-p", server.pid) as (recorder, film):
            assert wait_until(film.begun)
            assert wait_until(lambda: ask_both(port) and film_has(lab, film, "/order/1"))
            for number in range(60):
                assert ask(port, f"/order/{number + 2}", "")
            assert wait_until(lambda: film_has(lab, film, "/order/61", 0))
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    request, = explained(lab, film, "--request", "order-1")
    assert request["id"] == "order-1" and request["path"] == "/order/1" and request["status"] == 200
    assert request["duration"] > 50_000_000
    cause = request["parts"][0]
    assert cause["kind"] == "lock" and cause["object"].startswith("Python lock") and share(cause, request) > 0.5, cause
    did = cause["parts"][0]
    assert did["kind"] == "sleep" and "write_report" in did["stack"], did
    # the others of its endpoint did not wait: that is what the slow ones have more of
    assert request["slow_ones"]["part"].startswith("lock Python lock 0x"), request["slow_ones"]
    assert request["slow_ones"]["slow"] > 50_000_000 > request["slow_ones"]["usual"]
    assert "most of the difference" in lab.run("explain", "--request", "order-1", film.path).stdout
    slowest = explained(lab, film, "--endpoint", "GET /order*", "--slowest", "3")
    assert slowest and all(one["endpoint"].startswith("GET /order") for one in slowest)
    assert lab.run("explain", "--request", "nobody", film.path).returncode == 1


CONVOY = """
import http.server, threading, time
lock = threading.Lock()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with lock:
            time.sleep(0.1 if "slow" in self.path else 0)
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


def test_requests_behind_one_lock_are_one_queue(lab, tmp_path):
    """The last of them names the first holder, and all that it waited for side by side, not one within the other."""
    script = tmp_path / "convoy.py"
    script.write_text(CONVOY)
    with running(sys.executable, script) as server:
        port = listening_port(server.pid)
        with lab.recording("-e", EVENTS[1] + ",requests", "-p", server.pid) as (recorder, film):
            assert wait_until(film.begun)
            assert wait_until(lambda: ask(port, "/warm", "") and film_has(lab, film, "/warm", 0))
            for turn in range(3):
                beside = [threading.Thread(target=ask, args=(port, f"/slow/{turn}{number}", f"slow-{turn}{number}")) for number in range(5)]
                for one in beside:
                    one.start()
                for one in beside:
                    one.join()
            assert wait_until(lambda: film_has(lab, film, "/slow/24", 0))
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    # a busy virtual machine hides a wake now and then, which ends a queue: not those of all turns
    requests = explained(lab, film, "--endpoint", "GET /slow/*", "--slowest", "15")
    found = [(cause, request) for request in requests for cause in request["parts"] if cause["queue"] >= 2]
    assert found, [request["parts"][0] for request in requests]
    cause, last = found[0]
    assert cause["kind"] == "lock", last["parts"]
    first = cause["holder"]["tid"]
    assert first not in (last["tid"], cause["waker"]["tid"])
    assert re.search(rf", held by \S+ \({first}\) and then by {cause['queue']} threads that waited for it, too$", cause["words"])
    # what each of them did with it, itself
    slept = [part for part in cause["parts"] if part["kind"] == "sleep"]
    assert len({part["thread"]["tid"] for part in slept}) == len(slept) >= cause["queue"], cause["parts"]
    assert not any(part["kind"] == "lock" and part["duration"] > 50_000_000 for part in cause["parts"]), cause["parts"]
    assert all(f"({part['thread']['tid']}): sleeping" in part["words"] for part in slept), slept


QUEUE = """
import queue, select, socket, threading, time

jobs = queue.SimpleQueue()

def serve_job(client):
    time.sleep(0.05)
    client.send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")

def worker():
    while True:
        serve_job(jobs.get())

threading.Thread(target=worker, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0))
clients = [listener]
print("ready", flush=True)
while True:
    for client in select.select(clients, [], [])[0]:
        if client is listener:
            clients.append(listener.accept()[0])
        elif client.recv(4096):
            jobs.put(client)
        else:
            clients.remove(client)
"""


def test_requests_in_the_queue_of_a_pool(lab, tmp_path):
    """One thread reads all requests and hands them to another one: what that one served before is the queue."""
    script = tmp_path / "pooled.py"
    script.write_text(QUEUE)
    with running(sys.executable, script) as server:
        port = listening_port(server.pid)
        with lab.recording("-e", EVENTS[1] + ",requests", "-p", server.pid) as (recorder, film):
            assert wait_until(film.begun)
            assert wait_until(lambda: ask(port, "/first", "") and film_has(lab, film, "/first", 0))
            asking = [threading.Thread(target=ask, args=(port, f"/job/{number}", "")) for number in range(6)]
            for thread in asking:
                thread.start()
            for thread in asking:
                thread.join()
            assert wait_until(lambda: all(film_has(lab, film, f"/job/{number}", 0) for number in range(6)))
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    request, = explained(lab, film)
    cause = request["parts"][0]
    assert request["path"].startswith("/job/") and request["received_by"]["tid"] != request["tid"], request
    assert cause["kind"] == "queue" and cause["count"] >= 3 and share(cause, request) > 0.5, request["parts"]
    assert request["more_threads"] == "yes" and "serve_job" in cause["parts"][0]["stack"], cause
    assert re.search(r"queued: .* served \d requests before it", lab.run("explain", film.path).stdout)


def test_goroutines_wait_for_no_thread_that_serves_others(lab):
    """Another thread answers than the one that read, and has answered others meanwhile: that was no queue, and no threads help."""
    film = lab.record("-e", EVENTS[1] + ",requests", "--", lab.program("go_server"), 1.5)
    requests = explained(lab, film, "--slowest", 100)
    moved = [request for request in requests if request["received_by"]["tid"] != request["tid"]]
    assert moved and not [part for request in requests for part in request["parts"] if part["kind"] == "queue"]
    told = lab.run("explain", "--slowest", 100, film.path).stdout
    assert "runs goroutines, which share threads: some of this may be of others; 'record -e threads,go-lanes' tells them apart.\n" in told
    assert "queued" not in told


NGINX = """
daemon off; master_process off; error_log {folder}/errors; pid {folder}/pid; events {{}}
http {{
    access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
    uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
    upstream service {{ server 127.0.0.1:{service}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://service; }}
    }}
}}
"""


def test_a_proxy_that_waits_for_the_service_behind_it(lab, tmp_path):
    """nginx waits for all of its connections at once: the request that it made meanwhile says for which one."""
    if not shutil.which("nginx"):
        pytest.skip("nginx is missing")
    script, port = tmp_path / "server.py", free_port()
    script.write_text(SERVER)
    with running(sys.executable, script) as server:
        service = listening_port(server.pid)
        (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, service=service, port=port))
        nginx = subprocess.Popen(["nginx", "-c", tmp_path / "nginx.conf"], stderr=subprocess.DEVNULL)
        try:
            assert wait_until(lambda: answers(port))
            with lab.recording("-e", EVENTS[1] + ",requests", "-p", f"{nginx.pid},{server.pid}") as (recorder, film):
                assert wait_until(film.begun)
                assert wait_until(lambda: report_amid_others(port) and film_has(lab, film, "/report", 100_000_000))
                recorder.send_signal(signal.SIGINT)
                assert recorder.wait(timeout=PATIENCE) == 0
        finally:
            nginx.kill()
            nginx.wait(timeout=PATIENCE)
    request, = explained(lab, film, "-p", nginx.pid)
    cause = next(part for part in request["parts"] if part["kind"] != "ready")
    assert cause["kind"] == "request" and cause["object"] == f"127.0.0.1:{service}", request["parts"]
    assert f"waiting for the answer of 127.0.0.1:{service} to GET /report" in cause["words"], cause
    # the head of the answer, for which the service slept; and its body, which waits for an acknowledgement
    waits = [part for part in request["parts"] if part["kind"] == "request"]
    assert sum(of_work(part, request) for part in waits) > 0.8
    assert all(part["object"] == cause["object"] for part in waits), waits
    # other connections ended some of the waits of its event loop: it waited for the same answer all the time
    assert cause["count"] > 1 and [part["thread"]["pid"] for part in waits].count(nginx.pid) <= 2, waits
    assert cause["waker"]["pid"] == server.pid and cause["parts"][0]["kind"] == "sleep", cause
    # the service itself slept
    behind, = explained(lab, film, "-p", server.pid)
    assert "write_report" in next(part for part in behind["parts"] if part["kind"] != "ready")["stack"], behind


def report_amid_others(port):
    """A request that takes long, while other connections begin and end."""
    asking = threading.Thread(target=ask, args=(port, "/report", ""))
    asking.start()
    while asking.is_alive():
        socket.create_connection(("127.0.0.1", port)).close()
        asking.join(0.02)
    return True


def answers(port):
    try:
        return ask(port, "/order/0", "")
    except OSError:
        return False


def ask(port, path, name):
    url = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"X-Request-Id": name} if name else {})
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read() == b"ok"


def ask_both(port):
    """A request that takes long, and one that waits for it."""
    long = threading.Thread(target=ask, args=(port, "/report", "report-1"))
    long.start()
    time.sleep(0.03)  # most likely the first one has the lock then; else both are asked again
    try:
        return ask(port, "/order/1", "order-1")
    finally:
        long.join()


def film_has(lab, film, path, least=50_000_000):
    """Whether a request that waited is in the film by now."""
    done = lab.run("report", "--format", "requests-json", "--limit", "0", film.path)
    if done.returncode:
        return False
    slowest = json.loads(done.stdout)["requests"]
    return any(one.get("path") == path and one["duration"] > least for one in slowest)


TRANSACTION = """
import select, socket, threading, time

held = threading.Lock()

def work():
    time.sleep(0.2)

def serve(client):
    while select.select([client], [], [])[0]:
        head = client.recv(4096)
        if not head:
            return
        path = head.split()[1]
        if path == b"/begin":
            held.acquire()
        elif path == b"/work":
            work()
        elif path == b"/commit":
            held.release()
        else:
            with held:
                pass
        client.send(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")

listener = socket.create_server(("127.0.0.1", 0))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def ask_by(connection, path):
    connection.request("GET", path)
    assert connection.getresponse().read() == b"ok"


def test_a_transaction_of_another_connection(lab, tmp_path):
    """What ended the wait came by a connection that had asked for something slow before, while it held the lock."""
    script = tmp_path / "transactions.py"
    script.write_text(TRANSACTION)
    with running(sys.executable, script) as server:
        port = listening_port(server.pid)
        with lab.recording("-e", EVENTS[1] + ",requests", "-p", server.pid) as (recorder, film):
            assert wait_until(film.begun)
            first, other = (http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE) for _ in range(2))

            def ask_all():
                ask_by(first, "/begin")
                waits = threading.Thread(target=ask_by, args=(other, "/update"))
                waits.start()
                # most likely it waits before that is over; else all is asked again
                ask_by(first, "/work")
                time.sleep(0.03)  # its client computes, and the server waits for new work
                ask_by(first, "/commit")
                waits.join()
                return film_has(lab, film, "/update", 100_000_000)

            assert wait_until(ask_all)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
            first.close()
            other.close()
    request, = explained(lab, film, "--endpoint", "* /update")
    wait = next(part for part in request["parts"] if any(inner["kind"] == "connection" for inner in part["parts"]))
    before = next(part for part in wait["parts"] if part["kind"] == "connection")
    assert share(before, request) > 0.5 and "served 1 request of the same connection before, GET /work" in before["words"], request
    assert next(part for part in before["parts"] if not is_of_machine(part))["kind"] == "sleep", before


# One thread fills memory, for which the kernel locks the process's memory; another one asks for some.
FILLS_MEMORY = """
import ctypes, mmap, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
end = time.monotonic() + 2

def take(size, flags):
    while time.monotonic() < end:
        libc.munmap(libc.mmap(None, size, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags, -1, 0), size)

filler = threading.Thread(target=take, args=(64 << 20, mmap.MAP_POPULATE))
filler.start()
take(4096, 0)
filler.join()
"""


def test_a_lock_of_the_kernel_is_no_futex(lab):
    """What waits in mmap() waits for the memory's lock: the call's address is none of a lock."""
    film = lab.record(*EVENTS, "--", sys.executable, "-c", FILLS_MEMORY)
    words = [part["words"] for request in explained(lab, film, "--slowest", "9") for part in request["parts"] if part["kind"] == "lock"]
    assert any("the kernel's lock on the memory of its process (m" in one for one in words), words
    assert not any("map for futex" in one for one in words), words


def test_a_film_without_lives_says_what_to_record(lab):
    film = lab.record("-d", "0.1", "-p", os.getpid())
    done = lab.run("explain", film.path)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "stackcam: cannot explain: the film has no lives of threads; " \
        "record with 'stackcam record -e threads,on-cpu'\n"


def test_a_film_of_nothing_says_so(lab):
    """It was recorded as it should be: to say how would mislead."""
    film = lab.record("-e", "threads,requests", "-d", "0.5", "-n", "no-process-has-this,nor-this")
    assert "-n may be given several times" in film.recording.stderr
    assert "; nothing that was to be filmed ran" in film.recording.stderr, film.recording.stderr
    done = lab.run("explain", film.path)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "stackcam: cannot explain: nothing that was to be filmed ran, so the film has no lives of threads\n"
    done = lab.run("report", "--format", "requests", film.path)
    assert done.returncode == 1 and done.stderr == "stackcam: format requests shows requests, and the film has none: " \
        "none were seen while it was recorded\n", done.stderr


def test_wrong_usage_and_nothing_that_matches(lab):
    film = film_case(lab, "burn", seconds=0.2)
    for wrong in (["--slowest", "0"], ["--format", "svg"], ["--thread", "x"], [film.path, film.path], ["--from", "soon"]):
        assert lab.run("explain", *wrong).returncode == 2, wrong
    for empty in (["-n", "nobody"], ["--from", "30s"]):
        done = lab.run("explain", *empty, film.path)
        assert done.returncode == 1 and not done.stdout and done.stderr.startswith("stackcam: "), (empty, done)


def test_a_part_of_the_time_adds_up_too(lab):
    film = film_case(lab, "lock")
    whole = explained(lab, film, "--slowest", "10")
    assert len(whole) == 3
    for begin, end in (("0.5s", "0.6s"), ("1s", "1.001s"), ("0s", "20s")):
        for request in explained(lab, film, "--slowest", "10", "--from", begin, "--to", end):
            assert request["unexplained"] <= request["duration"]
    half = explained(lab, film, "--thread", whole[0]["tid"], "--from", "0.5s", "--to", "1.5s")[0]
    assert half["duration"] == 1_000_000_000


def test_a_part_of_the_time_without_requests_is_that_part(lab):
    """Of a film that may have requests, which may have begun before."""
    film = film_case(lab, "lock", options=("-e", EVENTS[1] + ",requests"))
    for request in explained(lab, film, "--slowest", "10", "--from", "0.5s", "--to", "0.6s"):
        assert request["duration"] <= 100_000_000, request
    done = lab.run("explain", "--from", "30s", film.path)
    assert done.returncode == 1 and not done.stdout and "in that time" in done.stderr, done


def test_it_writes_a_file_and_survives_a_closed_pipe(lab):
    film = film_case(lab, "burn", seconds=0.2)
    done = lab.run("explain", "-o", lab.folder / "why.txt", film.path)
    assert done.returncode == 0 and not done.stdout and "on CPU" in (lab.folder / "why.txt").read_text()
    pipe = subprocess.Popen([lab.stackcam, "explain", film.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pipe.stdout.close()
    assert pipe.wait(timeout=PATIENCE) != 1


BOTH_FAMILIES = """
import os, socket, time
server = socket.socket(socket.AF_INET6)
server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
server.bind(("::", 0))
server.listen()
if not os.fork():
    client = socket.create_connection(("127.0.0.1", server.getsockname()[1]))
    for _ in range(30):
        asked = time.thread_time()
        while time.thread_time() < asked + 0.01:
            pass
        client.send(b"q")
        client.recv(1)
    os._exit(0)
connection, _ = server.accept()
while connection.recv(1):
    connection.send(b"a")
"""


def test_the_other_end_of_a_connection_of_both_families(lab):
    """A socket of IPv6 names the addresses of a client of IPv4 in another form than the client's socket does."""
    film = lab.record("-e", "threads,on-cpu", "--", sys.executable, "-c", BOTH_FAMILIES)
    # of either of the two
    parts = [part for request in explained(lab, film, "--slowest", "2") for part in request["parts"]]
    assert any(re.search(r"tcp \S*127\.0\.0\.1\S*:\d+ -> \S*127\.0\.0\.1\S*:\d+", part["object"] or "") and part["waker"]
               and part["waker"]["comm"].startswith("python") and "ended by python" in part["words"] for part in parts), parts
