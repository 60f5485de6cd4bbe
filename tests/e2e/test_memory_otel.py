# SPDX-License-Identifier: Apache-2.0
"""
The probes of OpenTelemetry's contract (otel_memory), both ways: a program that has them is recorded by them, and the library
that stackcam loads has them for others. tests/programs/usdt_memory.c says what it says.
"""

import math
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, running, wait_until
from test_memory_heap import of_function
from test_memory_inject import library_mappings

pytestmark = needs_root


def turn(target):
    """Returns whether it has said what it had to."""
    target.process.stdin.write(b"x")
    target.process.stdin.flush()
    lines = [target.process.stdout.readline() for _ in range(2)]
    assert lines[1] == b"done\n", lines
    return lines[0] == b"said 1\n"


def test_a_program_that_takes_its_own_samples(lab):
    with running(lab.program("usdt_memory"), stdin=subprocess.PIPE) as target:
        assert not turn(target)
        with lab.recording("-e", "mem-alloc,mem-inuse", "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: turn(target) or recorder.poll() is not None)
            turns = 6
            for _ in range(turns - 1):
                assert turn(target)
            # of a process that says it itself, nothing else is taken
            assert not library_mappings(target.pid)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        assert of_function(film, "mem-alloc", "first") == turns * 10 * 1000000, film.explain()
        assert of_function(film, "mem-alloc", "second") == turns * 10 * 1000000, film.explain()
        assert of_function(film, "mem-inuse", "first") == turns * 6 * 1000000, film.explain()
        assert of_function(film, "mem-inuse", "second") == turns * 10 * 1000000, film.explain()
        # its probes are gone with the recorder
        assert wait_until(lambda: not turn(target))
        target.process.stdin.close()
        assert target.wait() == 0


def test_the_library_has_them(lab):
    """As readelf, and so any tool that knows USDT, sees them."""
    if not shutil.which("readelf"):
        pytest.skip("there is no readelf")
    library = Path(lab.stackcam).parent.parent / "inject" / "libstackcam-memory.so"
    said = subprocess.run(["readelf", "-n", library], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True).stdout
    notes = said.split("Provider: otel_memory")[1:]
    assert {(note.split("Name: ")[1].split()[0], note.split("Arguments: ")[1].splitlines()[0].strip()) for note in notes} == \
        {("alloc", "8@%rdi 8@%r8 8@%r9"), ("free", "8@%rdi")}
    assert len(notes) > 10


def test_what_the_library_says_to_others(lab, tmp_path):
    """By a debugger's breakpoint at one of them: what a sample of 1000000 bytes stands for, where 16 MiB lie between two."""
    if not shutil.which("gdb"):
        pytest.skip("there is no gdb")
    library = Path(lab.stackcam).parent.parent / "inject" / "libstackcam-memory.so"
    script = tmp_path / "script"
    script.write_text("set breakpoint pending on\nset confirm off\nset pagination off\n"
                      f"set exec-wrapper env LD_PRELOAD={library} STACKCAM_MEMORY_INTERVAL=16777216\n"
                      "tbreak main\nrun\nbreak -probe-stap otel_memory:alloc\n"
                      "commands\nprintf \"sample %lu of %lu\\n\", $_probe_arg2, $_probe_arg1\nend\n"
                      "continue\ncontinue\ncontinue\n")
    said = subprocess.run(["gdb", "-batch", "-nx", "-x", script, "--args", lab.program("allocates"), "1"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False).stdout
    if "No symbol" in said or "sample" not in said:
        pytest.skip("this gdb stops at no probe of a program: " + said[-200:])
    for line in said.splitlines():
        if line.startswith("sample"):
            weight, size = int(line.split()[1]), int(line.split()[3])
            assert weight == pytest.approx(size / -math.expm1(-size / 16777216), rel=1e-6)
