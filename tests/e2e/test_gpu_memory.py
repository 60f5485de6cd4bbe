# SPDX-License-Identifier: Apache-2.0
"""
hbm-alloc and hbm-inuse, against the table of a library that stands for the driver's (tests/programs/cuda_driver.c): what each
function allocated, and has not given back, is exact.
"""

import json
import signal
import subprocess
import sys

import suites
from harness import Film, PATIENCE, needs_root, running, wait_until
from test_memory_heap import of_function

pytestmark = needs_root

EVENTS = ("-q", "-e", "hbm-alloc,hbm-inuse")
TAGS = ("before", "keeper", "churner", "mapper")
FUNCTIONS = {"keeper": {"cuMemAlloc_v2", "cuMemAllocManaged", "cuMemAllocPitch_v2", "cuArrayCreate_v2"},
             "churner": {"cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuArrayCreate_v2"}, "mapper": {"cuMemCreate"}}


def a_round(target):
    """Lets the program work; returns what the driver knows: allocated and in use, by function."""
    target.process.stdin.write(b"go\n")
    target.process.stdin.flush()
    numbers = [int(word) for word in target.process.stdout.readline().split()]
    return {tag: (numbers[2 * i], numbers[2 * i + 1]) for i, tag in enumerate(TAGS)}


def losses(film, event):
    return film.json("-e", event)["loss"]


def check(film, truth):
    for tag in TAGS[1:]:
        allocated, used = truth[tag]
        assert of_function(film, "hbm-alloc", tag) == allocated, (tag, truth, film.report("-e", "hbm-alloc").stdout)
        assert of_function(film, "hbm-inuse", tag) == used, (tag, truth, film.report("-e", "hbm-inuse").stdout)
    for tag, names in FUNCTIONS.items():
        leaves = {stack[-1] for stack, _ in film.folded("-e", "hbm-alloc") if tag in stack}
        assert leaves == names, (tag, leaves)


def test_a_command(lab):
    film = lab.new_film()
    with running(lab.stackcam, "record", *EVENTS, "-o", film, "--", lab.program("cuda_memory"), stdin=subprocess.PIPE) as target:
        truth = a_round(target)
        target.process.stdin.close()
        assert target.wait() == 0
    film = Film(lab.stackcam, film)
    check(film, truth)
    assert of_function(film, "hbm-alloc", "before") == 123456
    assert not losses(film, "hbm-alloc") and not losses(film, "hbm-inuse")


def test_a_process_that_runs(lab):
    """Its calls are too many for a stack of each; what they sum up to is exact all the same."""
    with running(lab.program("cuda_memory"), stdin=subprocess.PIPE) as target:
        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(film.begun)
            ways = json.loads(lab.run("doctor", "--json", "-p", target.pid).stdout)["ways"]
            assert [way["works"] for way in ways if way["event"] == "hbm-alloc,hbm-inuse" and "libcuda.so.1" in way["words"]] == [True]
            for _ in range(4):
                truth = a_round(target)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        for i, event in enumerate(("hbm-alloc", "hbm-inuse")):
            total = sum(value for _, value in film.folded("-e", event))
            assert total == sum(truth[tag][i] for tag in TAGS[1:]), (event, truth, film.report("-e", event).stdout)
        # what it had before is unknown, and said to be
        assert of_function(film, "hbm-inuse", "before") == 0
        assert any("ran before" in reason for reason in losses(film, "hbm-inuse"))
        target.process.stdin.close()
        assert target.wait() == 0


CALLS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
address = ctypes.c_uint64()
print("ready", flush=True)
sys.stdin.readline()
print({library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)) for _ in range(1000)})
"""


def test_the_real_driver(lab):
    """Where there is no device, its functions fail: that is no memory, and they fail as without probes."""
    root = suites.unpacked(lab.suites, "bookworm", "libcuda1", component="non-free", alone=True)
    library = next(root.rglob("libcuda.so.*.*"))
    command = (sys.executable, "-c", CALLS, library)
    plain = subprocess.run(command, input=b"go\n", stdout=subprocess.PIPE, check=True).stdout
    with running(*command, stdin=subprocess.PIPE) as target:
        ways = json.loads(lab.run("doctor", "--json", "-p", target.pid).stdout)["ways"]
        words = [way["words"] for way in ways if way["event"] == "hbm-alloc,hbm-inuse"]
        # all of them, on instructions that the kernel emulates
        assert words == [f"probes in 22 functions of {library.name}"], ways
        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(film.begun)
            target.process.stdin.write(b"go\n")
            target.process.stdin.flush()
            said = target.process.stdout.readline()
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    assert b"ready\n" + said == plain and said != b"{0}\n"
    assert not film.folded("-e", "hbm-alloc")
