# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: to start programs, to film them, to read the films."""

import contextlib
import json
import math
import os
import platform
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

# A recording starts (loads its probes, reads /proc) and ends (names, writes) within that many
# seconds beside the time that it films; it is generous, for machines under load.
PATIENCE = 60

HZ = 1999

# What the first stacks of a process are cut for: they come before it is known which language runs in it, and say so.
EARLY = ("the language runtime was not known yet",)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="filming needs root here")


def skip_where_not_executed(program):
    """Some kernels (PVM's guests) execute no 32-bit program."""
    try:
        process = subprocess.Popen([program], stdout=subprocess.DEVNULL)
    except OSError as error:
        pytest.skip(f"{program}: {error.strerror}")
    process.kill()
    process.wait()


def as_from_a_terminal():
    """
    In a child before it executes: Ctrl-C ends it, also where the tests themselves were started without
    (nohup, a background job): an ignored signal is inherited, and stackcam leaves it ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# Stands for native frames that are missing within a stack.
GAP = "[native frames without unwind information]"


class Stack(tuple):
    """A stack, as names of frames, root first."""

    def has(self, *chain):
        """Whether the names of chain follow one another in it."""
        return any(self[i:i + len(chain)] == chain for i in range(len(self) - len(chain) + 1))

    def find(self, name):
        return [frame for frame in self if name_of(frame) == name]


def name_of(frame):
    """A frame's function without its parameters."""
    return frame.split("(")[0] if not frame.startswith("(") else frame


class Film:
    """A film and what `stackcam report` says of it."""

    def __init__(self, stackcam, path, recording=None):
        self.stackcam = stackcam
        self.path = path
        self.recording = recording
        self.recorder = None  # the process that makes it, if that goes on
        self.inbox = None  # it tells there that it has begun, if it was given one

    def begun(self):
        """Whether what happens from now on is recorded: the file, and events in it, are there before all probes are."""
        assert not self.recorder or self.recorder.poll() is None, self.recorder.stderr.read()
        if self.inbox:
            with contextlib.suppress(BlockingIOError):
                return self.inbox.recv(4096, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"READY=1"
            return False
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as film:
                return film.execute("SELECT count(*) FROM event").fetchone()[0] > 0
        except sqlite3.OperationalError:
            return False

    def report(self, *options, check=True, text=True):
        done = subprocess.run([self.stackcam, "report", *options, self.path], timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=text,
                              errors="surrogateescape" if text else None)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    def json(self, *options):
        return json.loads(self.report("--format", "json", *options).stdout)

    def folded(self, *options):
        """All stacks with their values."""
        stacks = []
        for line in self.report("--format", "folded", *options).stdout.splitlines():
            frames, _, value = line.rpartition(" ")
            stacks.append((Stack(frames.split(";")), int(value)))
        return stacks

    def share_of(self, stacks, wanted):
        """The part of the time of these stacks (0 to 1) in those for which wanted is true."""
        total = sum(value for _, value in stacks)
        assert total > 0, "an empty film: " + self.explain()
        return sum(value for stack, value in stacks if wanted(stack)) / total

    def share(self, wanted, *options):
        """The same of all time."""
        return self.share_of(self.folded(*options), wanted)

    def user_share(self, wanted, *options):
        """The same of the time outside the kernel, which on some virtual machines needs a tenth of it to start a program."""
        kernel = {function["name"] for function in self.json(*options)["functions"] if function["kind"] == "kernel"}
        return self.share_of([(stack, value) for stack, value in self.folded(*options) if stack[-1] not in kernel], wanted)

    def self_shares(self, *options):
        """Name of a function to its own part of all time (0 to 1)."""
        answer = self.json(*options)
        shares = {}
        for function in answer["functions"]:
            name = name_of(function["name"])
            shares[name] = shares.get(name, 0) + function["self"] / answer["event"]["total"]
        return shares

    def total_shares(self, names, *options):
        """Each name to the part of all time (0 to 1) in stacks that have it: interrupts of a function are its own."""
        stacks = self.folded(*options)
        total = sum(value for _, value in stacks)
        assert total > 0, "an empty film: " + self.explain()
        return {name: sum(value for stack, value in stacks if name in stack) / total for name in names}

    def assert_whole(self, part=0.99, early=EARLY):
        """That part of the stacks reaches the root, but for the few first ones: those cut for the reasons in early."""
        stacks = self.json()["stacks"]
        first = sum(stacks["reasons"].get(reason, 0) for reason in early)
        assert first <= max(50, stacks["samples"] / 20), self.explain()
        assert stacks["truncated"] - first <= (1 - part) * stacks["samples"], self.explain()

    def assert_gap(self, *chain):
        """Nearly all stacks are whole, with these functions next to the mark for native frames that are missing."""
        stacks = self.json()["stacks"]
        assert stacks["samples"], "an empty film: " + self.explain()
        assert stacks["complete"] >= 0.99 * stacks["samples"], self.explain()
        assert stacks["gaps"] >= 0.9 * stacks["samples"], self.explain()
        blind = self.share(lambda stack: GAP in stack)
        assert self.share(lambda stack: stack.has(*chain, GAP)) >= 0.99 * blind, self.explain()

    def complete(self, *options):
        """The part of the samples whose stack is complete."""
        stacks = self.json(*options)["stacks"]
        assert stacks["samples"] > 0, "an empty film: " + self.explain()
        return stacks["complete"] / stacks["samples"]

    def near(self, measured, truth, limit):
        """
        Whether a share (0 to 1) of the samples is what it must be: no farther off than the limit, or than chance alone
        takes it where a busy machine has left few samples.
        """
        return abs(measured - truth) <= max(limit, chance(truth, self.json()["stacks"]["samples"], errors=4))

    def has_samples(self, count=200):
        """Whether it has so many by now, also while it is being written."""
        if not self.path.exists():
            return False
        done = self.report("--format", "json", check=False)
        return done.returncode == 0 and json.loads(done.stdout)["stacks"]["samples"] >= count

    def explain(self):
        """For a failed assertion: what is in the film."""
        answer = self.json()
        answer["functions"] = answer["functions"][:12]
        stacks = sorted(self.folded(), key=lambda item: -item[1])[:4]
        return "\n".join([json.dumps(answer, indent=1)[:3000]] +
                         [f"{value} {';'.join(stack)}"[:2000] for stack, value in stacks])


class Running:
    """A program that has said "ready"."""

    def __init__(self, process):
        self.process = process
        self.pid = process.pid

    def wait(self):
        return self.process.wait(timeout=PATIENCE)

    def children(self):
        tasks = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in tasks.split()]


def wait_for_line(process, word="ready", seconds=PATIENCE):
    """Reads the process's standard output up to a line that says word."""
    deadline = time.monotonic() + seconds
    data = b""
    while word.encode() + b"\n" not in data:
        left = deadline - time.monotonic()
        readable, _, _ = select.select([process.stdout], [], [], max(left, 0))
        piece = os.read(process.stdout.fileno(), 4096) if readable else b""
        if not piece:
            process.kill()
            raise AssertionError(f"{process.args} ended or hung before it said '{word}': {data!r}")
        data += piece


@contextlib.contextmanager
def running(*command, **options):
    """Runs a program of tests/programs, from its "ready" to the end of the block."""
    options.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, **options)
    try:
        wait_for_line(process)
        yield Running(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=PATIENCE)
        process.stdout.close()


def chance(share, *counts, errors=3):
    """
    How far apart two measures of one share (0 to 1) are by chance, at most: so many standard errors of their
    difference. counts: of how many samples each of them is; just one, if the other one is exact.
    """
    return errors * math.sqrt(share * (1 - share) * sum(1 / count for count in counts))


def wait_until(condition, seconds=PATIENCE):
    """Asks until it is true; returns whether it was."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@contextlib.contextmanager
def control_group():
    """A control group of version 2, until the end of the block. Skips where none can be made."""
    root = next((root for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
                 if (root / "cgroup.controllers").exists()), None)
    if not root:
        pytest.skip("no control groups of version 2")
    group = root / f"stackcam-e2e-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                (root / "cgroup.procs").write_text(pid)
        assert wait_until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@contextlib.contextmanager
def memory_group(limit):
    """A control group that holds at most that many bytes, of either version. Skips where none can be made."""
    for root, name in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/unified", "memory.max"),
                       ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = Path(root) / f"stackcam-oom-{os.getpid()}"
        try:
            if not (group.parent / "cgroup.procs").exists():
                continue
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / name).exists():
                (group / name).write_text(str(limit))
                yield group
                return
        finally:
            assert wait_until(lambda: not (group / "cgroup.procs").read_text())
            group.rmdir()
    pytest.skip("no control group with a limit of memory can be made")


def free_port():
    """A port of loopback that nobody listens at."""
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        return plug.getsockname()[1]


def listening_port(pid):
    """The port at which a process listens."""
    inodes = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError("it does not listen")


def tool(name, *folders):
    return shutil.which(name, path=":".join((*map(str, folders), "/usr/bin", "/usr/sbin"))) or \
        pytest.skip(f"{name} is missing")


def unpack_packages(folder, *names):
    """Debian's packages of those names ("name" or "name=version"), unpacked into a folder: not installed, since
    servers would be started. What they need of libraries must be there. Skips where they cannot be had."""
    done = subprocess.run(["apt-get", "-q", "download", *names], cwd=folder, capture_output=True,
                          check=False)
    if done.returncode != 0:
        pytest.skip(f"Debian's {names[0]} could not be fetched")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)


def go_built(folder, name, text, *flags, **environment):
    """A program of one file of Go; the standard library is compiled once, for all tests (conftest.pytest_configure)."""
    go = shutil.which("go") or pytest.skip("Go is missing")
    (folder / f"{name}.go").write_text(text)
    subprocess.run([go, "build", *flags, "-o", name, f"{name}.go"], cwd=folder, check=True, env={**os.environ, **environment})
    return folder / name


def of_pyenv(name):
    """The path of a Python that pyenv has installed."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(versions.glob(f"{name}.*/bin/python{name[0]}"))
    if not found:
        pytest.skip(f"pyenv has no Python {name} here")
    return found[-1]


def is_walked(lua):
    """Whether frames of that Lua of the machine's are looked for: of 5.4 as gcc 14 compiles it they are not, so from
    Debian 13 on."""
    release = platform.freedesktop_os_release()
    return "lua5.4" not in lua or (release["ID"], release.get("VERSION_ID")) == ("debian", "12")


# One that is.
LUA = "lua5.4" if is_walked("lua5.4") else "lua5.3"


def spare_versions(fixture, spared, needed, **only):
    """A fixture for a file of tests: of versions of a runtime that are much like others, only the tests that are
    needed run, unless STACKCAM_EVERY_VERSION is set. fixture: whose parameter has the version in it. only: other
    parameters, and the value with which they are needed."""
    def is_spared(item):
        call = getattr(item, "callspec", None)
        version = str(call.params.get(fixture, "")) if call else ""
        if "STACKCAM_EVERY_VERSION" in os.environ or not any(name in version for name in spared):
            return False
        return item.originalname not in needed or any(call.params.get(name, value) != value for name, value in only.items())

    @pytest.fixture(autouse=True)
    def spare(request):
        if is_spared(request.node):
            pytest.skip("as in other versions; STACKCAM_EVERY_VERSION=1 tests all")

    spare.is_spared = is_spared
    return spare


class Lab:
    """Where things are, and how to film."""

    def __init__(self, stackcam, programs, folder):
        self.stackcam = str(stackcam)
        self.programs = programs
        self.folder = folder
        self.suites = Path(stackcam).parents[1] / "suites"  # what suites.py keeps
        self.films = 0

    def program(self, name):
        path = self.programs / name
        if not path.exists():
            rules = Path(self.stackcam).parents[1] / "build.ninja"
            assert f"\nbuild tests/programs/{name}:" not in rules.read_text(), f"{name} was not built: run ninja"
            pytest.skip(f"the compiler of {name} is missing")
        return str(path)

    def new_film(self):
        self.films += 1
        return self.folder / f"film-{self.films}.film"

    def run(self, *words, **options):
        """Any stackcam command, to its end."""
        options.setdefault("timeout", PATIENCE)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("preexec_fn", as_from_a_terminal)
        if "stdout" not in options:
            options.setdefault("capture_output", True)
        return subprocess.run([self.stackcam, *map(str, words)], text=True,
                              errors="surrogateescape", **options)

    def record(self, *options, hz=HZ, check=True):
        """Films what the options say (with "--" and a command, or -d and a target)."""
        film = self.new_film()
        done = self.run("record", "-F", hz, "-o", film, *options)
        if check:
            assert done.returncode == 0, f"{options}: status {done.returncode}: {done.stderr}"
        return Film(self.stackcam, film, done)

    def film_program(self, name, *arguments, options=(), seconds=1):
        """Films a program from its start to its end."""
        return self.record(*options, "--", self.program(name), seconds, *arguments)

    def recording(self, *options, hz=HZ):
        """A recording that goes on beside the block; yields the process and the film."""
        return self.beside("record", "-F", hz, *options)

    @contextlib.contextmanager
    def beside(self, verb, *options):
        """A verb that makes a film while the block runs; yields the process and the film."""
        made = Film(self.stackcam, self.new_film())
        environment = dict(os.environ)
        # with a command it does not tell
        if "--" not in options:
            made.inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            made.inbox.bind("")
            environment["NOTIFY_SOCKET"] = "@" + made.inbox.getsockname()[1:].decode()
        process = subprocess.Popen([self.stackcam, verb, "-o", str(made.path), *map(str, options)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   env=environment, stderr=subprocess.PIPE, preexec_fn=as_from_a_terminal)
        try:
            made.recorder = process
            yield process, made
        finally:
            if made.inbox:
                made.inbox.close()
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(timeout=PATIENCE)
            process.stdout.close()
            process.stderr.close()


@contextlib.contextmanager
def filming(lab, *options, hz=HZ):
    """A film that is being recorded, and complete after the block."""
    with lab.recording(*options, hz=hz) as (recorder, film):
        assert wait_until(film.begun)
        yield film
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0
