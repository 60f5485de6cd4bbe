# SPDX-License-Identifier: Apache-2.0
"""A request that goes through several services, one of which serves others on the same thread: one path leads through all of them."""

import json
import subprocess
import sys
import time

import pytest

import planted
from harness import free_port, needs_root, running, wait_until
from test_cases import filming
from test_explain import ask, check_sums, explained, film_has
from test_explain_calls import requests_of
from test_requests import CLIENT, redis_server, serving, tool  # noqa: F401 (a fixture)
from test_requests_loops import haproxy_server

pytestmark = needs_root

SERVICES = """
import asyncio, http.client, http.server, sys, time

me, port, behind = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ANSWER = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if me == "stock":
            look_up()
        elif self.path.startswith("/order/"):
            connection = http.client.HTTPConnection("127.0.0.1", behind)
            connection.request("GET", self.path)
            connection.getresponse().read()
            connection.close()
        self.wfile.write(ANSWER)

    def log_message(self, *arguments):
        pass

def look_up():
    time.sleep(0.15)

async def relay(reader, writer):
    while head := await reader.readuntil(b"\\r\\n\\r\\n"):
        their_reader, their_writer = await asyncio.open_connection("127.0.0.1", behind)
        their_writer.write(b"GET " + head.split()[1] + b" HTTP/1.1\\r\\n\\r\\n")
        await their_reader.readexactly(len(ANSWER))
        their_writer.close()
        writer.write(ANSWER)

async def serve_relay():
    server = await asyncio.start_server(relay, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()

if me == "relay":
    asyncio.run(serve_relay())
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
print("ready", flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module", name="film")
def a_film_of_three_services(shared_lab, tmp_path_factory):
    """Of a front that asks a relay, which asks a stock. Yields the film and the process of each."""
    program = tmp_path_factory.mktemp("services") / "service.py"
    program.write_text(SERVICES)
    ports = {name: free_port() for name in ("front", "relay", "stock")}
    with running(sys.executable, program, "stock", ports["stock"], 0) as stock, \
            running(sys.executable, program, "relay", ports["relay"], ports["stock"]) as relay, \
            running(sys.executable, program, "front", ports["front"], ports["relay"]) as front:
        processes = {"front": front.pid, "relay": relay.pid, "stock": stock.pid}
        with filming(shared_lab, "-e", "requests,threads,on-cpu", "-p", ",".join(map(str, processes.values()))) as film:
            assert wait_until(lambda: ask(ports["front"], "/order/1", "") and
                              film_has(shared_lab, film, "/order/1", 100_000_000))
    return film, processes


def longest(part):
    return max(part["parts"], key=lambda one: one["duration"])


def path_of(request):
    """The calls that are the longest part of each other, and what the last one of the services did for longest."""
    calls, part = [], longest(request)
    while ", served by " in (part["words"] or ""):
        calls.append(part)
        part = longest(part)
    return calls, part


def test_one_path_leads_through_an_event_loop_to_the_cause(shared_lab, film):
    film, processes = film
    request, = explained(shared_lab, film, "--slowest", "1")
    calls, cause = path_of(request)
    assert request["pid"] == processes["front"], "the request of a client, and not one that it led to"
    assert [call["waker"]["pid"] for call in calls] == [processes["relay"], processes["stock"]], calls
    assert cause["kind"] == "sleep" and cause["thread"]["pid"] == processes["stock"], cause
    assert any(frame.endswith("look_up") for frame in cause["stack"]), cause
    check_sums(request)


def test_what_the_relay_does_otherwise_is_not_explained(shared_lab, film):
    film, processes = film
    request, = explained(shared_lab, film, "--slowest", "1")
    calls, _ = path_of(request)
    others = [part for part in calls[0]["parts"] if part is not calls[1] and part["thread"]["pid"] == processes["relay"]]
    assert {part["kind"] for part in others} <= {"unexplained", "request"}, others
    assert "not told apart" in "".join(part["words"] for part in others), others
    assert request["unexplained"] >= sum(part["duration"] for part in others if part["kind"] == "unexplained")


def test_its_cause_is_the_sleep_of_the_last_service(shared_lab, film):
    film, processes = film
    request, = explained(shared_lab, film, "--slowest", "1")
    assert request["cause"]["kind"] == "sleep" and request["cause"]["thread"]["pid"] == processes["stock"], request["cause"]
    assert request["cause"]["duration"] >= 149_000_000 and request["more_threads"] == "no"
    text = shared_lab.run("explain", film.path).stdout
    assert "Its longest cause is sleeping in " in text, text


def test_requests_that_another_one_led_to_are_not_listed_beside_it(shared_lab, film):
    film, processes = film
    several = explained(shared_lab, film, "--slowest", "5", "--endpoint", "GET /order/*")
    assert {request["pid"] for request in several} == {processes["front"]}, several
    # but they are, where only theirs are asked for
    relays, = explained(shared_lab, film, "--slowest", "1", "--process", str(processes["relay"]))
    assert relays["pid"] == processes["relay"]


def test_a_request_that_was_made_leads_to_what_served_it(shared_lab, film):
    film, processes = film
    made = max((row for row in requests_of(shared_lab, film) if row["role"] == "made" and row["pid"] == processes["front"]),
               key=lambda row: row["duration"])
    request, = explained(shared_lab, film, "--request", made["number"])
    calls, cause = path_of(request)
    assert request["role"] == "made" and [call["waker"]["pid"] for call in calls] == [processes["relay"], processes["stock"]]
    assert cause["kind"] == "sleep", json.dumps(cause)
    check_sums(request)


ONE_AT_A_TIME = """
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/report":
            write_report()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass

def write_report():
    time.sleep(0.3)

server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""

# both are in the queue of the server's socket before it answers the first of them
TWO_CLIENTS = """
import socket, sys

def ask(path):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.sendall(b"GET " + path + b" HTTP/1.0\\r\\n\\r\\n")
    return connection

for _ in sys.stdin:
    for connection in [ask(path) for path in (b"/report", b"/order/1")]:
        connection.settimeout(0.1)
        while True:
            try:
                if not connection.recv(4096):
                    break
            except TimeoutError:
                pass
    print("answered", flush=True)
"""


def test_a_request_that_waited_until_its_server_had_answered_another_one(shared_lab, tmp_path):
    server_file, client_file = tmp_path / "server.py", tmp_path / "client.py"
    server_file.write_text(ONE_AT_A_TIME)
    client_file.write_text(TWO_CLIENTS)
    port = free_port()
    with running(sys.executable, server_file, port) as server:
        with subprocess.Popen([sys.executable, client_file, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as client:
            with filming(shared_lab, "-e", "requests,threads,on-cpu", "-p", f"{server.pid},{client.pid}") as film:
                client.stdin.write("ask\n")
                client.stdin.close()
                assert client.stdout.readline() == "answered\n"
    waited, = [row for row in requests_of(shared_lab, film) if row["role"] == "made" and row["path"] == "/order/1"]
    request, = explained(shared_lab, film, "--request", waited["number"])
    check_sums(request)
    # on a busy machine the client may be woken more than once
    call = max((part for part in request["parts"] if part["waker"] and part["waker"]["pid"] == server.pid),
               key=lambda part: part["duration"])
    queue = longest(call)
    assert queue["kind"] == "queue" and queue["object"] == "GET /report" and queue["count"] == 1, call
    assert "served 1 request before it, GET /report" in queue["words"], queue["words"]
    assert queue["thread"]["pid"] == server.pid and queue["duration"] > 200_000_000, queue
    sleep = longest(queue)
    assert sleep["kind"] == "sleep" and any(frame.endswith("write_report") for frame in sleep["stack"]), sleep
    assert request["cause"]["kind"] == "queue" and request["more_threads"] == "yes", request["cause"]


TWO_AT_A_TIME = """
import selectors, socket, sys, time

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ)
asked = []
print("ready", flush=True)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            selector.register(listener.accept()[0], selectors.EVENT_READ)
        else:
            asked.append((key.fileobj.recv(4096), key.fileobj))
            selector.unregister(key.fileobj)
    if len(asked) == 2:
        for head, connection in sorted(asked, reverse=True):
            if b"/report" in head:
                time.sleep(0.3)
            connection.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
            connection.close()
        asked = []
"""


def test_a_request_whose_server_had_others_at_the_same_time(shared_lab, tmp_path):
    server_file, client_file = tmp_path / "server.py", tmp_path / "client.py"
    server_file.write_text(TWO_AT_A_TIME)
    client_file.write_text(TWO_CLIENTS)
    port = free_port()
    with running(sys.executable, server_file, port) as server:
        with subprocess.Popen([sys.executable, client_file, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as client:
            with filming(shared_lab, "-e", "requests,threads,on-cpu", "-p", f"{server.pid},{client.pid}") as film:
                client.stdin.write("ask\n")
                client.stdin.close()
                assert client.stdout.readline() == "answered\n"
    waited, = [row for row in requests_of(shared_lab, film) if row["role"] == "made" and row["path"] == "/order/1"]
    request, = explained(shared_lab, film, "--request", waited["number"])
    assert request["at_once"]["requests"] == 1 and request["at_once"]["endpoint"] == "GET /report", request["at_once"]
    assert request["at_once"]["longest"] >= 300_000_000, request["at_once"]
    text = shared_lab.run("explain", "--request", waited["number"], film.path).stdout
    assert "The thread that served it had 1 other request at the same time, longest GET /report, for " in text, text
    served, = [row for row in requests_of(shared_lab, film) if row["role"] == "served" and row["path"] == "/order/1"]
    told = shared_lab.run("explain", "--request", served["number"], film.path).stdout
    assert "sleeping (clock_nanosleep)" in told, told
    served, = explained(shared_lab, film, "--request", served["number"])
    sleep, = [part for part in served["parts"] if part["kind"] == "sleep"]
    assert sleep["end"] == "timer" and sleep["duration"] >= 300_000_000, served["parts"]
    # it slept for the other one, which another thread would have served; where a busy machine had it ready for longer than
    # that, it is this that the answer is about
    advice = "Whether more threads would help is not known: its thread served others, too"
    if served["parts"][0]["kind"] == "ready" and served["parts"][0]["duration"] >= sleep["duration"]:
        advice = "More threads would not help: they would wait for the same CPUs"
    assert advice in told, told


IDLE_HOLDER = """
import select, socket, sys, threading, time

lock = threading.Lock()

def hold(connection, has_it):
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    with lock:
        has_it.set()
        time.sleep(0.2)  # the client waits for the connection: by that it is known at its other end
        connection.sendall(b"1")
        poll.poll()

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
connection, _ = listener.accept()
has_it = threading.Event()
threading.Thread(target=hold, args=(connection, has_it)).start()
has_it.wait()
with lock:
    pass
"""

IDLE_CLIENT = """
import socket, sys, time

print("ready", flush=True)
sys.stdin.readline()
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.recv(1)
time.sleep(0.2)
connection.sendall(b"2")
"""


def test_the_client_is_named_for_which_the_holder_of_a_lock_waits(shared_lab, tmp_path):
    """As of a transaction that is open, and whose client does nothing."""
    server_file, client_file = tmp_path / "server.py", tmp_path / "client.py"
    server_file.write_text(IDLE_HOLDER)
    client_file.write_text(IDLE_CLIENT)
    port = free_port()
    with running(sys.executable, server_file, port) as server, \
            running(sys.executable, client_file, port, stdin=subprocess.PIPE) as client:
        with filming(shared_lab, "-e", "threads,on-cpu", "-p", f"{server.pid},{client.pid}") as film:
            client.process.stdin.write(b"x\n")
            client.process.stdin.close()
            assert client.wait() == 0 and server.wait() == 0
    explained_one, = explained(shared_lab, film, "--thread", server.pid)
    lock = next(part for part in explained_one["parts"] if part["kind"] == "lock" and part["parts"])
    idle = next(part for part in lock["parts"] if part["kind"] == "poll")
    assert lock["waker"]["pid"] == server.pid and idle["peer"] == {"pid": client.pid, "comm": "python3"}, idle
    assert f"with python3 ({client.pid}) at its other end" in idle["words"], idle["words"]


ASKS_LATE = """
import http.client, http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.2)
        connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[2]))
        connection.request("GET", "/stock/1")
        connection.getresponse().read()
        connection.close()
        if self.path == "/late/2":
            time.sleep(0.5)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass

server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""


def test_a_service_that_asks_another_one_late(shared_lab, tmp_path):
    late_file, stock_file = tmp_path / "late.py", tmp_path / "stock.py"
    late_file.write_text(ASKS_LATE)
    stock_file.write_text(ONE_AT_A_TIME)
    port, stock_port = free_port(), free_port()
    with running(sys.executable, stock_file, stock_port) as stock, running(sys.executable, late_file, port, stock_port) as late:
        with filming(shared_lab, "-e", "requests,threads,on-cpu", "-p", f"{stock.pid},{late.pid}") as film:
            assert wait_until(lambda: ask(port, "/late/1", "") and film_has(shared_lab, film, "/late/1", 200_000_000))
            assert wait_until(lambda: ask(port, "/late/2", "") and film_has(shared_lab, film, "/late/2", 700_000_000))
    of = {row["path"]: row["number"] for row in requests_of(shared_lab, film) if row["role"] == "served" and row["pid"] == late.pid}
    request, = explained(shared_lab, film, "--request", of["/late/1"])
    assert request["asked_late"]["endpoint"] == "GET /stock/*" and request["asked_late"]["peer"] == f"127.0.0.1:{stock_port}"
    assert 200_000_000 <= request["asked_late"]["after"] < request["duration"], request["asked_late"]
    text = shared_lab.run("explain", "--request", of["/late/1"], film.path).stdout
    assert f"first GET /stock/* of 127.0.0.1:{stock_port}, only after " in text, text
    assert "its own work, or a wait that is not a request, such as one for a name server, came before." in text, text
    # which took longer after that
    request, = explained(shared_lab, film, "--request", of["/late/2"])
    assert request["asked_late"] is None, request


WAITS_WHILE_IT_SERVES = """
import http.server, os, select, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked", flush=True)
        poll = select.epoll()
        poll.register(0, select.EPOLLIN)
        poll.poll()
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""

ASKS_ONCE = """
import sys, urllib.request

sys.stdin.readline()
urllib.request.urlopen("http://127.0.0.1:%s/order" % sys.argv[1]).read()
print("answered", flush=True)
"""


def test_a_server_that_polls_while_it_serves_has_work(shared_lab):
    """What it waits for comes from a program that is not filmed: the wait is all that can be said, but it had the request."""
    port = free_port()
    with running(sys.executable, "-c", WAITS_WHILE_IT_SERVES, port, stdin=subprocess.PIPE) as server, \
         subprocess.Popen([sys.executable, "-c", ASKS_ONCE, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        with filming(shared_lab, "-e", "requests,threads", "-p", f"{server.pid},{client.pid}") as film:
            client.stdin.write("ask\n")
            client.stdin.flush()
            assert server.process.stdout.readline() == b"asked\n"
            began = time.monotonic()
            assert wait_until(lambda: time.monotonic() - began > 0.2)
            server.process.stdin.write(b"done\n")
            server.process.stdin.flush()
            assert client.stdout.readline() == "answered\n"
    made, = [row for row in requests_of(shared_lab, film) if row["role"] == "made"]
    request, = explained(shared_lab, film, "--request", made["number"])
    wait = longest(longest(request))
    assert wait["duration"] > 100_000_000 and wait["words"].startswith("waiting for new events (epoll_wait) on pipe "), wait


def test_a_queue_in_a_proxy(lab, serving):
    """While it waits there, its event loop waits for others: that says nothing of it. Then its own answer is waited for."""
    _, behind, _ = serving(lambda folder, port: [sys.executable, planted.PROGRAMS / "slow_http.py", "0.03", str(port)])
    proxy, port, _ = serving(haproxy_server, behind=behind, threads=1)
    film = lab.record("-e", "threads,requests", "-p", proxy.pid, "--", sys.executable, CLIENT, port, 40, 3)
    request, = explained(lab, film, "--slowest", "1")
    shared = [part for part in request["parts"] if part["end"] == "shared"]
    answers = [part for part in request["parts"] if part["kind"] == "request"]
    assert len(shared) == 1 and shared[0]["words"].endswith("of any of its requests: what this one waited for is not known")
    assert not shared[0]["parts"], "what ended it was for others"
    assert request["unexplained"] >= shared[0]["duration"], request
    assert request["asked_late"]["peer"] == f"127.0.0.1:{behind}", request
    assert sum(part["duration"] for part in answers) >= 20_000_000, request
    assert longest(request) == shared[0], request
    told = lab.run("explain", "--slowest", "1", film.path).stdout
    assert "Without the first of these" not in told and "most of the time is not explained" in told, told


# One thread asks and sleeps; another one watches its connection, and wakes it when the answer comes.
WATCHES = """
import select, socket, sys, threading

port, behind = int(sys.argv[1]), int(sys.argv[2])
watched, come = select.epoll(), {}

def watch():
    while True:
        for number, _ in watched.poll():
            watched.unregister(number)
            come.pop(number).set()

def ask():
    there = socket.create_connection(("127.0.0.1", behind))
    there.sendall(b"GET /behind HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    come[there.fileno()] = answered = threading.Event()
    watched.register(there.fileno(), select.EPOLLIN)
    answered.wait()
    there.recv(65536)

listener = socket.create_server(("127.0.0.1", port), backlog=100)
threading.Thread(target=watch, daemon=True).start()
while True:
    client, _ = listener.accept()
    while client.recv(65536):
        ask()
        client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\n/mark-0-0")
"""


def test_an_answer_that_another_thread_watches_for(lab, serving):
    """The one that asked sleeps until that one wakes it: what both wait for is the answer."""
    _, behind, _ = serving(lambda folder, port: [sys.executable, planted.PROGRAMS / "slow_http.py", "0.03", str(port)])
    server, port, _ = serving(lambda folder, port: [sys.executable, "-c", WATCHES, str(port), str(behind)])
    film = lab.record("-e", "threads,requests", "-p", server.pid, "--", sys.executable, CLIENT, port, 1, 1)
    request, = explained(lab, film, "--slowest", "1")
    wait = longest(request)
    assert wait["duration"] >= 25_000_000 and wait["waker"], request
    answer = longest(wait)
    assert answer["kind"] == "request" and answer["words"].startswith(f"waiting for the answer of 127.0.0.1:{behind} to GET /behind"), wait
    assert answer["duration"] >= 25_000_000, wait


def test_a_worker_that_asks_for_work_is_not_the_slowest(lab, serving):  # noqa: F811
    """BRPOP takes as long as a queue of jobs is empty: what else was slow is explained, and it only if it is asked for."""
    process, port, _ = serving(redis_server)
    ask = f"{tool('redis-cli')} -p {port}"
    film = lab.record("-e", "requests,threads", "-p", process.pid, "--", "sh", "-c", f"{ask} brpop jobs 1 & {ask} incr orders; wait")
    slowest, last = explained(lab, film, "--slowest", "2")
    assert slowest["endpoint"] == "INCR orders" and last["endpoint"] == "BRPOP jobs", (slowest, last)
    assert last["duration"] > 900_000_000 > slowest["duration"], (slowest, last)
    asked, = explained(lab, film, "--endpoint", "BRPOP*")
    assert asked["endpoint"] == "BRPOP jobs", asked
