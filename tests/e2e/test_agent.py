# SPDX-License-Identifier: Apache-2.0
"""agent: what is filmed here arrives elsewhere, in order and once, whatever is killed in between."""

import contextlib
import gzip
import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from harness import PATIENCE, as_from_a_terminal, free_port, needs_root, running, wait_until
from test_serve import serving
from asking import certificate

TOKEN = "a-token-of-sixteen-or-more"


class LocalServer:
    """An HTTP server of a test, on loopback."""

    def __init__(self, handler, port=0):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class PostHandler(http.server.BaseHTTPRequestHandler):
    """body() reads what is posted, also in chunks; answer() sends a status alone."""
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Receiver(LocalServer):
    """
    A server that takes what is posted to it, and keeps it. answers: what it does with the posts, one after the
    other, then 200: a status, or "drop" to take it and hang up.
    """

    def __init__(self, port=0, answers=()):
        self.posts, self.answers = [], list(answers)
        receiver = self

        class Handler(PostHandler):
            def do_POST(self):
                body = self.body()
                answer = receiver.answers.pop(0) if receiver.answers else 200
                receiver.posts.append((answer, self.path, self.headers, body))
                if answer == "drop":
                    self.close_connection = True
                else:
                    self.answer(answer)

        super().__init__(Handler, port)

    def numbers(self, *answers):
        """Of the films that got one of these answers, in order."""
        return [int(headers["X-Stackcam-Number"]) for answer, _, headers, _ in self.posts
                if not answers or answer in answers]


@contextlib.contextmanager
def agent(lab, *options):
    process = subprocess.Popen([lab.stackcam, "agent", *map(str, options)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=as_from_a_terminal)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=PATIENCE)
        process.stderr.close()


def films_in(spool):
    return sorted(Path(spool).glob("*.film"))


def samples_of(lab, *films):
    """Count and sum of all samples of some films."""
    events = [json.loads(lab.run("report", "--format", "json", film).stdout) for film in films]
    return (sum(film["stacks"]["samples"] for film in events),
            sum(film["event"]["total"] for film in events))


@pytest.fixture(scope="module")
def filmed(shared_lab):
    """A spool with at least five films, which nobody took."""
    spool = shared_lab.folder / "filmed"
    with running(shared_lab.program("threads"), "60"), \
            agent(shared_lab, "--to", f"http://127.0.0.1:{free_port()}", "--spool", spool, "--span", "100ms", "-e", "on-cpu",
                  "-F", "999", "--label", "env=test", "--host", "here") as process:
        enough = wait_until(lambda: len(films_in(spool)) >= 5 or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        words = process.stderr.read()
        assert enough and process.wait(timeout=PATIENCE) == 0, words
    return spool


@pytest.fixture
def spool(filmed, tmp_path):
    """A copy of it."""
    return shutil.copytree(filmed, tmp_path / "spool")


@pytest.fixture
def fast_folder(tmp_path):
    """In memory, where there is such a folder: for many films, each of which must be safe on its disk."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def send(lab, spool, *options):
    return lab.run("agent", "--send-only", "--spool", spool, *options)


@needs_root
def test_films_wait_for_their_server(lab, tmp_path):
    port, spool = free_port(), tmp_path / "spool"
    options = ["--to", f"http://127.0.0.1:{port}", "--spool", spool, "--span", "200ms"]
    with agent(lab, *options) as process:
        assert wait_until(lambda: len(films_in(spool)) >= 3)
        # the second try is after at most three seconds
        time.sleep(3.5)
        process.kill()
        process.wait(timeout=PATIENCE)
        said = process.stderr.read()
    assert said.count("Connection refused; is the server running") == 1 and said.count("\n") == 2, said
    assert f"films go to http://127.0.0.1:{port}\n" in said
    # what was being recorded is completed, and waits with the others; the newest may not have begun
    unfinished = sorted(path.stem for path in spool.glob("*.new"))[:-1]
    waiting = [path.stem for path in films_in(spool)]
    with Receiver(port, [503, "drop"]) as receiver, agent(lab, *options) as process:
        assert wait_until(lambda: len(receiver.numbers(200)) > len(waiting) + 2)
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 0
        said = process.stderr.read()
    # only what was not answered came again, and nothing was left out or came out of order
    first = receiver.numbers()[0]
    assert receiver.numbers()[:3] == [first] * 3
    taken = receiver.numbers(200)
    assert taken == sorted(set(taken))
    assert taken[:len(waiting)] == [int(number) for number in waiting]
    assert set(map(int, unfinished)) <= set(taken)
    assert films_in(spool) == [] and "films wait in the spool" in said and "sending works again" in said
    agents = {headers["X-Stackcam-Agent"] for _, _, headers, _ in receiver.posts}
    assert len(agents) == 1
    # zstd's magic number
    assert all(body[:4] == b"\x28\xb5\x2f\xfd" for _, _, _, body in receiver.posts)


@needs_root
def test_reads_its_configuration_again(lab, tmp_path):
    """At SIGHUP: limits and rules change, the rest is said to wait, mistakes change nothing; it goes on filming."""
    config, spool = tmp_path / "agent.conf", tmp_path / "spool"
    config.write_text(f"to = http://127.0.0.1:{free_port()}\nspan = 200ms\n")
    with agent(lab, "--config", config, "--spool", spool, "--host", "here") as process:
        assert wait_until(lambda: films_in(spool))
        for text, words in (("span = 200ms\nspool-limit = 9MB\nfrequency = 49\n",
                             ["'frequency' was changed", "configuration was read again"]),
                            ("spool-limit = 1\n", [f"{config}:1: --spool-limit takes", "nothing is changed"])):
            config.write_text(f"{text}to = http://127.0.0.1:1\n")
            process.send_signal(signal.SIGHUP)
            for expected in words:
                while expected not in (line := process.stderr.readline()):
                    assert line, f"it did not say {expected}"
        count = len(films_in(spool))
        assert wait_until(lambda: len(films_in(spool)) > count)
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 0


@needs_root
def test_nothing_is_lost_when_all_are_killed(lab, filmed, spool, tmp_path):
    store = tmp_path / "store"
    # the same server each time: one at another address would be another one, and get what is in doubt once more
    options = ("--no-record", "--listen", f"127.0.0.1:{free_port()}")
    films = len(films_in(spool))
    left = films
    while left:
        with serving(lab, store, *options) as serve, \
                agent(lab, "--send-only", "--spool", spool, "--to", serve.url, "--token-file", serve.tokens) as process:
            wanted = max(left - 4, 0)
            assert wait_until(lambda: len(films_in(spool)) <= wanted)
            serve.process.kill()
            process.kill()
        left = len(films_in(spool))
    # as if the answer of the last one had been lost, too
    last = films_in(filmed)[-1]
    shutil.copy(last, spool / last.name)
    with serving(lab, store, *options) as serve:
        assert send(lab, spool, "--to", serve.url, "--token-file", serve.tokens).returncode == 0
        status = serve.get("status")["store"]
        assert (status["taken"], status["again"]) == (0, 1)
        assert serve.end()[0] == 0
    kept = [*store.glob("inbox/*/*.film"), *store.glob("films/*/*/*.film")]
    assert samples_of(lab, *kept) == samples_of(lab, *films_in(filmed))


@needs_root
def test_token_and_certificate(lab, spool, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl makes the certificates")
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text(TOKEN + "\n")
    wrong.write_text("not-" + TOKEN + "\n")
    ca = certificate(tmp_path, "ca")
    own = certificate(tmp_path, "server", ca)
    films = len(films_in(spool))
    with serving(lab, tmp_path / "store", "--no-record", "--token-file", right, "--tls-cert", own[0],
                 "--tls-key", own[1]) as serve:
        url = serve.url.replace("127.0.0.1", "localhost")
        done = send(lab, spool, "--to", url, "--token-file", wrong, "--cacert", ca[0])
        assert done.returncode == 1 and "401" in done.stderr and TOKEN not in done.stderr, done.stderr
        done = send(lab, spool, "--to", url, "--token-file", right)
        assert done.returncode == 1 and "--tls-ca" in done.stderr, done.stderr
        assert len(films_in(spool)) == films
        done = send(lab, spool, "--to", url, "--token-file", right, "--tls-ca", ca[0])
        assert done.returncode == 0, done.stderr
        assert films_in(spool) == []
    # in clear text a token goes nowhere
    done = send(lab, spool, "--to", "http://films.example.com", "--token-file", right)
    assert done.returncode == 2 and "everyone on the way" in done.stderr


@needs_root
def test_what_the_server_cannot_use_is_set_aside(lab, spool, tmp_path):
    damaged = films_in(spool)[1]
    damaged.write_bytes(b"no film")
    with serving(lab, tmp_path / "store", "--no-record") as serve:
        done = send(lab, spool, "--to", serve.url, "--token-file", serve.tokens)
        assert done.returncode == 0 and done.stderr.count("set aside") == 1, done.stderr
    assert [path.name for path in (spool / "aside").iterdir()] == [damaged.name]
    assert films_in(spool) == []


@needs_root
def test_what_had_no_room_is_told(lab, spool, tmp_path):
    """The loss stands in the film behind it, also when that one is sent twice."""
    first = films_in(spool)[0]
    for film in films_in(spool)[1:]:
        film.unlink()
    (spool / "lost").write_text("3\n")
    with Receiver(answers=[503]) as receiver:
        assert send(lab, spool, "--to", receiver.url).returncode == 1
    film = json.loads(lab.run("report", "--format", "json", first).stdout)
    assert 3 in film["loss"].values(), film["loss"]
    with serving(lab, tmp_path / "store", "--no-record") as serve:
        assert send(lab, spool, "--to", serve.url, "--token-file", serve.tokens).returncode == 0
        assert serve.end()[0] == 0
    kept = next((tmp_path / "store").glob("*/*/*.film"))
    loss = json.loads(lab.run("report", "--format", "json", kept).stdout)["loss"]
    assert [count for reason, count in loss.items() if "had no room" in reason] == [3]
    assert (spool / "lost").read_text() == "0\n"


@needs_root
@pytest.mark.parametrize("options", [("--pyroscope",), ("--pyroscope-push", "--pyroscope"), ("--otlp",)],
                         ids=["ingest", "push", "otlp"])
def test_others_get_the_same(lab, filmed, spool, fast_folder, options):
    """stackcam serve takes what Pyroscope and receivers of OTLP take."""
    store = fast_folder / "store"
    for film in films_in(spool)[2:]:
        film.unlink()
    wanted = samples_of(lab, *films_in(filmed)[:2])
    with serving(lab, store, "--no-record") as serve:
        done = send(lab, spool, *options, serve.url, "--token-file", serve.tokens)
        assert done.returncode == 0, done.stderr
        assert serve.end()[0] == 0
    kept = [*store.glob("inbox/*/*.film"), *store.glob("films/*/*/*.film")]
    count, total = samples_of(lab, *kept)
    assert total == wanted[1]
    assert count == wanted[0] or options == ("--otlp",)
    assert {film.parts[-3 if "films" in film.parts else -2] for film in kept} == {"here"}


@needs_root
def test_what_is_sent_to_others(lab, spool):
    """A profile per service, and none of it again after one that was not taken."""
    for film in films_in(spool)[1:]:
        film.unlink()
    with Receiver(answers=[200, 500]) as receiver:
        done = send(lab, spool, "--pyroscope", receiver.url + "/")
        assert done.returncode == 1 and len(films_in(spool)) == 1
        assert send(lab, spool, "--pyroscope", receiver.url + "/").returncode == 0
    names = [path.split("&")[0] for answer, path, _, _ in receiver.posts]
    assert all(name.startswith("/ingest?name=") and name.endswith("%7Bhostname%3Dhere%2Cenv%3Dtest%7D")
               for name in names)
    assert len(set(names)) == len(names) - 2
    for _, path, _, body in receiver.posts:
        assert "format=pprof" in path and len(gzip.decompress(body)) > 100


@needs_root
def test_files_for_pprof(lab, spool, tmp_path):
    folder = tmp_path / "profiles"
    assert send(lab, spool, "--pprof-dir", folder).returncode == 0
    files = list(folder.glob("*/*.on-cpu.pb.gz"))
    assert files and not list(folder.glob("*/*.made"))
    if shutil.which("go"):
        done = subprocess.run(["go", "tool", "pprof", "-raw", *map(str, files)], capture_output=True, text=True,
                              timeout=PATIENCE, env={**os.environ, "PPROF_TMPDIR": str(tmp_path)})
        assert done.returncode == 0 and "cpu/nanoseconds" in done.stdout, done.stderr


def test_usage(lab, tmp_path):
    for options, words in (([], "where do films go"), (["--to", "nowhere"], "is not the address of a server"),
                           (["--to", "http://a", "--otlp", "http://b"], "one place"),
                           (["--to", "http://a", "--tls-cert", "x"], "need each other"),
                           (["--to", "http://a", "--spool-limit", "1"], "at least 1MB"),
                           (["--to", "http://a", "--span", "1ms"], "--span"),
                           (["--to", "http://a", "--pyroscope-push"], "needs --pyroscope"),
                           (["--to", "http://a", "--host", "a b"], "--host"),
                           (["--to", "http://a", "x"], "not an option")):
        done = lab.run("agent", "--spool", tmp_path / "spool", *options)
        assert done.returncode == 2 and words in done.stderr, (options, done.stderr)
    assert not (tmp_path / "spool").exists()
    (tmp_path / "conf").write_text("otlp = http://a\nspan = 1h\nno-such = x\n")
    done = lab.run("agent", "--config", tmp_path / "conf")
    assert done.returncode == 1 and "no-such" in done.stderr
