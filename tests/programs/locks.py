# SPDX-License-Identifier: Apache-2.0
"""
Threads that wait for locks of which it is known who holds them: as locks.c, for Python. Says "ready", and begins with the
first line of its input; prints KIND WAITER HOLDER for each, HOLDER 0: it is no lock; says "done", and ends with the
next line.

gil: two threads compute, so that each waits for the global lock while the other one has it.
"""

import sys
import threading
import time

HELD = 0.02
COMPUTING = 0.3


def say(*words):
    print(*words, flush=True)


def run(kind, is_lock, hold, wait):
    held, end = threading.Event(), threading.Event()

    def holder():
        hold(held)
        end.wait()

    def waiter():
        held.wait()
        wait()
        end.wait()

    threads = [threading.Thread(target=target, name=f"{name}-{kind}")
               for target, name in ((holder, "hold"), (waiter, "wait"))]
    for thread in threads:
        thread.start()
    say(kind, threads[1].native_id, threads[0].native_id if is_lock else 0)
    return threads, end


def lock():
    guard = threading.Lock()

    def hold(held):
        with guard:
            held.set()
            time.sleep(HELD)

    def wait():
        with guard:
            pass

    return run("lock", True, hold, wait)


def event():
    happened = threading.Event()

    def hold(held):
        held.set()
        time.sleep(HELD)
        happened.set()

    return run("event", False, hold, happened.wait)


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def gil():
    threads = [threading.Thread(target=compute, args=(COMPUTING,), name=f"gil-{i}") for i in range(2)]
    for thread in threads:
        thread.start()
    say("gil", threads[0].native_id, threads[1].native_id)
    for thread in threads:
        thread.join()


say("ready")
sys.stdin.readline()
# the first stacks of a process come before its language is known
begun = [event()]
time.sleep(10 * HELD)
begun.append(lock())
time.sleep(5 * HELD)
gil()
say("done")
sys.stdin.readline()
for threads, end in begun:
    end.set()
    for thread in threads:
        thread.join()
