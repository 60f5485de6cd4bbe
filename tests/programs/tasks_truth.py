# SPDX-License-Identifier: Apache-2.0
"""
Tasks of asyncio that measure themselves: how long each one ran and was off, in ns, as JSON on standard output.

    tasks_truth.py MS [wait]

MS: how long each does what it does. wait: the tasks are there before a line comes on standard input.
"""
import asyncio
import json
import sys
import threading
import time

SPAN = int(sys.argv[1]) / 1000
told = {}


def now():
    return time.monotonic_ns()


def tell(name, ran=0, off=0):
    told[name] = {"ran": ran, "off": off}


async def sleeps(name, span):
    begin = now()
    await asyncio.sleep(span)
    tell(name, off=now() - begin)


async def burns(name, rounds):
    ran = off = 0
    for _ in range(rounds):
        begin = now()
        while now() - begin < SPAN * 1e9 / rounds:
            pass
        end = now()
        await asyncio.sleep(0)
        ran += end - begin
        off += now() - end
    tell(name, ran=ran, off=off)


async def receives(name, future):
    begin = now()
    await future
    tell(name, off=now() - begin)


async def gives(name, future):
    begin = now()
    await asyncio.sleep(SPAN)
    tell(name, off=now() - begin)
    future.set_result(None)


async def joins(name, task):
    begin = now()
    await task
    tell(name, off=now() - begin)


async def is_cancelled(name):
    begin = now()
    try:
        await asyncio.sleep(1000)
    finally:
        tell(name, off=now() - begin)


async def asks_a_thread(name):
    loop, future = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def work():
        time.sleep(SPAN)
        loop.call_soon_threadsafe(future.set_result, None)

    begin = now()
    thread = threading.Thread(target=work)
    thread.start()
    started = now()
    await future
    tell(name, ran=started - begin, off=now() - started)
    thread.join()


async def is_eager(name):
    begin = now()
    while now() - begin < SPAN * 1e9 / 4:
        pass
    end = now()
    await asyncio.sleep(SPAN)
    tell(name, ran=end - begin, off=now() - end)


async def ends_at_once(name):
    tell(name)


async def main():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    tasks = [asyncio.create_task(sleeps("sleeps", 2 * SPAN), name="sleeps"),
             asyncio.create_task(receives("receives", future), name="receives"),
             asyncio.create_task(gives("gives", future), name="gives"),
             asyncio.create_task(burns("burns", 10), name="burns"),
             asyncio.create_task(asks_a_thread("asks"), name="asks")]
    cancelled = asyncio.create_task(is_cancelled("cancelled"), name="cancelled")
    tasks.append(asyncio.create_task(joins("joins", tasks[0]), name="joins"))
    if "wait" in sys.argv:
        await asyncio.sleep(0)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
    if hasattr(asyncio, "eager_task_factory"):
        for name, coroutine in (("eager", is_eager("eager")), ("brief", ends_at_once("brief"))):
            tasks.append(asyncio.Task(coroutine, loop=loop, name=name, eager_start=True))
    await asyncio.sleep(SPAN)
    cancelled.cancel()
    await asyncio.gather(*tasks)
    try:
        await cancelled
    except asyncio.CancelledError:
        pass


asyncio.run(main())
print(json.dumps(told))
