# SPDX-License-Identifier: Apache-2.0
"""
on-gpu of a command, against what libraries know that stand for the driver's and its profiling one (tests/programs/cuda_driver.c,
cuda_profiler.c): plumbing, sums and losses, not what a device does.
"""

import os

import pytest

from harness import Film, PATIENCE, needs_root

pytestmark = needs_root

TAGS = ("forward", "backward", "replay")
SAXPY, REDUCE = 20000, 7000


def record_command(lab, command, environment, events="on-gpu", options=()):
    """Returns the film, and what the command printed."""
    film = lab.new_film()
    done = lab.run("record", "-q", "-e", events, *options, "-o", film, "--", *command, timeout=PATIENCE,
                   env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment})
    assert done.returncode == 0, done.stderr
    return Film(lab.stackcam, film), done.stdout


def record(lab, *arguments, by=(), **environment):
    """Returns the film, and what the kernels of each function took."""
    film, said = record_command(lab, (*by, lab.program("cuda_launches"), *arguments), environment)
    return film, dict(zip(TAGS, map(int, said.split())))


def lost(film, why):
    """How much the film has lost for a reason."""
    return sum(count for reason, count in film.json("-e", "on-gpu")["loss"].items() if why in reason)


def total(film, wanted, event="on-gpu"):
    return sum(value for stack, value in film.folded("-e", event) if wanted(stack))


def test_each_launch_has_its_stack(lab):
    film, truth = record(lab, 12)
    assert truth == {"forward": 24 * SAXPY, "backward": 12 * (SAXPY + REDUCE), "replay": 12 * (SAXPY + 2 * REDUCE)}
    for tag in TAGS:
        assert total(film, lambda stack, tag=tag: tag in stack) == truth[tag], film.report("-e", "on-gpu").stdout
    # the kernel is on top, above what launched it
    assert total(film, lambda stack: "backward" in stack and stack[-1] == "reduce") == 12 * REDUCE
    assert total(film, lambda stack: "replay" in stack and "cuGraphLaunch" in stack and stack[-1] == "saxpy") == 12 * SAXPY
    whole = film.json("-e", "on-gpu")
    # the graph stands for one that was captured before the recording
    assert lost(film, "of a graph was captured") == 36 == sum(whole["loss"].values()), whole["loss"]
    # one for each launch, and of a graph one for each name
    assert whole["stacks"]["samples"] == 12 * (2 + 2 + 2)


def test_sums_of_many_launches(lab):
    rounds, threads = 2000, 8
    film, truth = record(lab, rounds, threads)
    calls = rounds * threads
    assert total(film, lambda stack: True) == sum(truth.values())
    assert total(film, lambda stack: stack[-1] == "reduce") == calls * 3 * REDUCE
    assert total(film, lambda stack: stack[-1] == "saxpy") == calls * 4 * SAXPY
    # a part has stacks; how many have none is said
    sampled = total(film, lambda stack: stack[0] != "[launch not sampled]")
    assert 0 < sampled < sum(truth.values())
    assert any("none of the samples" in reason for reason in film.json("-e", "on-gpu")["loss"])


def test_copies(lab):
    """Bytes and times of copies, by direction and by the stack that asked for them; and the sums where few have a stack."""
    program = lab.program("cuda_launches")
    film, said = record_command(lab, (program, 12, 1, "copies"), {}, "on-gpu,gpu-copies")
    ns, copied = (dict(zip(TAGS, map(int, half))) for half in (said.split()[:3], said.split()[3:]))
    assert copied == {"forward": 12 * 4096, "backward": 12 * 1000, "replay": 12 * 800}
    for tag, caller in zip(TAGS, ("upload", "download", "spread")):
        for event, truth in (("on-gpu", ns), ("gpu-copies", copied)):
            assert total(film, lambda stack, caller=caller: caller in stack, event) == truth[tag], film.report("-e", event).stdout
    for call, name, size in (("cuMemcpyHtoDAsync_v2", "[copy pageable host memory to device]", 4096),
                             ("cuMemcpyDtoH_v2", "[copy device to host]", 1000),
                             ("cuMemcpyPeerAsync", "[copy to another device]", 500), ("cuMemsetD8Async", "[set memory]", 300)):
        assert total(film, lambda stack, call=call, name=name: call in stack and stack[-1] == name, "gpu-copies") == 12 * size
    assert not film.json("-e", "on-gpu")["loss"]
    film, said = record_command(lab, (program, 5000, 4, "copies"), {}, "gpu-copies")
    assert total(film, lambda stack: True, "gpu-copies") == 20000 * 5896 == sum(map(int, said.split()[3:]))
    assert film.report("-e", "on-gpu", check=False).returncode == 1
    film, _ = record_command(lab, (program, 3, 1, "copies"), {"PROFILER_NO_COPIES": "1"})
    assert lost(film, "copies of a process not seen") == 1 and total(film, lambda stack: True) == 0


def test_budget(lab):
    """It makes samples fewer, not sums; and what records alone take is no reason to drop them."""
    for options in ((), ("--gpu-budget", "1")):
        film, said = record_command(lab, (lab.program("cuda_launches"), 500_000), {}, options=options)
        assert total(film, lambda stack: True) == sum(map(int, said.split()))
        # how many these are is a matter of time: tests/unit/inject/test_gpu_budget.c has clocks of its own
        assert total(film, lambda stack: stack[0] != "[launch not sampled]")
        assert bool(lost(film, "to keep --gpu-budget")) == bool(options), film.json("-e", "on-gpu")["loss"]


def test_many_names(lab):
    """As a framework has: a buffer of records gives one sum of each, and not one where the next name comes."""
    film, truth = record(lab, 20000, 1, "names")
    assert truth["forward"] == 20000 * 100 == total(film, lambda stack: True), film.report("-e", "on-gpu").stdout
    assert {stack[-1] for stack, _ in film.folded("-e", "on-gpu")} == {f"kernel_{i}" for i in range(200)}
    assert film.json("-e", "on-gpu")["stacks"]["samples"] < 9000


def test_ends(lab):
    """What a child has a copy of ran once; of what a program takes away with it, at most what a second had, the launches are said."""
    film, truth = record(lab, 12, 1, "forks")
    assert total(film, lambda stack: True) == sum(truth.values()), film.report("-e", "on-gpu").stdout
    film, truth = record(lab, 12, 1, "leaves")
    # a busy machine may have given it that second
    assert lost(film, "without a kernel") == 12 * 5 or total(film, lambda stack: True) == sum(truth.values())
    film, truth = record(lab, 12, 1, "lingers")
    assert total(film, lambda stack: True) == sum(truth.values())
    assert lost(film, "of a graph was captured") == 36 == sum(film.json("-e", "on-gpu")["loss"].values())


def test_what_the_profiling_library_loses(lab):
    film, truth = record(lab, 12, PROFILER_UNTIMED="reduce")
    assert total(film, lambda stack: True) == sum(truth.values()) - 36 * REDUCE
    assert lost(film, "does not know when") == 36
    # of two processes, both
    program = lab.program("cuda_launches")
    film, _ = record_command(lab, ("sh", "-c", f"{program} 3 & {program} 3; wait"), {"PROFILER_DROPS": "5"})
    assert lost(film, "had no room") == 10
    assert total(film, lambda stack: stack[-1] == "saxpy") == 2 * 3 * 4 * SAXPY


def test_the_profiling_library_that_the_program_has(lab):
    """Not another version's, which would hear of nothing."""
    film, truth = record(lab, 3, by=("env", f"LD_PRELOAD={lab.programs / 'libcupti.so.12'}"))
    assert total(film, lambda stack: True) == sum(truth.values()), film.report("-e", "on-gpu").stdout


@pytest.mark.parametrize("why, environment", [
    ("profiling library", {"LD_LIBRARY_PATH": ""}), ("another tool has the profiling library", {"PROFILER_TAKEN": "1"}),
    ("or it refuses", {"PROFILER_REFUSES": "1"})])
def test_the_program_goes_on_without(lab, why, environment):
    # where the machine has a real one, that refuses, as there is no device
    film, truth = record(lab, 3, **environment)
    assert truth["forward"] == 6 * SAXPY
    assert [reason for reason in film.json("-e", "on-gpu")["loss"] if why in reason], film.report("-e", "on-gpu").stdout


def test_another_tool_of_the_environment(lab):
    done = lab.run("record", "-e", "on-gpu", "-o", lab.new_film(), "--", "true", env={**os.environ, "CUDA_INJECTION64_PATH": "/a"})
    assert done.returncode == 1 and "another tool has the GPU" in done.stderr, done.stderr
