# SPDX-License-Identifier: Apache-2.0
"""Waits for locks: which lock, and who held it, against what the programs say themselves."""

import re
import subprocess

import pytest

from harness import PATIENCE, needs_root

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
