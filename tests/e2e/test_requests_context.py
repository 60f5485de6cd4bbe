# SPDX-License-Identifier: Apache-2.0
"""The context that programs publish of their threads (OpenTelemetry): it says what a request is, and what others are made for."""

import contextlib
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_requests import serving  # pylint: disable=unused-import

pytestmark = needs_root

SOURCE = Path(__file__).resolve().parents[1] / "programs" / "context.c"
# the models of thread-local storage: by the program itself, and of a library as each of its dialects has it
MODELS = {
    "program": (["-DCONTEXT_OWN", "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1"], None),
    "initial exec": ([], ["-ftls-model=initial-exec"]),
    "global dynamic": ([], []),
    "descriptors": ([], ["-mtls-dialect=gnu2"]),
}


SLOW = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.03)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def slow_server(_folder, port):
    return [sys.executable, "-c", SLOW, str(port)]


def build(folder, model):
    own, library = MODELS[model]
    command = ["gcc", "-O1", "-pthread", SOURCE, "-o", folder / "context", *own]
    if library is not None:
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-DCONTEXT_LIBRARY", *library, SOURCE, "-o", folder / "libcontext.so"], check=True)
        command += [folder / "libcontext.so", f"-Wl,-rpath,{folder}"]
    subprocess.run(command, check=True)
    return folder / "context"


@pytest.mark.parametrize("model", MODELS)
def test_the_thread_says_what_it_works_for(lab, serving, tmp_path, model):
    """No header has an id, and another thread than that which received a request works for it."""
    program = build(tmp_path, model)
    _, down, _ = serving(slow_server)
    with contextlib.ExitStack() as ends:
        server = ends.enter_context(subprocess.Popen([program, str(down)], stdout=subprocess.PIPE, text=True))
        ends.callback(server.kill)
        port = int(server.stdout.readline())
        with lab.recording("-e", "requests,threads,on-cpu,lock", "-p", server.pid) as (recorder, film):
            def are_known():
                for _ in range(5):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/order", timeout=PATIENCE).close()
                done = lab.run("report", "--format", "requests-json", film.path)
                return not done.returncode and sum(r["id_kind"] == "context" for r in json.loads(done.stdout)["requests"]) > 10
            assert wait_until(film.begun)
            assert wait_until(are_known)
            recorder.send_signal(2)
            assert recorder.wait(timeout=PATIENCE) == 0
    requests = json.loads(lab.run("report", "--format", "requests-json", film.path).stdout)["requests"]
    served = [r for r in requests if r["role"] == "served" and r["id_kind"] == "context"]
    made = [r for r in requests if r["role"] == "made" and r["id_kind"] == "context"]
    # each of them the number of one request in each byte
    assert all(len(r["id"]) == 32 and r["id"] == r["id"][:2] * 16 for r in served + made)
    assert len({r["id"] for r in served}) == len(served) > 4
    # where it has its context may become known between the one and the other
    assert len({r["id"] for r in served} - {r["id"] for r in made}) <= 1
    assert not any(r["parent"] for r in made), "no thread that received a request made them"
    # but the id says for which it was, and what was waited for meanwhile
    known = {r["id"] for r in made}
    longest = sorted((r for r in served if r["id"] in known), key=lambda r: r["duration"])[-5:]
    # the longest one of which the machine has not hidden most
    for one in reversed(longest):
        explained, = json.loads(lab.run("explain", "--format", "json", "--request", one["number"], film.path).stdout)["requests"]
        if explained["unexplained"] < explained["duration"] / 2:
            break
    assert explained["id"] == one["id"] and any(part["kind"] == "request" for part in explained["parts"]), explained["parts"]
