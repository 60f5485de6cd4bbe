# SPDX-License-Identifier: Apache-2.0
"""What a signal without a handler interrupted goes on as restart_syscall(2): it is the wait that it was."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until

pytestmark = needs_root

# Each waits for a minute, unless it ends before: the futex, a poll of a pipe, two kinds of sleep.
PROGRAM = """
import ctypes, os, select, sys, threading
libc = ctypes.CDLL(None)

class Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("ns", ctypes.c_long)]

minute = Timespec(60, 0)

def futex():
    libc.syscall(202, ctypes.byref(ctypes.c_int(0)), 128, 0, ctypes.byref(minute), 0, 0)

def poll():
    poll = select.poll()
    poll.register(os.pipe()[0], select.POLLIN)
    poll.poll(60000)

def nanosleep():
    libc.syscall(35, ctypes.byref(minute), 0)

def clock_nanosleep():
    libc.syscall(230, 1, 0, ctypes.byref(minute), 0)

for wait in futex, poll, nanosleep, clock_nanosleep:
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    print(wait.__name__, thread.native_id)
print("", flush=True)
sys.stdin.readline()
os._exit(0)
"""

CALLS = {"futex": "lock", "poll": "poll", "nanosleep": "sleep", "clock_nanosleep": "sleep"}


def call_of(pid, tid):
    """The number of the system call that a thread is in, and whether it is stopped."""
    task = Path(f"/proc/{pid}/task/{tid}")
    state = (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return (task / "syscall").read_text(encoding="ascii").split()[0], state


def go_on(process, tids):
    """Stops it, and lets it go on; each thread waits again then."""
    process.send_signal(signal.SIGSTOP)
    assert wait_until(lambda: all(call_of(process.pid, tid)[1] == "T" for tid in tids))
    process.send_signal(signal.SIGCONT)
    assert wait_until(lambda: all(call_of(process.pid, tid) == ("219", "S") for tid in tids))


@pytest.mark.parametrize("event", ["threads", "off-cpu"])
def test_waits_that_go_on_are_those_that_they_were(lab, event):
    with subprocess.Popen(["/usr/bin/python3", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            waits = {int(tid): name for name, tid in map(str.split, iter(process.stdout.readline, "\n"))}
            assert wait_until(lambda: all(call_of(process.pid, tid)[1] == "S" for tid in waits))
            with lab.recording("-e", event, "-p", process.pid) as (recorder, film):
                assert wait_until(film.begun)
                go_on(process, waits)
                # the second time, it is a wait that went on that is interrupted
                go_on(process, waits)
                process.communicate("\n", timeout=PATIENCE)
                assert recorder.wait(timeout=PATIENCE) == 0
        finally:
            process.kill()
    if event == "threads":
        told = json.loads(film.report("--format", "states-json").stdout)["threads"]
        states = {thread["tid"]: {state["state"].split()[0] for state in thread["states"] if state["wait"]} for thread in told}
        for tid, name in waits.items():
            assert states[tid] - {"stopped"} == {CALLS[name]}, (name, states[tid])
    else:
        report = film.report("--idle", "--by", "wait").stdout
        assert "restart_syscall" not in report, report
