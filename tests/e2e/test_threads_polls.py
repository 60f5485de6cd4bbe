# SPDX-License-Identifier: Apache-2.0
"""record -e threads: which of several descriptors ended a wait in poll(2) or select(2)."""

import json
import sys

import pytest
from harness import needs_root
from test_threads_camera import main_thread, states_of

pytestmark = needs_root

TURNS = 8


def waited(lab, way, others):
    """What the program was ready for in turn, and its waits in the call, by the object or the reason why that is not known."""
    film = lab.record("-e", "threads", "--", lab.program("polls"), way, others)
    answer = states_of(lab, film)
    assert not any("object of" in reason for reason in answer["loss"]), answer["loss"]
    polls = [one for one in answer["objects"] if one["state"] == "poll"]
    return film, film.recording.stdout.splitlines(), {one["object"] or one["unknown"]: one for one in polls}


# from the entries on the thread's stack alone, and with those in pages
@pytest.mark.parametrize("others", (0, 20, 200))
@pytest.mark.parametrize("way", ("poll", "select"))
def test_what_ended_a_wait(lab, way, others):
    film, names, polls = waited(lab, way, others)
    for name in names:
        # on a busy machine two may be ready at once, and the second is then not waited for; and some of a thread's time may be
        # a hole, as where an init of a virtual machine is hidden
        assert TURNS // 2 <= polls[name]["count"] <= TURNS, (name, polls)
    # those whose time was over were ended by none
    rest = [one for name, one in polls.items() if name not in names]
    assert len(rest) == 1, polls
    told = json.loads(lab.run("explain", "--thread", main_thread(lab, film), "--format", "json", film.path).stdout)
    parts = {part["object"] for part in told["requests"][0]["parts"] if part["kind"] == "poll"}
    assert set(names) <= parts, told


def test_too_many_to_look_at(lab):
    """Nothing is said of a wait for more than are looked at."""
    _, _, polls = waited(lab, "poll", 400)
    assert list(polls) == ["403 descriptors"], polls


SLEEPS = """
import fcntl, select, sys, threading

def nap():
    select.select([], [], [], 0.1)
    select.poll().poll(100)

def holds():
    with open(sys.argv[1], "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held.set()
        nap()

held = threading.Event()
threading.Thread(target=holds).start()
held.wait()
with open(sys.argv[1], "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
"""


def test_no_descriptor_at_all(lab, tmp_path):
    """Such a call is a sleep: who holds a lock meanwhile does not wait for new work."""
    film = lab.record("-e", "threads,off-cpu", "--", sys.executable, "-c", SLEEPS, tmp_path / "lock")
    polls = [one for one in states_of(lab, film)["objects"] if one["state"] == "poll"]
    assert not polls, polls
    told, = json.loads(lab.run("explain", "--thread", main_thread(lab, film), "--format", "json", film.path).stdout)["requests"]
    wait = max((part for part in told["parts"] if "flock of " in (part["words"] or "")), key=lambda part: part["duration"])
    sleep = max(wait["parts"], key=lambda part: part["duration"])
    assert sleep["kind"] == "sleep" and sleep["words"].startswith("sleeping (p"), wait
    assert "[sleep]" in film.report("-e", "off-cpu", "--by", "wait").stdout
