# SPDX-License-Identifier: Apache-2.0
"""What 'stackcam report --format perfetto' makes of samples, read by a reader that knows nothing of its writer.

check_samples.py STACKCAM MAKE_FILM

Field numbers are those of Perfetto's protos: trace_packet, trace_packet_defaults, interned_data, and in profiling/
stack_sample and profile_common.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "show"))
from protobuf import fields, one  # noqa: E402

STACKCAM, MAKE_FILM = sys.argv[1:3]
MONOTONIC, NANOSECONDS, NATIVE, USER = 3, 1, 1, 1
NAMES, FRAMES, STACKS, BUILD_IDS, PATHS, SOURCES, MAPPINGS = 5, 6, 7, 16, 17, 18, 19


def run(*words, status=0):
    done = subprocess.run([STACKCAM, "report", *words], capture_output=True, timeout=100, check=False)
    assert done.returncode == status, done
    return done


class Trace:
    """The samples as [(time, pid, tid, weight, "main;work;read")], the names of threads, and what was interned."""

    def __init__(self, data):
        self.samples, self.threads, self.tables, self.defaults = [], {}, {}, None
        for number, packet in fields(data):
            assert number == 1
            self.packet(packet)

    def packet(self, packet):
        thread = one(one(packet, 60, b""), 4)
        if thread is not None:
            assert (one(thread, 1), one(thread, 2)) not in self.threads
            self.threads[one(thread, 1), one(thread, 2)] = one(thread, 5).decode()
        if one(packet, 59) is not None:
            assert one(packet, 13) == 1 and self.defaults is None, "a sequence begins once"
            self.sequence, self.defaults = one(packet, 10), one(packet, 59)
        sample = one(packet, 135)
        if sample is None:
            return
        assert one(packet, 10) == self.sequence != 1 and one(packet, 13) == 2
        for table, entry in fields(one(packet, 12, b"")):
            known = self.tables.setdefault(table, {})
            assert one(entry, 1) not in known, "interned twice"
            known[one(entry, 1)] = entry
        task = one(sample, 1)
        self.samples.append((one(packet, 8), one(task, 2), one(task, 3), one(sample, 11), self.stack(sample)))

    def stack(self, sample):
        assert one(one(sample, 3), 3) == USER
        stack = self.tables[STACKS][one(sample, 6)]
        return ";".join(self.name(frame) for field, frame in fields(stack) if field == 2)

    def name(self, number):
        frame = self.tables[FRAMES][number]
        mapping = self.tables[MAPPINGS][one(frame, 3)]
        assert self.tables[PATHS][one(mapping, 7)] and one(frame, 4) is not None and one(frame, 7) == NATIVE
        source = one(frame, 5)
        assert source is None or one(self.tables[SOURCES][source], 2) and one(frame, 6)
        return one(self.tables[NAMES][one(frame, 2)], 2).decode()


def folded(path, *words):
    stacks = Counter()
    for line in run("--format", "folded", "--inlines", *words, path).stdout.decode().splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[stack] += int(value)
    return stacks


def check(path, *words):
    """The same stacks with the same values as folded text."""
    trace, sums = Trace(run("--format", "perfetto", *words, path).stdout), Counter()
    counter = one(one(trace.defaults, 100), 2)
    assert one(trace.defaults, 58) == MONOTONIC and one(one(trace.defaults, 100), 1) == b"stackcam.on-cpu"
    assert (one(counter, 2), one(counter, 3)) == (b"on-cpu", NANOSECONDS)
    for _, pid, tid, weight, stack in trace.samples:
        assert trace.threads[pid, tid].startswith("worker-")
        sums[stack] += weight
    assert sums == folded(path, *words) and len(sums) > 10
    return trace


with tempfile.TemporaryDirectory() as made:
    film, out = os.path.join(made, "x.film"), os.path.join(made, "x.pftrace")
    subprocess.run([MAKE_FILM, "2000", "300", "20", film], check=True)
    whole = check(film)
    assert len(whole.samples) == 2000 and len({sample[0] for sample in whole.samples}) > 30
    assert len(check(film, "-e", "on-cpu").samples) == 2000
    part = check(film, "--tid", str(whole.samples[0][2]))
    assert 0 < len(part.samples) < 2000 and set(part.samples) < set(whole.samples)
    run("-o", out, film)
    assert Path(out).read_bytes() == run("--format", "perfetto", film).stdout
    assert b"no event 'lock'" in run("--format", "perfetto", "-e", "lock", film, status=1).stderr
    assert b"nothing of the film matches" in run("--format", "perfetto", "--tid", "9", film, status=1).stderr
