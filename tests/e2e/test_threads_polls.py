# SPDX-License-Identifier: Apache-2.0
"""record -e threads: which of several descriptors ended a wait in poll(2) or select(2)."""

import json

import pytest
from harness import needs_root
from test_threads_camera import main_thread, states_of

pytestmark = needs_root

TURNS = 8


def waited(lab, way, others):
    """What the program was ready for in turn, and its waits in the call, by the object or the reason why that is not known."""
    film = lab.record("-e", "threads", "--", lab.program("polls"), way, others)
    answer = states_of(lab, film)
    assert not any("object of" in reason for reason in answer["loss"]), answer["loss"]
    polls = [one for one in answer["objects"] if one["state"] == "poll"]
    return film, film.recording.stdout.splitlines(), {one["object"] or one["unknown"]: one for one in polls}


# from the entries on the thread's stack alone, and with those in pages
@pytest.mark.parametrize("others", (0, 20, 200))
@pytest.mark.parametrize("way", ("poll", "select"))
def test_what_ended_a_wait(lab, way, others):
    film, names, polls = waited(lab, way, others)
    for name in names:
        # on a busy machine two may be ready at once, and the second is then not waited for; and some of a thread's time may be
        # a hole, as where an init of a virtual machine is hidden
        assert TURNS // 2 <= polls[name]["count"] <= TURNS, (name, polls)
    # those whose time was over were ended by none
    rest = [one for name, one in polls.items() if name not in names]
    assert len(rest) == 1, polls
    told = json.loads(lab.run("explain", "--thread", main_thread(lab, film), "--format", "json", film.path).stdout)
    parts = {part["object"] for part in told["requests"][0]["parts"] if part["kind"] == "poll"}
    assert set(names) <= parts, told


def test_too_many_to_look_at(lab):
    """Nothing is said of a wait for more than are looked at."""
    _, _, polls = waited(lab, "poll", 400)
    assert list(polls) == ["403 descriptors"], polls
