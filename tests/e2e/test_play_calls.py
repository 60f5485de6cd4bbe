# SPDX-License-Identifier: Apache-2.0
"""A film of calls, as "play" answers it: the same numbers as "report" prints."""
import json
import subprocess
import urllib.request

import pytest


@pytest.fixture(scope="module", params=[(), ("--summary",)], ids=["calls", "sums"])
def played(request, shared_lab, places, tmp_path_factory):
    """What "report" says of a film, and the address of its page."""
    stackcam, programs = places
    film = tmp_path_factory.mktemp("film") / "calls.film"
    program = programs / "calls_tree"
    subprocess.run([stackcam, "trace", *request.param, "-o", film, "--", program], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    report = json.loads(subprocess.check_output([stackcam, "report", "--format", "json", film], timeout=60))
    with subprocess.Popen([stackcam, "play", film], stdout=subprocess.PIPE, text=True) as play:
        try:
            yield report, play.stdout.readline().strip()
        finally:
            play.terminate()


def ask(address, question):
    with urllib.request.urlopen(f"{address}api/v1/{question}", timeout=30) as answer:
        return json.load(answer)


def test_the_numbers_are_those_of_report(played):
    report, address = played
    answer = ask(address, "calls?limit=20000")
    assert answer["unit"] == "ns"
    assert answer["summary"] == report["calls"]["summary"]
    assert answer["calls"] == sum(row["calls"] for row in answer["functions"]) == report["calls"]["calls"] > 0
    want = {(row["name"], row["image"]): row for row in report["functions"]}
    for row in answer["functions"]:
        same = want.pop((row["name"], row["image"]))
        for key in ("calls", "self", "total", "avg", "min", "p50", "p99", "max"):
            assert row[key] == same[key], (row["name"], key)
        assert sum(bucket["calls"] for bucket in row["histogram"]) == row["calls"] - row["open"] - row["cut"]


def test_status_names_the_event(played):
    _, address = played
    assert "calls" in ask(address, "status")["events"]
