# SPDX-License-Identifier: Apache-2.0
"""Why threads do not run: waits against what the programs measured themselves."""

import datetime
import os
import signal
import subprocess
import sys
import time

import pytest

from harness import PATIENCE, Stack, needs_root, running, wait_for_line, wait_until
from test_threads_camera import states_of

pytestmark = needs_root

WAITING = ("off-cpu", "run-queue", "idle")
FUNCTIONS = ("wait_for_time", "wait_for_mutex", "wait_for_pipe", "wait_for_condition", "wait_for_disk", "long_wait")

# Entering and leaving what waits takes its time too; so does a page fault of the clock.
NEAR = 0.03


# At most that many ns are between the beginning of a wake-up and the moment when the thread is in a run queue.
WAKING = 10000

# On top of the one stack that stands for many waits, which may have been elsewhere.
SUMMED = "[waits summed up"


def time_in(film, function, events=WAITING, *options, sampled=True):
    """All waiting below a function, ns; without the waits that one stack stands for, if `sampled` is false."""
    return sum(value for event in events if has_event(film, event, *options)
               for stack, value in film.folded("-e", event, *options)
               if function in stack and (sampled or not any(frame.startswith(SUMMED) for frame in stack)))


def has_event(film, event, *options):
    done = film.report("-e", event, "--format", "json", *options, check=False)
    return done.returncode == 0


def parse_time(text):
    """Seconds of a time in a report."""
    return datetime.datetime.fromisoformat(text[:26] + "+00:00").timestamp()


def total(film, event, *options):
    done = film.report("-e", event, "--format", "folded", *options, check=False)
    return sum(int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()) if done.returncode == 0 else 0


class Truth:
    """What a thread of waits.c says of itself."""

    def __init__(self, line):
        tid, self.name, *numbers = line.split()
        self.tid = int(tid)
        self.in_function, self.life, self.on_cpu, self.ready, self.waits = map(int, numbers)


@pytest.fixture(scope="module")
def waits(shared_lab):
    film = shared_lab.record("-e", "off-cpu,threads", "--", shared_lab.program("waits"), 3)
    lines = film.recording.stdout.splitlines()
    truths = {truth.name: truth for truth in map(Truth, (line for line in lines if line.count(" ") == 6))}
    return film, truths, next(int(line.split()[1]) for line in lines if line.startswith("stolen "))


def test_what_a_descriptor_is_of_tells_waits_apart(waits):
    film, truths, _ = waits
    tid = str(truths["wait_for_pipe"].tid)
    all_of_it = time_in(film, "wait_for_pipe", ("off-cpu",), "-t", tid)
    assert all_of_it and time_in(film, "wait_for_pipe", ("off-cpu",), "-t", tid, "--wait", "ipc") == all_of_it


def test_idle_waits_are_shown_with_the_others_if_wanted(lab):
    with running(lab.program("dump"), 100) as target:
        film = lab.record("-e", "off-cpu", "-d", "1", "-p", target.pid)
    assert film.share(lambda stack: "wait_for_event" in stack, "-e", "idle") == 1
    both = total(film, "off-cpu", "--idle")
    assert both == total(film, "off-cpu") + total(film, "idle") > total(film, "off-cpu") > 0
    assert film.json("-e", "off-cpu", "--idle", "--wait", "poll")["event"]["total"] == total(film, "idle")
    refused = film.report("-e", "run-queue", "--idle", check=False)
    assert refused.returncode == 1 and "--idle adds to off-cpu" in refused.stderr


@pytest.mark.parametrize("function", FUNCTIONS)
def test_waits_are_as_long_as_the_program_says(waits, function):
    film, truths, _ = waits
    truth = truths[function]
    seen = time_in(film, function, WAITING, "-t", str(truth.tid), sampled=False)
    measured = time_in(film, function, WAITING, "-t", str(truth.tid))
    # what it did itself in that function is on a CPU
    assert seen <= truth.in_function * 1.001, (seen, truth.in_function, film.explain())
    assert measured >= truth.in_function - truth.on_cpu - NEAR * truth.life, film.explain()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_parts_of_a_life_add_up(shared_lab, waits, function):
    """On-CPU (the thread's own clock) + run-queue + off-CPU is the time that the thread lived, within half a percent."""
    film, truths, stolen = waits
    truth = truths[function]
    off = {event: of_life(film, event, truth.tid) for event in WAITING}
    parts = truth.on_cpu + sum(off.values())
    # What interrupts and the host take, the kernel counts as nobody's. And it counts a thread as running since the
    # scheduler looked at its clock, films since the switch: what the host takes in between, the kernel has as on-CPU, and
    # the film as run-queue. So it is in the sum twice; what the film says itself adds up (test_waits_and_slices_add_up).
    _, states = slices_of(shared_lab, film, truth.tid)
    early = max(0, truth.on_cpu - states["on-cpu"]["total"])
    assert 0.995 * truth.life - stolen <= parts <= 1.005 * truth.life + stolen + early, (parts, truth.life, stolen, early)
    # A thread is ready from when another one begins to wake it up, which is what films say. The kernel counts from when
    # it stands in the run queue: 4 us later where an idle CPU has to be told (measured with sched_waking and sched_wakeup).
    woken = WAKING * truth.waits
    ready = truth.ready + woken / 2
    near = max(0.05 * ready, 5e6 + stolen + woken / 2)
    assert ready - near <= off["run-queue"] <= ready + near + early, (off["run-queue"], ready, near, early)


def slices_of(lab, film, tid):
    """How long a film follows a thread, and how long that was in each state; ns."""
    thread, = [one for one in states_of(lab, film)["threads"] if one["tid"] == tid]
    return thread["life"], {state["state"]: state for state in thread["states"]}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_waits_and_slices_add_up(shared_lab, waits, function):
    """In one film: the waits of a thread, and what it ran, are its lifetime. No other clock is asked."""
    film, truths, _ = waits
    tid = truths[function].tid
    lifetime, states = slices_of(shared_lab, film, tid)
    parts = states["on-cpu"]["total"] + sum(total(film, event, "-t", str(tid)) for event in WAITING)
    # One that is preempted behind its end is in no list of tasks any more: only its slices have that.
    behind = states["preempted"]["longest"] if "preempted" in states else 0
    assert 0.995 * lifetime - behind <= parts <= 1.001 * lifetime, (parts, lifetime, behind, film.explain())


def of_life(film, event, tid):
    """The thread's time in an event, without what it did before and after it looked at itself."""
    done = film.report("-e", event, "--format", "folded", "-t", str(tid), check=False)
    stacks = [line.rpartition(" ") for line in done.stdout.splitlines()]
    return sum(int(value) for stack, _, value in stacks
               if "live" in stack.split(";") or stack.startswith(SUMMED))


def test_stacks_are_whole_and_have_the_kernel_on_top(waits):
    film, _, _ = waits
    assert film.complete("-e", "off-cpu") >= 0.99, film.explain()
    stacks = [stack for stack, _ in film.folded("-e", "off-cpu")]
    assert any(stack.has("wait_for_pipe", "read") and stack[-1] == "anon_pipe_read" or "pipe_read" in stack[-1]
               for stack in stacks), film.explain()
    assert not any(frame in ("schedule", "__schedule") for stack in stacks for frame in stack), film.explain()


def test_short_waits_are_summed_up_and_marked(shared_lab):
    """A storm of switches: hardly a wait is as long as 50 us, and yet their time is there."""
    film = shared_lab.record("-e", "off-cpu", "--", shared_lab.program("waits"), 2, "storm")
    stacks = film.folded("-e", "off-cpu")
    marked = sum(value for stack, value in stacks if SUMMED in stack[-1])
    assert marked > 0, film.explain()
    samples = film.json("-e", "off-cpu")["stacks"]["samples"]
    handed = int(film.recording.stdout.split("handed ")[1].split()[0])
    assert handed > 1000
    assert samples < handed, "a stack for each wait"


def test_few_stacks_and_all_of_the_time(shared_lab):
    """Where a CPU has no stack left for a wait, it is summed up: at most so many stacks, and no time is lost."""
    rate, seconds = 10, 2
    film = shared_lab.record("--wait-stacks", rate, "-e", "off-cpu", "--", shared_lab.program("waits"), seconds)
    lines = film.recording.stdout.splitlines()
    truths = [Truth(line) for line in lines if line.count(" ") == 6]
    stolen = next(int(line.split()[1]) for line in lines if line.startswith("stolen "))
    own = [stack for event in WAITING if has_event(film, event) for stack, _ in film.folded("-e", event)
           if not any(frame.startswith(SUMMED) for frame in stack)]
    assert own, film.explain()
    report = film.json("-e", "off-cpu")
    span = parse_time(report["span"]["to"]) - parse_time(report["span"]["from"])
    # besides there is what is left of each thread in the end, twice at most: what waits, and what was summed up
    most = rate * os.cpu_count() * (span + 1) + 4 * (len(truths) + 1)
    assert sum(film.json("-e", event)["stacks"]["samples"] for event in WAITING if has_event(film, event)) <= 2 * most
    for truth in truths:
        parts = truth.on_cpu + sum(total(film, event, "-t", str(truth.tid)) for event in WAITING)
        assert parts >= 0.98 * truth.life - stolen, (truth.name, parts, truth.life, film.explain())


def test_a_wait_that_began_before_and_lasts_is_there(lab):
    """A thread that sleeps all the time that is filmed: from the first second to the last, with its whole stack."""
    with running(lab.program("waits"), 20) as program:
        film = lab.record("-e", "off-cpu", "-d", 2, "-p", program.pid)
    long = [(stack, value) for stack, value in film.folded("-e", "off-cpu") if "long_wait" in stack]
    assert sum(value for _, value in long) >= 1.9e9, film.explain()
    assert all(stack.has("long_wait", "read") and "start_thread" in stack for stack, _ in long), long


def test_python_that_waits_has_its_functions(lab, tmp_path):
    script = tmp_path / "waits.py"
    script.write_text("import threading, sys\n"
                      "lock = threading.Lock()\n"
                      "def holds():\n  with lock:\n    sys.stdin.read()\n"
                      "def wants():\n  with lock: pass\n"
                      "a = threading.Thread(target=holds); a.start()\n"
                      "while not lock.locked(): pass\n"
                      "b = threading.Thread(target=wants); b.start()\n"
                      "print('ready', flush=True)\na.join(); b.join()\n")
    with subprocess.Popen(["/usr/bin/python3", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        try:
            wait_for_line(program)
            film = lab.record("-e", "off-cpu", "-d", 1, "-p", program.pid)
        finally:
            program.stdin.close()
            program.wait(timeout=PATIENCE)
    for function in ("holds", "wants"):
        assert time_in(film, function, ("off-cpu",)) >= 0.9e9, film.explain()


def test_stopped_is_not_waiting(lab):
    with running(lab.program("waits"), 20) as program:
        with lab.recording("-e", "off-cpu", "-p", program.pid) as (recorder, film):
            assert wait_until(film.begun)
            os.kill(program.pid, signal.SIGSTOP)
            wait_until(lambda: state_of(program.pid) == "T")
            time.sleep(1)
            os.kill(program.pid, signal.SIGCONT)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    assert total(film, "idle") >= 0.8e9, film.explain()


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def test_a_process_that_dies_while_it_waits(lab):
    with running(lab.program("waits"), 60) as program:
        with lab.recording("-e", "off-cpu", "-p", program.pid) as (recorder, film):
            assert wait_until(film.begun)
            time.sleep(1)
            program.process.kill()
            assert recorder.wait(timeout=PATIENCE) == 0
    assert time_in(film, "wait_for_time") > 0, film.explain()


def test_min_wait_takes_a_time(lab):
    done = lab.run("record", "--min-wait", "soon", "-e", "off-cpu", "--", "true")
    assert done.returncode == 2
    assert "--min-wait takes a time" in done.stderr


def test_short_waits_of_what_is_not_meant_are_left_out(lab):
    """It takes a moment to decide that a process is not meant: what it waited until then is not in the film either."""
    with running(lab.program("waits"), 20):
        film = lab.record("-e", "off-cpu", "-d", 1, "-n", "no-process-has-this")
    assert {event: total(film, event) for event in WAITING} == {event: 0 for event in WAITING}


def test_a_process_is_meant_from_its_exec_on(lab, tmp_path):
    """By another name it was not, and was asked just before: what it waits for first has its time all the same."""
    program = tmp_path / "waits-late"
    program.symlink_to("/bin/sleep")
    script = f"import os, time; [time.sleep(0.002) for _ in range(300)]; os.execv({str(program)!r}, ['waits-late', '0.5'])"
    with lab.recording("-e", "off-cpu,threads", "-n", program.name) as (recorder, film):
        assert wait_until(film.begun)
        subprocess.run([sys.executable, "-c", script], check=True)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
    for event in "off-cpu", "threads":
        groups = film.json("-e", event, "--by", "process")["groups"]
        waited, = [group["total"] for group in groups if group["process"] == program.name]
        assert waited > 490_000_000, (event, groups)


def test_both_events_in_one_film(lab):
    film = lab.record("-e", "on-cpu,off-cpu", "--", lab.program("threads"), 1)
    assert film.share(lambda stack: "thread_0" in stack, "-e", "on-cpu") > 0.1, film.explain()
    assert has_event(film, "off-cpu")
