# SPDX-License-Identifier: Apache-2.0
"""agent with several collectors: whatever breaks off, is away, is full or is killed, each film is kept once."""

import contextlib
import http.client
import re
import shutil
import signal
import urllib.request

import pytest

from harness import PATIENCE, free_port, needs_root, running, wait_until
from test_agent import LocalServer, PostHandler, Receiver, agent, filmed, films_in, samples_of, send, spool  # noqa: F401: fixtures
from test_serve import serving

TOKEN = "a-token-of-sixteen-or-more"
COPIES = 2


class Proxy(LocalServer):
    """
    Before a collector. answers: what it does with posts, one after the other, then it passes them on: a status, which
    the collector never hears of, or "lost": the collector keeps the film, and its answer does not arrive; or "killed":
    the same, and kill() is called.
    """

    def __init__(self, url, answers=()):
        self.numbers, self.answers, self.kill = [], list(answers), None
        where = url.removeprefix("http://")
        proxy = self

        class Handler(PostHandler):
            def do_POST(self):
                body = self.body()
                answer = proxy.answers.pop(0) if proxy.answers else "pass"
                proxy.numbers.append(int(self.headers["X-Stackcam-Number"]))
                status = answer if isinstance(answer, int) else self.passed_on(body)
                if answer == "killed":
                    proxy.kill()
                if answer in ("lost", "killed") or not status:
                    self.close_connection = True
                else:
                    self.answer(status)

            def passed_on(self, body):
                """Its status; None: the collector is away."""
                connection = http.client.HTTPConnection(where, timeout=PATIENCE)
                headers = {name: value for name, value in self.headers.items()
                           if name.startswith(("X-", "Content-", "Authorization"))}
                with contextlib.closing(connection):
                    try:
                        connection.request("POST", self.path, body, headers)
                        return connection.getresponse().status
                    except OSError:
                        return None

        super().__init__(Handler)


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(TOKEN + "\n")
    path.chmod(0o600)
    return path


@contextlib.contextmanager
def collector(lab, tmp_path, tokens, name, port=0):
    with serving(lab, tmp_path / name, "--no-record", "--token-file", tokens, "--listen", f"127.0.0.1:{port}") as serve:
        yield serve


def kept(lab, tmp_path, *names):
    """Count and sum of the samples of all films that these collectors have."""
    films = [film for name in names
             for film in [*(tmp_path / name).glob("inbox/*/*.film"), *(tmp_path / name).glob("films/*/*/*.film")]]
    return samples_of(lab, *films)


def make_many(spool, copies=COPIES):
    """Each film as many times, under rising numbers."""
    films = films_in(spool)
    last = int((spool / "last").read_text())
    for i in range((copies - 1) * len(films)):
        shutil.copy(films[i % len(films)], spool / f"{last + 1 + i:020}.film")


@needs_root
def test_breaks_off(lab, filmed, spool, tmp_path, tokens):
    """A collector keeps the film, and its answer is lost: another one must not get it."""
    with collector(lab, tmp_path, tokens, "a") as a, collector(lab, tmp_path, tokens, "b") as b, \
            Proxy(a.url, ["lost"]) as at_a, Proxy(b.url, ["lost"]) as at_b:
        options = ["--to", f"{at_a.url},{at_b.url}", "--token-file", tokens]
        done = send(lab, spool, *options)
        assert done.returncode == 1 and done.stderr.count("it may have that film") == 2, done.stderr
        assert [len(at_a.numbers), len(at_b.numbers)] == [1, 1]
        assert len({*at_a.numbers, *at_b.numbers}) == 2 and len(films_in(spool)) == len(films_in(filmed))
        done = send(lab, spool, *options)
        assert done.returncode == 0 and films_in(spool) == [], done.stderr
        again = [serve.get("status", TOKEN)["store"]["again"] for serve in (a, b)]
        assert again == [1, 1]
        # what one was asked first about, the other never saw
        assert not set(at_a.numbers) & set(at_b.numbers)
        assert a.end()[0] == 0 and b.end()[0] == 0
    assert kept(lab, tmp_path, "a", "b") == samples_of(lab, *films_in(filmed))


def metrics(serve):
    request = urllib.request.Request(f"{serve.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    return urllib.request.urlopen(request, timeout=PATIENCE).read().decode()


def agents_of(serve):
    """What its /metrics say of agents."""
    return {name: float(value) for name, value in re.findall(r"^stackcam_agents(?:_(\w+))? (\S+)$", metrics(serve), re.MULTILINE)}


def series_of_agents(serve):
    """Those of agents that are behind: ids and bytes."""
    found = re.findall(r'^stackcam_agent_waiting_bytes\{agent="(.+)"\} (\d+)$', metrics(serve), re.MULTILINE)
    return {(agent, int(count)) for agent, count in found}


@needs_root
def test_one_is_killed(lab, filmed, spool, tmp_path, tokens):
    """The film that it may have is counted by the agent, and by the collector that gets the others, until it is confirmed."""
    ports, count = (free_port(), free_port()), len(films_in(spool))
    with collector(lab, tmp_path, tokens, "a", ports[0]) as a, collector(lab, tmp_path, tokens, "b", ports[1]) as b, \
            Proxy(a.url) as at_a, Proxy(b.url) as at_b:
        options = ["--to", f"{at_a.url},{at_b.url}", "--token-file", tokens]
        # whichever gets the first film
        at_a.answers = at_b.answers = ["killed"]
        at_a.kill, at_b.kill = a.process.kill, b.process.kill
        done = send(lab, spool, *options)
        assert done.returncode == 1, done.stderr
        a_is_killed = a.process.poll() is not None
        killed, other = (0, b) if a_is_killed else (1, a)
        assert re.findall(r"films in doubt \(sent, not confirmed\): (\d+); films that wait: (\d+), the oldest began \d+ s ago",
                          done.stderr)[0] == ("1", str(count)), done.stderr
        told = agents_of(other)
        assert told.pop("oldest_film_seconds") > 0, told
        assert len(films_in(spool)) == 1
        waiting = films_in(spool)[0].stat().st_size
        assert told == {"": 1, "behind": 1, "films_waiting": 1, "films_in_doubt": 1, "bytes_waiting": waiting}
        assert series_of_agents(other) == {((spool / "agent").read_text().strip(), waiting)}
        with collector(lab, tmp_path, tokens, "ab"[killed], ports[killed]) as again:
            done = send(lab, spool, *options)
            assert done.returncode == 0 and films_in(spool) == [] and "in doubt" not in done.stderr, done.stderr
            assert again.get("status", TOKEN)["store"]["again"] == 1
            assert agents_of(again) == {"": 1, "behind": 0, "films_waiting": 0, "films_in_doubt": 0, "bytes_waiting": 0,
                                        "oldest_film_seconds": 0}
            assert series_of_agents(again) == set()
            assert again.end()[0] == 0
        assert other.end()[0] == 0
    assert kept(lab, tmp_path, "a", "b") == samples_of(lab, *films_in(filmed))


@needs_root
@pytest.mark.parametrize("status", [503, 507, 429, 403])
def test_refuses(lab, filmed, spool, tmp_path, tokens, status):
    with collector(lab, tmp_path, tokens, "a") as a, collector(lab, tmp_path, tokens, "b") as b, \
            Proxy(a.url, [status] * 100) as full:
        done = send(lab, spool, "--to", f"{full.url},{b.url}", "--token-file", tokens)
        assert done.returncode == 0 and films_in(spool) == [], done.stderr
        assert done.stderr.count("films go to another server") == (1 if full.numbers else 0)
        assert a.end()[0] == 0 and b.end()[0] == 0
    assert kept(lab, tmp_path, "b") == samples_of(lab, *films_in(filmed))


@needs_root
def test_away(lab, filmed, spool, tmp_path, tokens):
    """Away at the start; both away; both back."""
    ports = free_port(), free_port()
    options = ["--to", ",".join(f"http://127.0.0.1:{port}" for port in ports), "--token-file", tokens]
    assert send(lab, spool, *options).returncode == 1
    assert len(films_in(spool)) == len(films_in(filmed))
    with collector(lab, tmp_path, tokens, "b", ports[1]) as b:
        done = send(lab, spool, *options)
        assert done.returncode == 0 and films_in(spool) == [], done.stderr
        assert b.end()[0] == 0
    shutil.rmtree(spool / "aside", ignore_errors=True)
    first = films_in(filmed)[-1]
    newer = int((spool / "last").read_text()) + 1
    shutil.copy(first, spool / f"{newer:020}.film")
    with collector(lab, tmp_path, tokens, "a", ports[0]) as a:
        assert send(lab, spool, *options).returncode == 0
        assert a.end()[0] == 0
    wanted, more = samples_of(lab, *films_in(filmed)), samples_of(lab, first)
    assert kept(lab, tmp_path, "a", "b") == (wanted[0] + more[0], wanted[1] + more[1])


@needs_root
def test_all_are_killed(lab, filmed, spool, tmp_path, tokens):
    """Collectors and the agent are killed with -9 while films are on their way, each in turn, until all are sent."""
    make_many(spool)
    ports, left, turn = (free_port(), free_port()), len(films_in(spool)), 0
    options = ["--send-only", "--spool", spool, "--token-file", tokens, "--to",
               ",".join(f"http://127.0.0.1:{port}" for port in ports)]
    while left:
        with collector(lab, tmp_path, tokens, "a", ports[0]) as a, \
                collector(lab, tmp_path, tokens, "b", ports[1]) as b, agent(lab, *options) as process:
            for serve in ((a, b), (b, a))[turn % 2]:
                wanted = max(len(films_in(spool)) - 3, 0)
                assert wait_until(lambda: len(films_in(spool)) <= wanted or process.poll() is not None)
                serve.process.kill()
            process.kill()
        left, turn = len(films_in(spool)), turn + 1
    assert turn > 1
    count, total = samples_of(lab, *films_in(filmed))
    assert kept(lab, tmp_path, "a", "b") == (COPIES * count, COPIES * total)


@needs_root
def test_is_not_named_any_more(lab, filmed, spool, tmp_path, tokens):
    """What a collector may have goes to another one when a user names it no more, and the log says what that means."""
    with collector(lab, tmp_path, tokens, "a") as a, collector(lab, tmp_path, tokens, "b") as b:
        with Proxy(a.url, ["lost"]) as at_a:
            assert send(lab, spool, "--to", at_a.url, "--token-file", tokens).returncode == 1
        done = send(lab, spool, "--to", b.url, "--token-file", tokens)
        assert done.returncode == 0 and films_in(spool) == [], done.stderr
        assert done.stderr.count("if it has it, it counts twice") == 1, done.stderr
        assert a.end()[0] == 0 and b.end()[0] == 0
    assert kept(lab, tmp_path, "b") == samples_of(lab, *films_in(filmed))


@needs_root
def test_comes_back_later(lab, tmp_path):
    """An agent that films: one collector after the other refuses or hangs up, and gets films again."""
    spool = tmp_path / "spool"
    with Receiver() as a, Receiver() as b, running(lab.program("threads"), "60"), \
            agent(lab, "--to", f"{a.url},{b.url}", "--spool", spool, "--span", "100ms", "-e", "on-cpu") as process:
        assert wait_until(lambda: a.numbers(200) or b.numbers(200))
        usual, other = (a, b) if a.numbers(200) else (b, a)
        # until another film, which must not wait for this one, is with the other collector
        usual.answers += ["drop"] * 1000
        assert wait_until(lambda: usual.numbers("drop") and other.numbers(200))
        usual.answers.clear()
        dropped = usual.numbers("drop")[0]
        # it is asked again, and only it
        assert wait_until(lambda: dropped in usual.numbers(200))
        before = len(usual.numbers(200))
        assert wait_until(lambda: len(usual.numbers(200)) > before + 2)
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(timeout=PATIENCE) == 0, said
    taken = usual.numbers(200) + other.numbers(200)
    assert len(taken) == len(set(taken)) and dropped not in other.numbers()
    assert films_in(spool) == [], said
    assert "it may have that film" in said and f"films go to {usual.url} again" in said


def test_usage(lab, tmp_path):
    for where, words in (("http://127.0.0.1:1,", "no address"), ("http://127.0.0.1:1,http://127.0.0.1:1/", "named twice"),
                         ("http://127.0.0.1:1,nowhere", "is not the address of a server"),
                         ("http://127.0.0.1:1,http://u:secret@127.0.0.1:2", "name and password"),
                         (",".join(f"http://127.0.0.1:{i + 1}" for i in range(17)), "at most 16 servers")):
        done = lab.run("agent", "--spool", tmp_path / "spool", "--to", where)
        assert done.returncode == 2 and words in done.stderr and "secret" not in done.stderr, (where, done.stderr)
