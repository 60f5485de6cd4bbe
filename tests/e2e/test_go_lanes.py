# SPDX-License-Identifier: Apache-2.0
"""What every goroutine did, every moment: against what goroutines measured themselves."""

import json
import signal

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_go import NEWER, by_newer
from test_goroutines import Staying, probes_are_set
from test_timeline import Played

pytestmark = needs_root

MS = 60
SPAN = MS * 1_000_000
# Between a goroutine's clock and the probes; on a busy machine a thread has to wait for a CPU meanwhile.
NEAR = 0.5 * SPAN

SERVERS = ("lanes_go", "lanes_go-stripped")


def told_by(lines):
    """By kind: what goroutines measured, by their number."""
    told = {}
    for kind, number, ns in (line.split() for line in lines if line.count(" ") == 2):
        told.setdefault(kind, {})[int(number)] = int(ns)
    return told


class Lives:
    """Of a film: each goroutine's states."""

    def __init__(self, film):
        self.answer = json.loads(film.report("-e", "go-lanes", "--format", "states-json").stdout)
        self.of = {thread["tid"]: thread for thread in self.answer["threads"]}

    def ns(self, number, *states):
        return sum(state["total"] for state in self.of[number]["states"] if state["state"] in states)

    def count(self, number, *states):
        return sum(state["count"] for state in self.of[number]["states"] if state["state"] in states)

    def ready(self, number):
        return self.ns(number, "woken", "preempted")

    def holes(self):
        return sum(self.ns(number, "hole") for number in self.of)


@pytest.fixture(scope="module", params=[*SERVERS, *NEWER])
def made(request, shared_lab):
    program = shared_lab.program(request.param) if request.param in SERVERS else \
        by_newer(shared_lab, request.param, "lanes_go-stripped")
    film = shared_lab.record("-e", "go-lanes", "--", program, MS)
    return film, Lives(film), told_by(film.recording.stdout.splitlines())


def check_holes(film, lives):
    """What is not known is little, and the film counts it: at times a goroutine's first records are missing."""
    lost = film.json("-e", "go-lanes")["loss"]
    whole = sum(life["life"] for life in lives.of.values())
    is_counted = any(reason.startswith("time of a goroutine not known") for reason in lost)
    # each goroutine is looked at in its turn as a film ends: what follows, up to the last of them, is no record that was lost
    assert is_counted if lives.holes() > 0.001 * whole else lives.holes() or not is_counted, (lost, lives.holes(), whole)
    assert lives.holes() < 0.02 * whole, (lost, lives.holes(), whole)
    assert all("stack" in reason or "goroutine" in reason for reason in lost), lost


def test_holes_are_counted_and_sums_are_exact(made):
    film, lives, _ = made
    check_holes(film, lives)
    for number, life in lives.of.items():
        assert sum(state["total"] for state in life["states"]) == life["life"], number


def test_waits_are_as_long_as_goroutines_say(made):
    _, lives, told = made
    for kind, state in (("sleeps", "sleep"), ("receives", "channel")):
        (number, ns), = told[kind].items()
        off = lives.ns(number, state) + lives.ready(number)
        # it measures from before it waits to when it runs again
        assert off >= 0.95 * ns and lives.ns(number, state) <= ns + NEAR and lives.count(number, state) >= 1, (kind, lives.of[number], ns)
        assert lives.ns(number, state) >= 0.9 * SPAN, (kind, lives.of[number])


def test_what_spins_runs_or_could_run(made):
    _, lives, told = made
    for number, ns in told["spins"].items():
        busy = lives.ns(number, "running") + lives.ready(number)
        # it measures from when it runs first
        assert busy >= 0.95 * ns and lives.ns(number, "running"), (lives.of[number], ns)
        assert not lives.ns(number, "sleep", "channel", "network"), lives.of[number]


def test_one_in_a_system_call_has_its_thread(made):
    """Which waits: that is in the thread's own lane."""
    _, lives, told = made
    (number, ns), = told["calls"].items()
    assert lives.ns(number, "running") >= 0.9 * SPAN, (lives.of[number], ns)


def test_those_that_live_for_a_microsecond_are_there(made):
    _, lives, told = made
    (_, count), = told["many"].items()
    brief = [number for number, life in lives.of.items()
             if {state["state"] for state in life["states"]} <= {"woken", "running"}]
    assert len(brief) >= count, (len(brief), count)
    for number in brief:
        assert lives.count(number, "running") == 1, lives.of[number]


def test_slices_have_their_reason_their_stack_and_who_made_them_ready(made, places):
    film, _, told = made
    (receiver,), (sender,) = told["receives"], told["sends"]
    played = Played(places[0], film.path)
    try:
        answer = played.of_timeline("lanes", event="go-lanes", shown=200, pixel=1_000_000)
        lanes = {(lane["goroutine"], lane["tid"]): lane for lane in answer["lanes"]}
        assert (True, receiver) in lanes and not any(lane["ns"][0] for lane in lanes.values())
        lane = lanes[True, receiver]
        assert lane["comm"] == f"goroutine {receiver}"
        found = played.of_timeline("slices", **{"event": "go-lanes", "from": wall(answer["base"], 0),
                                        "to": wall(answer["base"], answer["length"]), "pixel": 1_000_000,
                                        "lanes": f"{lane['pid']}.g{receiver}"})
        (drawn,) = found["lanes"]
        assert drawn["goroutine"] and drawn["runs"]
        start, end = longest(drawn["runs"], found["classes"].index("channel"))
        slice_ = played.of_timeline("slice", event="go-lanes", lane_pid=lane["pid"], lane_tid=receiver, lane_goroutine=1,
                            at=wall(found["base"], (start + end) // 2))["slice"]
    finally:
        played.end()
    assert (slice_["name"], slice_["call"], slice_["state"]) == ("channel", "chan-receive", "G"), slice_
    assert slice_["waker"]["tid"] == sender and slice_["waker"]["comm"] == f"goroutine {sender}", slice_
    assert slice_["on"]["pid"] == lane["pid"] and slice_["on"]["tid"] >= lane["pid"], slice_
    names = [frame["name"] for frame in slice_["stack"]]
    assert "main.receives" in names and "runtime.goexit" in names, names


def wall(base, ns):
    at = int(base) + ns
    return f"{at // 10**9}.{at % 10**9:09}"


def longest(runs, kind):
    """Of numbers as the API has them, where the longest run of a class begins and ends."""
    at, found = 0, (0, 0)
    for gap, length, of, *_ in zip(*[iter(runs)] * 5):
        at += gap
        if of == kind and length > found[1] - found[0]:
            found = (at, at + length)
        at += length
    return found


def test_a_program_that_runs_already(lab):
    """What waits before, during and after the recording has one slice, and what ran since before has no hole."""
    with Staying(lab, "lanes_go-stripped", MS) as target, lab.recording("-e", "go-lanes", "-p", target.pid) as (recorder, film):
        assert wait_until(lambda: probes_are_set(recorder) and film.has_samples(1))
        told = told_by(target.go_on())
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0
    lives = Lives(film)
    check_holes(film, lives)
    for kind, state in (("sleeps", "sleep"), ("receives", "channel")):
        (number, _), = told[kind].items()
        # its thread may wait for a CPU before it has gone to sleep
        assert lives.ns(number, state, "running") >= 0.9 * SPAN and lives.ns(number, state), lives.of[number]
    # main has waited for a byte, in a system call, and goes on to; another one has waited for ever
    assert lives.ns(1, "running") > 0
    waiting = [number for number, life in lives.of.items()
               if [state["state"] for state in life["states"]] == ["channel"]]
    assert len(waiting) == 1, waiting
    whole = max(life["life"] for life in lives.of.values())
    assert lives.of[waiting[0]]["life"] >= 0.99 * whole, (lives.of[waiting[0]], whole)


def test_a_program_that_is_killed(lab):
    """Its goroutines end with it, in whatever they were."""
    with Staying(lab, "lanes_go-stripped", MS) as target, lab.recording("-e", "go-lanes", "-p", target.pid) as (recorder, film):
        assert wait_until(lambda: probes_are_set(recorder) and film.has_samples(1))
        target.go_on()
        target.process.kill()
        assert recorder.wait(timeout=PATIENCE) == 0
    lives = Lives(film)
    assert {"running"} in [{state["state"] for state in life["states"]} - {"sync", "woken", "preempted", "channel"}
                           for life in lives.of.values()]
    check_holes(film, lives)


def test_threads_beside_them_are_as_without(lab):
    film = lab.record("-e", "threads,go-lanes", "--", lab.program("lanes_go-stripped"), MS)
    threads = json.loads(film.report("--format", "states-json").stdout)
    assert not {state["state"] for state in threads["all"]["states"]} & {"running", "sync", "channel"}
    lives = Lives(film)
    assert not {state["state"] for state in lives.answer["all"]["states"]} & {"on-cpu", "poll"}
