# SPDX-License-Identifier: Apache-2.0
"""What every virtual thread of Java did, every moment: against what virtual threads measured themselves."""

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import PATIENCE, needs_root, wait_for_line, wait_until
from test_locks import JAVAS, PROGRAMS
from test_go_lanes import wall
from test_task_lanes import longest_wait
from test_threads_camera import not_linked
from test_timeline import Played

pytestmark = needs_root

JAVA = JAVAS["25"]
MS = 60
SPAN = MS * 1_000_000
COUNTS = {"sleeps": 50, "parks": 20, "unparks": 20, "burns": 4, "holds": 1, "enters": 1, "waits": 1, "yields": 10}


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    if not JAVA:
        pytest.skip("there is no JDK 25")
    folder = tmp_path_factory.mktemp("virtual")
    subprocess.run([JAVA.with_name("javac"), "-d", folder, *(PROGRAMS / f"{name}.java" for name in
                   ("VirtualLanes", "Virtual", "VirtualServer"))], check=True, timeout=PATIENCE)
    return folder


@pytest.fixture(scope="module")
def breakpoints(places):
    """What doctor says of the CPU's breakpoints."""
    doctor = subprocess.run([places[0], "doctor", "--json"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    return next(feature for feature in json.loads(doctor.stdout)["features"] if feature["name"] == "breakpoints")


@pytest.fixture(scope="module")
def hit_breakpoints(breakpoints):
    if breakpoints["state"] != "ok":
        pytest.skip(breakpoints["why"])


class Lives:
    """Of a film: each virtual thread's states."""

    def __init__(self, film):
        answer = json.loads(film.report("-e", "vthread-lanes", "--format", "states-json").stdout)
        self.of = {thread["tid"]: thread for thread in answer["threads"]}

    def ns(self, number, *states):
        return sum(state["total"] for state in self.of[number]["states"] if state["state"] in states)

    def count(self, number, *states):
        return sum(state["count"] for state in self.of[number]["states"] if state["state"] in states)

    def waits(self, number):
        return self.of[number]["life"] - self.ns(number, "running", "preempted", "woken", "hole")


def told_by(text):
    """By number: what a virtual thread is called, and for how long it did that, ns."""
    return {int(number): (kind, int(ns)) for kind, number, ns in (line.split() for line in text.splitlines())}


@pytest.fixture(scope="module", params=["G1", "Serial", "Z"])
def made(request, shared_lab, classes, hit_breakpoints):
    """With a collector that moves objects while threads run, they are known by number alone."""
    film = shared_lab.record("-e", "vthread-lanes", "--", JAVA, f"-XX:+Use{request.param}GC", "-Xmx256m",
                             "-cp", classes, "VirtualLanes", MS)
    return film, Lives(film), told_by(film.recording.stdout), request.param != "Z"


def numbers_of(told, kind):
    return [number for number in told if told[number][0] == kind]


def test_each_has_a_lane_with_its_name(made):
    film, lives, told, has_names = made
    lost = film.json("-e", "vthread-lanes")["loss"]
    assert all("stack" in reason or "frame" in reason for reason in lost), lost
    for kind, count in COUNTS.items():
        numbers = numbers_of(told, kind)
        assert len(numbers) == count
        for number in numbers:
            assert lives.of[number]["comm"] == (kind if has_names else f"virtual thread {number}")
    for number, life in lives.of.items():
        assert sum(state["total"] for state in life["states"]) == life["life"], number
        assert not lives.ns(number, "hole"), (number, life)


def test_lives_are_as_long_as_virtual_threads_say(made):
    _, lives, told, _ = made
    for number, (kind, ns) in told.items():
        if kind != "many":
            # it measures from after it began to before it ends, and prints behind that
            assert lives.of[number]["life"] >= 0.98 * ns, (kind, lives.of[number], ns)


def test_those_that_live_for_a_microsecond_are_there(made):
    _, lives, told, _ = made
    brief = [number for number, life in lives.of.items()
             if number not in told and {state["state"] for state in life["states"]} == {"running"}]
    assert len(brief) >= told[0][1] == 100, len(brief)


@pytest.mark.parametrize("kind,state,of_any", [("sleeps", "timed-park", False), ("parks", "park", False),
                                               ("unparks", "timed-park", False), ("holds", "timed-park", False),
                                               ("enters", "lock", True), ("waits", "sync", True)])
def test_waits_are_as_long_as_virtual_threads_say(made, kind, state, of_any):
    _, lives, told, has_names = made
    for number in numbers_of(told, kind):
        ns, life = told[number][1], lives.of[number]
        assert lives.waits(number) >= 0.98 * SPAN, (life, ns)
        if of_any or has_names:
            waits = [one for one in life["states"] if one["state"] == state or f"({state})" in one["state"]]
            assert waits and max(one["longest"] for one in waits) >= 0.98 * SPAN, life
            # each one's other waits, for the monitor of what it prints, are behind what it measures
            assert state == "lock" or sum(one["total"] for one in waits) <= ns, (life, ns)


def test_what_burns_runs_and_what_yields_could_run(made):
    _, lives, told, has_names = made
    for number in numbers_of(told, "burns"):
        assert lives.ns(number, "running") >= 0.98 * SPAN / 4, lives.of[number]
    for number in numbers_of(told, "yields"):
        # one of which the reason is not read seems to wait
        assert 1 <= lives.count(number, "preempted") <= 10 or not has_names, lives.of[number]


@pytest.mark.usefixtures("hit_breakpoints")
def test_who_leaves_a_monitor_makes_the_next_one_ready(lab, classes, places):
    film = lab.record("-e", "threads,vthread-lanes", "--", JAVA, "-cp", classes, "VirtualLanes", MS)
    told = told_by(film.recording.stdout)
    (holds,), (enters,) = (numbers_of(told, kind) for kind in ("holds", "enters"))
    pid = Lives(film).of[enters]["pid"]
    played = Played(places[0], film.path)
    try:
        lanes = played.of_timeline("lanes", event="threads", shown=1, pixel=1_000_000)
        found = played.of_timeline("slices", **{"event": "threads", "from": wall(lanes["base"], 0),
                                        "to": wall(lanes["base"], lanes["length"]), "pixel": 1_000_000,
                                        "lanes": f"{pid}.g{enters}"})
        start, end = longest_wait(found["lanes"][0]["runs"], found["classes"].index("lock"))
        told = played.of_timeline("slice", event="threads", lane_pid=pid, lane_tid=enters, lane_goroutine=1,
                          at=wall(found["base"], (start + end) // 2))["slice"]
    finally:
        played.end()
    assert end - start >= 0.98 * SPAN, (start, end)
    assert (told["waker"]["comm"], told["waker"]["tid"], told["waker_goroutine"]) == ("holds", holds, 1), told
    # from then on it is ready
    assert Lives(film).count(enters, "woken") >= 1, Lives(film).of[enters]


def test_stacks_of_waits(made):
    film, _, _, _ = made
    folded = film.report("-e", "vthread-lanes", "--format", "folded").stdout
    sleeping = [line for line in folded.splitlines() if "java.lang.Thread.sleep;" in line and "VirtualLanes" in line]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in sleeping) >= 50 * 0.9 * SPAN, folded[:2000]


@pytest.mark.usefixtures("hit_breakpoints")
def test_one_that_runs_already_and_its_threads_are_linked(lab, classes, places):
    with subprocess.Popen([JAVA, "-cp", classes, "Virtual"], stdout=subprocess.PIPE) as target:
        try:
            wait_for_line(target, "ready")
            film = lab.record("-e", "threads", "-d", 1, "-p", target.pid)
            assert ["virtual threads of Java"] in not_linked(lab, film).values()
            assert "'record -e threads,vthread-lanes' records it" in lab.run("report", film.path).stdout
            film = lab.record("-e", "threads,vthread-lanes", "-d", 1, "-p", target.pid)
        finally:
            target.send_signal(signal.SIGKILL)
    assert set(map(tuple, not_linked(lab, film).values())) == {()}
    lives = Lives(film)
    names = Counter(life["comm"] for life in lives.of.values())
    assert names == {f"virtual-{i}": 1 for i in range(4)}, names
    for number in lives.of:
        # they sleep for a millisecond at a time, and work in between
        assert lives.count(number, "running") >= 10 and lives.waits(number) > 0, lives.of[number]
    played = Played(places[0], film.path)
    try:
        lanes = played.of_timeline("lanes", event="threads", shown=200, pixel=1_000_000)["lanes"]
    finally:
        played.end()
    assert {lane["comm"] for lane in lanes if lane["kind"] == "virtual thread"} == set(names), lanes


def ask(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/slow", timeout=PATIENCE) as answer:
        return answer.read()


@pytest.mark.usefixtures("hit_breakpoints")
def test_a_request_is_explained_by_its_virtual_thread(lab, classes):
    with subprocess.Popen([JAVA, "-cp", classes, "VirtualServer"], stdout=subprocess.PIPE) as target:
        try:
            port = int(target.stdout.readline())
            # the first one has code made that runs virtual threads
            assert ask(port) == b"ok"
            with lab.recording("-e", "requests,threads,on-cpu,vthread-lanes", "-p", target.pid) as (recorder, film):
                wait_until(film.begun)
                # breakpoints are set a moment after probes
                assert wait_until(lambda: ask(port) and
                                 "timed-park" in film.report("-e", "vthread-lanes", "--format", "states", check=False).stdout)
                with ThreadPoolExecutor(4) as pool:
                    assert set(pool.map(ask, [port] * 4)) == {b"ok"}
                recorder.send_signal(signal.SIGINT)
                assert recorder.wait(timeout=PATIENCE) == 0
        finally:
            target.send_signal(signal.SIGKILL)
    words = lab.run("explain", film.path).stdout
    assert " in virtual thread " in words.strip().splitlines()[0] and "Not linked" not in words, words
    assert "waiting for a mutex in VirtualServer.work" in words, words
    assert "parked for a time at most in VirtualServer.work" in words, words


def test_a_jvm_without_symbols_is_named(lab, classes, tmp_path):
    if not shutil.which("strip"):
        pytest.skip("there is no strip")
    home = JAVA.parents[1]
    shutil.copytree(home, tmp_path / "jdk", copy_function=os.symlink)
    # what the launcher finds itself, and its JVM, by
    for name in ("bin/java", "lib/libjli.so", "lib/server/libjvm.so"):
        (tmp_path / "jdk" / name).unlink()
        shutil.copy(home / name, tmp_path / "jdk" / name)
    subprocess.run(["strip", tmp_path / "jdk/lib/server/libjvm.so"], check=True, timeout=PATIENCE)
    film = lab.record("-e", "vthread-lanes", "--", tmp_path / "jdk/bin/java", "-cp", classes, "VirtualLanes", MS)
    assert "many 0 100" in film.recording.stdout
    said = film.report("-e", "vthread-lanes", check=False)
    assert "virtual threads of a JVM not followed: libjvm.so has no symbols of its functions" in said.stdout + said.stderr, said


def test_breakpoints_that_are_never_hit_are_said(lab, classes, breakpoints):
    """Without them the first and the last turn of each virtual thread would be missing without a word."""
    if breakpoints["state"] == "ok":
        pytest.skip("this machine's breakpoints are hit")
    film = lab.record("-e", "vthread-lanes", "--", JAVA, "-cp", classes, "VirtualLanes", MS)
    said = film.report("-e", "vthread-lanes", check=False)
    assert f"virtual threads of a JVM not followed: {breakpoints['why']}" in said.stdout + said.stderr, said


def test_a_jvm_without_virtual_threads_loses_nothing(lab):
    if not JAVAS["17"]:
        pytest.skip("there is no JDK 17")
    film = lab.record("-e", "vthread-lanes", "--", JAVAS["17"], "-version")
    assert film.recording.returncode == 0 and "lost" not in film.recording.stderr.replace("nothing lost", "")
