# SPDX-License-Identifier: Apache-2.0
"""The flight recorder without a server: record --flight, and agent --camera, which 'stackcam keep --pid' asks."""

import contextlib
import datetime
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from harness import PATIENCE, as_from_a_terminal, needs_root, wait_until
from test_agent import agent, films_in
from test_flight import FULL_QUEUE, crashing, states
from test_serve import serving

NAME = "flies"

NOBODY = 65534


@contextlib.contextmanager
def flying(lab, film, *options):
    """record --flight, once it records."""
    process = subprocess.Popen([lab.stackcam, "record", "-o", film, *map(str, options)], stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, preexec_fn=as_from_a_terminal)
    try:
        line = process.stderr.readline()
        assert f"keep --pid {process.pid}" in line, line
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=PATIENCE)
        process.stderr.close()


def life_of(lab, film, pid):
    """ns that the film has of a process's threads."""
    done = lab.run("report", "--format", "states-json", "--pid", pid, film)
    return json.loads(done.stdout)["all"]["life"] if done.returncode == 0 else 0


@needs_root
def test_what_is_asked_for_and_the_end_are_kept(lab, tmp_path):
    film = tmp_path / "last.film"
    with crashing(lab, NAME) as program, \
            flying(lab, film, "--flight", "6s", "-e", "threads,deaths", "-p", program.pid) as recorder:
        kept = []

        def keep():
            done = lab.run("keep", "--pid", recorder.pid, "--reason", "slow, it seemed")
            assert done.returncode == 0, done.stderr
            kept.append(done.stdout.strip())
            assert kept[-1] == str(tmp_path / f"last-{len(kept)}.film")
            return life_of(lab, kept[-1], program.pid)

        # the first one may have been before any thread did something
        assert wait_until(keep)
        told = states(lab, kept[-1], "--pid", program.pid)
        assert told["film"]["labels"] == "kept=slow; it seemed"
        assert {thread["comm"] for thread in told["threads"]} == {NAME, "worker", "holder", "waiter", "sleeper"}
        assert not film.exists()
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
        # the end goes on where what was kept before ended
        assert states(lab, film)["film"]["start"][:23] >= told["film"]["end"][:23]
    assert {str(path) for path in tmp_path.iterdir() if path.name != NAME} == {*kept, str(film)}


def ns_of(time):
    """Of a time of a report: 2026-11-26T16:58:45.078998511Z."""
    clock, _, part = time.rstrip("Z").partition(".")
    return int(datetime.datetime.fromisoformat(clock + "+00:00").timestamp()) * 10**9 + int(part.ljust(9, "0"))


@needs_root
def test_a_full_accept_queue_of_a_process_that_is_named_is_kept(lab, tmp_path):
    """Also where the process is named by its pid, or is a child of such a one."""
    with contextlib.ExitStack() as ends:
        # a shell that waits for it
        shell = subprocess.Popen(["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", FULL_QUEUE, "filled"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ends.callback(shell.wait, timeout=PATIENCE)
        ends.callback(shell.stdin.close)
        ends.callback(shell.stdout.close)
        port = int(shell.stdout.readline())
        recorder = ends.enter_context(flying(lab, tmp_path / "last.film", "--flight", "10s", "-e", "threads", "-p", shell.pid))
        for _ in range(4):
            ends.enter_context(socket.create_connection(("127.0.0.1", port)))
        said = recorder.stderr.readline()
        assert re.match(rf"stackcam: kept: the accept queue of filled \(\d+\) at 127\.0\.0\.1:{port} has been full for ", said), said
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()


@needs_root
def test_a_film_goes_on_where_the_one_before_ends(lab, tmp_path):
    with crashing(lab, NAME) as program, \
            flying(lab, tmp_path / "last.film", "--flight", "30s", "-e", "threads", "-p", program.pid) as recorder:
        films = []
        for _ in range(3):
            done = lab.run("keep", "--pid", recorder.pid)
            assert done.returncode == 0, done.stderr
            films.append(states(lab, done.stdout.strip()))
    for before, film in zip(films, films[1:]):
        begin, end = ns_of(film["film"]["start"]), ns_of(film["film"]["end"])
        # each film has its own look at how far the clocks are apart
        assert abs(begin - ns_of(before["film"]["end"])) < 10_000, (before["film"], film["film"])
        assert {thread["comm"] for thread in film["threads"]} == {NAME, "worker", "holder", "waiter", "sleeper"}
        for thread in film["threads"]:
            assert abs(thread["life"] - (end - begin)) < 10_000, (thread, film["film"])
            # nothing is missing at the borders; some virtual machines hide a switch here and there, which the film counts
            holes = sum(state["total"] for state in thread["states"] if state["state"] == "hole")
            assert holes < 10_000_000, thread
            assert not holes or any(reason.startswith("time of a thread not known") for reason in film["loss"]), film["loss"]


@needs_root
def test_a_death_is_kept_with_the_seconds_before(lab, tmp_path):
    film = tmp_path / "crash.film"
    with crashing(lab, NAME) as program, \
            flying(lab, film, "--flight", "30s", "-e", "threads,deaths", "-p", program.pid) as recorder:
        # by then it has recorded something
        assert lab.run("keep", "--pid", recorder.pid).returncode == 0
        program.say("segv", dies=True)
        assert program.ended() == -signal.SIGSEGV
        kept = tmp_path / "crash-2.film"
        assert wait_until(lambda: kept.exists() and life_of(lab, kept, program.pid), PATIENCE)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
    stacks = lab.run("report", "-e", "deaths", "--format", "folded", kept).stdout.splitlines()
    assert len(stacks) == 5 and any("lookup_order" in stack for stack in stacks), stacks


@needs_root
def test_who_may_ask(lab, tmp_path):
    with crashing(lab, NAME) as program, \
            flying(lab, tmp_path / "a.film", "--flight", "6s", "-e", "threads", "-p", program.pid) as recorder:
        refused = lab.run("keep", "--pid", recorder.pid, user=NOBODY, group=NOBODY, extra_groups=[], preexec_fn=None)
        assert refused.returncode == 3 and "only root" in refused.stderr, refused.stderr
        long = lab.run("keep", "--pid", recorder.pid, "--reason", 501 * "x")
        assert long.returncode == 1 and "500 bytes" in long.stderr, long.stderr
        control = lab.run("keep", "--pid", recorder.pid, "--reason", "a\x1b[31m")
        assert control.returncode == 1, control.stderr
    nothing = lab.run("keep", "--pid", os.getpid())
    assert nothing.returncode == 1 and "no flight recorder" in nothing.stderr, nothing.stderr
    assert not list(tmp_path.glob("*.film"))


def test_what_does_not_go_together(lab):
    for options in (("--flight", "1s"), ("--flight", "2h"), ("--flight", "9s", "--flight-memory", "9kB"),
                    ("--flight", "9s", "--", "true"), ("--flight", "9s", "--lines"), ("--flight", "9s", "--kernel-only")):
        assert lab.run("record", *options).returncode == 2, options
    assert lab.run("keep", "--pid", "x").returncode == 2
    assert lab.run("agent", "--to", "http://127.0.0.1:1", "--camera", "x", "--send-only").returncode == 2


@needs_root
def test_agent_sends_what_is_kept(lab, tmp_path):
    store = tmp_path / "store"
    with crashing(lab, NAME) as program, serving(lab, store, "--no-record") as serve, \
            agent(lab, "--to", serve.url, "--token-file", serve.tokens, "--spool", tmp_path / "spool",
                  "--camera", NAME, "--camera-after", "1s", "-F", "1") as process:

        def kept():
            # the first ones may be from before any thread did something
            lab.run("keep", "--pid", process.pid, "--reason", "as it was")
            told = {film: lab.run("report", "--format", "states-json", film) for film in store.rglob("*.film")}
            return [film for film, done in told.items() if done.returncode == 0 and "kept=as it was" in done.stdout]

        assert wait_until(kept, PATIENCE)
        assert any(life_of(lab, film, program.pid) for film in store.rglob("*.film"))
        assert wait_until(lambda: not films_in(tmp_path / "spool"))
        # and the page of the server lists it, at the moment at which that happened
        kept_at = time.time()
        program.say("segv", dies=True)
        of_death = f"kept: {NAME} ({program.pid}) died of SIGSEGV"
        assert wait_until(lambda: [mark for mark in serve.get("marks")["marks"] if mark["text"].startswith(of_death)], PATIENCE)
        mark, = (mark for mark in serve.get("marks")["marks"] if mark["text"].startswith(of_death))
        assert abs(mark["time"] - kept_at) < 1 and mark["host"] == serve.get("series")["series"][0]["host"], mark
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 0, process.stderr.read()
    assert not (tmp_path / "spool" / "keeping").exists()
