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


def waits(tid):
    """Whether a thread is in futex(2) without a time, as it waits for a lock: for the global one it waits with one."""
    with open(f"/proc/self/task/{tid}/syscall", encoding="ascii") as file:
        words = file.read().split()
    return words[0] == "202" and words[4] == "0x0"


def run(kind, is_lock, hold, wait):
    held, end, waiting = threading.Event(), threading.Event(), []

    def holder():
        def while_waiting():
            held.set()
            while not waiting or not waits(waiting[0]):
                time.sleep(0)
            time.sleep(HELD)

        hold(while_waiting)
        end.wait()

    def waiter():
        held.wait()
        waiting.append(threading.get_native_id())
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

    def hold(while_waiting):
        with guard:
            while_waiting()

    def wait():
        with guard:
            pass

    return run("lock", True, hold, wait)


def event():
    happened = threading.Event()

    def hold(while_waiting):
        while_waiting()
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
