# SPDX-License-Identifier: Apache-2.0
"""A leak is the first of what has grown, whatever else a program holds: the programs are those of bench/leaks."""

import subprocess
import time
from pathlib import Path

import pytest

from harness import go_built, needs_root

pytestmark = needs_root

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"


def command(language, folder):
    if language == "C":
        subprocess.run(["gcc", "-O2", "-g", "-fno-builtin", BENCH / "leaky.c", "-o", folder / "leaky"], check=True)
        return [folder / "leaky", "list"]
    if language == "Go":
        return [go_built(folder, "leaky", (BENCH / "leaky_go.go").read_text()), "map"]
    return ["/usr/bin/python3", BENCH / "leaky.py", "cache"]


@pytest.mark.parametrize("language", ["C", "Go", "Python"])
def test_a_leak_is_first(lab, tmp_path, language):
    program, begin = command(language, tmp_path), time.monotonic()
    film = lab.record("-e", "mem-inuse", "--", *program)
    # what its window holds lives for a sixth of the program, however slow that is
    third = f"{(time.monotonic() - begin) / 3:.1f}s"

    def holder(*options):
        sums = {}
        for stack, value in film.folded("-e", "mem-inuse", *options):
            name = next((word for word in reversed(stack) if any(
                part in word.lower() for part in ("planted", "window", "cache_at", "cacheat"))), "others")
            sums[name] = sums.get(name, 0) + value
        return max(sums, key=sums.get)

    assert "window" in holder()
    assert "planted" in holder("--grown", third), film.explain()
