# SPDX-License-Identifier: Apache-2.0
"""record --logs: what threads write to logs, against programs that say what they wrote."""

import json
import os
import subprocess
import sys

from harness import needs_root

pytestmark = needs_root

# Threads that write in each way, each line with the number of its thread.
WAYS = r"""
import os, socket, sys, threading, time

folder = sys.argv[1]
FILE = os.open(folder + "/app.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
OTHER = os.open(folder + "/app.data", os.O_CREAT | os.O_WRONLY, 0o600)

def name(text):
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write(text)

def out():
    name("to-output")
    os.write(1, f"out {threading.get_native_id()}\n".encode())
    os.write(1, b"in ")
    os.write(1, b"pieces\nand more\n")

def err():
    name("to-error")
    os.writev(2, [b"err ", str(threading.get_native_id()).encode(), b"\n"])

def log():
    name("to-file")
    os.write(FILE, f"file {threading.get_native_id()}\n".encode())
    os.pwrite(FILE, b"at a place\n", 0)
    os.write(OTHER, b"no log\n")

def syslog():
    name("to-syslog")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.connect("/dev/log")
        s.send(f"<11>app: syslog {threading.get_native_id()}".encode())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"<14>app: by address", "/dev/log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendmsg([b"MESSAGE=the journal\n", b"PRIORITY=4\nSECRET=hidden\n"], [], 0, "/run/systemd/journal/socket")

def network():
    name("to-network")
    one, two = socket.socketpair()
    one.send(b"no log either\n")

for act in (out, err, log, syslog, network):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    print("did", act.__name__, thread.native_id, flush=True)
"""

# In a mount namespace of its own, with sockets of loggers that are its own.
AROUND = r"""
import os, socket, subprocess, sys
for path in ("/dev/log", "/run/systemd/journal/socket"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
sockets = []
for path in ("/dev/log", "/run/systemd/journal/socket"):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if os.path.lexists(path):
        os.unlink(path)
    s.bind(path)
    sockets.append(s)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


def lines_of(lab, film, *options):
    done = lab.run("report", "--format", "logs-json", *options, film)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_way(lab, tmp_path):
    film = lab.new_film()
    mounts = "mount -t tmpfs none /run && mount --bind \"$1\" /dev && shift && exec \"$@\""
    devices = tmp_path / "dev"
    devices.mkdir()
    for name, minor in (("null", 3), ("zero", 5), ("urandom", 9)):
        os.mknod(devices / name, 0o666 | 0o020000, os.makedev(1, minor))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mounts, "sh", str(devices), sys.executable, "-c", AROUND, lab.stackcam, "record", "--logs", "-o",
         str(film), "-e", "threads", "--", sys.executable, "-c", WAYS, str(tmp_path)],
        capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    tids = {words[1]: int(words[2]) for words in (line.split() for line in done.stdout.splitlines()) if words[0] == "did"}
    answer = lines_of(lab, film)
    found = [(line["comm"], line["kind"], line["level"], line["text"]) for line in answer["lines"] if not line["text"].startswith("did ")]
    assert found == [
        ("to-output", "output", "", f"out {tids['out']}"), ("to-output", "output", "", "in pieces"), ("to-output", "output", "", "and more"),
        ("to-error", "error", "", f"err {tids['err']}"),
        ("to-file", "file", "", f"file {tids['log']}"), ("to-file", "file", "", "at a place"),
        ("to-syslog", "syslog", "error", f"app: syslog {tids['syslog']}"), ("to-syslog", "syslog", "info", "app: by address"),
        ("to-syslog", "journal", "warning", "the journal"),
    ], found
    assert {line["stream"] for line in answer["lines"] if line["kind"] == "file"} == {str(tmp_path / "app.log")}
    assert all(line["matched"] == "writer" and line["writer"] == line["tid"] and not line["cut"] for line in answer["lines"])
    assert "hidden" not in lab.run("report", "--format", "logs", film).stdout
    # of one thread alone
    own = lines_of(lab, film, "--tid", tids["err"])
    assert [line["text"] for line in own["lines"]] == [f"err {tids['err']}"]


def test_long_lines(lab):
    program = "import os\n" \
        "os.write(1, b'a' * 20000 + b'\\n')\n" \
        "os.write(1, b'b' * 16384 + b'\\n')\n" \
        "os.write(1, b'\\n'.join(b'%d' % i for i in range(20000)) + b'\\n')\n" \
        "os.write(1, b'c' * 1000000 + b'\\n')\n" \
        "os.write(1, b'end\\n')\n"
    film = lab.record("--logs", "-e", "threads", "--logs-rate", "0", "--", sys.executable, "-c", program)
    answer = lines_of(lab, film.path)
    by = {}
    for line in answer["lines"]:
        by.setdefault(line["text"][0] if line["text"][0] in "abc" else "number", []).append(line)
    long, = by["a"]
    assert (long["size"], len(long["text"]), long["cut"]) == (20000, 16384, True)
    fits, = by["b"]
    assert (fits["size"], len(fits["text"]), fits["cut"]) == (16384, 16384, False)
    # a call of 108,890 bytes fits into what is copied of one
    assert [line["text"] for line in by["number"]] == [str(i) for i in range(20000)] + ["end"]
    # of one of a million bytes the rest is counted
    huge, = by["c"]
    assert huge["size"] == 1000001 and len(huge["text"]) == 16384 and huge["cut"]
    assert answer["loss"]["logs: bytes that were not read from the memory of their program"] == 1000001 - 16 * 8192
    assert answer["loss"]["logs: bytes of lines that are longer than 16 KiB"] == 20000 - 16384 + 16 * 8192 - 16384


def test_the_rate_is_bounded_and_what_is_lost_is_counted(lab):
    program = "import os\nfor i in range(3000):\n    os.write(1, b'%05d' % i + b'x' * 94 + b'\\n')\n"
    film = lab.record("--logs", "-e", "threads", "--logs-rate", "20000", "--", sys.executable, "-c", program)
    answer = lines_of(lab, film.path)
    lost = answer["loss"]["write to a log lost: --logs-rate was reached"]
    assert len(answer["lines"]) + lost == 3000
    # for each second that it took, on each of the CPUs that it ran on
    assert 200 <= len(answer["lines"]) < 2900
    for line in answer["lines"]:
        assert line["text"][5:] == "x" * 94 and not line["cut"]


def test_lines_of_others_are_never_there(lab):
    other = subprocess.Popen([sys.executable, "-u", "-c", "import time\nwhile True:\n    print('of a bystander')\n    time.sleep(0.01)"],
                             stdout=subprocess.DEVNULL)
    try:
        film = lab.record("--logs", "-e", "threads", "--", sys.executable, "-c", "import time\nprint('own', flush=True)\ntime.sleep(0.5)")
        named = lab.record("--logs", "-n", "no-such-*", "-d", "0.5", check=False)
    finally:
        other.kill()
        other.wait()
    assert [line["text"] for line in lines_of(lab, film.path)["lines"]] == ["own"]
    assert b"bystander" not in film.path.read_bytes()
    done = lab.run("report", "--format", "logs", named.path)
    assert done.returncode == 1 and "the film has none" in done.stderr, done
    # nor without being asked for
    film = lab.record("-e", "threads", "--", sys.executable, "-c", "print('own', flush=True)")
    assert lab.run("report", "--format", "logs", film.path).returncode == 1


def test_an_appender_in_a_thread_of_its_own(lab):
    program = r"""
import os, queue, threading
lines = queue.Queue()

def name(text):
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write(text)

def append():
    name("appender")
    while (line := lines.get()) is not None:
        os.write(2, (line + "\n").encode())

def work(number):
    name(f"worker-{number}")
    lines.put(f"12:00:00 [worker-{number}] INFO it works")
    lines.put(f"12:00:00 worker-{number}0 is no thread")

writer = threading.Thread(target=append)
writer.start()
for number in (1, 2):
    thread = threading.Thread(target=work, args=(number,))
    thread.start()
    thread.join()
lines.put("from worker-1 to worker-2")
lines.put("appender itself, for worker-1")
lines.put(None)
writer.join()
"""
    film = lab.record("--logs", "-e", "threads", "--", sys.executable, "-c", program)
    found = [(line["comm"], line["matched"], line["text"]) for line in lines_of(lab, film.path)["lines"]]
    assert found == [
        ("worker-1", "thread-name", "12:00:00 [worker-1] INFO it works"),
        ("appender", "writer", "12:00:00 worker-10 is no thread"),
        ("worker-2", "thread-name", "12:00:00 [worker-2] INFO it works"),
        ("appender", "writer", "12:00:00 worker-20 is no thread"),
        ("appender", "writer", "from worker-1 to worker-2"),
        ("appender", "writer", "appender itself, for worker-1"),
    ], found
    text = lab.run("report", "--format", "logs", film.path).stdout
    assert ", by its name, written by " in text


def test_hostile_text(lab):
    program = "import os\nos.write(1, b'\\x1b[31mred\\xff\\xc3 \\x07<script>\\n' + b'\\0binary\\0' * 9 + b'\\n')\nos.write(1, b'\\0\\1\\2\\n')\n"
    film = lab.record("--logs", "-e", "threads", "--", sys.executable, "-c", program)
    text = lab.run("report", "--format", "logs", film.path)
    assert text.returncode in (0, 1) and "\x1b" not in text.stdout and "\x07" not in text.stdout
    program = "import os\nos.write(1, b'\\x1b[31mred\\xff\\xc3 \\x07<script>\\n')\n"
    film = lab.record("--logs", "-e", "threads", "--", sys.executable, "-c", program)
    text = lab.run("report", "--format", "logs", film.path).stdout
    assert "red" in text and "<script>" in text and "\x1b" not in text and "\x07" not in text
    assert len(lines_of(lab, film.path)["lines"]) == 1


def test_the_lines_of_a_request_explain_it(lab):
    program = r"""
import http.client, http.server, os, queue, threading, time
lines = queue.Queue()

def append():
    while (line := lines.get()) is not None:
        os.write(2, (line + "\n").encode())

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        os.write(2, f"own line of {self.path}\n".encode())
        lines.put(f"trace={self.headers['traceparent'].split('-')[1]} handed over for {self.path}")
        time.sleep(0.1)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *words):
        pass

writer = threading.Thread(target=append)
writer.start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for path, trace in (("/one", "1" * 32), ("/two", "2" * 32)):
    client = http.client.HTTPConnection("127.0.0.1", server.server_port)
    client.request("GET", path, headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    client.getresponse().read()
    client.close()
os.write(2, b"at the end\n")
lines.put(None)
writer.join()
"""
    film = lab.record("--logs", "-e", "threads,requests", "--", sys.executable, "-c", program)
    for path, trace in (("/one", "1" * 32), ("/two", "2" * 32)):
        done = lab.run("explain", "--format", "json", "--slowest", 2, "--request", trace, film.path)
        assert done.returncode == 0, done.stderr
        request = [row for row in json.loads(done.stdout)["requests"] if row["role"] == "served"][0]
        assert [(line["matched"], line["text"]) for line in request["logs"]] == [
            ("writer", f"own line of {path}"), ("request-id", f"trace={trace} handed over for {path}")], request["logs"]
        assert request["logs_left"] == 0 and all(0 <= line["after"] < request["duration"] for line in request["logs"])
        text = lab.run("explain", "--slowest", 2, "--request", trace, film.path).stdout
        assert "Meanwhile its threads logged:" in text and f"own line of {path}" in text and "at the end" not in text
