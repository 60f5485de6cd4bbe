# SPDX-License-Identifier: Apache-2.0
"""On which CPUs threads ran: programs that can run on one CPU alone have all their time there."""

import collections
import os
import re

import pytest

from asking import playing
from harness import needs_root, running
from test_serve import serving

CPUS = sorted(os.sched_getaffinity(0))

pytestmark = [needs_root, pytest.mark.skipif(len(CPUS) < 2, reason="there is one CPU")]

FIRST, SECOND = CPUS[0], CPUS[-1]


def film_pinned(lab, split_on, omit_on):
    """A film of two programs that only compute, each of which is bound to one CPU."""
    with running("taskset", "-c", split_on, lab.program("split"), 60) as split, \
            running("taskset", "-c", omit_on, lab.program("omit"), 60) as omit:
        return lab.record("--sample-cpu", "-d", 1, "-p", f"{split.pid},{omit.pid}"), {"split": split_on, "omit": omit_on}


@pytest.fixture(scope="module")
def pinned(shared_lab):
    return film_pinned(shared_lab, FIRST, SECOND)


def test_each_program_has_its_cpu(pinned):
    film, cpu_of = pinned
    answer = film.json("--by", "name,cpu")
    assert {group["process"]: group["cpu"] for group in answer["groups"]} == cpu_of
    # each stands there once, and together they are all there is
    assert len(answer["groups"]) == 2 and sum(group["total"] for group in answer["groups"]) == answer["event"]["total"]


def test_each_cpu_has_its_functions(pinned):
    film, _ = pinned
    answer = film.json("--by", "cpu")
    totals = {group["cpu"]: group["total"] for group in answer["groups"]}
    assert set(totals) == {FIRST, SECOND} and sum(totals.values()) == answer["event"]["total"] == film.json()["event"]["total"]
    table = film.report("--by", "cpu").stdout
    assert re.search(r"Total% +CPU$", table, re.MULTILINE), table
    for cpu in (FIRST, SECOND):
        assert re.search(rf" \[CPU {cpu}\]$", table, re.MULTILINE), table
    found = collections.defaultdict(int)
    for stack, value in film.folded("--by", "cpu"):
        found[stack[0]] += value
        assert "f70" not in stack or stack[0] == f"[CPU {FIRST}]", stack
        assert "c30" not in stack or stack[0] == f"[CPU {SECOND}]", stack
    assert found == {f"[CPU {cpu}]": total for cpu, total in totals.items()}


def test_a_choice_of_samples(pinned):
    film, _ = pinned
    group, = film.json("--by", "cpu", "--focus", "^f70$")["groups"]
    assert group["cpu"] == FIRST


def totals_of(flame):
    """Of what stands at the root of an answer of the API, by name."""
    nodes, names = flame["nodes"], flame["labels"]["name"]
    return {names[label]: total for label, total in zip(nodes["label"], nodes["total"])
            if re.fullmatch(r"\[(CPU \d+|unknown CPU)\]", names[label])}


def test_served(pinned, shared_lab):
    film, _ = pinned
    with playing(shared_lab.stackcam, film.path) as player:
        totals = totals_of(player.ask("flame", by="cpu"))
    assert totals == {f"[CPU {group['cpu']}]": group["total"] for group in film.json("--by", "cpu")["groups"]}


@pytest.mark.parametrize("options, name", [(("--sample-cpu",), f"[CPU {FIRST}]"), ((), "[unknown CPU]")])
def test_served_while_it_is_recorded(lab, tmp_path, options, name):
    """Where films do not have it, the answer says so: there may be such films among others."""
    # another test may run the same program elsewhere meanwhile
    with running("taskset", "-c", FIRST, lab.program("split"), 100) as split, serving(lab, tmp_path / "store", *options) as serve:
        serve.wait_for_function("f70", pid=split.pid)
        flame = serve.get("flame", by="cpu", pid=split.pid)
        assert totals_of(flame) == {name: flame["sum"]["total"]}


def test_another_cpu_is_a_difference(pinned, shared_lab):
    before, _ = pinned
    now, _ = film_pinned(shared_lab, SECOND, FIRST)
    grown, shrunk = set(), set()
    for line in shared_lab.run("diff", "--by", "cpu", "--format", "folded", before.path, now.path).stdout.splitlines():
        frames, was, is_now = line.rsplit(" ", 2)
        first, *rest = frames.split(";")
        for name in {"f70", "c30"} & set(rest):
            (grown if int(is_now) > int(was) else shrunk).add((first, name))
    on = f"[CPU {FIRST}]", f"[CPU {SECOND}]"
    assert grown == {(on[1], "f70"), (on[0], "c30")}
    assert shrunk == {(on[0], "f70"), (on[1], "c30")}


def test_films_that_do_not_have_it(pinned, lab):
    """One that was recorded without the option, on either side of a comparison."""
    film = lab.film_program("split")
    for verb in (("report", film.path), ("diff", pinned[0].path, film.path), ("diff", film.path, pinned[0].path)):
        done = lab.run(*verb, "--by", "cpu")
        assert done.returncode == 1, done.stderr
        assert "the film does not say on which CPUs its samples of on-cpu were made" in done.stderr and "--sample-cpu" in done.stderr


def test_events_that_have_none(lab):
    film = lab.record("-e", "on-cpu,off-cpu,mem-grow", "--sample-cpu", "--fault-period", 1, "--", "sh", "-c", "sleep 0.1")
    done = film.report("-e", "off-cpu", "--by", "cpu", check=False)
    assert done.returncode == 1, done.stderr
    assert "off-cpu has no samples that were made on a CPU" in done.stderr and "-e on-cpu" in done.stderr
    done = film.report("-e", "mem-grow", "--by", "cpu", check=False)
    assert done.returncode == 1, done.stderr
    assert "the film does not say on which CPUs its samples of mem-grow were made" in done.stderr
