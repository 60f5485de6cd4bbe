# SPDX-License-Identifier: Apache-2.0
"""What the index answers of a real film, and what films themselves answer, is what a report of it says."""

import json
import os

import pytest

from asking import playing
from harness import needs_root

pytestmark = needs_root


@pytest.fixture(scope="module")
def filmed(shared_lab):
    """A film of the whole machine with a program in it, and who plays it."""
    film = shared_lab.record("-a", "--", "python3", "-c",
                             "import json, re\nfor i in range(300):\n"
                             " re.sub('a|b', 'c', json.dumps(list(range(3000))))", hz=199)
    with playing(shared_lab.stackcam, film.path) as player:
        yield film, player


def as_rows(functions):
    """By what tells functions apart across films: of several builds one may have several rows."""
    rows = {}
    for f in functions:
        key = (f["name"], os.path.basename(f["image"]), f["kind"])
        own, total, count = rows.get(key, (0, 0, 0))
        rows[key] = (own + f["self"], total + f["total"], count + 1)
    return {key: row[:2] if row[2] == 1 else row[0] for key, row in rows.items()}


def compare(filmed, options, query, by_films):
    film, player = filmed
    report = film.json(*options)
    answer = player.ask("functions", limit=10000, **query)
    assert answer["sum"]["by_films"] is by_films
    assert answer["sum"]["total"] == report["event"]["total"] > 0
    assert answer["sum"]["samples"] == report["stacks"]["samples"]
    assert answer["others"] == 0
    # the longest answer there is; a busy machine runs fewer functions in that time
    assert len(report["functions"]) < 10000
    expected, found = as_rows(report["functions"]), as_rows(answer["functions"])
    assert set(found) - set(expected) == set() == set(expected) - set(found)
    for key, row in expected.items():
        if isinstance(row, tuple) and isinstance(found[key], tuple):
            assert found[key] == row, key


def test_whole(filmed):
    compare(filmed, (), {}, False)


def test_a_wait_of_seconds_has_its_stack(shared_lab):
    """The film has it in several rows, of which only the last one has its stack."""
    film = shared_lab.record("-e", "threads", "--", "sleep", "2.5")
    with playing(shared_lab.stackcam, film.path) as player:
        compare((film, player), ("-e", "threads"), {"event": "threads"}, False)
        answer = player.ask("functions", event="threads", limit=10000)
    assert any("nanosleep" in row["name"] and row["total"] > 2_490_000_000 for row in answer["functions"])


def test_by_image(filmed):
    compare(filmed, ("--by", "image"), {"by": "image"}, False)


def test_comm(filmed):
    compare(filmed, ("--comm", "python3*"), {"comm": "python3*"}, True)


def test_focus(filmed):
    compare(filmed, ("--focus", "^_Py|dumps"), {"focus": "^_Py|dumps"}, True)


def test_native(filmed):
    compare(filmed, ("--native",), {"native": 1}, True)


def test_services_add_up(filmed):
    _, player = filmed
    whole = player.ask("series", limit=10000)
    assert whole["others"] == 0
    assert sum(series["total"] for series in whole["series"]) == whole["sum"]["total"]
    services = {series["service"] for series in whole["series"]}
    parts = [player.ask("functions", service=service)["sum"] for service in sorted(services)]
    assert sum(part["total"] for part in parts) == whole["sum"]["total"]
    assert sum(part["samples"] for part in parts) == whole["sum"]["samples"]
    timeline = player.ask("timeline", group="service", rows=100)
    assert sum(sum(row["values"]) for row in timeline["rows"]) == whole["sum"]["total"]


def test_what_was_filmed_of_each_step(filmed):
    """Steps that were filmed in part say so, by the index's minutes as by the films."""
    _, player = filmed
    for steps in 1, 7:
        timeline = player.ask("timeline", steps=steps)
        of_steps, step, at = timeline["filmed"], timeline["step"], timeline["sum"]
        assert len(of_steps) == len(timeline["rows"][0]["values"])
        assert sum(of_steps) == pytest.approx(at["filmed"], abs=0.01) and at["filmed"] > 0
        assert all(0 <= part <= step + 0.001 for part in of_steps)


def test_losses(filmed):
    """What was lost is told by the reasons that a report has."""
    film, player = filmed
    answer = player.ask("losses")
    assert {loss["reason"]: loss["count"] for loss in answer["losses"]} == film.json()["loss"]
    assert answer["lost"] == sum(film.json()["loss"].values())


def test_places(filmed):
    """The builds of a function, and its lines, add up to what it has."""
    _, player = filmed
    rows = player.ask("functions", sort="total")["functions"]
    row = next(row for row in rows if row["kind"] == "native" and row["image"])
    places = player.ask("places", name=row["name"], image=row["image"])
    assert (places["self"], places["total"]) == (row["self"], row["total"])
    assert sum(build["total"] for build in places["builds"]) == row["total"]
    assert len(places["builds"][0]["build_id"]) == 40
    assert sum(line["self"] for line in player.ask("places", name=row["name"], image=row["image"],
                                                    limit=1000)["lines"]) == row["self"]
