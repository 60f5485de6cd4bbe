# SPDX-License-Identifier: Apache-2.0
"""Who may ask the web server, and what it does with requests that are no good."""

import base64
import http.client
import shutil
import ssl
import subprocess
import warnings

import pytest

from asking import (OPEN, PATIENCE, READ, WRITE, Server, certificate, program, send_film,  # noqa: F401 (fixtures)
                    server, start)


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
    one = Server(program, *OPEN, "idle=1", "first=1", "head=1", f"spool={tmp_path_factory.mktemp('spool')}")
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
        assert send_film(server, headers={**film, **headers, "Authorization": ""})[0] == 403, headers
    for headers in ({"Origin": f"http://{own}"}, {"Sec-Fetch-Site": "same-origin"},
                    {"Sec-Fetch-Site": "none"}):
        # from here, but by nobody that is known
        assert send_film(server, headers={**film, **headers, "Authorization": ""})[0] == 401, headers
        assert send_film(server, headers={**film, **headers})[0] == 200, headers


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_token(start, tmp_path, address):
    """Without one there is nothing, on this machine, too; to read and to send are two."""
    server = start(f"address={address}", f"spool={tmp_path}", rules=[f"tokens={READ} read;{WRITE} write"])
    server.host = "127.0.0.1"
    assert server.request("/")[0] in (200, 404)  # the page holds no data
    assert server.request("/health")[0] == 200  # nor does this
    wrong = [None, "", "Bearer", "Bearer ", f"Bearer {READ}x", f"Bearer {READ[:-1]}", f"Bearer x{READ}",
             READ, f"Token {READ}", "Basic !!", "Basic " + base64.b64encode(READ.encode()).decode(),
             f"Bearer {READ}{READ}", "Bearer " + "x" * 5000]
    for value in wrong:
        headers = {} if value is None else {"Authorization": value}
        for path in ("/api/v1/status", "/api/v1/openapi.json", "/metrics", "/nothing"):
            status, answered, _ = server.request(path, headers=headers)
            assert (status, answered["WWW-Authenticate"]) == (401, 'Bearer realm="stackcam"'), value
        assert send_film(server, headers={"X-Stackcam-Number": "1", "Authorization": value or ""})[0] == 401
    for token, reading, sending in ((READ, 200, 403), (WRITE, 403, 200)):
        basic = base64.b64encode(f"user:{token}".encode()).decode()
        for value in (f"Bearer {token}", f"bearer {token}", f"Basic {basic}"):
            headers = {"Authorization": value, "Host": "any.example", "Origin": "http://evil.example"}
            assert server.request("/api/v1/status", headers=headers)[0] == reading
            for path, body in (("/api/v1/films", b"SCMF"), ("/ingest?name=a", b"a;b 1\n")):
                answer = server.request(path, method="POST", body=body, headers={**headers, "X-Stackcam-Host": "h"})
                assert answer[0] == sending, (path, answer)
    assert "16 to" in server.ask("tokens short")
    assert server.request("/api/v1/status", headers=bearer(READ))[0] == 200
    assert server.ask("tokens another-token-of-24-letters") == "changed"
    assert server.request("/api/v1/status", headers=bearer(READ))[0] == 401
    # one that stands alone allows both, as it did when there was one only
    assert server.request("/api/v1/status", headers=bearer("another-token-of-24-letters"))[0] == 200
    assert send_film(server, headers={"X-Stackcam-Number": "2", **bearer("another-token-of-24-letters")})[0] == 200


PUSHES = [("/api/v1/films", {"X-Stackcam-Host": "{}"}, b"SCMF"), ("/ingest?name=a%7Bhostname%3D{}%7D", {}, b"a;b 1\n")]


@pytest.mark.parametrize("path, headers, body", PUSHES, ids=["film", "ingest"])
def test_whose_films_they_are(start, tmp_path, path, headers, body):
    """A token that is bound to a machine is that one's; nobody sends as another, or as the one that is filmed here."""
    one, other, bound = "one-one-one-one-one", "other-other-other", "bound-bound-bound"
    rules = f"{one} write;{other} write;{bound} write host=web1;own-own-own-own-own write host=own"
    server = start(f"spool={tmp_path}", rules=["open=1", f"tokens={rules}"])

    def send(host, token):
        own = {name: value.format(host) for name, value in headers.items()}
        return server.request(path.format(host), method="POST", body=body, headers={**bearer(token), **own})

    assert send("web1", bound)[0] == 200
    status, _, words = send("web2", bound)
    assert status == 403 and b"web1 only" in words
    assert send("web2", one)[0] == send("web2", one)[0] == 200
    status, _, words = send("web2", other)
    assert status == 403 and b"another token" in words
    assert send("web1", one)[0] == 403
    status, _, words = send("own", one)
    assert status == 403 and b"filmed here" in words
    assert send("own", "own-own-own-own-own")[0] == 200
    # a token that is replaced leaves its machines to the next
    assert server.ask(f"tokens {rules.replace(one, 'next-next-next-next')}") == "changed"
    assert send("web2", "next-next-next-next")[0] == 200


def test_a_sender_has_a_quota(start, tmp_path):
    server = start("films=3", f"spool={tmp_path}", rules=["open=1", f"tokens={WRITE} write;second-second-second write"])
    answers = [send_film(server, headers={"X-Stackcam-Number": str(n)}) for n in range(1, 6)]
    assert [status for status, _, _ in answers] == [200] * 3 + [429] * 2
    # a film's part of an hour
    assert 1000 < int(answers[3][1]["Retry-After"]) <= 1201
    other = {**bearer("second-second-second"), "X-Stackcam-Host": "other", "X-Stackcam-Number": "9"}
    assert send_film(server, headers=other)[0] == 200
    assert server.request("/api/v1/status")[0] == 200


def test_who_is_refused_stands_in_the_log(start, tmp_path):
    server = start(f"spool={tmp_path}", rules=[f"tokens={READ} read"])
    # a page that is opened without its token is no attempt at anything
    assert server.request("/api/v1/status")[0] == 401
    assert server.said() == ""
    for _ in range(50):
        assert server.request("/api/v1/status", headers=bearer("not-the-right-token"))[0] == 401
    assert server.said() == "refused a request from 127.0.0.1: the token is not the right one\n"


def test_beyond_loopback_a_token_is_needed(program):
    for words in (["address=0.0.0.0"], ["address=::"], ["address=0.0.0.0", "tokens=short"], ["address=x"],
                  ["address=0.0.0.0", "open=1", f"tokens={READ} read"]):
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == 1 and done.stderr.startswith("stackcam: "), words


def test_tls(start, program, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificates")
    ca, other = certificate(tmp_path, "ca"), certificate(tmp_path, "other")
    own, client = certificate(tmp_path, "server", ca), certificate(tmp_path, "client", ca)
    # of the same CA, for servers: whoever has one could else ask; and one that says it is for clients
    not_client = certificate(tmp_path, "other-server", ca, "extendedKeyUsage=serverAuth")
    is_client = certificate(tmp_path, "agent", ca, "extendedKeyUsage=clientAuth")
    server = start(f"certificate={own[0]}", f"key={own[1]}", f"ca={ca[0]}", "address=0.0.0.0", rules=())
    assert server.scheme == "https"
    seen = {}

    def ask(*mine, version=None):
        context = ssl.create_default_context(cafile=ca[0])
        if version:
            context.minimum_version = context.maximum_version = version
            context.set_ciphers("ALL:@SECLEVEL=0")
        if mine:
            context.load_cert_chain(*mine)
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE, context=context)
        try:
            connection.request("GET", "/api/v1/status")
            answer = connection.getresponse()
            seen.update(answer.headers)
            return answer.status
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    assert ask(*client) == 200
    assert "max-age=" in seen["Strict-Transport-Security"]
    assert ask(*is_client) == 200
    assert ask(*not_client) in (403, None)
    assert ask() in (403, None)
    assert ask(*other) in (403, None)
    versions = ssl.TLSVersion
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        answers = [ask(*client, version=version) for version in
                   (versions.TLSv1, versions.TLSv1_1, versions.TLSv1_2, versions.TLSv1_3)]
    assert answers == [None, None, 200, 200]
    # what is no TLS gets nothing
    assert not server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert ask(*client) == 200
    done = subprocess.run([program, f"certificate={own[1]}", f"key={own[0]}"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "cannot start the web server" in done.stderr
