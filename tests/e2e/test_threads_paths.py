# SPDX-License-Identifier: Apache-2.0
"""record -e threads: waits in calls that are given a path, and not a descriptor."""

import os
import sys

import pytest
from harness import needs_root
from test_threads_camera import states_of

pytestmark = needs_root

# Opens named pipes that nothing is written to, and says what they are called.
FIFOS = r"""
import os, sys, tempfile, threading, time

folder = os.path.realpath(tempfile.mkdtemp())
os.chdir(folder)
os.mkdir("sub")
inside = os.open("sub", os.O_RDONLY)
deep = "/".join(["x" * 200] * 3)
os.makedirs(deep)
opens = []
for name, path, at in (
        (folder + "/absolute", folder + "/absolute", None),
        (folder + "/here", "here", None),
        (folder + "/sub/there", "there", inside),
        (folder + "/./sub/../dots", "./sub/../dots", None),
        (folder + "/a\nb", "a\nb", None),
        (folder + "/" + deep[:383] + "...", deep + "/far", None)):
    os.mkfifo(path, dir_fd=at)
    print(repr(name), flush=True)
    opens.append(threading.Thread(target=os.open, args=(path, os.O_RDONLY), kwargs={"dir_fd": at}, daemon=True))
    opens[-1].start()

def call_of(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as now:
        return now.read().split()[0]

while any(call_of(thread) != "257" for thread in opens):
    time.sleep(0.01)
time.sleep(1)
os._exit(0)
"""

# A file system that answers all but who looks for a file in it: that one waits. Another process serves it than the one that waits,
# so that its end is the end of the waits, whatever becomes of either.
FUSE = r"""
import ctypes, os, struct, sys, tempfile, threading, time

libc = ctypes.CDLL(None, use_errno=True)
NEW_NAMES, PRIVATE, RECURSIVE = 0x20000, 1 << 18, 1 << 14

def done(result):
    if result:
        raise OSError(ctypes.get_errno(), "cannot mount")

folder = os.path.realpath(tempfile.mkdtemp())
fuse = os.open("/dev/fuse", os.O_RDWR)
done(libc.unshare(NEW_NAMES))
done(libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None))
done(libc.mount(b"stackcam", folder.encode(), b"fuse", 0, b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse))

LOOKUP, FORGET, GETATTR, INIT, INTERRUPT = 1, 2, 3, 26, 36

def serve():
    while True:
        request = os.read(fuse, 1 << 17)
        _, op, unique = struct.unpack_from("IIQ", request)
        error, body = 0, b""
        if op in (LOOKUP, FORGET, INTERRUPT):
            continue
        if op == INIT:
            body = struct.pack("IIIIHHI", 7, 31, 65536, 0, 12, 10, 4096) + bytes(40)
        elif op == GETATTR:
            body = struct.pack("QII", 60, 0, 0) + struct.pack("6Q10I", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
        else:
            error = -38  # ENOSYS
        os.write(fuse, struct.pack("IiQ", 16 + len(body), error, unique) + body)

all_wait, say = os.pipe()
if os.fork():
    threading.Thread(target=serve, daemon=True).start()
    os.read(all_wait, 1)
    time.sleep(1)
    os._exit(0)
os.close(fuse)
os.chdir(folder)
print(folder, flush=True)
at = os.open(".", os.O_RDONLY)

def wait_for(call):
    try:
        call()
    except OSError:
        pass  # the end of the file system

threads = [threading.Thread(target=wait_for, args=(call,)) for call in (
    lambda: os.stat("found"), lambda: os.rename(folder + "/old", "new"), lambda: os.unlink("gone"),
    lambda: os.open("opened", os.O_RDONLY), lambda: os.mkdir("made"), lambda: os.truncate("cut", 0),
    lambda: os.rename("one", "two", src_dir_fd=at), lambda: os.symlink("anything", "points"))]
for thread in threads:
    thread.start()

def call_of(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as now:
        return now.read().split()[0]

# newfstatat, rename, unlink, openat, mkdir, truncate, renameat, symlink: as they are on x86-64
while {call_of(thread) for thread in threads} != {"262", "82", "87", "257", "83", "76", "264", "88"}:
    time.sleep(0.01)
os.write(say, b"x")
"""


def waits(lab, program):
    film = lab.record("-e", "threads", "--", sys.executable, "-c", program)
    answer = states_of(lab, film)
    assert not any("object of" in reason for reason in answer["loss"]), answer["loss"]
    return film, {one["object"]: one for one in answer["objects"] if one["object"]}


def test_open(lab):
    film, told = waits(lab, FIFOS)
    lines = film.recording.stdout.splitlines()
    assert len(lines) == 6
    for name in map(eval, lines):
        assert name in told and told[name]["state"] == "file" and told[name]["total"] > 700_000_000, (name, sorted(told))
    text = lab.run("report", "--format", "states", film.path).stdout
    assert "/a\\x0ab" in text and "/a\nb" not in text


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="there is no FUSE here")
def test_calls_with_paths(lab):
    film, told = waits(lab, FUSE)
    folder = film.recording.stdout.strip()
    for name in ("found", "gone", "opened", "made", "cut", "points", f"old -> {folder}/new", "one -> .../two"):
        assert f"{folder}/{name}" in told, (name, sorted(told))
        one = told[f"{folder}/{name}"]
        assert one["state"] == "file" and one["total"] > 700_000_000, one
