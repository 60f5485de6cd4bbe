# SPDX-License-Identifier: Apache-2.0
"""
The stack at each instruction of an interpreter: that of a thread which goes on one by one (tests/unit/runtime/steps.c),
walked by the source that runs in the kernel. An instruction enters or leaves one function at most. So a stack that is
neither the one before nor that with a function more or less is wrong, unless it says that it is cut; samples would meet
such a place once in a thousand.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, running

pytestmark = needs_root

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "callbacks.lua"
INSTRUCTIONS = 20000


def frames_of(fields):
    """Without lines: they change in each function."""
    return [re.sub(r" \(.*:\d+\) in .*", "", field) for field in fields]


def is_same(a, b):
    """Of the innermost native frame only the image is known."""
    return a == b or a.startswith("native") and a.split("+")[0] == b.split("+")[0] and not ("+" in a and "+" in b)


def follows(before, after):
    """Whether one instruction can lead from one stack to the other."""
    shared = 0
    while shared < min(len(before), len(after)) and is_same(before[shared], after[shared]):
        shared += 1
    return len(before) - shared <= 1 and len(after) - shared <= 1


class Steps:
    def __init__(self, steps, pid):
        done = subprocess.run([steps, str(pid), str(INSTRUCTIONS)], capture_output=True, text=True, errors="replace",
                              timeout=PATIENCE, check=True)
        self.cut = 0
        self.torn = []
        before = None
        for line in done.stdout.splitlines():
            count, address, end, *fields = line.split("\t")
            if end != "end root":
                self.cut += int(count)
                before = None
                continue
            frames = frames_of(fields)
            if before is not None and not follows(before, frames):
                self.torn.append((address, before, frames))
            before = frames
        self.functions = {field.split(" ", 1)[1] for field in before or [] if field.startswith("lua")}


@pytest.mark.parametrize("words, cut, torn", [
    # without the compiler: its code has one frame for all that it runs
    (("luajit", "-joff"), 0.005, 0),
    # luaV_execute() is not found where it sets up its registers (src/runtime/lua_execute.c)
    (("lua5.4",), 0.005, 0.002),
], ids=lambda value: value[0] if isinstance(value, tuple) else "")
def test_lua(request, words, cut, torn):
    steps = Path(request.config.getoption("--build")).resolve() / "tests/unit/runtime/steps"
    if not shutil.which(words[0]):
        pytest.skip(f"there is no {words[0]}")
    with running(*words, PROGRAM) as program:
        seen = Steps(steps, program.pid)
    assert seen.functions >= {"main chunk", "run"}, seen.functions
    assert seen.cut <= cut * INSTRUCTIONS, seen.cut
    assert len(seen.torn) <= torn * INSTRUCTIONS, seen.torn[:10]
