# SPDX-License-Identifier: Apache-2.0
"""record -e threads: which entry of an io_uring ended a wait, and what is in flight."""

import subprocess

import pytest
from harness import needs_root, wait_until
from test_threads_camera import states_of

pytestmark = needs_root

TURNS = 6


def io_uring_waits(answer):
    return {one["object"] or one["unknown"]: one for one in answer["objects"] if one["state"] == "io_uring"}


# entries that are ready before the thread waits for them end no wait: to open a file, or to write it, may be done at once
@pytest.mark.parametrize("way", ("plain", "registered", "defer", "sqpoll", "async"))
def test_what_ended_a_wait(lab, tmp_path, way):
    film = lab.record("-e", "threads", "--min-wait", "0", "--", lab.program("uring"), way, tmp_path, check=False)
    if film.recording.returncode == 77:
        pytest.skip("this kernel has no such io_uring: " + film.recording.stderr)
    assert film.recording.returncode == 0, film.recording.stderr
    names = [line for line in film.recording.stdout.splitlines() if not line.startswith("silent: ")]
    answer = states_of(lab, film)
    assert not any("object of" in reason for reason in answer["loss"]), answer["loss"]
    waits = io_uring_waits(answer)
    silent = film.recording.stdout.split("silent: ")[1].strip()
    assert not any(silent in name for name in waits), waits
    for name in names:
        if name.startswith(("fsync", "openat")):
            continue
        # some of a thread's time may be a hole, as where an init of a virtual machine is hidden; a worker waits for the same entry
        assert TURNS // 2 <= waits[name]["count"] <= 2 * TURNS, (name, waits)
        assert waits[name]["total"] > TURNS // 2 * 25_000_000, (name, waits)
    # those whose time was over were ended by none: what is known is the ring
    rest = {name: one for name, one in waits.items() if name not in names}
    assert len(rest) == 1 and next(iter(rest)).startswith("io_uring"), waits
    assert next(iter(rest.values()))["count"] <= TURNS + 2, rest


def test_in_flight(lab, tmp_path):
    """A wait that does not end says what the ring waits for."""
    said = tmp_path / "said"
    with open(said, "w") as out, subprocess.Popen([lab.program("uring"), "stuck", tmp_path], stdout=out) as program:
        wait_until(lambda: program.poll() is not None or "ready" in said.read_text())
        if program.poll() == 77:
            pytest.skip("this kernel has no io_uring")
        film = lab.record("-e", "threads", "-p", program.pid, "-d", 1)
        program.kill()
    lines = said.read_text().splitlines()
    silent = next(line.removeprefix("silent: ") for line in lines if line.startswith("silent"))
    names = [f"read of {silent}", next(line for line in lines if line.startswith("recv"))]
    (name,) = io_uring_waits(states_of(lab, film))
    assert name in [one + " and 1 more (in flight)" for one in names], (name, names)
