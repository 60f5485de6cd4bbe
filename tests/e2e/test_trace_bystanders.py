# SPDX-License-Identifier: Apache-2.0
"""
trace: processes that are not meant have no probe in their memory, although they run the same files; and those that are
meant have them, also what they fork and execute.
"""

import os
import shutil
import signal

import pytest

from calls import CAN_HOLD, Traced, has_calls, is_probed, trace
from harness import PATIENCE, needs_root, running, wait_for_line, wait_until

pytestmark = needs_root

TIMES = 10


@pytest.fixture
def library(lab, tmp_path):
    """One that no other test maps."""
    return shutil.copy(lab.program("calls_shared.so"), tmp_path / "shared.so")


@pytest.fixture
def program(lab, tmp_path):
    return shutil.copy(lab.program("calls_shared"), tmp_path / "shared")


def work(process):
    """Lets it do what it is for."""
    process.process.send_signal(signal.SIGUSR1)
    wait_for_line(process.process, "done")


def tracing(lab, library, *options):
    return lab.beside("trace", "-f", "shared_work", "--inside", os.path.basename(library), "--max-rate", 0, *options)


def ended(tracer, film):
    """The counts of a recording that is ended now, and what it says."""
    tracer.send_signal(signal.SIGINT)
    stderr = tracer.communicate(timeout=PATIENCE)[1].decode()
    assert tracer.returncode == 0, stderr
    return Traced(film.stackcam, film.path).counts(), stderr


@pytest.mark.parametrize("how", ["detach", "kill"])
def test_library_of_two(lab, library, how):
    with running(lab.program("calls_shared"), library) as target, \
            running(lab.program("calls_shared"), library) as stranger, \
            tracing(lab, library, "-p", target.pid) as (tracer, film):
        assert wait_until(lambda: is_probed(target.pid, library, "shared_work"))
        assert not is_probed(stranger.pid, library, "shared_work")
        work(target)
        work(stranger)
        assert not is_probed(stranger.pid, library, "shared_work")
        if how == "kill":
            tracer.kill()
        else:
            counts, stderr = ended(tracer, film)
            assert counts["shared_work"] == TIMES and "nothing lost" in stderr
        assert wait_until(lambda: not is_probed(target.pid, library, "shared_work"))
        work(target)


WAYS = {"work": 1, "threads": 4, "fork": 1, "nested": 1, "exec": 1, "spawn": 1, "later": 1}


@pytest.mark.parametrize("how", WAYS)
def test_what_the_target_does(lab, library, how):
    """Every call is seen, and those of a stranger are not."""
    with running(lab.program("calls_shared"), library) as stranger, \
            running(lab.program("calls_shared"), library, how) as target, \
            tracing(lab, library, "-p", target.pid) as (tracer, film):
        if how != "later":
            assert wait_until(lambda: is_probed(target.pid, library, "shared_work"))
        else:
            assert wait_until(lambda: film.path.exists() and film.report(check=False).returncode == 0)
        work(target)
        work(stranger)
        work(target)
        assert not is_probed(stranger.pid, library, "shared_work")
        counts, stderr = ended(tracer, film)
    if CAN_HOLD or how in ("work", "threads"):
        assert counts["shared_work"] == 2 * WAYS[how] * TIMES, stderr
        assert "nothing lost" in stderr
    else:
        assert "were not seen" in stderr or "gone before" in stderr


def test_command(lab, library):
    """And what a shell executes."""
    program = lab.program("calls_shared")
    with running(program, library) as stranger:
        film = trace(lab, "-f", "shared_work", "--inside", "shared.so", "--", "sh", "-c",
                     f"for i in 1 2 3 4 5 6 7 8; do {program} {library} once; done")
        assert not is_probed(stranger.pid, library, "shared_work")
    if CAN_HOLD:
        assert film.counts()["shared_work"] == 8 * TIMES, film.recording.stderr


def test_program_of_two(lab, program, library):
    """The program itself is a file that strangers run."""
    with running(program, library) as target, running(program, library) as stranger, \
            lab.beside("trace", "-f", "call", "-p", target.pid) as (tracer, film):
        assert wait_until(lambda: is_probed(target.pid, program, "call"))
        assert not is_probed(stranger.pid, program, "call")
        work(target)
        work(stranger)
        counts, stderr = ended(tracer, film)
    assert counts["call"] == 1, stderr


def test_stranger_that_comes_later(lab, program, library):
    """It has probes for a moment, when nothing else ran the file before."""
    with running(program, library) as target, \
            lab.beside("trace", "-f", "call", "-p", target.pid) as (tracer, film):
        assert wait_until(lambda: is_probed(target.pid, program, "call"))
        work(target)
        with running(program, library) as stranger:
            work(stranger)
            assert wait_until(lambda: not is_probed(stranger.pid, program, "call"))
            assert is_probed(target.pid, program, "call")
            # nothing is kept until the stranger's have gone, which the film says then
            assert wait_until(lambda: "its probes were bound" in film.report("--format", "json", check=False).stdout)
            work(target)
        counts, stderr = ended(tracer, film)
    assert counts["call"] == 2 and "; 1 smaller loss, which the report names" in stderr, stderr
    assert {line.tid for line in Traced(film.stackcam, film.path).lines()} == {str(target.pid)}


def test_many_processes_of_a_private_file(lab, program, library):
    """After some, its probes are unbound: a process that is born then has them at once."""
    with running(program, library) as stranger:
        assert wait_until(lambda: os.path.exists(f"/proc/{stranger.pid}/maps"))
        with running(program, library, "fork") as target, \
                tracing(lab, library, "-p", target.pid) as (tracer, film):
            assert wait_until(lambda: is_probed(target.pid, library, "shared_work"))
            stranger.process.terminate()
            stranger.wait()
            for i in range(12):
                work(target)
            if CAN_HOLD:
                assert wait_until(lambda: has_calls(Traced(film.stackcam, film.path), 12 * TIMES))
            stderr = ended(tracer, film)[1]
    assert CAN_HOLD or "were not seen" in stderr or "gone before" in stderr


def test_child_that_is_not_meant(lab, library):
    """--no-children: a child has its parent's breakpoints until it executes a program, and is passed over."""
    with running(lab.program("calls_shared"), library, "fork") as target, \
            tracing(lab, library, "-p", target.pid, "--no-children") as (tracer, film):
        assert wait_until(lambda: is_probed(target.pid, library, "shared_work"))
        work(target)
        counts, stderr = ended(tracer, film)
    assert counts["shared_work"] == 0, stderr


@pytest.mark.parametrize("options", [[], ["--no-children"]], ids=["children", "no-children"])
def test_second_process_is_not_asked_for_its_return(lab, tmp_path, options):
    """
    Whether a function is asked for its return is decided in each process: one that has a signal handler is not,
    although another one, with probes at the same place, is.
    """
    program = shutil.copy(lab.program("calls_guard"), tmp_path / "guard")
    with running(program), running(program) as target, \
            lab.beside("trace", "-f", "leaf", "--max-rate", 0, "-p", target.pid, *options) as (tracer, film):
        assert wait_until(lambda: is_probed(target.pid, program, "leaf"))
        work(target)
        work(target)
        counts, stderr = ended(tracer, film)
    if not options and CAN_HOLD:
        assert counts["leaf"] >= 3 * TIMES, stderr


def test_many_programs_of_a_private_file(lab, library):
    """One after the other, of a file that others map at first: no call is lost or seen twice when that changes."""
    program = lab.program("calls_shared")
    with running(program, library) as stranger:
        film = trace(lab, "-f", "shared_work", "--inside", "shared.so", "--", "sh", "-c",
                     f"i=0; while [ $i -lt 40 ]; do {program} {library} once; i=$((i + 1)); "
                     f"[ $i -ne 8 ] || kill {stranger.pid}; done")
    if CAN_HOLD:
        assert film.counts()["shared_work"] == 40 * TIMES, film.recording.stderr
        assert "nothing lost" in film.recording.stderr
