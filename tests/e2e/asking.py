# SPDX-License-Identifier: Apache-2.0
"""The web server before a store that answers from nothing (tests/unit/server/fake_store.c), and how it is asked."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import tempfile
import urllib.parse

import pytest

from harness import as_from_a_terminal

READ, WRITE = "0123456789abcdef-to-read", "0123456789abcdef-to-write"
# What servers have that films are sent to, and that everybody may ask.
OPEN = ("open=1", f"tokens={WRITE} write;{READ} read")
PATIENCE = 30

# That a parameter has a value, by its name; others take any text.
VALUES = {"from": "1732199520", "to": "2024-11-21T14:33:00Z", "label": "env=prod", "pid": "12,13",
          "tid": "14", "comm": "shop*", "focus": "^parse", "ignore": "x{1,3}", "leaks": "60s", "grown": "1500ms", "by": "process,thread",
          "before_from": "-2d", "before_to": "-1d", "before_label": "env=test", "before_pid": "1",
          "before_tid": "2", "before_by": "image", "name": "parse", "group": "label.env", "lanes": "10.11,10.12", "at": "1732199520.000000001",
          "trace": "4bf92f3577b34da6a3ce929d0e0e4736"}


class Server:
    def __init__(self, program, *words):
        self.log = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.reach(self.process.stdout.readline().strip())

    def reach(self, url):
        self.url = url
        assert url, "it did not start"
        self.scheme, _, place = self.url.rstrip("/").partition("://")
        self.host, _, port = place.rpartition(":")
        self.port = int(port)

    def said(self):
        """Its log so far."""
        self.log.seek(0)
        return self.log.read()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.say(line)
        return self.process.stdout.readline().strip()

    def connection(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def request(self, path, method="GET", body=None, headers=None, **options):
        """(status, headers, body)"""
        connection = self.connection()
        try:
            connection.request(method, path, body=body, headers=headers or {}, **options)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, path, **options):
        status, _, body = self.request(path, **options)
        assert status == 200, body
        return json.loads(body)

    def error(self, path, **options):
        """(status, words)"""
        status, headers, body = self.request(path, **options)
        assert headers["Content-Type"] == "application/json"
        return status, json.loads(body)["error"]

    def raw(self, *pieces):
        """Sends bytes as they are; all that comes back until the server closes, or None: a reset."""
        with socket.create_connection((self.host, self.port), timeout=PATIENCE) as plug:
            try:
                for piece in pieces:
                    plug.sendall(piece)
                plug.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := plug.recv(65536):
                    answer += piece
                return answer
            except TimeoutError:
                raise
            except OSError:
                return None

    def stop(self):
        self.process.stdin.close()
        status = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        return status


class Player(Server):
    """A server of `stackcam play`, and the token of its address."""

    def __init__(self, stackcam, film, *options, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen([stackcam, "play", *options, film], stdout=subprocess.PIPE, text=True,
                                        preexec_fn=as_from_a_terminal, **more)
        self.link = self.process.stdout.readline().strip()
        address, _, self.token = self.link.partition("#token=")
        self.reach(address)

    def request(self, path, method="GET", body=None, headers=None, **options):
        return super().request(path, method, body, {"Authorization": f"Bearer {self.token}", **(headers or {})}, **options)

    def get(self, what, **query):
        """(status, body) of a question to the API."""
        status, _, body = self.request(f"/api/v1/{what}?{urllib.parse.urlencode(query)}")
        return status, body

    def ask(self, what, **query):
        """The answer to a question to the API."""
        status, body = self.get(what, **query)
        assert status == 200, body
        return json.loads(body)

    def end(self):
        """By Ctrl-C; its exit status."""
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        return status


@contextlib.contextmanager
def playing(stackcam, film, *options, **more):
    player = Player(stackcam, film, *options, **more)
    try:
        yield player
    finally:
        assert player.end() == 0


@pytest.fixture(scope="session")
def program(places):
    path = places[0].parents[1] / "tests" / "unit" / "server" / "serve-fake"
    assert path.exists(), "serve-fake was not built: run ninja"
    return str(path)


@pytest.fixture
def start(program):
    servers = []

    def start_one(*words, rules=OPEN):
        servers.append(Server(program, *rules, *words))
        return servers[-1]

    yield start_one
    for server in servers:
        assert server.stop() == 0


@pytest.fixture(scope="module")
def server(program, tmp_path_factory):
    one = Server(program, *OPEN, f"spool={tmp_path_factory.mktemp('spool')}")
    yield one
    assert one.stop() == 0


def value_of(parameter):
    schema = parameter["schema"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "integer":
        return str(schema["maximum"])
    return VALUES.get(parameter["name"], "shop")


def send_film(server, body=b"SCMF", headers=None, **options):
    all_headers = {"X-Stackcam-Host": "host9", "X-Stackcam-Agent": "agent-1",
                   "Authorization": f"Bearer {WRITE}", **(headers or {})}
    return server.request("/api/v1/films", method="POST", body=body, headers=all_headers, **options)


def certificate(folder, name, issuer=None, *more):
    """A key and a certificate, signed by issuer or by itself; more: extensions."""
    key, path = folder / f"{name}.key", folder / f"{name}.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-addext", "keyUsage=digitalSignature,keyCertSign",  # Python 3.13 refuses those without
             "-keyout", key, "-out", path]
    for extension in more:
        words += ["-addext", extension]
    if issuer:
        words += ["-CA", issuer[0], "-CAkey", issuer[1]]
    subprocess.run(words, check=True, capture_output=True)
    return path, key
