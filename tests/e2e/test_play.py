# SPDX-License-Identifier: Apache-2.0
"""stackcam play: one film, served."""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from asking import PATIENCE, WRITE, playing, send_film, value_of
from harness import needs_root, wait_until
from openapi import Api


# What a film without these events has no answer for.
OF_OTHERS = ("/api/v1/calls", "/api/v1/explain", "/api/v1/locks", "/api/v1/requests", "/api/v1/services",
             "/api/v1/values")


@pytest.fixture
def film(places, tmp_path):
    """A film with known contents; it needs nobody who films."""
    maker = places[0].parents[1] / "tests" / "unit" / "query" / "make_film"
    assert maker.exists(), "make_film was not built: run ninja"
    path = tmp_path / "made.film"
    subprocess.run([maker, "50000", "500", "20", path], check=True, stdout=subprocess.DEVNULL)
    return path


def test_play_says_what_report_says(lab, film):
    api = Api()
    wanted = json.loads(lab.run("report", "--format", "json", film).stdout)
    before = film.read_bytes()
    with playing(lab.stackcam, film) as server:
        status = server.json("/api/v1/status")
        assert (status["one_film"], status["read_only"], status["filming"]) == (True, True, False)
        answer = server.json("/api/v1/functions?limit=20000")
        assert answer["sum"]["total"] == wanted["event"]["total"]
        assert answer["sum"]["samples"] == wanted["stacks"]["samples"]
        assert [(f["name"], f["self"], f["total"]) for f in answer["functions"]] == \
            [(f["name"], f["self"], f["total"]) for f in wanted["functions"]]
        exported = server.request("/api/v1/export?format=folded")[2].decode()
        assert exported == lab.run("report", "--format", "folded", film).stdout
        for method, path, operation in api.operations():
            if method != "GET":
                continue
            required = [p for p in api.parameters(operation) if p.get("required")]
            query = "&".join(f"{p['name']}={value_of(p)}" for p in required)
            status, headers, body = server.request(f"{path}?{query}")
            # the film has one event, which these are not of
            assert status == (404 if path in OF_OTHERS or "/timeline/" in path else 200), (path, body)
            api.check_answer(method, path, status, headers["Content-Type"], body)
        # no token is asked for: none would help
        for token in (f"Bearer {WRITE}", ""):
            status, headers, body = send_film(server, headers={"X-Stackcam-Number": "1", "Authorization": token})
            assert (status, b"takes no films" in body, "WWW-Authenticate" in headers) == (403, True, False), body
    assert film.read_bytes() == before
    assert {path.name for path in film.parent.iterdir()} == {film.name}


def test_play_what_is_not_there(lab, film, tmp_path):
    done = lab.run("play", tmp_path / "none.film")
    assert done.returncode == 1 and "none.film" in done.stderr
    (tmp_path / "text.film").write_text("no film")
    assert lab.run("play", tmp_path / "text.film").returncode == 1
    assert lab.run("play", "--port", "65536").returncode == 2
    assert lab.run("play", film, film).returncode == 2
    with playing(lab.stackcam, film) as server:
        done = lab.run("play", "--port", str(server.port), film)
        assert done.returncode == 1 and "--port" in done.stderr


@needs_root
def test_a_film_that_is_being_recorded(lab):
    """What is added to it is shown, until its recorder has ended."""
    def status_of(server):
        return server.json("/api/v1/status")

    with lab.recording("-e", "on-cpu", "-a") as (recorder, film):
        assert wait_until(film.begun)
        with playing(lab.stackcam, film.path) as server:
            first = status_of(server)
            assert first["growing"] and not first["cut_off"]
            assert wait_until(lambda: status_of(server)["store"]["last"] > first["store"]["last"] + 3)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
            assert wait_until(lambda: not status_of(server)["growing"])
            answer = server.json("/api/v1/functions?limit=1")
            assert not status_of(server)["cut_off"]
    assert answer["sum"]["samples"] == film.json()["stacks"]["samples"]


def test_only_the_token_of_its_address_opens_a_film(lab, film):
    """Each user of the machine can reach the socket, also of a film that its owner alone may read."""
    film.chmod(0o600)
    api = Api()
    with playing(lab.stackcam, film) as player:
        # the page itself has nothing of the film
        assert player.request("/", headers={"Authorization": ""})[0] == 200
        for method, path, operation in api.operations():
            required = [p for p in api.parameters(operation) if p.get("required")]
            query = "&".join(f"{p['name']}={value_of(p)}" for p in required)
            for authorization in ("", "Bearer " + "0" * len(player.token)):
                status, _, body = player.request(f"{path}?{query}", method, headers={"Authorization": authorization})
                # no client may send anything here; what agents and Grafana ask by POST is to read
                is_sent = method == "POST" and path != "/mcp" and not path.startswith("/querier.")
                assert status == (403 if is_sent else 401) or path == "/health", (path, status, body)
        assert player.ask("status")["one_film"]
        command = Path(f"/proc/{player.process.pid}/cmdline").read_text()
        assert player.token not in command and len(player.token) >= 32
    with playing(lab.stackcam, film) as again:
        assert again.token != player.token


def test_the_browser_gets_the_token_in_a_file_of_its_owner_s(lab, film, tmp_path):
    """Command lines are for all to read."""
    programs, temporary, seen = tmp_path / "programs", tmp_path / "temporary", tmp_path / "seen"
    programs.mkdir()
    temporary.mkdir()
    browser = programs / "xdg-open"
    browser.write_text('#!/bin/sh\n(stat -c %a "$@"; echo "$@"; cat "$@") > "$SEEN.new"\nmv "$SEEN.new" "$SEEN"\n')
    browser.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(temporary), "SEEN": str(seen)}
    with playing(lab.stackcam, film, "--open", env=environment) as player:
        assert wait_until(seen.exists)
        mode, argument, page = seen.read_text().split("\n", 2)
        assert mode == "600" and player.token not in argument and f"url={player.link}\"" in page
        assert stat.S_IMODE(Path(argument).parent.stat().st_mode) == 0o700
    assert not list(temporary.iterdir())
