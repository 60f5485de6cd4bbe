# SPDX-License-Identifier: Apache-2.0
"""A client of 'stackcam mcp' records, and reads what was planted. bench/mcp has more faults; tests/unit/mcp has the messages."""

import json
import os
import re
import subprocess

from asking import playing
from harness import PATIENCE


def ask(lab, folder, tool, *options, **arguments):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    done = lab.run("mcp", *options, folder, stdin=None, input=json.dumps(message) + "\n")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    return result["content"][0]["text"], result["isError"]


def test_records_and_reads(lab):
    """The tool record films a program whose lock is held long by one thread; the tools name lock, holder and function."""
    films = lab.folder / "films"
    films.mkdir()
    target = subprocess.Popen([lab.program("cases"), str(PATIENCE), "lock", str(lab.folder / "file")])
    try:
        said, is_error = ask(lab, films, "record", "--allow-record", process=target.pid, seconds=1, events="on-cpu,off-cpu,lock,threads")
    finally:
        target.kill()
        target.wait()
    assert not is_error, said
    name = re.search(r"^film: (\S+\.film)$", said, re.MULTILINE)[1]
    assert os.listdir(films) == [name]
    assert name in ask(lab, films, "films")[0]
    summary = ask(lab, films, "summary", film=name)[0]
    assert re.search(r"contended lock: \[mutex orders_lock in cases\] \(owner: flusher", summary), summary
    assert re.search(r"orders_lock.*held by flusher", ask(lab, films, "waits_and_locks")[0])
    assert "orders_lock" in ask(lab, films, "explain", name="handler")[0]
    said, is_error = ask(lab, films, "callers_and_callees", function="take_order", event="off-cpu")
    assert not is_error and "take_order" in said
    # the same over HTTP
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "summary", "arguments": {"film": name}}}
    with playing(lab.stackcam, films / name) as player:
        status, _, body = player.request("/mcp", method="POST", body=json.dumps(message))
    assert (status, json.loads(body)["result"]["content"][0]["text"]) == (200, summary)


def test_records_only_where_it_may(lab):
    said, is_error = ask(lab, lab.folder, "doctor")
    assert not is_error and "stackcam can" in said
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "record", "arguments": {"seconds": 1}}}
    done = lab.run("mcp", lab.folder, stdin=None, input=json.dumps(message) + "\n")
    assert json.loads(done.stdout)["error"]["code"] == -32602
    said, is_error = ask(lab, lab.folder, "record", "--allow-record", seconds=1, events="--help", process=os.getpid())
    assert is_error and "made no film" in said
    assert not list(lab.folder.glob("*.film"))
