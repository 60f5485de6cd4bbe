# SPDX-License-Identifier: Apache-2.0
"""Workers of pools, and threads that a runtime has for itself, have no work where their stacks say that they wait for some."""

import json
import subprocess

import pytest

from harness import PATIENCE, needs_root, running
from test_java import PROGRAMS, tool
from test_memory_java import JDKS

pytestmark = needs_root

POOLS = ("fixed", "cached", "scheduled", "ForkJoinPool-1-", "timer")
OF_HOTSPOT = ("GC Thread#0", "G1 Main Marker", "G1 Refine#0", "G1 Service", "VM Thread", "Reference Handl", "Finalizer",
              "Signal Dispatch", "Service Thread", "Monitor Deflati", "C2 CompilerThre", "Common-Cleaner")

PYTHON = """
import concurrent.futures, sys, threading
idle, busy = (concurrent.futures.ThreadPoolExecutor(1) for _ in range(2))
print(idle.submit(threading.get_native_id).result(), end=" ")
lock, there = threading.Lock(), threading.Event()
lock.acquire()
def waits():
    print(threading.get_native_id(), flush=True)
    there.set()
    with lock:
        pass
busy.submit(waits)
there.wait()
sys.stdin.readline()
lock.release()
"""


def longest_states(film):
    """By thread: what it did for longest."""
    threads = json.loads(film.report("--format", "states-json").stdout)["threads"]
    return [(thread["comm"], thread["tid"], max(thread["states"], key=lambda state: state["total"])["state"]) for thread in threads]


@pytest.mark.parametrize("java", JDKS, ids=str)
def test_java(lab, tmp_path, java):
    subprocess.run([tool("javac"), "--release", "17", "-d", tmp_path, PROGRAMS / "Pools.java"], timeout=PATIENCE, check=True)
    # two CPUs, without which it would choose another collector
    with running(java, "-XX:+UseG1GC", "-cp", tmp_path, "Pools", stdin=subprocess.PIPE) as target:
        # the compilers' threads end when they have had no work for long
        film = lab.record("-e", "threads", "-d", 1, "-p", target.pid)
    states = {comm: state for comm, _, state in longest_states(film)}
    for comm in POOLS + OF_HOTSPOT:
        assert states[comm] == "no-work", (comm, states)
    assert states["waits"].startswith("lock"), states


def test_python(lab):
    with subprocess.Popen(["/usr/bin/python3", "-c", PYTHON], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        try:
            idle, waits = map(int, target.stdout.readline().split())
            film = lab.record("-e", "threads", "-d", 1, "-p", target.pid)
            target.communicate("\n", timeout=PATIENCE)
        finally:
            target.kill()
    states = {tid: state for _, tid, state in longest_states(film)}
    assert states[idle] == "no-work" and states[waits].startswith("lock"), states
