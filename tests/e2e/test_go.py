# SPDX-License-Identifier: Apache-2.0
"""
Go programs, stripped ones mostly: complete stacks, by name, with labels. With STACKCAM_EVERY_VERSION also by newer
compilers than the one that is installed, which other suites of Debian have.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

import suites
from harness import EARLY, needs_root

pytestmark = needs_root

SERVERS = ("go_server", "go_server-stripped", "go_server-pie", "go_server-external")
# Go's versions, and where they are had.
NEWER = {"1.24": "trixie", "1.25": "trixie trixie-backports", "1.26": "trixie trixie-backports", "1.27": "forky"}
SOURCES = Path(__file__).resolve().parents[1] / "programs"
SHARES = (("main.heavy", 0.7), ("main.medium", 0.2), ("main.light", 0.1))

# A thread's first stacks are handed over as they are: what lies on the goroutine's own stack is not copied.
HANDED_OVER = (*EARLY, "stack deeper than what was copied")
MARKS = {f"[truncated: {reason}]" for reason in HANDED_OVER}


def by_newer(lab, version, program):
    """A program, stripped if its name says so, made as tests/programs/meson.build does, by another version."""
    if "STACKCAM_EVERY_VERSION" not in os.environ:
        pytest.skip("as in other versions; STACKCAM_EVERY_VERSION=1 tests all")
    root = suites.unpacked(lab.suites, NEWER[version], f"golang-{version}-go", f"golang-{version}-src")
    folder = lab.suites / f"go-{version}"
    made = folder / program
    if not made.exists():
        home = root / "usr" / "lib" / f"go-{version}"
        source = SOURCES / f"{program.partition('-')[0]}.go"
        flags = "-s -w" if "-" in program else ""
        subprocess.run([home / "bin" / "go", "build", "-ldflags", flags, "-o", made, source], check=True,
                       cwd=SOURCES, env={**os.environ, "GOROOT": str(home), "GOCACHE": str(folder / "cache")})
    return made


@pytest.fixture(scope="module", params=[*SERVERS, *NEWER])
def film(request, shared_lab):
    name = request.param if request.param in SERVERS else by_newer(shared_lab, request.param, "go_server-stripped")
    return shared_lab.film_program(name, seconds=4)


@pytest.fixture(scope="module", params=["installed", *NEWER])
def cgo(request, shared_lab):
    name = "go_cgo-stripped"
    return shared_lab.film_program(name if request.param == "installed" else by_newer(shared_lab, request.param, name),
                                   seconds=3)


def test_complete(film):
    stacks = film.json()["stacks"]
    assert stacks["samples"] > 500, film.explain()
    film.assert_whole(early=HANDED_OVER)
    assert stacks["guessed"] <= stacks["samples"] // 100, film.explain()


def nameless_c(image):
    """Whether a function at an address has no name in the file: gcc links cgo's C code behind Go's, and of a program
    that is stripped only those of its functions that others may call keep theirs; with Go 1.27, none. Only C code has
    unwind information there."""
    symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", image], check=True, capture_output=True, text=True)
    named = {int(address, 16): name for address, name in
             re.findall(r"^ *\d+: ([0-9a-f]+) +\d+ FUNC .* (\S+)$", symbols.stdout, re.MULTILINE)}
    first = min((address for address, name in named.items() if re.match("_cgo_[0-9a-f]+_C|x_cgo_", name)),
                default=1 << 64)
    frames = subprocess.run(["readelf", "--debug-dump=frames", image], check=True, capture_output=True, text=True)
    of_c = [(int(start, 16), int(end, 16)) for start, end in
            re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)$", frames.stdout, re.MULTILINE)]
    return lambda address: address not in named and (address >= first or
                                                     any(start <= address < end for start, end in of_c))


def test_named(film):
    """All that has a name in the program is told by it, not as image and address."""
    program = [f for f in film.json()["functions"] if "/go_server" in f["image"]]
    assert len(program) > 20, film.explain()
    has_none = nameless_c(program[0]["image"])
    assert not [f["name"] for f in program
                if "+0x" in f["name"] and not has_none(int(f["name"].rpartition("+")[2], 16))], film.explain()


def test_shares(film):
    work = film.share(lambda stack: stack.has("main.work.func1"))
    assert work > 0.5, film.explain()
    for name, share in SHARES:
        found = film.share(lambda stack, name=name: stack.has(name, "main.spin"))
        total = film.share(lambda stack: "main.spin" in stack)
        assert abs(found / total - share) < 0.03, film.explain()


def test_chain(film):
    """From the root of a goroutine to the work, with what the compiler has inlined."""
    chain = ("net/http.HandlerFunc.ServeHTTP", "main.work", "runtime/pprof.Do", "main.work.func1",
             "main.heavy", "main.spin")
    assert film.share(lambda stack: stack.has(*chain)) > 0.3, film.explain()
    wrong = [stack for stack, _ in film.folded()
             if "main.heavy" in stack and stack[0] not in ("runtime.goexit",)
             and not stack[0].startswith("[truncated")]
    assert not wrong, wrong[0]


def test_other_stacks(film):
    """What the runtime does on a thread's own stack goes on below, on the goroutine's."""
    switched = [stack for stack, _ in film.folded() if "runtime.systemstack" in stack]
    assert switched, film.explain()
    grown = [stack for stack, _ in film.folded() if stack.has("runtime.morestack", "runtime.newstack")]
    for stack in grown:
        assert "main.deep" in stack or stack[0] == "runtime.goexit" or \
            stack[0].startswith("[truncated") or stack[0] == "runtime.morestack", stack
    # the goroutine's stack was not copied with the first ones, which is counted (see HANDED_OVER)
    known = [stack for stack in switched if stack[0] not in MARKS]
    at_root = [stack for stack in known if stack[0] == "runtime.goexit"]
    assert at_root and len(known) - len(at_root) <= max(1, len(known) // 10), known


def test_labels(film):
    """As the program has set them, at the root."""
    label = "path=/work,tenant=blue"
    labelled = film.share(lambda stack: stack[0] == label and "main.heavy" in stack, "--by", "label")
    heavy = film.share(lambda stack: "main.heavy" in stack)
    assert heavy > 0.3 and labelled > 0.95 * heavy, film.explain()
    # goroutines that labelled work has started have its labels, too, up to their end, where only goexit is left;
    # nobody else
    strange = [stack for stack, _ in film.folded("--by", "label") if stack[0] == label and
               not {"main.work", "main.work.func1.1", "runtime.goexit1"} & set(stack) and
               stack[1:] != ("runtime.goexit",)]
    assert not strange, strange[0]


def test_c_code(cgo):
    cgo.assert_whole(early=HANDED_OVER)
    chain = ("runtime.goexit", "main.main.func1", "main.inC", "main._Cfunc_c_work", "runtime.cgocall",
             "runtime.asmcgocall")
    assert cgo.share(lambda stack: stack.has(*chain)) > 0.1, cgo.explain()


def test_called_back(cgo):
    """Go, C, and Go again: one stack."""
    def is_whole(stack):
        return (stack.has("runtime.goexit", "main.main.func1", "main.throughC") and
                stack.has("crosscall2", "runtime.cgocallback") and
                stack.has("main.called_back", "main.goSpin"))

    in_go = cgo.share(lambda stack: "main.goSpin" in stack)
    assert in_go > 0.2 and cgo.share(is_whole) > 0.97 * in_go, cgo.explain()


def test_traced(lab):
    """Functions of a stripped program can be chosen by name."""
    listed = lab.run("trace", "--list", "-f", "main.*", lab.program("go_server-stripped"))
    assert listed.returncode == 0, listed.stderr
    for name in ("main.heavy", "main.spin", "main.work"):
        assert name in listed.stdout.split(), listed.stdout
