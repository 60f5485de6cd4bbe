# SPDX-License-Identifier: Apache-2.0
"""trace without options on programs made by chance: their results, and each call where their own logs have it."""

import shutil
import sys
from pathlib import Path

import pytest

from calls import CAN_HOLD
from harness import needs_root

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))

import generated_calls  # noqa: E402

pytestmark = [needs_root, pytest.mark.skipif(not CAN_HOLD, reason="the first calls of a program are not seen")]


@pytest.mark.parametrize("seed", range(len(generated_calls.OPTIONS)))
def test_program(lab, seed, tmp_path):
    """One for each set of compiler options; bench/generated-calls tries more."""
    if not shutil.which(generated_calls.OPTIONS[seed][0]):
        pytest.skip("the compiler is missing")
    faults, looked = generated_calls.check(lab.stackcam, seed, tmp_path)
    assert not faults, "\n".join(faults)
    assert looked["calls"] > 30
    # nor is that so because nothing is said to be known
    assert looked["callers"] < 0.2 * looked["calls"], looked
