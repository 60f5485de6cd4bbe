# SPDX-License-Identifier: Apache-2.0
"""A level, such as memory in use, is never summed over time: of a range counts the last state, of a step its last one.
What was allocated, which is pushed in the same way, is summed."""

import time
import urllib.parse
import urllib.request

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_serve import serving

pytestmark = needs_root

SERVICES = ("shop", "mail")
# Bytes of the two stacks of a push: two pushes in each of three minutes.
PUSHES = [(0, 100, 100), (10, 101, 100), (120, 200, 200), (130, 201, 200), (240, 300, 300), (250, 301, 300)]


def push(serve, service, event, since, until, cache, parse):
    query = urllib.parse.urlencode({"name": f"{service}.{event}", "units": "bytes", "format": "folded", "from": since,
                                    "until": until})
    request = urllib.request.Request(f"{serve.url}/ingest?{query}", method="POST",
                                     data=f"main;cache {cache}\nmain;parse {parse}\n".encode())
    request.add_header("Authorization", f"Bearer {serve.made_token('write')}")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.status == 200


@pytest.mark.parametrize("event, last, steps", [
    ("inuse_space", 601, [201, 0, 401, 0, 601]),
    ("alloc_space", 401 + 801 + 1201, [401, 0, 801, 0, 1201]),
], ids=["level", "flow"])
def test_a_range_of_pushes(lab, tmp_path, event, last, steps):
    begin = int(time.time()) // 60 * 60 - 600
    asked = {"event": event, "from": begin, "to": begin + 300}
    with serving(lab, tmp_path / "store", "--no-record") as serve:
        for service in SERVICES:
            for at, cache, parse in PUSHES:
                push(serve, service, event, begin + at, begin + at + 10, cache, parse)
        assert wait_until(lambda: event in serve.get("status")["events"])
        assert [type["level"] for type in serve.get("status")["event_types"]] == [event == "inuse_space"]
        assert wait_until(lambda: serve.get("flame", **asked)["sum"]["total"] == 2 * last), serve.get("flame", **asked)
        assert {row["service"]: row["total"] for row in serve.get("series", **asked)["series"]} == \
            dict.fromkeys(SERVICES, last)
        assert sum(process["total"] for process in serve.get("processes", **asked)["processes"]) == 2 * last
        timeline = serve.get("timeline", group="service", steps=5, **asked)
        assert {row["name"]: row["values"] for row in timeline["rows"]} == dict.fromkeys(SERVICES, steps)
        assert timeline["sum"]["total"] == 2 * last
        # one service, and what there was in the middle
        assert serve.get("flame", **(asked | {"service": "shop", "to": begin + 200}))["sum"]["total"] == \
            (401 if event == "inuse_space" else 1202)
