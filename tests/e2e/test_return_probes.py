# SPDX-License-Identifier: Apache-2.0
"""Stacks through functions whose return addresses a return probe has replaced, whoever has set it."""
import contextlib
import signal

import pytest
from harness import PATIENCE, needs_root, running, wait_until

@contextlib.contextmanager
def probed(lab, pid, *functions):
    """The functions of a process have return probes, and what begins now has begun with them."""
    chosen = [word for name in functions for word in ("-f", name)]
    with lab.beside("trace", "-q", "--exit", "return", "--max-rate", 0, *chosen, "-p", pid) as (tracer, film):
        assert wait_until(film.begun)
        assert wait_until(lambda: any(f["calls"] > 50 for f in film.json()["functions"]
                                      ) if film.report(check=False).returncode == 0 else False)
        yield
        tracer.send_signal(signal.SIGINT)
        assert tracer.wait(timeout=PATIENCE) == 0, tracer.stderr.read()


def assert_trampoline_is_left(film, *options):
    """Of a thread that is in the kernel's trampoline, for its handlers, the address that it returns to is known."""
    stacks = [stack for stack, _ in film.folded(*options)]
    lost = [stack for stack in stacks if stack.find("uprobe_handle_trampoline") and stack[0].startswith("[truncated: ")]
    assert not lost, lost


@needs_root
@pytest.mark.parametrize("name, functions, callers, enough", [
    # one jumps to the other: two probes have taken the same address
    ("tailcall", ("tail_first", "tail_second"), ("main", "tail_outer", "tail_second"), 0.98),
    # most of the time goes into the probes: while the kernel has replaced an address and not noted yet which it was,
    # nobody knows it
    ("calls_steady", ("outer", "middle", "leaf"), ("round_and_round", "outer"), 0.9),
])
def test_samples_under_return_probes(lab, name, functions, callers, enough):
    with running(lab.program(name), 60) as program, probed(lab, program.pid, *functions):
        film = lab.record("-d", "1", "-p", program.pid)
    stacks = film.json()["stacks"]
    assert stacks["complete"] > enough * stacks["samples"], film.explain()
    inside = film.share(lambda stack: callers[-1] in stack)
    assert inside > 0.2, film.explain()
    assert film.share(lambda stack: stack.has(*callers)) > enough * inside, film.explain()
    assert_trampoline_is_left(film)


@needs_root
def test_whole_machine_under_return_probes(lab):
    functions = "tail_first", "tail_second"
    with running(lab.program("tailcall"), 60) as program, probed(lab, program.pid, *functions):
        film = lab.record("-d", "2", "-a", hz=997)
    own = ("--pid", str(program.pid))
    stacks = film.json(*own)["stacks"]
    # some fall into the moments in which nobody knows it, as above, or are of before it was known to the recorder
    assert stacks["complete"] > 0.98 * stacks["samples"], film.explain()
    assert_trampoline_is_left(film, *own)
    assert film.share(lambda stack: stack.has("main", "tail_outer", "tail_second"), *own) > 0.5, film.explain()


@needs_root
def test_stack_of_callers_that_are_traced(lab):
    """Return probes of the tracer itself, on each of the callers."""
    film = lab.new_film()
    done = lab.run("trace", "--exit", "return", "--stack", "c", "-o", film, "--", lab.program("calls_tree"))
    assert done.returncode == 0, done.stderr
    stacks = lab.run("report", film, "-e", "call-stacks", "--format", "folded").stdout.splitlines()
    taken = {line.rpartition(" ")[0] for line in stacks}
    assert taken and all(stack.endswith("main;a;b;c") for stack in taken), taken
