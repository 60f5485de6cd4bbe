# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: causes that the kernel, other processes or a database have, which it must name first."""

import json
import re
import subprocess
import sys

import pytest

import planted
from harness import needs_root, running, wait_until
from test_explain import EVENTS, explained, is_of_machine, of_work, work_of
from test_explain_retries import first_of, known, statement
from test_requests import postgres  # noqa: F401: a fixture

pytestmark = needs_root

def causes(request):
    """The parts that are the program's, the longest first."""
    return [part for part in request["parts"] if not is_of_machine(part)]


def test_the_kernel_frees_memory_for_a_group_at_its_limit(lab):
    """More of it is freeing than a tenth; of the time on CPU both parts have the function that asked for memory."""
    film, group = planted.reclaim_of_a_group(lab)
    request, = explained(lab, film, "-n", "touches")
    found, = [part for part in request["parts"] if part["kind"] == "reclaim"]
    rest, = [part for part in request["parts"] if part["kind"] == "on-cpu"]
    assert found in causes(request)[:2] and found["duration"] > 0.1 * (found["duration"] + rest["duration"]), request["parts"]
    assert found["functions"][0]["name"] == rest["functions"][0]["name"] == "touch_all", found
    assert f"{group} is at its limit of 33.6 MB" in found["words"], found
    assert found["group_limit"] == {"group": f"/{group}", "bytes": 32 << 20} and rest["group_limit"] is None, found
    assert found["samples"] + rest["samples"] > 20, (found, rest)


def test_memory_that_goes_to_swap(lab):
    request, = explained(lab, planted.swap_of_a_group(lab), "-n", "python*")
    found, = [part for part in request["parts"] if part["kind"] == "reclaim"]
    assert "for memory that went to swap, or came back" in found["words"], found


def test_a_file_of_fuse_is_waited_for_by_its_daemon(lab):
    """And no other process is said to have kept a disk busy."""
    film, path = planted.file_of_fuse(lab)
    reader, = explained(lab, film, "-n", "cp")
    found = [part for part in reader["parts"] if part["kind"] == "served-file"]
    assert found and all(part["waker"]["comm"] == "fuse_server" for part in found), reader["parts"]
    assert any(str(path) in part["words"] and part["parts"] for part in found), found
    # a disk that nothing waits for is no disk that others kept busy
    assert not reader["disk_users"] or any(part["kind"] == "disk" for part in reader["parts"]), reader["disk_users"]


def test_a_thread_that_was_made_during_the_wait(lab):
    """It leads to the thread that made it, and to what that one did before."""
    def cause_of():
        request, = explained(lab, planted.thread_made_meanwhile(lab), "-n", "handler")
        return causes(request)[0], request

    cause, request = known(cause_of)
    assert cause["kind"] == "condition" and cause["duration"] > 400_000_000, request["parts"]
    made = first_of(cause)
    assert made["kind"] == "made" and made["waker"]["comm"] == "maker" and "made by maker" in made["words"], cause
    did = first_of(made)
    assert did["kind"] == "sleep" and "prepare" in did["stack"], made
    assert not request["unexplained"], request["parts"]


def test_a_row_lock_of_a_transaction_whose_client_is_slow(lab, postgres):  # noqa: F811
    """With requests, and by the lives of threads alone."""
    cause, request = known(lambda: statement(lab, planted.postgres_row_of_an_idle_transaction(lab, postgres),
                                             "update pgbench_branches*", 1_000_000_000))
    assert cause["kind"] == "row-lock" and cause["words"].startswith("waiting for a row lock"), cause
    assert of_work(cause, request) > 0.9, request["parts"]
    did = first_of(cause)
    assert did["kind"] == "client" and did["words"].startswith("idle in transaction"), cause


def test_the_java_thread_that_did_not_stop(lab):
    """The time until all threads have stopped leads to the one that stopped last, and to what it did."""
    film = planted.java_stop(lab)
    handler, = explained(lab, film, "-n", "handler")
    pauses = [part for part in handler["parts"] if part["kind"] == "safepoint"]
    stops = [part for pause in pauses for part in pause["parts"] if part["kind"] == "stopping"]
    assert stops and stops[0]["waker"]["comm"] == "grinder" and "last grinder" in stops[0]["words"], handler["parts"]
    did = first_of(stops[0])
    assert did["kind"] == "on-cpu" and did["functions"][0]["name"] == "Stops.grind", stops


def test_threads_names_a_deadlock_and_a_child(lab):
    with running(lab.program("cases"), 60, "deadlock") as target:
        assert wait_until(lambda: len(deadlocked(lab, target.pid)) == 2)
        threads = deadlocked(lab, target.pid)
        assert {(thread["comm"], thread["object"], thread["holder"]["comm"]) for thread in threads} == {
            ("handler", "mutex stock_lock in cases", "restocker"), ("restocker", "mutex orders_lock in cases", "handler")}, threads
        text = lab.run("threads", "-p", target.pid).stdout
        assert "for mutex stock_lock in cases, held by restocker (" in text and "a deadlock, as that one waits" in text, text
    with running("sh", "-c", "echo ready; sleep 100; true") as target:
        assert wait_until(target.children)
        shell, = [thread for thread in threads_of(lab, target.pid) if thread["pid"] == target.pid]
        assert shell["wait"] == "child" and "child" in shell["object"], shell
        target.process.kill()
        subprocess.run(["kill", *map(str, target.children())], check=False)


def threads_of(lab, pid):
    return json.loads(lab.run("threads", "--format", "json", "-p", pid).stdout)["threads"]


def deadlocked(lab, pid):
    return [thread for thread in threads_of(lab, pid) if thread.get("deadlock")]


def test_a_child_that_does_not_end(lab):
    film = planted.child_that_does_not_end(lab)
    shell, = explained(lab, film, "-n", "sh")
    cause = shell["parts"][0]
    assert cause["kind"] == "child" and cause["waker"]["comm"] == "sleep", cause
    assert "which had not ended by then: sleep (" in cause["words"] and cause["parts"][0]["kind"] == "sleep", cause


@pytest.mark.parametrize("name", ["hang", "fifo"])
def test_the_other_end_of_a_pipe_that_hangs(lab, name):
    """It is waited for still when the film ends: the one process that can write is known by its descriptor."""
    film = planted.pipe_that_hangs(lab, name)
    handler, = explained(lab, film, "-n", "handler")
    cause = handler["parts"][0]
    assert cause["kind"] == "ipc" and "take_part" in cause["stack"] and cause["waker"]["comm"] == "producer", cause
    assert name == "hang" or cause["object"] == str(lab.folder / "pipe"), cause
    assert "which had not ended by then; its other end is in producer (" in cause["words"], cause
    did = first_of(cause)
    assert did["kind"] == "sleep" and "make_part" in did["stack"], cause


RENAMED = """
import threading, time

waits, done = threading.Event(), threading.Event()

def handle():
    waits.set()
    done.wait()

handler = threading.Thread(target=handle)
handler.start()
waits.wait()
while True:
    with open(f"/proc/self/task/{handler.native_id}/stat") as stat:
        if stat.read().split(")")[1].split()[0] == "S":
            break
with open(f"/proc/self/task/{handler.native_id}/comm", "w") as comm:
    comm.write("renamed")
# long enough for a stack of its own
end = time.monotonic() + 0.05
while time.monotonic() < end:
    pass
done.set()
handler.join()
"""


def test_a_thread_that_is_renamed_while_it_waits(lab):
    """By another thread: what ends the wait is known still."""
    film = lab.record(*EVENTS, "--", sys.executable, "-c", RENAMED, hz=99)
    waits = [part for one in explained(lab, film, "--slowest", "9") for part in one["parts"] if "handle" in part["stack"]]
    assert waits and all(part["end"] == "thread" for part in waits if part["kind"] == "condition"), waits


def test_a_pool_that_is_too_small(lab):
    """Two workers for eight threads at once: six of these wait until a worker has worked for others."""
    film = planted.pool_that_is_too_small(lab)
    waited = [one for one in explained(lab, film, "--slowest", "20") if "handle" in work_of(film, one)[0]["stack"]]
    full = sorted(one["more_threads_why"] for one in waited if one["more_threads"] == "yes")
    assert len(waited) == 8 and len(full) >= 5, waited
    assert all(re.fullmatch("the pool of 2 threads that ends such waits was full, and worked for [1-5] others? first", why)
               for why in full), full


def test_a_client_that_sends_slowly(lab):
    """Between the first byte of a request and that of its answer its thread waits for more of it; else it waits for the next one."""
    film = planted.client_that_sends_slowly(lab)
    cause, request = statement(lab, film, "POST /upload", 500_000_000)
    assert cause["kind"] == "slow-sender" and cause["count"] >= 2 and cause["longest"] > 150_000_000, request["parts"]
    assert "which the client sends slowly, on tcp 127.0.0.1:" in cause["words"], cause
    assert sum(part["duration"] for part in request["parts"] if part["kind"] == "slow-sender") > 0.8 * request["duration"], request


def test_the_timeout_of_a_socket(lab):
    """SO_RCVTIMEO: a timer of the kernel ends the wait in a soft interrupt, as a packet would."""
    film = planted.case(lab, "timeout")
    cause = work_of(film, explained(lab, film, "-n", "handler")[0])[0]
    assert cause["kind"] == "socket-read" and "ask_in_vain" in cause["stack"] and cause["longest"] > 290_000_000, cause
    assert cause["object"].startswith("tcp 127.0.0.1:"), cause
    # the longest of these waits speaks for all: the last one's end, the film's, can be that
    words = {"timer": ", until its time was over", "open": ", which had not ended by then"}
    assert words[cause["end"]] in cause["words"], cause


def test_the_exit_status_and_who_asked_for_it(lab):
    film = planted.exit_status(lab)
    text = lab.run("explain", "-n", "sh", film.path).stdout
    assert re.search(r"Its process ended with exit status 3: sh \(\d+\) asked for that\.", text), text


def test_who_sent_a_signal_that_kills(lab):
    """Of SIGTERM the kernel says it as well, of SIGKILL it does not; and the sender may have ended since."""
    for name in ("TERM", "KILL"):
        text = lab.run("explain", "-n", "sleep", planted.killed(lab, name).path).stdout
        assert re.search(rf"SIG{name}, sent by process \d+ \(timeout\)", text), text


def test_the_printed_column_adds_up(lab):
    """And what is not explained of the thread itself stands there once, though a part of others is not explained, too."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    film = lab.record(*EVENTS, "--", lab.program("cases"), 1, "downstream", hz=99)
    lines = lab.run("explain", "-n", "handler", film.path).stdout.splitlines()
    whole = next(line for line in lines if line.endswith(":") and "handler" in line)
    rows = [line for line in lines if re.match(r" *[\d.]+ (ns|us|ms|s) ", line) and line[12:13] == " " and line[:12].strip()]
    times = [float(row[:12].split()[0]) * units[row[:12].split()[1]] for row in rows]
    value, unit = re.search(r", ([\d.]+) (ns|us|ms|s):$", whole).groups()
    assert abs(sum(times) - float(value) * units[unit]) < 0.002 * float(value) * units[unit], lines
    assert len([row for row in rows if row[13:].startswith("unexplained")]) == 1, lines
    assert not any("not explained" in row for row in rows if not row[13:].startswith("unexplained")), lines


def test_a_request_that_a_client_made(lab):
    """By the client's name, or the endpoint's: curl polls with a timeout, and makes requests only."""
    film = planted.request_of_curl(lab)
    for options in (("-n", "curl"), ("--endpoint", "GET /slow")):
        request, = explained(lab, film, *options)
        assert request["endpoint"] == "GET /slow" and request["duration"] > 1_000_000_000, request
        assert causes(request)[0]["kind"] == "request", request["parts"]


def test_what_ran_on_the_only_p_of_go(lab):
    """A goroutine that is ready waits for the one that has the only place to run."""
    film = planted.only_p_of_go(lab)
    requests = explained(lab, film, "--endpoint", "GET /slow", "--slowest", "20")
    waits = [part for request in requests for part in all_parts(request)
             if part["kind"] == "ready" and "while threads worked for goroutine" in part["words"]]
    assert sum(part["duration"] for part in waits) > 20_000_000, [request["parts"] for request in requests]
    # no other goroutine runs for long
    assert len({part["behind"][0]["thread"]["tid"] for part in waits if part["duration"] > 10_000_000}) == 1, waits


def all_parts(part):
    for one in part["parts"]:
        yield one
        yield from all_parts(one)
