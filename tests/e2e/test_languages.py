# SPDX-License-Identifier: Apache-2.0
"""Programs that make and forget functions all the time (bench/soak-languages, for some seconds): who calls whom."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import LUA, PATIENCE, needs_root

pytestmark = needs_root

SOAK = Path(__file__).resolve().parents[2] / "bench/soak-languages"
NEEDS = {"python": ["/usr/bin/python3"], "java": ["java", "javac"], "lua": [LUA],
         "luajit": ["luajit"], "node": ["node"]}


@pytest.fixture(scope="module")
def soaked(places):
    """What the soak says of all languages that are installed, filmed together."""
    there = [name for name, commands in NEEDS.items() if all(map(shutil.which, commands))]
    build = places[0].parents[1]
    done = subprocess.run([sys.executable, "-B", SOAK, "--build", build, "--minutes", "0.1",
                           "--lua", LUA, "--only", ",".join(there)], capture_output=True, text=True,
                          timeout=2 * PATIENCE)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()
            if re.match(r"\| (" + "|".join(there) + r") \|", line)]
    return {row[0]: row for row in rows}, done.stdout + done.stderr


@pytest.mark.parametrize("language", NEEDS)
def test_no_wrong_callers(soaked, language):
    rows, text = soaked
    if not all(map(shutil.which, NEEDS[language])):
        pytest.skip(f"{language} is not installed")
    assert language in rows, text
    _, samples, _, checked, _, wrong, *_ = rows[language]
    assert int(samples) > 100, text
    assert float(checked.split()[0]) > 1, text
    # the soak wants none; in some seconds, one could be chance
    assert int(wrong) <= max(1, int(samples) / 1000), text


def test_programs_are_not_harmed(soaked):
    rows, text = soaked
    assert f"{len(rows)} of {len(rows)}" in text, text
