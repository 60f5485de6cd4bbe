# SPDX-License-Identifier: Apache-2.0
"""
gpu-wait of a command: what its threads waited for, against what libraries know that stand for the driver's and its profiling one
(tests/programs/cuda_driver.c, cuda_profiler.c); and the same in the waits and slices of these threads.
"""

import os

from harness import Film, PATIENCE, needs_root

pytestmark = needs_root

ROUNDS = 20
GEMM, REDUCE, SPIN = 4_000_000, 1_000_000, 1_000_000  # ns; the last one: of cuCtxSynchronize()


def record(lab, **environment):
    """The film, and how long the program has waited: for a stream, all of them, an event, and one in no stream."""
    film = lab.new_film()
    done = lab.run("record", "-q", "-e", "gpu-wait,off-cpu,threads", "-o", film, "--", lab.program("cuda_waits"), 1, ROUNDS,
                   timeout=PATIENCE, env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment})
    assert done.returncode == 0, done.stderr
    return Film(lab.stackcam, film), [int(word) for word in done.stdout.splitlines()[-1].split()]


def total(film, *wanted, event="gpu-wait", options=()):
    return sum(value for stack, value in film.folded("-e", event, *options) if all(frame in stack for frame in wanted))


def check_parts(film, truth):
    # each wait is complete, in parts
    for caller, waited in zip(("await_stream", "await_all", "await_event", "await_unknown"), truth):
        assert total(film, caller) == waited, film.report("-e", "gpu-wait").stdout
    assert not film.json("-e", "gpu-wait")["loss"]
    # the kernels were launched right before the wait, and end with it; on a busy machine the wait goes on, without work
    gemm = total(film, "await_stream", "cuStreamSynchronize", "gemm on stream 5")
    assert 0.3 * ROUNDS * GEMM < gemm <= ROUNDS * GEMM, film.report("-e", "gpu-wait").stdout
    assert 0 < total(film, "await_stream", "[other work] on stream 5") <= ROUNDS * REDUCE
    assert not total(film, "await_stream", "gemm on stream 6")
    assert total(film, "await_all", "gemm on any stream") > 0.2 * ROUNDS * SPIN
    # a copy that waits is for the work before it
    assert total(film, "download", "cuMemcpyDtoH_v2", "gemm on stream 7") > 0.2 * ROUNDS * GEMM, film.report("-e", "gpu-wait").stdout
    assert not total(film, "[a copy that has no record]")
    # what the records do not say is not guessed
    assert total(film, "await_unknown", "[an event of a stream that is not known]") == truth[3]
    # an event is of the stream that it was put into
    assert 0.3 * ROUNDS * GEMM < total(film, "await_event", "gemm on stream 8") <= ROUNDS * GEMM, film.report("-e", "gpu-wait").stdout


def check_threads(film, truth):
    by_wait = {"event": "off-cpu", "options": ("--by", "wait")}
    asleep = total(film, "await_stream", event="off-cpu")
    gemm = total(film, "await_stream", "[waits for gemm on stream 5]", **by_wait)
    others = sum(total(film, "await_stream", f"[waits for {work} on stream 5]", **by_wait) for work in ("[other work]", "[no work recorded]"))
    assert asleep and gemm > 0.3 * asleep and gemm + others > 0.99 * asleep, film.report("-e", "off-cpu", "--by", "wait").stdout
    assert not total(film, "await_event", "[waits for gemm on stream 5]", **by_wait)
    states = film.report("--format", "states", "-e", "threads").stdout
    assert "gemm on stream 5" in states, states


def test_each_wait_has_its_work(lab):
    film, truth = record(lab)
    check_parts(film, truth)
    check_threads(film, truth)


def test_no_records_of_waits(lab):
    """The profiling library has none: one loss that says so, and not one for each wait."""
    film, _ = record(lab, PROFILER_NO_COPIES="1")
    loss = film.json("-e", "gpu-wait")["loss"]
    assert [count for reason, count in loss.items() if "waits of a process not seen" in reason] == [1], loss
    assert not [reason for reason in loss if "sampled wait" in reason] and not total(film), loss
