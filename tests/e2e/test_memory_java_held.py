# SPDX-License-Identifier: Apache-2.0
"""
mem-inuse of Java: what the collector has not collected, by stack and class, from an agent that a JVM loads on request.
tests/programs/Holds.java says what it keeps.
"""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness import Film, PATIENCE, needs_root, running, wait_until
from test_java import PROGRAMS, tool
from test_memory_heap import of_function, truth_of
from test_memory_java import JDKS

pytestmark = needs_root

# Some 19,000 samples of what each function keeps: a standard error of 0.7 %.
INTERVAL = 4096
MEGABYTES = 100
OPTIONS = ("-e", "mem-inuse", "--mem-java", 1, "--mem-interval", INTERVAL)
CLASSES = {"nodes": "Holds$Node", "arrays": "byte[]", "tables": "java.lang.String[][]"}
AGENT = "libstackcam-java.so"


@pytest.fixture(scope="module", name="classes")
def fixture_classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run([tool("javac"), "-g", "--release", "17", "-d", folder, PROGRAMS / "Holds.java"], timeout=PATIENCE, check=True)
    return folder


@pytest.fixture(scope="module", params=JDKS, ids=str, name="java")
def fixture_java(request):
    return request.param


@contextlib.contextmanager
def holding(java, classes, *options, megabytes=MEGABYTES):
    """The program, which has not begun; at the end of the block it has ended well."""
    with running(java, "-Xmx1g", *options, "-cp", classes, "Holds", megabytes, stdin=subprocess.PIPE) as target:
        yield target
        for _ in range(3):
            with contextlib.suppress(BrokenPipeError):
                target.process.stdin.write(b"x")
                target.process.stdin.flush()
        assert target.wait() == 0


def go_on(target, until):
    """What it says until then."""
    target.process.stdin.write(b"x")
    target.process.stdin.flush()
    said = ""
    while until not in said:
        line = target.process.stdout.readline().decode()
        assert line, said
        said += line
    return said


def has_agent(pid):
    return AGENT in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


def jcmd(java, pid, command):
    """Whether it was answered; a JVM that has not started refuses it."""
    return not subprocess.run([java.parent / "jcmd", str(pid), command], timeout=PATIENCE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode


def await_agent(java, pid, recorder):
    """The JVM answers one request after the other: when the next one is answered, the agent has begun."""
    assert wait_until(lambda: has_agent(pid) or recorder.poll() is not None)
    assert jcmd(java, pid, "VM.version")


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def held(film, name):
    done = film.path.exists() and film.report("-e", "mem-inuse", "--format", "folded", check=False)
    return of_function(film, "mem-inuse", name) if done and done.returncode == 0 else 0


def end(recorder):
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(timeout=PATIENCE) == 0


def test_what_is_in_use(lab, java, classes):
    with holding(java, classes) as target:
        with lab.recording(*OPTIONS, "--mem-inject", 0, "-p", target.pid) as (recorder, film):
            await_agent(java, target.pid, recorder)
            truth = truth_of(go_on(target, "kept"))
            # the JVM reports what it has collected after the collection, and the film has it a second later
            assert wait_until(lambda: 0 < held(film, "Holds.tables") < 1.03 * truth["tables"][1]), film.explain()
            for name in truth:
                assert wait_until(lambda name=name: abs(held(film, f"Holds.{name}") / truth[name][1] - 1) < 0.14), film.explain()
            of_class = {name: sum(value for stack, value in film.folded("-e", "mem-inuse") if stack[-1] == klass)
                        for name, klass in CLASSES.items()}
            for name, value in of_class.items():
                assert abs(value / truth[name][1] - 1) < 0.03, (name, value, truth, film.explain())
            # every stack goes down to the thread's start, through the agent and the JVM
            stacks = film.json("-e", "mem-inuse")["stacks"]
            assert stacks["complete"] > 0.9 * stacks["samples"] > 0, film.explain()
            whole = [stack for stack, value in film.folded("-e", "mem-inuse") if "Holds.nodes" in stack and stack[-1] == "Holds$Node"]
            assert whole and all("java.lang.Thread.run" in stack for stack in whole)
            go_on(target, "left")
            assert wait_until(lambda: held(film, "Holds.nodes") < 0.13 * truth["nodes"][1]), film.explain()
            end(recorder)
        nodes = sum(value for stack, value in film.folded("-e", "mem-inuse") if stack[-1] == "Holds$Node")
        assert nodes < 0.001 * truth["nodes"][1], film.explain()
        assert abs(held(film, "Holds.tables") / truth["tables"][1] - 1) < 0.03
        assert "Java's heap" not in film.report("-e", "mem-inuse").stdout
        # the next recording has the agent that is there
        film = lab.record(*OPTIONS, "-p", target.pid, "-d", 1)
        assert "has not loaded the agent" not in film.report("-e", "mem-inuse", check=False).stdout


def test_after_a_recorder_that_was_killed(lab, classes):
    java = JDKS[0]
    with holding(java, classes) as target:
        with lab.recording(*OPTIONS, "-p", target.pid) as (recorder, _):
            await_agent(java, target.pid, recorder)
            recorder.kill()
            recorder.wait(timeout=PATIENCE)
        film = lab.record(*OPTIONS, "--mem-inject", 0, "-p", target.pid, "-d", 1)
        said = film.report("-e", "mem-inuse", check=False).stdout
        assert "has not loaded the agent" not in said, said


def test_one_recorder_at_a_time(lab, classes):
    java = JDKS[0]
    with holding(java, classes, megabytes=1) as target:
        with lab.recording(*OPTIONS, "-p", target.pid) as (recorder, _):
            await_agent(java, target.pid, recorder)
            film = lab.record(*OPTIONS, "--mem-inject", 0, "-p", target.pid, "-d", 1)
            assert "is recorded by another stackcam" in film.report("-e", "mem-inuse", check=False).stdout
            end(recorder)


def test_a_jvm_that_cannot_be_asked(lab, classes):
    """It gets no signal, which would have it print its stacks."""
    option = "-XX:+DisableAttachMechanism"
    with holding(JDKS[0], classes, option, megabytes=1) as target:
        film = lab.record(*OPTIONS, "--mem-inject", 0, "-p", target.pid, "-d", 1)
        assert "Full thread dump" not in go_on(target, "kept")
        assert f"was started with {option}" in film.report("-e", "mem-inuse", check=False).stdout
        assert not has_agent(target.pid)


def test_a_jvm_without_signals(lab, classes):
    """It would be killed by SIGQUIT, and has its socket from the start."""
    with holding(JDKS[0], classes, "-Xrs", megabytes=1) as target:
        film = lab.record(*OPTIONS, "--mem-inject", 0, "-p", target.pid, "-d", 1)
        assert has_agent(target.pid)
        assert "has not loaded the agent" not in film.report("-e", "mem-inuse", check=False).stdout


def test_a_command(lab, classes):
    """The JVM is asked when it handles the signal; until then it has allocated little."""
    film = lab.new_film()
    with running(lab.stackcam, "record", "-q", *OPTIONS, "-o", film, "--", JDKS[0], "-Xmx1g", "-cp", classes, "Holds", 10,
                 stdin=subprocess.PIPE) as target:
        assert wait_until(lambda: children(target.pid))
        (java,) = children(target.pid)
        growing = Film(lab.stackcam, film)
        # the agent may be loaded before the JVM has started, and begins once it has: what it answers then is filmed
        answers = "jdk.internal.vm.VMSupport.serializePropertiesToByteArray"
        assert wait_until(lambda: jcmd(JDKS[0], java, "VM.system_properties") and held(growing, answers))
        truth = truth_of(go_on(target, "kept"))
        # methods have their names from its memory, which a recorder that is busy may not have read before it ends
        assert wait_until(lambda: held(growing, "Holds.tables"))
        go_on(target, "left")
        target.process.stdin.write(b"x")
        target.process.stdin.close()
        assert target.wait() == 0
    film = Film(lab.stackcam, film)
    assert abs(held(film, "Holds.tables") / truth["tables"][1] - 1) < 0.2, film.explain()


def test_only_on_request(lab, classes):
    with holding(JDKS[0], classes, megabytes=1) as target:
        film = lab.record("-e", "mem-inuse", "--mem-inject", 0, "-p", target.pid, "-d", 1)
        assert not has_agent(target.pid)
        assert "no JVM was asked for it" in film.report("-e", "mem-inuse", check=False).stdout
        assert os.path.exists(f"/proc/{target.pid}")
