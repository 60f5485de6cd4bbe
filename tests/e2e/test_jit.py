# SPDX-License-Identifier: Apache-2.0
"""Code that a process makes while it runs, named by its jitdump or its perf map."""

import os
import re
import shutil
import subprocess

import pytest

from harness import needs_root, running

pytestmark = needs_root

NODE = shutil.which("node", path="/usr/bin:/bin")

SCRIPT = """
function spin(turns) {
    let sum = 0;
    for (let i = 0; i < turns; i++)
        sum = (sum * 31 + i) | 0;
    return sum;
}
function often(turns) { return spin(turns * 9) + 1; }
function rarely(turns) { return spin(turns) + 1; }
const end = Date.now() + 1000 * Number(process.argv[2]);
let sum = 0;
while (Date.now() < end)
    sum += often(20000) + rarely(20000);
console.log(sum);
"""

WHOLE = ("main", "run_jitted", "jit_outer", "jit_alpha")


def functions_of(film):
    return {function["name"]: function for function in film.json()["functions"]}


@pytest.mark.parametrize("attach", [False, True])
def test_jitdump(lab, tmp_path, attach):
    if attach:
        with running(lab.program("jitdump"), 20, tmp_path) as program:
            film = lab.record("-d", 1, "-p", program.pid)
    else:
        film = lab.film_program("jitdump", tmp_path)
    assert film.share(lambda stack: stack.has(*WHOLE)) > 0.95, film.explain()
    assert film.complete() >= 0.99
    functions = functions_of(film)
    assert functions["jit_alpha"]["kind"] == "jit"
    # it has lines, which are those of the place, not of the function
    lines = film.share(lambda stack: any(frame.endswith("made_up.src:20") for frame in stack),
                       "--lines")
    assert lines > 0.95, film.report("--format", "folded", "--lines").stdout


def test_jitdump_code_without_tables_is_a_guess(lab, tmp_path):
    """It is walked by its frame pointers, and says so."""
    stacks = lab.film_program("jitdump", tmp_path).json()["stacks"]
    assert stacks["guessed"] > 0.9 * stacks["samples"], stacks


def test_jitdump_in_another_place_of_the_file_system(lab, tmp_path):
    """Its path and its pid are those that the process knows, as in a container."""
    unshare = shutil.which("unshare")
    if not unshare:
        pytest.skip("no unshare")
    script = f"mount -t tmpfs none {tmp_path} && exec {lab.program('jitdump')} 2 {tmp_path}"
    film = lab.record("--", unshare, "--mount", "--pid", "--fork", "sh", "-c", script)
    assert not list(tmp_path.glob("jit-*.dump"))
    assert film.share(lambda stack: stack.has(*WHOLE)) > 0.8, film.explain()


def test_place_used_again(lab, tmp_path):
    """Samples belong to what lay there at their time; the program says how often each function ran."""
    film = lab.film_program("jitdump", tmp_path, "reuse", seconds=3)
    told = film.recording.stdout.split()
    first, second = (int(word) for word in told[told.index("turns") + 1:][:2])
    measured = film.share(lambda stack: "jit_first" in stack)
    assert abs(measured - first / (first + second)) < 0.2, film.explain()
    both = film.share(lambda stack: "jit_first" in stack or "jit_second" in stack)
    assert both > 0.95, film.explain()
    assert film.share(lambda stack: "jit_second" in stack) > 0.1, film.explain()


def test_moved_code(lab, tmp_path):
    film = lab.film_program("jitdump", tmp_path, "move")
    assert film.share(lambda stack: stack.has("jit_outer", "jit_mover")) > 0.95, film.explain()


def test_dump_of_the_parent(lab, tmp_path):
    """A child runs code that its parent made; what the parent makes later is not in the child."""
    film = lab.film_program("jitdump", tmp_path, "fork")
    assert film.share(lambda stack: stack.has(*WHOLE)) > 0.9, film.explain()
    assert film.share(lambda stack: "jit_other" in stack) == 0, film.explain()


def test_dump_of_another_user(lab, tmp_path):
    """Who can write to the folder must not name frames: they stay [jit]."""
    with running(lab.program("jitdump"), 20, tmp_path) as program:
        os.chown(tmp_path / f"jit-{program.pid}.dump", 1234, 1234)
        film = lab.record("-d", 1, "-p", program.pid)
    assert film.share(lambda stack: "jit_alpha" in stack) == 0, film.explain()
    assert film.share(lambda stack: stack.has("run_jitted", "[jit]", "[jit]")) > 0.95, \
        film.explain()
    reason = "names of JIT code in files of others or that cannot be read"
    assert film.json()["loss"].get(reason, 0) > 0, film.explain()


def test_map_of_an_earlier_process(lab):
    """A perf map stays when its process ends; the next one with that number has nothing to do with it."""
    with running(lab.program("jit"), 20) as program:
        path = f"/tmp/perf-{program.pid}.map"
        os.utime(path, (1000000000, 1000000000))
        film = lab.record("-d", 1, "-p", program.pid)
        assert film.share(lambda stack: "jit_alpha" in stack) == 0, film.explain()
        assert film.share(lambda stack: stack.has("run_jitted", "[jit]")) > 0.95, film.explain()


@pytest.mark.skipif(not NODE, reason="no node")
@pytest.mark.parametrize("way", ["--perf-prof", "--perf-basic-prof"])
def test_node(lab, tmp_path, way):
    """A real runtime writes a dump, or a map."""
    script = tmp_path / "script.js"
    script.write_text(SCRIPT)
    known = subprocess.run([NODE, way, "-e", "0"], cwd=tmp_path, capture_output=True)
    if known.returncode:
        pytest.skip(f"{NODE} knows no {way}")
    # It writes its files where it stands. While its program is looked at, for a third of a second or more, stacks are cut.
    film = lab.record("--", "sh", "-c", f"cd {tmp_path} && exec {NODE} {way} {script} 8")
    assert film.complete() > 0.9, film.explain()
    named = film.share(lambda stack: any(re.search(r"\b(often|rarely|spin)\b", frame)
                                         for frame in stack))
    assert named > 0.5, film.explain()
    if way == "--perf-prof":
        lines = film.report("--format", "folded", "--lines").stdout
        assert f"{script}:" in lines, lines
