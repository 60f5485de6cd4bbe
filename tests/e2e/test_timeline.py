# SPDX-License-Identifier: Apache-2.0
"""The timeline's part of the API, of films whose truth is known: nothing of a life is dropped, doubled or made up."""
import json
import os
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from asking import Player
from openapi import Api

MS = 1_000_000
EXACT = 10_000  # ns: no slice of the sample is shorter
START = 1767322845  # of made films, s since 1970
SAMPLE = {  # what tests/unit/query/make_turns.c says of "sample": class, ms
    10: [("on-cpu", 10), ("lock", 30), ("woken", 5), ("on-cpu", 15), ("preempted", 5), ("on-cpu", 5), ("sleep", 30)],
    11: [("on-cpu", 40), ("hole", 20), ("socket-read", 40)],
}


class Played(Player):
    """Its answers of the timeline are held to their description."""
    api = Api()

    def of_timeline(self, what, **query):
        status, headers, body = self.request(f"/api/v1/timeline/{what}?{urllib.parse.urlencode(query)}")
        assert status == 200, body
        self.api.check_answer("GET", f"/api/v1/timeline/{what}", status, headers["Content-Type"], body)
        return json.loads(body)


@pytest.fixture(scope="module")
def make_turns(places):
    path = places[0].parents[1] / "tests/unit/query/make_turns"
    assert path.exists(), "make_turns was not built: run ninja"
    return path


@pytest.fixture(scope="module")
def sample(places, make_turns, tmp_path_factory):
    film = tmp_path_factory.mktemp("timeline") / "sample.film"
    subprocess.run([make_turns, "sample", film], check=True)
    played = Played(places[0], film)
    yield played
    played.end()


def runs_of(answer, tid):
    """(class, start, end, slices) of each run of a lane, in ns since the answer's base."""
    runs = next(lane["runs"] for lane in answer["lanes"] if lane["tid"] == tid)
    at, found = 0, []
    for gap, length, kind, count, part in zip(*[iter(runs)] * 5):
        assert 0 < part <= length and count > 0
        at += gap
        found.append((answer["classes"][kind], at, at + length, count))
        at += length
    return found


def test_each_slice_is_what_it_was(sample):
    answer = sample.of_timeline("slices", **{"from": START, "to": START + 0.1, "pixel": EXACT, "lanes": "10.10,10.11"})
    assert answer["base"] == str(START * 10**9)
    for tid, slices in SAMPLE.items():
        at, expected = 0, []
        for name, ms in slices:
            expected.append((name, at * MS, (at + ms) * MS, 1))
            at += ms
        assert runs_of(answer, tid) == expected


def test_lanes_add_up_to_the_time(sample):
    answer = sample.of_timeline("lanes", steps=10)
    assert answer["threads"] == len(answer["lanes"]) == 3 and not answer["cut"]
    lanes = {lane["tid"]: lane for lane in answer["lanes"]}
    for tid, slices in SAMPLE.items():
        sums = dict.fromkeys(answer["classes"], 0)
        for name, ms in slices:
            sums[name] += ms * MS
        # the last of what a film says goes up to its end, of which it may be a ns more
        assert dict(zip(answer["classes"], lanes[tid]["ns"])) == sums
        assert sum(lanes[tid]["slices"]) == len(slices)
    # processes that ran longest first, and of each the threads that did
    assert [lane["tid"] for lane in answer["lanes"]] == [11, 10, 12]
    assert sum(answer["running"]) == sum(lane["ns"][0] for lane in answer["lanes"])
    assert sum(answer["ready"]) == 10 * MS
    assert "\x1b" not in json.dumps(answer, ensure_ascii=False).replace("\\u001b", "")
    assert answer["sum"]["lost"] == 7


@pytest.mark.parametrize("first, length", [(0, 100), (0, 10), (17, 3), (50, 49)])
def test_merged_runs_cover_each_ns_once(sample, first, length):
    """A thousand slices of 100 us each, in pixels of a millisecond: all are counted, and none is twice."""
    ask = {"from": f"{START}.{first * MS:09}", "to": f"{START}.{(first + length) * MS:09}" if first + length < 1000 else
           START + 1, "lanes": "12.12"}
    exact = runs_of(sample.of_timeline("slices", pixel=EXACT, **ask), 12)
    merged = runs_of(sample.of_timeline("slices", pixel=MS, **ask), 12)
    for runs in (exact, merged):
        assert runs[0][1] == 0 and runs[-1][2] == length * MS
        assert all(before[2] == after[1] for before, after in zip(runs, runs[1:]))
        assert sum(count for *_, count in runs) == len(exact) == 20 * length
    assert all(end - start <= MS for _, start, end, _ in merged) and len(merged) <= 2 * length + 1


def test_lanes_with_their_runs(sample):
    """The first picture in one answer: of the first lanes what the route of slices says."""
    answer = sample.of_timeline("lanes", shown=2, pixel=MS)
    assert ["runs" in lane for lane in answer["lanes"]] == [True, True, False]
    drawn = sample.of_timeline("slices", **{"from": START, "to": f"{START}.100000001", "lanes": "10.10,10.11", "pixel": MS})
    assert {lane["tid"]: lane["runs"] for lane in answer["lanes"][:2]} == {lane["tid"]: lane["runs"] for lane in drawn["lanes"]}
    assert not any("runs" in lane for lane in sample.of_timeline("lanes", pixel=MS)["lanes"])
    assert b"pixels" in sample.get("timeline/lanes", shown=2, pixel=1)[1]


def test_states_of_an_area(sample):
    answer = sample.of_timeline("states", **{"from": f"{START}.020", "to": f"{START}.050", "lanes": "10.10,10.11"})
    states = {answer["classes"][row["class"]]: row for row in answer["states"]}
    assert {name: row["sum"] // MS for name, row in states.items()} == {
        "lock": 20, "woken": 5, "on-cpu": 20 + 5, "hole": 10}
    assert sum(row["sum"] for row in answer["states"]) == 2 * 30 * MS and answer["lanes"] == 2
    assert states["on-cpu"]["count"] == 2 and states["on-cpu"]["longest"] == 20 * MS
    for row in answer["states"]:
        assert row["p50"] <= row["p99"] <= row["longest"]


def test_one_slice_and_its_evidence(sample):
    at = START * 10**9 + 20 * MS
    answer = sample.of_timeline("slice", lane_pid=10, lane_tid=10, at=f"{START}.020000000")
    slice = answer["slice"]
    assert int(answer["base"]) == at
    assert (at + slice["start"] - START * 10**9, at + slice["end"] - START * 10**9) == (10 * MS, 40 * MS)
    assert (slice["name"], slice["call"], slice["state"], slice["cpu"]) == ("lock", "futex", "S", 1)
    assert slice["arguments"] == ["0xffffffffffffffff", "0x80", "0x2", "0"]
    assert slice["waker"] == {"pid": 10, "tid": 11, "comm": "worker"} and slice["context"] == "thread"
    assert slice["object"] == "mutex 0x7f0000000040 of server (10)"
    assert slice["holder"] == {"pid": 10, "tid": 11, "comm": "worker"} and slice["holder_sure"] == "owner"
    assert [frame["name"] for frame in slice["stack"]] == ["</script><b>lock()", "main"]
    assert sample.of_timeline("slice", lane_pid=10, lane_tid=11, at=f"{START}.050")["slice"]["cpu"] is None
    assert sample.of_timeline("slice", lane_pid=10, lane_tid=11, at=f"{START}.090")["slice"]["open_end"]
    for nothing in ({"lane_pid": 10, "lane_tid": 99, "at": f"{START}.020"}, {"lane_pid": 10, "lane_tid": 10, "at": START - 5}):
        assert sample.of_timeline("slice", **nothing)["slice"] is None


@pytest.mark.parametrize("what, ask, words", [
    ("slices", {}, "lanes, from and to"), ("slices", {"lanes": "10.10"}, "lanes, from and to"),
    ("slices", {"lanes": "10", "from": 1, "to": 2}, "a list such as"),
    ("slices", {"lanes": "10.x", "from": 1, "to": 2}, "a list such as"),
    ("slices", {"lanes": "1.2.3", "from": 1, "to": 2}, "a list such as"),
    ("slices", {"lanes": "10.99999999999999999999", "from": 1, "to": 2}, "a list such as"),
    ("slices", {"lanes": "9" * 5000, "from": 1, "to": 2}, "a list such as"),
    ("slices", {"lanes": ",".join(["1.1"] * 257), "from": 1, "to": 2}, "more than 256"),
    ("slices", {"lanes": "10.10,", "from": 1, "to": 2}, "a list such as"),
    ("slices", {"lanes": "10.10", "from": START, "to": START + 1, "pixel": 1}, "pixels"),
    ("slices", {"lanes": "10.10", "from": 1, "to": 2, "pixel": 0}, "from 1 to"),
    ("slices", {"lanes": "10.10", "from": 2, "to": 1}, "before it begins"),
    ("slices", {"lanes": "10.10", "from": 1, "to": 2, "steps": 1}, "no parameter 'steps'"),
    ("lanes", {"limit": 0}, "from 1 to"), ("lanes", {"steps": 2001}, "from 0 to"), ("lanes", {"limit": -1}, "from 1 to"), ("lanes", {"shown": 257}, "from 0 to"),
    ("lanes", {"event": "on-cpu"}, "on-cpu"), ("states", {"focus": "main"}, "choose stacks"), ("states", {"lanes": "\x1b[31m"}, "a list such as"),
    ("slice", {}, "lane_pid, lane_tid and at"), ("slice", {"lane_pid": 1, "lane_tid": 1}, "lane_pid, lane_tid and at"),
    ("slice", {"lane_pid": 1, "lane_tid": 2**32, "at": 1}, "lane_tid is a number"),
    ("slice", {"lane_pid": 1, "lane_tid": 1, "at": "</script>"}, "not a time"),
])
def test_wrong_questions(sample, what, ask, words):
    status, body = sample.get(f"timeline/{what}", **ask)
    error = json.loads(body)["error"]
    # what is not in the store is not found
    assert status in ((400, 404) if "event" in ask else (400,)) and words in error, error


def test_a_film_without_slices(places, make_turns, tmp_path):
    """Its status says so, and the page does not offer the timeline."""
    make_film = Path(make_turns).with_name("make_film")
    film = tmp_path / "other.film"
    subprocess.run([make_film, "1000", "10", "10", film], check=True)
    played = Played(places[0], film)
    try:
        assert [type["slices"] for type in played.ask("status")["event_types"]] == [False]
        status, body = played.get("timeline/lanes")
        assert status in (400, 404) and b"threads" in body
        status, body = played.get("timeline/lanes", event="on-cpu")
        assert status == 400 and b"has no slices" in body
    finally:
        played.end()


def test_many_slices(places, make_turns, tmp_path):
    """A million slices of 40 threads: their sums are the sums of what is asked part by part."""
    film = tmp_path / "many.film"
    subprocess.run([make_turns, "1000000", "40", film], check=True)
    played = Played(places[0], film)
    try:
        whole = played.of_timeline("lanes")
        first, middle = START, START + whole["length"] / 2e9
        sums = [0] * len(whole["classes"])
        for ask in ({"from": first, "to": f"{middle:.9f}"}, {"from": f"{middle:.9f}", "to": START + whole["length"] // 10**9 + 1}):
            for row in played.of_timeline("states", **ask)["states"]:
                sums[row["class"]] += row["sum"]
        assert sums == [sum(lane["ns"][i] for lane in whole["lanes"]) for i in range(len(sums))]
        assert {sum(lane["ns"]) for lane in whole["lanes"]} == {sum(whole["lanes"][0]["ns"])}
        lanes = ",".join(f"{lane['pid']}.{lane['tid']}" for lane in whole["lanes"])
        drawn = played.of_timeline("slices", **{"from": START, "to": START + whole["length"] // 10**9 + 1, "lanes": lanes,
                                        "pixel": whole["length"] // 1000})
        for lane in whole["lanes"]:
            assert sum(count for *_, count in runs_of(drawn, lane["tid"])) == sum(lane["slices"])
    finally:
        played.end()


def test_states_are_the_same_however_many_threads_sum_them_up(places, make_turns, tmp_path):
    """One thread where there is one CPU; otherwise several, each with a part of what was filmed."""
    film = tmp_path / "many.film"
    subprocess.run([make_turns, "1000000", "40", film], check=True)
    for form in ("states", "states-json"):
        report = [places[0], "report", "--format", form, film]
        together, alone = (subprocess.run([*prefix, *report], check=True, capture_output=True, timeout=100)
                           for prefix in ((), ("taskset", "-c", str(min(os.sched_getaffinity(0))))))
        assert len(together.stdout) > 1000 and together.stdout == alone.stdout


def test_a_real_film_says_the_same_everywhere(places, tmp_path):
    """What threads of a program did: the API's states, the lanes' sums and the slices are one life."""
    film = tmp_path / "real.film"
    script = "for i in 1 2 3 4 5; do sleep 0.05; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done"
    subprocess.run([places[0], "record", "-q", "-e", "threads", "-o", film, "--", "sh", "-c", script], check=True, timeout=100)
    played = Played(places[0], film)
    try:
        whole = played.of_timeline("lanes", shown=50, pixel=1_000_000)
        names = whole["classes"]
        sums = [sum(lane["ns"][i] for lane in whole["lanes"]) for i in range(len(names))]
        states = {row["class"]: row for row in played.of_timeline("states")["states"]}
        assert {i: row["sum"] for i, row in states.items()} == {i: ns for i, ns in enumerate(sums) if ns}
        assert {i: row["count"] for i, row in states.items()} == {
            i: n for i in range(len(names)) if (n := sum(lane["slices"][i] for lane in whole["lanes"]))}
        shell = next(lane for lane in whole["lanes"] if lane["comm"] == "sh")
        # It waits from a child's start to its end, but for the time in which a CPU was wanted: on a busy machine the child may
        # be asleep before the shell runs again and begins to wait for it.
        by_name = dict(zip(names, shell["ns"]))
        assert by_name["on-cpu"] > 0 and by_name["child"] > 0
        assert by_name["child"] + by_name["woken"] + by_name["preempted"] >= 5 * 45 * MS
        for lane in whole["lanes"]:
            assert sum(lane["runs"][3::5]) == sum(lane["slices"])
            assert sum(lane["runs"][1::5]) == sum(lane["ns"])
        # the longest wait for a child, and what shows that it was one
        runs = list(zip(*[iter(shell["runs"])] * 5))
        longest = max((run for run in runs if run[2] == names.index("child")), key=lambda run: run[1])
        start = sum(run[0] + run[1] for run in runs[:runs.index(longest)]) + longest[0]
        at = int(whole["base"]) + start + longest[1] // 2
        slice = played.of_timeline("slice", lane_pid=shell["pid"], lane_tid=shell["tid"], at=f"{at // 10**9}.{at % 10**9:09}")["slice"]
        # Debian 13's shell waits for a child that it has begun until that executes its command, too
        assert slice["name"] == "child" and slice["call"] in ("wait4", "vfork")
        assert slice["end"] - slice["start"] == longest[1]
    finally:
        played.end()
