# SPDX-License-Identifier: Apache-2.0
"""record -e threads: who held the locks that threads waited for, against what the programs say themselves."""

import datetime
import subprocess
import sys
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, running
from test_explain import explained
from test_locks import HELD_NS, JAVAS, PROGRAMS, film_locks, truths_of
from test_threads_camera import states_of
from test_timeline import Played

pytestmark = needs_root

# What the object of a wait is called by its kind in locks.c; of those without an image there is an address.
OBJECTS = {
    "normal": "mutex normal in locks", "recursive": "mutex recursive in locks", "checked": "mutex checked in locks",
    "pi": "PI mutex inheriting in locks", "robust": "robust mutex robust in locks", "timed": "mutex timed in locks",
    "heap": "mutex 0x", "read": "rwlock (read) to_read in locks", "write": "rwlock (write) to_write in locks",
}


def holders_of(lab, film, name):
    """(how it is known, name, tid, longest wait) of the holders of locks with that name."""
    return [(holder["sure"], holder["comm"], holder["tid"], holder["longest"])
            for one in states_of(lab, film)["objects"] if one["object"].startswith(name) for holder in one["holders"]]


def check_objects(lab, film):
    """No more was waited for what a lock's holders held than for the lock."""
    for one in states_of(lab, film)["objects"]:
        assert sum(holder["total"] for holder in one["holders"]) <= one["total"], one
        assert sum(holder["count"] for holder in one["holders"]) <= one["count"], one


@pytest.fixture(scope="module")
def pthreads(shared_lab):
    film = shared_lab.record("-e", "threads", "--", shared_lab.program("locks"), 1)
    return film, truths_of(film.recording.stdout)


@pytest.mark.parametrize("kind", OBJECTS)
def test_the_owner_of_a_lock_is_named(lab, pthreads, kind):
    film, truths = pthreads
    long_ones = [one[:3] for one in holders_of(lab, film, OBJECTS[kind]) if one[3] >= HELD_NS * 0.9]
    assert long_ones == [("owner", f"hold-{kind}", truths[kind][1])], holders_of(lab, film, "")


def test_the_one_who_releases_a_lock_without_an_owner_is_named(lab, pthreads):
    film, truths = pthreads
    long_ones = [one[:3] for one in holders_of(lab, film, "rwlock (write) read_by_one") if one[3] >= HELD_NS * 0.9]
    assert long_ones == [("releaser", "hold-readers", truths["readers"][1])]


def test_nothing_else_has_a_holder(lab, pthreads):
    """What waits for a condition or a semaphore waits for no lock; and each holder held what was waited for."""
    film, truths = pthreads
    check_objects(lab, film)
    holders = {tid for *_, tid, longest in holders_of(lab, film, "") if longest >= HELD_NS * 0.9}
    assert holders == {holder for _, holder in truths.values() if holder}, (holders, truths)
    # those of all threads may be more than are shown, which the text then counts
    text = film.report("--format", "states").stdout
    shown = text.partition("\n  Waits ")[2].partition("\n\n")[0].splitlines()[1:]
    more = int(shown.pop().split()[1]) if shown[-1].endswith(" more") and shown[-1].startswith("  and ") else 0
    assert len(shown) + more == sum(bool(one["object"]) for one in states_of(lab, film)["objects"]), text
    text = film.report("-t", str(truths["normal"][0]), "--format", "states").stdout
    assert f"mutex normal in locks, locks ({film_pid(lab, film)}), held by hold-normal ({truths['normal'][1]}, owner) for" in text
    trace = film.report("--format", "perfetto", text=False).stdout
    assert b"holder_sure" in trace and b"hold-normal" in trace and b"mutex normal in locks" in trace


def film_pid(lab, film):
    return next(process["pid"] for process in states_of(lab, film)["processes"] if process["comm"] == "locks")


def test_a_deadlock_from_before_the_recording(lab):
    """The list of threads names both holders, from the first moment on; and so does the slice that is clicked at."""
    with running(lab.program("locks"), 60, "deadlock") as target:
        film = lab.record("-e", "threads", "-p", target.pid, "-d", 1)
        names = {int(task.name): (task / "comm").read_text().strip() for task in Path(f"/proc/{target.pid}/task").iterdir()}
    embraced = {tid: name for tid, name in names.items() if name in ("one", "two")}
    assert len(embraced) == 2, names
    told = states_of(lab, film)
    found = [holder for one in told["objects"] for holder in one["holders"]]
    assert {holder["tid"]: holder["comm"] for holder in found} == embraced and {one["sure"] for one in found} == {"owner"}, told
    # of all of the one wait that each of the two has in the film
    lives = {one["life"] for one in told["threads"] if one["tid"] in embraced}
    assert {holder["total"] for holder in found} == lives and {holder["count"] for holder in found} == {1}, told
    played = Played(lab.stackcam, film.path)
    try:
        end = datetime.datetime.fromisoformat(film.json("-e", "threads")["film"]["end"].replace("Z", "+00:00")).timestamp()
        for tid in embraced:
            slice_ = played.of_timeline("slice", lane_pid=target.pid, lane_tid=tid, at=f"{end - 0.2:.6f}")["slice"]
            other, = set(embraced) - {tid}
            assert (slice_["name"], slice_["holder_sure"]) == ("lock", "owner"), slice_
            assert slice_["holder"] == {"pid": target.pid, "tid": other, "comm": embraced[other]}, slice_
            assert slice_["object"].startswith("mutex ") and slice_["object"].endswith(" in locks"), slice_
    finally:
        played.end()
    tid = min(embraced)
    request, = explained(lab, film, "-t", str(tid))
    cause = request["parts"][0]
    assert cause["kind"] == "lock" and cause["holder"]["tid"] != tid and cause["parts"][0]["end"] == "deadlock", request


def test_explain_needs_no_event_of_locks(lab):
    film = lab.record("-e", "threads,on-cpu", "--", lab.program("cases"), 1, "lock", hz=499)
    request, = explained(lab, film, "-n", "handler")
    cause = max((part for part in request["parts"] if part["kind"] == "lock"), key=lambda part: part["duration"])
    assert cause["object"] == "mutex orders_lock in cases" and cause["holder"] == cause["waker"], cause
    assert cause["holder"]["comm"] == "flusher" and ", held by flusher (" in cause["words"], cause
    assert "its owner read from the lock" in cause["evidence"], cause


# Three threads take a mutex in an order that is known: the third one waits while the second one, which had waited before it, has it.
CONVOY = r"""
import ctypes, threading, time

libc = ctypes.CDLL(None)
libc.pthread_setname_np.argtypes = [ctypes.c_ulong, ctypes.c_char_p]
mutex = ctypes.create_string_buffer(40)
address = hex(ctypes.addressof(mutex))

def waits(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as now:
        return now.read().split()[:2] == ["202", address]

def run(name, held):
    libc.pthread_setname_np(threading.get_ident(), name.encode())
    libc.pthread_mutex_lock(mutex)
    held.set()
    if name == "first":
        go.wait()
    if name != "third":
        time.sleep(0.05)
    libc.pthread_mutex_unlock(mutex)

go = threading.Event()
threads = []
for name in ("first", "second", "third"):
    held = threading.Event()
    threads.append(threading.Thread(target=run, args=(name, held)))
    threads[-1].start()
    while not held.is_set() if name == "first" else not waits(threads[-1]):
        time.sleep(0.001)
go.set()
print("convoy", *(thread.native_id for thread in threads), flush=True)
for thread in threads:
    thread.join()
time.sleep(0.2)  # what a thread that ends with its process waited for last counts as not answered
"""


def test_an_owner_and_another_one_who_releases(lab):
    """The first one had the lock as the third one began to wait; the second one had it at the end."""
    film = lab.record("-e", "threads", "--", sys.executable, "-c", CONVOY)
    first, second, third = (int(word) for word in film.recording.stdout.split()[1:])
    request, = explained(lab, film, "-t", str(third))
    cause = max((part for part in request["parts"] if part["kind"] == "lock"), key=lambda part: part["duration"])
    assert cause["object"].startswith("mutex 0x") and cause["holder"]["tid"] == first and cause["waker"]["tid"] == second, cause
    assert f"held by first ({first}) and then by 1 thread that waited for it, too" in cause["words"], cause
    assert {part["thread"]["tid"] for part in cause["parts"]} == {first, second}, cause
    slept = [part for part in cause["parts"] if part["kind"] == "sleep"]
    assert {part["thread"]["tid"] for part in slept} == {first, second}, cause


# -- languages ----------------------------------------------------------------------------------------------------------


def test_python(lab):
    film, truths = film_locks(lab, "/usr/bin/python3", PROGRAMS / "locks.py", event="threads")
    long_ones = [(sure, tid) for sure, _, tid, longest in holders_of(lab, film, "Python lock") if longest >= HELD_NS / 2]
    assert ("releaser", truths["lock"][1]) in long_ones, long_ones
    assert truths["event"][1] == 0 and {sure for sure, _ in long_ones} == {"releaser"}
    holders = {tid: sure for sure, _, tid, _ in holders_of(lab, film, "Python GIL")}
    assert {holders.get(tid) for tid in truths["gil"]} == {"last holder"}, holders


@pytest.mark.parametrize("version", ["17", "21"])
def test_java(lab, tmp_path, version):
    if not JAVAS[version]:
        pytest.skip(f"there is no JDK {version}")
    compiler = JAVAS[version].with_name("javac")
    if not compiler.exists():
        pytest.skip("there is no javac")
    subprocess.run([compiler, "-d", tmp_path, PROGRAMS / "Locks.java"], check=True, timeout=PATIENCE)
    film, truths = film_locks(lab, JAVAS[version], "-cp", tmp_path, "Locks", event="threads")
    for kind, name in (("monitor", "Java monitor"), ("reentrant", "java.util.concurrent lock")):
        long_ones = [(sure, tid) for sure, _, tid, longest in holders_of(lab, film, name) if longest >= HELD_NS / 2]
        assert ("owner", truths[kind][1]) in long_ones, (kind, long_ones)
