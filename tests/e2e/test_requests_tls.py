# SPDX-License-Identifier: Apache-2.0
"""Requests that are encrypted: read where OpenSSL, or Go's crypto/tls, encrypts and decrypts them."""

import json
import os
import subprocess

import pytest

from harness import go_built, needs_root, running, wait_until
from test_requests import of_process, requests_of, serving, tool  # pylint: disable=unused-import

pytestmark = needs_root

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{
        listen 127.0.0.1:{port} ssl http2; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
        location / {{ return 200 $request_uri; }}
    }}
}}
"""

GO = """
package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	panic(http.ListenAndServeTLS("127.0.0.1:"+os.Args[1], os.Args[2], os.Args[3], nil))
}
"""


def make_certificate(folder):
    subprocess.run([tool("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "key.pem", "-out",
                    folder / "cert.pem", "-days", "2", "-subj", "/CN=unit"], check=True, capture_output=True)


def nginx(folder, port):
    make_certificate(folder)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    return [tool("nginx"), "-c", str(folder / "nginx.conf"), "-p", str(folder)]


def go(folder, port):
    make_certificate(folder)
    return [str(go_built(folder, "server", GO)), str(port), str(folder / "cert.pem"), str(folder / "key.pem")]


@pytest.mark.parametrize("make", [nginx, go])
@pytest.mark.parametrize("version", ["http1.1", "http2"])
def test_encrypted_requests_are_found(lab, serving, make, version):
    process, port, folder = serving(make)
    # from one connection each; several at once
    urls = " ".join(f"'https://127.0.0.1:{port}/{client}-[1-40]'" for client in ("a", "b"))
    film = lab.record("-e", "requests", "-a", "--", tool("curl"), "-s", "-k", f"--{version}", "-H", "X-Request-Id: mark",
                      *(url.strip("'") for url in urls.split()))
    answer = requests_of(lab, film)
    truth = sorted(f"/{client}-{i}" for client in ("a", "b") for i in range(1, 41))
    if make is nginx:
        assert sorted(line.split('"')[1].split()[1] for line in (folder / "access.log").read_text().splitlines()) == truth
    served = of_process(answer, process)
    made = [r for r in answer["requests"] if r["role"] == "made" and r["comm"] == "curl"]
    own, = {r["pid"] for r in made if r["path"] in truth}  # another test may run a curl, too
    made = [r for r in made if r["pid"] == own]
    for requests in (served, made):
        assert sorted(r["path"] for r in requests) == truth
        for r in requests:
            assert (r["status"], r["open"], r["id"], r["tls"]) == (200, False, "mark", True), r
            assert r["protocol"] == ("http2" if version == "http2" else "http")
    # the addresses are those of the socket that the library uses
    assert {r["peer"] for r in made} == {f"127.0.0.1:{port}"}
    known = [r for r in served if r["peer"].split(":")[0] == "127.0.0.1"]
    # what comes with the end of Go's handshake is read outside of the calls that show the socket
    assert len(known) >= len(served) - (0 if make is nginx else 2), {r["peer"] for r in served}
    # both ends see the same bytes, which are not those that the socket moves
    if version == "http1.1":
        assert sorted((r["path"], r["received"], r["sent"]) for r in served) == \
            sorted((r["path"], r["sent"], r["received"]) for r in made)


WAKER = """
import os, sys
print("ready", flush=True)
for line in sys.stdin:  # as often as it takes until the recorder has seen who wakes
    if line == "on\\n":
        break
    os.write(int(sys.argv[1]), b"x")
import ssl
print("loaded", flush=True)
sys.stdin.readline()
"""


def missed_encryption(lab):
    """What a film says of it, where a process that is not filmed maps OpenSSL later."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    woken = "import os\nprint('ready', flush=True)\nwhile os.read(0, 1): pass"
    with running("python3", "-c", woken, stdin=reader) as target, \
         running("python3", "-c", WAKER, writer, stdin=subprocess.PIPE, pass_fds=[writer]) as waker:
        with lab.recording("-e", "requests,threads", "-p", target.pid) as (recorder, film):
            film.begun()
            def wakes():
                waker.process.stdin.write(b"wake\n")
                waker.process.stdin.flush()
                told = lab.run("report", "--format", "states-json", "-e", "threads", film.path)
                states = json.loads(told.stdout)["all"]["states"] if told.returncode == 0 else []
                return any(state["state"] == "ipc" and state["count"] > 2 for state in states)
            assert wait_until(wakes)
            waker.process.stdin.write(b"on\n")
            waker.process.stdin.flush()
            assert waker.process.stdout.readline() == b"loaded\n"
            recorder.send_signal(2)
            assert recorder.wait(timeout=60) == 0
    os.close(reader)
    os.close(writer)
    return [words for words in film.json("-e", "requests")["loss"] if "encrypt" in words]


def test_what_only_wakes_a_filmed_thread_was_not_missed(lab):
    """Nothing of the film is missing without its probes. (Any process that ends at once may have been filmed, and counts.)"""
    assert not all(missed_encryption(lab) for _ in range(3))


def test_a_program_that_runs_already_is_probed(lab, serving):
    process, port, _ = serving(nginx)
    with lab.recording("-e", "requests", "-p", process.pid) as (recorder, film):
        for i in range(200):
            subprocess.run([tool("curl"), "-s", "-k", f"https://127.0.0.1:{port}/{i}"], check=True, capture_output=True)
            shown = lab.run("report", "--format", "requests-json", film.path)
            if '"/' in shown.stdout:
                break
        recorder.send_signal(2)
        assert recorder.wait(timeout=60) == 0
    requests = requests_of(lab, film)["requests"]
    assert requests and all(r["tls"] and r["pid"] == process.pid for r in requests)
    assert os.path.exists(f"/proc/{process.pid}"), "the program goes on"
