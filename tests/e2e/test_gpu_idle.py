# SPDX-License-Identifier: Apache-2.0
"""
explain --gpu: why a device idled, of programs with one planted cause each, against libraries that stand for the driver's and its
profiling one (tests/programs/cuda_driver.c, cuda_profiler.c). Sums are exact; words name the cause.
"""

import json
import os
import sys

import pytest

from harness import PATIENCE, needs_root

pytestmark = needs_root

STEPS = 4
STEP = 60_000_000  # ns, what each cause takes

# what the thread that launches did, longest, and what that wait was for
CAUSES = {
    "compute": ("decode", None),
    "sleep": ("sleeping (clock_nanosleep) in pause_between", None),
    "disk": ("in fsync of ", None),
    "device": ("cuStreamSynchronize", None),
    "tool": ("waiting for a child process (wait4) in run_tool", "decode"),
    "lock": ("await_lock for mutex data_lock", "decode"),
    "queue": ("in await_queue for condition", "decode"),
    "worker": ("waiting in read for pipe", "decode"),
    "storage": ("waiting for data (read) on tcp", "pause_between"),
}

PYTHON = """
import ctypes, time
class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("ns", ctypes.c_uint64)]
cuda = ctypes.CDLL("libcuda.so.1")
gemm = Kernel(b"gemm", 2000000)
stream = ctypes.c_void_p(1)
def augment():
    until = time.thread_time() + 0.06
    while time.thread_time() < until:
        pass
cuda.cuInit(0)
for _ in range(5):
    cuda.cuLaunchKernel(ctypes.byref(gemm), 1, 1, 1, 1, 1, 1, 0, stream, None, None)
    cuda.cuStreamSynchronize(stream)
    augment()
cuda.cuLaunchKernel(ctypes.byref(gemm), 1, 1, 1, 1, 1, 1, 0, stream, None, None)
cuda.cuStreamSynchronize(stream)
"""


def record(lab, *command, events="gpu-lanes,threads,on-cpu", **environment):
    """The film, and what the command printed."""
    film = lab.new_film()
    done = lab.run("record", "-q", "-e", events, "-o", film, "--", *command, timeout=PATIENCE,
                   env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment})
    assert done.returncode == 0, done.stderr
    return film, done.stdout


def idle(lab, cause, steps=STEPS, **options):
    film, said = record(lab, lab.program("cuda_idle"), cause, steps, lab.folder / "saved", **options)
    return film, int(said)


def explained(lab, film, *options):
    """The devices; what they did adds up."""
    done = lab.run("explain", "--gpu", "--format", "json", *options, film)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for device in answer["devices"]:
        assert sum(device["parts"].values()) == device["duration"], device
        assert sum(thread["duration"] for thread in device["threads"]) == device["parts"]["not-launched"], device
        assert sum(copies["duration"] for copies in device["copies"]) == device["parts"]["copies"], device
        for thread in device["threads"]:
            assert not thread["known"] or sum(part["duration"] for part in thread["parts"]) == thread["duration"], thread
    return answer["devices"], answer["loss"]


def is_of_machine(part):
    """What a busy machine does to every thread, and records that it loses."""
    return part["kind"] in ("woken", "preempted", "ready", "hole") or "ready but not running" in part["words"]


def all_words(parts):
    return " ".join(part["words"] + " " + all_words(part["parts"]) for part in parts)


def said_of(lab, film):
    done = lab.run("explain", "--gpu", film)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cpu_does_not_launch(lab, cause):
    """The longest part of what the thread did is the cause, and the sentence names it, unless the machine was too busy to run it."""
    own, behind = CAUSES[cause]
    film, truth = idle(lab, cause)
    devices, _ = explained(lab, film)
    device, thread = devices[0], devices[0]["threads"][0]
    assert device["parts"]["kernels"] == truth and device["kernels"] == STEPS + 1, device
    # the first step waits for nothing where the thread that loads has begun before
    causes = [part for part in thread["parts"] if not is_of_machine(part)]
    assert own in causes[0]["words"], thread["parts"]
    assert behind is None or behind in all_words(causes[0]["parts"]), causes[0]
    if thread["parts"][0] is causes[0] and device["parts"]["not-launched"] > device["duration"] / 2:
        assert "did not launch" in device["words"] and own in device["words"], device["words"]
    assert device["words"] in said_of(lab, film)


def test_a_loop_of_python(lab):
    film, _ = record(lab, sys.executable, "-c", PYTHON)
    (device,), _ = explained(lab, film)
    causes = [part for part in device["threads"][0]["parts"] if not is_of_machine(part)]
    assert device["kernels"] == 6 and device["parts"]["kernels"] == 12_000_000, device
    assert causes[0]["kind"] == "on-cpu" and "augment" in causes[0]["words"], causes


def test_another_program_on_the_cpu(lab):
    film, truth = idle(lab, "hog")
    (device,), _ = explained(lab, film)
    ready = sum(part["duration"] for part in device["threads"][0]["parts"] if "ready but not running" in part["words"])
    assert device["parts"]["kernels"] == truth and ready > STEPS * STEP / 10, device


def test_copies_that_wait(lab):
    film, truth = idle(lab, "copy")
    (device,), _ = explained(lab, film)
    assert device["parts"]["copies"] == STEPS * STEP and device["parts"]["kernels"] == truth, device
    copies, = device["copies"]
    assert copies["count"] == STEPS and "download" in copies["stack"] and copies["name"] == "[copy device to host]", copies
    if device["parts"]["not-launched"] < device["parts"]["copies"]:
        assert "waited for copies" in device["words"] and "download" in device["words"], device["words"]


def test_small_kernels(lab):
    """The device has a gap after each, as short as a launch takes."""
    film, truth = idle(lab, "tiny", 1, DRIVER_GAP_NS="15000")
    (device,), _ = explained(lab, film)
    assert device["parts"]["kernels"] == truth and device["kernels"] == 20002, device
    # most have no stack, which is said
    assert device["without_stack"] > 10000 and f"{device['without_stack']} have no stack" in said_of(lab, film)
    # the host is faster than the device where it runs at all
    if device["parts"]["short-gaps"] > device["parts"]["not-launched"] + device["parts"]["unknown"]:
        assert "too short for what a launch takes" in device["words"], device["words"]
    assert device["parts"]["short-gaps"] > 0, device


def test_launched_but_not_begun(lab):
    film, truth = idle(lab, "late", DRIVER_LAUNCH_NS=str(STEP))
    (device,), _ = explained(lab, film)
    # as long as that after each launch, but for the first one
    assert device["parts"]["kernels"] == truth and device["parts"]["launched"] >= STEPS * STEP, device
    if device["parts"]["not-launched"] < STEPS * STEP:
        assert "did not begin" in device["words"], device["words"]


def test_what_is_not_known(lab):
    """Idle time in which records were lost is unknown; without lives of threads, what they did."""
    film, _ = idle(lab, "sleep", PROFILER_DROPS="5")
    (device,), loss = explained(lab, film)
    assert device["parts"]["unknown"] > 0 and any("had no room" in reason for reason in loss), (device, loss)
    film, _ = idle(lab, "sleep", events="gpu-lanes")
    (device,), _ = explained(lab, film)
    assert device["parts"]["not-launched"] > STEPS * STEP and "what it did is not known" in device["words"], device
    assert not any(thread["known"] for thread in device["threads"])


def test_times_and_films_without(lab):
    film, _ = idle(lab, "sleep")
    (whole,), _ = explained(lab, film)
    (part,), _ = explained(lab, film, "--from", "0.001s")
    assert whole["duration"] - part["duration"] == 1_000_000, (whole, part)
    done = lab.run("explain", "--gpu", "-n", "other", film)
    assert done.returncode == 1 and "no kernel or copy" in done.stderr, done.stderr
    film, _ = idle(lab, "sleep", events="threads")
    done = lab.run("explain", "--gpu", film)
    assert done.returncode == 1 and "record -e gpu-lanes,threads,on-cpu" in done.stderr, done.stderr
