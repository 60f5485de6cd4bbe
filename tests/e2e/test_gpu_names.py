# SPDX-License-Identifier: Apache-2.0
"""
Names within the driver library of a GPU, which has no symbols but those of its interface: what its exported functions jump
to gets their names (src/symbol/elf_jumps.c). Tried with a library of that shape, and with the real one of Debian's non-free.
"""

import ctypes
import os
import subprocess
import sys

import pytest

import suites
from harness import needs_root

pytestmark = needs_root


def test_waits_have_the_names_of_the_interface(lab):
    film = lab.film_program("cuda_waits", options=("-e", "on-cpu,off-cpu"))
    for event, name in (("on-cpu", "cuCtxSynchronize"), ("off-cpu", "cuStreamSynchronize")):
        share = film.share(lambda stack, name=name: stack.has("work", name), "-e", event)
        assert share > 0.9, (event, share, film.report("-e", event).stdout)
    # what they call in turn has no name anywhere
    nameless = [stack for stack, _ in film.folded("-e", "on-cpu")
                if any(caller == "work" and "libcuda.so.1+" in frame for caller, frame in zip(stack, stack[1:]))]
    assert not nameless, nameless


CALLS_INIT = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    library.cuInit(0)
"""


def test_the_real_driver(lab):
    root = suites.unpacked(lab.suites, "bookworm", "libcuda1", component="non-free", alone=True)
    library = next(root.rglob("libcuda.so.*.*"))
    ctypes.CDLL(library)  # it loads without a GPU
    film = lab.record("-e", "on-cpu", "--", sys.executable, "-c", CALLS_INIT, library, 1)
    inside = film.share(lambda stack: any("libcuda" in frame for frame in stack) or "cuInit" in stack)
    named = film.share(lambda stack: "cuInit" in stack)
    assert inside > 0.3, film.explain()
    assert named > 0.95 * inside, film.explain()
