# SPDX-License-Identifier: Apache-2.0
"""
Java: functions of all kinds in whole stacks, interpreted and compiled, with names, files and lines.

The JDKs of /usr/lib/jvm are filmed. More can be named in STACKCAM_JAVAS, separated by colons.
"""

import os
import re
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest

from harness import PATIENCE, chance, needs_root, running, spare_versions

pytestmark = needs_root

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
SOURCES = ["Split.java", "Churn.java", "Server.java"]
JVMS = sorted({path.resolve() for path in Path("/usr/lib/jvm").glob("*/bin/java")} |
              {Path(path) for path in filter(None, os.environ.get("STACKCAM_JAVAS", "").split(":"))})


class Java:
    def __init__(self, path):
        self.path = path
        said = subprocess.run([path, "-version"], stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                              check=True).stderr
        numbers = re.search(r'"(\d+)(?:\.(\d+))?', said)
        self.version = int(numbers[2] if numbers[1] == "1" else numbers[1])

    def tool(self, name):
        path = self.path.parent / name
        if not path.exists():
            pytest.skip(f"there is no {path}")
        return path


spare = spare_versions("java", ("java-17",), ("test_shares", "test_http_server"))


@pytest.fixture(scope="module", params=JVMS or [None], ids=str)
def java(request):
    if not request.param or not request.param.exists():
        pytest.skip("no JDK is installed here")
    return Java(request.param)


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """The compiled programs, for JDK 8 and later."""
    folder = tmp_path_factory.mktemp("classes")
    compilers = [path.parent / "javac" for path in JVMS if (path.parent / "javac").exists()]
    if not compilers:
        pytest.skip("no javac is installed here")
    subprocess.run([compilers[0], "-g", "--release", "8", "-Xlint:-options", "-d", folder,
                    *(PROGRAMS / name for name in SOURCES)], timeout=PATIENCE, check=True)
    return folder


def film(lab, java, classes, *words, options=(), seconds=3):
    with running(java.path, *options, "-cp", classes, *words) as program:
        return lab.record("-d", seconds, "-p", program.pid)


def stacks_with(film, name, *options):
    return [(stack, value) for stack, value in film.folded(*options) if name in stack]


def shares_of(film, names):
    """Of the time with any of the names in the stack: the part of each."""
    totals = film.total_shares(names)
    whole = sum(totals.values())
    assert whole > 0, film.explain()
    return {name: total / whole for name, total in totals.items()}


MODES = {"mixed": (), "interpreted": ("-Xint",), "c1": ("-XX:TieredStopAtLevel=1",),
         "c2": ("-XX:-TieredCompilation",)}


@pytest.mark.parametrize("mode", MODES)
def test_shares(lab, java, classes, mode):
    made = film(lab, java, classes, "Split", "split", options=MODES[mode])
    made.assert_whole()
    wanted = {"Split.seventy": 0.7, "Split.twenty": 0.2, "Split.ten": 0.1}
    shares = shares_of(made, wanted)
    for name, part in wanted.items():
        assert made.near(shares[name], part, 0.03), (shares, made.explain())
    assert made.share(lambda stack: stack.has("Split.main", "Split.seventy", "Split.work")) > 0.5


def test_lines(lab, java, classes):
    made = film(lab, java, classes, "Split", "split", options=("-Xint",))
    source = (PROGRAMS / "Split.java").read_text().splitlines()
    first = next(n for n, line in enumerate(source, 1) if "static long work" in line)
    functions = [f for f in made.json("--lines")["functions"] if f["name"] == "Split.work"]
    assert functions, made.explain()
    assert all(f["file"] == "Split.java" for f in functions)
    lines = {f["line"]: f["self"] for f in functions}
    inside = sum(value for line, value in lines.items() if first + 4 <= line <= first + 8)
    assert inside >= 0.97 * sum(lines.values()), (first, lines)
    assert len(lines) >= 3, lines


def test_recursion(lab, java, classes):
    made = film(lab, java, classes, "Split", "deep")
    made.assert_whole()
    stacks = stacks_with(made, "Split.work")
    whole = sum(value for stack, value in stacks if len(stack.find("Split.deep")) == 501 and
                "Split.main" in stack)
    assert whole >= 0.98 * sum(value for _, value in stacks), made.explain()


def test_threads(lab, java, classes):
    made = film(lab, java, classes, "Split", "threads")
    made.assert_whole()
    stacks = stacks_with(made, "Split.work")
    below = sum(value for stack, value in stacks if stack.has("Split$Worker.run", "Split.work"))
    assert below >= 0.99 * sum(value for _, value in stacks), made.explain()
    assert not any("Split.main" in stack for stack, _ in stacks)


@pytest.mark.parametrize("mode", MODES)
def test_everything_at_once(lab, java, classes, mode):
    """Garbage, exceptions, deoptimization, callbacks, native functions, classes that come and go."""
    made = film(lab, java, classes, "Churn", 0, options=MODES[mode], seconds=4)
    made.assert_whole()
    # all that the program's functions do is done below this one
    functions = {"Churn.collect", "Churn.exceptions", "Churn.thrower", "Churn.shapes", "Churn.callbacks",
                 "Churn.natives", "Churn.classes", "Churn$Passing.apply", "Churn$Square.area"}
    total = whole = 0
    for stack, value in made.folded():
        if functions & set(stack):
            total += value
            whole += value * ("Churn.everything" in stack)
    assert total > 0, made.explain()
    assert whole >= 0.99 * total, made.explain()
    unknown = made.share(lambda stack: "[unknown hotspot function]" in stack)
    assert unknown <= 0.005, made.explain()


def test_virtual_threads(lab, java, tmp_path):
    if java.version < 21:
        pytest.skip("no virtual threads before JDK 21")
    subprocess.run([java.tool("javac"), "-g", "-d", tmp_path, PROGRAMS / "Virtual.java"],
                   timeout=PATIENCE, check=True)
    made = film(lab, java, tmp_path, "Virtual")
    made.assert_whole()
    stacks = stacks_with(made, "Virtual.work")
    total = sum(value for _, value in stacks)
    assert total > 0, made.explain()
    carried = sum(value for stack, value in stacks if "java.lang.VirtualThread.runContinuation" in stack)
    assert carried >= 0.98 * total, made.explain()


def own_view(java, pid, folder):
    """What the JVM's own sampler sees: functions to the part of the samples that they are in, and how many there are."""
    recording = folder / "own.jfr"
    jcmd = [java.tool("jcmd"), str(pid)]
    done = subprocess.run([*jcmd, "JFR.dump", f"filename={recording}"], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert recording.exists(), done
    printed = subprocess.run([java.tool("jfr"), "print", "--events", "jdk.ExecutionSample", "--stack-depth",
                              "64", recording], capture_output=True, text=True, timeout=2 * PATIENCE,
                             check=True).stdout
    counts, total = {}, 0
    for event in printed.split("jdk.ExecutionSample {")[1:]:
        names = set(re.findall(r"^\s+(Split\.\w+)\(", event, re.M))
        total += "Split.ofTen" in names
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    assert total > 200, printed[:2000]
    return {name: count / total for name, count in counts.items()}, total


def test_as_the_jvm_sees_itself(lab, java, classes, tmp_path):
    """Function by function, the JVM's own sampler sees the same."""
    if java.version < 11:
        pytest.skip("no flight recorder before JDK 11")
    settings = tmp_path / "own.jfc"
    settings.write_text('<?xml version="1.0"?><configuration version="2.0"><event name="jdk.ExecutionSample">'
                        '<setting name="enabled">true</setting><setting name="period">10 ms</setting>'
                        '</event></configuration>')
    start = f"-XX:StartFlightRecording=settings={settings}"
    with running(java.path, start, "-Xlog:disable", "-cp", classes, "Split", "ten", cwd=tmp_path) as program:
        made = lab.record("-d", 15, "-p", program.pid)
        own, count = own_view(java, program.pid, tmp_path)
    all_time = sum(value for _, value in stacks_with(made, "Split.ofTen"))
    for n in range(1, 11):
        name = f"Split.f{n}"
        seen = sum(value for _, value in stacks_with(made, name)) / all_time
        assert made.near(seen, n / 55, 0.03), (name, seen, made.explain())
        allowed = max(0.03, chance(n / 55, count, made.json()["stacks"]["samples"], errors=4))
        assert abs(seen - own.get(name, 0)) <= allowed, (name, seen, own, count)


def test_http_server(lab, java, classes):
    process = subprocess.Popen([java.path, "-cp", classes, "Server"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
    over = threading.Event()

    def load(address):
        while not over.is_set():
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                answer.read()

    clients = []
    try:
        address = f"http://127.0.0.1:{int(process.stdout.readline().split()[1])}/"
        clients = [threading.Thread(target=load, args=(address,)) for _ in range(4)]
        for client in clients:
            client.start()
        made = lab.record("-d", 5, "-p", process.pid)
    finally:
        over.set()
        for client in clients:
            client.join()
        process.kill()
        process.wait()
        process.stdout.close()
    made.assert_whole()
    assert made.share(lambda stack: stack.has("Server.answer", "Server.page")) > 0.05
    named = made.share(lambda stack: not any(re.match(r"\[(unknown|jit)", frame) for frame in stack))
    assert named >= 0.99, made.explain()
