# SPDX-License-Identifier: Apache-2.0
"""Stacks that are not walked again, as they are as before: they are those that a walk finds."""

import pytest

from harness import needs_root

pytestmark = needs_root

CHECKED = "STACKCAM_CHECK_STACKS: stacks as before that were walked, too"
DIFFER = "STACKCAM_CHECK_STACKS: those that differ from their walk"
LOST = "stack of a wait lost: the one that it refers to was not kept"
FUNCTIONS = ("left", "right", "near_by", "far_away")


def losses(film):
    return film.json("-e", "off-cpu", "--idle")["loss"]


@pytest.mark.parametrize("options", [("--wait-stacks", 0), ("--wait-stacks", 0, "--min-wait", "0us")])
def test_equal_to_a_walk(lab, monkeypatch, options):
    """Whatever waits on this machine meanwhile is walked as well."""
    monkeypatch.setenv("STACKCAM_CHECK_STACKS", "1")
    film = lab.record("-e", "off-cpu", *options, "-a", "--", lab.program("waits"), 2)
    lost = losses(film)
    assert lost.get(CHECKED, 0) > 500, lost
    assert DIFFER not in lost and LOST not in lost, lost


def test_one_word_of_the_stack_tells_callers_apart(lab):
    film = lab.record("-e", "off-cpu,run-queue", "--wait-stacks", 0, "--", lab.program("alternate"), 2)
    words = film.recording.stdout.split("ready")[-1].split()
    truth = dict(zip(words[::2], map(int, words[1::2])))
    assert set(truth) == set(FUNCTIONS)
    seen, ready = ({function: sum(value for stack, value in film.folded("-e", event) if function in stack) for function in FUNCTIONS}
                   for event in ("off-cpu", "run-queue"))
    for function in FUNCTIONS:
        # it waits for a CPU as well, on a busy machine for longer
        assert 0.5 * truth[function] < seen[function] + ready[function] <= truth[function] and seen[function], (seen, ready, truth)
    assert film.complete("-e", "off-cpu") >= 0.99, film.explain()
    assert LOST not in losses(film)
