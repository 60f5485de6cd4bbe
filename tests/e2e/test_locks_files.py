# SPDX-License-Identifier: Apache-2.0
"""Locks of files, by flock(2) and fcntl(2): which file, and which process holds the lock, also another one."""

import contextlib
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_locks import locks_of
from test_threads_camera import states_of

pytestmark = needs_root

NAMES = {"flock": "flock", "record": "fcntl lock", "ofd": "fcntl lock (OFD)"}
HELD_SECONDS = 0.3

# of the programs: those of a busy machine beside them would take the stacks of a second
NAME = "locks-a-file"

# takes the lock; "holds": then waits for a line
PROGRAM = """
import fcntl, struct, sys
kind, path = sys.argv[1:3]
file = open(path, "a+")
if kind == "flock":
    fcntl.flock(file, fcntl.LOCK_EX)
elif kind == "record":
    fcntl.lockf(file, fcntl.LOCK_EX)
else:
    fcntl.fcntl(file, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
if sys.argv[3] == "holds":
    print("held", flush=True)
    sys.stdin.readline()
"""


def named(path):
    """Python by a name of its own."""
    program = path.with_name(NAME)
    if not program.exists():
        program.symlink_to("/usr/bin/python3")
    return program


@contextlib.contextmanager
def holding(kind, path):
    with subprocess.Popen([named(path), "-c", PROGRAM, kind, path, "holds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            yield holder
        finally:
            holder.stdin.close()


@contextlib.contextmanager
def waiting(kind, path):
    """One that waits, as the kernel says; it has ended behind the block."""
    inode = path.stat().st_ino
    with subprocess.Popen([named(path), "-c", PROGRAM, kind, path, "goes"]) as waiter:
        assert wait_until(lambda: re.search(rf"-> .* \S+:\S+:{inode} ", Path("/proc/locks").read_text()))
        yield waiter


def held_for_a_while(kind, path):
    """The waiter's pid and the holder's."""
    with holding(kind, path) as holder:
        with waiting(kind, path) as waiter:
            with contextlib.suppress(subprocess.TimeoutExpired):
                holder.wait(HELD_SECONDS)
            holder.stdin.close()
        return waiter.pid, holder.pid


@pytest.mark.parametrize("kind", NAMES)
def test_who_holds_the_lock_of_a_file(lab, tmp_path, kind):
    """In the event lock, and in the lives of threads; the holder is another process."""
    path = tmp_path / f"{kind}.lock"
    with lab.recording("-e", "lock,threads", "-n", NAME, "--wait-stacks", 0) as (recorder, film):
        assert wait_until(film.begun)
        waiter, holder = held_for_a_while(kind, path)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
    lock, = [lock for lock in locks_of(film) if lock.waiter == waiter]
    assert lock.name == f"{NAMES[kind]} of {path}", lock
    assert (lock.sure, lock.holder) == ("owner", holder), lock
    assert lock.waits == 1 and 0.9 * HELD_SECONDS * 1e9 < lock.total < 30e9, lock
    wait, = [one for one in states_of(lab, film)["objects"] if str(path) in (one["object"] or "")]
    assert (wait["state"], wait["object"]) == ("lock", lock.name), wait
    assert [one["tid"] for one in wait["holders"]] == [holder], wait


def test_a_lock_of_a_file_from_before_the_recording(lab, tmp_path):
    """The wait goes on: /proc says which file, and whose lock is in the way."""
    path = tmp_path / "older.lock"
    with holding("flock", path) as holder, waiting("flock", path) as waiter:
        film = lab.record("-e", "lock", "-d", 1)
        holder.stdin.close()
    lock, = [lock for lock in locks_of(film) if lock.waiter == waiter.pid]
    assert lock.name == f"flock of {path}", lock
    assert (lock.sure, lock.holder) == ("owner", holder.pid), lock


def test_a_wait_that_a_signal_interrupted_is_over(lab, tmp_path):
    """The thread's next wait in fcntl(2) is for memory, and for no lock."""
    path = tmp_path / "interrupted.lock"
    path.touch()
    with holding("record", path):
        film = lab.record("-e", "lock,threads", "--wait-stacks", 0, "--", lab.program("file_lock_interrupted"), path)
    took = {what: int(ns) for what, ns in (line.split() for line in film.recording.stdout.splitlines())}
    assert took["memory"] > 0.1e9, took
    lock, = [lock for lock in locks_of(film) if lock.name == f"fcntl lock of {path}"]
    assert (lock.waits, lock.total) == (1, pytest.approx(took["lock"], rel=0.5)), (lock, took)
    waits = [one for one in states_of(lab, film)["objects"] if one["object"] == lock.name]
    assert sum(one["total"] for one in waits) == pytest.approx(took["lock"], rel=0.5), (waits, took)
