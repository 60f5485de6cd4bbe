# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: causes that lie in the runtimes of languages: monitors, sleeps and pauses of Java, the lock of CPython."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, running
from test_explain import EVENTS, explained, first_cause, of_work

pytestmark = needs_root


@pytest.fixture(scope="module")
def java_classes(tmp_path_factory):
    if not shutil.which("javac"):
        pytest.skip("no Java compiler")
    folder = tmp_path_factory.mktemp("classes")
    source = Path(__file__).resolve().parents[1] / "programs" / "Cases.java"
    subprocess.run(["javac", "-d", folder, source], check=True, timeout=PATIENCE)
    return folder


def film_java(lab, classes, name):
    command = ["java", "-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-cp", classes, "Cases", 120, name]
    with running(*command) as target:
        return lab.record(*EVENTS, "-p", target.pid, "-d", 3, hz=499)


def test_a_java_monitor_that_is_held_long(lab, java_classes):
    cause, request = first_cause(lab, film_java(lab, java_classes, "monitor"))
    assert cause["kind"] == "lock" and cause["object"].startswith("Java monitor 0x"), cause
    assert cause["holder"]["comm"] == "reporter" and cause["waker"]["comm"] == "reporter"
    assert "in Cases.takeOrder for" in cause["words"] and of_work(cause, request) > 0.3
    assert "Cases.writeReport" in cause["parts"][0]["stack"], cause["parts"][0]


def test_a_java_thread_that_sleeps(lab, tmp_path):
    """Thread.sleep() is a condition that nothing signals: its stack says what it is, also of one of seconds."""
    if not shutil.which("javac"):
        pytest.skip("no Java here")
    (tmp_path / "Naps.java").write_text("public class Naps { public static void main(String[] a) throws Exception {"
                                        " Thread.sleep(2500); for (int i = 0; i < 5; i++) Thread.sleep(100); } }")
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Naps.java"], check=True, timeout=PATIENCE)
    film = lab.record("-e", "threads", "--", "java", "-cp", tmp_path, "Naps")
    states = json.loads(film.report("--format", "states-json").stdout)
    threads = [{state["state"]: state for state in thread["states"]} for thread in states["threads"]]
    main = max((thread for thread in threads if "sleep" in thread), key=lambda thread: thread["sleep"]["total"])
    # some virtual machines hide switches of threads (doc/internals/threads.md): the wait that such a one ended is not known to be a nap
    hidden = main["hole"]["count"] if "hole" in main else 0
    assert main["sleep"]["total"] > 2_990_000_000 - hidden * 100_000_000, main
    text = lab.run("explain", film.path).stdout
    assert "sleeping (futex, as its stack says) in Naps.main" in text, text


def test_pauses_of_the_java_virtual_machine(lab, java_classes):
    cause, request = first_cause(lab, film_java(lab, java_classes, "gc"))
    pauses = [part for part in request["parts"] if part["kind"] == "safepoint"]
    assert pauses and pauses[0]["waker"]["comm"] == "VM Thread" and of_work(pauses[0], request) > 0.2, request["parts"]
    # the collector that runs in that thread
    ran = [part for part in pauses[0]["parts"] if part["kind"] == "on-cpu"]
    assert ran and any(re.search("Compact|Mark|Serial|Gen|Space|oop|Oop|memcpy", function["name"])
                       for function in ran[0]["functions"]), ran


GIL = """
import threading, time

def crunch():
    total = 0
    for i in range(10 ** 12):
        total += i

def handle():
    for _ in range(20000):
        pass

def handler():
    while True:
        handle()
        time.sleep(0.005)

threading.Thread(target=crunch, daemon=True).start()
thread = threading.Thread(target=handler, daemon=True)
thread.start()
print("ready", flush=True)
time.sleep(120)
"""


def test_the_lock_of_the_python_interpreter(lab, tmp_path):
    script = tmp_path / "gil.py"
    script.write_text(GIL)
    with running(sys.executable, script) as target:
        tids = sorted(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task"))
        film = lab.record(*EVENTS, "-p", target.pid, "-d", 2, hz=499)
    request, = explained(lab, film, "--thread", tids[-1])
    locks = [part for part in request["parts"] if part["kind"] == "lock" and part["object"].startswith("Python GIL")]
    assert locks and locks[0]["holder"]["tid"] == tids[-2] and of_work(locks[0], request) > 0.2, request["parts"]
    ran = [part for part in locks[0]["parts"] if part["kind"] == "on-cpu"]
    assert ran and ran[0]["functions"][0]["name"] == "crunch", locks[0]
