# SPDX-License-Identifier: Apache-2.0
"""stackcam inspect: the values that it shows are those of the program, or have a status instead."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import signatures
import suites
from harness import needs_root

pytestmark = needs_root

HONEST = {"nil", "truncated", "not resident", "optimised out", "unavailable: float register",
          "unavailable: the call has too many values", "unavailable: its place is not known",
          "unavailable: the function ended by a jump to another one", "redacted", "not followed"}
COMPILERS = {  # of C and C++: command, and the least share of values that must be shown
    "gcc -O0": 0.75, "gcc -O2": 0.6, "clang -O0": 0.75, "clang -O2": 0.5, "g++ -O0": 0.75, "g++ -O2": 0.6,
}


def inspect(lab, *words, **options):
    done = subprocess.run([lab.stackcam, "inspect", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done


def calls_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Tally:
    def __init__(self):
        self.right, self.honest, self.wrong = 0, 0, []

    def status(self, words):
        assert words in HONEST, words
        self.honest += 1

    def compare(self, expected, got, where):
        """A value within another one, or without a status of its own."""
        if isinstance(got, dict) and set(got) <= {"status", "value"} and "status" in got:
            self.status(got["status"])
        elif isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
            for name, one in expected.items():
                self.compare(one, got[name], f"{where}.{name}")
        elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
            for i, one in enumerate(expected):
                self.compare(one, got[i], f"{where}[{i}]")
        elif expected == got and isinstance(expected, bool) == isinstance(got, bool):
            self.right += 1
        else:
            self.wrong.append((where, expected, got))

    def compare_all(self, expected, shown, where):
        assert len(shown) == len(expected), (where, shown)
        for i, (one, got) in enumerate(zip(expected, shown)):
            if got.get("status", "nil") != "nil":
                self.status(got["status"])
            else:
                self.compare(one, got["value"], f"{where} {got['name'] or i} {got['type']}")

    def take(self, expected, calls):
        for call in calls:
            arguments, results = expected[call["function"]]
            self.compare_all(arguments, call["args"], call["function"])
            if call["latency_ns"] is not None:
                self.compare_all(results or [], call["results"], call["function"] + " result")


def check_truth(lab, program, expected, pattern, least):
    done = inspect(lab, pattern, "--json", "--", program)
    calls, tally = calls_of(done.stderr), Tally()
    tally.take(expected, calls)
    assert not tally.wrong, (len(tally.wrong), tally.wrong[:10])
    # nothing is lost at this pace, and each call has its end unless its function has none that could be probed
    assert {call["function"] for call in calls} == set(expected), done.stderr[-2000:]
    assert sum(call["latency_ns"] is not None for call in calls) >= 0.9 * len(calls)
    assert tally.right >= least * (tally.right + tally.honest), (tally.right, tally.honest)


@pytest.mark.parametrize("how", COMPILERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_truth_of_c(lab, tmp_path, how, seed):
    compiler, *options = how.split()
    is_cpp = compiler.endswith("++")
    text, expected = signatures.MakerC(seed, is_cpp).program(100)
    source, program = tmp_path / ("many.cc" if is_cpp else "many.c"), tmp_path / "many"
    source.write_text(text)
    subprocess.run([compiler, "-g", "-w", *options, "-o", program, source], check=True)
    check_truth(lab, program, expected, "re:^f[0-9]+$", COMPILERS[how])


GO = {"installed": None, "1.24": "trixie", "1.25": "trixie trixie-backports", "1.26": "trixie trixie-backports"}


def build_go(lab, version, source, program, *flags):
    environment = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    go = "go"
    if GO[version]:
        if "STACKCAM_EVERY_VERSION" not in os.environ:
            pytest.skip("STACKCAM_EVERY_VERSION=1 tests all")
        root = suites.unpacked(lab.suites, GO[version], f"golang-{version}-go", f"golang-{version}-src")
        environment["GOROOT"] = str(root / "usr" / "lib" / f"go-{version}")
        go = f"{environment['GOROOT']}/bin/go"
    environment["GOCACHE"] = str(lab.suites / f"go-cache-{version}")
    subprocess.run([go, "build", *flags, "-o", program, source], check=True, env=environment)


@pytest.mark.parametrize("flags", [(), ("-gcflags=-N -l",), ("-buildmode=pie",)], ids=["usual", "plain", "pie"])
@pytest.mark.parametrize("version", GO)
def test_truth_of_go(lab, tmp_path, version, flags):
    text, expected = signatures.MakerGo(3).program(150)
    source, program = tmp_path / "many.go", tmp_path / "many"
    source.write_text(text)
    build_go(lab, version, source, program, *flags)
    check_truth(lab, program, expected, "re:^main[.]f[0-9]+$", 0.6)
