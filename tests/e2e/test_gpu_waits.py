# SPDX-License-Identifier: Apache-2.0
"""
gpu-wait of a command: what its threads waited for, against what libraries know that stand for the driver's and its profiling one
(tests/programs/cuda_driver.c, cuda_profiler.c); and the same in the waits and slices of these threads.
"""

import contextlib
import json
import os
import sqlite3

from harness import Film, PATIENCE, needs_root
from test_timeline import Played

pytestmark = needs_root

EVENTS = "gpu-wait,off-cpu,threads"
ROUNDS = 20
GEMM, REDUCE, SPIN = 4_000_000, 1_000_000, 1_000_000  # ns; the last one: of cuCtxSynchronize()


def record(lab, events, **environment):
    """The film's path, and how long the program has waited: for a stream, all of them, an event, and one in no stream."""
    film = lab.new_film()
    done = lab.run("record", "-q", "-e", events, "-o", film, "--", lab.program("cuda_waits"), 1, ROUNDS,
                   timeout=PATIENCE, env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment})
    assert done.returncode == 0, done.stderr
    return film, [int(word) for word in done.stdout.splitlines()[-1].split()]


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


def check_streams(film):
    """The stream of a wait is in a row of its own (doc/film.md): of all but those for an event of a stream that is not known."""
    with contextlib.closing(sqlite3.connect(f"file:{film.path}?mode=ro", uri=True)) as tables:
        rows, = tables.execute("SELECT sum(n) FROM block JOIN event ON event.id = block.event WHERE kind = 14 AND name = 'gpu-wait'")
    assert rows == (4 * ROUNDS,), rows


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
    path, truth = record(lab, EVENTS)
    film = Film(lab.stackcam, path)
    check_parts(film, truth)
    check_streams(film)
    check_threads(film, truth)


def test_no_records_of_waits(lab):
    """The profiling library has none: one loss that says so, and not one for each wait."""
    path, _ = record(lab, EVENTS, PROFILER_NO_COPIES="1")
    film = Film(lab.stackcam, path)
    loss = film.json("-e", "gpu-wait")["loss"]
    assert [count for reason, count in loss.items() if "waits of a process not seen" in reason] == [1], loss
    assert not [reason for reason in loss if "sampled wait" in reason] and not total(film), loss


def explained(lab, film):
    """All parts of the program's explanations, by the functions of their stacks."""
    done = lab.run("explain", "--format", "json", "-n", "cuda_waits", film)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    parts = {}

    def add(part):
        for frame in part["stack"]:
            parts.setdefault(frame, []).append(part)
        for below in part["parts"]:
            add(below)

    for one in answer["requests"]:
        assert sum(part["duration"] for part in one["parts"]) == one["duration"], one
        for part in one["parts"]:
            add(part)
    return parts


def worked(parts, caller):
    """What ran in the waits of a function: ns by kind, name and stream; each within its wait."""
    sums = {}
    for part in parts[caller]:
        for work in part.get("works", []):
            assert 0 < work["duration"] <= part["duration"] and work["device"] == 0, part
            key = work["kind"], work["name"], work["stream"]
            sums[key] = sums.get(key, 0) + work["duration"]
    return sums


def check_works(parts):
    # kernels of one stream run one after the other: each has its time, and no more
    streams = worked(parts, "await_stream")
    assert set(streams) == {("kernel", "gemm", 5), ("kernel", "reduce", 5)}, streams
    assert 0.3 * ROUNDS * GEMM < streams["kernel", "gemm", 5] <= ROUNDS * GEMM, streams
    assert 0 < streams["kernel", "reduce", 5] <= ROUNDS * REDUCE, streams
    events = worked(parts, "await_event")
    assert 0.3 * ROUNDS * GEMM < events["kernel", "gemm", 8] <= ROUNDS * GEMM, events
    assert {stream for _, _, stream in events} == {8}, events
    copies = worked(parts, "download")
    assert 0.2 * ROUNDS * GEMM < copies["kernel", "gemm", 7] <= ROUNDS * GEMM, copies
    assert {key for key in copies if key[0] == "copy"} <= {("copy", "[copy device to host]", 7)}, copies
    # of an event whose stream is not known, nothing is guessed
    assert parts["await_unknown"] and not worked(parts, "await_unknown")
    words = max((part for part in parts["await_stream"] if part.get("works")), key=lambda part: part["duration"])["words"]
    assert words.startswith("waiting for kernel gemm on stream 5 ("), words
    assert "kernel reduce on stream 5 (" in words and "cuStreamSynchronize" in words, words


def test_explain_names_what_a_thread_waited_for(lab):
    film, _ = record(lab, "gpu-wait,gpu-lanes,threads")
    check_works(explained(lab, film))
    assert "waiting for kernel gemm on stream 5 (" in lab.run("explain", "-n", "cuda_waits", film).stdout


def longest_wait(played, lane, answer, wanted):
    """The longest slice of a lane that is a wait for that."""
    at, moments = int(answer["base"]), []
    for gap, length, *_ in zip(*[iter(lane["runs"])] * 5):
        moments.append((length, at + gap + length // 2))
        at += gap + length
    for _, moment in sorted(moments, reverse=True):
        slice_ = played.of_timeline("slice", lane_pid=lane["pid"], lane_tid=lane["tid"],
                                    at=f"{moment // 10**9}.{moment % 10**9:09}")["slice"]
        if slice_["object"].endswith(wanted):
            return slice_
    raise AssertionError(f"no wait {wanted}")


def test_the_timeline_names_what_a_thread_waited_for(lab):
    film, _ = record(lab, "gpu-wait,gpu-lanes,threads")
    played = Played(lab.stackcam, film)
    try:
        answer = played.of_timeline("lanes", shown=50, pixel=100_000)
        lane = max((lane for lane in answer["lanes"] if lane["comm"] == "cuda_waits"), key=lambda lane: sum(lane["ns"]))
        waited = longest_wait(played, lane, answer, " on stream 5")
        unknown = longest_wait(played, lane, answer, "[an event of a stream that is not known]")
    finally:
        played.end()
    works = waited["works"]
    assert (works[0]["kind"], works[0]["name"], works[0]["device"], works[0]["stream"]) == ("kernel", "gemm", 0, 5), waited
    assert {(work["name"], work["stream"]) for work in works} <= {("gemm", 5), ("reduce", 5)}, waited
    assert works[0]["duration"] <= GEMM and sum(work["duration"] for work in works) <= waited["end"] - waited["start"], waited
    assert unknown["works"] == [], unknown


def test_explain_without_lanes_or_waits(lab):
    """Without gpu-lanes it is as before; without gpu-wait no stream is known."""
    film, _ = record(lab, "gpu-wait,threads")
    parts = explained(lab, film)
    assert not worked(parts, "await_stream")
    assert any("for gemm on stream 5" in part["words"] and "works" not in part for part in parts["await_stream"]), parts["await_stream"]
    film, _ = record(lab, "gpu-lanes,threads")
    parts = explained(lab, film)
    assert "await_stream" in parts, (sorted(parts), lab.run("report", "--format", "states-json", film).stdout)
    assert not worked(parts, "await_stream")
    assert all("stream 5" not in part["words"] for part in parts["await_stream"]), parts["await_stream"]
