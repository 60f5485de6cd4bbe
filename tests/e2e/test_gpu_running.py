# SPDX-License-Identifier: Apache-2.0
"""
on-gpu of processes that run already: the library is put into them, starts with their next call of the driver, and is taken out of
use again, while all their threads launch. tests/programs/cuda_running.c knows what it has launched, and what its words were;
what stands for the profiling library knows what it has made records of.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from harness import needs_root, running, wait_for_line, wait_until

pytestmark = needs_root

PROCESSES, ROUNDS = (8, 25) if os.environ.get("STACKCAM_EVERY_VERSION") else (2, 3)
THREADS = 4
NS_OF_TURN = 20000 + 27000 + 3 * 409
QUIET = 3  # s: the library hands over what it has once a second


class State(NamedTuple):
    ran: int  # ns of kernels and copies
    expected: int  # the same by the calls that were made
    recorded: int  # what of it the profiling library has made records of
    failed: int  # calls
    other_words: int


class Target:
    def __init__(self, process, pid):
        self.process, self.pid = process, pid

    def ask(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode()

    def state(self):
        return State(*map(int, self.ask("state").split()))

    def maps(self, name):
        return sum(name in line for line in Path(f"/proc/{self.pid}/maps").read_text(encoding="utf-8").splitlines())


@contextlib.contextmanager
def launching(lab, program=None, runs=True, threads=THREADS, **environment):
    """The program; in the end it has the results that it would have had without stackcam, and its words."""
    with running(program or lab.program("cuda_running"), threads, stdin=subprocess.PIPE, preexec_fn=lambda: os.nice(10),
                 env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment}) as process:
        target = Target(process.process, process.pid)
        if runs:
            target.ask("run")
        yield target
        if target.process.poll() is not None:
            return
        target.ask("rest")
        state = target.state()
        assert state.ran == state.expected and not state.failed and not state.other_words, state
        target.process.stdin.close()
        assert process.wait() == 0


def more_is_recorded(target, than):
    return wait_until(lambda: target.state().recorded > than + 100 * NS_OF_TURN)


@contextlib.contextmanager
def filmed(lab, targets, *options):
    """A recording of a process, or several, that has begun; it is ended with the block."""
    pids = ",".join(str(target.pid) for target in (targets if isinstance(targets, list) else [targets]))
    with lab.recording("-q", "-e", "on-gpu", *options, "-p", pids) as (recorder, film):
        assert wait_until(lambda: film.begun() or recorder.poll() is not None)
        yield recorder, film
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=60) in (0, -signal.SIGKILL), recorder.stderr.read()


def total(film):
    return sum(value for _, value in film.folded("-e", "on-gpu"))


def losses(film, words):
    return [reason for reason in film.json("-e", "on-gpu")["loss"] if words in reason]


def test_a_running_program(lab):
    """All that the profiling library has made records of, and no more; with the stacks of a sample of the launches."""
    with launching(lab) as target:
        before = target.state()
        assert not before.recorded and wait_until(lambda: target.state().ran > before.ran)
        with filmed(lab, target) as (_, film):
            assert more_is_recorded(target, 0)
        after = target.state()
        assert not after.other_words
        assert total(film) == after.recorded, film.report("-e", "on-gpu").stdout
        stacks = film.folded("-e", "on-gpu")
        assert {stack[-1] for stack, _ in stacks} == {
            "saxpy", "reduce", "[copy pageable host memory to device]", "[copy to another device]", "[set memory]"}
        assert [stack for stack, _ in stacks if "turn" in stack and "cuGraphLaunch" in stack and stack[-1] == "reduce"]
        # the library is there, and records nothing
        assert wait_until(lambda: target.state().ran > after.ran + 100 * NS_OF_TURN)
        assert target.state().recorded == after.recorded


def test_the_program_ends(lab):
    """While it is filmed: what is left is reported as it ends."""
    with launching(lab) as target, filmed(lab, target) as (recorder, film):
        assert more_is_recorded(target, 0)
        target.ask("rest")
        recorded = target.state().recorded
        target.process.stdin.close()
        assert target.process.wait(timeout=60) == 0 and recorder.wait(timeout=60) == 0
        assert total(film) == recorded


def test_in_and_out_under_load(lab):
    """
    Results are as without, words as before, and the library is mapped once. STACKCAM_EVERY_VERSION=1: 200 times. Each
    recording does that to all of the processes: most of its time is that of its own start.
    """
    filmed_ns = 0
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(launching(lab, threads=THREADS // 2)) for _ in range(PROCESSES)]
        mapped = [0] * PROCESSES
        for _ in range(ROUNDS):
            before = [target.state().recorded for target in targets]
            with filmed(lab, targets) as (_, film):
                assert all(more_is_recorded(*each) for each in zip(targets, before))
            states = [target.state() for target in targets]
            assert not any(state.other_words or state.failed for state in states), states
            filmed_ns += total(film)
            assert filmed_ns == sum(state.recorded for state in states), film.report("-e", "on-gpu").stdout
            mapped = [before or target.maps("libstackcam-gpu.so") for target, before in zip(targets, mapped)]
            assert [target.maps("libstackcam-gpu.so") for target in targets] == mapped and all(mapped)
            film.path.unlink()


def test_an_idle_process_is_left_alone(lab):
    with launching(lab, runs=False) as target:
        with filmed(lab, target) as (_, film):
            assert wait_until(lambda: target.state().other_words > 0)
            # a child has the words, too; its call is none of the process's
            target.ask("fork")
            assert target.state().other_words and not target.maps("libcupti")
        state = target.state()
        assert not state.other_words and not state.recorded and not target.maps("libcupti")
        assert not total(film) and not film.json("-e", "on-gpu")["loss"]
        # the next recording finds it, and what it does then
        with filmed(lab, target) as (_, film):
            target.ask("run")
            assert more_is_recorded(target, 0)
        target.ask("rest")
        assert total(film) == target.state().recorded


def test_the_recorder_is_killed(lab):
    """Before the process calls the driver, and while it is recorded: the next recording takes over."""
    with launching(lab, runs=False) as target:
        with filmed(lab, target) as (recorder, _):
            assert wait_until(lambda: target.state().other_words > 0)
            recorder.kill()
        with filmed(lab, target) as (recorder, film):
            assert wait_until(lambda: target.state().other_words > 0)
            target.ask("run")
            assert more_is_recorded(target, 0)
            assert not target.state().other_words
            recorder.kill()
        # it ends by itself, as no recorder is heard of
        def is_quiet():
            before, end = target.state(), time.monotonic() + QUIET
            assert wait_until(lambda: time.monotonic() > end and target.state().ran > before.ran)
            return target.state().recorded == before.recorded
        assert wait_until(is_quiet)
        lost = target.state().recorded
        with filmed(lab, target) as (_, film):
            assert more_is_recorded(target, lost)
        assert total(film) == target.state().recorded - lost


def test_the_recorder_is_killed_and_the_next_one_comes_at_once(lab):
    with launching(lab) as target:
        with filmed(lab, target) as (recorder, film):
            assert more_is_recorded(target, 0)
            recorder.kill()
        with filmed(lab, target) as (_, film):
            # the library's first end, and its second start
            assert wait_until(lambda: film.has_samples(10))
        assert 0 < total(film) < target.state().recorded


def assert_not_filmed(lab, target, why):
    with filmed(lab, target) as (recorder, film):
        assert wait_until(lambda: film.report("-e", "on-gpu", check=False).returncode == 0 and losses(film, why))
        assert not target.state().other_words and recorder.poll() is None
    assert losses(film, why) and not total(film)


def test_only_one_recorder(lab):
    with launching(lab) as target, filmed(lab, target) as (_, film):
        assert more_is_recorded(target, 0)
        with filmed(lab, target) as (_, second):
            assert film.begun()
        assert losses(second, "another stackcam"), second.json("-e", "on-gpu")["loss"]


@pytest.mark.parametrize("why, environment", [
    ("another tool has the profiling library", {"PROFILER_TAKEN": "1"}), ("or it refuses", {"PROFILER_REFUSES": "1"})])
def test_the_profiling_library_refuses(lab, why, environment):
    with launching(lab, **environment) as target:
        assert_not_filmed(lab, target, why)


def test_no_profiling_library(lab, tmp_path):
    """Where the machine has a real one, that refuses, as there is no device."""
    for name in ("cuda_running", "libcuda.so.1"):
        shutil.copy2(lab.programs / name, tmp_path)
    with launching(lab, program=tmp_path / "cuda_running", LD_LIBRARY_PATH="") as target:
        assert_not_filmed(lab, target, "kernels of a process not seen")


def ways_of(lab, target):
    return [way for way in json.loads(lab.run("doctor", "--json", "-p", target.pid).stdout)["ways"] if way["event"] == "on-gpu,gpu-lanes"]


def test_the_doctor_knows(lab):
    """Before a process is recorded, and after that; of one without a driver there is nothing to say."""
    with launching(lab, runs=False) as target:
        way, = ways_of(lab, target)
        assert way["works"] and "loads libcupti.so" in way["words"]
        target.ask("run")
        with filmed(lab, target):
            assert more_is_recorded(target, 0)
        way, = ways_of(lab, target)
        assert way["works"] and "asks its libcupti.so" in way["words"], way
    with running("sh", "-c", "echo ready; read line", stdin=subprocess.PIPE) as program:
        assert not ways_of(lab, program)


def test_no_driver(lab):
    with running("sh", "-c", "echo ready; read line", stdin=subprocess.PIPE) as program:
        with filmed(lab, program) as (_, film):
            pass
        assert losses(film, "no driver library"), film.report("-e", "on-gpu").stdout
