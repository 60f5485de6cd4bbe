# SPDX-License-Identifier: Apache-2.0
"""
mem-alloc and mem-inuse of CPython's small objects, which its pools serve without malloc(): against tracemalloc, which counts each
of them (tests/programs/small_objects.py).
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import Film, PATIENCE, needs_root, of_pyenv, running, wait_until
from test_memory_heap import near, of_function, truth_of
from test_memory_inject import sampled

pytestmark = needs_root

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "small_objects.py"
INTERVAL = 16 << 10
EVENTS = ("-e", "mem-alloc,mem-inuse", "--mem-interval", INTERVAL)
COUNT = 100000
HOLDERS = ("hold_points", "hold_texts", "hold_pairs")
PYTHONS = ["debian", "3.8", "3.12", "3.13"]


@pytest.fixture(scope="module", params=PYTHONS, name="python")
def fixture_python(request):
    return "/usr/bin/python3" if request.param == "debian" else of_pyenv(request.param)


def tell(target, *words):
    """Returns what it says to them."""
    said = ""
    for word in words:
        target.process.stdin.write(f"{word}\n".encode())
        target.process.stdin.flush()
        line = ""
        while line != "done\n":
            line = target.process.stdout.readline().decode()
            assert line, said
            said += line
    return said


def end(target):
    target.process.stdin.close()
    assert target.wait() == 0


@pytest.fixture(scope="module", name="truth")
def fixture_truth(python):
    """What tracemalloc says of one turn, without stackcam."""
    with running(python, PROGRAM, stdin=subprocess.PIPE) as target:
        truth = truth_of(tell(target, "tracemalloc", COUNT, "say"))
        end(target)
    assert set(truth) == set(HOLDERS), truth
    return truth


def check(film, truth, turns):
    for name in HOLDERS:
        held = of_function(film, "mem-inuse", name)
        # lists that grow, and numbers, are of pools and of malloc() by turns
        assert near(held, turns * truth[name][1], INTERVAL) or abs(held / (turns * truth[name][1]) - 1) < 0.04, \
            (name, held, truth, film.explain())
    # what is given back is not held
    assert of_function(film, "mem-inuse", "churn") < 40 * INTERVAL, film.explain()
    assert of_function(film, "mem-alloc", "churn") > turns * COUNT * 90, film.explain()


def record(lab, *command):
    film = lab.new_film()
    done = lab.run("record", *EVENTS, "-o", film, "--", *command, input=f"{COUNT}\n{COUNT}\n", stdin=None)
    assert done.returncode == 0, done.stderr
    return Film(lab.stackcam, film, done)


def test_from_its_start(lab, python, truth):
    check(record(lab, python, PROGRAM), truth, 2)


def test_one_that_runs(lab, python, truth):
    """Twice: the second recording finds what the first one left."""
    with running(python, PROGRAM, stdin=subprocess.PIPE) as target:
        tell(target, 1000)
        for _ in range(2):
            with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
                # little, until the library is in
                assert wait_until(lambda: tell(target, 100) and sampled(film) or recorder.poll() is not None)
                before = {name: of_function(film, "mem-inuse", name) for name in HOLDERS}
                tell(target, COUNT, COUNT)
                recorder.send_signal(signal.SIGINT)
                assert recorder.wait(timeout=PATIENCE) == 0
            assert sum(before.values()) < 0.2 * sum(value for value, _ in truth.values())
            check(film, truth, 2)
        tell(target, 1000)
        end(target)


@pytest.mark.parametrize("python", PYTHONS[:1], indirect=True)
def test_beside_tracemalloc(lab, python):
    """Python's own tool puts its functions before the library's, and is never called by what it calls."""
    with running(python, PROGRAM, stdin=subprocess.PIPE) as target:
        for words in (("tracemalloc", 1000), (1000,), ("say", 1000)):
            with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
                assert wait_until(lambda: tell(target, 100) and sampled(film) or recorder.poll() is not None)
                tell(target, *words)
                recorder.send_signal(signal.SIGINT)
                assert recorder.wait(timeout=PATIENCE) == 0
        assert "another tool has its functions there" in film.report("-e", "mem-alloc", check=False).stdout
        end(target)


@pytest.mark.parametrize("python", PYTHONS[:1], indirect=True)
def test_without_pools(lab, python, truth):
    """Where all comes from malloc(), nothing is counted twice."""
    with running("env", "PYTHONMALLOC=malloc", python, PROGRAM, stdin=subprocess.PIPE) as target:
        tell(target, 100)
        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: tell(target, 100) and sampled(film) or recorder.poll() is not None)
            tell(target, COUNT, COUNT)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        check(film, truth, 2)
        end(target)


@pytest.mark.parametrize("python", PYTHONS[:1], indirect=True)
def test_debug_hooks_of_one_that_runs(lab, python, truth):
    """They put words before what they hand out: that the library cannot see the end of it is said, and nothing is held wrongly."""
    with running(python, "-X", "dev", PROGRAM, stdin=subprocess.PIPE) as target:
        tell(target, 1000)
        with lab.recording(*EVENTS, "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: tell(target, 100) and sampled(film) or recorder.poll() is not None)
            tell(target, COUNT)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        tell(target, 1000)
        end(target)
    assert "another allocator of small objects" in film.report("-e", "mem-inuse", check=False).stdout
    for name in HOLDERS:
        assert of_function(film, "mem-alloc", name) > 0.9 * truth[name][1], (name, truth, film.explain())


@pytest.mark.parametrize("options", [("--exact",), ("--mem-interval", 128)])
def test_what_shrinks_is_counted_once(lab, python, options):
    """By the C library's realloc(), which keeps it, and not by that of Python, which passes it on."""
    truth = 3000 * 101
    slack = 0.001 if "--exact" in options else 0.1
    film = Film(lab.stackcam, lab.new_film())

    def shrunk(event):
        done = film.report("-e", event, "--format", "folded", check=False)
        return done.returncode == 0 and sum(value for stack, value in film.folded("-e", event)
                                            if "shrink" in stack and stack[-1].lower().endswith("realloc"))

    with subprocess.Popen([lab.stackcam, "record", "-q", "-e", "mem-alloc,mem-inuse", *map(str, options), "-o", film.path, "--",
                           python, PROGRAM.with_name("shrinks.py"), "3000"], stdin=subprocess.PIPE) as recorder:
        # or what is wrong is seen below
        wait_until(lambda: all(abs(shrunk(event) / truth - 1) < slack for event in ("mem-alloc", "mem-inuse")))
        recorder.stdin.close()
        assert recorder.wait(timeout=PATIENCE) == 0
    for event in ("mem-alloc", "mem-inuse"):
        assert abs(shrunk(event) / truth - 1) < slack, (event, shrunk(event), film.explain())
