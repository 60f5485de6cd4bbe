# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: the built stackcam films the programs of tests/programs, whose truth is known.

They run with `pytest tests/e2e --build BUILD-FOLDER` (or STACKCAM_BUILD; ./build is the default).
"""

import os
from pathlib import Path

import pytest

from harness import Lab

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--build", default=os.environ.get("STACKCAM_BUILD", str(ROOT / "build")),
                     help="the build folder of the stackcam to test")


@pytest.fixture(scope="session")
def build(request):
    folder = Path(request.config.getoption("--build"))
    if not (folder / "src" / "stackcam").exists():
        pytest.exit(f"no stackcam in {folder}: build it first (see ./test.sh)", 1)
    return folder


@pytest.fixture
def lab(build, tmp_path):
    return Lab(build, tmp_path)
