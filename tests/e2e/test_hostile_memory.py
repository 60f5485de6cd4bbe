# SPDX-License-Identifier: Apache-2.0
"""
Programs that were made to cost the recorder memory: files that claim to be more than they are, JIT maps of gigabytes,
processes with as many mappings as the kernel lets them have. What counts is the peak.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hostile_files
from harness import PATIENCE, Film, as_from_a_terminal, needs_root, running, wait_until
from test_serve import serving

PEAK = 200e6  # bytes, of which bench/hostile-memory shows how many are taken
PEAK_OF_RECORD = 150e6  # 66 MB are taken here

# Nothing that grows here may take the machine with it.
BOUNDED = ("prlimit", "--as=4000000000")

NOBODY = 65534
ALLOWED = 15  # seconds of a CPU: files of users may take half of that, and these would take twice as much

# Half of the mappings that a process may have: each page is one, of the same memory.
PAGES = 30000


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Name to path of each hostile file."""
    folder = tmp_path_factory.mktemp("hostile")
    return {name: make().write(folder / name) for name, make in hostile_files.FILES.items()}


def peak(pid):
    """Bytes of memory that a process had at most."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


# What os.wait4() says of a child's memory has that of its parent in it, if it was more when the child was made
# (exec_mmap() in fs/exec.c): so a parent that is smaller than what is measured stands between.
SMALL_PARENT = """
import os, sys
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    print(usage.ru_maxrss * 1024, file=file)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run_for_peak(lab, *command):
    """Runs a command, whose status must be 0. Returns the bytes of memory that it had at most, or one of its children."""
    told = lab.folder / "peak"
    subprocess.run([sys.executable, "-I", "-S", "-c", SMALL_PARENT, told, *BOUNDED, *command], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=PATIENCE)
    return int(told.read_text())


@contextlib.contextmanager
def hostile_programs(lab, made, seconds):
    """One for each file, one with all of them, one with many mappings; a map of 2 GB for each that makes code."""
    program = lab.program("hostile_files")
    maps = []
    try:
        with contextlib.ExitStack() as stack:
            for files, pages in [*(([path], 0) for path in made.values()), (made.values(), 2),
                                 ([], PAGES)]:
                process = stack.enter_context(running(program, seconds, pages, *files))
                if pages:
                    maps.append(f"/tmp/perf-{process.pid}.map")
                    hostile_files.write_map(maps[-1], "newest_of_all")
            yield
    finally:
        for path in maps:
            Path(path).unlink(missing_ok=True)


@needs_root
def test_peak(lab, made, tmp_path):
    path = lab.new_film()
    with serving(lab, tmp_path / "store", prefix=BOUNDED) as serve, \
            hostile_programs(lab, made, 2 * PATIENCE):
        record = subprocess.Popen([*BOUNDED, lab.stackcam, "record", "-a", "-F", "199", "-d", "6", "-o", path],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        _, said = record.communicate(timeout=PATIENCE)
        assert record.returncode == 0, said
        # a map of 2 GB is read a part at a time
        assert wait_until(lambda: "newest_of_all" in serve.functions(), 3 * PATIENCE), serve.functions()
        assert peak(serve.pid) < PEAK
        assert serve.end()[0] == 0
    film = Film(lab.stackcam, path)
    assert "newest_of_all" in film.self_shares()
    answer = film.json()
    losses = " ".join(answer["loss"])
    assert "the code of its interpreter: reading it takes more" in losses, answer["loss"]
    assert "unwind table: reading the file takes more memory or time than any sound one" in losses, answer["loss"]
    assert "maps of JIT code of which only what is newest was read" in losses, answer["loss"]


@needs_root
def test_peak_of_record(lab, made):
    """All files in one program, which is filmed from its start to its end."""
    path = lab.new_film()
    # it is measured at all, and nothing of this process with it
    assert 1e6 < run_for_peak(lab, "true") < 30e6
    taken = run_for_peak(lab, lab.stackcam, "record", "-q", "-F", "199", "-o", path, "--", lab.program("hostile_files"),
                         "2", "16", *made.values())
    assert taken < PEAK_OF_RECORD
    assert Film(lab.stackcam, path).json()["stacks"]["samples"] > 0


@needs_root
def test_time(lab, tmp_path):
    """
    Each file is within its budget, but there are many: reading them takes no more than what all files may, and
    programs that are installed are read meanwhile.
    """
    files = [hostile_files.lua_of_holes().write(tmp_path / str(i)) for i in range(60)]
    for path in files:
        os.chown(path, NOBODY, NOBODY)
    film = Film(lab.stackcam, lab.new_film())

    def seen():
        """What is installed is read meanwhile."""
        done = film.report("--format", "json", "-n", "split", check=False)
        return done.returncode == 0 and json.loads(done.stdout)["stacks"]["complete"] >= 5 and \
            any(loss.startswith("file put off") for loss in film.json()["loss"])

    with running(lab.program("hostile_files"), 100, 0, *files), running(lab.program("split"), 100):
        begin = time.monotonic()
        record = subprocess.Popen([lab.stackcam, "record", "-q", "-a", "-o", film.path], stdin=subprocess.DEVNULL,
                                  preexec_fn=as_from_a_terminal)
        try:
            assert wait_until(lambda: film.path.exists() and seen()), film.explain()
        finally:
            record.send_signal(signal.SIGINT)
            _, status, used = os.wait4(record.pid, 0)
            record.returncode = os.waitstatus_to_exitcode(status)
    assert record.returncode == 0
    # beside a tenth of the time, and what recording itself takes
    assert used.ru_utime + used.ru_stime < ALLOWED + 0.2 * (time.monotonic() - begin), (used, film.json()["loss"])


def failures():
    """Which allocations fail: from which one on, and how many."""
    chance = random.Random(14)
    return [(int(10 ** chance.uniform(2.5, 5)), chance.choice([1, 3, 50, 10**9])) for _ in range(12)]


@needs_root
@pytest.mark.parametrize("begin, count", failures())
def test_without_memory(lab, made, begin, count):
    """Whichever allocation fails, the recorder ends by itself: with a film, or with words."""
    environment = {**os.environ, "LD_PRELOAD": lab.program("failing_malloc.so"), "FAIL_FROM": str(begin), "FAIL_COUNT": str(count)}
    with running(lab.program("hostile_files"), 100, 16, *made.values()) as program:
        done = subprocess.run([lab.stackcam, "record", "-q", "-d", "0.2", "-p", str(program.pid), "-o", lab.new_film()],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              preexec_fn=as_from_a_terminal, timeout=PATIENCE, check=False)
    assert done.returncode in (0, 1, 3), signal.Signals(-done.returncode) if done.returncode < 0 else done.returncode
    assert done.returncode == 0 or "stackcam: " in done.stderr, done.stderr
