# SPDX-License-Identifier: Apache-2.0
"""
gpu-instructions of a command, against what libraries know that stand for a driver's and its profiling one
(tests/programs/cuda_driver.c, cuda_profiler.c): sums, launches, code and losses, not what a device does.
"""

import os
from pathlib import Path

import pytest

from harness import Film, PATIENCE, needs_root

pytestmark = needs_root

CUBINS = Path(__file__).resolve().parents[1] / "unit/symbol/cubins"
AXPY, NEGATE = 160, 10  # samples of a round: one of each microsecond
ESTIMATE = "[one of several launches: estimated by their times]"


def record(lab, rounds, cubin=CUBINS / "axpy-12.cubin", pause=0, events="on-gpu,gpu-instructions", **environment):
    """Returns the film, and how many samples the profiling library has made of each kernel."""
    film = lab.new_film()
    done = lab.run("record", "-q", "-e", events, "-o", film, "--", lab.program("cuda_instructions"), cubin, rounds, pause,
                   timeout=PATIENCE, env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment})
    assert done.returncode == 0, done.stderr
    return Film(lab.stackcam, film), [int(word) for word in done.stdout.split()]


def total(film, wanted, *options):
    return sum(value for stack, value in film.folded("-e", "gpu-instructions", *options) if wanted(stack))


def losses(film):
    return film.json("-e", "gpu-instructions")["loss"]


def test_each_sample_has_its_launch_and_its_instruction(lab):
    """Over several windows of time, and with each instruction's place in the source."""
    rounds = 30
    film, truth = record(lab, rounds, pause=10)
    assert truth == [rounds * AXPY, rounds * NEGATE]
    assert total(film, lambda stack: True) == sum(truth) and not losses(film), film.report("-e", "gpu-instructions").stdout
    # one launch of a function is exact; of two, the parts are those of their times
    assert total(film, lambda stack: "three" in stack and "negate" in stack and ESTIMATE not in stack) == rounds * NEGATE
    assert total(film, lambda stack: "two" in stack and ESTIMATE in stack) == pytest.approx(0.75 * rounds * AXPY, rel=0.1)
    assert total(film, lambda stack: "one" in stack and ESTIMATE in stack) == pytest.approx(0.25 * rounds * AXPY, rel=0.1)
    # each of the first 13 instructions has the same, and so has each reason
    for mnemonic in ("LDG +0x50", "MUFU +0x90", "EXIT +0xc0"):
        assert total(film, lambda stack, mnemonic=mnemonic: mnemonic == stack[-2] and "axpy" in stack) == pytest.approx(rounds * AXPY / 13, abs=2)
    for reason in ("[long_scoreboard]", "[selected]", "[barrier]"):
        assert total(film, lambda stack, reason=reason: reason == stack[-1]) == pytest.approx(sum(truth) / 3, rel=0.02)
    # functions that were inlined, from the line of their call on
    deepest = [stack for stack, _ in film.folded("-e", "gpu-instructions", "--inlines") if "MUFU +0x90" in stack and "axpy" in stack]
    assert deepest and all(stack[-5:-2] == ["axpy", "help", "deep"] for stack in map(list, deepest)), deepest[0]
    image = [function for function in film.json("-e", "gpu-instructions")["functions"] if function["kind"] == "device"]
    assert {function["image"] for function in image} == {"[sm_80]"}, image


def test_code_without_lines_and_damaged_code(lab, tmp_path):
    film, truth = record(lab, 3, cubin=CUBINS / "axpy-plain.cubin", events="gpu-instructions")
    assert total(film, lambda stack: "axpy" in stack and stack[-2] == "LDG +0x50") == pytest.approx(3 * AXPY / 13, abs=1)
    assert total(film, lambda stack: True) == sum(truth)
    assert [reason for reason in losses(film) if "-lineinfo" in reason], losses(film)
    # lines of the same code that was compiled with them; no other code has any
    other = lab.run("resolve", "--cubin", CUBINS / "axpy-13.cubin", film.path)
    assert other.returncode == 0 and "26 frames without a source line: give --cubin" in other.stderr, other.stderr
    resolved = lab.run("resolve", "--cubin", CUBINS / "axpy-12.cubin", film.path)
    assert resolved.returncode == 0 and "give --cubin" not in resolved.stderr, resolved.stderr
    deepest = [stack for stack, _ in film.folded("-e", "gpu-instructions", "--inlines") if "MUFU +0x90" in stack and "axpy" in stack]
    assert deepest and all(list(stack)[-5:-2] == ["axpy", "help", "deep"] for stack in deepest), deepest
    assert "axpy.cu:" in film.report("-e", "gpu-instructions", "--lines").stdout
    refused = lab.run("resolve", "--cubin", CUBINS.parent / "meson.build", film.path)
    assert refused.returncode == 1 and "is not a cubin" in refused.stderr, refused.stderr
    # code that is damaged is said, and its samples remain
    damaged = tmp_path / "damaged.cubin"
    damaged.write_bytes((CUBINS / "axpy-12.cubin").read_bytes()[:3000])
    film, truth = record(lab, 3, cubin=damaged, events="gpu-instructions")
    assert total(film, lambda stack: stack[-2].startswith("[unknown] +0x")) == sum(truth)
    assert [reason for reason in losses(film) if "it is damaged" in reason], losses(film)


def test_code_that_cannot_be_read(lab, tmp_path):
    """A program that may not write large files goes on; code before sm_70 is not called damaged."""
    film = lab.new_film()
    command = f"ulimit -f 1; exec {lab.program('cuda_instructions')} {CUBINS / 'axpy-12.cubin'} 3"
    done = lab.run("record", "-q", "-e", "gpu-instructions", "-o", film, "--", "bash", "-c", command, timeout=PATIENCE,
                   env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs)})
    assert done.returncode == 0 and done.stdout.split() == [str(3 * AXPY), str(3 * NEGATE)], done.stderr
    assert [reason for reason in losses(Film(lab.stackcam, film)) if "could not hand it over" in reason]
    # the architecture is in the lowest byte of e_flags
    old = bytearray((CUBINS / "axpy-12.cubin").read_bytes())
    old[48] = 61
    (tmp_path / "old.cubin").write_bytes(old)
    film, _ = record(lab, 3, cubin=tmp_path / "old.cubin", events="gpu-instructions")
    assert [reason for reason in losses(film) if "older than sm_70" in reason], losses(film)


@pytest.mark.parametrize("why, environment", [
    ("the profiling library refuses", {"PROFILER_NO_SAMPLES": "1"}), ("dropped them", {"PROFILER_DROPS_SAMPLES": "7"})])
def test_losses(lab, why, environment):
    film, truth = record(lab, 3, **environment)
    found = [count for reason, count in losses(film).items() if why in reason]
    assert found and found[0] >= 1, losses(film)
    if "DROPS" in str(environment):
        assert total(film, lambda stack: True) == sum(truth) and found[0] % 7 == 0
    # the times of kernels are not touched
    assert sum(value for _, value in film.folded("-e", "on-gpu")) == 3 * (4 * 40000 + 10000)


def test_smaller_structs_of_older_libraries(lab):
    film, truth = record(lab, 3, PROFILER_VERSION="18")
    assert total(film, lambda stack: True) == sum(truth) and not losses(film)
