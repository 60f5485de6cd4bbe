# SPDX-License-Identifier: Apache-2.0
"""The same program filmed by stackcam and by perf: the shares must agree."""

import collections
import re
import shutil
import subprocess

import pytest

from harness import HZ, PATIENCE, name_of, needs_root

pytestmark = [needs_root,
              pytest.mark.skipif(not shutil.which("perf"), reason="no perf on this machine")]

POINTS = 4


def perf_stacks(folder, *command):
    """All stacks that perf takes of a command, as sets of names, leaf first, with their count."""
    data = folder / "perf.data"
    done = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", data,
                           "--call-graph", "dwarf,16384", "--", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE)
    if done.returncode != 0:
        pytest.skip("perf does not work here: " + done.stderr.decode(errors="replace"))
    text = subprocess.run(["perf", "script", "--no-inline", "-i", data, "-F", "ip,sym"],
                          capture_output=True, text=True, errors="replace",
                          timeout=PATIENCE).stdout
    stacks = collections.Counter()
    for block in text.split("\n\n"):
        names = tuple(re.sub(r"^\s*[0-9a-f]+ |@.*", "", line)
                      for line in block.splitlines() if line.strip())
        if names:
            stacks[names] += 1
    return stacks


@pytest.mark.parametrize("program,arguments", [
    ("split", ()), ("names", ()), ("signal", ("timer",)), ("kernel_read", ()), ("vdso", ()),
    ("dlopen", ()), ("omit", ()), ("alloca", ()),
])
def test_agrees_with_perf(lab, tmp_path, program, arguments):
    stacks = perf_stacks(tmp_path, lab.program(program), "1.5", *arguments)
    count = sum(stacks.values())
    assert count > 300
    own, inclusive = collections.Counter(), collections.Counter()
    for names, samples in stacks.items():
        own[name_of(names[0])] += samples / count
        for name in {name_of(name) for name in names}:
            inclusive[name] += samples / count

    film = lab.film_program(program, *arguments, seconds=1.5)
    shares = film.self_shares()
    totals = collections.Counter()
    for stack, value in film.folded():
        for name in {name_of(frame) for frame in stack}:
            totals[name] += value
    whole = sum(value for _, value in film.folded())

    # perf says [unknown] where stackcam has an image and an offset, and names vDSO code otherwise.
    ours = {name for name in (*shares, *totals) if "+0x" not in name and "[" not in name}
    compared = [name for name in own if own[name] > 0.05 and name in ours]
    assert compared, (own.most_common(5), film.explain())
    for name in compared:
        assert abs(shares.get(name, 0) - own[name]) * 100 < POINTS, (name, own[name],
                                                                     film.explain())
    compared = [name for name in inclusive if inclusive[name] > 0.05 and name in ours]
    for name in compared:
        assert abs(totals[name] / whole - inclusive[name]) * 100 < POINTS, (
            name, inclusive[name], film.explain())
