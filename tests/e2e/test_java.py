# SPDX-License-Identifier: Apache-2.0
"""
Java: functions of all kinds in whole stacks, interpreted and compiled, with names, files and lines.

The JDKs of /usr/lib/jvm are filmed, and others that another suite of Debian has. More can be named in STACKCAM_JAVAS,
separated by colons.
"""

import os
import re
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest

import suites
from harness import PATIENCE, chance, needs_root, running, spare_versions, wait_until

pytestmark = needs_root

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
SOURCES = ["Split.java", "Churn.java", "Server.java", "Blind.java"]
JVMS = sorted({path.resolve() for path in Path("/usr/lib/jvm").glob("*/bin/java")} |
              {Path(path) for path in filter(None, os.environ.get("STACKCAM_JAVAS", "").split(":"))})
# The suite that has the most, and what of it is unpacked together.
SUITE = "sid"
OLD, NEW = (8, 11, 21), (26, 27)
MORE = [f"{SUITE}-{version}" for version in
        (*OLD, *(NEW if "STACKCAM_EVERY_VERSION" in os.environ else ()))]
UNKNOWN = 28


def version_of(*command):
    said = subprocess.run([*command, "-version"], stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                          check=True).stderr
    numbers = re.search(r'"(\d+)(?:\.(\d+))?', said)
    return int(numbers[2] if numbers[1] == "1" else numbers[1])


def of_suite(lab, version, *together):
    """The words that start the java of another suite, which is unpacked together with others."""
    root = suites.unpacked(lab.suites, SUITE, *(f"openjdk-{number}-jre-headless" for number in together))
    home = f"/usr/lib/jvm/java-{version}-openjdk-amd64"
    return suites.inside(root, f"{home}/jre/bin/java" if version == 8 else f"{home}/bin/java")


def tool(name, version=0):
    """A tool of the newest JDK here, which also knows files and processes of older ones."""
    found = [(version_of(path), path.parent / name) for path in JVMS if (path.parent / name).exists()]
    if not found or max(found)[0] < version:
        pytest.skip(f"there is no {name} that is new enough")
    return max(found)[1]


class Java:
    def __init__(self, *command):
        self.command = command
        self.version = version_of(*command)


spare = spare_versions("java", ("java-17",), ("test_shares", "test_http_server"))
spare_of_suite = spare_versions("java", (SUITE,), ("test_everything_at_once",), mode="mixed")


@pytest.fixture(scope="module", params=[*JVMS, *MORE], ids=str)
def java(request, shared_lab):
    if request.param in MORE:
        version = int(request.param.rpartition("-")[2])
        return Java(*of_suite(shared_lab, version, *(OLD if version in OLD else NEW)))
    if not request.param.exists():
        pytest.skip(f"there is no {request.param}")
    return Java(request.param)


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """The compiled programs, for JDK 8 and later."""
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run([tool("javac"), "-g", "--release", "8", "-Xlint:-options", "-d", folder,
                    *(PROGRAMS / name for name in SOURCES)], timeout=PATIENCE, check=True)
    return folder


def film(lab, java, classes, *words, options=(), seconds=1.5):
    with running(*java.command, *options, "-cp", classes, *words) as program:
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


@pytest.mark.parametrize("mode", ["mixed", "interpreted"])
def test_native_code_without_unwind_information(lab, java, classes, mode):
    """A walk begins again at Java's last frame; the native frames between are marked as missing."""
    made = film(lab, java, classes, "Blind", lab.program("libblind.so"), 60, options=MODES[mode])
    made.assert_gap("Blind.main", "Blind.outer", "Blind.inner", "Blind.spin")


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
    made = film(lab, java, classes, "Churn", 0, options=MODES[mode])
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
    subprocess.run([tool("javac", 21), "-g", "--release", "21", "-d", tmp_path, PROGRAMS / "Virtual.java"],
                   timeout=PATIENCE, check=True)
    made = film(lab, java, tmp_path, "Virtual")
    made.assert_whole()
    stacks = stacks_with(made, "Virtual.work")
    total = sum(value for _, value in stacks)
    assert total > 0, made.explain()
    carried = sum(value for stack, value in stacks if "java.lang.VirtualThread.runContinuation" in stack)
    assert carried >= 0.98 * total, made.explain()


def own_view(pid, folder):
    """What the JVM's own sampler sees: functions to the part of the samples that they are in, and how many there are."""
    recording = folder / "own.jfr"
    jcmd = [tool("jcmd"), str(pid)]
    done = subprocess.run([*jcmd, "JFR.dump", f"filename={recording}"], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert recording.exists(), done
    printed = subprocess.run([tool("jfr"), "print", "--events", "jdk.ExecutionSample", "--stack-depth",
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
    settings = tmp_path / "own.jfc"
    settings.write_text('<?xml version="1.0"?><configuration version="2.0"><event name="jdk.ExecutionSample">'
                        '<setting name="enabled">true</setting><setting name="period">10 ms</setting>'
                        '</event></configuration>')
    start = f"-XX:StartFlightRecording=settings={settings}"
    # that of JDK 8 hardly ever finds its way through compiled code
    more = "-Xlog:disable" if java.version > 8 else "-Xint"
    with running(*java.command, start, more, "-cp", classes, "Split", "ten", cwd=tmp_path) as program:
        made = lab.record("-d", 8, "-p", program.pid)
        own, count = own_view(program.pid, tmp_path)
    all_time = sum(value for _, value in stacks_with(made, "Split.ofTen"))
    for n in range(1, 11):
        name = f"Split.f{n}"
        seen = sum(value for _, value in stacks_with(made, name)) / all_time
        assert made.near(seen, n / 55, 0.03), (name, seen, made.explain())
        allowed = max(0.03, chance(n / 55, count, made.json()["stacks"]["samples"], errors=4))
        assert abs(seen - own.get(name, 0)) <= allowed, (name, seen, own, count)


def test_http_server(lab, java, classes):
    process = subprocess.Popen([*java.command, "-cp", classes, "Server"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
    over = threading.Event()
    answered = []

    def load(address):
        while not over.is_set():
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                answered.append(len(answer.read()))

    clients = []
    try:
        address = f"http://127.0.0.1:{int(process.stdout.readline().split()[1])}/"
        clients = [threading.Thread(target=load, args=(address,)) for _ in range(4)]
        for client in clients:
            client.start()
        # before that, most of its time is of the compiler
        assert wait_until(lambda: len(answered) > 1000)
        made = lab.record("-d", 3, "-p", process.pid)
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


def test_a_version_that_is_not_known_is_refused(lab, shared_lab, classes):
    """It says so, and its frames are not walked by what is known of others."""
    if "STACKCAM_EVERY_VERSION" not in os.environ:
        pytest.skip("it would be fetched for this alone; STACKCAM_EVERY_VERSION=1 tests all")
    java = Java(*of_suite(shared_lab, UNKNOWN, UNKNOWN))
    made = film(lab, java, classes, "Split", "split", seconds=1)
    assert made.json()["loss"] == {f"hotspot frames not looked for: JDK {UNKNOWN} is not known": 1}, made.explain()
    assert not stacks_with(made, "Split.work")
    assert "nothing lost" not in made.recording.stderr
