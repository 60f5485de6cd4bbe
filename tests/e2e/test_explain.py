# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: programs that are slow for a reason that is known, which it must name first, with its object."""

import json
import os
import re
import subprocess

import pytest

from harness import PATIENCE, needs_root, running

pytestmark = needs_root

EVENTS = ("-e", "threads,on-cpu,lock")


def check_sums(part):
    """The parts of a part add up to it, to the nanosecond."""
    assert all(p["duration"] > 0 for p in part["parts"])
    if part["parts"]:
        assert sum(p["duration"] for p in part["parts"]) == part["duration"], part
    for p in part["parts"]:
        check_sums(p)


def explained(lab, film, *options):
    """The explanations that stackcam gives of a film."""
    done = lab.run("explain", "--format", "json", *options, getattr(film, "path", film))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for request in answer["requests"]:
        assert request["parts"], request
        check_sums(request)
    return answer["requests"]


def film_case(lab, name, *arguments, options=(), seconds=2):
    return lab.record(*EVENTS, *options, "--", lab.program("cases"), seconds, name, *arguments, hz=499)


def first_cause(lab, film, *options):
    """The first part of the slow thread, and the whole."""
    request, = explained(lab, film, "-n", "handler", *options)
    assert request["comm"] == "handler"
    return request["parts"][0], request


def share(part, request):
    return part["duration"] / request["duration"]


def test_a_lock_that_is_held_long(lab):
    film = film_case(lab, "lock")
    cause, request = first_cause(lab, film)
    assert cause["kind"] == "lock" and cause["object"] == "mutex orders_lock in cases", cause
    assert cause["holder"]["comm"] == cause["waker"]["comm"] == "flusher" and share(cause, request) > 0.5
    assert "take_order" in cause["stack"] and "in take_order" in cause["words"]
    # what its holder did meanwhile, and where
    did = cause["parts"][0]
    assert did["thread"]["comm"] == "flusher" and did["kind"] == "sleep" and "flush_log" in did["stack"], did
    assert share(did, cause) > 0.9 and request["more_threads"] == "no"
    text = lab.run("explain", "-n", "handler", film.path).stdout
    assert re.search(r"waiting in take_order for mutex orders_lock in cases, held by flusher \(\d+\) \(\d+ times.*\n"
                     r" +[\d.]+ s +sleeping \(clock_nanosleep\) in flush_log", text), text


def test_its_own_code_is_slow(lab):
    cause, request = first_cause(lab, film_case(lab, "burn"))
    assert cause["kind"] == "on-cpu" and cause["functions"][0]["name"] == "parse_order", cause
    # it spins ten times as long as the other one
    assert cause["functions"][0]["samples"] > 0.8 * cause["samples"] and share(cause, request) > 0.5


def test_two_threads_that_wait_for_each_other(lab):
    """Of a process that hangs, and of one that was killed for it."""
    with running(lab.program("cases"), 60, "deadlock") as target:
        hangs = lab.record(*EVENTS, "-p", target.pid, "-d", 1)
    for film in (hangs, film_case(lab, "deadlock")):
        cause, request = first_cause(lab, film)
        assert cause["kind"] == "lock" and cause["object"] == "mutex stock_lock in cases", cause
        assert cause["holder"]["comm"] == "restocker" and share(cause, request) > 0.9
        holder = cause["parts"][0]
        assert holder["end"] == "deadlock" and holder["object"] == "mutex orders_lock in cases", cause
        assert holder["holder"]["comm"] == "handler" and share(holder, cause) > 0.9


def test_a_pool_that_is_too_small(lab):
    cause, request = first_cause(lab, film_case(lab, "pool"))
    assert cause["kind"] == "condition" and "submit_and_wait" in cause["stack"], cause
    assert cause["waker"]["comm"] == "pool-1" and share(cause, request) > 0.7
    did = cause["parts"][0]
    assert did["kind"] == "on-cpu" and did["functions"][0]["name"] == "serve_job", did


def test_a_file_that_is_slow_to_reach_the_disk(lab, tmp_path):
    cause, request = first_cause(lab, film_case(lab, "fsync", "case.data", options=()))
    waits = [part for part in request["parts"] if part["kind"] == "disk"]
    assert waits and "fsync" in waits[0]["words"] and "save_order" in waits[0]["stack"], request["parts"]


def test_a_neighbour_on_the_same_cpu(lab):
    cause, request = first_cause(lab, film_case(lab, "neighbour"))
    assert cause["kind"] == "ready" and share(cause, request) > 0.4, cause
    assert cause["behind"][0]["thread"]["comm"] == "backup", cause
    assert sum(other["duration"] for other in cause["behind"] if other["thread"]["comm"] == "backup") > 0.5 * cause["duration"]
    assert re.search(r"ready but not running, behind backup \(\d+\)", cause["words"])


def test_a_film_without_lives_says_what_to_record(lab):
    film = lab.record("-d", "0.1", "-p", os.getpid())
    done = lab.run("explain", film.path)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "stackcam: cannot explain: the film has no lives of threads; " \
        "record with 'stackcam record -e threads,on-cpu,lock'\n"


def test_wrong_usage_and_nothing_that_matches(lab):
    film = film_case(lab, "burn", seconds=0.2)
    for wrong in (["--slowest", "0"], ["--format", "svg"], ["--thread", "x"], [film.path, film.path], ["--from", "soon"]):
        assert lab.run("explain", *wrong).returncode == 2, wrong
    for empty in (["-n", "nobody"], ["--from", "30s"]):
        done = lab.run("explain", *empty, film.path)
        assert done.returncode == 1 and not done.stdout and done.stderr.startswith("stackcam: "), (empty, done)


def test_a_part_of_the_time_adds_up_too(lab):
    film = film_case(lab, "lock")
    whole = explained(lab, film, "--slowest", "10")
    assert len(whole) == 3
    for begin, end in (("0.5s", "0.6s"), ("1s", "1.001s"), ("0s", "20s")):
        for request in explained(lab, film, "--slowest", "10", "--from", begin, "--to", end):
            assert request["unexplained"] <= request["duration"]
    half = explained(lab, film, "--thread", whole[0]["tid"], "--from", "0.5s", "--to", "1.5s")[0]
    assert half["duration"] == 1_000_000_000


def test_it_writes_a_file_and_survives_a_closed_pipe(lab):
    film = film_case(lab, "burn", seconds=0.2)
    done = lab.run("explain", "-o", lab.folder / "why.txt", film.path)
    assert done.returncode == 0 and not done.stdout and "on CPU" in (lab.folder / "why.txt").read_text()
    pipe = subprocess.Popen([lab.stackcam, "explain", film.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pipe.stdout.close()
    assert pipe.wait(timeout=PATIENCE) != 1
