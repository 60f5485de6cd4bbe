# SPDX-License-Identifier: Apache-2.0
"""
A kernel that refuses one of our programs or maps (tests/programs/refusing_kernel.c): what needs it is not recorded, which
is said, and the rest is.
"""

import os
import re
import subprocess

import pytest

from harness import PATIENCE, Film, needs_root

pytestmark = needs_root


def refused(lab, names, *words, accepted=0):
    environment = {**os.environ, "LD_PRELOAD": lab.program("refusing_kernel.so"), "REFUSED": names, "ACCEPTED": str(accepted)}
    return subprocess.run([lab.stackcam, *map(str, words)], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("names, gone, sentence", [
    ("requests_sent", "requests", "cannot record requests: the kernel refuses requests_sent: the test says no"),
    ("on_cpu", "on-cpu", "cannot record on-cpu: the kernel refuses on_cpu: the test says no"),
    ("sched_threads", "off-cpu", "cannot record off-cpu: the kernel refuses sched_threads: failed to create"),
    ("hold_exec", None, "programs and libraries that start later are not probed: the kernel refuses hold_exec"),
    ("mapping_placed", None, "where code is mapped over: the kernel refuses mapping_placed: the test says no"),
])
def test_the_rest_is_recorded(lab, names, gone, sentence):
    film = lab.new_film()
    events = ["on-cpu", "off-cpu", "requests"]
    # a command that waits and computes, so that both events have samples
    done = refused(lab, names, "record", "-q", "--verbose", "-e", ",".join(events), "-o", film, "--",
                   "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; sleep 0.2")
    assert done.returncode == 0, done.stderr
    assert sentence in done.stderr
    assert done.stderr.count("refuses") == 1
    for event in events:
        report = lab.run("report", "-e", event, film)
        assert (report.returncode == 0) == (event != gone), (event, report.stderr)


def test_several_are_refused(lab):
    done = refused(lab, "requests_sent,sched_switch", "record", "-q", "-e", "on-cpu,off-cpu,requests", "-o",
                   lab.new_film(), "--", "true")
    assert done.returncode == 0, done.stderr
    assert "cannot record off-cpu: the kernel refuses sched_switch (--verbose shows why)" in done.stderr
    assert "cannot record requests: the kernel refuses requests_sent" in done.stderr


@pytest.mark.parametrize("names, verb, sentence", [
    ("on_cpu", ("record", "-d", "0.1"), "cannot record on-cpu: the kernel refuses on_cpu (--verbose shows why)"),
    ("on_cpu", ("record", "-d", "0.1", "--verbose"), "cannot record on-cpu: the kernel refuses on_cpu: the test says no"),
    # all stacks are walked by it
    ("walker_event", ("record", "-d", "0.1"), "cannot record: the kernel refuses walker_event"),
    ("capture_rings", ("record", "-d", "0.1"), "cannot record: the kernel refuses capture_rings"),
    ("calls_", ("trace", "-f", "main"), "cannot record calls, call-stacks: the kernel refuses calls_"),
])
def test_nothing_is_left(lab, names, verb, sentence):
    film = lab.new_film()
    done = refused(lab, names, *verb, "-o", film, "--", lab.program("calls_tree"))
    assert done.returncode == 3, done.stderr
    assert sentence in done.stderr
    assert not os.path.exists(film)


def test_the_step_of_a_language_is_refused(lab):
    """The programs that walk its frames come when a process turns out to have it."""
    film = lab.new_film()
    done = refused(lab, "walker_event", "record", "-q", "-F", "499", "-o", film, "--", "/usr/bin/python3", "-c",
                   "for i in range(10**7): pass", accepted=1)
    assert done.returncode == 0, done.stderr
    answer = Film(lab.stackcam, film).json()
    assert "python frames not looked for: the kernel refuses walker_event: the test says no" in answer["loss"], answer["loss"]
    assert answer["stacks"]["samples"]


def test_doctor_loads_what_it_says(lab):
    assert "the kernel accepts all of them" in lab.run("doctor").stdout
    done = refused(lab, "requests_sent,dump_", "doctor")
    assert done.returncode == 0
    row = next(line for line in done.stdout.splitlines() if line.split()[1:2] == ["programs"])
    assert row.startswith("absent")
    assert "cannot record requests: the kernel refuses requests_sent: the test says no" in row
    for source, program in ("calls", "calls_site"), ("inspect", "inspect_site"):
        row = refused(lab, program, "doctor").stdout
        assert re.search(rf"cannot record {source}.*: the kernel refuses {program}: the test says no", row)
    done = refused(lab, "walker_", "doctor")
    assert done.returncode == 3
    assert "stackcam cannot record here: programs: cannot record: the kernel refuses walker_" in done.stdout
