# SPDX-License-Identifier: Apache-2.0
"""In which ways the memory of a running process can be recorded, as `stackcam doctor -p` says before it is tried."""

import ctypes
import json
import shutil
import subprocess

import pytest

from harness import needs_root, running, wait_until
from test_memory_heap import of_unknown_version

pytestmark = needs_root

PTRACE_SEIZE = 0x4206
PROBES, LIBRARY = "mem-alloc", "mem-alloc,mem-inuse"


def told(lab, pid):
    done = lab.run("doctor", "--json", "-p", pid)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    text = lab.run("doctor", "-p", pid).stdout
    for way in answer["ways"]:
        assert ("yes" if way["works"] else "no ") + f"  -e {way['event']} " in text and way["words"] in text, text
    return answer


def works(answer, event, words=""):
    found = [way["works"] for way in answer["ways"] if way["event"] == event and words in way["words"]]
    assert len(found) == 1, answer
    return found[0]


def test_the_c_library(lab):
    with running(lab.program("dump"), 60) as target:
        answer = told(lab, target.pid)
    assert answer["pid"] == target.pid and answer["comm"] == "dump"
    assert answer["allocator"] == "libc.so.6 (called)"
    assert works(answer, "mem-grow") and works(answer, PROBES) and works(answer, LIBRARY)


@pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")
def test_of_two_allocators_the_one_that_is_called(lab, tmp_path):
    with subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", tmp_path / "socket", "--save", "", "--dir", tmp_path],
                          stdout=subprocess.DEVNULL) as target:
        try:
            assert wait_until((tmp_path / "socket").exists)
            answer = told(lab, target.pid)
        finally:
            target.kill()
    assert "libjemalloc.so.2 (called)" in answer["allocator"] and "libc.so.6 (called)" not in answer["allocator"], answer
    assert works(answer, LIBRARY)


def test_a_program_that_is_linked_statically(lab):
    with running(lab.program("allocates_linked-static"), stdin=subprocess.PIPE) as target:
        answer = told(lab, target.pid)
    assert answer["allocator"] == "allocates_linked-static"
    assert works(answer, PROBES)
    assert not works(answer, LIBRARY, "is linked statically, or calls no malloc() of a library")


def test_go(lab):
    for program in "allocates_go", "allocates_go-stripped":
        with running(lab.program(program), stdin=subprocess.PIPE) as target:
            assert works(told(lab, target.pid), LIBRARY, "Go's own samples")


def test_go_of_an_unknown_version(lab, tmp_path):
    with running(of_unknown_version(lab, tmp_path), stdin=subprocess.PIPE) as target:
        assert not works(told(lab, target.pid), LIBRARY, "Go's own samples")


def test_a_process_that_has_a_debugger(lab):
    with running(lab.program("dump"), 60) as target:
        assert ctypes.CDLL(None, use_errno=True).ptrace(PTRACE_SEIZE, target.pid, None, None) == 0, ctypes.get_errno()
        answer = told(lab, target.pid)
    assert works(answer, PROBES) and not works(answer, LIBRARY, "has a debugger")


def test_no_program(lab):
    for pid, words in (2, "thread of the kernel"), (4194303, "there is no process"):
        done = lab.run("doctor", "-p", pid)
        assert done.returncode == 1 and words in done.stderr and not done.stdout, done
    done = lab.run("doctor", "-p", "many")
    assert done.returncode == 2 and "not the number of a process" in done.stderr
