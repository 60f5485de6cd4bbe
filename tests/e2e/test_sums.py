# SPDX-License-Identifier: Apache-2.0
"""serve --sums: the same answers from ClickHouse as from the folder; each sample once, however often it is sent."""

import contextlib
import json
import re
import shutil
import sqlite3
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clickhouse import clickhouse, current_engine
from harness import PATIENCE, free_port, needs_root
from test_serve import serving

pytestmark = needs_root

HOURS = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T04:00:00Z"}
LATE = {"from": "2026-01-01T01:00:00Z", "to": "2026-01-01T03:00:00Z"}
# One list for both stores: what sums answer.
QUESTIONS = (
    ("series", HOURS),
    ("series", {**HOURS, "host": "host-001"}),
    ("series", {**LATE, "service": "svc-1", "version": "0102010304050607"}),
    ("series", {"from": "2026-01-01T00:07:00Z", "to": "2026-01-01T02:51:00Z"}),
    ("timeline", {**HOURS, "group": "service", "steps": 240}),
    ("timeline", {**HOURS, "group": "host", "steps": 4}),
    ("timeline", {**LATE, "service": "svc-0"}),
    ("flame", HOURS),
    ("flame", {**HOURS, "service": "svc-2"}),
    ("flame", {**LATE, "service": "svc-1", "by": "image"}),
    ("functions", {**LATE, "limit": 10000}),
    ("functions", {**HOURS, "service": "svc-0", "limit": 20}),
    ("functions", {**HOURS, "service": "svc-without-samples"}),
)
DIFF = ("diff", {**LATE, "before_from": "2026-01-01T00:00:00Z", "before_to": "2026-01-01T01:00:00Z", "service": "svc-1"})
# Where the folder would read so few films, ClickHouse still answers, as its films are not all.
NAMED = (
    ("functions", {**HOURS, "focus": "list_cache", "limit": 10000}),
    ("functions", {**HOURS, "service": "svc-1", "focus": "(list|find)_", "ignore": "::open", "limit": 10000}),
    ("functions", {**HOURS, "focus": "no_function_has_this_name"}),
)
ALL_SENT = r"ClickHouse has all sums of this store"


def get(serve, path, token=None):
    request = urllib.request.Request(f"{serve.url}/{path}",
                                     headers={"Authorization": f"Bearer {token or serve.made_token('read')}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def ask(serve, question, token=None):
    what, query = question
    return get(serve, f"api/v1/{what}?{urllib.parse.urlencode(query)}", token)


def metric(serve, name):
    return float(re.search(rf"^{name} (\S+)$", get(serve, "metrics").decode(), re.MULTILINE)[1])


def canonical(body):
    """An answer where numbers of labels and nodes, which follow the order in which they were met, are names and paths."""
    answer = json.loads(body)
    if "nodes" not in answer:
        return body
    labels, nodes = answer.pop("labels"), answer.pop("nodes")
    names = list(zip(*(labels[column] for column in sorted(labels)), strict=True))
    columns = sorted(set(nodes) - {"parent", "label"})
    paths = []
    for parent, label in zip(nodes["parent"], nodes["label"], strict=True):
        paths.append((*paths[parent], names[label]) if paths else ())
    rows = sorted(zip(paths, *(nodes[column] for column in columns), strict=True))
    return answer, columns, rows


def ask_all(serve, questions):
    return [canonical(ask(serve, question)) for question in questions]


def assert_same_diff(serve, expected):
    """What was before is scaled to the time of now, and how it is rounded depends on the order of the nodes."""
    answer, columns, rows = canonical(ask(serve, DIFF))
    assert (answer, columns) == expected[:2]
    assert columns[:2] == ["before_self", "before_total"]
    assert [(path, *now) for path, _, _, *now in rows] == [(path, *now) for path, _, _, *now in expected[2]]
    assert all(abs(a[i] - b[i]) < 10 for a, b in zip(rows, expected[2], strict=True) for i in (1, 2))


def options(*more):
    return ("--no-record", "--keep-age", "0", "--keep-size", "0", *more)


@pytest.fixture(scope="module")
def server(shared_lab, tmp_path_factory):
    with clickhouse(shared_lab, tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


@pytest.fixture(scope="module")
def store(shared_lab, tmp_path_factory):
    """Three hosts with three services over four hours, as serve leaves films that are over."""
    folder = tmp_path_factory.mktemp("store")
    measure = Path(shared_lab.stackcam).parents[1] / "tests/unit/store/measure_store"
    for words in (("make", folder, 3, 4, 3, 60, 30000), ("pack", folder)):
        subprocess.run([str(word) for word in (measure, *words)], check=True, capture_output=True)
    return folder


def samples(server):
    return server.number("SELECT sum(samples) FROM series_minute FINAL"), server.number("SELECT count() FROM sums_hour FINAL")


def test_same_answers(shared_lab, server, store, tmp_path):
    """Byte for byte: by the folder, by the same collector from ClickHouse, and by one that has no film at all."""
    with serving(shared_lab, store, *options()) as serve:
        expected = ask_all(serve, QUESTIONS)
        diff = canonical(ask(serve, DIFF))
        read = [json.loads(ask(serve, question)) for question in NAMED]
        assert json.loads(expected[0])["sum"]["samples"] == 30000
    with serving(shared_lab, store, *options("--sums", server.url)) as serve:
        serve.hear(ALL_SENT)
        assert metric(serve, "stackcam_sums_until_timestamp_seconds") > time.time() - 60
        assert metric(serve, "stackcam_sums_lost_total") == 0
        assert ask_all(serve, QUESTIONS) == expected
        assert_same_diff(serve, diff)
        named = [json.loads(ask(serve, question)) for question in NAMED]
    empty = tmp_path / "empty"
    with serving(shared_lab, empty, *options("--sums", server.url)) as serve:
        serve.hear(ALL_SENT)
        assert ask_all(serve, QUESTIONS) == expected
        assert [json.loads(ask(serve, question)) for question in NAMED] == named
    assert server.number("SELECT count() FROM collectors FINAL") == 2
    # what the folder says of those names by reading its films
    assert all(answer["sum"]["by_paths"] for answer in named)
    assert [answer["functions"] for answer in named] == [answer["functions"] for answer in read]
    assert [answer["sum"]["total"] for answer in named] == [answer["sum"]["total"] for answer in read]
    assert named[0]["sum"]["total"] > named[2]["sum"]["total"] == 0


def test_current_engine(request, shared_lab, store, tmp_path):
    """The language of a current ClickHouse: each statement, and the same answers."""
    with current_engine(request.config.getoption("--build"), tmp_path) as url:
        done = shared_lab.run("doctor", "--sums", url)
        assert done.returncode == 0, done.stdout
        copy = tmp_path / "store"
        shutil.copytree(store, copy, ignore=shutil.ignore_patterns("collector", "sums.db*"))
        with serving(shared_lab, copy, *options()) as serve:
            expected = ask_all(serve, QUESTIONS)
            read = [json.loads(ask(serve, question))["functions"] for question in NAMED]
        with serving(shared_lab, copy, *options("--sums", url)) as serve:
            serve.hear(ALL_SENT)
            assert ask_all(serve, QUESTIONS) == expected
            assert [json.loads(ask(serve, question))["functions"] for question in NAMED] == read


def test_sent_again_counts_once(shared_lab, server, store):
    """A collector that has lost its list sends all again, and one that was killed goes on; other collectors add up."""
    before = samples(server)
    assert before[0] == 30000
    (store / "sums.db").unlink()
    with serving(shared_lab, store, *options("--sums", f"http://127.0.0.1:{free_port()},{server.url}")) as serve:
        serve.hear(ALL_SENT)
    assert samples(server) == before
    server.end()
    server.start()
    assert samples(server) == before


def test_another_collector_adds_up(shared_lab, server, store, tmp_path):
    before = samples(server)
    other = tmp_path / "other"
    shutil.copytree(store, other, ignore=shutil.ignore_patterns("collector", "sums.db*"))
    with serving(shared_lab, other, *options("--sums", server.url)) as serve:
        serve.hear(ALL_SENT)
        answer = json.loads(ask(serve, ("flame", HOURS)))
    assert answer["sum"]["samples"] == 60000
    assert samples(server) == (2 * before[0], 2 * before[1])


def test_away(shared_lab, store, tmp_path):
    """Sums wait for a ClickHouse that is not there; a question that needs it fails, and films are still asked."""
    port = free_port()
    copy = tmp_path / "store"
    shutil.copytree(store, copy, ignore=shutil.ignore_patterns("collector", "sums.db*"))
    with serving(shared_lab, copy, *options("--sums", f"http://127.0.0.1:{port}")) as serve:
        serve.hear(r"cannot \w+ \w+ http://127\.0\.0\.1:\d+.*; sums wait until it works")
        with pytest.raises(urllib.error.HTTPError) as failed:
            ask(serve, ("series", HOURS))
        assert failed.value.code >= 500
        assert f"127.0.0.1:{port}" in json.loads(failed.value.read())["error"]
        assert json.loads(ask(serve, ("processes", LATE)))["sum"]["by_films"]
        status, seconds = serve.end()
    assert status == 0
    assert seconds < 10
    # the list knows what there is to send, so that what retention removes meanwhile is counted as lost
    with contextlib.closing(sqlite3.connect(copy / "sums.db")) as ledger:
        assert ledger.execute("SELECT sum(seen), sum(sent) FROM sent").fetchone() == (30000, 0)


TEAM = "0123456789abcdef-of-a-team"


def test_a_token_sees_its_services_alone(shared_lab, server, store, tmp_path):
    """Of all services, and of others, ClickHouse has more than the client may see."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TEAM} read services=svc-1\n")
    tokens.chmod(0o600)
    with serving(shared_lab, store, *options("--sums", server.url, "--token-file", tokens)) as serve:
        serve.hear(ALL_SENT)
        for question in (*QUESTIONS, *NAMED):
            answer = ask(serve, question, TEAM)
            assert not re.search(rb"svc-?[02]", answer), question
        assert json.loads(ask(serve, ("flame", {**HOURS, "service": "svc-1"}), TEAM))["sum"]["samples"] > 0
        assert json.loads(ask(serve, ("flame", {**HOURS, "service": "svc-2"}), TEAM))["sum"]["samples"] == 0


class Garbage(BaseHTTPRequestHandler):
    """Says that the tables are there, and then what is not an answer."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        sql = self.rfile.read(int(self.headers["Content-Length"]))
        answer, status = b"", 200
        if b"FROM stackcam_schema" in sql:
            answer = struct.pack("<Q", 1)
        elif sql.startswith(self.server.to):
            answer, status = self.server.garbage, self.server.status
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@contextlib.contextmanager
def garbage():
    with ThreadingHTTPServer(("127.0.0.1", 0), Garbage) as stand_in:
        stand_in.garbage, stand_in.status, stand_in.to = b"", 200, b"SELECT"
        threading.Thread(target=stand_in.serve_forever, daemon=True).start()
        try:
            yield stand_in
        finally:
            stand_in.shutdown()


def test_garbage(shared_lab, tmp_path):
    """Answers that are cut short, or claim to be larger than they are, are errors; and serve goes on."""
    pieces = (b"\xff" * 100, b"\x01", b"\xff" * 8 + b"\xff" * 9 + b"\x01", struct.pack("<Q", 1) + b"\x80\x80\x01" + bytes(8),
              struct.pack("<Q", 1) + b"\x02" + bytes(16) + b"\x05abc", b"\x04host\x03")
    with garbage() as stand_in:
        address = f"http://127.0.0.1:{stand_in.server_port}"
        with serving(shared_lab, tmp_path / "store", *options("--sums", address)) as serve:
            serve.hear(ALL_SENT)
            for stand_in.garbage in pieces:
                for question in (*QUESTIONS[:1], *QUESTIONS[7:9], NAMED[1]):
                    with pytest.raises(urllib.error.HTTPError) as failed:
                        ask(serve, question)
                    assert json.loads(failed.value.read())["error"]
            # stacks alone: without their last bytes, deeper than any is, of more than 64 bits
            one, deep = struct.pack("<Q", 1), 16385
            stacks = (one + b"\x02" + bytes(16) + b"\x02\x00", one + b"\x81\x80\x01" + bytes(8 * deep) + b"\x81\x80\x01" + bytes(deep),
                      2 * (b"\xff" * 8 + b"\x01" + bytes(8) + b"\x01\x00"))
            stand_in.to = b"SELECT spent"
            for stand_in.garbage, words in zip(stacks, ("asked for", "asked for", "64 bits"), strict=True):
                with pytest.raises(urllib.error.HTTPError) as failed:
                    ask(serve, QUESTIONS[7])
                assert words in json.loads(failed.value.read())["error"]
            stand_in.to = b"SELECT"
            # its words are text, whatever they are
            stand_in.status, stand_in.garbage = 500, b"Code: 47, \x1b[31m<b>\n" * 50
            with pytest.raises(urllib.error.HTTPError) as failed:
                ask(serve, QUESTIONS[0])
            words = json.loads(failed.value.read())["error"]
            assert "status 500: Code: 47" in words and "\n" not in words
            stand_in.status, stand_in.garbage = 200, b""
            assert json.loads(ask(serve, QUESTIONS[8]))["sum"]["samples"] == 0


def test_a_server_that_is_not_well(lab, server, store, tmp_path):
    """The next address is asked where a server has lost its ZooKeeper; not where a statement is refused, as all would."""
    with garbage() as stand_in:
        stand_in.to, stand_in.status = b"", 500
        addresses = f"http://127.0.0.1:{stand_in.server_port},{server.url}"
        for code, database in ((242, "well"), (999, "also_well")):
            stand_in.garbage = f"Code: {code}, e.displayText() = DB::Exception: Table is in readonly mode\n".encode()
            copy = tmp_path / database
            shutil.copytree(store, copy, ignore=shutil.ignore_patterns("collector", "sums.db*"))
            with serving(lab, copy, *options("--sums", f"{addresses}/{database}")) as serve:
                serve.hear(ALL_SENT)
            assert server.ask_any(f"SELECT sum(samples) FROM {database}.series_minute FINAL") == "30000"
        stand_in.garbage = b"Code: 497, e.displayText() = DB::Exception: not enough privileges\n"
        with serving(lab, tmp_path / "refused", *options("--sums", f"{addresses}/refused")) as serve:
            serve.hear(r"status 500: Code: 497.*; sums wait until it works")
    assert "refused" not in server.ask_any("SHOW DATABASES")


def test_doctor(lab, server):
    done = lab.run("doctor", "--sums", server.url, "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["sums"] is True, done.stdout
    assert len(answer["statements"]) > 20
    assert {line["state"] for line in answer["statements"]} == {"ok"}
    # nothing is left behind
    assert "stackcam_doctor" not in server.ask("SHOW DATABASES")
    # a table that is not what it should be: what fails is said, in the server's own words
    done = lab.run("doctor", "--sums", f"http://nobody:wrong@127.0.0.1:{server.port}")
    assert done.returncode == 1
    assert "failed" in done.stdout and "wrong" not in done.stdout + done.stderr
    assert lab.run("doctor", "--sums", f"http://127.0.0.1:{free_port()}").returncode == 1
    assert lab.run("doctor", "--sums", "http://h:8123/not-a-name").returncode == 2
    # a password that is not escaped is in no message
    for address in ("http://me:s3/cret@h:8123", "http://me:8123/cret@h", "http://me:s3,cret@h:8123", "http://me:8123?cret@h"):
        done = lab.run("doctor", "--sums", address)
        assert done.returncode == 2
        assert "address" in done.stderr and "s3" not in done.stderr and "cret" not in done.stderr


def test_other_version_is_refused(lab, server, tmp_path):
    server.ask("CREATE DATABASE later")
    server.ask("CREATE TABLE later.stackcam_schema (version UInt32) ENGINE = ReplacingMergeTree ORDER BY version")
    server.ask("INSERT INTO later.stackcam_schema VALUES (7)")
    with serving(lab, tmp_path / "store", *options("--sums", f"{server.url}/later")) as serve:
        serve.hear(r"the tables of database later are of version 7")
    assert server.ask("SHOW TABLES FROM later") == "stackcam_schema"
