# SPDX-License-Identifier: Apache-2.0
"""mem-grow and file-faults: where processes get memory. tests/programs/grows.c says what each of its functions gets."""

import mmap
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, running, wait_until

pytestmark = needs_root

MIB = 1 << 20
PERIOD = 7

# The word that stands on top of the stack where a page is of its own kind.
KINDS = {"huge_pages": "[huge page]", "shared_pages": "[shared memory]"}


@pytest.fixture(scope="module", name="grown")
def fixture_grown(shared_lab, tmp_path_factory):
    """A film, and what the program said."""
    folder = tmp_path_factory.mktemp("grows")
    film = shared_lab.record("-e", "mem-grow,file-faults", "--fault-period", PERIOD, "--", shared_lab.program("grows"), folder)
    said = film.recording.stdout.splitlines()
    return film, {name: int(value) for name, value in (line.split() for line in said if line.count(" ") == 1)}


def of_function(film, event, name):
    return sum(value for stack, value in film.folded("-e", event) if name in stack)


@pytest.mark.parametrize("name", ["small_pages", "huge_pages", "shared_pages", "filled_by_kernel", "copies_of_a_file",
                                  "copies_of_the_parent"])
def test_who_gets_memory(grown, name):
    film, truth = grown
    # a few samples more or less: they are in step with the faults of the CPU, not with those of a function
    page = 2 * MIB if name == "huge_pages" else 4096
    assert of_function(film, "mem-grow", name) == pytest.approx(truth[name], rel=0.05, abs=3 * PERIOD * page), film.explain()


def reading_takes_memory():
    """Kernels have one page of zeros for all that is only read; one with pvm_no_zero_page has none."""
    pages, size = 1024, os.sysconf("SC_PAGE_SIZE")

    def resident():
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])

    with mmap.mmap(-1, pages * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        before = resident()
        for at in range(0, pages * size, size):
            assert memory[at] == 0
        return resident() - before > pages // 2


def test_what_is_never_written_is_no_growth(grown):
    film, _ = grown
    if reading_takes_memory():
        assert of_function(film, "mem-grow", "zero_pages") == pytest.approx(32 * MIB, rel=0.05), film.explain()
    else:
        assert of_function(film, "mem-grow", "zero_pages") < MIB, film.explain()
    assert of_function(film, "mem-grow", "pages_of_a_file") < MIB, film.explain()


def test_the_kind_of_a_page_stands_on_its_stack(grown):
    film, _ = grown
    for stack, _ in film.folded("-e", "mem-grow"):
        for name, kind in KINDS.items():
            assert stack[-1] != kind or name in stack, film.explain()
    for name, kind in KINDS.items():
        all_of_it = of_function(film, "mem-grow", name)
        # where memory is in pieces, the kernel may have no huge page for some
        assert of_function(film, "mem-grow", kind) >= 0.8 * all_of_it, film.explain()


def test_faults_on_files_are_an_event_of_their_own(grown):
    film, truth = grown
    assert of_function(film, "file-faults", "pages_of_a_file") == pytest.approx(
        truth["pages_of_a_file"], rel=0.1, abs=30), film.explain()
    # its code and its library's
    assert of_function(film, "file-faults", "small_pages") <= 50, film.explain()


def test_stacks_are_whole_and_nothing_is_lost(grown):
    film, _ = grown
    report = film.json("-e", "mem-grow")
    assert report["event"]["unit"] == "bytes"
    assert report["stacks"]["complete"] >= 0.99 * report["stacks"]["samples"], film.explain()
    assert report["stacks"]["gaps"] == 0, film.explain()
    assert not report["loss"], film.explain()


def test_the_default_period_is_near_the_truth(lab, tmp_path):
    """One stack in 127 faults, beside CPU samples: what memory was got for, to a few per cent."""
    film = lab.record("-e", "on-cpu,mem-grow", "--", lab.program("grows"), tmp_path)
    assert of_function(film, "mem-grow", "small_pages") == pytest.approx(64 * MIB, rel=0.08), film.explain()
    assert film.json("-e", "on-cpu")["event"]["unit"] == "ns"


def test_others_are_left_out(lab, tmp_path):
    """Only the process that was asked for, although each fault of the machine is counted."""
    with running(lab.program("split"), 100) as other, \
         lab.recording("-e", "on-cpu,mem-grow", "--fault-period", 1, "-p", other.pid) as (recorder, film):
        assert wait_until(film.has_samples)
        subprocess.run([lab.program("grows"), tmp_path], check=True, stdout=subprocess.DEVNULL)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0
    assert not [stack for stack, _ in film.folded("-e", "mem-grow") if "small_pages" in stack]


def test_an_event_alone(lab, tmp_path):
    film = lab.record("-e", "file-faults", "--", lab.program("grows"), tmp_path)
    assert film.json()["event"]["name"] == "file-faults"
    assert film.report("-e", "mem-grow", check=False).returncode


def test_periods_that_are_none_are_refused(lab):
    for period in ("0", "-1", "x", "1000001"):
        done = subprocess.run([lab.stackcam, "record", "-e", "mem-grow", "--fault-period", period, "--", "true"],
                              check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "--fault-period takes a number" in done.stderr, done.stderr
