# SPDX-License-Identifier: Apache-2.0
"""
rdma, rdma-latency and rdma-memory, against what a provider knows that stands for a real one (tests/programs/verbs_provider.c):
this machine has no device for RDMA. What programs of Debian measure on a real one is in tests/kernels (rdma).
"""

import json
import signal
import subprocess
from pathlib import Path

from harness import Film, PATIENCE, needs_root, running, wait_until
from test_memory_heap import of_function

pytestmark = needs_root

EVENTS = ("-q", "-e", "rdma,rdma-latency,rdma-memory")
KINDS = {0: "[RDMA write]", 2: "[RDMA send]", 4: "[RDMA read]", 5: "[RDMA receive]"}
POSTERS = {0: "write_chain", 2: "send_pieces", 4: "read_two", 5: "receive"}
PROVIDER = "libverbs-rdmav34.so"


def a_round(target):
    """Lets the program transfer; returns what its provider knows: operations and bytes by kind, and ns."""
    target.process.stdin.write(b"go\n")
    target.process.stdin.flush()
    numbers = [int(word) for word in target.process.stdout.readline().split()]
    return {kind: (numbers[2 * kind], numbers[2 * kind + 1]) for kind in KINDS}, numbers[-1]


def probes_of(lab, pid):
    """How many breakpoints the provider's code has in a process."""
    code = Path(lab.program(PROVIDER)).read_bytes()
    count = 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith(PROVIDER) and " r-xp " in line:
            words = line.split()
            start, end = (int(number, 16) for number in words[0].split("-"))
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                memory.seek(start)
                now = memory.read(end - start)
            count += sum(a != b for a, b in zip(now, code[int(words[2], 16):]))
    return count


def is_probed(lab, pid):
    """3 functions that post, 7 of the extended queue pair; and where poll_cq() begins and branches."""
    return lambda: probes_of(lab, pid) >= 3 + 7 + 4


def check(film, truth, latency):
    for kind, (operations, total) in truth.items():
        stacks = [(stack, value) for stack, value in film.folded("-e", "rdma") if stack[-1] == KINDS[kind]]
        assert sum(value for _, value in stacks) == total, (kind, truth, film.report("-e", "rdma").stdout)
        assert {POSTERS[kind]} == {name for stack, _ in stacks for name in stack if name in POSTERS.values()}, stacks
    count = sum(operations for operations, _ in truth.values())
    assert film.json("-e", "rdma")["stacks"]["samples"] == count
    report = film.json("-e", "rdma-latency")
    assert report["stacks"]["samples"] == count - truth[5][0], (truth, film.report("-e", "rdma-latency").stdout)
    assert abs(report["event"]["total"] - latency) < 0.05 * latency, (report["event"], latency)


def test_a_command(lab):
    """All its requests have one id: what belongs together is known, as its queue is followed from its beginning."""
    film = lab.new_film()
    with running(lab.stackcam, "record", *EVENTS, "-o", film, "--", lab.program("rdma_transfers"), "7", stdin=subprocess.PIPE) as target:
        children = Path(f"/proc/{target.pid}/task/{target.pid}/children")
        assert wait_until(lambda: children.read_text().split())
        assert wait_until(is_probed(lab, int(children.read_text().split()[0])))
        a_round(target)
        truth, latency = a_round(target)
        target.process.stdin.close()
        assert target.wait() == 0
    film = Film(lab.stackcam, film)
    check(film, truth, latency)
    assert not film.json("-e", "rdma")["loss"]
    assert of_function(film, "rdma-memory", "churner") == 0


def test_a_process_that_runs(lab):
    """Its context is found in its memory. After some polls that found something, only completions have a probe."""
    with running(lab.program("rdma_transfers"), stdin=subprocess.PIPE) as target:
        first, before = a_round(target)
        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(film.begun)
            assert wait_until(is_probed(lab, target.pid))
            for _ in range(3):
                truth, latency = a_round(target)
            # poll_cq() has one probe
            assert wait_until(lambda: probes_of(lab, target.pid) == 3 + 7 + 1)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        truth = {kind: tuple(a - b for a, b in zip(truth[kind], first[kind])) for kind in truth}
        check(film, truth, latency - before)
        assert any("ran before" in reason for reason in film.json("-e", "rdma-memory")["loss"])
        ways = json.loads(lab.run("doctor", "--json", "-p", target.pid).stdout)["ways"]
        assert [way["works"] for way in ways if way["event"] == "rdma,rdma-latency,rdma-memory"] == [True]
        target.process.stdin.close()
        assert target.wait() == 0
