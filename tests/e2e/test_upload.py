# SPDX-License-Identifier: Apache-2.0
"""Names found once: agents send places, stackcam upload gives the server the functions of a build."""

import contextlib
import http.server
import json
import re
import shutil
import socket
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from openapi import Api
from harness import PATIENCE, free_port, needs_root, running, wait_until
from test_access import ask
from test_agent import LocalServer, agent
from test_serve import serving

TOKEN, BOUND = "admin-admin-admin", "bound-bound-bound"


def start(lab, folder, *options):
    tokens = folder / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(f"{TOKEN} admin\n{BOUND} upload host=host2\n")
    return serving(lab, folder / "store", "--no-record", "--token-file", tokens, "--service", "exe=*/bare bare", *options)


def upload(lab, serve, *files):
    return lab.run("upload", "--to", serve.url, "--token-file", str(serve.token_file), *files)


def functions(serve, **query):
    status, answer = ask(serve, "/api/v1/functions?" + urllib.parse.urlencode({"service": "bare", "limit": 1000, **query}), TOKEN)
    assert status == 200, answer
    found = {}
    for one in json.loads(answer)["functions"]:
        # two images can have functions of one name, such as _start
        own, total = found.get(one["name"], (0, 0))
        found[one["name"]] = own + one["self"], total + one["total"]
    return found


@needs_root
def test_a_name_found_later_appears_in_old_answers(lab, tmp_path):
    """A stripped program: by sums and by films, in the tree and the list, with nothing lost and nothing twice."""
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, lab.program("split")], check=True)
    with start(lab, tmp_path) as serve:
        serve.token_file = tmp_path / "tokens"
        film = lab.record("--", str(bare), "1")
        status, answer = ask(serve, "/api/v1/films", TOKEN, film.path.read_bytes(), {"X-Stackcam-Host": "host1"})
        assert status == 200, answer
        assert wait_until(lambda: functions(serve))
        before, of_films = functions(serve), functions(serve, comm="bare")
        assert any(name.startswith("bare+0x") for name in before), before
        assert not {"f70", "f20"} & (set(before) | set(of_films)), before
        # a token of one machine may not name what runs on all
        query = "/api/v1/symbols?build_id=00ff"
        assert ask(serve, query, BOUND, b"1000 10 f\n")[0] == 403
        for wrong in (b"", b"1000 10\n", b"x 10 f\n", b"1000 0 f\n", b"ffffffffffffffff 2 f\n", b"1000 10 f\n\n", b"1000 10 " + b"f" * 5000):
            assert ask(serve, query, TOKEN, wrong)[0] == 400, wrong
        status, answer = ask(serve, query, TOKEN, b"1000 10 f\n")
        Api().check_answer("POST", "/api/v1/symbols", status, "application/json", answer.encode())
        assert json.loads(answer) == {"again": False, "functions": 1}
        assert ask(serve, "/api/v1/symbols?build_id=0", TOKEN, b"1000 10 f\n")[0] == 400
        done = upload(lab, serve, lab.program("split"), bare)
        assert done.returncode == 1 and "bare has no symbols" in done.stderr, done.stderr
        assert "build id" in done.stdout and " functions" in done.stdout, done.stdout
        assert "the server has its names" in upload(lab, serve, lab.program("split")).stdout
        for query in ({}, {"comm": "bare"}):
            after = functions(serve, **query)
            assert {"main", "f70", "f20"} <= set(after), after
            assert not any(name.startswith("bare+0x") and after[name][0] for name in after), after
            assert sum(own for own, _ in after.values()) == sum(own for own, _ in before.values())
        # by its new name, from films and over time
        total = after["f70"][1]
        for question in ("functions", "flame"):
            found = json.loads(ask(serve, f"/api/v1/{question}?service=bare&comm=bare&focus=%5Ef70$", TOKEN)[1])
            assert found["sum"]["total"] == total, (question, found["sum"], after)
        timeline = json.loads(ask(serve, "/api/v1/timeline?service=bare&function=f70&steps=1", TOKEN)[1])
        assert timeline["rows"][0]["total"] == total, timeline
        flame = json.loads(ask(serve, "/api/v1/flame?service=bare", TOKEN)[1])
        nodes = list(zip(flame["nodes"]["parent"], flame["nodes"]["label"]))
        assert len(set(nodes)) == len(nodes), "siblings of one name are one node"
        assert "f70" in flame["labels"]["name"]


@needs_root
def test_a_folder_of_debug_files(lab, tmp_path):
    bare, debug = tmp_path / "bare", tmp_path / "debug"
    subprocess.run(["strip", "-o", bare, lab.program("split")], check=True)
    build_id = build_id_of(bare)
    film = lab.record("--", str(bare), "1")
    place = debug / ".build-id" / build_id[:2]
    place.mkdir(parents=True)
    # of another build: it is not believed
    shutil.copy(lab.program("omit"), place / f"{build_id[2:]}.debug")
    shutil.copy(lab.program("split"), place / build_id[2:])
    with start(lab, tmp_path, "--debug-dir", debug) as serve:
        status, answer = ask(serve, "/api/v1/films", TOKEN, film.path.read_bytes(), {"X-Stackcam-Host": "host1"})
        assert status == 200, answer
        assert wait_until(lambda: {"f70", "f20", "main"} <= set(functions(serve))), functions(serve)


class DebugServer(LocalServer):
    """A stand-in for debuginfod on loopback. files: by build id and kind ("debuginfo", "executable"); asked: what was."""

    def __init__(self, files, port=0):
        self.asked = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                _, _, build_id, kind = self.path.split("/")
                server.asked.append((build_id, kind))
                content = files.get((build_id, kind))
                self.send_response(200 if content else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(content or b"")

            def log_message(self, *_):
                pass

        super().__init__(Handler, port)


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def outcomes(serve):
    """What became of builds that servers were asked for."""
    text = ask(serve, "/metrics", TOKEN)[1]
    return {name: int(count) for name, count in re.findall(r'^stackcam_debuginfod_builds_total\{outcome="(.+)"\} (\d+)$', text, re.M)}


def stripped(lab, tmp_path):
    """A program without symbols, and its film."""
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, lab.program("split")], check=True)
    return bare, lab.record("--", str(bare), "1").path.read_bytes()


@needs_root
@pytest.mark.parametrize("kind", ["debuginfo", "executable"])
def test_a_debuginfod_server(lab, tmp_path, kind):
    bare, film = stripped(lab, tmp_path)
    build_id = build_id_of(bare)
    with DebugServer({(build_id, kind): Path(lab.program("split")).read_bytes()}) as debug, \
            start(lab, tmp_path, "--debuginfod", debug.url) as serve:
        for host in ("host1", "host2"):
            assert ask(serve, "/api/v1/films", TOKEN, film, {"X-Stackcam-Host": host})[0] == 200
        assert wait_until(lambda: {"f70", "f20", "main"} <= set(functions(serve))), functions(serve)
        assert outcomes(serve)["named"] == 1 and outcomes(serve)["not asked"] == 0
        assert "stackcam_debuginfod_works 1\n" in ask(serve, "/metrics", TOKEN)[1]
        # once, whatever the number of hosts
        assert debug.asked.count((build_id, kind)) == 1
        assert (tmp_path / "store" / "debuginfod" / build_id / kind).is_file()
        assert serve.end()[0] == 0


@needs_root
def test_a_debuginfod_server_that_is_wrong(lab, tmp_path, monkeypatch):
    """Another file, one that is too large, and no server at all: counted, said once, and nothing is believed."""
    bare, film = stripped(lab, tmp_path)
    build_id, port = build_id_of(bare), free_port()
    monkeypatch.setenv("DEBUGINFOD_MAXSIZE", "1000000")
    files = {(build_id, "debuginfo"): Path(lab.program("omit")).read_bytes()}
    url = f"http://127.0.0.1:{port}"
    with start(lab, tmp_path, "--debuginfod", url) as serve:
        assert ask(serve, "/api/v1/films", TOKEN, film, {"X-Stackcam-Host": "host1"})[0] == 200
        assert wait_until(lambda: outcomes(serve)["not asked"] >= 1)
        assert "stackcam_debuginfod_works 0\n" in ask(serve, "/metrics", TOKEN)[1]
        with DebugServer(files, port):
            assert wait_until(lambda: outcomes(serve)["another file"] == 1), outcomes(serve)
            assert "stackcam_debuginfod_works 1\n" in ask(serve, "/metrics", TOKEN)[1]
        assert any(name.startswith("bare+0x") for name in functions(serve))
        assert serve.end()[0] == 0
        said = serve.process.stderr.read()
        assert said.count(b"cannot ask debuginfod servers") == said.count(b"debuginfod servers answer again") == 1, said
    # what others answer: a page, and a file that is too large
    shutil.rmtree(tmp_path / "store" / "debuginfod")
    with DebugServer({(build_id, "debuginfo"): b"<html>log in</html>"}) as debug, \
            start(lab, tmp_path, "--debuginfod", debug.url) as serve:
        assert wait_until(lambda: outcomes(serve)["another file"] == 1), outcomes(serve)
        assert outcomes(serve)["not asked"] == 0
    shutil.rmtree(tmp_path / "store" / "debuginfod")
    with DebugServer({(build_id, "debuginfo"): b"\x7fELF" + bytes(2000000)}) as debug, \
            start(lab, tmp_path, "--debuginfod", debug.url) as serve:
        assert wait_until(lambda: outcomes(serve)["too large"] == 1), outcomes(serve)
        assert any(name.startswith("bare+0x") for name in functions(serve))
        assert not list((tmp_path / "store" / "debuginfod").glob("*/debuginfo.*"))


@needs_root
def test_a_debuginfod_server_that_is_silent(lab, tmp_path):
    """A transfer that stands still does not keep serve from ending."""
    _, film = stripped(lab, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent, \
            start(lab, tmp_path, "--debuginfod", f"http://127.0.0.1:{silent.getsockname()[1]}") as serve:
        silent.settimeout(PATIENCE)
        assert ask(serve, "/api/v1/films", TOKEN, film, {"X-Stackcam-Host": "host1"})[0] == 200
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1000).startswith(b"GET /buildid/")
            assert serve.end()[0] == 0


@needs_root
def test_an_agent_that_reads_no_symbols(lab, tmp_path):
    """Its films have places where names were, of files with a build id alone; the kernel's names are its own."""
    program = tmp_path / "bare"
    shutil.copy(lab.program("split"), program)
    with start(lab, tmp_path) as serve:
        serve.token_file = tmp_path / "tokens"
        with agent(lab, "--to", serve.url, "--token-file", serve.token_file, "--names", "server", "-F", "499",
                   "--spool", tmp_path / "spool", "--span", "1s"), running(program, "60"):
            assert wait_until(lambda: any(name.startswith("bare+0x") for name in functions(serve)))
            assert not {"f70", "main"} & set(functions(serve))
            assert upload(lab, serve, program).returncode == 0
            assert wait_until(lambda: {"f70", "f20", "main"} <= set(functions(serve))), functions(serve)
        kernel = json.loads(ask(serve, "/api/v1/functions?limit=1000", TOKEN)[1])["functions"]
        assert any(one["kind"] == "kernel" and "+0x" not in one["name"] for one in kernel)


def test_options(lab, tmp_path):
    assert "--names server needs --to" in lab.run("agent", "--pprof-dir", str(tmp_path), "--names", "server").stderr
    for urls in ("debuginfod.example.com", "http://a,", "http://a b", "http://a,http://a/", "file:///tmp"):
        done = lab.run("serve", "--store", str(tmp_path / "store"), "--debuginfod", urls)
        assert done.returncode == 2 and "Traceback" not in done.stderr, (urls, done.stderr)
    assert lab.run("upload").returncode == 2
    done = lab.run("upload", "--to", "http://127.0.0.1:9", "/nonexistent")
    assert done.returncode == 1 and "cannot open /nonexistent" in done.stderr
