# SPDX-License-Identifier: Apache-2.0
"""What the tests of `stackcam trace` share: to trace the programs tests/programs/calls_*, whose own
output says which calls they made, and to read what was found."""

import collections
import json
import os
import re
import subprocess
from pathlib import Path

from harness import PATIENCE, Film

# Kernels before 6.18 cannot hold a program until its probes are set: there, the loss must be told.
CAN_HOLD = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups())) >= (6, 18)

TOO_DEEP = "too many open calls"


def plain(name):
    """
    A function's name without what compilers and demanglers differ in: parameters, return type, spaces,
    ABI tags.
    """
    name, _, library = name.removesuffix("()").partition("@")
    name = re.sub(r"\[abi:\w+\]", "", name)
    depth, begin, end = 0, 0, len(name)
    for i, sign in enumerate(name):
        if sign in "(<" and not name[:i].endswith("operator"):
            if sign == "(" and depth == 0 and i > begin and not name.startswith("(anonymous", i):
                end = i
                break
            depth += 1
        elif sign in ")>" and depth:
            depth -= 1
        elif sign == " " and depth == 0 and not name[:i].endswith("operator"):
            begin = i + 1
    name = re.sub(r"\s", "", name[begin:end])
    return f"{name}@{library}" if library else name


def truth_of(output):
    """The calls that a program says it made: name to count."""
    counts = collections.Counter()
    for line in output.splitlines():
        if line.startswith("calls "):
            name, _, count = line.removeprefix("calls ").rpartition(" ")
            counts[plain(name)] += int(count)
    assert counts, output
    return {name: count for name, count in counts.items() if count}


Line = collections.namedtuple("Line", "tid path duration on_cpu guess")

TIME = re.compile(r"(~?)(\d+\.\d+) (us|ms|s|m|h)(?= |$)")
UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}


class Traced(Film):
    """A film of calls."""

    def counts(self, *options):
        """Calls by function: plain name to count."""
        counts = collections.Counter()
        for function in self.json(*options)["functions"]:
            counts[plain(function["name"])] += function["calls"]
        return counts

    def function(self, name):
        found = [function for function in self.json()["functions"]
                 if plain(function["name"]) == name]
        assert len(found) == 1, self.explain()
        return found[0]

    def lost(self):
        """What was lost of the calls themselves, by reason."""
        return {reason: count for reason, count in self.json()["loss"].items() if "call" in reason}

    def replay(self, *options):
        done = subprocess.run([self.stackcam, "replay", *map(str, options), self.path],
                              timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, errors="surrogateescape")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lines(self, *options):
        """The calls of the tree that `replay` prints."""
        return lines_of(self.replay(*options))

    def paths(self, *options):
        """How often each chain of functions, outermost first, was called."""
        return collections.Counter(line.path for line in self.lines(*options))

    def explain(self):
        return f"{self.json()}"[:3000] + "\n" + self.replay()[:3000]


def lines_of(text):
    """
    Reads a call tree. One Line for each call, where it ends. Lines of several stacks of one thread are
    told apart by their first column, or else by what is open.
    """
    calls, stacks = [], collections.defaultdict(list)
    for line in text.splitlines():
        columns, bar, call = line.partition(" | ")
        if not bar or call == "FUNCTION CALLS":
            continue
        words = columns.split()
        track = words[0] if words else ""
        depth = (len(call) - len(call.lstrip())) // 2
        call = re.sub(r"( /\* (caller not known|still running) \*/)+$", "", call.strip())
        times = [float(number) * UNITS[unit] for _, number, unit in TIME.findall(columns)]
        guess = "~" in columns
        stack = stacks[track]
        if call.endswith("{"):
            del stack[depth:]
            stack.append(plain(call[:-1].strip()))
            assert len(stack) == depth + 1, f"a call out of nowhere: {line}\n{text[:2000]}"
        elif call.startswith("}"):
            del stack[depth + 1:]
            assert len(stack) == depth + 1, f"an end without a beginning: {line}\n{text[:2000]}"
            calls.append((track, tuple(stack), times, guess))
            del stack[depth:]
        elif call.endswith(";"):
            del stack[depth:]
            assert len(stack) == depth, f"a call out of nowhere: {line}\n{text[:2000]}"
            calls.append((track, (*stack, plain(call[:-1])), times, guess))
    return [Line(track, path, times[0] if times else None, times[-1] if times else None, guess)
            for track, path, times, guess in calls]


def trace(lab, *options, check=True, **more):
    """Traces what the options say (with "--" and a command, or a target) into a film."""
    film = lab.new_film()
    done = lab.run("trace", "-o", film, *options, **more)
    if check:
        assert done.returncode == 0, f"{options}: status {done.returncode}: {done.stderr}"
    return Traced(lab.stackcam, film, done)


def alone(lab, *command):
    """A program's output when nobody traces it. Its status must be 0."""
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wanted(truth):
    """Options that choose just the functions of a truth."""
    return [word for name in truth
            for word in ("-f", name.replace("(anonymousnamespace)", "(anonymous?namespace)"))]


def assert_counts(film, truth, *options):
    counts = film.counts(*options)
    found = {name: counts[name] for name in truth}
    assert found == truth, f"found {found}\ntruth {truth}\n{film.explain()}"


def place_of(pid, path, name):
    """Where a function begins in the memory of a process, and the bytes that its file has there."""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    address = int(re.search(rf"^([0-9a-f]+) \w {name}$", symbols, re.MULTILINE)[1], 16)
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, rights, offset = line.split()[:3]
        low, high = (int(word, 16) for word in span.split("-"))
        # in these programs text lies in the file where it lies in memory
        if "x" in rights and line.split()[-1].startswith(str(path)):
            offset = int(offset, 16)
            if offset <= address < offset + high - low:
                return low + address - offset, Path(path).read_bytes()[address:address + 16]
    raise AssertionError(f"no text of {path} in {pid}")


def has_calls(film, least=1):
    """Whether a film that is being written has so many calls by now."""
    if not film.path.exists():
        return False
    done = film.report("--format", "json", check=False)
    return done.returncode == 0 and \
        sum(function["calls"] for function in json.loads(done.stdout)["functions"]) >= least


def is_probed(pid, path, name):
    address, wanted = place_of(pid, path, name)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), 16, address) != wanted


def assert_first_calls(film, **calls):
    """All calls of programs that began later were seen; or, on older kernels, it is told that some were not."""
    stderr = film.recording.stderr
    if CAN_HOLD:
        counts = film.counts()
        assert {name: counts[name] for name in calls} == calls, stderr
        assert "were not seen" not in stderr, (stderr, film.json()["loss"])
    else:
        assert "were not seen" in stderr and "nothing lost" not in stderr
