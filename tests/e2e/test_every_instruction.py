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

from harness import PATIENCE, is_walked, needs_root, of_pyenv, running, spare_versions

pytestmark = needs_root

spare = spare_versions("version", ("3.9", "3.12"), ())

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
INSTRUCTIONS = 20000


def frames_of(fields):
    """Without lines: they change in each function. And without what one instruction enters together with a function."""
    return [re.sub(r" \(.*:\d+\) in .*", "", field) for field in fields if not field.endswith("a part of the runtime")]


def is_same(a, b):
    """Of the innermost native frame only the image is known."""
    return a == b or a.startswith("native") and a.split("+")[0] == b.split("+")[0] and not ("+" in a and "+" in b)


def follows(before, after):
    """Whether one instruction can lead from one stack to the other."""
    shared = 0
    while shared < min(len(before), len(after)) and is_same(before[shared], after[shared]):
        shared += 1
    return len(before) - shared <= 1 and len(after) - shared <= 1


def lies_under_results(before, after):
    """Whether a function of Lua is gone, below what still puts its results in its place on Lua's stack."""
    gone = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), len(after))
    return len(after) == len(before) - 1 and before[gone].startswith("lua ") and \
        all(map(is_same, before[gone + 1:], after[gone:]))


class Steps:
    def __init__(self, steps, pid, instructions):
        done = subprocess.run([steps, str(pid), str(instructions)], capture_output=True, text=True, errors="replace",
                              timeout=PATIENCE, check=True)
        cut = 0
        self.torn = []
        before, last = None, []
        for line in done.stdout.splitlines():
            count, address, end, *fields = line.split("\t")
            if end != "end root":
                cut += int(count)
                before = None
                continue
            frames = frames_of(fields)
            if before is not None and not follows(before, frames):
                self.torn.append((address, before, frames))
            before = last = frames
        self.cut = cut / instructions
        self.functions = {field.split(" ", 1)[1] for field in last if field.startswith(("lua", "python"))}


def walked(request, *words, instructions=INSTRUCTIONS):
    steps = Path(request.config.getoption("--build")).resolve() / "tests/unit/runtime/steps"
    if not shutil.which(words[0]):
        pytest.skip(f"there is no {words[0]}")
    with running(*words) as program:
        return Steps(steps, program.pid, instructions)


# LuaJIT without its compiler, whose code has one frame for all that it runs
@pytest.mark.parametrize("words", [("luajit", "-joff"), ("lua5.3",), ("lua5.4",)], ids=lambda words: words[0])
def test_lua(request, words):
    if not is_walked(words[0]):
        pytest.skip("frames of this Lua are not looked for")
    seen = walked(request, *words, PROGRAMS / "callbacks.lua")
    assert seen.functions >= {"main chunk", "run"}, seen.functions
    assert seen.cut <= 0.005, seen.cut
    # 5.3: luaD_poscall()
    torn = [place for place in seen.torn if words != ("lua5.3",) or not lies_under_results(*place[1:])]
    # where lua_State leads to the frames, in instructions that change it: in 5.3 as gcc 14 compiles it, too
    by_state = words == ("lua5.3",) and not is_walked("lua5.4")
    assert len(torn) <= (INSTRUCTIONS / 100 if by_state else 0), torn[:10]


@pytest.mark.parametrize("version", ["3.9", "debian", "3.12", "3.13"])
def test_python(request, version):
    """Up to 3.10 a frame's function is found by the native frame's code; later ones have anchors of three kinds."""
    path = "/usr/bin/python3" if version == "debian" else of_pyenv(version)
    # 3.12: 61 instructions in a row, now and then
    instructions = 3 * INSTRUCTIONS if version == "3.12" else INSTRUCTIONS
    seen = walked(request, path, PROGRAMS / "callbacks.py", instructions=instructions)
    assert seen.functions >= {"<module>", "run"}, seen.functions
    assert seen.cut <= 0.005, seen.cut
    assert not seen.torn, seen.torn[:10]
