# SPDX-License-Identifier: Apache-2.0
"""Requests of MySQL's protocol: those in the film are those of MariaDB's own log."""

import collections
import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import databases
from harness import filming, needs_root, running, tool, wait_until
from test_requests import lost, requests_of

pytestmark = needs_root

LIBRARY = "libmariadb.so.3"

# Statements that the server prepares and runs, by the C library's own functions.
CLIENT = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in ("mysql_init", "mysql_real_connect", "mysql_stmt_init"):
    getattr(library, name).restype = ctypes.c_void_p
library.mysql_error.restype = ctypes.c_char_p
server = ctypes.c_void_p(library.mysql_init(None))
assert library.mysql_real_connect(server, b"127.0.0.1", b"root", b"", b"test", int(sys.argv[2]), None, ctypes.c_ulong(0)), \
    library.mysql_error(server)
for sql in (b"select v from marks where v < 100", b"insert into marks values (1000)"):
    statement = ctypes.c_void_p(library.mysql_stmt_init(server))
    assert not library.mysql_stmt_prepare(statement, sql, len(sql))
    for _ in range(20):
        assert not library.mysql_stmt_execute(statement)
        assert not library.mysql_stmt_store_result(statement)
        library.mysql_stmt_free_result(statement)
    library.mysql_stmt_close(statement)
assert not library.mysql_ping(server)
library.mysql_close(server)
"""


# Statements on a compressed connection that is there before: short ones, and ones that are worth being packed.
EARLIER = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in ("mysql_init", "mysql_real_connect", "mysql_store_result"):
    getattr(library, name).restype = ctypes.c_void_p
server = ctypes.c_void_p(library.mysql_init(None))
assert not library.mysql_options(server, 1, None)  # MYSQL_OPT_COMPRESS
assert library.mysql_real_connect(server, b"127.0.0.1", b"root", b"", b"test", int(sys.argv[2]), None, ctypes.c_ulong(0))
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        sql = b"select %d" % i + b" as a, '%s' as b" % (b"a" * 300) * (i % 2)
        assert not library.mysql_real_query(server, sql, ctypes.c_ulong(len(sql)))
        library.mysql_free_result(ctypes.c_void_p(library.mysql_store_result(server)))
    print("done", flush=True)
"""


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory):
    with databases.mariadb(tmp_path_factory.mktemp("mariadb")) as server:
        yield server


def logged(log, before):
    """How often the server has run each kind of command since its log had so many bytes."""
    words = collections.Counter()
    for line in log.read_bytes()[before:].decode(errors="replace").splitlines():
        for kind in ("Query", "Prepare", "Execute", "Ping", "Init DB"):
            words[kind] += f" {kind}\t" in line
    return words


def kinds_of(requests):
    words = collections.Counter()
    for r in requests:
        first = r["endpoint"].split()[0]
        words[{"PREPARE": "Prepare", "PING": "Ping", "INIT": "Init DB"}.get(first, "Statement")] += 1
    return words


def mine(answer, role):
    return [r for r in answer["requests"] if r["role"] == role and r["protocol"] == "mysql"]


@pytest.mark.parametrize("where", ["tcp", "unix", "compressed", "tls"])
def test_statements_of_mysql_are_those_of_the_servers_log(lab, mariadb, where):
    process, socket, port, log = mariadb
    before = log.stat().st_size
    way = ["-S", str(socket)] if where == "unix" else ["-h", "127.0.0.1", "-P", str(port), "--protocol=tcp"]
    way += ["--compress"] if where == "compressed" else []
    way += ["--ssl", "--skip-ssl-verify-server-cert"] if where == "tls" else ["--skip-ssl"]
    script = lab.folder / "script.sql"
    script.write_text("".join(f"insert into marks values ({i});\nselect v, \"s3cr3t\" from marks where v <= {i};\n"
                              for i in range(200)) + "select * from none where name = 's3cr3t';\n")
    film = lab.record("-e", "requests", "-a", "--", "sh", "-c",
                      f"{tool('mariadb')} --no-defaults -f -uroot {' '.join(way)} test <{script} >{lab.folder}/out 2>&1; true")
    truth = logged(log, before)
    answer = requests_of(lab, film)
    for role in ("served", "made"):
        requests = mine(answer, role)
        assert sum(kinds_of(requests).values()) == sum(truth.values()) > 400, (truth, kinds_of(requests))
        counts = collections.Counter(r["endpoint"] for r in requests)
        assert counts["insert into marks values (?)"] == 200
        assert counts["select v, ? from marks where v <= ?"] == 200
        failed, = [r for r in requests if r["failed"]]
        assert failed["endpoint"] == "select * from none where name = ?"
        assert not any(r["open"] for r in requests)
        # rows are in their sizes
        rows = [r["sent" if role == "served" else "received"] for r in requests if r["endpoint"].startswith("select v")]
        assert max(rows) > 200 * (1 if where == "compressed" else 10)
    assert {r["pid"] for r in mine(answer, "served")} == {process.pid}
    dependency, = [d for d in answer["dependencies"] if d["pid"] == mine(answer, "made")[0]["pid"]]
    assert dependency["server"]["pid"] == process.pid, dependency
    assert b"s3cr3t" not in Path(film.path).read_bytes()
    assert not lost(answer), answer["loss"]


def test_prepared_statements_have_their_text(lab, mariadb):
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        pytest.skip("libmariadb3 is missing")
    _, _, port, log = mariadb
    before = log.stat().st_size
    film = lab.record("-e", "requests", "-a", "--", sys.executable, "-c", CLIENT, LIBRARY, port)
    truth = logged(log, before)
    assert truth["Prepare"] == 2 and truth["Execute"] == 40
    answer = requests_of(lab, film)
    for role in ("served", "made"):
        counts = collections.Counter(r["endpoint"] for r in mine(answer, role))
        assert counts["select v from marks where v < ?"] == counts["insert into marks values (?)"] == 20, counts
        assert counts["PREPARE select v from marks where v < ?"] == 1
        assert counts["PING"] == 1
        assert not any(r["open"] or r["failed"] for r in mine(answer, role))


def test_a_compressed_connection_from_before_the_recording(lab, mariadb):
    process, _, port, log = mariadb
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        pytest.skip("libmariadb3 is missing")
    with running(sys.executable, "-c", EARLIER, LIBRARY, port, stdin=subprocess.PIPE) as client:
        def ask(count):
            client.process.stdin.write(b"%d\n" % count)
            client.process.stdin.flush()
            assert client.process.stdout.readline() == b"done\n"

        def is_filmed():
            ask(1)
            done = lab.run("report", "--format", "requests-json", "--limit", "0", film.path)
            return not done.returncode and any(r["role"] == "made" for r in json.loads(done.stdout)["requests"])

        with filming(lab, "-e", "requests", "-p", f"{process.pid},{client.pid}") as film:
            assert wait_until(is_filmed)
            before = log.stat().st_size
            ask(100)
            truth = logged(log, before)
    assert truth["Query"] == 100
    answer = requests_of(lab, film, "--limit", "0")
    for role in ("made", "served"):
        counts = collections.Counter(r["endpoint"] for r in mine(answer, role))
        assert counts["select ? as a, ? as b"] == 50 and counts["select ?"] >= 51 - (role == "served"), (role, counts, answer["loss"])
        assert set(counts) == {"select ? as a, ? as b", "select ?"}, counts
