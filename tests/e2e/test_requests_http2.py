# SPDX-License-Identifier: Apache-2.0
"""Requests of HTTP/2 and gRPC: many on a connection at once; those in the film are those of the server's log."""

import collections
import os
import subprocess
from pathlib import Path

import pytest

from harness import needs_root, running
from test_requests import of_process, requests_of, serving, tool  # pylint: disable=unused-import

pytestmark = needs_root

CALLS = Path(__file__).resolve().with_name("grpc_calls.py")
PYTHON = "/usr/bin/python3"


def nghttpd(folder, port):
    (folder / "small").write_text("small\n")
    (folder / "big").write_bytes(bytes(300_000))
    return ["sh", "-c", f"exec {tool('nghttpd')} --no-tls -v -d {folder} {port} >{folder}/log"]


def logged(folder):
    """How often nghttpd says that it was asked for each path."""
    paths = [line.split(":path: ")[1].strip() for line in (folder / "log").read_text().splitlines() if ":path: " in line]
    return collections.Counter(path for path in paths if path.startswith("/"))


def made_of(answer, port):
    return [r for r in answer["requests"] if r["role"] == "made" and r["peer"] == f"127.0.0.1:{port}"]


def check_losses(answer):
    """
    Others of the machine may have losses of their own, a head that is long, say, or one behind much data of PostgreSQL; but
    none of these.
    """
    words = ("lost", "path is not known", "not what their protocol has", "could not be read")
    losses = [reason for reason in answer["loss"] if any(word in reason for word in words)]
    assert set(losses) <= {"request lost: it began within a call, behind what is copied of one"}, answer["loss"]


def paths_of(requests):
    return collections.Counter(r["path"] for r in requests)


def test_requests_of_http2_are_those_of_the_servers_log(lab, serving):
    process, port, folder = serving(nghttpd)
    url = f"http://127.0.0.1:{port}"
    film = lab.record("-e", "requests", "--keep-query", "-a", "--", "sh", "-c",
                      f"{tool('h2load')} -n 2000 -c 10 -m 50 {url}/small; {tool('h2load')} -n 40 -c 2 -m 10 {url}/big;"
                      f"{tool('nghttp')} -n {url}/small?by=nghttp; {tool('nghttp')} -n -d {folder}/big {url}/small?sent;"
                      f"for i in 1 2 3 4 5; do {tool('curl')} -s --http2-prior-knowledge '{url}/none?'$i; done")
    answer = requests_of(lab, film)
    served = of_process(answer, process)
    made = made_of(answer, port)
    truth = logged(folder)
    assert truth["/small"] == 2000 and sum(truth.values()) == 2047
    assert paths_of(served) == truth and paths_of(made) == truth
    for r in served + made:
        assert r["protocol"] == "http2" and not r["open"] and not r["failed"], r
        assert r["status"] == (404 if r["path"].startswith("/none") else 200), r
        assert 0 < r["first_byte"] <= r["duration"]
    # bodies: each is counted, also where it was not copied
    assert all(r["sent"] > 300_000 for r in served if r["path"] == "/big")
    assert all(r["received"] > 300_000 for r in served if r["path"] == "/small?sent")
    check_losses(answer)


@pytest.fixture
def grpc_server(serving):
    if subprocess.run([PYTHON, "-c", "import grpc"], check=False, capture_output=True).returncode:
        pytest.skip("python3-grpcio is missing")
    return serving(lambda folder, port: [PYTHON, str(CALLS), "serve", str(port)])


def test_calls_of_grpc_have_their_status(lab, grpc_server):
    process, port, _ = grpc_server
    film = lab.record("-e", "requests", "-a", "--", "sh", "-c", f"echo go | {PYTHON} {CALLS} call {port} 300")
    answer = requests_of(lab, film)
    for requests in (of_process(answer, process), made_of(answer, port)):
        assert {r["protocol"] for r in requests} == {"grpc"}
        by_path = paths_of(requests)
        assert by_path == {"/unit.Marks/Echo": 301, "/unit.Marks/None": 1}
        assert {r["id"] for r in requests} - {""} == {"first", *(f"mark-{i}" for i in range(300))}
        for r in requests:
            is_none = r["path"].endswith("None")
            assert (r["status"], r["failed"], r["open"]) == (5 if is_none else 0, is_none, False), r
    check_losses(answer)


def test_connections_from_before_have_unknown_paths(lab, grpc_server):
    """What a connection's table of headers had before the recording cannot be known; what it says then is."""
    process, port, _ = grpc_server
    fifo, done = lab.folder / "go", lab.folder / "done"
    os.mkfifo(fifo)
    os.mkfifo(done)
    with open(fifo, "r+b", buffering=0) as go, running(PYTHON, CALLS, "call", port, 300, done, stdin=go) as client:
        film = lab.record("-e", "requests", "-p", f"{process.pid},{client.pid}", "--", "sh", "-c", f"echo go >{fifo}; read line <{done}")
    answer = requests_of(lab, film)
    served = of_process(answer, process)
    unknown = [r for r in served if r["path"] == "<unknown path>"]
    assert len(served) == 301, answer["loss"]
    assert len(unknown) == 300, answer["loss"]
    # both ends of the connection, of which the client's is in the film, too
    assert answer["loss"]["requests: of connections from before the recording: their path is not known"] == 600
    # the id of each is new, and there
    assert {r["id"] for r in unknown} == {f"mark-{i}" for i in range(300)}
    none, = (r for r in served if r["path"] == "/unit.Marks/None")
    assert none["status"] == 5 and none["failed"]


UPGRADES = """
import socket, sys, threading

def frame(kind, flags, stream, data=b""):
    return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data

def answer(connection, stream):
    # :status 200, by its number in the static table
    connection.sendall(frame(1, 4, stream, b"\\x88") + frame(0, 1, stream, b"answer %d" % stream))

def serve(connection):
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"):
        head += connection.recv(65536)
    connection.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: h2c\\r\\n\\r\\n" + frame(4, 0, 0))
    answer(connection, 1)
    data = b""
    while len(data) < 24:
        data += connection.recv(65536)
    data = data[24:]
    while True:
        while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
            size, kind, flags, stream = int.from_bytes(data[:3], "big"), data[3], data[4], int.from_bytes(data[5:9], "big")
            data = data[9 + size:]
            if kind == 4 and not flags & 1:
                connection.sendall(frame(4, 1, 0))
            if kind == 1:
                answer(connection, stream)
        more = connection.recv(65536)
        if not more:
            return
        data += more

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def upgrading_server(_folder, port):
    return [PYTHON, "-c", UPGRADES, str(port)]


def test_a_connection_that_goes_over_from_http1(lab, serving):
    """curl asks in HTTP/1.1 for HTTP/2: the first request is in both, and each is there once."""
    process, port, _ = serving(upgrading_server)
    film = lab.record("-e", "requests", "-a", "--", tool("curl"), "-s", "--http2", f"http://127.0.0.1:{port}/[1-20]")
    answer = requests_of(lab, film)
    for requests in (made_of(answer, port), of_process(answer, process)):
        assert sorted(int(r["path"].strip("/")) for r in requests) == list(range(1, 21)), requests
        assert all((r["status"], r["open"], r["protocol"]) == (200, False, "http2") for r in requests), requests
    check_losses(answer)
