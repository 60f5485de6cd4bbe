# SPDX-License-Identifier: Apache-2.0
"""
What every task of asyncio did, every moment: against what tasks measured themselves, of each version of CPython that
can be followed (as in test_python.py).
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, of_pyenv, spare_versions, wait_until
from test_go_lanes import wall
from test_python import PROGRAMS, python, version_of  # noqa: F401: a fixture
from test_timeline import Played

pytestmark = needs_root

PROGRAM = PROGRAMS / "tasks_truth.py"
MS = 60
SPAN = MS * 1_000_000
# Between a task's clock and the probes; on a busy machine its thread has to wait for a CPU meanwhile.
NEAR = 0.5 * SPAN

spare = spare_versions("python", ("3.8", "3.9", "3.10", "3.11", "3.12", "3.14", "libpython"), ("test_tasks_that_wait_all_the_time_have_lanes",))


class Lives:
    """Of a film: each task's states, by the task's name."""

    def __init__(self, film):
        self.answer = json.loads(film.report("-e", "task-lanes", "--format", "states-json").stdout)
        self.of = {thread["comm"].split()[0]: thread for thread in self.answer["threads"]}

    def ns(self, name, *states):
        return sum(state["total"] for state in self.of[name]["states"] if state["state"] in states)

    def waited(self, name):
        return self.ns(name, "other (future)", "other (task)")

    def off(self, name):
        return self.of[name]["life"] - self.ns(name, "running")


@pytest.fixture(scope="module")
def made(python, shared_lab):
    film = shared_lab.record("-e", "task-lanes", "--", *python, PROGRAM, MS)
    return film, Lives(film), json.loads(film.recording.stdout)


def test_tasks_ran_and_were_off_for_as_long_as_they_say(made, python):
    film, lives, told = made
    assert ("eager" in told) == (version_of(python) >= (3, 12))
    check_lives(film, lives, told)


def check_lives(film, lives, told):
    # a library that a program opens later is met as it runs already
    assert all("ran for a moment before" in reason for reason in film.json("-e", "task-lanes")["loss"]), film.explain()
    for name, truth in told.items():
        running = lives.ns(name, "running")
        # it measures from within; a step begins and ends outside of that, and its thread may be preempted there
        most = truth["ran"] + (truth["off"] if truth["ran"] else 0) + NEAR
        assert truth["ran"] <= running <= most, (name, lives.of[name], truth)
        assert truth["off"] <= lives.off(name) + running - truth["ran"], (name, lives.of[name], truth)
        assert lives.waited(name) <= truth["off"] + NEAR, (name, lives.of[name], truth)
        assert sum(state["total"] for state in lives.of[name]["states"]) == lives.of[name]["life"], name
    assert lives.ns("joins", "other (task)") and not lives.ns("joins", "other (future)"), lives.of["joins"]
    for name in ("sleeps", "receives", "asks"):
        assert lives.waited(name) >= 0.8 * SPAN, lives.of[name]
    # when those begin is the loop's affair
    assert lives.waited("cancelled") and lives.waited("joins")
    # what burns gives way, and waits for nothing
    assert not lives.waited("burns") and lives.ns("burns", "preempted"), lives.of["burns"]
    assert not any(lives.ns(name, "hole") for name in lives.of)


@pytest.mark.parametrize("version", ["3.9", "3.12"])
def test_the_ends_of_steps_are_seen_where_the_code_is_not_understood(lab, tmp_path, monkeypatch, version):
    """A module without sections has no names of what it calls: steps end where functions return."""
    python = of_pyenv(version)
    module = Path(subprocess.run([python, "-c", "import _asyncio; print(_asyncio.__file__)"], capture_output=True,
                                 text=True, check=True).stdout.strip())
    bare = bytearray(module.read_bytes())
    # e_shoff; e_shnum and e_shstrndx
    bare[40:48], bare[60:64] = bytes(8), bytes(4)
    (tmp_path / module.name).write_bytes(bare)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    film = lab.record("-e", "task-lanes", "--", python, PROGRAM, MS)
    check_lives(film, Lives(film), json.loads(film.recording.stdout))


def test_names_are_those_of_tasks_and_their_coroutines(made):
    _, lives, told = made
    names = {thread["comm"] for thread in lives.of.values()}
    assert {"Task-1 main", "asks asks_a_thread", "burns burns"} <= names, names
    assert "eager" not in told or {"eager is_eager", "brief ends_at_once"} <= names, names


def longest_wait(runs, waits):
    """Where the longest run of that class begins and ends: what was made just now may have to wait for a CPU for longer."""
    at, found = 0, (0, 0)
    for gap, length, kind, *_ in zip(*[iter(runs)] * 5):
        at += gap
        if kind == waits and length > found[1] - found[0]:
            found = (at, at + length)
        at += length
    return found


def slice_of(played, lanes, name):
    """The longest wait of a task: from when to when, and what the page says of it."""
    (lane,) = (lane for lane in lanes["lanes"] if lane["comm"].split()[0] == name)
    found = played.of_timeline("slices", **{"event": "threads", "from": wall(lanes["base"], 0),
                                    "to": wall(lanes["base"], lanes["length"]), "pixel": 1_000_000,
                                    "lanes": f"{lane['pid']}.g{lane['tid']}"})
    start, end = longest_wait(found["lanes"][0]["runs"], found["classes"].index("other"))
    return played.of_timeline("slice", event="threads", lane_pid=lane["pid"], lane_tid=lane["tid"], lane_goroutine=1,
                      at=wall(found["base"], (start + end) // 2))["slice"]


def test_lanes_stand_beside_threads_and_say_who_made_a_task_ready(lab, places):
    film = lab.record("-e", "threads,task-lanes", "--", "/usr/bin/python3", PROGRAM, MS)
    played = Played(places[0], film.path)
    try:
        lanes = played.of_timeline("lanes", event="threads", shown=200, pixel=1_000_000)
        of = {lane["comm"].split()[0]: lane for lane in lanes["lanes"]}
        assert of["burns"]["kind"] == "task" and of["burns"]["goroutine"] and of["python3"]["kind"] == "thread", of
        receives, joins, asks = (slice_of(played, lanes, name) for name in ("receives", "joins", "asks"))
    finally:
        played.end()
    assert (receives["call"], receives["waker"]["comm"]) == ("future", "gives gives"), receives
    assert (joins["call"], joins["waker"]["comm"]) == ("task", "sleeps sleeps"), joins
    # by a callback, which belongs to no task
    assert asks["waker"]["comm"] == "python3" and asks["on"]["comm"] == "python3", asks
    assert joins["waker_goroutine"] and not asks["waker_goroutine"], asks
    report = film.report("-e", "threads").stdout
    assert "not linked: which of its tasks of asyncio" not in report, report


def test_tasks_from_before_are_there_once_they_go_on(lab):
    with subprocess.Popen(["/usr/bin/python3", PROGRAM, str(MS), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            with lab.recording("-e", "task-lanes", "-p", program.pid) as (recorder, film):
                assert wait_until(film.begun)
                told = json.loads(program.communicate("\n", timeout=PATIENCE)[0])
                assert recorder.wait(timeout=PATIENCE) == 0
        finally:
            program.kill()
    lives = Lives(film)
    assert lives.of.keys() >= told.keys(), lives.of.keys()
    assert lives.ns("burns", "running") >= 0.8 * SPAN, lives.of["burns"]
    # one that ran as the probes came did not wait then: what it did is not known; all others waited
    assert [name for name in lives.of if lives.ns(name, "hole")] == ["Task-1"], lives.of


# What waits for something that never comes, and one that goes on when a line comes. Tasks that have ended leave their
# memory behind.
IDLE = """
import asyncio, sys

async def is_stuck(event):
    await event.wait()

async def goes_on():
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await asyncio.sleep(1000)

async def joins(task):
    await task

async def main():
    event = asyncio.Event()
    tasks = [asyncio.create_task(is_stuck(event), name=f"stuck-{i}") for i in range(5)]
    tasks.append(asyncio.create_task(joins(tasks[0]), name="joins"))
    tasks.append(asyncio.create_task(goes_on(), name="goes"))
    await asyncio.gather(*[asyncio.create_task(asyncio.sleep(0), name=f"ended-{i}") for i in range(100)])
    print("ready", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""
SECOND = 1_000_000_000


def film_of_idle(lab, seconds, *python, **variables):
    """A film of so many seconds, at the beginning of which one of its tasks goes on."""
    with subprocess.Popen([*python, "-c", IDLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **variables}) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            with lab.recording("-e", "task-lanes", "-d", seconds, "-p", program.pid) as (recorder, film):
                assert wait_until(film.begun)
                program.stdin.write("\n")
                program.stdin.flush()
                assert recorder.wait(timeout=PATIENCE) == 0
        finally:
            program.kill()
    return film


def test_tasks_that_wait_all_the_time_have_lanes(lab, python):  # noqa: F811
    film = film_of_idle(lab, 3, *python)
    lives = Lives(film)
    names = sorted(thread["comm"] for thread in lives.answer["threads"])
    assert names == ["Task-1 main", "goes goes_on", "joins joins", *(f"stuck-{i} is_stuck" for i in range(5))], names
    for name, life in lives.of.items():
        assert life["life"] >= 2.9 * SECOND, life
        # one that goes on has run for a moment
        assert lives.waited(name) == life["life"] if name != "goes" else lives.waited(name) >= 0.9 * life["life"], life
    assert lives.ns("joins", "other (task)") and not lives.ns("joins", "other (future)"), lives.of["joins"]
    assert lives.ns("goes", "running"), lives.of["goes"]
    assert not film.json("-e", "task-lanes")["loss"], film.explain()


@pytest.mark.parametrize("variables", [{"PYTHONMALLOC": "malloc"}, {"PYTHONDEVMODE": "1"}], ids=["malloc", "debug"])
def test_an_interpreter_with_another_allocator_is_named(lab, variables):
    """Of a task that goes on there is a lane; that others were not looked for is said."""
    film = film_of_idle(lab, 2, "/usr/bin/python3", **variables)
    assert Lives(film).of.keys() == {"goes"}, film.explain()
    loss = film.json("-e", "task-lanes")["loss"]
    assert list(loss.values()) == [1] and "another allocator of small objects" in list(loss)[0], loss


# Some live at the same time, and of the others each has the address of one before it.
MANY = """
import asyncio

async def one():
    await asyncio.sleep(0)

async def main():
    for count in [100] * 20 + [3000]:
        await asyncio.gather(*[one() for _ in range(count)])

asyncio.run(main())
"""


def test_each_of_many_tasks_has_a_life_of_its_own(lab):
    film = lab.record("-e", "task-lanes", "--", "/usr/bin/python3", "-c", MANY)
    ours = [thread for thread in Lives(film).answer["threads"] if thread["comm"].endswith(" one")]
    assert len(ours) == len({thread["tid"] for thread in ours}) == 100 * 20 + 3000, len(ours)
    for life in ours:
        states = {state["state"]: state["count"] for state in life["states"]}
        assert states == {"running": 2, "woken": 1, "preempted": 1}, life
    assert not film.json("-e", "task-lanes")["loss"], film.explain()


def test_a_version_that_cannot_be_followed_is_named(lab):
    film = lab.record("-e", "task-lanes", "--", of_pyenv("3.7"), "-c", "import asyncio, time; time.sleep(0.1)")
    lost = film.json("-e", "task-lanes")["loss"]
    assert any(reason.startswith("tasks of a program not followed: asyncio of CPython 3.7") for reason in lost), lost
