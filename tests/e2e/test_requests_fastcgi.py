# SPDX-License-Identifier: Apache-2.0
"""nginx, php-fpm and a service that PHP asks: requests of FastCGI, and what `explain` says of one that goes through all."""

import glob
import signal
import subprocess
import sys

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_explain import explained, film_has, is_of_machine
from test_requests import nginx_server, of_process, requests_of, serving, tool  # pylint: disable=unused-import

pytestmark = needs_root

PAGES = {
    "small.php": "<?php echo 'small';",
    "big.php": "<?php for ($i = 0; $i < 3000; $i++) echo str_repeat('x', 100);",
    "down.php": "<?php http_response_code(503); error_log('planted');",
    "asks.php": "<?php echo file_get_contents('http://127.0.0.1:' . $_GET['port'] . '/slow');",
}

SLOW = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.take_a_nap()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"slept")
    def take_a_nap(self):
        time.sleep(0.1)
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

FPM = """
[global]
error_log = {folder}/fpm.log
daemonize = no
[www]
user = root
listen = {listen}
pm = static
pm.max_children = 2
"""


def fpm_server(folder, port, where="tcp"):
    found = sorted(glob.glob("/usr/sbin/php-fpm*")) or pytest.skip("php-fpm is missing")
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    (folder / "fpm.conf").write_text(FPM.format(folder=folder, listen=f"127.0.0.1:{port}" if where == "tcp" else folder / "socket"))
    return [found[0], "-R", "-n", "-y", str(folder / "fpm.conf")]


def slow_server(_, port):
    return [sys.executable, "-c", SLOW, str(port)]


@pytest.fixture(params=["tcp", "unix"])
def site(serving, request, tmp_path):
    """nginx in front of php-fpm: it, what the workers of that are, where these listen, and where the site is."""
    if request.param == "tcp":
        fpm, port, folder = serving(fpm_server)
        peer, behind = f"127.0.0.1:{port}", f"127.0.0.1:{port}"
    else:
        fpm, port, folder = serving(fpm_server, where="unix", wait=lambda port: wait_until((tmp_path / str(port) / "socket").exists))
        peer, behind = f"unix socket {folder}/socket", f"unix:{folder}/socket"
    assert wait_until(lambda: len(workers_of(fpm)) == 2)
    what = f"fastcgi_pass {behind}; include fastcgi_params; fastcgi_param SCRIPT_FILENAME {folder}$fastcgi_script_name;"
    nginx, port, logs = serving(nginx_with_parameters, what=what)
    return nginx, workers_of(fpm), peer, f"http://127.0.0.1:{port}", logs


def workers_of(fpm):
    return [int(pid) for pid in subprocess.run(["pgrep", "-P", str(fpm.pid)], check=False, capture_output=True).stdout.split()]


def nginx_with_parameters(folder, port, what):
    (folder / "fastcgi_params").write_text("".join(
        f"fastcgi_param {name} ${name.lower()};\n"
        for name in ("REQUEST_METHOD", "REQUEST_URI", "QUERY_STRING", "CONTENT_TYPE", "CONTENT_LENGTH")))
    return nginx_server(folder, port, what=what.replace("fastcgi_params", str(folder / "fastcgi_params")))


def test_requests_are_those_of_the_servers_own_log(lab, site, tmp_path):
    nginx, workers, peer, url, logs = site
    (tmp_path / "long").write_bytes(b"a" * 100_000)
    cookie = "c" * 5000
    curl = f"{tool('curl')} -s -o /dev/null"
    film = lab.record("-e", "requests", "--keep-query", "-p", ",".join(map(str, [nginx.pid, *workers])), "--", "sh", "-c", f"""
        for i in $(seq 50); do {curl} -H "X-Request-Id: one-$i" {url}/small.php?n=$i {url}/big.php?n=$i; done
        for i in $(seq 5); do {curl} {url}/down.php {url}/none.php; done
        {curl} --data-binary @{tmp_path}/long {url}/small.php?posted; {curl} -H 'Cookie: {cookie}' {url}/small.php?cookie""")
    answer = requests_of(lab, film)
    logged = [(line.split('"')[1].split()[1], int(line.split('"')[2].split()[0])) for line in (logs / "access.log").read_text().splitlines()]
    made = of_process(answer, nginx, "made")
    served = [r for r in answer["requests"] if r["role"] == "served" and r["pid"] in workers]
    assert len(logged) == 112
    for requests in (made, served):
        assert sorted((r["path"], r["status"]) for r in requests) == sorted(logged)
        assert all(r["protocol"] == "fastcgi" and not r["open"] for r in requests)
        assert {r["id"] for r in requests if r["path"].startswith("/small.php?n=")} == {f"one-{i}" for i in range(1, 51)}
        assert all(r["failed"] == (r["status"] >= 500) for r in requests)
        assert all(r["sent" if requests is served else "received"] > 300_000 for r in requests if r["path"].startswith("/big.php"))
    assert all(r["peer"] == peer for r in made)
    dependency, = [d for d in answer["dependencies"] if d["pid"] == nginx.pid]
    assert dependency["count"] == len(made) and dependency["server_comm"].startswith("php-fpm"), dependency
    # of two workers, neither is the one that answered
    if len({r["pid"] for r in served}) == 2:
        assert dependency["server"] is None
    assert not [reason for reason in answer["loss"] if "not what their protocol has" in reason], answer["loss"]


def test_explain_goes_through_php_to_what_it_asked(lab, site, serving):
    """PHP polls one connection until its answer comes: it has work all that time."""
    nginx, workers, _, url, _ = site
    slow, port, _ = serving(slow_server)
    with lab.recording("-e", "threads,requests", "-p", ",".join(map(str, [nginx.pid, slow.pid, *workers]))) as (recorder, film):
        assert wait_until(film.begun)
        asked = [tool("curl"), "-s", f"{url}/asks.php?port={port}"]
        assert wait_until(lambda: subprocess.run(asked, check=True, capture_output=True).stdout == b"slept"
                          and film_has(lab, film, "/asks.php?port=*", 90_000_000))
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0
    request, = explained(lab, film, "-p", nginx.pid)
    cause = first_of(request)
    assert cause["kind"] == "request" and "to GET /asks.php" in cause["words"], request["parts"]
    behind = first_of(cause)
    assert behind["kind"] == "request" and f"the answer of 127.0.0.1:{port} to GET /slow" in behind["words"], cause["parts"]
    nap = first_of(behind)
    assert nap["kind"] == "sleep" and any("take_a_nap" in function for function in nap["stack"]), behind["parts"]


def first_of(part):
    return next(p for p in part["parts"] if not is_of_machine(p))
