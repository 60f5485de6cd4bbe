# SPDX-License-Identifier: Apache-2.0
"""
The compiled code of the programs that are loaded: those that can be preempted have no stack for each CPU, which two
threads would share.
"""

import subprocess

import pytest

from harness import PATIENCE, needs_root, wait_until

pytestmark = needs_root

EVENTS = ("on-cpu,off-cpu,lock,threads,mem-grow,mem-alloc,mem-inuse,go-wait,go-lanes,task-lanes,vthread-lanes,requests,"
          "deaths,machine,logs")
KPROBE = "2"  # BPF_PROG_TYPE_KPROBE: also all programs of uprobes


def loaded(lab):
    """Name of each program of the machine to its type and how many of its functions have a private stack."""
    done = subprocess.run([lab.program("loaded")], capture_output=True, text=True, check=False, timeout=PATIENCE)
    rows = [line.split() for line in done.stdout.splitlines()]
    if any(row[-1] == "-1" for row in rows):
        pytest.skip("this kernel does not show the code of programs")
    assert rows, done.stderr
    return {row[1]: (row[3], int(row[-1])) for row in rows}


@pytest.mark.parametrize("verb, options", [
    ("record", ("-e", EVENTS, "-a")),
    ("trace", ("-f", "tail_first", "-n", "no-such-program")),
    ("trace", ("--exit", "ret", "--args", "-f", "tail_first", "-n", "no-such-program")),
])
def test_programs_of_uprobes_have_none(lab, verb, options):
    with lab.beside(verb, *options) as (_, film):
        assert wait_until(film.begun)
        programs = loaded(lab)
    kprobes = {name: private for name, (kind, private) in programs.items() if kind == KPROBE and name != "sample"}
    assert kprobes
    assert not any(kprobes.values()), kprobes
    # where there are such stacks at all, they are seen
    if any(private for name, (kind, private) in programs.items() if name != "sample"):
        assert programs["sample"][1] == 1, programs
