# SPDX-License-Identifier: Apache-2.0
"""
on-gpu of graphs: what each place that captured a part of one took, against libraries that stand for the driver's and its profiling one
(tests/programs/cuda_driver.c, cuda_profiler.c), which say what ran. Sums are exact, whatever launches are sampled.
"""

import collections
import contextlib
import ctypes
import os
import signal
import sqlite3
import subprocess
import types
from pathlib import Path

import pytest

from harness import PATIENCE, Film, needs_root, running, wait_until
from test_flight_record import flying
from test_gpu_kernels import lost, record_command, total

pytestmark = needs_root

GEMM, NORM = 7000, 3000
UNSAMPLED = 2  # of flags in doc/film.md
AT, UNKNOWN = "[captured at]", "[graph capture not known]"


def record(lab, *arguments, options=(), events="on-gpu", **environment):
    """Returns the film, and what the kernels of both places took."""
    film, said = record_command(lab, (lab.program("cuda_graphs"), *arguments), environment, events, options)
    return film, *map(int, said.split())


def captured(film, by):
    """What those took that a function captured."""
    return total(film, lambda stack: AT in stack and by in stack[stack.index(AT):])


def check_places(film, forward, backward):
    assert captured(film, "forward") == forward and captured(film, "backward") == backward, film.report("-e", "on-gpu").stdout
    assert total(film, lambda stack: True) == forward + backward
    # the kernel is on top, above the call that captured it
    assert total(film, lambda stack: "forward" in stack and "cuLaunchKernel" in stack and stack[-1] == "gemm") == forward
    assert total(film, lambda stack: "backward" in stack and "cuLaunchKernel" in stack and stack[-1] == "norm") == backward
    # nothing stands where a copy of a node was made
    assert not total(film, lambda stack: "cuGraphInstantiateWithFlags" in stack)


def test_each_kernel_has_its_launch_and_its_capture(lab):
    film, forward, backward = record(lab, 50)
    assert (forward, backward) == (50 * GEMM, 50 * NORM)
    check_places(film, forward, backward)
    for stack, _ in film.folded("-e", "on-gpu"):
        assert stack.index("replay") < stack.index("cuGraphLaunch") < stack.index(AT) < stack.index("capture"), stack
    # calls that were captured have no kernel of their own
    assert set(film.json("-e", "on-gpu")["loss"]) == {reason for reason in film.json("-e", "on-gpu")["loss"] if "without a kernel" in reason}


@pytest.mark.parametrize("how", ["renews", "wide"])
def test_sums_of_many_launches(lab, how):
    """Of a few the launch is known; of all the place that captured them."""
    film, forward, backward = record(lab, 2000, 8, how)
    assert forward * NORM == backward * GEMM
    check_places(film, forward, backward)
    assert not lost(film, "graph"), film.json("-e", "on-gpu")["loss"]


def test_a_graph_that_was_captured_before(lab):
    film, forward, backward = record(lab, 50, PROFILER_LATE_NODES="1")
    assert captured(film, "backward") == backward and total(film, lambda stack: True) == forward + backward
    assert total(film, lambda stack: "replay" in stack and UNKNOWN in stack and stack[-1] == "gemm") == forward
    assert lost(film, "of a graph was captured") == 50
    film, forward, backward = record(lab, 50, PROFILER_NO_NODES="1")
    assert total(film, lambda stack: UNKNOWN in stack) == forward + backward
    assert lost(film, "refuses, or is too old") == 1


def test_more_nodes_than_there_is_room_for(lab):
    """Nodes that are gone make room; others are forgotten, counted, and what they ran later has a mark."""
    film, forward, backward = record(lab, 40_000, 1, "renews")
    check_places(film, forward, backward)
    assert not lost(film, "forgotten")
    film, forward, backward = record(lab, 40_000, 1, "keeps")
    known = captured(film, "forward") + captured(film, "backward")
    assert known + total(film, lambda stack: UNKNOWN in stack) == forward + backward == total(film, lambda stack: True)
    # nodes of copies need no stacks
    assert lost(film, "forgotten") > 10_000 and not lost(film, "at once"), film.json("-e", "on-gpu")["loss"]


class Asked:
    """The program that does what lines say."""

    def __init__(self, process):
        self.process = process

    def do(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"done\n"

    def has_profiler(self):
        self.do("capture")
        return "libcupti" in Path(f"/proc/{self.process.pid}/maps").read_text(encoding="utf-8")


def test_a_graph_is_known_in_later_films(lab, tmp_path):
    """What was captured in one film has its place in those that follow, and no launch is lost between two."""
    films = []

    def sums():
        """What all films have: by the parts that the program captured, and of what is not known where."""
        return tuple(sum(of(film) for film in films) for of in (
            lambda film: captured(film, "forward"), lambda film: captured(film, "backward"),
            lambda film: total(film, lambda stack: UNKNOWN in stack)))

    def have(launches):
        """Another film, which begins where the one before ended: kernels are reported within about a second."""
        done = lab.run("keep", "--pid", recorder.pid)
        if done.returncode == 0:
            films.append(Film(lab.stackcam, done.stdout.strip()))
        return sums()[:2] == (launches * GEMM, launches * NORM)

    with running(lab.program("cuda_graphs"), "asked", stdin=subprocess.PIPE,
                 env={**os.environ, "LD_LIBRARY_PATH": str(lab.programs)}) as program:
        asked = Asked(program.process)
        with flying(lab, tmp_path / "last.film", "--flight", "60s", "-e", "on-gpu,gpu-lanes", "-p", asked.process.pid) as recorder:
            assert wait_until(asked.has_profiler)
            # of the last one alone it is known where it was captured
            asked.do("capture")
            launches = 0
            for more in (20, 50, 50):
                before = len(films)
                asked.do(f"replay {more}")
                launches += more
                # some of them in a film after the one with their launch
                assert wait_until(lambda launches=launches: have(launches)), [film.report("-e", "on-gpu").stdout for film in films]
                assert len(films) > before
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
    assert sums()[2] == 0 and not any(lost(film, "of a graph was captured") for film in films)
    for film in films:
        assert not lost(film, "is none of the samples"), film.json("-e", "on-gpu")["loss"]


class Zstd:
    """What the reader of doc/film.md needs of the module zstandard."""

    @staticmethod
    def ZstdDecompressor():  # pylint: disable=invalid-name
        return Zstd

    @staticmethod
    def decompress(data):
        library = ctypes.CDLL("libzstd.so.1")
        for function in (library.ZSTD_getFrameContentSize, library.ZSTD_decompress):
            function.restype = ctypes.c_uint64
        size = library.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
        to = ctypes.create_string_buffer(size)
        assert library.ZSTD_decompress(to, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) == size
        return to.raw


def works_of(film):
    """Of all rows of gpu-lanes: whether the launch is a sample, the stack from its root, and the name; read as doc/film.md says."""
    page = (Path(__file__).parents[2] / "doc" / "film.md").read_text(encoding="utf-8")
    code = page[page.index("class Columns"):page.index("totals = collections.Counter()")]
    reader = {"collections": collections, "sqlite3": sqlite3, "zstandard": Zstd,
              "sys": types.SimpleNamespace(argv=["reader", str(film.path)])}
    exec(code, reader)  # pylint: disable=exec-used
    with contextlib.closing(reader["film"]) as opened:
        for count, data in opened.execute("SELECT n, data FROM block WHERE kind = 14"):
            for _, _, _, stack, name, _, _, _, _, flags in reader["Columns"](data).table(count, 10):
                yield not flags & UNSAMPLED, reader["folded"](stack).split(";"), reader["name_of"][name][0]


@pytest.mark.parametrize("launches", [50, 4000])
def test_rows_of_lanes_have_the_capture(lab, launches):
    """Of launches that are samples, and of the others: where the kernel was captured, behind the launch."""
    film, forward, backward = record(lab, launches, events="on-gpu,gpu-lanes")
    check_places(film, forward, backward)
    rows = list(works_of(film))
    assert len(rows) == 2 * launches
    for is_sampled, stack, name in rows:
        at = stack.index(AT)
        assert {"gemm": "forward", "norm": "backward"}[name] in stack[at:] and "capture" in stack[at:], stack
        assert "replay" in stack[:at] if is_sampled else stack[:at] == ["[launch not sampled]"], stack
    assert any(is_sampled for is_sampled, _, _ in rows)
    assert all(is_sampled for is_sampled, _, _ in rows) == (launches == 50)
