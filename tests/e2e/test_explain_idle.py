# SPDX-License-Identifier: Apache-2.0
"""Waits for new work are no causes; and what only looks like one is not called that."""

import re
import subprocess
import sys
import time

import pytest

from harness import PATIENCE, needs_root
from test_explain import EVENTS, explained, share

pytestmark = needs_root


IDLE = """
import os, select
reader, writer = os.pipe()
poll = select.epoll()
poll.register(0, select.EPOLLIN)
while not any(os.read(0, 1) == b"" for _ in poll.poll()):
    sum(range(1000000))
"""


def test_to_have_no_work_is_no_cause(lab):
    """An event loop that works for a small part of its time: what it did then is the cause, and that no events came is none."""
    with subprocess.Popen([sys.executable, "-c", IDLE], stdin=subprocess.PIPE) as server:
        film = lab.new_film()
        recorder = [lab.stackcam, "record", "-q", *EVENTS, "-p", str(server.pid), "-o", film]
        with subprocess.Popen([*recorder, "--", sys.executable, "-c", "import time\nfor _ in range(8): print(flush=True); time.sleep(.2)"],
                              stdout=server.stdin) as recording:
            assert recording.wait(timeout=PATIENCE) == 0
        server.stdin.close()
    request, = explained(lab, film, "-p", server.pid)
    idle = [part for part in request["parts"] if part["end"] == "idle"]
    assert sum(share(part, request) for part in idle) > 0.3, request["parts"]
    assert request["cause"]["kind"] in ("on-cpu", "ready", "unexplained"), request["cause"]
    told = lab.run("explain", "-p", server.pid, film).stdout
    assert request["parts"][0]["end"] != "idle" or re.search(r"\nFor [^ ]+ m?s \(\d+ %\) it waited for new work\. Its longest cause is ", told), told
    assert "Without the first of these" not in told or request["parts"][0]["end"] != "idle", told


# Asks a name server of its own, which takes its time, as the resolver of the C library does: it polls one connection.
ASKS_NAMES = """
import select, socket, threading, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.53.53", 53))

def serve():
    while True:
        question, who = server.recvfrom(512)
        time.sleep(.2)
        server.sendto(question, who)

def look_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.connect(("127.0.53.53", 53))
        asked.send(b"?")
        poll = select.poll()
        poll.register(asked, select.POLLIN)
        poll.poll()
        asked.recv(512)

threading.Thread(target=serve, daemon=True).start()
for _ in range(5):
    look_up()
"""


def test_a_slow_name_server(lab):
    """By its system call it waits for new events, but it has work: it asked. All look-ups are one part."""
    film = lab.record(*EVENTS, "--", sys.executable, "-c", ASKS_NAMES)
    request = next(one for one in explained(lab, film, "--slowest", "9") if one["parts"][0]["kind"] == "name-server")
    part = request["parts"][0]
    assert part["count"] == 5 and 1e9 <= part["duration"] < 3e9, part
    assert part["words"].startswith("waiting for the answer of name server 127.0.53.53:53 (poll)"), part
    assert request["cause"]["kind"] == "name-server", request["cause"]


# Three processes take turns: the one that has the lock waits for the next connection, and serves it when another one has the lock.
TAKES_TURNS = """
import fcntl, os, select, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))

def work():
    lock = open(sys.argv[1], "w")
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    while True:
        fcntl.flock(lock, fcntl.LOCK_EX)
        poll.poll()
        connection, _ = listener.accept()
        fcntl.flock(lock, fcntl.LOCK_UN)
        time.sleep(.05)
        connection.close()

workers = []
for _ in range(3):
    worker = os.fork()
    if not worker:
        work()
    workers.append(worker)
for _ in range(8):
    time.sleep(.2)
    with socket.create_connection(listener.getsockname()) as client:
        client.recv(1)
for worker in workers:
    os.kill(worker, 9)
"""


def test_a_turn_to_accept_is_no_lock_that_delays(lab, tmp_path):
    """Its workers wait for a lock, whose holder waits for a connection: they have no work, and the lock is not the cause."""
    film = lab.record(*EVENTS, "--", sys.executable, "-c", TAKES_TURNS, tmp_path / "turn")
    waits = [(request, part) for request in explained(lab, film, "--slowest", "9") for part in request["parts"]
             if "its turn to wait for the next connection" in part["words"]]
    # the lock is still held as the film ends
    turns = [request for request, part in waits if part["end"] == "idle"]
    assert len(turns) >= 2 and sum(part["duration"] for _, part in waits) > 1.5e9, waits
    for request in turns:
        assert request["cause"]["kind"] != "lock", request["cause"]


TALKS = """
import select, socket, sys, time
role, pause = sys.argv[1], float(sys.argv[2])
poll = select.poll()

def serve():
    for port in range(20000, 20100):  # as a service has, not one that Linux gives to clients
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            pass

if role == "server":
    with serve() as listening:
        print(listening.getsockname()[1], flush=True)
        connection, _ = listening.accept()
else:
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
    connection.send(b"?")
poll.register(connection, select.POLLIN)
while poll.poll() and connection.recv(1):
    time.sleep(pause)
    connection.send(b"!")
"""


@pytest.mark.parametrize("role", ["client", "server"])
def test_what_may_be_a_wait_for_an_answer(lab, role):
    """A poll on a connection: of the one that opened it, it is not said that it waited for new work alone."""
    pauses = ("0.05", "0") if role == "client" else ("0", "0.05")
    with subprocess.Popen([sys.executable, "-c", TALKS, "server", pauses[0]], stdout=subprocess.PIPE, text=True) as server:
        with subprocess.Popen([sys.executable, "-c", TALKS, "client", pauses[1], server.stdout.readline()]) as client:
            process = client if role == "client" else server
            film = lab.record(*EVENTS, "-p", process.pid, "-d", 1)
            client.kill()
    told = lab.run("explain", "-p", process.pid, film.path).stdout
    assert " it waited for new work" in told, told
    for_answers = " of that, for answers on connections that it seems to have opened (-e requests tells). Its longest other cause is "
    assert (for_answers in told) == (role == "client"), told
