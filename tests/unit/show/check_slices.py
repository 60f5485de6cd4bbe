# SPDX-License-Identifier: Apache-2.0
"""What 'stackcam report --format perfetto' makes of a film of slices, read by a reader that knows nothing of it.

check_slices.py STACKCAM MAKE_TURNS
"""

import os
import subprocess
import sys
import tempfile
from collections import defaultdict

from protobuf import fields, one

STACKCAM, MAKE_TURNS = sys.argv[1:3]
START, MS = 10**12, 10**6
# what make_turns says of its sample: (name, ms)
LIVES = {
    (10, 10, "server"): [("on-cpu", 10), ("lock", 30), ("woken", 5), ("on-cpu", 15), ("preempted", 5), ("on-cpu", 5), ("sleep", 30)],
    (10, 11, "worker"): [("on-cpu", 40), ("hole", 20), ("socket-read", 40)],
}


def read(data):
    """((pid, tid, name) to [(name, start, end, arguments)], [(flow, thread, time, is its end)])"""
    names, keys, tracks, processes = {}, {}, {}, {}
    slices, opened, flows = defaultdict(list), {}, []
    for number, packet in fields(data):
        assert number == 1 and one(packet, 10) == 1
        described = one(packet, 60)
        if described is not None:
            uuid, process, thread = one(described, 1), one(described, 3), one(described, 4)
            assert uuid not in tracks and uuid not in processes
            if process is not None:
                processes[uuid] = one(process, 1)
            else:
                assert one(thread, 1) == processes[one(described, 5)]
                tracks[uuid] = (one(thread, 1), one(thread, 2), one(thread, 5).decode())
            continue
        for entry, value in fields(one(packet, 12, b"")):
            table = {2: names, 3: keys}[entry]
            assert one(value, 1) not in table
            table[one(value, 1)] = one(value, 2).decode()
        event = one(packet, 11)
        if event is None:
            assert one(packet, 6)
            continue
        time, kind, track = one(packet, 8), one(event, 9), tracks[one(event, 11)]
        flows += [(flow, track, time, field == 48) for field, flow in fields(event) if field in (47, 48)]
        if kind == 1:
            assert track not in opened, "slices of a thread overlap"
            name = one(event, 23)
            opened[track] = (name.decode() if name else names[one(event, 10)], time,
                             {keys[one(a, 1)]: one(a, 3, one(a, 2, one(a, 6))) for f, a in fields(event) if f == 4})
        elif kind == 2:
            name, start, arguments = opened.pop(track)
            slices[track].append((name, start, time, arguments))
        else:
            assert kind == 3 and names[one(event, 10)] == "wakes"
    assert not opened, "a slice has no end"
    return slices, flows


def report(*words, status=0):
    done = subprocess.run([STACKCAM, "report", "--format", "perfetto", *words], capture_output=True, timeout=100)
    assert done.returncode == status, done
    return done


def check_sample(path):
    done = report(path)
    slices, flows = read(done.stdout)
    assert b"no room in a ring" in done.stderr
    assert len(slices) == 3 and not any("\033" in name for *_, name in slices)
    for thread, life in LIVES.items():
        at, expected = START, []
        for name, ms in life:
            expected.append((name, at, at + ms * MS))
            at += ms * MS
        assert [one[:3] for one in slices[thread]] == expected
    lock = slices[10, 10, "server"][1]
    assert lock[3] == {"system_call": b"futex", "object": b"mutex 0x7f0000000040 of server (10)",
                       "holder": b"worker", "holder_tid": 11, "holder_sure": b"owner"}
    assert slices[10, 11, "worker"][-1][3]["goes_on"] == 1
    assert slices[10, 10, "server"][0][3] == {"cpu": 1}
    # the one wake by a thread: from the worker to the time in the run queue
    assert sorted(flows, key=lambda flow: flow[3]) == [
        (1, (10, 11, "worker"), START + 40 * MS, False), (1, (10, 10, "server"), START + 40 * MS, True)]


def check_filters(path):
    slices, _ = read(report("--tid", "11", "--from", "30ms", "--to", "70ms", path).stdout)
    assert [one[:3] for one in slices[10, 11, "worker"]] == [
        ("on-cpu", START + 30 * MS, START + 40 * MS), ("hole", START + 40 * MS, START + 60 * MS),
        ("socket-read", START + 60 * MS, START + 70 * MS)]
    assert len(slices) == 1
    assert b"nothing of the film matches" in report("--tid", "99", path, status=1).stderr
    assert read(report("-e", "threads", path).stdout) == read(report(path).stdout)
    assert b"no event" in report("-e", "on-cpu", path, status=1).stderr


def check_made(path, threads):
    """Each thread's slices follow each other without a gap, and each arrow has two ends at one moment."""
    slices, flows = read(report(path).stdout)
    assert len(slices) == threads
    for life in slices.values():
        assert all(a[2] == b[1] for a, b in zip(life, life[1:]))
    ends = defaultdict(list)
    for flow, _, time, is_end in flows:
        ends[flow].append((time, is_end))
    assert ends and all(sorted(pair) == [(pair[0][0], False), (pair[0][0], True)] for pair in ends.values())


with tempfile.TemporaryDirectory() as made:
    small, big = os.path.join(made, "small.film"), os.path.join(made, "big.film")
    subprocess.run([MAKE_TURNS, "sample", small], check=True)
    subprocess.run([MAKE_TURNS, "20000", "20", big], check=True)
    check_sample(small)
    check_filters(small)
    check_made(big, 20)
