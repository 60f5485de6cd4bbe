# SPDX-License-Identifier: Apache-2.0
"""
Python that spends its CPU time in a known way. Arguments: what to do, for how many seconds.

	shares		seven tenths in seventy(), two in Class.twenty(), one in a generator; between them C code calls
			back, and an exception is in flight
	own		the same, and it tells what it saw of itself: each function's part of its own samples, as JSON
	deep		500 calls of deep() and then leaf()
	threads		worker_0() to worker_3() in a thread each, calling level_0() to level_3(), besides coroutines
	interpreters	an interpreter within another one: caller() runs code there that calls outer() and inner()
	garbage		objects and code objects that come and go
"""
import asyncio
import collections
import json
import random
import signal
import sys
import threading
import time

# How long a round of shares is: none as the one before, so that they don't fall in step with the sampling, and all so
# long that what stands between the shares is little.
unit = 1000


def spin(times):
    x = 0
    for i in range(unit * times):
        x ^= i * 3  # the line of spin()
    return x


def seventy():
    return spin(7)


class Class:
    def twenty(self):
        return spin(2)


def generator():
    while True:
        yield spin(1)


def by_sorting():
    return sorted([1, 2], key=lambda n: seventy() if n == 1 else Class().twenty())


def by_mapping(numbers):
    return list(map(lambda n: next(numbers), [1]))


def raising(depth):
    if depth:
        return raising(depth - 1)
    try:
        raise ValueError("in flight")
    except ValueError:
        by_sorting()
        raise


def once(numbers):
    try:
        raising(20)
    except ValueError:
        by_mapping(numbers)


def shares(end):
    global unit
    numbers = generator()
    while time.monotonic() < end:
        unit = random.randrange(3000, 9000)
        once(numbers)


def own(end):
    seen = collections.Counter()
    looking = False

    def look(_, frame):
        nonlocal looking
        # the next signal may come before it is done
        if looking:
            return
        looking = True
        wait_for_signal()
        seen["all"] += 1
        for name in {place.f_code.co_name for place in walk(frame)}:
            seen[name] += 1
        looking = False

    def walk(frame):
        while frame:
            yield frame
            frame = frame.f_back

    # by chance: a round takes about as long as the time between two looks of a kernel at its timers
    def wait_for_signal():
        signal.setitimer(signal.ITIMER_PROF, random.uniform(0.001, 0.012))

    signal.signal(signal.SIGPROF, look)
    wait_for_signal()
    # a kernel may look at its timers no more than a hundred times a second
    while seen["all"] < 400 and time.monotonic() < end + 20:
        shares(time.monotonic() + 0.5)
    signal.setitimer(signal.ITIMER_PROF, 0)
    count = seen["all"]
    print(json.dumps({**{name: seen[name] / count for name in seen}, "all": count}), flush=True)


def leaf(end):
    while time.monotonic() < end:
        spin(1)


def deep(depth, end):
    if depth > 1:
        deep(depth - 1, end)
    else:
        leaf(end)


def worker(n, end):
    names = {"spin": spin, "time": time, "end": end}
    exec(f"def worker_{n}():\n"
         f"    while time.monotonic() < end:\n"
         f"        level_{n}()\n"
         f"def level_{n}():\n"
         f"    spin(3)\n", names)
    return names[f"worker_{n}"]


async def coroutine(depth):
    if depth > 1:
        return await coroutine(depth - 1)
    spin(1)
    await asyncio.sleep(0)


async def asynchronous():
    for _ in range(10):
        await coroutine(6)
        yield


async def tasks(end):
    while time.monotonic() < end:
        async for _ in asynchronous():
            pass


def threads(end):
    all_threads = [threading.Thread(target=worker(n, end)) for n in range(4)]
    for thread in all_threads:
        thread.start()
    asyncio.run(tasks(end))
    for thread in all_threads:
        thread.join()


def caller(end):
    if sys.version_info >= (3, 13):
        import _interpreters as them
    else:
        import _xxsubinterpreters as them
    them.run_string(them.create(), f"""
import time
def inner():
    x = 0
    while time.monotonic() < {end}:
        for i in range(1000):
            x += i
def outer():
    inner()
outer()
""")


def interpreters(end):
    caller(end)


class Node:
    def __init__(self):
        self.me = self


def garbage(end):
    n = 0
    while time.monotonic() < end:
        n += 1
        names = {}
        exec(f"def short_lived_{n % 100}():\n    return [Node() for _ in range(200)]\n", {"Node": Node}, names)
        names[f"short_lived_{n % 100}"]()


def calls(inner, turns):
    raise NotImplementedError("it gets other code")


def other_code(end):
    """One function, called so often that its calls are specialized, with one code object after the other."""
    n = 0
    while time.monotonic() < end:
        n += 1
        names = {}
        exec(f"def inner_{n % 50}(turns):\n    total = 0\n    for i in range(turns):\n        total += i\n"
             f"def outer_{n % 50}(inner, turns):\n    inner(turns)\n", names)
        calls.__code__ = names[f"outer_{n % 50}"].__code__
        for _ in range(200):
            calls(names[f"inner_{n % 50}"], 150)


def main():
    what = {"shares": shares, "own": own, "deep": lambda end: deep(500, end), "threads": threads,
            "interpreters": interpreters, "garbage": garbage,
            "other_code": other_code}[sys.argv[1]]
    print("ready", flush=True)
    what(time.monotonic() + float(sys.argv[2]))


main()
