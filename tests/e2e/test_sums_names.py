# SPDX-License-Identifier: Apache-2.0
"""Names found later, in ClickHouse as in the folder: by the collector that got them, by all others, and by a search."""

import json
import time
import urllib.parse

import pytest

from clickhouse import clickhouse
from harness import needs_root, wait_until
from test_access import ask as ask_with
from test_sums import ALL_SENT, canonical
from test_upload import TOKEN, start, stripped, upload

pytestmark = needs_root


@pytest.fixture
def server(lab, tmp_path_factory):
    with clickhouse(lab, tmp_path_factory.mktemp("clickhouse")) as server:
        yield server


def questions(film_time):
    """The hours around it, as wholes, which ClickHouse answers."""
    hour = int(film_time) // 3600 * 3600
    hours = {key: time.strftime("%Y-%m-%dT%H:00:00Z", time.gmtime(hour + add)) for key, add in (("from", -3600), ("to", 7200))}
    named = ("flame", "functions", "functions&focus=%5Ef70$", "functions&ignore=f70", "functions&focus=bare%5C%2B0x")
    return [f"{question.partition('&')[0]}?{urllib.parse.urlencode({**hours, 'service': 'bare', 'limit': 1000})}&"
            f"{question.partition('&')[2]}" for question in named]


def answers(serve, asked):
    found = []
    for question in asked:
        status, answer = ask_with(serve, f"/api/v1/{question}", TOKEN)
        assert status == 200, answer
        answer = json.loads(answer)
        # a folder of few films reads them for a search, and then knows how many samples of them it counted
        shown = {key: answer["sum"].pop(key) for key in ("total", "unit")}
        answer["sum"] = shown
        found.append(canonical(json.dumps(answer)))
    return found


def names(answer):
    return {function["name"] for function in json.loads(answer)["functions"]}


def filmed(lab, serve, folder):
    """What to ask about a stripped program, whose film the folder has, and its index."""
    asked = questions(time.time())
    _, film = stripped(lab, folder)
    assert ask_with(serve, "/api/v1/films", TOKEN, film, {"X-Stackcam-Host": "host1"})[0] == 200
    assert wait_until(lambda: names(answers(serve, asked[1:2])[0]))
    return asked


def test_names_found_later(lab, server, tmp_path):
    """A collector without films and without names answers what the folder of the one that has both answers."""
    with start(lab, tmp_path) as serve:
        asked = filmed(lab, serve, tmp_path)
    # places alone, by a collector that has not got the names yet
    with start(lab, tmp_path, "--sums", server.url) as serve:
        serve.token_file = tmp_path / "tokens"
        serve.hear(ALL_SENT)
        before = answers(serve, asked)
        assert not {"f70", "f20"} & names(before[1]) and any(name.startswith("bare+0x") for name in names(before[1]))
        assert not names(before[2])
        assert upload(lab, serve, lab.program("split")).returncode == 0
        own = answers(serve, asked)
    with start(lab, tmp_path) as serve:
        folder = answers(serve, asked)
    assert {"f70", "f20", "main"} <= names(folder[1]) and names(folder[2]) >= {"f70"}
    assert own == folder
    # the names come to the others with the next round, of which the first is at the start
    with start(lab, tmp_path, "--sums", server.url) as serve:
        serve.hear(ALL_SENT)
        assert answers(serve, asked) == folder
    assert server.number("SELECT count() FROM names WHERE name = 'f70'") > 0
    (tmp_path / "other").mkdir()
    with start(lab, tmp_path / "other", "--sums", server.url) as serve:
        serve.hear(ALL_SENT)
        assert answers(serve, asked) == folder


def test_who_has_the_names_needs_no_films(lab, server, tmp_path):
    """One collector has the films, and another one was sent the names."""
    with start(lab, tmp_path) as serve:
        asked = filmed(lab, serve, tmp_path)
    with start(lab, tmp_path, "--sums", server.url) as serve:
        serve.hear(ALL_SENT)
        other = tmp_path / "other"
        other.mkdir()
        for _ in range(2):
            with start(lab, other, "--sums", server.url) as second:
                second.hear(ALL_SENT)
                second.token_file = other / "tokens"
                assert upload(lab, second, lab.program("split")).returncode == 0
        found = answers(serve, asked)
        assert {"f70", "f20", "main"} <= names(found[1])
        assert "f70" in names(found[2])
