# SPDX-License-Identifier: Apache-2.0
"""What verbs print as JSON is as 'stackcam schema' says: each output, of films that have what it shows."""

import json
import os
import sys
import urllib.request
from pathlib import Path

import pytest

from harness import PATIENCE, filming, listening_port, running
from openapi import Api

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
WRITES_LOG = """
import time
with open("x.log", "w") as log:
    for number in range(20):
        print("line", number, file=log, flush=True)
        time.sleep(0.01)
"""


class Schema(Api):
    """A document that stands by itself."""

    def __init__(self, document):
        self.all = document

    def check(self, value, schema, where="output"):
        followed = self.follow(schema)
        rest = followed.get("additionalProperties")
        if isinstance(value, dict) and isinstance(rest, dict):
            for key, item in value.items():
                self.check(item, rest, f"{where}.{key}")
        super().check(value, schema, where)


def printed(lab, *words):
    done = lab.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def records(lab):
    """Films of a server, with its requests; of a program that writes a log; of calls with their arguments."""
    with running(sys.executable, PROGRAMS / "slow_http.py", 0.02) as server:
        port = listening_port(server.pid)
        with filming(lab, "-e", "on-cpu,off-cpu,lock,threads,requests,machine", "-p", server.pid) as served:
            for number in range(10):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{number}", timeout=PATIENCE).read()
    logged = lab.record("-e", "logs,threads", "--", sys.executable, "-c", WRITES_LOG)
    calls = lab.new_film()
    printed(lab, "inspect", "count", "show", "-q", "-o", calls, "--", lab.program("inspected"), 5)
    return served.path, logged.path, calls


def test_outputs_are_as_their_schemas_say(lab, monkeypatch):
    monkeypatch.chdir(lab.folder)
    served, logged, calls = records(lab)
    outputs = {
        "report": [("report", "--json", "-e", "on-cpu", served), ("report", "--json", "--by", "process,thread", "-e", "off-cpu", served),
                   ("report", "--json", "-e", "off-cpu", "--by", "wait,waker", served), ("report", "--json", "-e", "calls", calls)],
        "diff": [("diff", "--format", "json", served, served), ("diff", "--format", "json", calls, calls)],
        "summary": [("report", "--format", "summary", "--json", film) for film in (served, logged, calls)],
        "explain": [("explain", "--format", "json", "--slowest", "3", film) for film in (served, logged)],
        "requests": [("report", "--format", "requests", "--json", served)],
        "states": [("report", "--format", "states", "--json", served)],
        "logs": [("report", "--format", "logs", "--json", logged)],
        "machine": [("report", "--format", "machine", "--json", served)],
        "values": [("report", "--format", "values", "--json", calls)],
        "inspect": [("report", "--format", "inspect", "--json", calls)],
        "threads": [("threads", "-p", os.getpid(), "--format", "json")],
        "doctor": [("doctor", "--json"), ("doctor", "--json", "-p", os.getpid())],
    }
    assert [line.split()[0] for line in printed(lab, "schema").splitlines()] == list(outputs)
    for name, commands in outputs.items():
        document = json.loads(printed(lab, "schema", name))
        assert document["$id"] == f"urn:stackcam:schema:{name}:1"
        for command in commands:
            text = printed(lab, *command)
            values = text.splitlines() if name == "inspect" else [text]
            assert values
            for value in values:
                Schema(document).check(json.loads(value), {"$ref": document["$ref"]}, " ".join(map(str, command)))


def test_a_wrong_output_is_found(lab):
    """The schema says more than that something is an object."""
    schema = Schema(json.loads(printed(lab, "schema", "summary")))
    for wrong in ({}, {"schema": 1}, []):
        with pytest.raises(AssertionError):
            schema.check(wrong, {"$ref": schema.all["$ref"]})
    done = lab.run("schema", "reprot")
    assert done.returncode == 2 and "did you mean 'report'" in done.stderr
