# SPDX-License-Identifier: Apache-2.0
"""A film as a store packs it, in which ids have another order: every verb says of it what it says of the film before."""

import contextlib
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

import planted
from harness import Film

PATIENCE = 120


@pytest.fixture(scope="module")
def films(shared_lab, tmp_path_factory):
    """The same hour in two folders, by one name: merged as while more is to come, and for the last time."""
    merge = Path(shared_lab.stackcam).parents[1] / "tests/unit/film/measure-merge"
    parts = [planted.condition_of_cpp(shared_lab).path, planted.condition_of_cpp(shared_lab).path]
    made = []
    for name, how in (("before", ["--more"]), ("after", [])):
        to = tmp_path_factory.mktemp(name) / "hour.film"
        subprocess.run([merge, *how, to, *parts], check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
        made.append(Film(shared_lab.stackcam, to))
    return made


def said(film, *words):
    """What a verb prints of a film in the folder that it is in."""
    done = subprocess.run([film.stackcam, *words, film.path.name], cwd=film.path.parent, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode(errors="surrogateescape")


def test_ids_have_another_order(films):
    """Else the others say nothing."""
    stored = []
    for film in films:
        with contextlib.closing(sqlite3.connect(f"file:{film.path}?mode=ro", uri=True)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            stored.append([db.execute(f"SELECT data FROM {table}").fetchall() for table in ("function", "frame", "stack")])
            assert db.execute("SELECT sum(n) FROM block WHERE kind = 1").fetchone()[0]
    assert all(before != after for before, after in zip(*stored))


@pytest.mark.parametrize("event", ("on-cpu", "threads"))
@pytest.mark.parametrize("by", ((), ("--by", "name"), ("--by", "thread")))
def test_stacks(films, event, by):
    before, after = (said(film, "report", "-e", event, "--format", "folded", *by) for film in films)
    assert before and sorted(before.splitlines()) == sorted(after.splitlines())


def test_functions(films):
    def of(film):
        answer = json.loads(said(film, "report", "-e", "on-cpu", "--json", "--limit", "0"))
        answer["functions"].sort(key=lambda one: json.dumps(one, sort_keys=True))
        return answer

    before, after = map(of, films)
    assert before["functions"] and before == after


@pytest.mark.parametrize("words", (("explain",), ("explain", "--format", "json"), ("explain", "-n", "handler"),
                                   ("report", "-e", "threads", "--format", "states"),
                                   ("report", "-e", "threads", "--format", "states-json"),
                                   ("report", "--format", "summary")))
def test_sentences_and_states(films, words):
    before, after = (said(film, *words) for film in films)
    assert before == after


def test_nothing_differs(films):
    done = subprocess.run([films[0].stackcam, "diff", "--fail-above", "0", *(film.path for film in films)],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
