# SPDX-License-Identifier: Apache-2.0
"""What another user of the machine can read or stop: nothing."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from asking import playing
from harness import PATIENCE, as_from_a_terminal, needs_root, wait_until
from test_agent import agent
from test_flight import crashing
from test_flight_record import flying, life_of
from test_serve import serving, wait_for_film

pytestmark = needs_root

NOBODY = 65534
RECORDS = ",".join(f"+{name}" for name in ("sys_admin", "bpf", "perfmon", "sys_ptrace", "dac_read_search", "syslog",
                                           "checkpoint_restore"))
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def nobody(*command, **options):
    """A command of that user, which has ended."""
    return subprocess.run([*AS_NOBODY, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE, cwd="/", **options)


# Tries what its arguments name; prints what succeeded, one a line.
TRIES = """
import errno, fcntl, os, signal, sys

def tried(name, what, *arguments):
    try:
        what(*arguments)
    except OSError as error:
        assert error.errno in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.EROFS), (name, error)
    else:
        print(name)

def read(path):
    with open(path, "rb") as file:
        file.read(1)

def lock(path):
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

def make(path):
    open(path + "/of-nobody", "x").close()

for word in sys.argv[1:]:
    if word.isdigit():
        for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGINT, 0):
            tried(f"signal {number} to {word}", os.kill, int(word), number)
        for name in ("environ", "maps", "mem", "fd/0", "cwd"):
            tried(f"/proc/{word}/{name}", os.readlink if name in ("fd/0", "cwd") else read, f"/proc/{word}/{name}")
    elif os.path.isdir(word):
        tried(f"list {word}", os.listdir, word)
        tried(f"write to {word}", make, word)
    else:
        tried(f"read {word}", read, word)
        tried(f"lock {word}", lock, word)
        tried(f"write {word}", os.open, word, os.O_WRONLY)
        tried(f"remove {word}", os.unlink, word)
        tried(f"replace {word}", os.rename, word, word + ".of-nobody")
"""


def can(*things):
    """What nobody can do with processes, files and folders."""
    done = nobody("/usr/bin/python3", "-c", TRIES, *things)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def folder(lab):
    """One that each user can look into, as /tmp."""
    for above in (lab.folder, *lab.folder.parents):
        if above.stat().st_uid == os.geteuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o055)
    return lab.folder


# Has the names that sockets of the next processes could have, and says so; ends with its input.
SQUATTER = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
taken = []
for pid in range(int(sys.argv[1]), int(sys.argv[1]) + 3000):
    taken.append(socket.socket(socket.AF_UNIX))
    taken[-1].bind(f"\\0stackcam-flight-{pid}")
    taken[-1].listen()
print("taken", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def squatting():
    last = int(Path("/proc/sys/kernel/ns_last_pid").read_text())
    with subprocess.Popen(["prlimit", "--nofile=4000", *AS_NOBODY, "/usr/bin/python3", "-c", SQUATTER, str(last)], cwd="/",
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as squatter:
        assert squatter.stdout.readline() == "taken\n"
        yield
        squatter.stdin.close()


def sockets_of(pid):
    """Files that a process listens at for `keep`."""
    return [Path(path) for path in re.findall(rf" (/\S*stackcam-flight-{pid})$", Path("/proc/net/unix").read_text(), re.MULTILINE)]


def test_a_flight_recorder(lab, folder):
    film = folder / "a.film"
    with crashing(lab, "flies") as program, squatting(), \
            flying(lab, film, "--flight", "6s", "-e", "threads", "-p", program.pid) as recorder:
        path, = sockets_of(recorder.pid)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert can(path, path.parent, recorder.pid) == []

        def keep():
            done = lab.run("keep", "--pid", recorder.pid)
            assert done.returncode == 0, done.stderr
            return life_of(lab, done.stdout.strip(), program.pid)

        assert wait_until(keep, PATIENCE)
        assert can(*folder.glob("*.film")) == []
        recorder.kill()
        recorder.wait(timeout=PATIENCE)
        # what it could not remove goes as the next one starts
        assert path.exists()
        with flying(lab, folder / "b.film", "--flight", "6s", "-p", program.pid) as other:
            assert not path.exists()
            path, = sockets_of(other.pid)
            other.send_signal(signal.SIGINT)
            assert other.wait(timeout=PATIENCE) == 0, other.stderr.read()
        assert not path.exists()


def test_a_user_s_flight_recorder(lab, folder):
    """It has a folder of its own where there is none for its session."""
    folder.chmod(0o777)
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    with crashing(lab, "flies") as program:
        process = subprocess.Popen([*AS_NOBODY, f"--inh-caps={RECORDS}", f"--ambient-caps={RECORDS}", lab.stackcam, "record", "--flight", "6s",
                                    "-e", "threads", "-p", str(program.pid), "-o", folder / "a.film"], env=environment,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=as_from_a_terminal)
        try:
            assert f"keep --pid {process.pid}" in process.stderr.readline()
            path, = sockets_of(process.pid)
            made = path.parent.stat()
            assert (stat.S_IMODE(made.st_mode), made.st_uid) == (0o700, NOBODY)
            # root, and the user
            assert wait_until(lambda: lab.run("keep", "--pid", process.pid).returncode == 0, PATIENCE)
            assert wait_until(lambda: nobody(lab.stackcam, "keep", "--pid", process.pid).returncode == 0, PATIENCE)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=PATIENCE) == 0, process.stderr.read()
            assert not path.parent.exists()
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(timeout=PATIENCE)
            process.stderr.close()


def test_a_film_that_is_recorded(lab, folder):
    """Also where the file was there, and is of another user."""
    with lab.recording("-a") as (recorder, film):
        assert wait_until(film.begun)
        assert len(list(film.path.parent.glob(film.path.name + "*"))) > 1
        assert can(recorder.pid, *film.path.parent.glob(film.path.name + "*")) == []
    theirs = folder / "theirs.film"
    theirs.touch()
    os.chown(theirs, NOBODY, NOBODY)
    theirs.chmod(0o666)
    assert lab.run("record", "-o", theirs, "--", "true").returncode == 0
    assert can(theirs) == []


def test_serve_and_what_it_keeps(lab, folder):
    store = folder / "store"
    with serving(lab, store) as serve:
        film = wait_for_film(store)
        assert can(serve.pid, store, serve.tokens, film, film.parent) == []
        done = nobody(lab.stackcam, "keep", "--to", serve.url)
        assert done.returncode != 0 and "401" in done.stderr, done.stderr
        # as many connections as it can have
        with subprocess.Popen([*AS_NOBODY, "/usr/bin/python3", "-c", HOLDS, serve.url.rpartition(":")[2]], cwd="/",
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout.readline() == "held\n"
            assert serve.get("status")["filming"]
            assert serve.process.poll() is None
            holder.stdin.close()


HOLDS = """
import resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
held = []
for _ in range(min(most - 20, 1500)):
    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20))
    try:
        held[-1].send(b"GET /api/v1/status HTTP/1.1\\r\\nHost: localhost\\r\\n")
    except OSError:
        pass
print("held", flush=True)
sys.stdin.read()
"""


def test_answers_and_messages(lab, folder):
    """What an answer is made from stays as secret, and no message names a folder of the server."""
    folder.chmod(0o755)
    film = lab.record("--", "true")
    answer = folder / "answer.svg"
    assert lab.run("report", "-o", answer, film.path).returncode == 0
    assert stat.S_IMODE(answer.stat().st_mode) == 0o600
    assert can(answer) == []
    damaged = bytearray(film.path.read_bytes())
    damaged[100:3000] = b"x" * 2900
    store = folder / "store"
    with serving(lab, store, "--no-record") as serve:
        headers = {"Authorization": f"Bearer {serve.made_token('write')}", "X-Stackcam-Host": "host9", "X-Stackcam-Agent": "agent-1",
                   "X-Stackcam-Number": "1"}
        request = urllib.request.Request(f"{serve.url}/api/v1/films", data=bytes(damaged), headers=headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request, timeout=PATIENCE)
        words = json.loads(error.value.read())["error"]
        assert error.value.code == 400 and "damaged" in words and "/" not in words, words
        error.value.close()


def test_a_token_file_that_others_can_change(lab, folder):
    tokens = folder / "own-tokens"
    tokens.write_text("0123456789abcdef-write write\n")
    tokens.chmod(0o666)
    for verb in (("serve", "--no-record", "--store", folder / "store", "--listen", "127.0.0.1:0"), ("keep", "--to", "http://127.0.0.1:1")):
        done = lab.run(*verb, "--token-file", tokens)
        assert done.returncode == 3 and "other users can change the file (mode 0666)" in done.stderr, done.stderr


def test_play(lab, folder):
    film = lab.record("--", "true")
    with playing(lab.stackcam, film.path) as player:
        assert can(player.process.pid, film.path) == []
        with subprocess.Popen([*AS_NOBODY, "/usr/bin/python3", "-c", HOLDS, str(player.port)], cwd="/",
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout.readline() == "held\n"
            assert player.ask("status")["one_film"]
            holder.stdin.close()


def test_agent(lab, folder):
    spool = folder / "spool"
    with crashing(lab, "flies"), squatting(), \
            agent(lab, "--to", "http://127.0.0.1:1", "--spool", spool, "--camera", "flies", "-F", "1") as process:
        assert wait_until(lambda: sockets_of(process.pid), PATIENCE)
        path, = sockets_of(process.pid)
        assert can(process.pid, spool, path, path.parent) == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0, process.stderr.read()
    assert not path.exists()
