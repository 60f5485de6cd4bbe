# SPDX-License-Identifier: Apache-2.0
"""Requests over Unix sockets: both ends are known, and `explain` goes from one to the other."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_cases import filming
from test_explain import ask, explained, film_has
from test_explain_calls import followed
from test_requests import requests_of, serving, tool  # pylint: disable=unused-import
from test_requests_api import SERVICES, playing

pytestmark = needs_root

# It asks Redis for what it is asked for; "/slow/" and a word makes that take a while.
FRONT = """
import http.server, socket, sys
BUSY = "local function now() local t = redis.call('TIME') return t[1] * 1000000 + t[2] end local to = now() + 150000 while now() < to do end"
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with socket.socket(socket.AF_UNIX) as redis:
            redis.connect(sys.argv[2])
            words = ["EVAL", BUSY, "0"] if self.path.startswith("/slow/") else ["GET", self.path]
            self.ask_redis(redis, words)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")
    def ask_redis(self, redis, words):
        redis.sendall(("*%d\\r\\n" % len(words) + "".join("$%d\\r\\n%s\\r\\n" % (len(w), w) for w in words)).encode())
        redis.recv(4096)
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

# A parent that asks two children, each by its own pair of sockets: the one ten times, the other one twenty times.
PAIRS = """
import os, socket, sys
def child(end):
    while end.recv(4096):
        end.sendall(b"+OK\\r\\n")
    os._exit(0)
ends = []
for _ in range(2):
    own, other = socket.socketpair()
    pid = os.fork()
    if not pid:
        for end in [own, *ends]:
            end.close()
        child(other)
    print(pid, file=open(sys.argv[1], "a"))
    other.close()
    ends.append(own)
for i, end in enumerate(ends):
    for _ in range(10 * (i + 1)):
        end.sendall(b"*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\n%d\\r\\n" % i)
        assert end.recv(4096) == b"+OK\\r\\n"
    end.close()
"""


@pytest.fixture
def redis(tmp_path):
    """Redis, at a Unix socket alone: the process, and the socket."""
    path = tmp_path / "redis.sock"
    with running_until(path, tool("redis-server"), "--port", "0", "--unixsocket", path, "--save", "") as process:
        yield process, path


class running_until:
    """A program, from when it has made a file to the end of the block."""

    def __init__(self, path, *words, **options):
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, **options)
        self.path = path

    def __enter__(self):
        assert wait_until(self.path.exists)
        return self.process

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)


def front_server(_, port, path):
    return [sys.executable, "-c", FRONT, str(port), str(path)]


def said_by_redis(path, section):
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(str(path))
        end.sendall(b"*2\r\n$4\r\nINFO\r\n$%d\r\n%s\r\n" % (len(section), section))
        return end.recv(65536).decode()


def calls_of(path, command):
    """How often Redis says that it ran a command."""
    line, = [line for line in said_by_redis(path, b"commandstats").splitlines() if line.startswith(f"cmdstat_{command}:")] or ["calls=0,"]
    return int(line.split("calls=")[1].split(",")[0])


def test_redis_is_named_and_explained(lab, redis, serving):
    server, path = redis
    front, port, _ = serving(front_server, path=path)
    with filming(lab, "-e", "threads,requests", "-p", f"{front.pid},{server.pid}") as film:
        assert wait_until(lambda: ask(port, "/slow/1", "slow-1") and film_has(lab, film, "/slow/1", 100_000_000))
        for i in range(20):
            ask(port, f"/key-{i}", f"key-{i}")
    answer = requests_of(lab, film, "--limit", "0")
    made = [r for r in answer["requests"] if r["role"] == "made" and r["protocol"] == "redis"]
    served = [r for r in answer["requests"] if r["role"] == "served" and r["protocol"] == "redis" and r["pid"] == server.pid]
    assert sum(r["endpoint"].startswith("GET") for r in served) == calls_of(path, "get") == 20
    assert len(made) == len(served) and all(r["peer"] == f"unix socket {path}" and r["parent"] for r in made)
    dependency, = [d for d in answer["dependencies"] if d["pid"] == front.pid]
    assert dependency["server"] and dependency["server"]["pid"] == server.pid, dependency
    request = max(explained(lab, film, "--endpoint", "GET /slow/*"), key=lambda one: one["duration"])
    # on a busy machine the front may take long by itself
    call = max(followed(request), key=lambda one: one["duration"])
    assert call["waker"]["comm"] == "redis-server" and f"of unix socket {path} to EVAL" in call["words"], call
    worked = max(call["parts"], key=lambda part: part["duration"])
    assert worked["thread"]["comm"] == "redis-server" and worked["kind"] in ("on-cpu", "ready", "unexplained"), call["parts"]
    with playing(lab, film) as asked:
        answer = asked(SERVICES)
    call, = [one for one in answer["calls"] if one["peer"] == f"unix socket {path}"]
    assert "redis" in answer["services"][call["to"]]["service"] and not call["several"], call


def test_pairs_of_sockets(lab):
    film = lab.record("-e", "requests", "--", sys.executable, "-c", PAIRS, lab.folder / "children")
    children = [int(pid) for pid in (lab.folder / "children").read_text().split()]
    answer = requests_of(lab, film, "--limit", "0")
    for i, child in enumerate(children):
        assert sum(r["role"] == "served" and r["pid"] == child for r in answer["requests"]) == 10 * (i + 1)
    made = [r for r in answer["requests"] if r["role"] == "made"]
    assert {r["peer"] for r in answer["requests"]} == {"unix socket"}
    assert len(made) == 30 and len({r["connection"] for r in made}) == 2
    # both pairs have no name: it is known that they are two, of one program
    dependency, = answer["dependencies"]
    assert dependency["server"] is None and dependency["server_comm"] == dependency["comm"] and dependency["count"] == 30, dependency


@pytest.fixture
def postgresql(tmp_path):
    """A server of its own, as its own user, at a Unix socket alone: the process, the folder of the socket, its log."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres")) or pytest.skip("PostgreSQL is missing")
    for path in (tmp_path, *tmp_path.parents):
        if path.name.startswith(("pytest-", "test_", "popen-")):
            path.chmod(0o755)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    shutil.chown(data, "nobody", "nogroup")
    user = {"user": "nobody", "group": "nogroup", "cwd": "/"}
    subprocess.run([found[-1].with_name("initdb"), "-D", data, "-A", "trust", "-U", "unit", "--no-sync"], check=True, capture_output=True,
                   **user)
    with open(data / "log", "wb") as log:
        with running_until(data / ".s.PGSQL.5432", found[-1], "-D", data, "-k", data, "-c", "listen_addresses=", "-c", "log_statement=all",
                           "-c", "fsync=off", stderr=log, **user) as process:
            yield process, data, data / "log"


def test_psql_and_its_backend(lab, postgresql):
    server, folder, log = postgresql
    psql = tool("psql")
    ready = [psql, "-h", str(folder), "-U", "unit", "-c", "select 1", "postgres"]
    assert wait_until(lambda: not subprocess.run(ready, capture_output=True, check=False).returncode)
    before = log.stat().st_size
    script = lab.folder / "script.sql"
    script.write_text("".join(f"select {i} + length('x');\n" for i in range(100)) + "select pg_sleep(0.1);\n")
    film = lab.record("-e", "requests,threads", "-a", "--", "sh", "-c",
                      f"{psql} -h {folder} -U unit -q -f {script} postgres >{lab.folder}/out")
    truth = sum("statement: " in line for line in log.read_bytes()[before:].decode().splitlines())
    assert truth == 101
    answer = requests_of(lab, film, "--limit", "0")
    # another test may have a PostgreSQL, too
    own, = {r["pid"] for r in answer["requests"] if r["role"] == "made" and r["peer"] == f"unix socket {folder}/.s.PGSQL.5432"}
    dependency, = [d for d in answer["dependencies"] if d["pid"] == own]
    backend = dependency["server"]["pid"]
    assert backend != server.pid and dependency["count"] == truth, dependency
    made, served = ([r for r in answer["requests"] if r["role"] == role and r["pid"] == pid and r["protocol"] == "postgresql"]
                    for role, pid in (("made", own), ("served", backend)))
    assert len(made) == len(served) == truth, (len(made), len(served))
