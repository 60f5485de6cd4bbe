# SPDX-License-Identifier: Apache-2.0
"""
mem-alloc of Java: objects by stack and class, by probes in HotSpot. tests/programs/Allocates.java says what the JVM has
counted; the recordings that the JVM makes itself (JFR) are of the same buffers.
"""

import contextlib
import json
import signal
import subprocess
from pathlib import Path

import pytest

from harness import Film, PATIENCE, needs_root, running, wait_until
from test_java import JVMS, PROGRAMS, tool, version_of
from test_memory_heap import near, of_function, truth_of

pytestmark = needs_root

# More than a buffer that a thread can have: hits are samples with a probability of their own.
INTERVAL = 1 << 20
MEGABYTES = 300
FUNCTIONS = {"nodes": "Allocates$Node", "arrays": "byte[]", "large": "long[]", "tables": "java.lang.String[][]"}
# Of the JVM's count, what is left of buffers that were not used up, at most.
REST = 0.03
JDKS = [path for path in JVMS if version_of(path) >= 17]


@pytest.fixture(scope="module", name="classes")
def fixture_classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run([tool("javac"), "-g", "--release", "17", "-d", folder, PROGRAMS / "Allocates.java"], timeout=PATIENCE,
                   check=True)
    return folder


@pytest.fixture(scope="module", params=JDKS, ids=str, name="java")
def fixture_java(request):
    return request.param


def is_near(value, truth):
    return near(value, truth, 2 * INTERVAL) or abs(value / truth - 1) < REST


@contextlib.contextmanager
def allocating(*command):
    """The program, which has not begun; at the end of the block it has ended well."""
    with running(*command, "Allocates", MEGABYTES, stdin=subprocess.PIPE) as target:
        yield target
        target.process.stdin.close()
        assert target.wait() == 0


def let_it_allocate(target):
    """What it says of it."""
    target.process.stdin.write(b"x")
    target.process.stdin.flush()
    said = ""
    while "done" not in said:
        line = target.process.stdout.readline().decode()
        assert line, said
        said += line
    return truth_of(said)


def knows(film, name):
    """The film has samples of a function, and its name."""
    done = film.path.exists() and film.report("-e", "mem-alloc", "--format", "folded", check=False)
    return done and done.returncode == 0 and f"Allocates.{name};" in done.stdout


def end(recorder):
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(timeout=PATIENCE) == 0


def check(film, truth):
    for name, klass in FUNCTIONS.items():
        value = of_function(film, "mem-alloc", "Allocates." + name)
        assert is_near(value, truth[name][0]), (name, value, truth, film.explain())
        of_class = sum(value for stack, value in film.folded("-e", "mem-alloc")
                       if "Allocates." + name in stack and stack[-1] == klass)
        # a class that is used for the first time has an object of its own
        assert of_class > 0.97 * value, (name, film.explain())
    assert is_near(of_function(film, "mem-alloc", "Allocates.strings"), truth["strings"][0]), film.explain()
    # arrays have their size before their class
    assert of_function(film, "mem-alloc", "[4 to 8 MiB]") > 0.97 * of_function(film, "mem-alloc", "Allocates.large") > 0


def test_a_jvm_that_runs(lab, java, classes):
    """Nothing is loaded into it."""
    with allocating(java, "-Xmx256m", "-cp", classes) as target:
        with lab.recording("-e", "mem-alloc", "--mem-interval", INTERVAL, "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: knows(film, "idle") or recorder.poll() is not None)
            truth = let_it_allocate(target)
            assert wait_until(lambda: knows(film, "tables"))
            end(recorder)
        check(film, truth)
        assert "libstackcam" not in Path(f"/proc/{target.pid}/maps").read_text(encoding="utf-8")


def test_a_jvm_from_its_start(lab, java, classes):
    """It has the library, too, for what it allocates beside its heap."""
    film = lab.new_film()
    with allocating(lab.stackcam, "record", "-q", "-e", "mem-alloc,mem-inuse", "--mem-interval", INTERVAL, "-o", film, "--",
                    java, "-Xmx256m", "-cp", classes) as target:
        film = Film(lab.stackcam, film)
        assert wait_until(lambda: knows(film, "idle"))
        truth = let_it_allocate(target)
        assert wait_until(lambda: knows(film, "tables"))
    check(film, truth)
    assert of_function(film, "mem-alloc", "malloc") > 0
    assert "memory in use of Java's heap not known" in film.report("-e", "mem-inuse").stdout


def test_a_jvm_that_starts_later(lab, java, classes):
    """While the whole machine is filmed: its first function allocates as soon as there is a main()."""
    with lab.recording("-e", "mem-alloc", "--mem-interval", 1 << 16, "-a") as (recorder, film):
        # until something has been sampled, or for as long as a recording takes to begin
        assert wait_until(lambda: film.path.exists() or recorder.poll() is not None)
        with allocating(java, "-Xmx256m", "-cp", classes) as first:
            assert wait_until(lambda: knows(film, "idle") or recorder.poll() is not None)
            let_it_allocate(first)
            # names are read from its memory: one that ends right behind its last function has none for that
            assert wait_until(lambda: knows(film, "tables"))
        with allocating(java, "-Xmx256m", "-cp", classes) as target:
            truth = let_it_allocate(target)
            # as much as is asked for below: an early sample may lack its Java frames
            assert wait_until(lambda: of_function(film, "mem-alloc", "Allocates.tables") > 1.8 * truth["tables"][0]), \
                (truth, of_function(film, "mem-alloc", "Allocates.tables"), film.explain())
            end(recorder)
    for name, klass in FUNCTIONS.items():
        # by class: the stack of an early sample may lack its Java frames
        value = sum(value for stack, value in film.folded("-e", "mem-alloc") if stack[-1] == klass and
                    (klass.startswith("Allocates") or "Allocates." + name in stack))
        assert abs(value / (2 * truth[name][0]) - 1) < 0.1, (name, value, truth, film.explain())


def bytes_of_recording(jdk, path):
    """By class, what the JVM's own recording says of the same buffers."""
    said = subprocess.run([jdk.parent / "jfr", "print", "--json", "--events",
                           "jdk.ObjectAllocationInNewTLAB,jdk.ObjectAllocationOutsideTLAB", path],
                          stdout=subprocess.PIPE, timeout=PATIENCE, check=True).stdout
    sums = {}
    for event in json.loads(said)["recording"]["events"]:
        values = event["values"]
        name = values["objectClass"]["name"]
        sums[name] = sums.get(name, 0) + values.get("tlabSize", values["allocationSize"])
    return sums


def test_as_the_jvm_records_it(lab, java, classes, tmp_path):
    """Every buffer, not a sample of them."""
    recording = tmp_path / "a.jfr"
    with allocating(java, "-Xmx256m",
                    f"-XX:StartFlightRecording:filename={recording},jdk.ObjectAllocationInNewTLAB#enabled=true,"
                    "jdk.ObjectAllocationOutsideTLAB#enabled=true", "-cp", classes) as target:
        with lab.recording("-e", "mem-alloc", "--mem-interval", 1, "-p", target.pid) as (recorder, film):
            assert wait_until(lambda: knows(film, "idle") or recorder.poll() is not None)
            let_it_allocate(target)
            assert wait_until(lambda: knows(film, "tables"))
            end(recorder)
    theirs = bytes_of_recording(java, recording)
    for name, klass in (("nodes", "Allocates$Node"), ("large", "[J"), ("tables", "[[Ljava/lang/String;")):
        ours = of_function(film, "mem-alloc", "Allocates." + name)
        of_class = sum(value for known, value in theirs.items() if known.replace("/", ".") == klass.replace("/", "."))
        assert abs(ours / of_class - 1) < 0.02, (name, ours, theirs)
