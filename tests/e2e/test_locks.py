# SPDX-License-Identifier: Apache-2.0
"""Waits for locks: which lock, and who held it, against what the programs say themselves."""

import contextlib
import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until

pytestmark = needs_root

HELD_NS = 20_000_000

# What a lock with an owner is called by its kind in locks.c.
PTHREADS = {
    "normal": "mutex", "recursive": "mutex", "checked": "mutex", "pi": "PI mutex", "robust": "robust mutex",
    "timed": "mutex", "heap": "mutex", "read": "rwlock (read)", "write": "rwlock (write)",
}


class Lock:
    """A row of the groups by thread, lock and holder."""

    def __init__(self, group):
        self.waiter = group["tid"]
        self.name = group["lock"].strip("[]")
        self.waits, self.longest, self.total = group["waits"], group["longest"], group["total"]
        found = re.fullmatch(r"\[(owner|last holder|releaser): (.*) \((\d+)\)\]", group["holder"])
        self.sure, self.holder_name, self.holder = (found[1], found[2], int(found[3])) if found else (None, None, 0)

    def __repr__(self):
        return f"{self.waiter}: {self.name}, {self.sure} {self.holder_name} ({self.holder}), {self.total}"


def locks_of(film, *options):
    done = film.report("-e", "lock", "--by", "thread,lock,holder", "--format", "json", *options, check=False)
    assert done.returncode == 0, done.stderr
    return [Lock(group) for group in film.json("-e", "lock", "--by", "thread,lock,holder", *options)["groups"]]


def truths_of(text):
    """KIND: (waiter, holder), as programs print them."""
    return {kind: (int(waiter), int(holder))
            for kind, waiter, holder in (line.split() for line in text.splitlines() if line.count(" ") == 2)}


@pytest.fixture(scope="module")
def pthreads(shared_lab):
    film = shared_lab.record("-e", "lock", "--", shared_lab.program("locks"), 1)
    return film, truths_of(film.recording.stdout)


@pytest.mark.parametrize("kind", PTHREADS)
def test_the_owner_of_a_lock_is_named(pthreads, kind):
    film, truths = pthreads
    waiter, holder = truths[kind]
    lock, = [lock for lock in locks_of(film) if lock.waiter == waiter and lock.longest >= HELD_NS * 0.9]
    assert (lock.sure, lock.holder) == ("owner", holder), lock
    assert lock.holder_name == f"hold-{kind}", lock
    assert lock.name.startswith(PTHREADS[kind] + " "), lock
    assert lock.waits == 1, lock


def test_the_variable_is_named(pthreads):
    film, truths = pthreads
    names = {lock.waiter: lock.name for lock in locks_of(film)}
    assert names[truths["normal"][0]] == "mutex normal in locks"
    assert names[truths["write"][0]] == "rwlock (write) to_write in locks"
    assert re.fullmatch(r"mutex 0x[0-9a-f]+ of .*", names[truths["heap"][0]])


def test_readers_that_are_many_have_no_owner(pthreads):
    """An rwlock does not say who reads under it: the one that leaves last has released it."""
    film, truths = pthreads
    lock, = [lock for lock in locks_of(film) if lock.waiter == truths["readers"][0] and lock.longest >= HELD_NS * 0.9]
    assert (lock.sure, lock.holder_name) == ("releaser", "hold-readers"), lock


@pytest.mark.parametrize("kind", ["condition", "semaphore"])
def test_what_waits_for_an_event_waits_for_no_lock(pthreads, kind):
    film, truths = pthreads
    assert not [lock for lock in locks_of(film) if lock.waiter == truths[kind][0] and lock.longest >= HELD_NS * 0.9]


def test_nobody_is_named_who_does_not_hold(pthreads):
    film, truths = pthreads
    holders = dict(truths.values())
    wrong = [lock for lock in locks_of(film) if lock.sure == "owner" and holders.get(lock.waiter) != lock.holder]
    assert not wrong


def test_a_deadlock_from_before_the_recording_is_shown(lab):
    program = subprocess.Popen([lab.program("locks"), "60", "deadlock"], stdout=subprocess.PIPE)
    try:
        text = "".join(program.stdout.readline().decode() for _ in range(2))
        film = lab.record("-e", "lock", "-p", program.pid, "-d", 1)
    finally:
        program.kill()
        program.wait(PATIENCE)
        program.stdout.close()
    truths = truths_of(text)
    seen = {lock.waiter: lock for lock in locks_of(film)}
    assert {waiter: lock.holder for waiter, lock in seen.items()} == dict(truths.values()), seen
    assert all(lock.waits == 1 and lock.longest == lock.total >= 900_000_000 for lock in seen.values()), seen


def test_a_wait_that_began_before_the_recording_is_for_a_lock(lab):
    program = subprocess.Popen([lab.program("locks"), "60", "held"], stdout=subprocess.PIPE, text=True)
    try:
        text = "".join(program.stdout.readline() for _ in range(2))
        with lab.recording("-e", "off-cpu,lock", "-p", program.pid) as (recording, film):
            assert wait_until(film.has_samples)
            program.send_signal(signal.SIGUSR1)
            assert recording.wait(timeout=PATIENCE) == 0
    finally:
        program.kill()
        program.wait(PATIENCE)
        program.stdout.close()
    waiter, holder = truths_of(text)["held"]
    [lock] = locks_of(film)
    # the lock says no more who held it, but the one who released it did
    assert (lock.waiter, lock.holder, lock.sure, lock.waits) == (waiter, holder, "releaser", 1), lock


def test_lock_stands_beside_the_waits_themselves(lab):
    film = lab.record("-e", "off-cpu,lock", "--", lab.program("locks"), 1)
    truths = truths_of(film.recording.stdout)
    waiter = truths["normal"][0]
    waits = sum(value for _, value in film.folded("-e", "off-cpu", "--wait", "lock", "-t", str(waiter)))
    locks = sum(value for _, value in film.folded("-e", "lock", "-t", str(waiter)))
    assert 0.9 * HELD_NS <= locks <= waits
    # the event of one is not there without the other
    alone = lab.record("-e", "lock", "--", lab.program("locks"), 1)
    assert alone.report("-e", "off-cpu", check=False).returncode != 0


def test_lock_and_holder_only_of_locks(lab):
    film = lab.record("-e", "off-cpu", "--", lab.program("locks"), 1)
    done = film.report("-e", "off-cpu", "--by", "lock", check=False)
    assert done.returncode != 0 and "-e lock" in done.stderr


# -- languages ----------------------------------------------------------------------------------------------------------

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
# Of any vendor, by version: java-17-openjdk-amd64, temurin-25-jdk-amd64.
JAVAS = {version: next(Path("/usr/lib/jvm").glob(f"*-{version}-*/bin/java"), None) for version in ("17", "21", "25")}


@contextlib.contextmanager
def program_with_locks(*command):
    """A program that says "ready", runs after the first line of input and ends after the second one."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_up_to(process, word):
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.strip() == word:
            return "".join(lines)
    raise AssertionError(f"{process.args} ended before it said '{word}': {lines}")


def film_locks(lab, *command, event="lock"):
    """The film of such a program, while it runs, and what it says itself."""
    with program_with_locks(*command) as process:
        read_up_to(process, "ready")
        with lab.recording("-e", event, "-p", process.pid) as (recording, film):
            assert wait_until(film.begun)
            process.stdin.write("go\n")
            process.stdin.flush()
            text = read_up_to(process, "done")
            recording.send_signal(signal.SIGINT)
            assert recording.wait(timeout=PATIENCE) == 0
    return film, truths_of(text)


def long_ones(film, waiter, name):
    """The waits of a thread for locks of that kind, but those that something else has cut short."""
    return [lock for lock in locks_of(film) if lock.waiter == waiter and lock.name.startswith(name)
            and lock.total >= HELD_NS / 2]


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Compiled by the oldest JDK, for all of them."""
    compiler = next((java.with_name("javac") for java in JAVAS.values() if java), None)
    if not compiler or not compiler.exists():
        pytest.skip("there is no javac")
    folder = tmp_path_factory.mktemp("locks")
    subprocess.run([compiler, "-d", folder, PROGRAMS / "Locks.java"], check=True, timeout=PATIENCE)
    return folder


@pytest.fixture(scope="module", params=JAVAS)
def java(request, shared_lab):
    if not JAVAS[request.param]:
        pytest.skip(f"there is no JDK {request.param}")
    classes = request.getfixturevalue("classes")
    return request.param, *film_locks(shared_lab, JAVAS[request.param], "-cp", classes, "Locks")


def test_the_owner_of_a_java_monitor_is_named(java):
    version, film, truths = java
    waiter, holder = truths["monitor"]
    waits = long_ones(film, waiter, "Java monitor")
    assert waits and {lock.holder for lock in waits} == {holder}, locks_of(film)
    assert "owner" in {lock.sure for lock in waits}
    # since JDK 24, a monitor that was made while its object was locked does not know its owner
    assert version != "17" or {lock.sure for lock in waits} == {"owner"}, waits


@pytest.mark.parametrize("kind", ["reentrant", "rwlock"])
def test_the_owner_of_a_java_util_concurrent_lock_is_named(java, kind):
    _, film, truths = java
    waiter, holder = truths[kind]
    waits = long_ones(film, waiter, "java.util.concurrent lock")
    assert {(lock.sure, lock.holder) for lock in waits} == {("owner", holder)}, waits


def test_each_lock_of_java_util_concurrent_is_one_of_its_own(java):
    _, film, truths = java
    names = {kind: {lock.name for lock in long_ones(film, truths[kind][0], "java.util.concurrent lock")}
             for kind in ("reentrant", "rwlock")}
    assert all(re.fullmatch(r"java\.util\.concurrent lock 0x[0-9a-f]+ of .*", name) for both in names.values() for name in both)
    # nothing is collected meanwhile: each has the same place in all of its waits
    assert [len(both) for both in names.values()] == [1, 1] and names["reentrant"] != names["rwlock"], names


def test_waits_of_java_for_events_are_for_no_lock(java):
    _, film, truths = java
    for kind in ("object", "condition"):
        # the JVM itself has locks, which other threads may hold for long on a busy machine
        assert not [lock for lock in locks_of(film) if lock.waiter == truths[kind][0] and lock.total >= HELD_NS / 2
                    and not lock.name.endswith(" in libjvm.so")]


@pytest.mark.parametrize("version", JAVAS)
@pytest.mark.parametrize("options,sure", [
    (["-XX:+UseG1GC"], "owner"), (["-XX:+UseParallelGC", "-XX:-UseCompressedOops"], "owner"),
    # where objects move while threads run, nothing proves what was read
    (["-XX:+UseZGC"], "releaser")], ids=["G1", "Parallel", "Z"])
def test_owners_of_java_locks_while_objects_move(lab, classes, version, options, sure):
    if not JAVAS[version]:
        pytest.skip(f"there is no JDK {version}")
    film, truths = film_locks(lab, JAVAS[version], *options, "-Xmx48m", "-cp", classes, "Locks", "garbage")
    for kind in ("reentrant", "rwlock"):
        waiter, holder = truths[kind]
        waits = long_ones(film, waiter, "java.util.concurrent lock")
        assert waits and {lock.holder for lock in waits} == {holder}, waits
        assert sure in {lock.sure for lock in waits}, waits
        assert sure == "owner" or {lock.sure for lock in waits} == {"releaser"}, waits


@pytest.fixture(scope="module")
def python(shared_lab):
    return film_locks(shared_lab, "/usr/bin/python3", PROGRAMS / "locks.py")


def test_the_last_holder_of_pythons_global_lock_is_named(python):
    film, truths = python
    one, two = truths["gil"]
    for waiter, holder in ((one, two), (two, one)):
        waits = [lock for lock in long_ones(film, waiter, "Python GIL") if lock.holder == holder]
        assert waits and waits[0].sure == "last holder", locks_of(film)
        # the main thread and those that begin have it for moments
        assert waits[0].total >= 0.8 * sum(lock.total for lock in long_ones(film, waiter, "Python GIL"))


def test_who_releases_a_python_lock_is_named(python):
    film, truths = python
    waiter, holder = truths["lock"]
    lock, = long_ones(film, waiter, "Python lock")
    assert (lock.sure, lock.holder) == ("releaser", holder), lock


def test_a_python_event_is_no_lock(python):
    film, truths = python
    assert not long_ones(film, truths["event"][0], "Python lock"), locks_of(film)


@pytest.mark.parametrize("kind", ["normal", "recursive", "checked", "pi", "robust", "timed", "heap"])
def test_a_static_program_without_symbols_has_owners_too(lab, kind):
    film = lab.record("-e", "lock", "--", lab.program("locks-static-stripped"), 1)
    waiter, holder = truths_of(film.recording.stdout)[kind]
    lock, = long_ones(film, waiter, "")
    assert (lock.sure, lock.holder) == ("owner", holder), lock


@pytest.mark.parametrize("kind,name,sure", [
    ("mutex", "mutex plain", "owner"), ("recursive", "mutex recursive", "owner"), ("timed", "mutex timed", "owner"),
    ("shared", "rwlock (read) shared", "owner"), ("condition", None, None)])
def test_locks_of_cpp(lab, kind, name, sure):
    film = lab.record("-e", "lock", "--", lab.program("locks_cpp"))
    assert_planted(film, kind, name, sure)


@pytest.mark.parametrize("kind,name,sure", [
    ("mutex", "Rust mutex", "releaser"), ("rwlock", "Rust rwlock", "releaser"), ("condition", None, None)])
def test_locks_of_rust(lab, kind, name, sure):
    film = lab.record("-e", "lock", "--", lab.program("locks_rust"))
    assert_planted(film, kind, name, sure)


def assert_planted(film, kind, name, sure):
    waiter, holder = truths_of(film.recording.stdout)[kind]
    waits = long_ones(film, waiter, "")
    if name:
        assert [(lock.name.startswith(name), lock.sure, lock.holder) for lock in waits] == [(True, sure, holder)], waits
    else:
        assert not waits


def test_goroutines_do_not_wait_for_locks_as_threads_do(lab):
    """Nobody is named for a sync.Mutex: no thread waits for it."""
    film = lab.record("-e", "lock", "--", lab.program("locks_go"))
    assert "mutex 0 0" in film.recording.stdout
    done = film.report("-e", "lock", "--by", "holder", "--format", "json", check=False)
    assert done.returncode == 0, done.stderr
    assert not [group for group in film.json("-e", "lock", "--by", "holder")["groups"] if "owner" in group["holder"]]
