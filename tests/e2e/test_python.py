# SPDX-License-Identifier: Apache-2.0
"""
Python: its functions in whole stacks with the native frames around them, with names, files and lines.

Debian's own Python is filmed, those that pyenv has installed, and the newest ones, which another suite of Debian has.
More can be named in STACKCAM_PYTHONS, separated by colons.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import suites
from harness import PATIENCE, chance, needs_root, of_pyenv, running, spare_versions

pytestmark = needs_root

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PROGRAM, BLIND = PROGRAMS / "python_truth.py", PROGRAMS / "blind.py"
MINORS = range(8, 14)
# of the suite NEWER: in the program, and in a shared library
NEWER, NEWEST = "forky", ("python3.14", "libpython3.14", "python3.15", "libpython3.15")
PYTHONS = ["debian", *(f"3.{minor}" for minor in MINORS), *NEWEST,
           *filter(None, os.environ.get("STACKCAM_PYTHONS", "").split(":"))]

LINE = next(n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "# the line of" in line)


spare = spare_versions("python", ("3.9", "3.10", "3.12", "3.14", "libpython"),
                       ("test_shares", "test_stacks_are_whole", "test_lines", "test_compiled_code"))


@pytest.fixture(scope="module", params=PYTHONS)
def python(request, shared_lab):
    """The words that start a Python."""
    name = request.param
    if name in NEWEST:
        root = suites.unpacked(shared_lab.suites, NEWER, *NEWEST)
        host = [shared_lab.program("python_host"), f"{name}.so.1.0"] if name.startswith("lib") else [name]
        words = suites.inside(root, *host, also=[shared_lab.programs])
        # compiles the modules that it needs, as the installation of the package would have done
        compiling = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        subprocess.run([*words, PROGRAM, "shares", "0"], env=compiling, check=True, stdout=subprocess.DEVNULL)
        return words
    path = Path("/usr/bin/python3") if name == "debian" else \
        of_pyenv(name) if name[0].isdigit() else Path(name)
    if not path.exists():
        pytest.skip(f"there is no {path}")
    return [path]


def version_of(python):
    done = subprocess.run([*python, "-c", "import sys; print(*sys.version_info[:2])"],
                          capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


def film(lab, python, what, seconds=1):
    """Films the program after it has begun."""
    with running(*python, PROGRAM, what, 60) as program:
        return lab.record("-d", seconds, "-p", program.pid)


def total_shares(film):
    """Name of a function of the program to the part of its time (0 to 1) in and below it."""
    totals = {function["name"]: function["total"] for function in film.json("--limit", "0")["functions"]
              if function["image"] == str(PROGRAM)}
    return {name: total / totals["<module>"] for name, total in totals.items()}


def assert_whole(film):
    assert not [reason for reason in film.json()["loss"] if "without a name" not in reason], film.explain()
    film.assert_whole()


@pytest.fixture(scope="module")
def shares(shared_lab, python):
    return film(shared_lab, python, "shares", seconds=1.5)


def test_shares(shares, python):
    totals = total_shares(shares)
    twenty = "Class.twenty" if version_of(python) >= (3, 11) else "twenty"
    for name, part in (("seventy", 0.7), (twenty, 0.2), ("generator", 0.1), ("main", 1)):
        assert shares.near(totals[name], part, 0.04), (name, totals, shares.explain())


def test_stacks_are_whole(shares):
    assert_whole(shares)


def test_frames_stand_in_their_places(shares, python):
    """C code that calls back stands between the functions of Python, and so does what it calls."""
    by_name = version_of(python) < (3, 11)
    function = "<lambda>" if by_name else "by_sorting.<locals>.<lambda>"
    chain = ("main", "shares", "once", *["raising"] * 21, "by_sorting", function, "seventy", "spin")
    # functions of Python alone, as they are shown
    stacks = [([frame for frame in stack if frame in chain], value) for stack, value in shares.folded()
              if "seventy" in stack]
    total = sum(value for _, value in stacks)
    whole = sum(value for stack, value in stacks if tuple(stack) in (chain, chain[:-1]))
    assert whole >= 0.98 * total, shares.explain()


def test_the_interpreters_own_frames_are_shown_on_request(shares):
    assert shares.share(lambda stack: "_PyEval_EvalFrameDefault" in stack) < 0.1
    shown = shares.share(lambda stack: "_PyEval_EvalFrameDefault" in stack, "--native")
    if shown < 0.5:
        pytest.skip("its compiler has given that function other names")
    assert shown > 0.9
    # the native frame that runs a function stands before it
    assert shares.share(lambda stack: stack.has("_PyEval_EvalFrameDefault", "<module>"), "--native") > 0.9


def test_lines(shares):
    functions = [function for function in shares.json("--lines")["functions"]
                 if function["name"] == "spin"]
    total = sum(function["self"] for function in functions)
    assert all(function["file"] == str(PROGRAM) for function in functions)
    lines = {function["line"]: function["self"] / total for function in functions}
    assert lines.get(LINE, 0) + lines.get(LINE - 1, 0) >= 0.97, lines
    assert lines[LINE] >= 0.3, lines


def test_as_it_sees_itself(lab, python):
    """The program samples itself, in signals of the same clock: function by function, both see the same."""
    with running(*python, PROGRAM, "own", 3) as program:
        film = lab.record("-d", 60, "-p", program.pid)
        output = program.process.stdout.read()
    own = json.loads(output)
    totals = {}
    shares = total_shares(film)
    for name, part in shares.items():
        short = name.split(".")[-1]
        totals[short] = totals.get(short, 0) + part / shares["shares"]
    # a name that appears twice in a stack counts once for it, and both lambdas have the same one
    count = own.pop("all")
    assert count >= 200
    names = sorted(own, key=own.get, reverse=True)
    compared = [name for name in names if name not in ("<lambda>", "<module>")][:10]
    assert len(compared) == 10
    samples = film.json()["stacks"]["samples"]
    for name in compared:
        allowed = max(0.03, chance(own[name], count, samples, errors=4))
        assert abs(own[name] - totals.get(name, 0)) <= allowed, (name, count, samples, own, totals)


def test_recursion(lab, python):
    made = film(lab, python, "deep")
    stacks = [(stack, value) for stack, value in made.folded() if "leaf" in stack]
    total = sum(value for _, value in stacks)
    assert total > 0, made.explain()
    whole = sum(value for stack, value in stacks if stack.find("deep") == ["deep"] * 500 and
                stack.has("<module>", "main"))
    # up to 3.10 each function has native frames, and the first stacks are handed over with a part of them
    assert whole >= 0.95 * total, made.explain()


@pytest.mark.parametrize("how", ["made", "library"])
def test_native_code_without_unwind_information(lab, python, how):
    """A walk begins again at Python's newest function; the native frames between are marked as missing."""
    with running(*python, BLIND, lab.program("libblind.so") if how == "library" else how, 60) as program:
        made = lab.record("-d", 1, "-p", program.pid, hz=499)
    function = "<lambda>" if version_of(python) < (3, 11) else "by_sorting.<locals>.<lambda>"
    made.assert_gap("main", "by_sorting", function, "outer", "inner")


def test_deepest(lab, python):
    """Stacks are whole up to the number of frames that a stack can have."""
    # up to 3.10 each function has three native frames
    depth = 1000 if version_of(python) < (3, 11) else 4000
    with running(*python, BLIND, "made", 60, depth) as program:
        made = lab.record("-d", 1, "-p", program.pid, hz=999)
    assert made.complete() >= 0.99, made.explain()
    stacks = [(stack, value) for stack, value in made.folded() if "inner" in stack]
    assert sum(value for stack, value in stacks if stack.has("main", "by_sorting") and
               len(stack.find("outer")) == depth + 1) >= 0.99 * sum(value for _, value in stacks) > 0, made.explain()


def test_threads_do_not_get_frames_of_others(lab, python):
    made = film(lab, python, "threads")
    seen = set()
    for stack, _ in made.folded():
        of = set(re.findall(r"(?:worker|level)_(\d)", " ".join(stack)))
        of |= {"main"} if "tasks" in stack else set()
        assert len(of) <= 1, stack
        seen |= of
        assert "coroutine" not in stack or "tasks" in stack, stack
        # a coroutine that awaits another one is its caller
        assert "spin" not in stack or "coroutine" not in stack or len(stack.find("coroutine")) == 6
    assert seen == {"0", "1", "2", "3", "main"}, made.explain()
    assert_whole(made)


def test_an_interpreter_within_another(lab, python):
    made = film(lab, python, "interpreters")
    if not made.share(lambda stack: "inner" in stack):
        pytest.skip("this Python cannot make interpreters")

    def whole(stack):
        functions = [frame for frame in stack if frame in ("main", "interpreters", "caller", "outer",
                                                           "inner")]
        return functions == ["main", "interpreters", "caller", "outer", "inner"]

    # besides there is the code that makes an interpreter
    assert made.share(whole) >= 0.95 * made.share(lambda stack: "inner" in stack), made.explain()
    assert_whole(made)


def test_code_that_comes_and_goes(lab, python):
    made = film(lab, python, "garbage")
    functions = {function["name"] for function in made.json()["functions"]
                 if function["kind"] == "python"}
    known = {"main", "garbage", "<module>", "<string>", "Node.__init__", "__init__",
             "[unknown python function]"}
    for name in functions - known:
        assert re.fullmatch(r"short_lived_\d\d?(\.<locals>\.<listcomp>)?|<listcomp>", name) or \
            name.startswith("_"), functions
    assert made.share(lambda stack: "garbage" in stack) > 0.9, made.explain()
    # 3.13: a frame of the interpreter's own, which tracebacks do not have either
    assert not any({"__init__", "Node.__init__"} <= set(stack) for stack, _ in made.folded()), made.explain()


def test_a_function_that_gets_other_code(lab, python):
    """inner_N is called by outer_N only."""
    made = film(lab, python, "other_code")
    pairs = re.findall(r"outer_(\d+);inner_(\d+)", "\n".join(";".join(stack) for stack, _ in made.folded()))
    assert len(pairs) > 10, made.explain()
    assert all(outer == inner for outer, inner in pairs), pairs


def test_compiled_code(lab, python):
    """The compiler that Python brings, where it was built in, works only if that is asked for."""
    compiling = {**os.environ, "PYTHON_JIT": "1"}
    enabled = subprocess.run([*python, "-c", "import sys; print(sys._jit.is_enabled())"], env=compiling,
                             capture_output=True, text=True, check=False)
    if enabled.stdout != "True\n":
        pytest.skip("this Python does not compile")
    with running(*python, PROGRAM, "shares", 60, env=compiling) as program:
        made = lab.record("-d", 2, "-p", program.pid, hz=499)  # shares of many samples: chance moves them little
    if version_of(python) >= (3, 15):
        assert_whole(made)
    else:
        # its code has a frame pointer sometimes only: the other stacks are cut, four to six of ten (as Debian's
        # packages of 3.14 differ), and say so
        stacks = made.json()["stacks"]
        assert stacks["truncated"] < 0.7 * stacks["samples"], made.explain()
    chain = ("<module>", "main", "shares", "once")
    whole = [(stack, value) for stack, value in made.folded() if "[jit]" in stack and not stack[0].startswith("[trunc")]
    assert whole, made.explain()
    right = [(stack, value) for stack, value in whole if stack.has(*chain) and stack.find("raising") in
             ([], ["raising"] * 21) and {"seventy", "Class.twenty", "generator", "randrange", "raising"} & set(stack)]
    assert sum(value for _, value in right) >= 0.98 * sum(value for _, value in whole), made.explain()


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_an_old_version_is_refused(lab, version):
    path = of_pyenv(version)
    if not path.exists():
        pytest.skip(f"there is no {path}")
    busy = "import sys\nsys.stdout.write('ready\\n')\nsys.stdout.flush()\nwhile True: pass"
    with running(path, "-c", busy) as program:
        made = lab.record("-d", 1, "-p", program.pid)
    words = f"python frames not looked for: CPython {version}: not supported"
    assert words in made.json()["loss"], made.explain()
    assert words in made.recording.stderr
    assert not any(function["kind"] == "python" for function in made.json()["functions"])


def test_from_the_start(lab, python):
    """A command is filmed while its interpreter comes up."""
    made = lab.record("--", *python, PROGRAM, "shares", 2)
    assert made.share(lambda stack: "seventy" in stack) > 0.3, made.explain()
    # stacks wait in the rings until the rules are there, for all of which a recorder that gets no CPU has no room
    report = made.json()
    others = sum(count for reason, count in report["loss"].items() if "without a name" not in reason)
    assert others <= 0.01 * report["stacks"]["samples"], made.explain()
    assert {reason for reason in report["loss"] if "without a name" not in reason} <= {
        "stack cut: no room to hand it over for completion"}, made.explain()
    assert made.share(lambda stack: "[unknown python function]" in stack) < 0.01, made.explain()


IMPORTS = "import asyncio, ctypes, decimal, doctest, http.server, logging.config, multiprocessing, pydoc, unittest, xml.dom.minidom"


def test_code_of_modules_has_names(lab, python):
    """It is gone once it has run, before anybody asks for its name."""
    made = lab.record("--", *python, "-c", IMPORTS, hz=999)
    assert made.share(lambda stack: "_call_with_frames_removed" in stack) > 0.3, made.explain()
    assert made.share(lambda stack: "[unknown python function]" in stack) < 0.01, made.explain()
