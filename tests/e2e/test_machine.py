# SPDX-License-Identifier: Apache-2.0
"""What the machine did beside the threads that are filmed, against what programs are known to do."""

import json
import os
import sys
from pathlib import Path

import pytest

from harness import needs_root

pytestmark = needs_root

MIB = 1 << 20
# It writes to a file, past the page cache, and reads it again; it has a disk of its own where its folder is on one.
WRITER = """
import mmap, os, sys
path, size = sys.argv[1], int(sys.argv[2])
open("/proc/self/comm", "w").write("disk-user")
piece = mmap.mmap(-1, 1 << 20)
to = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
for _ in range(size >> 20):
    os.write(to, piece)
os.fsync(to)
os.lseek(to, 0, 0)
for _ in range(size >> 20):
    os.readv(to, [piece])
"""


def machine(lab, film, *options):
    done = lab.run("report", "--format", "machine-json", *options, film)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def gauge(answer, group, name, obj=""):
    found, = [row for row in answer["gauges"] if (row["group"], row["name"], row["object"]) == (group, name, obj)]
    return found


def disk_of(folder):
    """The whole disk that a folder is on, if there is one whose requests the kernel tells of."""
    number = os.stat(folder).st_dev
    link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not link.exists():
        return None
    path = link.resolve()
    return path.parent.name if (path / "partition").exists() else path.name


def test_for_whom_a_disk_worked(lab, tmp_path):
    disk = disk_of(tmp_path)
    try:
        os.close(os.open(tmp_path / "try", os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
    except OSError:
        disk = None
    if not disk:
        pytest.skip("the folder of the tests is on no disk")
    film = lab.record("-e", "threads", "--", sys.executable, "-c", WRITER, tmp_path / "data", 64 * MIB)
    answer = machine(lab, film.path)
    own = {row["write"]: row for row in answer["threads"] if row["comm"] == "disk-user" and row["object"] == disk}
    for write in (True, False):
        # what is more is of its own files, and of the file system; what is less was answered while a thread of
        # this machine's init ran: its kernel runs no probes in those (ftrace has the answer, in that thread, and no program ran)
        assert 32 * MIB <= own[write]["bytes"] < 66 * MIB, own
        assert own[write]["count"] >= 32 and 0 < own[write]["longest"] <= own[write]["time"]
    # of requests without a thread the longest is not known, and is not 0
    assert " 0 ns  thread not known" not in film.report("--format", "machine").stdout
    # the disk's own figures have all of it, and that of others
    for name, write in (("read", False), ("write", True)):
        row = gauge(answer, "disk", name, disk)
        assert row["total"] >= own[write]["bytes"] * 0.9 and row["count"] >= 60 and row["time"] > 0, row
        # those that are not known are among the threads, so that all add up to the disk
        by_all = sum(thread["bytes"] for thread in answer["threads"] if thread["write"] == write and thread["object"] == disk)
        assert row["total"] <= by_all <= row["total"] * 1.2 + MIB, (row, answer["threads"])
    assert gauge(answer, "disk", "busy", disk)["total"] > 0
    text = lab.run("report", film.path).stdout
    assert f"disk write, {disk}" in text and "machine " in text
    states = json.loads(lab.run("report", "--format", "states-json", film.path).stdout)
    assert states["machine"]["threads"] == answer["threads"]


def test_cpus_add_up(lab):
    busy = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass"
    film = lab.record("-e", "threads", "--", sys.executable, "-c", busy)
    answer = machine(lab, film.path)
    parts = [gauge(answer, "cpu", name) for name in ("user", "system", "interrupts", "stolen", "disk", "idle")]
    cpus = os.cpu_count()
    whole = sum(part["average"] for part in parts) / 1e9
    # each is known to a tick of 10 ms; a virtual machine's own clock may hide more
    assert cpus * 0.7 < whole < cpus * 1.3, (whole, parts)
    # a busy loop takes a CPU, or what others leave of one
    assert parts[0]["total"] > 0.2e9
    assert gauge(answer, "run-queue", "runnable")["most"] >= 1
    memory = gauge(answer, "memory", "available")
    kib = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0])
    assert memory["level"] and abs(memory["last"] - kib * 1024) < kib * 1024 * 0.5


def test_no_rate_is_above_the_machine(lab):
    """The recorder has to wait for a CPU, and much to do; a reading is of the moment that it was made in all the same."""
    busy = ("import os, time\nend = time.monotonic() + 8\n"
            "for _ in range(23):\n    if not os.fork(): break\n"
            "while time.monotonic() < end: sum(range(10000)); time.sleep(0)")
    film = lab.record("-e", "threads,on-cpu,mem-grow", "-F", "499", "-a", "--", sys.executable, "-c", busy)
    most = gauge(machine(lab, film.path), "cpu", "user")["most"] / 1e9
    # each is known to a tick of 10 ms for each CPU, in 50 ms at least
    assert most < os.cpu_count() * 1.3, film.report("--format", "machine").stdout
    pressure = [row for row in machine(lab, film.path)["gauges"] if (row["group"], row["name"]) == ("pressure", "cpu")]
    assert all(row["most"] <= 1e9 for row in pressure), pressure


def test_bytes_of_an_interface(lab):
    program = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
one = socket.create_connection(listener.getsockname())
two, _ = listener.accept()
for _ in range(400):
    one.sendall(bytes(65536))
    left = 65536
    while left:
        left -= len(two.recv(left))
"""
    film = lab.record("-e", "threads", "--", sys.executable, "-c", program)
    answer = machine(lab, film.path)
    sent = gauge(answer, "network", "sent", "lo")
    assert sent["total"] >= 400 * 65536 * 0.8 and sent["count"] > 0, sent
    assert gauge(answer, "network", "received", "lo")["total"] == sent["total"]
    assert gauge(answer, "network", "retransmits")["total"] <= gauge(answer, "network", "retransmits")["count"]


def test_pressure_is_known_or_said(lab):
    film = lab.record("-e", "threads", "--", "sleep", "0.5")
    answer = machine(lab, film.path)
    has = {row["name"] for row in answer["gauges"] if row["group"] == "pressure"}
    try:
        Path("/proc/pressure/cpu").read_text()
        assert has == {"cpu", "disk", "disk-all", "memory", "memory-all"} and not answer["notes"]
    except OSError:
        assert not has and len(answer["notes"]) == 1 and "pressure is not known" in answer["notes"][0]


def test_alone_and_not_at_all(lab):
    film = lab.record("-e", "machine", "-d", "0.6")
    text = lab.run("report", film.path)
    assert text.returncode == 0 and text.stdout.startswith("machine "), text
    answer = machine(lab, film.path)
    assert answer["gauges"] and not gauge(answer, "cpu", "idle")["level"]
    # a part of the time has a part of it
    part = machine(lab, film.path, "--to", "0.3s")
    assert gauge(part, "cpu", "user")["total"] <= gauge(answer, "cpu", "user")["total"]
    film = lab.record("-e", "threads", "--machine-rate", "0", "--", "sleep", "0.3")
    done = lab.run("report", "--format", "machine", film.path)
    assert done.returncode == 1 and "stackcam record -e machine" in done.stderr
    assert json.loads(lab.run("report", "--format", "states-json", film.path).stdout)["machine"] is None


def test_counters_for_perfetto(lab):
    film = lab.record("-e", "threads", "--", "sleep", "0.5")
    out = film.path.with_suffix(".pftrace")
    assert lab.run("report", "-o", out, film.path).returncode == 0
    data = out.read_bytes()
    for name in (b"cpu user", b"memory available", b"run-queue runnable"):
        assert data.count(name) == 1, name


def test_a_film_without_it_is_as_before(lab):
    film = lab.record("-e", "off-cpu", "--", "sleep", "0.2")
    done = lab.run("report", "--format", "machine", film.path)
    assert done.returncode == 1 and "the film has none" in done.stderr
