# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: serve --camera has the last minutes of some programs in memory, and keeps them."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from harness import Film, PATIENCE, memory_group, needs_root, running, wait_for_line, wait_until
from openapi import Api
from test_serve import await_one_film, films_of, serving

# A film is half as long, and at most ten seconds; so long, a film is there soon, and what a busy machine keeps late is still
# in memory.
SHORT = ("--camera-time", "8s")
CAMERA = ("--camera", "crashes*", "--camera-after", "1s", *SHORT)


class Crashing:
    """A program of tests/programs/crashes.c."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        wait_for_line(self.process)

    def say(self, word, dies=False):
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()
        if not dies:
            wait_for_line(self.process, "done")

    def ended(self):
        return self.process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def crashing(lab, name="crashes"):
    """With a name of its own, it is none that another test films beside by its name, and keeps as it ends."""
    file = lab.program("crashes")
    if name != "crashes":
        file = shutil.copy(file, lab.new_film().parent / name)
    program = Crashing(file)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.kill()
        program.process.wait(timeout=PATIENCE)
        program.process.stdin.close()
        program.process.stdout.close()


def keep(lab, serve, *options):
    return lab.run("keep", "--to", serve.url, "--token-file", serve.tokens, *options)


def camera_of(serve):
    return serve.get("status")["camera"]


def wait_for_bytes(serve, seconds):
    """Until it has filmed for so long."""
    assert wait_until(lambda: camera_of(serve)["time"] > seconds * 1e9, PATIENCE + seconds), camera_of(serve)


def states(lab, film, *options):
    done = lab.run("report", "--format", "states-json", *options, film)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def marks(serve):
    """Those with words; the others are of new versions of programs, which the machine may have meanwhile."""
    return [mark["text"] for mark in serve.get("marks")["marks"] if mark["text"]]


@needs_root
def test_keep(lab, tmp_path):
    """Short films become one, in which no thread's life has a hole or is told twice; the next one goes on from there."""
    await_one_film()
    with crashing(lab) as program, serving(lab, tmp_path / "store", *CAMERA) as serve:
        wait_for_bytes(serve, 7)
        before = camera_of(serve)
        assert before["filming"] and before["kept"] == 0 and 0 < before["bytes"] <= before["bytes_max"]
        done = keep(lab, serve, "--reason", "slow, it seemed\u00b9")
        assert done.returncode == 0, done.stderr
        film = done.stdout.strip()
        told = states(lab, film, "--pid", program.pid)
        assert told["film"]["labels"] == "kept=slow; it seemed\u00b9"
        # what is not known is counted: some virtual machines hide switches
        assert any(state["state"] == "hole" for state in told["all"]["states"]) == \
            any(reason.startswith("time of a thread not known") for reason in told["loss"])
        lives = {thread["comm"]: thread for thread in told["threads"]}
        assert set(lives) == {"crashes", "worker", "holder", "waiter", "sleeper"}
        # four films of two seconds, and what was recorded since
        wall = duration_of(told["film"])
        assert 5 < wall < 30
        for thread in lives.values():
            assert 0.95 * wall - 0.3 < thread["life"] / 1e9 <= wall + 0.01, (wall, thread)
        # a wait that outlives the short films is one wait
        for comm, waits in (("holder", "signal"), ("waiter", "lock")):
            of_life = {state["state"]: state["count"] for state in lives[comm]["states"]}
            assert of_life[waits] == 1 or "hole" in of_life, (comm, of_life)
        assert marks(serve) == ["kept: slow, it seemed\u00b9"]
        # what was kept is no longer in memory, and is not kept again
        again = keep(lab, serve)
        assert again.returncode == 0, again.stderr
        assert states(lab, again.stdout.strip())["film"]["start"] >= told["film"]["end"][:19]
        assert camera_of(serve)["kept"] == 2
        assert len(films_of(tmp_path / "store")) == 3
        # and the page's timeline has the threads of it
        assert wait_until(lambda: "threads" in serve.get("status")["events"])
        assert "waiter" in json.dumps(serve.get("timeline/lanes", event="threads", **{"from": "-5m"}))
        assert serve.end()[0] == 0
    assert not (tmp_path / "store" / "keeping").exists()


def duration_of(film):
    def seconds(text):
        whole, part = re.match(r"(.*)\.(\d+)Z$", text).groups()
        return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + int(part) / 1e9

    return seconds(film["end"]) - seconds(film["start"])


@needs_root
def test_keep_refused(lab, tmp_path):
    """Without a flight recorder, without a token, with words that are none; and what kill -9 left is removed."""
    store = tmp_path / "store"
    with serving(lab, store) as serve:
        assert serve.get("status")["camera"] is None
        done = keep(lab, serve)
        assert done.returncode == 1 and "no flight recorder" in done.stderr
        serve.process.kill()
    (store / "keeping").mkdir()
    (store / "keeping" / "0.film").write_bytes(b"half a film")
    with serving(lab, store, *CAMERA) as serve:
        assert not (store / "keeping").exists()
        Api().check_answer("GET", "/api/v1/status", 200, "application/json", json.dumps(serve.get("status")).encode())
        for path, token, status in (("keep?reason=%0A", "write", 400), ("keep?why=x", "write", 400),
                                    ("keep?reason=" + 501 * "x", "write", 400), ("keep", "read", 403)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                serve.post(path, token)
            assert refused.value.code == status, path
        wait_for_bytes(serve, 0)
        answer = serve.post("keep", "write")
        Api().check_answer("POST", "/api/v1/keep", 200, "application/json", json.dumps(answer).encode())
        assert os.path.exists(answer["film"])


def test_options_refused(lab):
    for options in (("--camera", "x", "--no-record"), ("--camera-time", "1s"), ("--camera-memory", "900kB"), ("--camera-memory", "5GB"), ("--camera-hang", "2h"), ("--camera-queue", "2h"), ("--camera-cpu", "x"), ("--camera-pressure", "101"),
                    ("--camera-slow", "2h"), ("--camera-slow", "p98"), ("--camera-hourly", "-1"), ("--camera-events", "nothing")):
        assert lab.run("serve", *options).returncode == 2, options
    assert lab.run("keep", "now").returncode == 2
    assert lab.run("keep", "--to", "ftp://x").returncode == 2


def deaths(film):
    """The stacks of a film's last scene, root first."""
    return [stack for stack, _ in film.folded("-e", "deaths")]


@contextlib.contextmanager
def filming(lab, program):
    """From when the threads of the program are known."""
    with lab.recording("-e", "threads,deaths", "-p", program.pid) as (recorder, film):
        assert wait_until(lambda: film.path.exists() and film.report("-e", "threads", check=False).returncode == 0
                          and film.json("-e", "threads")["event"]["total"] > 0)
        yield film
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0


@needs_root
@pytest.mark.parametrize("word, last, own", [
    ("segv", ["work", "lookup_order", "[SIGSEGV at 0x18]"], "SIGSEGV"),
    ("abort", ["raise", "abort", "[SIGABRT, sent by process {pid}]"], "SIGABRT"),
    ("kill", None, "SIGKILL"),
])
def test_last_scene(lab, word, last, own):
    """Each thread of a process that dies of a signal has its last stack, and the one that was delivered it the signal."""
    with crashing(lab) as program, filming(lab, program) as film:
        program.say(word, dies=True)
        assert program.ended() < 0
    stacks = deaths(film)
    assert len(stacks) == 5, stacks
    victims = [stack for stack in stacks if stack[-1] == f"[its process dies: {own}]"]
    assert len(victims) == (4 if last else 5), stacks
    for function in ("run_holder", "run_sleeper", "run_waiter", "main"):
        assert any(function in stack for stack in victims), (function, stacks)
    for stack in stacks:
        if last and stack not in victims:
            assert stack[-1] == last[-1].format(pid=program.pid) and "run_worker" in stack
            assert word != "segv" or list(stack[-3:]) == last


@needs_root
def test_no_last_scene(lab):
    """Signals that end nothing, a handler, and an end with a status are no deaths of a signal."""
    with crashing(lab) as program, filming(lab, program) as film:
        program.say("ignored")
        program.say("end", dies=True)
        assert program.ended() == 0
    assert film.json("-e", "deaths")["event"]["total"] == 0


@needs_root
def test_death_is_kept(lab, tmp_path):
    """A server crashes: the film has the seconds before it, what each thread did last, and those that go on."""
    with crashing(lab) as program, crashing(lab) as other, \
         serving(lab, tmp_path / "store", *CAMERA) as serve:
        time.sleep(2)  # that are to be in the film
        program.say("segv", dies=True)
        assert program.ended() < 0
        said = serve.hear(r"kept: (crashes \((\d+)\) died of SIGSEGV at 0x18 in thread worker \(\d+\)); the (\d+) s "
                          r"before are in (\S+)\n")
        assert int(said[2]) == program.pid
        film = said[4]
        told = states(lab, film)
        lives = {(thread["pid"], thread["comm"]): thread["life"] / 1e9 for thread in told["threads"]}
        assert lives[program.pid, "waiter"] > 1.5
        # a second of what came behind it
        assert 0.8 < lives[other.pid, "waiter"] - lives[program.pid, "waiter"] < 8
        stacks = report_folded(lab, film)
        assert any("lookup_order" in stack and "[SIGSEGV at 0x18]" in stack for stack in stacks), stacks
        assert any("run_holder" in stack and "[its process dies: SIGSEGV]" in stack for stack in stacks), stacks
        assert marks(serve) == [f"kept: {said[1]}"]
        # explain names it first: the signal, the thread, where, and what the others did
        done = lab.run("explain", "--format", "json", film)
        assert done.returncode == 0, done.stderr
        death, = json.loads(done.stdout)["deaths"]
        assert (death["pid"], death["process"], death["signal"]) == (program.pid, "crashes", "SIGSEGV at 0x18")
        worker = death["threads"][0]
        assert (worker["comm"], worker["own"], worker["stack"][:2]) == ("worker", True, ["lookup_order", "work"])
        did = {thread["comm"]: max(thread["states"], key=thread["states"].get) for thread in death["threads"]}
        assert did["holder"] == "signal" and did["waiter"] == "lock" and did["sleeper"] == "sleep", did
        assert all(sum(thread["states"].values()) == 10**9 for thread in death["threads"]), death
        text = lab.run("explain", film).stdout
        assert re.match(rf"crashes \({program.pid}\) died of SIGSEGV at 0x18 in thread worker \(\d+\), at \S+:\n"
                        r" {4}in lookup_order < work < run_worker < ", text), text
        # another death at once is counted, and not kept
        other.say("kill", dies=True)
        assert serve.hear(r"crashes \(\d+\) died of SIGKILL; not kept: ")
        assert camera_of(serve)["refused"] == 1 and camera_of(serve)["kept"] == 1


PIPE_DEATHS = """
import os, signal, socket, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
if sys.argv[1] == "pipe":
    reader, writer = os.pipe()
    os.close(reader)
else:
    here, there = socket.socketpair()
    there.close()
    writer = here.fileno()
print("ready", flush=True)
sys.stdin.readline()
os.write(writer, b"x")
"""


@needs_root
def test_an_end_by_a_pipe_is_not_kept(lab, tmp_path):
    """As that of what `head` reads from; a server that forgot to ignore SIGPIPE of a socket is a death."""
    (tmp_path / "crashes").symlink_to("/usr/bin/python3")
    with serving(lab, tmp_path / "store", *CAMERA) as serve:
        wait_for_bytes(serve, 1)
        for to in ("pipe", "socket"):
            with running(tmp_path / "crashes", "-c", PIPE_DEATHS, to, stdin=subprocess.PIPE) as program:
                program.process.stdin.write(b"\n")
                program.process.stdin.flush()
                assert program.wait() == -signal.SIGPIPE
                last = program.pid
        serve.hear(rf"kept: crashes \({last}\) died of SIGPIPE in thread crashes \({last}\); ")
        assert len(re.findall("died of SIGPIPE", serve.said)) == 1, serve.said
        assert camera_of(serve)["refused"] == 0


@needs_root
def test_a_kill_for_memory_is_kept(lab, tmp_path):
    """The kernel kills a process whose control group is full: which one, what it had, and what the group held."""
    limit = 64 << 20
    program = tmp_path / "memoryhog"
    program.symlink_to("/usr/bin/python3")
    script = ("import sys; print('ready', flush=True); sys.stdin.readline(); kept = []\n"
              "def hogs():\n    while True: kept.append(bytearray(1 << 20))\n"
              "hogs()")
    with memory_group(limit) as group, \
         serving(lab, tmp_path / "store", "--camera", "memoryhog", "--camera-after", "1s") as serve, \
         running(program, "-c", script, stdin=subprocess.PIPE) as target:
        (group / "cgroup.procs").write_text(str(target.pid))
        time.sleep(2)  # that are to be in the film
        target.process.stdin.write(b"\n")
        target.process.stdin.flush()
        assert target.wait() == -signal.SIGKILL
        said = serve.hear(rf"kept: memoryhog \({target.pid}\) died of SIGKILL, out of memory: it had ([\d.]+) MB anonymous"
                          rf".*; control group {group.name} held ([\d.]+) MB of at most 67.1 MB; the \d+ s before are in (\S+)\n")
        assert 40 < float(said[1]) < 90 and 60 < float(said[2]) < 67.2, said[0]
        stacks = report_folded(lab, said[3])
        # what Python's functions are called is gone with the process
        assert any("__libc_start_main" in stack and "out of memory: it had" in stack for stack in stacks), stacks
        death, = json.loads(lab.run("explain", "--format", "json", said[3]).stdout)["deaths"]
        assert death["pid"] == target.pid and death["signal"].startswith("SIGKILL, out of memory: "), death


@needs_root
def test_pressure_on_memory_is_kept(lab, tmp_path):
    """A control group is too small for what its program reads again and again: the machine's threads wait for memory."""
    if not os.access("/proc/pressure/memory", os.R_OK):
        pytest.skip("the kernel does not measure pressure")
    big, limit = tmp_path / "big", 48 << 20
    program = tmp_path / "thrashes"
    program.symlink_to("/usr/bin/python3")
    # the group holds what a program of it has written, too
    script = (f"import mmap, os, sys; print('ready', flush=True); sys.stdin.readline(); file = open({str(big)!r}, 'wb+')\n"
              f"for _ in range({3 * limit >> 20}): file.write(os.urandom(1 << 20))\n"
              "file.flush(); os.fsync(file.fileno())\n"
              "def thrashes(all):\n    while True:\n        for at in range(0, len(all), 4096): all[at]\n"
              "thrashes(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))")
    with memory_group(limit) as group, \
         serving(lab, tmp_path / "store", "--camera", "thrashes", "--camera-after", "1s", "--camera-pressure", "5") as serve, \
         running(program, "-c", script, stdin=subprocess.PIPE) as target:
        (group / "cgroup.procs").write_text(str(target.pid))
        time.sleep(3)  # that show what is usual
        target.process.stdin.write(b"\n")
        target.process.stdin.flush()
        said = serve.hear(r"kept: threads of the machine wait for (?:memory|disks) (\d+) % of the time, and usually (\d+) %; "
                          r"the \d+ s before are in (\S+)\n")
        assert int(said[1]) > int(said[2]), said[0]
        report = lab.run("report", "--format", "states", said[3])
        assert f"process thrashes ({target.pid})" in report.stdout, report.stdout + report.stderr


@needs_root
def test_hang_is_kept(lab, tmp_path):
    """A thread waits for a lock for long, after it did not."""
    with serving(lab, tmp_path / "store", *CAMERA, "--camera-hang", "2s") as serve, crashing(lab) as program:
        # of the waiter, which waits from the beginning
        serve.hear(rf"kept: crashes \({program.pid}\) hangs: thread waiter \(\d+\) has waited for [\d.]+ s for a lock; ")
        film = re.search(r"are in (\S+)", serve.hear(r"before are in \S+\n")[0])[1]
        assert states(lab, film, "--comm", "waiter")["threads"][0]["life"] > 1.5e9
        # one that was told is not told again, and another one is, but not kept so soon
        program.say("hang")
        serve.hear(r"hangs: thread worker \(\d+\) has waited for [\d.]+ s for a lock; not kept: ")
        assert len(re.findall("thread waiter", serve.said)) == 1


def report_folded(lab, film):
    done = lab.run("report", "-e", "deaths", "--format", "folded", film)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# Its name is an argument: cameras select by name, and tests run beside each other.
FULL_QUEUE = """
import socket, sys
open("/proc/self/comm", "w").write(sys.argv[1])
server = socket.create_server(("127.0.0.1", 0), backlog=3)
print(server.getsockname()[1], flush=True)
sys.stdin.readline()
"""


@needs_root
def test_full_accept_queue_is_kept(lab, tmp_path):
    """A server does not accept: once its queue has been full for a while, what it did instead is kept."""
    program = subprocess.Popen([sys.executable, "-c", FULL_QUEUE, "overrun"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with contextlib.ExitStack() as ends:
        ends.callback(program.wait, timeout=PATIENCE)
        ends.callback(program.stdin.close)
        ends.callback(program.stdout.close)
        port = int(program.stdout.readline())
        serve = ends.enter_context(serving(lab, tmp_path / "store", "--camera", "overrun", "--camera-after", "1s", "--camera-queue", "2s",
                                           *SHORT))
        wait_for_bytes(serve, 1)
        for _ in range(4):
            ends.enter_context(socket.create_connection(("127.0.0.1", port)))
        said = serve.hear(rf"kept: (the accept queue of overrun \({program.pid}\) at 127\.0\.0\.1:{port} has been full for [\d.]+ s: "
                          r"4 connections, and its backlog is 3); the \d+ s before are in (\S+)\n")
        threads = states(lab, said[2])["threads"]
        assert len(threads) == 1, threads
        main, = threads
        assert main["pid"] == program.pid and main["life"] > 2e9
        assert marks(serve) == [f"kept: {said[1]}"]
        assert camera_of(serve)["kept"] == 1


ANSWERS = """
import http.server, time
open("/proc/self/comm", "w").write("answers")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep("slow" in self.path and 0.4)
        self.send_response(503 if "fails" in self.path else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@needs_root
@pytest.mark.parametrize(["options", "path", "words"], [
    (("--camera-slow", "300ms"), "/slow/7", r"GET /slow/\* (?:took 4\d\d\.\d+ ms|has taken 3\d\d\.\d+ ms and is not over)"),
    (("--camera-failed",), "/fails/7", r"GET /fails/\*, failed with status 503 after [\d.]+ [mu]?s"),
])
def test_a_slow_or_failed_request_is_kept(lab, tmp_path, options, path, words):
    """One of many: the film has it, with what its thread did, and the requests before it."""
    program = subprocess.Popen([sys.executable, "-c", ANSWERS], stdout=subprocess.PIPE)
    with contextlib.ExitStack() as ends:
        ends.callback(program.wait, timeout=PATIENCE)
        ends.callback(program.kill)
        ends.callback(program.stdout.close)
        port = int(program.stdout.readline())
        serve = ends.enter_context(serving(lab, tmp_path / "store", "--camera", "answers", "--camera-after", "1s", *SHORT, *options))
        wait_for_bytes(serve, 1)
        for asked in ("/fine", "/fine", path):
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}{asked}", timeout=PATIENCE).close()
        said = serve.hear(rf"kept: (answers \({program.pid}\): {words}); the \d+ s before are in (\S+)\n")
        assert marks(serve) == [f"kept: {said[1]}"]
        done = lab.run("explain", "--slowest", "1", "--endpoint", f"GET {path[:-1]}*", said[2])
        assert done.returncode == 0 and path in done.stdout, done
        told = json.loads(lab.run("report", "--format", "requests-json", said[2]).stdout)
        assert {"GET /fine", f"GET {path[:-1]}*"} <= {row["endpoint"] for row in told["endpoints"]}


@needs_root
def test_failed_requests_cost_no_film_of_a_crash(lab, tmp_path):
    """However many fail, the log has a line for them, and the first death of the hour is kept beside them."""
    answers = subprocess.Popen([sys.executable, "-c", ANSWERS], stdout=subprocess.PIPE)
    with contextlib.ExitStack() as ends:
        ends.callback(answers.wait, timeout=PATIENCE)
        ends.callback(answers.kill)
        ends.callback(answers.stdout.close)
        port = int(answers.stdout.readline())
        serve = ends.enter_context(serving(lab, tmp_path / "store", *CAMERA, "--camera", "answers", "--camera-after", "1s",
                                           "--camera-failed", "--camera-hourly", "1"))
        program = ends.enter_context(crashing(lab))
        wait_for_bytes(serve, 1)
        for _ in range(20):
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/fails/1", timeout=PATIENCE).close()
        serve.hear(r"kept: answers \(\d+\): GET /fails/\*, failed with status 503 after")
        more = serve.hear(r"(\d+) more such things happened meanwhile: marks on the page say which\n")
        said = [line for line in serve.said.splitlines() if "kept: " in line or "not marked" in line]
        assert 1 <= int(more[1]) < 20 and len(said) <= 3, serve.said
        program.say("kill", dies=True)
        serve.hear(r"kept: crashes \(\d+\) died of SIGKILL; ")
        assert camera_of(serve)["kept"] == 2


HANGS = """
import http.server, sys, threading
open("/proc/self/comm", "w").write("answers")
lock = threading.Lock()
def hold_forever():
    lock.acquire()
    threading.Event().wait()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if "hangs" in self.path:
            lock.acquire()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *words):
        pass
threading.Thread(target=hold_forever, daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@needs_root
def test_a_request_that_hangs_is_kept_while_it_does(lab, tmp_path):
    """It never ends: the film has it as far as it is, and explain says what it waits for."""
    program = subprocess.Popen([sys.executable, "-c", HANGS], stdout=subprocess.PIPE)
    with contextlib.ExitStack() as ends:
        ends.callback(program.wait, timeout=PATIENCE)
        ends.callback(program.kill)
        ends.callback(program.stdout.close)
        port = int(program.stdout.readline())
        serve = ends.enter_context(serving(lab, tmp_path / "store", "--camera", "answers", "--camera-after", "1s", "--camera-slow", "1500ms",
                                           *SHORT))
        wait_for_bytes(serve, 1)
        urllib.request.urlopen(f"http://127.0.0.1:{port}/fine", timeout=PATIENCE).close()
        hangs = ends.enter_context(socket.create_connection(("127.0.0.1", port)))
        hangs.sendall(b"GET /hangs/7 HTTP/1.1\r\nHost: x\r\nx-request-id: stuck\r\n\r\n")
        said = serve.hear(rf"kept: (answers \({program.pid}\): GET /hangs/\*, id stuck has taken [\d.]+ s and is not over); "
                          r"the \d+ s before are in (\S+)\n")
        assert marks(serve) == [f"kept: {said[1]}"]
        # once, however many films it outlives
        told = json.loads(lab.run("report", "--format", "requests-json", said[2]).stdout)
        one, = [request for request in told["requests"] if request["id"] == "stuck"]
        assert one["open"] and not one["answered"] and one["duration"] > 1_500_000_000, one
        done = lab.run("explain", "--format", "json", "--request", "stuck", said[2])
        assert done.returncode == 0, done.stderr
        request, = json.loads(done.stdout)["requests"]
        assert request["open"] and request["duration"] > 1_500_000_000, request
        cause = request["parts"][0]
        assert cause["kind"] in ("lock", "condition") and cause["end"] == "open", cause
        assert cause["duration"] > 0.9 * request["duration"]
        text = lab.run("explain", said[2]).stdout
        assert re.search(r"^/hangs/7 had taken [\d.]+ s and was not over, in answers \(\d+\)", text, re.M), text
        assert camera_of(serve)["kept"] == 1


BURNS_LATER = """
import sys
open("/proc/self/comm", "w").write("spiky")
print("ready", flush=True)
sys.stdin.readline()

def burn():
    while True:
        sum(range(1000))

burn()
"""


@needs_root
def test_a_jump_of_cpu_is_kept(lab, tmp_path):
    """A process that has been idle takes a whole CPU: what it did is kept, once, with the function that took it."""
    program = subprocess.Popen([sys.executable, "-c", BURNS_LATER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with contextlib.ExitStack() as ends:
        ends.callback(program.wait, timeout=PATIENCE)
        ends.callback(program.kill)
        ends.callback(program.stdout.close)
        program.stdout.readline()
        serve = ends.enter_context(serving(lab, tmp_path / "store", "--camera", "spiky", "--camera-after", "1s",
                                           "--camera-cpu", "10"))  # a part of one, where others want it, too
        wait_for_bytes(serve, 8)  # until it is usual that it is idle
        program.stdin.close()
        said = serve.hear(rf"kept: (spiky \({program.pid}\) takes [01]\.\d\d CPUs, and usually 0\.\d\d); the \d+ s before are in (\S+)\n")
        threads = states(lab, said[2])["threads"]
        assert [thread["pid"] for thread in threads] == [program.pid], [(one["comm"], one["pid"], one["tid"]) for one in threads]
        assert marks(serve) == [f"kept: {said[1]}"]
        assert camera_of(serve)["kept"] == 1



@needs_root
def test_samples_are_kept_beside_threads(lab, tmp_path):
    """What a thread did on the CPU is in the kept film, if the caller names that event."""
    program = subprocess.Popen([sys.executable, "-c", BURNS_LATER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with contextlib.ExitStack() as ends:
        ends.callback(program.wait, timeout=PATIENCE)
        ends.callback(program.kill)
        ends.callback(program.stdout.close)
        program.stdout.readline()
        serve = ends.enter_context(serving(lab, tmp_path / "store", "--camera", "spiky", "--camera-events", "threads,on-cpu", *SHORT))
        program.stdin.close()
        wait_for_bytes(serve, 3)
        done = keep(lab, serve)
        assert done.returncode == 0, done.stderr
        assert Film(lab.stackcam, done.stdout.strip()).share(lambda stack: "burn" in stack, "-e", "on-cpu") > 0.9
