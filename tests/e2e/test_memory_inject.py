# SPDX-License-Identifier: Apache-2.0
"""
mem-alloc and mem-inuse of processes that run already: the library is put into them, and taken out of use again, while all their
threads allocate. tests/programs/allocates_threads.c checks what it calculates, and says what it holds.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import needs_root, running, wait_for_line, wait_until
from test_java import JVMS, PROGRAMS, tool
from test_memory_heap import near, of_function

pytestmark = needs_root

INTERVAL = 16 << 10
EVENTS = ("-e", "mem-alloc,mem-inuse", "--mem-interval", INTERVAL)
KINDS = ("", "-now", "-lazy", "-musl")


@contextlib.contextmanager
def allocating(lab, kind="", *words):
    """The program; in the end it has calculated what it would have without stackcam."""
    with running(lab.program(f"allocates_threads{kind}"), 2, *words, stdin=subprocess.PIPE) as target:
        yield target
        target.process.stdin.close()
        words = target.process.stdout.read().split()
        assert target.wait() == 0
        said = {name.decode(): int(value) for name, value in zip(words[::2], words[1::2])}
        assert said["turns"] > 0 and not said["bad"] and not said["wrong"], said


def hold(target, times):
    for _ in range(times):
        target.process.stdin.write(b"x")
        target.process.stdin.flush()
        wait_for_line(target.process, "held")


def sampled(film):
    """The film has samples: the library is in."""
    return film.path.exists() and of_function_or_none(film)


def of_function_or_none(film):
    done = film.report("-e", "mem-alloc", "--format", "folded", check=False)
    return done.returncode == 0 and done.stdout


@contextlib.contextmanager
def filmed(lab, pid, *options):
    """A recording that has begun; it is ended with the block."""
    with lab.recording(*EVENTS, *options, "-p", pid) as (recorder, film):
        assert wait_until(lambda: sampled(film) or recorder.poll() is not None)
        assert recorder.poll() is None, recorder.stderr.read()
        yield recorder, film
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=60)


def library_mappings(pid):
    return sum("libstackcam-memory.so" in line for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_running_process_holds(lab, kind):
    with allocating(lab, kind) as target:
        hold(target, 2)
        with filmed(lab, target.pid) as (_, film):
            hold(target, 3)
        assert near(of_function(film, "mem-inuse", "held"), 3000000, INTERVAL), film.explain()
        # the threads hold 64 blocks each, of some kilobytes
        assert of_function(film, "mem-inuse", "turn") < 20000000, film.explain()
        assert "had allocated before the recording" in film.report("-e", "mem-inuse").stdout
        stacks = film.json("-e", "mem-alloc")["stacks"]
        assert stacks["complete"] > 0.99 * stacks["samples"], film.explain()
        mapped = library_mappings(target.pid)
        # the next recording uses what is there
        with filmed(lab, target.pid) as (_, film):
            hold(target, 2)
        assert near(of_function(film, "mem-inuse", "held"), 2000000, INTERVAL), film.explain()
        assert library_mappings(target.pid) == mapped > 0


def test_a_recorder_that_is_killed(lab):
    """The program goes on, with signals and all, and the next recorder sees what it does."""
    with allocating(lab, "", "signals") as target:
        for _ in range(3):
            with filmed(lab, target.pid) as (recorder, _):
                recorder.kill()
                recorder.wait(timeout=60)
            hold(target, 1)
        with filmed(lab, target.pid) as (_, film):
            hold(target, 2)
        assert near(of_function(film, "mem-inuse", "held"), 2000000, INTERVAL), film.explain()


def test_two_threads_with_one_slot(lab):
    """What they have left until the next sample is one number, which both change: neither is unseen from then on."""
    with allocating(lab, "", "shared") as target:
        with filmed(lab, target.pid) as (_, film):
            hold(target, 200)
        # until it is noticed, they may miss what the other one does at the same moment
        assert 0.96 * 200e6 < of_function(film, "mem-inuse", "held") < 1.04 * 200e6, film.explain()


def test_two_recorders(lab):
    """The second one leaves the library to the first, and says so."""
    with allocating(lab) as target:
        with filmed(lab, target.pid) as (_, film):
            second = lab.record(*EVENTS, "-p", target.pid, "-d", 1)
            said = second.report("-e", "mem-inuse", check=False)
            assert "is recorded by another stackcam" in said.stdout + said.stderr
            hold(target, 2)
        assert near(of_function(film, "mem-inuse", "held"), 2000000, INTERVAL), film.explain()


@pytest.mark.parametrize("kind, options, said", [
    ("-static", (), "is linked statically"),
    ("", ("--mem-inject", 0), "its free() is not probed"),
])
def test_what_is_not_put_in(lab, kind, options, said):
    with allocating(lab, kind) as target:
        film = lab.record(*EVENTS, *options, "-p", target.pid, "-d", 1)
        report = film.report("-e", "mem-inuse", check=False)
        assert said in report.stdout + report.stderr, film.explain()
        assert not library_mappings(target.pid)


def test_one_that_filters_its_system_calls(lab):
    """A system call that it does not expect could be its end."""
    script = ("import ctypes, sys; libc = ctypes.CDLL(None); program = (ctypes.c_uint64 * 1)(0x7fff000000000006);"
              "class_ = type('P', (ctypes.Structure,), {'_fields_': [('n', ctypes.c_ushort), ('at', ctypes.c_void_p)]});"
              "assert not libc.prctl(38, 1, 0, 0, 0);"
              "assert not libc.prctl(22, 2, ctypes.byref(class_(1, ctypes.addressof(program))), 0, 0);"
              "print('ready', flush=True); sys.stdin.read()")
    with running(sys.executable, "-c", script, stdin=subprocess.PIPE) as target:
        film = lab.record(*EVENTS, "-p", target.pid, "-d", 1)
        report = film.report("-e", "mem-inuse", check=False)
        assert "filters its system calls" in report.stdout + report.stderr
        assert not library_mappings(target.pid)


def test_python_and_what_it_loads_and_forks(lab):
    """Frames of Python; a module that is loaded meanwhile; a child that has the library from its parent."""
    script = ("import os, sys\n"
              "kept = []\n"
              "def grows(count):\n"
              "    kept.extend(bytearray(100000) for _ in range(count))\n"
              "print('ready', flush=True)\n"
              "for line in sys.stdin:\n"
              "    if line == 'grow\\n': grows(50)\n"
              "    if line == 'load\\n': import sqlite3, decimal, xml.dom.minidom\n"
              "    if line == 'fork\\n':\n"
              "        if not os.fork(): grows(50); print('forked', flush=True); os._exit(0)\n"
              "        os.wait()\n"
              "    print('done', flush=True)\n")
    with running("python3", "-c", script, stdin=subprocess.PIPE) as target:

        def say(word):
            target.process.stdin.write(word + b"\n")
            target.process.stdin.flush()
            wait_for_line(target.process, "done")

        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: (say(b"grow") or sampled(film)) or recorder.poll() is not None)
            before = of_function(film, "mem-alloc", "grows")
            for word in (b"load", b"grow", b"fork"):
                say(word)
            recorder.send_signal(signal.SIGINT)
            recorder.wait(timeout=60)
        after = of_function(film, "mem-alloc", "grows")
        assert after - before > 9000000, film.explain()
        assert of_function(film, "mem-inuse", "grows") > 4000000, film.explain()
        say(b"grow")
        target.process.stdin.close()
        assert target.wait() == 0


def test_rust(lab):
    """Its standard allocator is the C library's."""
    with running(lab.program("holds_rust"), stdin=subprocess.PIPE) as target:
        hold(target, 2)
        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: (hold(target, 1) or sampled(film)) or recorder.poll() is not None)
            hold(target, 40)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=60) == 0
        allocated, held, forgotten = (of_function(film, event, f"holds_rust::{name}") for event, name in (
            ("mem-alloc", "hold"), ("mem-inuse", "hold"), ("mem-alloc", "forget")))
        assert allocated > 0.93 * 40e6 and 0.98 * allocated < held <= allocated, (allocated, held, film.explain())
        assert abs(forgotten / allocated - 1) < 0.1, film.explain()
        assert not of_function(film, "mem-inuse", "holds_rust::forget"), film.explain()
        target.process.stdin.close()
        assert target.wait() == 0


JEMALLOC = next(iter(Path("/usr/lib/x86_64-linux-gnu").glob("libjemalloc.so.2")), None)


@pytest.mark.skipif(not JEMALLOC, reason="there is no libjemalloc.so.2")
def test_jemalloc(lab):
    """An allocator that is a library of its own: what the program calls is found by its words."""
    with running("env", f"LD_PRELOAD={JEMALLOC}", lab.program("allocates_threads"), 2, stdin=subprocess.PIPE) as target:
        hold(target, 2)
        with filmed(lab, target.pid) as (_, film):
            hold(target, 3)
        assert near(of_function(film, "mem-inuse", "held"), 3000000, INTERVAL), film.explain()
        # it is what the library calls, and not what stands in the stacks
        assert not of_function(film, "mem-alloc", "je_malloc_default"), film.explain()
        target.process.stdin.close()
        assert b"bad 0 wrong 0" in target.process.stdout.read()
        assert target.wait() == 0


@pytest.mark.skipif(not JVMS, reason="there is no JVM")
def test_java(lab, tmp_path):
    """What a JVM allocates beside its heap, while its threads do; its objects are seen in another way."""
    subprocess.run([tool("javac"), "--release", "17", "-d", tmp_path, PROGRAMS / "Allocates.java"], check=True, timeout=60)
    with running(JVMS[0], "-Xmx128m", "-cp", tmp_path, "Allocates", 100, stdin=subprocess.PIPE) as target:
        for _ in range(2):
            with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
                assert wait_until(lambda: sampled(film) or recorder.poll() is not None)
                assert wait_until(lambda: of_function(film, "mem-alloc", "Allocates.idle") or recorder.poll() is not None)
                recorder.send_signal(signal.SIGINT)
                assert recorder.wait(timeout=60) == 0
            assert library_mappings(target.pid)
        target.process.stdin.write(b"x")
        target.process.stdin.flush()
        wait_for_line(target.process, "done")
        target.process.stdin.close()
        assert target.wait() == 0


def test_what_is_ended_meanwhile(lab):
    with running(lab.program("allocates_threads"), 2, stdin=subprocess.PIPE) as target:
        with filmed(lab, target.pid) as (recorder, film):
            os.kill(target.pid, signal.SIGKILL)
            assert recorder.wait(timeout=60) == 0
        assert of_function(film, "mem-alloc", "turn")
