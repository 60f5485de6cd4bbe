# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: causes that lie in the machine: disks, neighbours on a CPU, CPU limits of control groups."""

import contextlib
import os
import re
import sys
from pathlib import Path

import pytest

from harness import control_group, needs_root, running
from test_explain import EVENTS, explained, film_case, first_cause, share, work_of

pytestmark = needs_root


def disk_of(path):
    """The disk that a file is on; "" where its file system has no device of its own."""
    device = path.stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not folder.exists():
        return ""
    return (folder.resolve().parent if (folder / "partition").exists() else folder.resolve()).name


def test_a_file_that_is_slow_to_reach_the_disk(lab, tmp_path):
    path = tmp_path / "orders.wal"
    film = film_case(lab, "fsync", path)
    _, request = first_cause(lab, film)
    # how long that takes, and how long the program runs in between, is up to the machine; but nothing is waited for longer
    wait = next(part for part in work_of(film, request) if part["kind"] != "on-cpu")
    assert wait["kind"] in ("disk", "file") and "save_order" in wait["stack"], request["parts"]
    assert wait["object"] == str(path) and f"fsync of {path}" in wait["words"], wait
    assert wait["kind"] == "file" or wait["disk"] == (disk := disk_of(path)), wait
    assert wait["kind"] == "file" or not disk or f"waiting for disk {disk} in fsync" in wait["words"], wait


ORDERS = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)

def save_order():
    os.pwrite(file, b"x", 0)
    os.fsync(file)

print("ready", flush=True)
while True:
    save_order()
"""

BULK = """
import ctypes, os, sys, threading, time

def compact_segments():
    ctypes.CDLL(None).prctl(15, b"compactor")
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
    block = bytes(1 << 22)
    while True:
        os.pwrite(file, block, 0)
        os.fsync(file)

threading.Thread(target=compact_segments, daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


def test_a_disk_that_another_process_keeps_busy(lab, tmp_path):
    """Of the whole machine: which thread of which other process waits for the disk at the same time, and for which file."""
    (tmp_path / "orders.py").write_text(ORDERS)
    (tmp_path / "bulk.py").write_text(BULK)
    with running(sys.executable, tmp_path / "orders.py", tmp_path / "wal") as orders, \
            running(sys.executable, tmp_path / "bulk.py", tmp_path / "segment") as bulk:
        film = lab.record(*EVENTS, "-a", "-d", 2)
    request, = explained(lab, film, "-p", orders.pid)
    waits = [part for part in request["parts"] if part["kind"] == "disk"]
    assert waits and waits[0]["object"] == str(tmp_path / "wal") and "save_order" in waits[0]["stack"], request["parts"]
    users = request["disk_users"]
    assert users and all(0 < user["duration"] <= sum(part["duration"] for part in waits) for user in users), users
    assert [user["duration"] for user in users] == sorted((user["duration"] for user in users), reverse=True)
    assert users[0]["thread"]["comm"] == "compactor" and users[0]["thread"]["pid"] == bulk.pid, users
    assert users[0]["words"] == f"fsync of {tmp_path / 'segment'}", users
    text = lab.run("explain", "-p", orders.pid, film.path).stdout
    assert waits[0]["disk"] == disk_of(tmp_path / "wal"), waits
    disk = f"disk {waits[0]['disk']}" if waits[0]["disk"] else "a disk"
    assert re.search(rf"While it waited for {disk}, others did, too, and may have kept it busy: compactor \(\d+\)", text), text
    # the thread that sleeps does not wait for a disk, so nobody is named beside it
    other = explained(lab, film, "-t", bulk.pid)[0]
    assert other["tid"] == bulk.pid and other["disk_users"] == [], other


def test_a_neighbour_on_the_same_cpu(lab):
    request, = explained(lab, film_case(lab, "neighbour"), "-n", "handler")
    cause = request["parts"][0]
    assert cause["kind"] == "ready" and share(cause, request) > 0.4, cause
    assert cause["behind"][0]["thread"]["comm"] == "backup" and not cause["throttled"], cause
    assert sum(other["duration"] for other in cause["behind"] if other["thread"]["comm"] == "backup") > \
        0.8 * (cause["duration"] - cause["beside"])  # what others took is not in this film
    # where others that run beside these tests took more than that one, the film cannot know of them
    assert re.search(r"ready but not running, behind backup \(\d+\)", cause["words"]) or \
        cause["beside"] > 0.5 * cause["duration"], cause


def test_a_neighbour_that_is_not_in_the_film(lab, tmp_path):
    """A worker of io_uring that has no work is no sign that the film has the whole machine: it does not know who ran there."""
    cpu = min(os.sched_getaffinity(0))
    with running(sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{cpu}]); print('ready', flush=True)\nwhile True: pass"):
        film = lab.record("-e", "threads", "--", "taskset", "-c", cpu, "nice", "-n", 19, lab.program("uring"), "async", tmp_path,
                          check=False)
    if film.recording.returncode == 77:
        pytest.skip("this kernel has no io_uring: " + film.recording.stderr)
    request, = explained(lab, film, "-n", "uring")
    ready = next(part for part in request["parts"] if part["kind"] == "ready" and part["beside"] * 2 > part["duration"])
    assert ready["longest"] > 1_000_000 and not ready["throttled"], ready
    assert "the film does not know" in ready["words"] and "CPU limit" not in ready["words"], ready


@contextlib.contextmanager
def limited(pid):
    """
    A process whose control group has a fifth of a CPU, in the hierarchy of either version. It has the largest weight, so
    that nothing but the limit holds it back, however busy the machine is.
    """
    old = Path("/sys/fs/cgroup/cpu")
    if (old / "cpu.cfs_quota_us").exists():
        group = old / f"stackcam-e2e-{os.getpid()}"
        group.mkdir()
        try:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("20000")
            (group / "cpu.shares").write_text("262144")
            (group / "cgroup.procs").write_text(str(pid))
            yield
        finally:
            (old / "cgroup.procs").write_text(str(pid))
            group.rmdir()
        return
    with control_group() as group:
        if not (group / "cpu.max").exists():
            pytest.skip("control groups cannot limit CPUs here")
        (group / "cpu.max").write_text("20000 100000")
        (group / "cpu.weight").write_text("10000")
        (group / "cgroup.procs").write_text(str(pid))
        yield


def test_the_cpu_limit_of_a_control_group(lab):
    with running(lab.program("cases"), 60, "burn") as target, limited(target.pid):
        film = lab.record(*EVENTS, "-a", "-d", 3, hz=99)
    request, = explained(lab, film, "-p", target.pid, "-n", "handler")
    cause = request["parts"][0]
    assert cause["kind"] == "ready" and share(cause, request) > 0.4, request["parts"]
    assert cause["throttled"] and "most likely held back by the CPU limit of its control group" in cause["words"], cause
