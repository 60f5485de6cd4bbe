# SPDX-License-Identifier: Apache-2.0
"""More than the web server can do, and clients that are slow or go away."""

import http.client
import os
import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from asking import OPEN, PATIENCE, WRITE, Server, program, send_film, start  # noqa: F401 (fixtures)


def test_a_full_queue_is_told(start):
    server = start("workers=1", "queue=1")
    deadline = time.monotonic() + PATIENCE
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(server.request, "/api/v1/flame?service=block")
        while server.ask("blocked") != "1":
            assert time.monotonic() < deadline
        more = [pool.submit(server.request, "/api/v1/flame?service=block") for _ in range(4)]
        # one of them waits for the worker, the others cannot
        while sum(f.done() for f in more) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        # what needs no work is answered all the same
        assert server.request("/api/v1/openapi.json")[0] == 200
        server.say("release")
        assert first.result()[0] == 200
        answers = [f.result() for f in more]
    assert sorted(status for status, _, _ in answers) == [200, 503, 503, 503]
    assert all(headers["Retry-After"] == "1" for status, headers, _ in answers if status == 503)


def test_a_client_that_goes_away_meanwhile(start):
    server = start("workers=1")
    plug = socket.create_connection((server.host, server.port))
    plug.sendall(b"GET /api/v1/flame?service=block HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while server.ask("blocked") != "1":
        pass
    plug.close()
    server.say("release")
    assert server.json("/api/v1/flame")["sum"]["samples"] == 42


def await_count(server, what, count):
    deadline = time.monotonic() + PATIENCE
    while int(server.ask(what)) < count:
        assert time.monotonic() < deadline, f"{what}: {server.ask(what)}, not {count}"
        time.sleep(0.01)


def ask_slowly(server):
    """A question whose answer is long in coming."""
    plug = socket.create_connection((server.host, server.port), timeout=PATIENCE)
    plug.sendall(b"GET /api/v1/flame?service=block HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return plug


def test_what_nobody_waits_for_is_given_up(start):
    """Those at work end, those in the queue are not begun, and who still waits gets an answer."""
    server = start("workers=2")
    plugs = [ask_slowly(server) for _ in range(24)]
    await_count(server, "blocked", 2)
    for plug in plugs:
        plug.close()
    await_count(server, "given up", 2)
    assert server.json("/api/v1/flame")["sum"]["samples"] == 42
    assert server.ask("blocked") == "0"
    # half of them are given up
    stay, leave = ask_slowly(server), ask_slowly(server)
    await_count(server, "blocked", 2)
    leave.close()
    await_count(server, "given up", 3)
    server.say("release")
    assert stay.recv(100).startswith(b"HTTP/1.1 200 ")
    stay.close()


def test_slow_questions_hold_up_no_others(start, tmp_path):
    """How the server is, and what agents send, do not wait behind them; nor do those who come later for their turn."""
    server = start("workers=1", f"spool={tmp_path}")
    plugs = [ask_slowly(server) for _ in range(50)]
    await_count(server, "blocked", 1)
    for number in range(1, 4):
        assert server.json("/api/v1/status")["host"] == "host7"
        assert send_film(server, headers={"X-Stackcam-Number": str(number)})[0] == 200
    nice = {(task / "comm").read_text().strip(): int((task / "stat").read_text().rpartition(")")[2].split()[16])
            for task in Path(f"/proc/{server.process.pid}/task").iterdir()}
    assert nice["question"] > nice["free"] == nice["push"] == nice["MHD-single"]
    server.say("release")
    for plug in plugs:
        assert plug.recv(100).startswith(b"HTTP/1.1 200 ")
        plug.close()


def test_it_ends_while_answers_are_made(program):
    server = Server(program, *OPEN, "workers=1")
    plugs = []
    for _ in range(5):
        plugs.append(socket.create_connection((server.host, server.port)))
        plugs[-1].sendall(b"GET /api/v1/flame?service=block HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while server.ask("blocked") != "1":
        pass
    assert server.stop() == 0
    for plug in plugs:
        plug.close()


def test_slow_clients_are_ended(start, tmp_path):
    server = start("idle=1", "first=1", "head=1", "request=1", f"spool={tmp_path}")
    begun = time.monotonic()
    pieces = {
        "header": b"GET /api/v1/status HTTP/1.1\r\n",
        "body": b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
                b"Authorization: Bearer " + WRITE.encode() + b"\r\n\r\n",
        "nothing": b"",
    }
    plugs = {}
    for name, piece in pieces.items():
        plugs[name] = socket.create_connection((server.host, server.port), timeout=PATIENCE)
        plugs[name].sendall(piece)

    def drip(plug):
        """A byte now and then, which keeps any limit of silence away."""
        try:
            while True:
                plug.sendall(b"x")
                time.sleep(0.1)
        except OSError:
            pass

    drips = [threading.Thread(target=drip, args=(plugs[name],)) for name in ("header", "body")]
    for thread in drips:
        thread.start()
    for plug in plugs.values():
        try:
            while plug.recv(4096):
                pass
        except ConnectionResetError:
            pass
    for thread in drips:
        thread.join(PATIENCE)
    assert 0.9 < time.monotonic() - begun < PATIENCE
    for plug in plugs.values():
        plug.close()
    assert not os.listdir(tmp_path)
    assert server.json("/api/v1/status")["read_only"] is False


def test_a_thousand_at_once(start):
    server = start()
    ready, answers = threading.Barrier(50), []

    def ask(_):
        plugs = []
        for _ in range(20):
            plugs.append(socket.create_connection((server.host, server.port), timeout=PATIENCE))
        ready.wait(PATIENCE)
        for i, plug in enumerate(plugs):
            path = ("flame", "functions", "series", "status")[i % 4]
            plug.sendall(f"GET /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        for plug in plugs:
            answer = b""
            while piece := plug.recv(65536):
                answer += piece
            plug.close()
            answers.append(answer)

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(ask, range(50)))
    assert len(answers) == 1000
    statuses = [answer.split(b" ")[1] for answer in answers]
    assert set(statuses) <= {b"200", b"503"}
    assert statuses.count(b"200") >= 256
    assert all(b"Retry-After: 1" in answer for answer in answers if b" 503 " in answer[:20])
    assert server.json("/api/v1/status")["process"]["rss_bytes"] < 100e6


def test_answers_that_nobody_takes(start):
    server = start("answers=3000000")
    plugs, refused = [], 0
    while not refused and len(plugs) < 20:
        plugs.append(socket.create_connection((server.host, server.port), timeout=PATIENCE))
        plugs[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plugs[-1].sendall(b"GET /api/v1/flame?service=large&nodes=200000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        refused = b" 503 " in plugs[-1].recv(20)
    assert refused
    assert len(plugs) > 3
    for plug in plugs:
        plug.close()
    deadline = time.monotonic() + PATIENCE
    while server.request("/api/v1/flame?service=large&nodes=200000")[0] != 200:
        assert time.monotonic() < deadline


def test_silent_connections_stop_nobody(start, tmp_path):
    """Who says nothing makes room for who does; an agent's connection, which has shown its token, stays."""
    server = start("connections=24", f"spool={tmp_path}")
    agent = server.connection()

    def push(number):
        agent.request("POST", "/api/v1/films", body=b"SCMF", headers={
            "X-Stackcam-Host": "h", "X-Stackcam-Agent": "a", "X-Stackcam-Number": str(number),
            "Authorization": f"Bearer {WRITE}"})
        answer = agent.getresponse()
        return answer.status, answer.read()

    assert push(1)[0] == 200
    own = agent.sock.getsockname()
    silent = []
    for i in range(300):
        # all of loopback is one client
        silent.append(socket.create_connection((server.host, server.port), timeout=PATIENCE,
                                               source_address=(f"127.0.0.{1 + i % 5}", 0)))
        if i % 3 == 0:
            silent[-1].sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: lo")
        if i % 50 == 49:
            assert server.json("/api/v1/status")["host"] == "host7"
            assert push(i)[0] == 200
    assert agent.sock.getsockname() == own
    agent.close()
    # those of longest ago were ended, which their clients see; at most as many stay as may
    ended = select.poll()
    for plug in silent:
        ended.register(plug, select.POLLRDHUP)
    deadline = time.monotonic() + PATIENCE
    while len(ended.poll(0)) < len(silent) - 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for plug in silent:
        plug.close()


def test_more_agents_than_connections(start, tmp_path):
    """Each keeps its connection between films: that which was not used for the longest time makes room, and comes again."""
    server = start("connections=24", "idle=600", f"spool={tmp_path}")
    agents = [server.connection() for _ in range(300)]
    for number in (1, 2):
        for i, agent in enumerate(agents):
            headers = {"X-Stackcam-Host": f"h{i}", "X-Stackcam-Agent": f"a{i}", "X-Stackcam-Number": str(number),
                       "Authorization": f"Bearer {WRITE}"}
            try:
                agent.request("POST", "/api/v1/films", body=b"SCMF", headers=headers)
                answer = agent.getresponse()
            except (OSError, http.client.HTTPException):
                # it was closed meanwhile, as libcurl also finds out when it sends
                assert number == 2
                agent.close()
                agent.request("POST", "/api/v1/films", body=b"SCMF", headers=headers)
                answer = agent.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True), i
    for agent in agents:
        agent.close()


def test_the_first_byte_and_the_head_have_their_time(start):
    server = start("first=1", "head=2")
    silent, slow, quiet = (socket.create_connection((server.host, server.port), timeout=PATIENCE) for _ in range(3))
    begun = time.monotonic()
    slow.sendall(b"GET /api/v1/status HTTP/1.1\r\n")
    request = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
    quiet.sendall(request)
    assert quiet.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert silent.recv(1) == b""
    after_silence = time.monotonic() - begun
    assert slow.recv(1) == b""
    assert 0.8 < after_silence < time.monotonic() - begun
    # who has asked may be quiet for longer
    quiet.sendall(request)
    assert quiet.recv(65536).startswith(b"HTTP/1.1 200 ")
    for plug in (silent, slow, quiet):
        plug.close()


def test_too_many_connections(start):
    server = start("connections=20", "idle=2")
    plugs = [socket.create_connection((server.host, server.port), timeout=PATIENCE) for _ in range(60)]
    for plug in plugs:
        plug.close()
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            assert server.json("/api/v1/status")["host"] == "host7"
            break
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < deadline
