# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: serve --camera has the last minutes of some programs in memory, and keeps them."""

import contextlib
import json
import os
import re
import subprocess
import time
import urllib.error

import pytest

from harness import PATIENCE, needs_root, wait_for_line, wait_until
from openapi import Api
from test_serve import films_of, serving

CAMERA = ("--camera", "crashes*", "--camera-after", "1s")


class Crashing:
    """A program of tests/programs/crashes.c."""

    def __init__(self, lab):
        self.process = subprocess.Popen([lab.program("crashes")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        wait_for_line(self.process)

    def say(self, word, dies=False):
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()
        if not dies:
            wait_for_line(self.process, "done")

    def ended(self):
        return self.process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def crashing(lab):
    program = Crashing(lab)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.kill()
        program.process.wait(timeout=PATIENCE)
        program.process.stdin.close()
        program.process.stdout.close()


def keep(lab, serve, *options):
    return lab.run("keep", "--to", serve.url, "--token-file", serve.tokens, *options)


def camera_of(serve):
    return serve.get("status")["camera"]


def wait_for_bytes(serve, seconds):
    """Until it has filmed for so long."""
    assert wait_until(lambda: camera_of(serve)["time"] > seconds * 1e9, PATIENCE + seconds), camera_of(serve)


def states(lab, film, *options):
    done = lab.run("report", "--format", "states-json", *options, film)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def marks(serve):
    return [mark["text"] for mark in serve.get("marks")["marks"]]


@needs_root
def test_keep(lab, tmp_path):
    """Short films become one, in which no thread's life has a hole or is told twice; the next one goes on from there."""
    with crashing(lab) as program, serving(lab, tmp_path / "store", *CAMERA, "--camera-time", "8s") as serve:
        wait_for_bytes(serve, 7)
        before = camera_of(serve)
        assert before["filming"] and before["kept"] == 0 and 0 < before["bytes"] <= before["bytes_max"]
        done = keep(lab, serve, "--reason", "slow, it seemed\u00b9")
        assert done.returncode == 0, done.stderr
        film = done.stdout.strip()
        told = states(lab, film, "--pid", program.pid)
        assert told["film"]["labels"] == "kept=slow; it seemed\u00b9"
        # what is not known is counted: some virtual machines hide switches
        assert any(state["state"] == "hole" for state in told["all"]["states"]) == \
            any(reason.startswith("time of a thread not known") for reason in told["loss"])
        lives = {thread["comm"]: thread for thread in told["threads"]}
        assert set(lives) == {"crashes", "worker", "holder", "waiter", "sleeper"}
        # four films of two seconds, and what was recorded since
        wall = duration_of(told["film"])
        assert 5 < wall < 30
        for thread in lives.values():
            assert 0.95 * wall - 0.3 < thread["life"] / 1e9 <= wall + 0.01, (wall, thread)
        assert marks(serve) == ["kept: slow, it seemed\u00b9"]
        # what was kept is no longer in memory, and is not kept again
        again = keep(lab, serve)
        assert again.returncode == 0, again.stderr
        assert states(lab, again.stdout.strip())["film"]["start"] >= told["film"]["end"][:19]
        assert camera_of(serve)["kept"] == 2
        assert len(films_of(tmp_path / "store")) == 3
        # and the page's timeline has the threads of it
        assert wait_until(lambda: "threads" in serve.get("status")["events"])
        assert "waiter" in json.dumps(serve.get("timeline/lanes", event="threads", **{"from": "-5m"}))
        assert serve.end()[0] == 0
    assert not (tmp_path / "store" / "keeping").exists()


def duration_of(film):
    def seconds(text):
        whole, part = re.match(r"(.*)\.(\d+)Z$", text).groups()
        return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + int(part) / 1e9

    return seconds(film["end"]) - seconds(film["start"])


@needs_root
def test_keep_refused(lab, tmp_path):
    """Without a flight recorder, without a token, with words that are none; and what kill -9 left is removed."""
    store = tmp_path / "store"
    with serving(lab, store) as serve:
        assert serve.get("status")["camera"] is None
        done = keep(lab, serve)
        assert done.returncode == 1 and "no flight recorder" in done.stderr
        serve.process.kill()
    (store / "keeping").mkdir()
    (store / "keeping" / "0.film").write_bytes(b"half a film")
    with serving(lab, store, *CAMERA) as serve:
        assert not (store / "keeping").exists()
        Api().check_answer("GET", "/api/v1/status", 200, "application/json", json.dumps(serve.get("status")).encode())
        for path, token, status in (("keep?reason=%0A", "write", 400), ("keep?why=x", "write", 400),
                                    ("keep?reason=" + 501 * "x", "write", 400), ("keep", "read", 403)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                serve.post(path, token)
            assert refused.value.code == status, path
        answer = serve.post("keep", "write")
        Api().check_answer("POST", "/api/v1/keep", 200, "application/json", json.dumps(answer).encode())
        assert os.path.exists(answer["film"])


def test_options_refused(lab):
    for options in (("--camera", "x", "--no-record"), ("--camera-time", "1s"), ("--camera-memory", "1MB"),
                    ("--camera-hourly", "-1"), ("--camera-events", "nothing")):
        assert lab.run("serve", *options).returncode == 2, options
    assert lab.run("keep", "now").returncode == 2
    assert lab.run("keep", "--to", "ftp://x").returncode == 2
