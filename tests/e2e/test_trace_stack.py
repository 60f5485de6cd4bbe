# SPDX-License-Identifier: Apache-2.0
"""trace --stack: from where a function is called, through functions that are not traced."""
import json

from harness import needs_root


@needs_root
def test_stack_of_callers(lab):
    film = lab.new_film()
    done = lab.run("trace", "-f", "c", "--stack", "c", "-o", film, "--", lab.program("calls_tree"))
    assert done.returncode == 0, done.stderr
    calls = json.loads(lab.run("report", film, "--format", "json").stdout)
    assert calls["event"]["name"] == "calls"
    count = {f["name"]: f["calls"] for f in calls["functions"]}["c"]
    assert count > 0
    stacks = lab.run("report", film, "-e", "call-stacks", "--format", "folded").stdout.splitlines()
    taken = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in stacks}
    assert sum(taken.values()) == count
    for stack in taken:
        assert stack.endswith("main;a;b;c"), stack


@needs_root
def test_stack_needs_a_film(lab):
    done = lab.run("trace", "--stack", "c", "--", lab.program("calls_tree"))
    assert done.returncode == 2
    assert "-o FILM" in done.stderr
