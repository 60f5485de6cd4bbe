# SPDX-License-Identifier: Apache-2.0
"""
/api/v1/timeline/devices: what streams of devices ran, against libraries that stand for the driver's and its profiling one
(tests/programs/cuda_driver.c, cuda_profiler.c), which say what ran. Sums are exact.
"""

import json
import os

from asking import playing
from harness import PATIENCE, needs_root

pytestmark = needs_root

STEPS = 4
STEP = 60_000_000  # ns, what each copy takes
RUN, WORK = 5, 4  # numbers of a run
OF_RUN = ("gap", "length", "name", "count", "dominant", "busy", "bytes", "thread", "since")


def record(lab, cause, steps=STEPS, events="gpu-lanes,threads", **environment):
    """The film, and what the kernels of the first device took."""
    film = lab.new_film()
    done = lab.run("record", "-q", "-e", events, "-o", film, "--", lab.program("cuda_idle"), cause, steps, lab.folder / "saved", timeout=PATIENCE,
                   env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs), **environment})
    assert done.returncode == 0, done.stderr
    return film, int(done.stdout)


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def asked(player, start, end, pixel, is_lost=False):
    """The answer; what it says of each stream adds up, and all is known unless records were lost."""
    answer = player.ask("timeline/devices", **{"from": seconds(start), "to": seconds(end), "pixel": pixel})
    assert answer["length"] == end - start and not answer["cut"] and answer["left"] == 0, answer
    for stream in answer["streams"]:
        assert sum(stream["ns"].values()) == answer["length"], stream
        assert is_lost or stream["ns"]["unknown"] == 0, stream
        runs = runs_of(stream)
        assert len(stream["runs"]) == RUN * len(runs) and len(stream["works"]) == WORK * len(runs)
        assert sum(run["count"] for run in runs) == stream["kernels"] + stream["copies"], stream
        # two of a pixel, and what is not known
        assert len(runs) <= 3 * (answer["length"] // pixel + 1) or all(run["length"] >= pixel for run in runs)
        assert sum(run["gap"] + run["length"] for run in runs) <= answer["length"]
        assert all(run["dominant"] <= run["length"] for run in runs), runs
    return answer


def runs_of(stream):
    runs, works = stream["runs"], stream["works"]
    return [dict(zip(OF_RUN, runs[i * RUN:(i + 1) * RUN] + works[i * WORK:(i + 1) * WORK])) for i in range(len(runs) // RUN)]


def whole_of(player):
    lanes = player.ask("timeline/lanes")
    base = int(lanes["base"])
    return base, base + lanes["length"]


def of_device(answer, device=0):
    return [stream for stream in answer["streams"] if stream["device"] == device]


def test_kernels_and_copies_are_what_ran(lab):
    film, truth = record(lab, "copy")
    with playing(lab.stackcam, film) as player:
        assert player.ask("status")["devices"]
        start, end = whole_of(player)
        answer = asked(player, start, end, (end - start) // 16000)
        coarse = asked(player, start, end, (end - start) // 3 + 1)
        middle = (start + end) // 2
        halves = [asked(player, *part, 100_000) for part in ((start, middle), (middle, end))]
    streams, names = of_device(answer), answer["names"]
    assert len(answer["streams"]) == len(streams) and {stream["process"] for stream in streams} == {"cuda_idle"}
    assert sum(stream["kernels"] for stream in streams) == STEPS + 1 and sum(stream["copies"] for stream in streams) == STEPS
    assert sum(stream["ns"]["kernels"] for stream in streams) == truth, (streams, truth)
    assert sum(stream["ns"]["copies"] for stream in streams) == STEPS * STEP, streams
    assert sum(stream["bytes"] for stream in streams) == STEPS * STEP * 10
    # each has a run for itself, with its name and how long it took
    single = [(names[run["name"]], run) for stream in streams for run in runs_of(stream)]
    assert sorted((name["kind"], name["name"], run["busy"]) for name, run in single) == \
        [("copy", "[copy device to host]", STEP)] * STEPS + [("kernel", "gemm", truth // (STEPS + 1))] * (STEPS + 1)
    assert all(run["count"] == 1 and run["length"] == run["busy"] for _, run in single)
    # launches are sampled: at so few a second all of them, and each before what it launched
    thread, = {run["thread"] for _, run in single}
    assert answer["threads"][thread - 1]["comm"] == "cuda_idle" and all(run["since"] > 0 for _, run in single), single
    # the same sums in three pixels, and in two halves
    for kind in ("kernels", "copies", "idle", "unknown"):
        total = sum(stream["ns"][kind] for stream in streams)
        assert total == sum(stream["ns"][kind] for stream in coarse["streams"]), kind
        if len(halves[0]["streams"]) == len(halves[1]["streams"]) == len(streams):
            assert total == sum(stream["ns"][kind] for half in halves for stream in half["streams"]), kind


def test_small_kernels_are_summed(lab):
    film, truth = record(lab, "tiny", 1)
    with playing(lab.stackcam, film) as player:
        start, end = whole_of(player)
        answer = asked(player, start, end, (end - start) // 100)
    stream, = of_device(answer)
    runs = runs_of(stream)
    assert stream["kernels"] == 20002 and stream["ns"]["kernels"] == truth, (stream["ns"], truth)
    # how long the stream was busy is not lost where runs have many
    assert sum(run["busy"] for run in runs) == truth and max(run["count"] for run in runs) > 100
    assert {answer["names"][run["name"]]["name"] for run in runs} <= {"tiny", "gemm"}


def test_each_device_has_its_streams(lab):
    film, truth = record(lab, "device")
    with playing(lab.stackcam, film) as player:
        answer = asked(player, *whole_of(player), 1_000_000)
        status, body = player.get("timeline/devices", **{"from": "1", "to": "2", "pixel": 1, "pid": 1})
    assert status == 400 and "pixels" in json.loads(body)["error"], body
    assert {stream["device"] for stream in answer["streams"]} == {0, 1}
    assert sum(stream["ns"]["kernels"] for stream in of_device(answer)) == truth
    beside, = of_device(answer, 1)
    assert beside["ns"]["kernels"] == STEPS * STEP and beside["kernels"] == STEPS, beside


def test_lost_records_are_not_idle_time(lab):
    film, _ = record(lab, "sleep", PROFILER_DROPS="5")
    with playing(lab.stackcam, film) as player:
        answer = asked(player, *whole_of(player), 1_000_000, is_lost=True)
    assert all(stream["ns"]["unknown"] > 0 for stream in answer["streams"]), answer["streams"]
    unknown = [run for stream in answer["streams"] for run in runs_of(stream) if answer["names"][run["name"]]["kind"] == "unknown"]
    assert unknown and all(run["count"] == run["busy"] == run["bytes"] == 0 for run in unknown), unknown


def test_films_without_devices(lab):
    film, _ = record(lab, "sleep", events="threads")
    with playing(lab.stackcam, film) as player:
        assert not player.ask("status")["devices"]
        start, end = whole_of(player)
        assert player.ask("timeline/devices", event="threads", **{"from": seconds(start), "to": seconds(end)})["streams"] == []
        status, body = player.get("timeline/devices", **{"from": seconds(start), "to": seconds(end)})
        assert status == 404 and "gpu-lanes" in json.loads(body)["error"], body
        status, body = player.get("timeline/devices")
        assert status == 400 and "from and to" in json.loads(body)["error"], body
