# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: the built stackcam films the programs of tests/programs, whose truth is known.

They run with `pytest tests/e2e --build BUILD-FOLDER` (or STACKCAM_BUILD; ./build is the default).
"""

import os
import shutil
import time
from pathlib import Path

import pytest

from harness import Lab

GOLDEN = 0.6180339887  # multiples of it lie evenly, and far from each other, in 0 to 1
NO_TIME = "no time left"  # also of test.sh, and counted by scripts/count_tests.py

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--build", default=os.environ.get("STACKCAM_BUILD", str(ROOT / "build")),
                     help="the build folder of the stackcam to test")
    parser.addoption("--programs", help="where the programs are, if not in that folder")


def pytest_configure(config):
    """Go compiles as tests/programs/meson.build has it, into the same cache."""
    cache = Path(config.getoption("--build")).resolve() / "go-cache"
    os.environ.update(GOCACHE=str(cache), GO111MODULE="off", GOTOOLCHAIN="local", GOFLAGS="")


def is_spared(item):
    """Whether its file spares it, as its version is much like others (harness.spare_versions)."""
    fixtures = [value for value in vars(item.module).values() if hasattr(value, "is_spared")]
    return any(fixture.is_spared(item) for fixture in fixtures)


def whose_turn(tests, one_in, turn):
    """Of the variants of a test each one_in-th, at least one: others at the next turn, until all had theirs."""
    chosen = tests[turn % one_in::one_in]
    return chosen or [tests[turn % len(tests)]]


def from_turn_on(items, turn):
    """The tests of all files, from another one on at each turn, far from that of the turn before."""
    files = list(dict.fromkeys(item.path for item in items))
    first = int(turn * GOLDEN % 1 * len(files))
    place = {path: (number - first) % len(files) for number, path in enumerate(files)}
    return sorted(items, key=lambda item: place[item.path])


def pytest_collection_modifyitems(config, items):
    """
    With STACKCAM_VARIANTS=N:TURN, a test that has many parameters runs with each N-th of them, and those are others at
    another turn. Each test runs, unless time runs out (STACKCAM_UNTIL), which is with other files then.
    """
    if not os.environ.get("STACKCAM_VARIANTS"):
        return
    one_in, turn = map(int, os.environ["STACKCAM_VARIANTS"].split(":"))
    variants = {}
    for item in items:
        if not is_spared(item):
            variants.setdefault((item.path, item.originalname), []).append(item)
    chosen = {item for number, tests in enumerate(variants.values()) for item in whose_turn(tests, one_in, turn + number)}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = from_turn_on([item for item in items if item in chosen], turn)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """With STACKCAM_UNTIL, in seconds since 1970, what has not begun by then is skipped."""
    until = os.environ.get("STACKCAM_UNTIL")
    if until and time.time() >= int(until):
        pytest.skip(NO_TIME)


def perf_maps():
    return set(Path("/tmp").glob("perf-*.map"))


def pytest_sessionstart(session):
    session.config.perf_maps_before = perf_maps()


def pytest_sessionfinish(session):
    """Programs leave perf maps behind. They go when no test needs them any more: once all workers have ended."""
    if hasattr(session.config, "workerinput"):
        return
    for path in perf_maps() - session.config.perf_maps_before:
        if not Path("/proc", path.stem.removeprefix("perf-")).exists():
            path.unlink(missing_ok=True)


@pytest.fixture(scope="session", autouse=True)
def open_folders(tmp_path_factory):
    """Some tests film as other users: those must get to the folders of the tests, also to a worker's."""
    base = tmp_path_factory.getbasetemp()
    for folder in (base, *base.parents):
        if folder.name.startswith(("popen-", "pytest-")):
            folder.chmod(0o755)


@pytest.fixture(scope="session")
def places(request, tmp_path_factory):
    """
    The stackcam to test, and the folder of the programs to film. A worker beside others has copies of them: probes are
    set in files, so that a program of another test would be a stranger that runs what is traced here.
    """
    build = Path(request.config.getoption("--build")).resolve()
    stackcam = build / "src" / "stackcam"
    if not stackcam.exists():
        pytest.exit(f"there is no {stackcam}: build it first (see test.sh)", 1)
    programs = request.config.getoption("--programs")
    programs = Path(programs).resolve() if programs else build / "tests" / "programs"
    if hasattr(request.config, "workerinput"):
        folder = tmp_path_factory.mktemp("worker")
        folder.chmod(0o755)  # other users run some of them
        programs = shutil.copytree(programs, folder / "programs", symlinks=True,
                                   ignore=shutil.ignore_patterns("go-cache", "*.p"))
    return stackcam, programs


@pytest.fixture
def lab(places, tmp_path):
    return Lab(*places, tmp_path)


@pytest.fixture(scope="module")
def shared_lab(places, tmp_path_factory):
    """For films that many tests of a module read."""
    if os.geteuid() != 0:
        pytest.skip("filming needs root here")
    return Lab(*places, tmp_path_factory.mktemp("shared"))
