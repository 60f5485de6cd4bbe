# SPDX-License-Identifier: Apache-2.0
"""
mem-alloc of programs that have their allocator linked in: the library that stackcam loads with a command is not called by them, so
probes stand in the program (tests/programs/allocates_linked.c).
"""

import signal
import subprocess

import pytest

from harness import Film, PATIENCE, needs_root, running, wait_until
from test_memory_heap import of_function

pytestmark = needs_root

COUNT = 2000
# Each allocation is a sample, and probes may take all of a CPU.
OPTIONS = ("-q", "-e", "mem-alloc", "--exact", "--mem-budget", 100)


def allocate(target, count):
    target.process.stdin.write(f"{count}\n".encode())
    target.process.stdin.flush()
    assert target.process.stdout.readline() == b"done\n"
    return True


def bytes_of(film, name):
    done = film.path.exists() and film.report("-e", "mem-alloc", "--format", "folded", check=False)
    return of_function(film, "mem-alloc", name) if done and done.returncode == 0 else 0


def until_probed(film, target):
    """Allocates a little, until the film has something of it; returns how many blocks that were."""
    blocks = 0

    def is_there():
        nonlocal blocks
        blocks += allocate(target, 1)
        return bytes_of(film, "second")
    assert wait_until(is_there), film.explain()
    return blocks


def check(film, blocks):
    for name in ("first", "second"):
        # those of the time when the probes came are there, or not; no other is missing, and none is there twice
        assert COUNT * 1000 < bytes_of(film, name) <= (COUNT + blocks) * 1000, (name, blocks, film.explain())


@pytest.mark.parametrize("program", ["allocates_linked-jemalloc", "allocates_linked-static", "allocates_linked-rust"])
def test_a_command(lab, program):
    film = lab.new_film()
    with running(lab.stackcam, "record", *OPTIONS, "-o", film, "--", lab.program(program), stdin=subprocess.PIPE) as target:
        film = Film(lab.stackcam, film)
        blocks = until_probed(film, target)
        allocate(target, COUNT)
        target.process.stdin.close()
        assert target.wait() == 0
    check(film, blocks)
    # what it allocated until then is lost, and said
    assert "until it had probes" in film.report("-e", "mem-alloc").stdout


@pytest.mark.parametrize("program", ["allocates_linked-jemalloc", "allocates_linked-static", "allocates_linked-rust"])
def test_a_process_that_runs(lab, program):
    with running(lab.program(program), stdin=subprocess.PIPE) as target:
        with lab.recording(*OPTIONS, "-p", target.pid) as (recorder, film):
            blocks = until_probed(film, target)
            allocate(target, COUNT)
            assert wait_until(lambda: bytes_of(film, "second") > COUNT * 1000)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        check(film, blocks)
        target.process.stdin.close()
        assert target.wait() == 0
