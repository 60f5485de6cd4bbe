# SPDX-License-Identifier: Apache-2.0
"""Requests of real servers: those in the film are those that were made, each with its own id."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import databases
from harness import free_port, go_built, needs_root, tool, wait_until

pytestmark = needs_root

HERE = Path(__file__).resolve().parent
CLIENT = HERE / "requests_client.py"
CONNECTIONS, ROUNDS = 400, 3

PYTHON = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

NODE = """
require("http").createServer((request, response) => response.end(request.url)).listen(+process.argv[2], "127.0.0.1", 1024)
"""

GO = """
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""

ASYNCIO = """
import asyncio, sys
async def serve(reader, writer):
    while head := await reader.read(65536):
        while not head.endswith(b"\\r\\n\\r\\n"):
            head += await reader.read(65536)
        await asyncio.sleep(0)
        body = head.split(b" ")[1]
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
        await writer.drain()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    await server.serve_forever()
asyncio.run(main())
"""

WSGI = """
def application(environ, start_response):
    body = environ["PATH_INFO"].encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log {folder}/access.log; keepalive_requests 100000;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    upstream behind {{ server 127.0.0.1:{behind}; keepalive 100; }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{ {what} }}
    }}
}}
"""


def wait_for_port(port):
    def is_open():
        with contextlib.closing(socket.socket()) as s:
            return not s.connect_ex(("127.0.0.1", port))
    wait_until(is_open)


def python_server(folder, port):
    return [sys.executable, "-c", PYTHON, str(port)]


def asyncio_server(folder, port):
    return [sys.executable, "-c", ASYNCIO, str(port)]


def gunicorn_server(folder, port):
    """A pool of threads, which a main loop gives each connection that has something to be read."""
    (folder / "marks.py").write_text(WSGI)
    return [tool("gunicorn"), "--chdir", str(folder), "-b", f"127.0.0.1:{port}", "-k", "gthread", "--threads", "16",
            "--worker-connections", "2000", "--backlog", "1024", "--keep-alive", "60", "--log-level", "error", "marks"]


def node_server(folder, port):
    (folder / "server.js").write_text(NODE)
    return [shutil.which("node") or pytest.skip("node is missing"), str(folder / "server.js"), str(port)]


def go_server(folder, port):
    return [str(go_built(folder, "server", GO)), str(port)]


def nginx_server(folder, port, what="return 200 $request_uri;", behind=1):
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin") or pytest.skip("nginx is missing")
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, what=what, behind=behind))
    return [nginx, "-c", str(folder / "nginx.conf"), "-p", str(folder)]


def requests_of(lab, film, *options):
    done = lab.run("report", "--format", "requests-json", *options, film.path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def serving(tmp_path):
    """Starts servers that end with the test."""
    with contextlib.ExitStack() as stack:
        def start(make, wait=wait_for_port, **options):
            port = free_port()
            folder = tmp_path / str(port)
            folder.mkdir()
            process = stack.enter_context(subprocess.Popen(make(folder, port, **options)))
            stack.callback(process.kill)
            wait(port)
            return process, port, folder
        yield start


def of_process(answer, process, role="served"):
    return [r for r in answer["requests"] if r["role"] == role and r["pid"] == process.pid]


def lost(answer):
    """
    Reasons for which requests are missing, but for one that other programs of the machine may have at any time: of what
    they send at once, the end is not copied.
    """
    return [reason for reason in answer["loss"] if "lost" in reason and "behind what is copied of one" not in reason]


def check_marks(requests, count=CONNECTIONS * ROUNDS):
    """Each request is there once, with its own id, and answered by the length that its own answer has."""
    assert len(requests) == count
    assert all(r["path"] == "/" + r["id"] and r["status"] == 200 and not r["open"] for r in requests)
    assert len({r["id"] for r in requests}) == count
    assert all(0 < r["first_byte"] <= r["duration"] for r in requests)


@pytest.mark.parametrize("make", [python_server, asyncio_server, gunicorn_server, node_server, go_server, nginx_server])
def test_all_requests_are_found(lab, serving, make):
    process, port, _ = serving(make)
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, CONNECTIONS, ROUNDS)
    answer = requests_of(lab, film)
    served = of_process(answer, process)
    if make is gunicorn_server:
        # its worker is a process of its own
        worker = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").strip()
        served = [r for r in answer["requests"] if r["role"] == "served" and str(r["pid"]) == worker]
    check_marks(served)
    made = [r for r in answer["requests"] if r["role"] == "made" and r["peer"] == f"127.0.0.1:{port}"]
    check_marks(made)
    # both ends see the same bytes
    sizes = {r["id"]: (r["received"], r["sent"]) for r in served}
    assert all(sizes[r["id"]] == (r["sent"], r["received"]) for r in made)
    assert not lost(answer), answer["loss"]


def test_heads_whose_first_byte_comes_alone_are_found(lab, serving):
    """Go reads one byte of the next request while it answers the one before."""
    process, port, _ = serving(go_server)
    film = lab.record("-e", "requests", "-a", "--", tool("ab"), "-q", "-k", "-c", 8, "-n", 10000,
                      f"http://127.0.0.1:{port}/one")
    answer = requests_of(lab, film)
    served = of_process(answer, process)
    assert len(served) == 10000, answer["loss"]
    assert all(r["path"] == "/one" and r["status"] == 200 and not r["open"] for r in served)


def test_requests_are_those_of_the_servers_own_log(lab, serving):
    process, port, folder = serving(nginx_server)
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, 20, 10)
    logged = [line.split('"')[1].split()[1] for line in (folder / "access.log").read_text().splitlines()]
    served = of_process(requests_of(lab, film), process)
    assert sorted(r["path"] for r in served) == sorted(path for path in logged if path.startswith("/mark-"))
    # one place, whatever stands in its path; and of one process
    own = requests_of(lab, film, "-p", str(process.pid))
    assert [r["path"] for r in own["requests"]] == [r["path"] for r in served]
    assert sum(e["count"] for e in own["endpoints"]) == own["count"] == 200


BURN_AND_NAP = PYTHON.replace("    def do_GET(self):\n", """    def burn(self):
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
    def nap(self):
        time.sleep(0.1)
    def do_GET(self):
        self.burn() if self.path.startswith("/burn") else self.nap()
""").replace("import http.server, sys", "import http.server, sys, time")

BURNS_AND_NAPS = """
import http.client, sys
for i in range(3):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    for kind in "burn", "nap":
        connection.request("GET", f"/{kind}/{i}", headers={"X-Request-Id": f"{kind}-{i}"})
        connection.getresponse().read()
"""


def test_what_threads_did_for_one_request_and_by_endpoint(lab, serving):
    process, port, _ = serving(lambda folder, port: [sys.executable, "-c", BURN_AND_NAP, str(port)])
    film = lab.record("-e", "requests,threads,on-cpu,off-cpu", "-a", "--", sys.executable, "-c", BURNS_AND_NAPS, port,
                      hz=499)
    own = ("-p", str(process.pid))
    durations = {r["id"]: r["duration"] for r in of_process(requests_of(lab, film), process)}
    assert set(durations) == {f"{kind}-{i}" for kind in ("burn", "nap") for i in range(3)}
    # all of a request's time, by what its thread did
    for name, kind, least in (("burn-1", "[on-cpu]", 90_000_000), ("nap-1", "[sleep]", 99_000_000)):
        answer = film.json("-e", "threads", "--by", "wait", "--request", name, *own)
        assert sum(group["total"] for group in answer["groups"]) == durations[name], answer["groups"]
        assert {group["wait"]: group["total"] for group in answer["groups"]}[kind] >= least, answer["groups"]
    # where it ran and where it waited
    ran = film.json("-e", "on-cpu", "--request", "burn-2", *own)
    burn, = [function for function in ran["functions"] if function["name"].endswith(".burn")]
    assert burn["total"] > 0.5 * ran["event"]["total"] > 20_000_000, ran["functions"]
    assert not [function for function in ran["functions"] if function["name"].endswith(".nap")]
    waited = film.json("-e", "off-cpu", "--request", "nap-2", *own)
    assert any(function["name"].endswith(".nap") and function["total"] > 99_000_000 for function in waited["functions"])
    # the parts of a table by endpoint are all there is
    for event in ("on-cpu", "off-cpu", "threads"):
        whole, by = film.json("-e", event, *own), film.json("-e", event, "--by", "endpoint", *own)
        parts = {group["endpoint"]: group["total"] for group in by["groups"]}
        assert sum(parts.values()) == by["event"]["total"] and set(parts) <= {"GET /burn/*", "GET /nap/*", "[no request]",
                                                                             "[waits summed up]"}
        if event != "threads":
            assert by["event"]["total"] == whole["event"]["total"]
        assert parts["GET /burn/*" if event == "on-cpu" else "GET /nap/*"] > 100_000_000, parts
    folded = film.report("-e", "off-cpu", "--by", "endpoint", "--format", "folded", *own).stdout
    assert any(line.startswith("GET /nap/*;") and "nap;" in line for line in folded.splitlines())
    # an event loop's requests cannot be told apart, which is said; and what is wrong is, too
    assert lab.run("report", "--request", "burn-1", "--format", "requests", film.path).returncode == 2
    alone = lab.run("report", "-e", "threads", "--by", "wait", film.path)
    assert alone.returncode != 0 and "add --by endpoint where the film has requests" in alone.stderr, alone.stderr
    unknown = lab.run("report", "--request", "x-9", film.path)
    assert unknown.returncode == 1 and "no request of the film has the id 'x-9'" in unknown.stderr


def test_requests_that_one_thread_served_at_once_are_said(lab, serving):
    server = ASYNCIO.replace("sleep(0)", "sleep(0.01)")
    process, port, _ = serving(lambda folder, port: [sys.executable, "-c", server, str(port)])
    film = lab.record("-e", "requests,threads,on-cpu", "-a", "--", sys.executable, CLIENT, port, 50, 4, hz=499)
    slowest = max(of_process(requests_of(lab, film), process), key=lambda r: r["duration"])
    asked = "-e", "threads", "--by", "wait", "--request", slowest["number"], "-p", str(process.pid)
    table = film.report(*asked).stdout
    assert "other request" in table and "on the same threads meanwhile" in table, table
    shared = film.json(*asked)["request"]["shared"]
    assert shared > 0 and f"shared: {shared} other" in table, table


def test_a_proxys_requests_are_those_of_both_sides(lab, serving):
    behind, behind_port, _ = serving(python_server)
    proxy, port, _ = serving(nginx_server, behind=behind_port, what=(
        'proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";'))
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, 50, ROUNDS)
    answer = requests_of(lab, film)
    for process, role in ((proxy, "served"), (proxy, "made"), (behind, "served")):
        check_marks(of_process(answer, process, role), 50 * ROUNDS)
    # by the id that both carry, though one thread does all; none is wrong
    served = {r["number"]: r["id"] for r in of_process(answer, proxy)}
    for made in of_process(answer, proxy, "made"):
        assert served[made["parent"]] == made["id"]
    dependency, = [d for d in answer["dependencies"] if d["peer"] == f"127.0.0.1:{behind_port}"]
    assert dependency["count"] == 50 * ROUNDS and dependency["pid"] == proxy.pid
    assert dependency["server"]["pid"] == behind.pid
    assert f"-> 127.0.0.1:{behind_port}, http, by python3 ({behind.pid})" in film.report("--format", "requests").stdout


THREADED_PROXY = """
import http.client, http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        there = http.client.HTTPConnection("127.0.0.1", int(sys.argv[2]))
        there.request("GET", self.path + "/behind")
        body = there.getresponse().read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_what_a_thread_asks_for_is_for_what_it_serves(lab, serving):
    _, behind_port, _ = serving(python_server)
    process, port, _ = serving(lambda folder, port: [sys.executable, "-c", THREADED_PROXY, str(port), str(behind_port)])
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, 50, ROUNDS)
    answer = requests_of(lab, film)
    served = {r["number"]: r["path"] for r in of_process(answer, process)}
    made = of_process(answer, process, "made")
    assert len(served) == len(made) == 50 * ROUNDS
    # most of its time it waits for them
    dependency, = [d for d in answer["dependencies"] if d["peer"] == f"127.0.0.1:{behind_port}"]
    assert dependency["for_served"] == sum(r["duration"] for r in made)
    assert dependency["served"] == sum(r["duration"] for r in of_process(answer, process)) > dependency["for_served"]
    share = 100 * dependency["for_served"] / dependency["served"]
    row, = [line for line in film.report("--format", "requests").stdout.splitlines() if f"-> 127.0.0.1:{behind_port}" in line]
    assert f" {share:.1f}%  python" in row, (row, share)
    # without an id of its own: by the thread
    assert all(r["path"] == served[r["parent"]] + "/behind" and not r["id"] for r in made)


class Raw(threading.Thread):
    """A server that reads a whole request, and answers with given bytes, piece by piece."""

    def __init__(self, size, *answers):
        super().__init__(daemon=True)
        self.size = size
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.answers = answers

    def run(self):
        for answer in self.answers:
            connection, _ = self.socket.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(self.size, socket.MSG_WAITALL)
                for piece in answer:
                    connection.sendall(piece)


SENDER = """
import socket, sys, time
port, *pieces = sys.argv[1:]
connection = socket.create_connection(("127.0.0.1", int(port)))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for piece in pieces:
    connection.sendall(bytes.fromhex(piece))
while connection.recv(65536):
    pass
"""


def send_raw(lab, answers, *pieces, options=()):
    server = Raw(sum(map(len, pieces)), answers)
    server.start()
    film = lab.record("-e", "requests", *options, "--", sys.executable, "-c", SENDER, server.port,
                      *(piece.hex() for piece in pieces))
    return film, requests_of(lab, film)


def test_heads_may_come_in_pieces(lab):
    pieces = (b"POST /orders/17?x=1 HTT", b"P/1.1\r\nHost: x\r\ntraceparent: 00-0af7651916cd43dd",
              b"8448eb211c80319c-b7ad6b7169203331-01\r\nContent-Length: 3\r\n\r\n", b"abc")
    answers = (b"HTTP/1.1 503 Busy\r\nConte", b"nt-Length: 5\r\n\r\nab", b"cde")
    _, answer = send_raw(lab, answers, *pieces)
    request, = answer["requests"]
    assert request["endpoint"] == "POST /orders/*" and request["path"] == "/orders/17?x=*"
    assert request["id"] == "0af7651916cd43dd8448eb211c80319c" and request["id_kind"] == "traceparent"
    assert request["status"] == 503 and request["failed"] and not request["open"]
    assert request["sent"] == sum(map(len, pieces)) and request["received"] == sum(map(len, answers))


@pytest.mark.parametrize("options,path", [((), "/find?q=*&key=*"), (("--keep-query",), "/find?q=shoes&key=hunter2")])
def test_values_in_addresses_are_kept_only_where_that_is_asked_for(lab, options, path):
    _, answer = send_raw(lab, [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"] * 2, b"GET /find?q=shoes&key=hunter2 HTTP/1.1\r\n\r\n",
                         b"GET /reset/4bf92f3577b34da6 HTTP/1.1\r\n\r\n", options=options)
    assert {(r["endpoint"], r["path"]) for r in answer["requests"]} == {("GET /find", path), ("GET /reset/*", "/reset/*")}


def test_an_answer_to_what_was_not_understood_is_not_said_to_be_from_before(lab):
    """A head in pieces that are too small to be known by; the whole one shows that the film has requests."""
    head = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = b"HTTP/1.1 204 No Content\r\n\r\n"
    server = Raw(len(head), [answer], [answer])
    server.start()
    sender = f"{SENDER}connection = socket.create_connection(('127.0.0.1', int(port)))\n" \
             "connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n" \
             "for byte in bytes.fromhex(pieces[0]):\n    connection.sendall(bytes([byte]))\n" \
             "connection.recv(65536)\n"
    film = lab.record("-e", "requests", "--", sys.executable, "-c", sender, server.port, head.hex())
    loss = requests_of(lab, film)["loss"]
    assert not [reason for reason in loss if "requests from before" in reason], loss
    assert loss["requests: answers whose requests are not in it: from before the recording, or not understood"] == 1


def test_hostile_heads_are_escaped_and_bounded(lab):
    path = b"/\x1b[2J\xff\xfe" + b"A" * 9000
    film, answer = send_raw(lab, [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
                            b"GET " + path + b" HTTP/1.1\r\nX-Request-Id: a\x07b\x1b]0;x\x07\r\n\r\n")
    request, = answer["requests"]
    assert len(request["path"].encode()) < 300 and "\x1b" not in request["path"]
    text = film.report("--format", "requests").stdout
    assert "\x1b" not in text and "\x07" not in text
    assert any("too long" in reason for reason in answer["loss"])


def test_what_has_no_answer_is_open(lab):
    _, answer = send_raw(lab, [], b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n")
    request, = answer["requests"]
    assert request["open"] and not request["answered"] and answer["open"] == 1


def test_a_film_without_requests_says_so(lab):
    film = lab.record("-e", "requests", "--", "true")
    done = lab.run("report", "--format", "requests", film.path)
    assert done.returncode == 1 and "requests" in done.stderr
    # a program ran, which has no requests
    assert "; stackcam saw nothing of what it was to film\n" in film.recording.stderr, film.recording.stderr
    done = lab.run("report", film.path)
    assert f"there are no requests in {film.path}: stackcam saw none in the " in done.stderr, done.stderr


def redis_server(folder, port):
    return [tool("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]


def commands_of(port):
    """How often the server says that it ran each command."""
    text = subprocess.run([tool("redis-cli"), "-p", str(port), "info", "commandstats"], check=True,
                          capture_output=True, text=True).stdout
    return {line.split(":")[0].removeprefix("cmdstat_").upper(): int(line.split("calls=")[1].split(",")[0])
            for line in text.splitlines() if line.startswith("cmdstat_")}


@pytest.mark.parametrize("pipeline", [1, 8])
def test_commands_of_redis_are_those_that_the_server_counts(lab, serving, pipeline):
    process, port, _ = serving(redis_server)
    before = commands_of(port)
    film = lab.record("-e", "requests", "-a", "--", tool("redis-benchmark"), "-p", port, "-n", 4000, "-c", 50,
                      "-P", pipeline, "-r", 1000, "-q", "-t", "get,set,lpush,lrange_100")
    after = commands_of(port)
    answer = requests_of(lab, film)
    served = of_process(answer, process)
    for command in ("GET", "SET", "LPUSH", "LRANGE"):
        count = after[command] - before.get(command, 0)
        mine = [r for r in served if r["endpoint"].split()[0] == command]
        # a range has more elements than is copied of an answer: with pipelines, its end is not known
        assert len(mine) == count
        assert pipeline > 1 and command == "LRANGE" or not any(r["open"] or r["failed"] for r in mine)
    # keys that are numbered are one endpoint; values are nowhere
    assert {r["endpoint"] for r in served if r["endpoint"].startswith("GET")} == {"GET key:*"}
    # others of the machine make requests, too
    made = [r for r in answer["requests"] if r["role"] == "made" and r["peer"] == f"127.0.0.1:{port}"]
    assert len(made) == len(served)


def test_a_recording_that_begins_between_a_request_and_its_answer(lab, serving):
    """
    Clients that send their next request as soon as they have an answer: were requests seen before answers are, each answer would
    be that of an older request, until the end.
    """
    process, port, _ = serving(redis_server)
    with subprocess.Popen([tool("redis-benchmark"), "-p", str(port), "-c", "20", "-n", "1000000000", "-q", "-t", "get"],
                          stdout=subprocess.DEVNULL) as client:
        try:
            assert wait_until(lambda: commands_of(port).get("GET"))
            film = lab.record("-e", "requests", "-p", process.pid, "-d", 0.3)
        finally:
            client.kill()
    of_client = {}
    for request in sorted(requests_of(lab, film, "--limit", 0)["requests"], key=lambda request: request["start"]):
        of_client.setdefault(request["peer"], []).append((request["start"], request["duration"]))
    assert len(of_client) == 20
    late = {peer: requests for peer, requests in of_client.items()
            if any(sum(one) > after[0] for one, after in zip(requests, requests[1:]))}
    assert not late, [(peer, len(requests), requests[:3]) for peer, requests in late.items()]


def test_errors_of_redis_are_failures_and_secrets_stay_out(lab, serving):
    process, port, _ = serving(redis_server)
    script = lab.folder / "script"
    script.write_text("lpush list 1\nincr list\nauth s3cr3t\n")
    film = lab.record("-e", "requests", "-a", "--", "sh", "-c", f"{tool('redis-cli')} -p {port} <{script}")
    served = {r["endpoint"]: r for r in of_process(requests_of(lab, film), process)}
    assert served["INCR list"]["failed"] and not served["LPUSH list"]["failed"]
    assert served["AUTH"]["failed"]
    assert b"s3cr3t" not in Path(film.path).read_bytes()
    assert all("s3cr3t" not in r["path"] + r["endpoint"] for r in served.values())


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    with databases.postgresql(tmp_path_factory.mktemp("postgres")) as server:
        yield server


def of_pgbench(requests):
    """Those of it and of the processes that serve it, one for each connection: another test may have a PostgreSQL, too."""
    pids = {r["pid"] for r in requests if "pgbench" in r["endpoint"]}
    return [r for r in requests if r["pid"] in pids]


@pytest.mark.parametrize("mode, where", [("simple", "tcp"), ("extended", "tcp"), ("prepared", "tcp"), ("simple", "unix")])
def test_statements_of_postgresql_are_those_of_pgbench(lab, postgres, mode, where):
    place, data, port = postgres
    clients, turns = 4, 25
    film = lab.record("-e", "requests", "-a", "--", place / "pgbench", "-h", data if where == "unix" else "127.0.0.1",
                      "-p", port, "-U", "postgres", "-n", "-c", clients, "-t", turns, "-M", mode, "postgres")
    answer = requests_of(lab, film)
    for role in ("served", "made"):
        mine = of_pgbench([r for r in answer["requests"] if r["role"] == role and r["protocol"] == "postgresql"])
        counts = {}
        for r in mine:
            counts[r["endpoint"]] = counts.get(r["endpoint"], 0) + 1
        # each client has each statement prepared once, which the server answers, too
        count = clients * turns + (clients if mode == "prepared" else 0)
        assert counts["BEGIN"] == counts["END"] == count, counts
        for begins in ("UPDATE pgbench_accounts SET", "SELECT abalance FROM", "INSERT INTO pgbench_history"):
            one, = (n for sql, n in counts.items() if sql.startswith(begins))
            assert one == count, counts
        assert not any(r["open"] or r["failed"] for r in mine), mine
    assert not lost(answer), answer["loss"]


def test_errors_of_postgresql_are_failures(lab, postgres):
    place, _, port = postgres
    script = lab.folder / "script.sql"
    script.write_text("select 1 + 41; select * from nothing where name = 's3cr3t'; select 2;")
    film = lab.record("-e", "requests", "-a", "--", place / "psql", "-h", "127.0.0.1", "-p", port, "-U", "postgres",
                      "-f", script, "postgres")
    made = [r for r in requests_of(lab, film)["requests"] if r["role"] == "made"]
    failed = {r["endpoint"]: r["failed"] for r in made}
    assert failed["select ? + ?"] is False
    assert failed["select * from nothing where name = ?"] is True
    assert b"s3cr3t" not in Path(film.path).read_bytes()
