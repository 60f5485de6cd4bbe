# SPDX-License-Identifier: Apache-2.0
"""
Programs that were made to cost the recorder memory: files that claim to be more than they are, JIT maps of gigabytes,
processes with as many mappings as the kernel lets them have. What counts is the peak.
"""

import contextlib
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

import hostile_files
from harness import PATIENCE, Film, as_from_a_terminal, needs_root, running, wait_until
from test_serve import serving

PEAK = 200e6  # bytes, of which bench/hostile-memory shows how many are taken

# Nothing that grows here may take the machine with it.
BOUNDED = ("prlimit", "--as=4000000000")

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
            hostile_programs(lab, made, 120):
        record = subprocess.Popen([*BOUNDED, lab.stackcam, "record", "-a", "-F", "199", "-d", "6", "-o", path],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        _, said = record.communicate(timeout=PATIENCE)
        assert record.returncode == 0, said
        assert wait_until(lambda: "newest_of_all" in serve.functions()), serve.functions()
        assert peak(serve.pid) < PEAK
        assert serve.end()[0] == 0
    film = Film(lab.stackcam, path)
    assert "newest_of_all" in film.self_shares()
    answer = film.json()
    losses = " ".join(answer["loss"])
    assert "the code of its interpreter: reading it takes more" in losses, answer["loss"]
    assert "unwind table: reading the file takes more memory or time than any sound one" in losses, answer["loss"]
    assert "maps of JIT code that were passed over" in losses, answer["loss"]


@needs_root
def test_peak_of_record(lab, made):
    """All files in one program, which is filmed from its start to its end."""
    process = subprocess.Popen([*BOUNDED, lab.stackcam, "record", "-q", "-F", "199", "-o", lab.new_film(), "--",
                                lab.program("hostile_files"), "2", "16", *made.values()],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert usage.ru_maxrss * 1024 < PEAK


@needs_root
def test_without_memory(lab, made):
    """Whichever allocation fails, the recorder ends by itself: with a film, or with words."""
    chance = random.Random(14)
    with running(lab.program("hostile_files"), 100, 16, *made.values()) as program:
        for _ in range(12):
            environment = {
                **os.environ,
                "LD_PRELOAD": lab.program("failing_malloc.so"),
                "FAIL_FROM": str(int(10 ** chance.uniform(2.5, 5))),
                "FAIL_COUNT": str(chance.choice([1, 3, 50, 10**9])),
            }
            done = subprocess.run([lab.stackcam, "record", "-q", "-d", "0.2", "-p", str(program.pid), "-o",
                                   lab.new_film()], env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, preexec_fn=as_from_a_terminal,
                                  timeout=PATIENCE, check=False)
            setting = {k: v for k, v in environment.items() if k.startswith("FAIL")}
            assert done.returncode in (0, 1, 3), (setting, signal.Signals(-done.returncode)
                                                  if done.returncode < 0 else done.returncode)
            assert done.returncode == 0 or "stackcam: " in done.stderr, (setting, done.stderr)
