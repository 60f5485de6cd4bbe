# SPDX-License-Identifier: Apache-2.0
"""Who may ask the web server, and what it does with requests that are no good."""

import base64
import http.client
import shutil
import ssl
import subprocess

import pytest

from asking import (PATIENCE, TOKEN, Server, certificate, program, send_film, server,  # noqa: F401 (fixtures)
                    start)


def test_headers_of_safety(server):
    for path in ("/", "/api/v1/status", "/nothing", "/api/v1/flame?x=1"):
        headers = server.request(path)[1]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert "Access-Control-Allow-Origin" not in headers
        assert "Set-Cookie" not in headers


@pytest.mark.parametrize("path", [
    "/../../etc/passwd", "/assets/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
    "/assets/%2e%2e%2fetc%2fpasswd", "/assets/", "/assets", "/assets/app.js%00.html", "/api/v1/status%00",
    "/api/v1/status/", "/API/v1/status", "/api/v1/%73tatus", "/" + "a" * 5000, "/.git/config", "/;/", "/\\",
    "/api/v1/status/../status", "http://127.0.0.1/etc/passwd",
], ids=range(18))
def test_paths_lead_nowhere(server, path):
    answer = server.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")), answer[:100]
    assert b"root:" not in answer


@pytest.fixture(scope="module")
def impatient(program, tmp_path_factory):
    """Ends who says nothing for a second: a request that never ends is waited for."""
    one = Server(program, "idle=1", f"spool={tmp_path_factory.mktemp('spool')}")
    yield one
    assert one.stop() == 0


BROKEN = [
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nSSSSSS",
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"POST /api/v1/films HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x5\r\n\r\nSSSSS",
    b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET /api/v1/status HTTP/1.1\r\n\r\n",
    b"GET /api/v1/status HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x00" * 100, b"GET\r\n\r\n", b"\r\n" * 50,
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 60000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
    b"GET /" + b"a" * 60000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_broken_requests(impatient, number):
    answer = impatient.raw(BROKEN[number])
    assert not answer or answer.split(b" ")[1][:1] in (b"4", b"5"), answer[:200]
    assert impatient.json("/api/v1/status")["store"]["films"] == 3


def test_a_request_behind_another_is_one_of_its_own(server):
    inner = b"GET /api/v1/nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = server.raw(b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n" + inner)
    assert answer.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 404" in answer


def test_pages_of_other_sites(server):
    """A name that was made to lead to 127.0.0.1, and forms that send."""
    for host in ("evil.example", "evil.example:7171", "localhost.evil.example", "127.0.0.1.evil.example",
                 "localhost:80x", ""):
        assert server.error("/api/v1/status", headers={"Host": host})[0] in (400, 403), host
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:7171", "[::1]:7171"):
        assert server.request("/api/v1/status", headers={"Host": host})[0] == 200
    film = {"X-Stackcam-Number": "90"}
    own = f"127.0.0.1:{server.port}"
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost:1"}):
        assert send_film(server, headers={**film, **headers})[0] == 403, headers
    for headers in ({"Origin": f"http://{own}"}, {"Sec-Fetch-Site": "same-origin"},
                    {"Sec-Fetch-Site": "none"}):
        assert send_film(server, headers={**film, **headers})[0] == 200, headers


def test_token(start, tmp_path):
    server = start(f"token={TOKEN}", "address=0.0.0.0", f"spool={tmp_path}")
    server.host = "127.0.0.1"
    assert server.request("/")[0] in (200, 404)  # the page holds no data
    basic = base64.b64encode(f"user:{TOKEN}".encode()).decode()
    wrong = [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Bearer x{TOKEN}",
             TOKEN, f"Token {TOKEN}", "Basic !!", "Basic " + base64.b64encode(TOKEN.encode()).decode(),
             f"Bearer {TOKEN}{TOKEN}", "Bearer " + "x" * 5000]
    for value in wrong:
        headers = {} if value is None else {"Authorization": value}
        for path in ("/api/v1/status", "/api/v1/openapi.json", "/nothing"):
            status, answered, _ = server.request(path, headers=headers)
            assert (status, answered["WWW-Authenticate"]) == (401, 'Bearer realm="stackcam"'), value
        assert send_film(server, headers={"X-Stackcam-Number": "1", **headers})[0] == 401
    for value in (f"Bearer {TOKEN}", f"bearer {TOKEN}", f"Basic {basic}"):
        headers = {"Authorization": value, "Host": "any.example", "Origin": "http://evil.example"}
        assert server.request("/api/v1/status", headers=headers)[0] == 200
        assert send_film(server, headers={"X-Stackcam-Number": "1", **headers})[0] == 200
    assert "16 to" in server.ask("token short")
    assert server.request("/api/v1/status", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
    assert server.ask("token another-token-of-24-letters") == "changed"
    assert server.request("/api/v1/status", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 401


def test_beyond_loopback_a_token_is_needed(program):
    for words in (["address=0.0.0.0"], ["address=::"], ["address=0.0.0.0", "token=short"], ["address=x"]):
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == 1 and done.stderr.startswith("stackcam: "), words


def test_tls(start, program, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificates")
    ca, other = certificate(tmp_path, "ca"), certificate(tmp_path, "other")
    own, client = certificate(tmp_path, "server", ca), certificate(tmp_path, "client", ca)
    server = start(f"certificate={own[0]}", f"key={own[1]}", f"ca={ca[0]}", "address=0.0.0.0")
    assert server.scheme == "https"

    def ask(*mine):
        context = ssl.create_default_context(cafile=ca[0])
        if mine:
            context.load_cert_chain(*mine)
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE, context=context)
        try:
            connection.request("GET", "/api/v1/status")
            return connection.getresponse().status
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    assert ask(*client) == 200
    assert ask() in (403, None)
    assert ask(*other) in (403, None)
    # what is no TLS gets nothing
    assert not server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert ask(*client) == 200
    done = subprocess.run([program, f"certificate={own[1]}", f"key={own[0]}"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "cannot start the web server" in done.stderr
