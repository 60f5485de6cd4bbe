# SPDX-License-Identifier: Apache-2.0
"""serve --sums on a cluster of ClickHouse: two shards of two replicas, which are killed in turn; each sample counts once."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from clickhouse_cluster import NAME, REPLICAS, cluster
from harness import needs_root, wait_until
from test_serve import serving
from test_sums import ALL_SENT, DIFF, NAMED, QUESTIONS, ask, ask_all, assert_same_diff, canonical, options

pytestmark = needs_root

TABLES = ("functions", "stacks", "fn_stacks", "filmed_hour", "lost_hour", "sums_hour", "series_minute", "collectors", "names")
SAMPLES = 30000


@pytest.fixture(scope="module")
def servers(shared_lab, tmp_path_factory):
    with cluster(shared_lab, tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


@pytest.fixture(scope="module")
def store(shared_lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    measure = Path(shared_lab.stackcam).parents[1] / "tests/unit/store/measure_store"
    for words in (("make", folder, 3, 4, 3, 60, SAMPLES), ("pack", folder)):
        subprocess.run([str(word) for word in (measure, *words)], check=True, capture_output=True)
    return folder


def of_cluster(servers, database="stackcam"):
    return options("--sums", f"{servers.urls}/{database}", "--sums-cluster", NAME)


def as_another(store, folder):
    """The same films, of another collector."""
    shutil.copytree(store, folder, ignore=shutil.ignore_patterns("collector", "sums.db*"))
    return folder


def asked_of(server, sql):
    try:
        return int(server.ask_any(sql))
    except (OSError, ValueError):
        return None


def value_of(servers, database):
    """Samples and values, as the first server that differs from the others says; of all, where they say the same."""
    found = {(asked_of(server, f"SELECT sum(samples) FROM {database}.series_minute FINAL"),
              asked_of(server, f"SELECT sum(value) FROM {database}.sums_hour FINAL")) for server in servers.servers}
    return list(found.pop()) if len(found) == 1 else None


def is_replicated(servers, database, table):
    counts = [asked_of(server, f"SELECT count() FROM {database}.{table}_local FINAL") for server in servers.servers]
    return all(None not in counts[at:at + REPLICAS] and len(set(counts[at:at + REPLICAS])) == 1
               for at in range(0, len(counts), REPLICAS))


def test_doctor(lab, servers):
    """Every statement, as on one server; and nothing is left behind on any."""
    done = lab.run("doctor", "--sums", servers.urls, "--sums-cluster", NAME, "--json")
    answer = json.loads(done.stdout)
    assert {line["state"] for line in answer["statements"]} == {"ok"}, done.stdout
    assert done.returncode == 0 and answer["sums"] is True, done.stdout
    assert not any("stackcam_doctor" in server.ask_any("SHOW DATABASES") for server in servers.servers)
    # one that ClickHouse does not know, and what is no name
    done = lab.run("doctor", "--sums", servers.urls, "--sums-cluster", "nobodys")
    assert done.returncode == 1 and "nobodys" in done.stdout, done.stdout
    assert lab.run("doctor", "--sums", servers.urls, "--sums-cluster", "a'b").returncode == 2
    assert lab.run("doctor", "--sums-cluster", NAME).returncode == 2


def test_same_answers(shared_lab, servers, store):
    """Byte for byte as the folder, whichever server is asked; rows lie on both shards, and twice."""
    with serving(shared_lab, store, *options()) as serve:
        expected, diff = ask_all(serve, QUESTIONS), canonical(ask(serve, DIFF))
        named = [json.loads(ask(serve, question)) for question in NAMED]
    with serving(shared_lab, store, *of_cluster(servers)) as serve:
        serve.hear(ALL_SENT)
        assert ask_all(serve, QUESTIONS) == expected
        assert_same_diff(serve, diff)
        found = [json.loads(ask(serve, question)) for question in NAMED]
        assert [answer["functions"] for answer in found] == [answer["functions"] for answer in named]
    assert wait_until(lambda: (value_of(servers, "stackcam") or [0])[0] == SAMPLES)
    for table in ("stacks", "sums_hour", "series_minute"):
        assert wait_until(lambda: is_replicated(servers, "stackcam", table)), table
        assert all(servers.numbers(f"SELECT count() FROM {table}_local FINAL")), table


def test_killed_in_turn(shared_lab, servers, store, tmp_path):
    """While a collector sends, a server is killed; the sums go in without that server, which has them when it is back."""
    with serving(shared_lab, as_another(store, tmp_path / "first"), *of_cluster(servers, "killed")) as serve:
        serve.hear(ALL_SENT)
    first = value_of(servers, "killed")
    for at, server in enumerate(servers.servers):
        folder = as_another(store, tmp_path / f"collector-{at}")
        with serving(shared_lab, folder, *of_cluster(servers, "killed")) as serve:
            server.end()
            serve.hear(ALL_SENT)
        server.start()
        assert wait_until(lambda: value_of(servers, "killed") == [count * (at + 2) for count in first]), (at, value_of(servers, "killed"), first)
    for table in TABLES:
        assert wait_until(lambda: is_replicated(servers, "killed", table)), table


def test_sent_again_counts_once(shared_lab, servers, store, tmp_path):
    """Through another server than before, and after ZooKeeper was away."""
    folder = as_another(store, tmp_path / "collector")
    with serving(shared_lab, folder, *of_cluster(servers, "again")) as serve:
        serve.hear(ALL_SENT)
        expected, series = ask_all(serve, QUESTIONS), json.loads(ask(serve, QUESTIONS[0]))["series"]
    (folder / "sums.db").unlink()
    servers.keeper.end()
    urls = ",".join(reversed(servers.urls.split(",")))
    with serving(shared_lab, folder, *options("--sums", f"{urls}/again", "--sums-cluster", NAME)) as serve:
        serve.hear(r"ClickHouse .* Code: .*; sums wait until it works")
        # what was sent is there; that it is all is not known before it was sent
        assert json.loads(ask(serve, QUESTIONS[0]))["series"] == series
        servers.keeper.start()
        serve.hear(ALL_SENT)
        assert ask_all(serve, QUESTIONS) == expected
