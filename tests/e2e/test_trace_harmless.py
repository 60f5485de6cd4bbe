# SPDX-License-Identifier: Apache-2.0
"""Programs that unwind their stacks, change them or look at them: tracing all of their functions changes nothing."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess

import pytest

from calls import alone, has_calls, is_probed
from harness import PATIENCE, needs_root, running, wait_until

pytestmark = needs_root

PROGRAMS = [
    *(("harm_plugin", how) for how in ("at-once", "later", "inside", "cycles", "fault")),
    *(("harm_stacks", how) for how in ("array", "array-own", "heap-own", "preempt", "alternate", "out")),
    ("harm_stacks-o0", "array"),
    *(("harm_threads", how) for how in ("cancel", "cancel-now", "exit", "clone", "vfork", "seccomp", "filter")),
    *(("harm_exceptions", how)
      for how in ("sort", "cancel", "cancel-now", "fault", "backtrace", "callers")),
    ("harm_forks", "children"),
]


@pytest.mark.parametrize("name, how", PROGRAMS, ids=lambda word: word)
def test_result_is_the_same(lab, name, how):
    program = lab.program(name)
    done = lab.run("trace", "-q", "--max-rate", 0, "-o", lab.new_film(), "--", program, how)
    assert (done.returncode, done.stdout) == (0, alone(lab, program, how)), done.stderr


@pytest.mark.parametrize("how", ["at-once", "later", "inside", "fault"])
def test_library_is_loaded_while_it_is_traced(lab, how):
    """An exception comes through functions that had their probes before there was anything that throws."""
    path = lab.program("harm_plugin")
    with running(path, how, "wait") as program:
        with lab.beside("trace", "--max-rate", 0, "-p", program.pid) as (tracer, _):
            assert wait_until(lambda: is_probed(program.pid, path, "passes"))
            program.process.send_signal(signal.SIGUSR1)
            output = program.process.stdout.read().decode()
            assert (program.wait(), output) == (0, alone(lab, path, how))
            assert tracer.wait(timeout=PATIENCE) == 0, tracer.stderr.read()


def test_library_is_there_already(lab):
    """The tracer comes between dlopen() and the exception."""
    path = lab.program("harm_plugin")
    with running(path, "later", "wait") as program:
        program.process.send_signal(signal.SIGUSR1)
        assert wait_until(lambda: "libharm_a.so" in open(f"/proc/{program.pid}/maps").read())
        with lab.beside("trace", "--max-rate", 0, "-p", program.pid):
            output = program.process.stdout.read().decode()
            assert (program.wait(), output) == (0, alone(lab, path, "later"))


def test_two_tracers_of_one_program(lab):
    """Both have probes in the same places; one of them comes and goes."""
    path = lab.program("harm_stacks")
    with running(lab.program("calls_steady"), 60):
        film = lab.new_film()
        with lab.beside("trace", "--max-rate", 0, "-n", "harm_stacks") as (tracer, _):
            done = lab.run("trace", "-q", "--max-rate", 0, "-o", film, "--", path, "array")
            assert (done.returncode, done.stdout) == (0, alone(lab, path, "array")), done.stderr
            tracer.send_signal(signal.SIGINT)
            tracer.wait(timeout=PATIENCE)


# --- debuggers ---------------------------------------------------------------------------------

PTRACE_ATTACH, PTRACE_DETACH = 16, 17


@contextlib.contextmanager
def debugged(pid):
    """As a debugger has it that was attached and waits for its user: the process is stopped."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    assert ptrace(PTRACE_ATTACH, pid, None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(pid, 0)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, pid, None, None)


def test_process_under_a_debugger_is_refused(lab):
    path = lab.program("calls_steady")
    with running(path, 60) as program:
        with debugged(program.pid):
            done = lab.run("trace", "-f", "outer", "-d", 1, "-o", lab.new_film(), "-p", program.pid)
            assert done.returncode == 1 and f"process {program.pid} is held by a debugger" in done.stderr
            assert not is_probed(program.pid, path, "outer")


def test_debugger_that_comes_later_has_the_process_to_itself(lab):
    """Before it can set a breakpoint, all probes are gone."""
    path = lab.program("calls_steady")
    with running(path, 60) as program:
        with lab.beside("trace", "-f", "outer", "-p", program.pid) as (tracer, film):
            assert wait_until(lambda: has_calls(film))
            assert is_probed(program.pid, path, "outer")
            with debugged(program.pid):
                assert wait_until(lambda: not is_probed(program.pid, path, "outer"))
            tracer.send_signal(signal.SIGINT)
            assert tracer.wait(timeout=PATIENCE) == 0
            assert b"a debugger came" in tracer.stderr.read()


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb")
def test_breakpoint_of_gdb_works(lab):
    """One on a function that was traced: it is hit, and the program goes on when gdb has gone."""
    path = lab.program("calls_steady")
    with running(path, 60) as program:
        with lab.beside("trace", "-f", "outer", "-p", program.pid) as (tracer, film):
            assert wait_until(lambda: has_calls(film))
            gdb = subprocess.Popen(
                ["gdb", "-nx", "-q", "-p", str(program.pid)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            try:
                assert wait_until(lambda: not is_probed(program.pid, path, "outer"))
                said, _ = gdb.communicate("break outer\ncontinue\ndetach\nquit\n", timeout=PATIENCE)
            finally:
                gdb.kill()
                gdb.wait()
            assert "Breakpoint 1, " in said, said
            assert program.process.poll() is None
            tracer.send_signal(signal.SIGINT)
            assert tracer.wait(timeout=PATIENCE) == 0
