# SPDX-License-Identifier: Apache-2.0
"""Waits where they are hard to record: storms of switches, very many threads, threads that move, other languages."""

import os
import sys

import pytest

from harness import needs_root, running
from test_threads import PARTS, PYTHON, go_program, java_program, start

pytestmark = needs_root

EVENTS = ("off-cpu", "run-queue", "idle")


def waited(film):
    """What each thread waited, by its number, over all events; and how many waits had to be given up."""
    times = {}
    for event in EVENTS:
        done = film.report("-e", event, "--by", "thread", "--format", "folded", check=False)
        for line in done.stdout.splitlines() if done.returncode == 0 else ():
            stack, _, value = line.rpartition(" ")
            tid = int(stack.split(";")[0].rpartition("(")[2].rstrip(")"))
            times[tid] = times.get(tid, 0) + int(value)
    return times


def stolen():
    """Time that the kernel counts as no thread's: interrupts, and what the host takes; ns since the machine's start."""
    with open("/proc/stat", encoding="ascii") as stat:
        return sum(map(int, stat.readline().split()[6:9])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def lives(recording):
    """Of each thread of storm.c: its life, its CPU time, how often it was switched, and what its life may be longer."""
    lines = [line.split() for line in recording.stdout.splitlines() if line.count(" ") == 4]
    return {int(tid): tuple(map(int, rest)) for tid, *rest in lines}


@pytest.mark.parametrize("how", ["stays", "migrate"])
def test_the_parts_of_each_life_add_up_in_a_storm_of_switches(lab, how):
    before = stolen()
    film = lab.record("-e", "off-cpu", "--", lab.program("storm"), 2, 8, how)
    taken = stolen() - before
    truths, times = lives(film.recording), waited(film)
    assert len(truths) == 16
    switches = sum(truth[2] for truth in truths.values())
    # this machine cannot do better while others use it; on a quiet one it is 200,000 and more a second
    assert switches > 2 * 5000, switches
    for tid, (life, cpu, _, longer) in truths.items():
        # its CPU time has what it takes to record each wait, too; nothing is counted twice
        assert times.get(tid, 0) <= 1.001 * life + longer, (tid, life, cpu, longer, times.get(tid))
    wanted = sum(life - cpu for life, cpu, *_ in truths.values())
    lost = film.json("-e", "off-cpu")["loss"].get("shorter waits of threads that ended, in us: ring full", 0)
    missing = wanted - sum(times[tid] for tid in truths) - 1000 * lost
    # what is on a CPU is also the switch itself, which no thread's CPU time has; and waits of a thread that are short
    # of a period when the film ends
    slack = 0.01 * sum(life for life, *_ in truths.values()) + taken
    assert -slack - sum(longer for *_, longer in truths.values()) < missing < slack, \
        (missing, taken, {tid: (life - cpu - times[tid], longer) for tid, (life, cpu, _, longer) in truths.items()}, film.explain())


def test_ten_thousand_threads(lab):
    count = 10000
    program, target = start(lab, count, count=PARTS + 1 + count)
    try:
        film = lab.record("-e", "off-cpu", "-d", "1", "-p", target.pid)
        shown = lab.run("threads", "-p", target.pid)
    finally:
        program.__exit__(None, None, None)
    crowd = [stack for stack, _ in film.folded("-e", "off-cpu", "--by", "thread") if "wait_in_crowd" in stack]
    assert len(crowd) == count
    assert f"{target.pid} dump: {PARTS + 1 + count:,} threads\n" in shown.stdout, shown.stderr
    assert f"\n  {count:,} threads: crowd (" in shown.stdout


def whole(film, function):
    """Of the waits below a function: the part whose stacks reach the thread's first function."""
    stacks = [(stack, value) for stack, value in film.folded("-e", "off-cpu") if stack.has(function)]
    assert stacks, film.explain()
    return sum(value for stack, value in stacks if not any(frame.startswith("[truncated") for frame in stack)) / \
        sum(value for _, value in stacks)


def test_python_waits_have_whole_stacks(lab):
    with running(sys.executable, "-c", PYTHON) as target:
        film = lab.record("-e", "off-cpu", "-d", "1", "-p", target.pid)
    assert whole(film, "take") == 1 and whole(film, "rest") == 1


def test_java_waits_have_whole_stacks(lab, tmp_path):
    with java_program(tmp_path) as target:
        film = lab.record("-e", "off-cpu", "-d", "2", "-p", target.pid)
    assert whole(film, "Dump.guarded") == 1 and whole(film, "Dump.rest") == 1


def test_go_waits_have_whole_stacks(lab, tmp_path):
    with go_program(tmp_path) as target:
        film = lab.record("-e", "off-cpu", "-d", "1", "-p", target.pid)
    assert whole(film, "main.rest") == 1
