# SPDX-License-Identifier: Apache-2.0
"""A film of calls, as "play" answers it: the same numbers as "report" prints."""
import json
import subprocess

import pytest

from asking import playing


@pytest.fixture(scope="module", params=[(), ("--summary",)], ids=["calls", "sums"])
def played(request, shared_lab, places, tmp_path_factory):
    """What "report" says of a film, and its player."""
    stackcam, programs = places
    film = tmp_path_factory.mktemp("film") / "calls.film"
    program = programs / "calls_tree"
    subprocess.run([stackcam, "trace", *request.param, "-o", film, "--", program], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    report = json.loads(subprocess.check_output([stackcam, "report", "--format", "json", film], timeout=60))
    with playing(stackcam, film) as player:
        yield report, player


def test_the_numbers_are_those_of_report(played):
    report, player = played
    answer = player.ask("calls", limit=20000)
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
    _, player = played
    assert "calls" in player.ask("status")["events"]
