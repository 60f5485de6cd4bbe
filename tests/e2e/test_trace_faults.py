# SPDX-License-Identifier: Apache-2.0
"""What goes wrong while calls are traced goes wrong with words, a status, and without harm."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from calls import Traced, alone, has_calls, is_probed, trace
from harness import PATIENCE, needs_root, running, skip_where_not_executed, wait_until

pytestmark = needs_root

RIGHT = "the checksum is right; rounds: some"


def assert_refused(done, status, *words):
    assert done.returncode == status, (done.returncode, done.stderr)
    assert done.stderr.startswith("stackcam"), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def end(program):
    """Ends calls_steady; what it computed must be right."""
    program.process.terminate()
    output = program.process.stdout.read().decode()
    assert (program.wait(), output.strip()) == (0, RIGHT)


# --- wrong usage -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    (), ("--no-such-option",), ("--exit", "somehow", "--", "true"), ("--depth", "0", "--", "true"),
    ("--depth", "x", "--", "true"), ("--min-time", "soon", "--", "true"),
    ("--slower", "-1", "--", "true"), ("--max-rate", "x", "--", "true"),
    ("-d", "soon", "-p", "1"), ("-p", "abc"), ("-f", "re:(", "--", "true"), ("-a",),
    ("-a", "-f", "malloc"), ("-a", "-p", "1", "--", "true"), ("-o", "-", "--", "true"),
], ids=" ".join)
def test_wrong_usage(lab, words):
    done = lab.run("trace", *words, cwd=lab.folder)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stderr.startswith("stackcam") and not done.stdout


# --- nothing to trace --------------------------------------------------------------------------


def test_no_function_matches(lab):
    """Near names are listed; the command does not run."""
    done = lab.run("trace", "-f", "scheduler_", "-o", lab.new_film(), "--",
                   lab.program("calls_coroutine"))
    assert_refused(done, 1, "scheduler_")
    assert re.search(r"\bscheduler\b(?!_)", done.stderr), done.stderr
    assert not done.stdout


def test_no_function_matches_in_a_running_process(lab):
    with running(lab.program("calls_steady"), 60) as program:
        done = lab.run("trace", "-f", "midle", "-o", lab.new_film(), "-p", program.pid)
        assert_refused(done, 1, "midle", "middle")
        end(program)


def test_stripped_program(lab):
    """Only what it calls in libraries has a name."""
    program = lab.program("calls_tree-stripped")
    film = trace(lab, "--", program)
    assert film.recording.stdout == alone(lab, program)
    names = set(film.counts())
    assert names, film.explain()
    assert all("@" in name for name in names), names
    assert "a" not in names and any(name.startswith("printf@") or name.startswith("__printf")
                                    for name in names), names
    done = lab.run("trace", "-f", "scheduler", "-o", lab.new_film(), "--", program)
    assert_refused(done, 1, "scheduler")


def test_no_such_process(lab):
    child = subprocess.Popen(["true"])
    child.wait()
    done = lab.run("trace", "-f", "main", "-o", lab.new_film(), "-d", 1, "-p", child.pid)
    assert_refused(done, 1, str(child.pid))


def test_no_such_command(lab):
    done = lab.run("trace", "-f", "main", "-o", lab.new_film(), "--", "/no/such/command")
    assert_refused(done, 127, "/no/such/command")


def test_script_is_traced_as_its_interpreter_or_refused(lab):
    """A file that is no ELF file: nothing crashes, and words say what was found."""
    script = lab.folder / "script"
    script.write_text("#!/bin/sh\nexit 5\n")
    script.chmod(0o755)
    done = lab.run("trace", "-f", "no_such_function", "-o", lab.new_film(), "--", script)
    assert done.returncode in (1, 5) and done.stderr, done.stderr


SLEEPER_32 = r"""
	.globl _start
	.type _start, @function
_start:	call worker
	jmp _start
	.size _start, . - _start
	.type worker, @function
worker:	push %ebp
	mov $162, %eax
	mov $time, %ebx
	xor %ecx, %ecx
	int $0x80
	pop %ebp
	ret
	.size worker, . - worker
	.data
time:	.long 0, 10000000
	.section .note.GNU-stack, "", @progbits
"""


def test_32_bit_process_is_refused(lab):
    source, program = lab.folder / "sleeper.S", lab.folder / "sleeper"
    source.write_text(SLEEPER_32)
    made = subprocess.run(["gcc", "-m32", "-nostdlib", "-static", source, "-o", program],
                          capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"gcc -m32: {made.stderr}")
    skip_where_not_executed(program)
    process = subprocess.Popen([program])
    try:
        done = lab.run("trace", "-f", "worker", "-d", 1, "-o", lab.new_film(), "-p", process.pid)
        assert_refused(done, 1, "32")
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    done = lab.run("trace", "-f", "worker", "-d", 1, "-o", lab.new_film(), "--", program)
    assert_refused(done, 1, "32")


def test_not_root(lab):
    """Who may not trace is told so, and what to do."""
    if not shutil.which("setpriv"):
        pytest.skip("there is no setpriv")
    # where anybody can reach it: folders of the tests are root's
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for path in (lab.stackcam, lab.program("calls_tree")):
            shutil.copy(path, folder)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               f"{folder}/stackcam", "trace", "-f", "main", "--text", "/dev/null",
                               "--", f"{folder}/calls_tree"], capture_output=True, text=True,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL, cwd="/")
    assert_refused(done, 3, "CAP_BPF", "root")
    assert not done.stdout, "it ran"


# --- large and changing programs ---------------------------------------------------------------


@pytest.fixture(scope="module")
def huge(shared_lab):
    """A program with 200,000 functions; it calls every thousandth."""
    count = 200000
    source, program = shared_lab.folder / "huge.S", shared_lab.folder / "huge"
    with open(source, "w", encoding="ascii") as file:
        file.write("\t.text\n")
        for i in range(count):
            file.write(f"\t.globl huge_{i}\n\t.type huge_{i}, @function\nhuge_{i}:\tpush %rbp\n"
                       f"\tpop %rbp\n\tret\n\t.size huge_{i}, . - huge_{i}\n")
        file.write("\t.globl main\n\t.type main, @function\nmain:\tsub $8, %rsp\n")
        for i in range(0, count, 1000):
            file.write(f"\tcall huge_{i}\n")
        file.write("\txor %eax, %eax\n\tadd $8, %rsp\n\tret\n\t.size main, . - main\n"
                   "\t.section .note.GNU-stack, \"\", @progbits\n")
    subprocess.run(["gcc", source, "-o", program], check=True, timeout=PATIENCE)
    return program


def test_200000_functions(lab, huge):
    """So many only if that was meant; then all of them."""
    done = lab.run("trace", "--summary", "-f", "huge_*", "-o", lab.new_film(), "--", huge)
    assert_refused(done, 1, "200000", "--limit")
    film = trace(lab, "--summary", "--limit", 200000, "-f", "huge_*", "--", huge)
    counts = film.counts()
    assert {name: count for name, count in counts.items() if count} == \
        {f"huge_{i}": 1 for i in range(0, 200000, 1000)}


def test_list_of_200000_functions(lab, huge):
    done = lab.run("trace", "--list", "--limit", 200000, "-f", "huge_*", "--", huge)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"\bhuge_\d+\b", done.stdout)) == 200000


def test_few_of_200000_functions(lab, huge):
    film = trace(lab, "-f", "huge_1?000", "--", huge)
    assert film.counts() == {f"huge_1{i}000": 1 for i in range(10)}


def test_program_is_replaced_while_it_is_traced(lab):
    """As an update does it: what runs goes on, and so does the trace of it."""
    program = lab.folder / "steady"
    shutil.copy(lab.program("calls_steady"), program)
    with running(program, 60) as target:
        with lab.beside("trace", "-f", "outer", "-p", target.pid) as (tracer, film):
            assert wait_until(lambda: has_calls(film))
            other = lab.folder / "other"
            shutil.copy(lab.program("calls_tree"), other)
            other.rename(program)
            tracer.send_signal(signal.SIGINT)
            assert tracer.wait(timeout=PATIENCE) == 0, tracer.stderr.read()
        end(target)
    assert Traced(film.stackcam, film.path).counts()["outer"] > 0


def test_program_is_replaced_before_it_is_traced(lab):
    program = lab.folder / "steady"
    shutil.copy(lab.program("calls_steady"), program)
    with running(program, 60) as target:
        program.unlink()
        shutil.copy(lab.program("calls_tree"), program)
        film = trace(lab, "-f", "outer", "-d", 0.3, "-p", target.pid)
        end(target)
    assert film.counts()["outer"] > 0, film.explain()


def test_hostile_names(lab):
    """Symbols are anybody's text: no control character of theirs is printed."""
    source, program = lab.folder / "evil.S", lab.folder / "evil"
    source.write_bytes(b"\t.text\n\t.globl main\n\t.type main, @function\n"
                       b"main:\tpush %rbp\n\tcall \"evil\x1b[31m\xff<b>\"\n\txor %eax, %eax\n"
                       b"\tpop %rbp\n\tret\n\t.size main, . - main\n"
                       b"\t.type \"evil\x1b[31m\xff<b>\", @function\n"
                       b"\"evil\x1b[31m\xff<b>\":\tpush %rbp\n\tpop %rbp\n\tret\n"
                       b"\t.size \"evil\x1b[31m\xff<b>\", . - \"evil\x1b[31m\xff<b>\"\n"
                       b"\t.section .note.GNU-stack, \"\", @progbits\n")
    made = subprocess.run(["gcc", source, "-o", program], capture_output=True, timeout=PATIENCE)
    if made.returncode:
        pytest.skip(f"this assembler refuses the name: {made.stderr}")
    film = trace(lab, "-f", "*evil*", "--", program)
    listed = lab.run("trace", "--list", "-f", "*evil*", "--", program)
    for text in (film.replay(), film.report().stdout, listed.stdout, film.recording.stderr):
        assert "\x1b" not in text and "\udcff" not in text, repr(text)
    assert "evil" in film.replay() and "evil" in listed.stdout


# --- probes are put in and taken out -----------------------------------------------------------





@pytest.mark.parametrize("exits", ["return", "ret"])
def test_killed_tracer_leaves_nothing(lab, exits):
    """No probe is left in the target's memory; it runs on and computes what it should."""
    path = lab.program("calls_steady")
    with running(path, 60, 2) as program:
        with lab.beside("trace", "--exit", exits, "-f", "outer", "-f", "middle", "-f", "leaf",
                        "-p", program.pid) as (tracer, _):
            assert wait_until(lambda: is_probed(program.pid, path, "outer"))
            tracer.send_signal(signal.SIGKILL)
            tracer.wait(timeout=PATIENCE)
        for name in ("outer", "middle", "leaf"):
            assert wait_until(lambda name=name: not is_probed(program.pid, path, name)), name
        end(program)


def test_film_of_a_killed_tracer_opens(lab):
    with running(lab.program("calls_steady"), 60) as program:
        with lab.beside("trace", "-f", "outer", "-p", program.pid) as (tracer, film):
            film = Traced(film.stackcam, film.path)
            assert wait_until(lambda: has_calls(film, 100))
            tracer.send_signal(signal.SIGKILL)
            tracer.wait(timeout=PATIENCE)
        end(program)
    assert sum(film.counts().values()) > 100
    assert film.lines()


# 1,000 take ten minutes: STACKCAM_ATTACH=1000
TIMES = int(os.environ.get("STACKCAM_ATTACH", "20"))


def test_attach_and_detach_under_load(lab):
    """Again and again, beside two busy threads: none of their results changes."""
    path = lab.program("calls_steady")
    with running(path, 60 + 5 * TIMES, 2) as program:
        for i in range(TIMES):
            exits = ("auto", "ret", "inferred")[i % 3]
            done = lab.run("trace", "--summary", "-q", "--exit", exits, "-f", "outer", "-f",
                           "middle", "-f", "leaf", "-d", "20ms", "-o", lab.folder / "again.film",
                           "-p", program.pid)
            assert done.returncode == 0, done.stderr
            assert program.process.poll() is None, f"the target ended in round {i}"
        for name in ("outer", "middle", "leaf"):
            assert wait_until(lambda name=name: not is_probed(program.pid, path, name)), name
        end(program)


def test_two_tracers_of_one_process(lab):
    path = lab.program("calls_steady")
    with running(path, 60) as program:
        with lab.beside("trace", "-f", "outer", "-p", program.pid) as (one, first), \
                lab.beside("trace", "--exit", "ret", "-f", "outer", "-f", "middle",
                           "-p", program.pid) as (two, second):
            assert wait_until(lambda: has_calls(first) and has_calls(second))
            for tracer in (one, two):
                tracer.send_signal(signal.SIGINT)
                assert tracer.wait(timeout=PATIENCE) == 0, tracer.stderr.read()
        end(program)
    for film in (first, second):
        assert Traced(film.stackcam, film.path).counts()["outer"] > 0


def test_target_is_killed(lab):
    with running(lab.program("calls_steady"), 60) as program:
        with lab.beside("trace", "-f", "outer", "-p", program.pid) as (tracer, film):
            assert wait_until(lambda: has_calls(film))
            program.process.kill()
            assert tracer.wait(timeout=PATIENCE) == 0, tracer.stderr.read()
    film = Traced(film.stackcam, film.path)
    assert film.counts()["outer"] > 0
    assert film.lines()
