# SPDX-License-Identifier: Apache-2.0
"""Why goroutines do not run: waits against what the programs measured themselves."""

import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_for_line, wait_until
from test_go import HANDED_OVER, NEWER, by_newer
from test_offcpu import total

pytestmark = needs_root

TURNS = 40
EVENTS = ("go-wait", "go-queue", "go-idle")
SERVERS = ("waits_go", "waits_go-stripped", "waits_go-pie")

# A kind of waits.go, by the function that waits: what reasons Go gives for it, and what class that is.
KINDS = {
    "chan": ("main.receives", {"[chan receive]"}, {"channel"}),
    "select": ("main.selects", {"[select]"}, {"select"}),
    # up to 1.19 all that waits for a semaphore has one reason
    "mutex": ("sync.(*Mutex).lockSlow", {"[semacquire]", "[sync.Mutex.Lock]"}, {"sync", "lock"}),
    "network": ("main.reads", {"[IO wait]"}, {"network"}),
    "sleep": ("main.sleeper", {"[sleep]"}, {"sleep"}),
}

# Between the program's clock and the probes, for each wait.
NEAR_NS = 60_000


@pytest.fixture(scope="module", params=[*SERVERS, *NEWER])
def waits(request, shared_lab):
    program = shared_lab.program(request.param) if request.param in SERVERS else \
        by_newer(shared_lab, request.param, "waits_go-stripped")
    film = shared_lab.record("-e", "go-wait", "--", program, TURNS)
    truths = {kind: (int(time), int(count)) for kind, time, count in
              (line.split() for line in film.recording.stdout.splitlines() if line.count(" ") == 2)}
    return film, truths


def stacks_of(film, function, event="go-wait", *options):
    """Those below a function, without what the program waits to print."""
    return [(stack, value) for stack, value in film.folded("-e", event, *options)
            if any(function in frame for frame in stack) and "main.(*clock).print" not in stack]


def reasons_of(stacks):
    return {frame for stack, _ in stacks for frame in stack if frame.startswith("[") and "summed up" not in frame}


@pytest.mark.parametrize("kind", KINDS)
def test_waits_are_as_long_as_the_program_says(waits, kind):
    film, truths = waits
    function, reasons, _ = KINDS[kind]
    truth, count = truths[kind]
    stacks = stacks_of(film, function)
    # what of its queue has no stack of its own, and the last short ones, stand without that function
    queued = total(film, "go-queue")
    assert truth - queued - count * NEAR_NS <= sum(value for _, value in stacks) <= truth + 1e6, film.explain()
    assert reasons_of(stacks) and reasons_of(stacks) <= reasons, film.explain()


def test_stacks_begin_at_their_root(waits):
    film, _ = waits
    whole = {"runtime.goexit", "[no stack: shorter waits that came to no period]", "[no stack: its process has ended]"}
    cut = {stack[0] for stack, _ in film.folded("-e", "go-wait")} - whole
    early = (*HANDED_OVER, "the recorder could not take the stack over")
    assert cut <= {f"[truncated: {reason}]" for reason in early}, film.explain()
    stacks = film.json("-e", "go-wait")["stacks"]
    assert stacks["guessed"] == stacks["gaps"] == 0, stacks


def test_classes_are_those_of_the_reasons(waits):
    film, truths = waits
    for kind, (function, _, classes) in KINDS.items():
        whole = sum(value for _, value in stacks_of(film, function))
        assert whole == max(sum(value for _, value in stacks_of(film, function, "go-wait", "--wait", name))
                            for name in classes), kind


def test_what_belongs_to_the_runtime_is_idle(waits):
    film, _ = waits
    idle = {frame for stack, _ in film.folded("-e", "go-idle") for frame in stack if frame.startswith("[")}
    assert {"[force gc (idle)]", "[finalizer wait]"} <= idle, idle
    assert not idle & reasons_of(film.folded("-e", "go-wait")) - {"[no stack: its process has ended]"}


def test_no_wait_is_lost(waits):
    film, _ = waits
    assert only_bounded(film.json("-e", "go-wait")["loss"], "no room to hand it over"), film.explain()


def only_bounded(lost, *more):
    """Only what a rate bounds, or the first moments of a program."""
    allowed = ("made another one ready not taken", *more)
    return all(any(words in reason for words in allowed) for reason in lost)


def test_the_goroutine_that_made_it_ready_is_shown(shared_lab):
    film = shared_lab.record("-e", "go-wait", "--", shared_lab.program("waits_go-stripped"), 10)
    told = film.report("-e", "go-wait", "--by", "waker", "--format", "folded").stdout
    # the waker's stack stands below the waiter's; the first ones of a program are handed over, and cut
    told = told.replace(";internal/sync.", ";sync.")  # Go 1.24
    whole = [line.partition(";[wakes];")[0] for line in told.splitlines()
             if "main.locks;sync.(*Mutex).lockSlow" in line and ";[wakes];" in line and "[truncated" not in line]
    assert whole and all("main.holds;sync.(*Mutex).unlockSlow" in waker for waker in whole), told


class Staying:
    """A program that waits for a word before it begins, and after it is over."""

    def __init__(self, lab, program, argument):
        self.process = subprocess.Popen([lab.program(program), str(argument), "stay"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        wait_for_line(self.process)
        self.pid = self.process.pid

    def go_on(self):
        """Returns the lines that it printed."""
        self.process.stdin.write(b"x")
        self.process.stdin.flush()
        lines = []
        while not lines or lines[-1] != "over":
            line = self.process.stdout.readline()
            assert line, lines
            lines.append(line.decode().strip())
        return lines

    def __enter__(self):
        return self

    def __exit__(self, *failed):
        self.process.kill()
        self.process.wait(timeout=PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()


def probes_are_set(recorder):
    """Whether it has links of uprobes, or probes by perf events."""
    return any(re.search(r"^link_type:\s+(uprobe_multi|perf)", text_of(info), re.MULTILINE)
               for info in Path(f"/proc/{recorder.pid}/fdinfo").iterdir())


def text_of(path):
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def film_of_staying(lab):
    """A film of waits_go from before it begins until it is over; it goes on behind that."""
    with Staying(lab, "waits_go-stripped", TURNS) as target, lab.recording("-e", "go-wait", "-p", target.pid) as (recorder, film):
        assert wait_until(lambda: film.begun() and probes_are_set(recorder))
        target.go_on()
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0
        assert target.process.poll() is None
    assert stacks_of(film, "main.sleeper"), (film.recording, film.json("-e", "go-wait"))
    return film


def test_a_program_that_runs_already(lab):
    """Its goroutines wait before, during and after the recording."""
    film = film_of_staying(lab)
    for kind, (function, _, _) in KINDS.items():
        assert stacks_of(film, function), kind
    assert only_bounded(film.json("-e", "go-wait")["loss"]), film.explain()
    for event in ("go-wait", "go-queue"):
        stacks = film.json("-e", event)["stacks"]
        assert stacks["complete"] >= 0.99 * stacks["samples"], film.explain()


def test_a_goroutine_that_waits_on_is_shown(lab):
    """No probe tells of it: it is read from the program when the film ends."""
    film = film_of_staying(lab)
    (stack, value), = stacks_of(film, "main.waitsLater")
    assert stack[0] == "runtime.goexit" and stack[-1] == "[chan receive]", stack
    # it began with the others, and went on until the end
    assert value >= max(value for _, value in stacks_of(film, "main.sleeper")), film.explain()
    (stack, value), = stacks_of(film, "main.accepts", "go-idle")
    assert stack[-1] == "[IO wait]" and not stacks_of(film, "main.accepts"), stack


def test_a_goroutine_that_waits_before_and_behind_the_recording_is_shown(lab):
    """It is never executed while there are probes: the runtime's list of goroutines has it."""
    film = film_of_staying(lab)
    (stack, value), = stacks_of(film, "main.waitsForEver")
    assert stack[0] == "runtime.goexit" and stack[-1] == "[chan receive]", stack
    # as long as the recording, and no shorter than those that began within it
    assert value >= max(value for _, value in stacks_of(film, "main.waitsLater")), film.explain()
    assert not [stack for stack, _ in film.folded("-e", "go-idle") if any("waitsForEver" in frame for frame in stack)]


def test_a_goroutine_that_waited_before_until_its_program_ended(lab):
    with Staying(lab, "waits_go-stripped", TURNS) as target, lab.recording("-e", "go-wait", "-p", target.pid) as (recorder, film):
        assert wait_until(lambda: film.begun() and probes_are_set(recorder))
        target.go_on()
        # it is looked at once a second
        assert wait_until(lambda: film.has_samples(1) and stacks_of(film, "main.waitsForEver"))
        target.process.kill()
        assert recorder.wait(timeout=PATIENCE) == 0
    (_, value), = stacks_of(film, "main.waitsForEver")
    assert value >= max(value for _, value in stacks_of(film, "main.sleeper")), film.explain()


def test_threads_have_sums_of_their_own(lab):
    """What threads wait is the same whether goroutines are watched or not: the events are apart."""
    film = lab.record("-e", "off-cpu,go-wait", "--", lab.program("waits_go-stripped"), 20)
    assert total(film, "off-cpu") + total(film, "idle") > 0
    assert total(film, "go-wait") > 0
    assert not [stack for stack, _ in film.folded("-e", "off-cpu") if "[chan receive]" in stack]
