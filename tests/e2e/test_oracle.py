# SPDX-License-Identifier: Apache-2.0
"""The same run of a program filmed by stackcam and by perf, at once: the shares must agree."""

import collections
import datetime
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import PATIENCE, chance, name_of, needs_root, running, wait_until

pytestmark = [needs_root,
              pytest.mark.skipif(not shutil.which("perf"), reason="no perf on this machine")]

# One that is wrong by so many points must be found out; the other limit is what two samplers of one run may differ
# in by what they are, beside chance.
WRONG, POINTS = 4, 1
# So many samples that chance leaves room for that: see test_samples_are_enough().
SAMPLES = 8000

# Not the same, lest both always interrupt at the same moment.
HZ, HZ_OF_PERF = 3999, 3989


def limit(share, *counts):
    return POINTS / 100 + chance(share, *counts)


def test_samples_are_enough():
    """A share that is off by WRONG points is never within the limit."""
    assert max(limit(share / 100, SAMPLES, SAMPLES // 2) for share in range(100)) * 100 < WRONG


def stacks_of(data, begin, end):
    """All stacks that perf has taken between two times (s), as names, leaf first, with their count."""
    text = subprocess.run(["perf", "script", "--no-inline", "-i", data, "-F", "time,ip,sym", "--ns"],
                          capture_output=True, text=True, errors="replace",
                          timeout=PATIENCE).stdout
    stacks = collections.Counter()
    for block in text.strip().split("\n\n"):
        time, *lines = block.strip().splitlines()
        # without the versions of symbols
        names = tuple(re.sub(r"^\s*[0-9a-f]+ |@(?!plt).*", "", line) for line in lines)
        if names and begin <= float(time.strip().rstrip(":")) <= end:
            stacks[names] += 1
    return stacks


def seconds_of(time):
    """A time of RFC 3339."""
    return datetime.datetime.fromisoformat(time[:26].rstrip("Z") + "+00:00").timestamp()


@pytest.mark.parametrize("program,arguments", [
    ("split", ()), ("names", ()), ("signal", ("timer",)), ("kernel_read", ()), ("vdso", ()),
    ("dlopen", ()), ("omit", ()), ("alloca", ()),
])
def test_agrees_with_perf(lab, tmp_path, program, arguments):
    data = tmp_path / "perf.data"
    perf = ["perf", "record", "-q", "-m", "16M", "-e", "cpu-clock", "-F", HZ_OF_PERF, "-o", data, "-k",
            "CLOCK_REALTIME", "--call-graph", "dwarf,16384", "--", lab.program(program), 60, *arguments]
    # perf sees its mappings from the start: it does not cope with those that it comes too late for
    with running(*perf) as recorded:
        filmed, = recorded.children()
        with lab.recording("-p", filmed, hz=HZ) as (recorder, film):
            # and those of its first second
            assert wait_until(lambda: film.has_samples(SAMPLES + HZ) or recorder.poll() is not None)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
        os.kill(filmed, signal.SIGKILL)
        recorded.wait()
    # the same moments of the same run, since shares change while it runs; in its first second stackcam begins
    times = film.json()["film"]
    stacks = stacks_of(data, seconds_of(times["start"]) + 1, seconds_of(times["end"]))
    count = sum(stacks.values())
    own, inclusive = collections.Counter(), collections.Counter()
    for names, samples in stacks.items():
        own[name_of(names[0])] += samples
        for name in {name_of(name) for name in names}:
            inclusive[name] += samples

    shares = film.self_shares("--from", "1s")
    # what is told as cut is no other opinion: where libraries come and go it takes a while to know them
    every = film.folded("--from", "1s")
    folded = [(stack, value) for stack, value in every if not stack[0].startswith("[truncated")]
    whole = sum(value for _, value in folded)
    assert whole > 0.9 * sum(value for _, value in every), film.explain()
    totals = collections.Counter()
    for stack, value in folded:
        for name in {name_of(frame) for frame in stack}:
            totals[name] += value / whole
    ours = film.json("--from", "1s")["stacks"]["samples"]
    # perf loses some where it gets no CPU
    assert ours >= SAMPLES // 2 and count >= SAMPLES // 2, (ours, count)

    # perf says [unknown] where stackcam has an image and an offset, and names vDSO code otherwise.
    known = {name for name in (*shares, *totals) if "+0x" not in name and "[" not in name}
    for counted, found in ((own, shares), (inclusive, totals)):
        theirs = {name: samples / count for name, samples in counted.items()}
        compared = [name for name in theirs if theirs[name] > 0.05 and name in known]
        assert compared, (counted.most_common(5), film.explain())
        for name in compared:
            assert abs(found.get(name, 0) - theirs[name]) < limit(theirs[name], count, ours), (
                name, theirs[name], found.get(name, 0), count, ours, film.explain())
