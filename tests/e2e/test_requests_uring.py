# SPDX-License-Identifier: Apache-2.0
"""Requests that an io_uring transfers: all of a server's, each with its own id, by each way in which entries are completed."""

import pytest
from harness import needs_root
from test_requests import requests_of

pytestmark = needs_root

CONNECTIONS, ROUNDS = 16, 25


@pytest.mark.parametrize("how", ("recv", "message", "read", "select"))
@pytest.mark.parametrize("way", ("plain", "registered", "defer", "sqpoll", "async"))
def test_requests_of_a_server(lab, way, how):
    film = lab.record("-e", "requests", "--", lab.program("uring_server"), way, how, CONNECTIONS, ROUNDS, check=False)
    if film.recording.returncode == 77:
        pytest.skip("this kernel has no such io_uring: " + film.recording.stderr)
    assert film.recording.returncode == 0, film.recording.stderr
    count = int(film.recording.stdout.split()[1])
    assert count == CONNECTIONS * ROUNDS
    answer = requests_of(lab, film)
    assert not answer["loss"], answer["loss"]
    wanted = [f"id-{i}" for i in range(count)]
    for role in ("served", "made"):
        requests = [one for one in answer["requests"] if one["role"] == role]
        assert sorted(one["id"] for one in requests) == sorted(wanted), role
        assert all(one["path"] == "/item/" + one["id"][3:] and one["status"] == 200 and not one["open"] for one in requests), role
    made = {one["id"]: one for one in answer["requests"] if one["role"] == "made"}
    for one in answer["requests"]:
        if one["role"] == "served":
            other = made[one["id"]]
            assert (one["received"], one["sent"]) == (other["sent"], other["received"]), (one, other)
