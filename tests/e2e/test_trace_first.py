# SPDX-License-Identifier: Apache-2.0
"""trace: programs and libraries are held until their probes are set: their first calls are seen, whoever starts them;
what could not be held is a counted loss; nobody stays held when the recorder is gone."""
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from calls import CAN_HOLD, Traced, assert_first_calls, trace
from harness import PATIENCE, needs_root, wait_until

TIMES = 10

FORK_AND_EXEC = """
import os, sys
child = os.fork()
if not child:
    os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
SPAWN = "import os, sys; sys.exit(os.waitstatus_to_exitcode(os.waitpid(" \
        "os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[1]))"


@pytest.fixture(scope="module")
def script(tmp_path_factory, places):
    path = tmp_path_factory.mktemp("first") / "script.sh"
    path.write_text(f"#!/bin/sh\nexec {places[1] / 'calls_first'}\n")
    path.chmod(0o755)
    return path


def ways(program, script):
    """Ways in which a program begins that the command line does not name."""
    return {
        "env": ["env", program],
        "setarch": ["setarch", os.uname().machine, program],
        "shell": ["sh", "-c", program],
        "shell-exec": ["sh", "-c", f"exec {program}"],
        "script": [script],
        "fork-exec": [sys.executable, "-c", FORK_AND_EXEC, program],
        "spawn": [sys.executable, "-c", SPAWN, program],
        "static": ["env", f"{program}-static"],
    }


@needs_root
@pytest.mark.parametrize("way", ["env", "setarch", "shell", "shell-exec", "script", "fork-exec", "spawn", "static"])
def test_way_of_starting(lab, script, way):
    command = ways(lab.program("calls_first"), script)[way]
    assert_first_calls(trace(lab, "-f", "first", "--", *command), first=TIMES)


@needs_root
@pytest.mark.parametrize("how", [["-u", "nobody", "--"], ["--", "runuser", "-u", "nobody", "--"]])
def test_other_user(lab, how):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shared = shutil.copy(lab.program("calls_first"), folder)
        film = trace(lab, "-f", "first", *how, "env", shared)
    assert_first_calls(film, first=TIMES)


@needs_root
def test_hundred_programs_in_a_row(lab):
    program = lab.program("calls_first")
    film = trace(lab, "-f", "first", "--", "sh", "-c",
                 f"i=0; while [ $i -lt 100 ]; do {program}; i=$((i + 1)); done")
    assert_first_calls(film, first=100 * TIMES)


@needs_root
@pytest.mark.parametrize("before", [[], ["env"]])
def test_library_whose_constructor_calls(lab, before):
    film = trace(lab, "-f", "first_of_library", "--inside", "calls_first.so", "--", *before,
                 lab.program("calls_first"), lab.program("calls_first.so"))
    assert_first_calls(film, first_of_library=TIMES)


def wait_until_watching(tracer):
    """Waits until the tracer looks out for programs: the last that it does before it waits for something to happen."""
    def watches():
        words = ""
        for info in Path(f"/proc/{tracer.pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):
                words += info.read_text()
        # three of its programs hear of each exec: who is meant, whose calls are over, who is held
        return "vm_unmapped_area" in words if CAN_HOLD else words.count("sched_process_exec") == 3

    assert wait_until(watches)


def finished(tracer, film):
    """Ends the recording; what it found."""
    tracer.send_signal(signal.SIGINT)
    stderr = tracer.communicate(timeout=PATIENCE)[1].decode()
    film = Traced(film.stackcam, film.path)
    film.recording = subprocess.CompletedProcess([], tracer.returncode, "", stderr)
    return film


def own_program(lab):
    """calls_first under a name that no other process has."""
    path = lab.folder / f"first-{os.getpid()}"
    shutil.copy(lab.program("calls_first"), path)
    return path


def run_to_its_end(program):
    """Runs it as a shell with job control would. The parent must never hear that it was stopped."""
    pid = os.posix_spawn(program, [str(program)], os.environ)
    status = os.waitpid(pid, os.WUNTRACED)[1]
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


@needs_root
def test_child_of_a_process_that_runs(lab):
    """A shell that somebody else runs executes a program."""
    with subprocess.Popen(["sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell, \
            lab.beside("trace", "-f", "first", "-p", shell.pid) as (tracer, film):
        wait_until_watching(tracer)
        shell.stdin.write(f"{lab.program('calls_first')}; echo done\n")
        shell.stdin.flush()
        assert any(line == "done\n" for line in shell.stdout)
        film = finished(tracer, film)
    assert_first_calls(film, first=TIMES)


@needs_root
@pytest.mark.parametrize("verb", ["trace", "record"])
def test_name_that_nothing_bears_yet(lab, verb):
    program = own_program(lab)
    options = ["-f", "first", "-n", f"{program.name[:8]}*"] if verb == "trace" else \
        ["-F", 999, "-n", "split-sta*"]
    with lab.beside(verb, *options) as (recorder, film):
        if verb == "trace":
            wait_until_watching(recorder)
            run_to_its_end(program)
            run_to_its_end(program)
            assert_first_calls(finished(recorder, film), first=2 * TIMES)
            return
        assert wait_until(film.begun)
        subprocess.run([lab.program("split-static-pie"), "1"], check=True, stdout=subprocess.DEVNULL)
        film = finished(recorder, film)
    assert film.json()["stacks"]["samples"] > 0, film.recording.stderr


@needs_root
def test_recorder_that_does_not_answer(lab):
    """The program goes on after a while, and what was not seen of it is told."""
    program = own_program(lab)
    with lab.beside("trace", "-f", "first", "-n", program.name) as (tracer, film):
        wait_until_watching(tracer)
        tracer.send_signal(signal.SIGSTOP)
        run_to_its_end(program)
        tracer.send_signal(signal.SIGCONT)
        film = finished(tracer, film)
    assert "nothing lost" not in film.recording.stderr
    assert "were not seen" in film.recording.stderr, film.recording.stderr


@needs_root
@pytest.mark.skipif(not CAN_HOLD, reason="this kernel holds nobody")
def test_recorder_is_killed_while_it_holds_a_program(lab):
    """It runs on: nobody is left behind."""
    program = own_program(lab)
    command = f"echo ready; read word; {program}; echo end $?"
    tracer = subprocess.Popen([lab.stackcam, "trace", "-f", "first", "-o", lab.new_film(), "--", "sh", "-c", command],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with tracer:
        assert tracer.stdout.readline() == "ready\n"
        shell = children(tracer.pid)[0]
        tracer.send_signal(signal.SIGSTOP)
        tracer.stdin.write("go\n")
        tracer.stdin.flush()
        assert wait_until(lambda: any(comm(pid) == program.name[:15] for pid in children(shell)))
        held = children(shell)[0]
        assert state(held) in "RD"
        tracer.kill()
        # what the pipe brings is the program's own output, from its first word to the shell's last one
        assert tracer.stdout.read().splitlines()[-1] == "end 0"
    assert not Path(f"/proc/{held}").exists()


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def comm(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


# --- how a command is started -------------------------------------------------------------------


@needs_root
@pytest.mark.parametrize("verb", ["record", "trace"])
def test_user(lab, verb):
    done = lab.run(verb, "-q", "-u", "nobody", "-o", lab.new_film(), "--", "sh", "-c",
                   'id -u; id -G; echo "$HOME $SHELL $USER $LOGNAME"; grep CapEff /proc/self/status')
    assert done.returncode == 0, done.stderr
    nobody = pwd.getpwnam("nobody")
    uid, groups, environment, capabilities = done.stdout.splitlines()
    assert (int(uid), [int(group) for group in groups.split()]) == (nobody.pw_uid, [nobody.pw_gid])
    assert environment == f"{nobody.pw_dir} {nobody.pw_shell} nobody nobody"
    assert int(capabilities.split()[1], 16) == 0


@needs_root
def test_user_by_number(lab):
    done = lab.run("record", "-q", "-u", "0", "-o", lab.new_film(), "--", "id", "-un")
    assert (done.returncode, done.stdout) == (0, "root\n"), done.stderr


@needs_root
def test_user_who_may_not_execute_it(lab):
    program = own_program(lab)
    program.chmod(0o700)
    done = lab.run("record", "-u", "nobody", "-o", lab.new_film(), "--", program)
    assert done.returncode == 126 and "cannot execute" in done.stderr


@pytest.mark.parametrize("verb", ["record", "trace"])
def test_user_is_refused(lab, verb):
    done = lab.run(verb, "-u", "no-such-user", "--", "true")
    assert done.returncode == 1 and "there is no user 'no-such-user'" in done.stderr
    for option in (["-u", "nobody"], ["--no-randomize-addr"]):
        done = lab.run(verb, *option, "-p", os.getpid())
        assert done.returncode == 2 and option[0] in done.stderr


@needs_root
@pytest.mark.parametrize("verb", ["record", "trace"])
def test_addresses_are_the_same_each_time(lab, verb):
    places = {lab.run(verb, "-q", "--no-randomize-addr", "-o", lab.new_film(), "--", "grep", "stack", "/proc/self/maps")
              .stdout for _ in range(3)}
    assert len(places) == 1 and "[stack]" in places.pop()
