# SPDX-License-Identifier: Apache-2.0
"""stackcam inspect: types of the libraries of C++ and Rust are shown by what they hold, which is what the program has."""

import json
import os
import re
import subprocess

import pytest

from harness import needs_root

pytestmark = needs_root

# What optimised code can leave out: references to what has no contents, or is a constant.
STATUSES = {"optimised out"}
UNORDERED = "set"  # lists of those types begin with any of their elements


class Comparison:
    """Values that a program has printed, and those that were shown."""

    def __init__(self):
        self.right, self.wrong, self.truncated, self.without = 0, [], 0, {}

    def check(self, is_right, where, *values):
        self.right += bool(is_right)
        if not is_right:
            self.wrong.append((where, *values))

    def one(self, expected, got, where):
        if isinstance(got, dict) and "status" in got and set(got) <= {"status", "value", "len"}:
            self.check(got["status"] == "truncated", where, expected, got)
            self.part(expected, got["value"], got.get("len"), where)
        elif expected in ("twice", "lambda"):  # of std::function: compilers have names of their own for lambdas
            self.check(re.search(r"^twice\(int\)$" if expected == "twice" else r"call_all.*(lambda|\$_0)", got), where, got)
        elif isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
            for name, value in expected.items():
                self.one(value, got[name], f"{where}.{name}")
        elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
            for i, value in enumerate(expected):
                self.one(value, got[i], f"{where}[{i}]")
        else:
            self.check(expected == got and isinstance(expected, bool) == isinstance(got, bool), where, expected, got)

    def part(self, expected, got, length, where):
        """The first elements of a list, or some of a map."""
        self.truncated += 1
        self.check(got and len(got) < len(expected) and length in (None, len(expected)), where, expected, got, length)
        if isinstance(expected, dict):
            for name, value in got.items():
                self.one(expected.get(name), value, f"{where}.{name}")
        elif UNORDERED in where.lower():
            self.check(set(got) < set(expected), where, expected, got)
        else:
            for i, value in enumerate(got):
                self.one(expected[i], value, f"{where}[{i}]")

    def arguments(self, expected, shown, where):
        assert len(expected) == len(shown), (where, expected, shown)
        for value, got in zip(expected, shown):
            name, status = f"{where}.{got['name']} {got['type']}", got.get("status")
            if status in STATUSES:
                self.without[where, got["name"]] = status
            elif status == "truncated":
                self.part(value, got["value"], got.get("len"), name)
            else:
                assert status in (None, "nil"), (name, got)
                self.one(value, got["value"], name)


def calls_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


CPP = "variants|tuples|optionals|spans|bits|functions|pointers|weak|values|nested|lists|deques|trees|hashes"
RUST = "pointers|texts|units|choices|cells|weak|nested|rings|hashes|trees"
LIBCXX = "variants|tuples|optionals|spans|bits|pointers|values|nested|lists|trees|hashes"
PROGRAMS = [  # with the calls of each function, and arguments that may be left out
    ("decoded", CPP, 10, set()), ("decoded-o0", CPP, 10, set()), ("decoded-clang", CPP, 10, set()),
    ("decoded-clang-o0", CPP, 10, set()), ("decoded-libcxx", LIBCXX, 10, set()), ("decoded_rust", RUST, 11, set()),
    ("decoded_rust-release", RUST, 11, {("texts", "t")}),
    ("decoded_rust-debian", RUST, 11, {("texts", "t"), ("units", "u"), ("units", "n")}),
]


@pytest.mark.parametrize("name, functions, count, may_lack", PROGRAMS, ids=[one[0] for one in PROGRAMS])
def test_what_types_of_libraries_hold(lab, tmp_path, name, functions, count, may_lack):
    """All that is shown is what was passed; long lists begin with what they have, and say how much that is."""
    program, text, film = lab.program(name), tmp_path / "calls", tmp_path / "calls.film"
    if not os.path.exists(program):
        pytest.skip(f"no compiler, or no library, for {name}")
    done = subprocess.run([lab.stackcam, "inspect", f"re:^(decoded_rust::)?({functions})$", "--json", "--text", text, "-o", film, "--",
                           program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    printed = [one for one in calls_of(done.stdout) if one["name"] in functions.split("|")]
    calls = calls_of(text.read_text())
    assert len(calls) == len(printed) == count * len(functions.split("|")), done.stderr
    comparison = Comparison()
    for expected, call in zip(printed, calls):
        assert call["function"].rpartition("::")[2] == expected["name"]
        comparison.arguments(expected["args"], call["args"], expected["name"])
    assert not comparison.wrong, (len(comparison.wrong), comparison.wrong[:10])
    assert comparison.right > 1000 and comparison.truncated >= 18, vars(comparison)
    assert set(comparison.without) <= may_lack, comparison.without
    # the film has them, too, and they are texts that people can read
    kept = subprocess.run([lab.stackcam, "report", "--format", "inspect-json", film], capture_output=True, text=True, check=True)
    assert [call["args"] for call in calls_of(kept.stdout)] == [call["args"] for call in calls]
    lines = subprocess.run([lab.stackcam, "report", "--format", "inspect", film], capture_output=True, text=True, check=True).stdout
    quoted = r'"a \"quoted\" \\ one\x0a"'
    if functions == LIBCXX:
        assert 't=(3, "n3", 0.75)' in lines
    elif functions == CPP:
        assert f'v=vector(["one", "n3", {quoted}]), w=double(3.5))' in lines
        assert re.search(r't=\(3, "n3", 0\.75\), .*, e=\(\{\}, 3\), none=\(\)\)', lines), lines
        assert re.search(r"f=twice\(int\), g=call_all\S*(lambda\(int\)#1}|\$_0), none=nil\)", lines), lines
    else:
        assert may_lack or f"t={quoted}" in lines
        assert may_lack or "u=(), n={}, o=[], v=[(), ()], t=(2, ()))" in lines
