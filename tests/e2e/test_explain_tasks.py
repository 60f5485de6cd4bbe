# SPDX-License-Identifier: Apache-2.0
"""
Why a request of a server of asyncio was slow: through the lock that another task held, although one thread ran both, and
through the event loop to the thread of an executor that worked for it.
"""

import importlib.util
import json

import pytest

from harness import needs_root

pytestmark = needs_root

HOLDS = 0.05

# The first request of a connection that has the lock keeps it for HOLDS; three connections ask at the same time.
SERVER = """
import asyncio, sys
holds, clients, requests = float(sys.argv[1]), 3, 3

async def handle(reader, writer):
    for _ in range(requests):
        await reader.readuntil(b"\\r\\n\\r\\n")
        async with lock:
            await asyncio.sleep(holds)
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
        await writer.drain()
    writer.close()

async def main():
    global lock
    lock = asyncio.Lock()
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = await asyncio.create_subprocess_exec(sys.argv[2], "-c", sys.argv[3], str(port), str(clients), str(requests))
    await client.wait()

asyncio.run(main())
"""

CLIENT = """
import asyncio, sys
port, clients, requests = map(int, sys.argv[1:])

async def ask():
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(requests):
        writer.write(b"GET /locked HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        await reader.readuntil(b"ok")
    writer.close()

async def main():
    await asyncio.gather(*[ask() for _ in range(clients)])

asyncio.run(main())
"""


# It sends what a task has written at the end of a turn, when no task runs: the task is known once the process is, within seconds.
UVLOOP = SERVER.replace("asyncio.run(main())", "import uvloop\nuvloop.install()\nasyncio.run(main())").replace("3, 3", "3, 30")


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def film(shared_lab, request):
    if request.param == "uvloop" and not importlib.util.find_spec("uvloop"):
        pytest.skip("uvloop is missing")
    python = "/usr/bin/python3"
    server = UVLOOP if request.param == "uvloop" else SERVER
    return shared_lab.record("-e", "requests,threads,task-lanes", "--", python, "-c", server, HOLDS, python, CLIENT)


def is_of_uvloop(film):
    return "import uvloop" in film.json("-e", "requests")["film"]["command"]


def test_a_request_leads_through_the_tasks_that_held_the_lock(film, lab):
    answer = json.loads(lab.run("explain", "--format", "json", "--slowest", "90", "--endpoint", "GET /locked", film.path).stdout)
    linked = [request for request in answer["requests"] if not request["not_linked"]]
    assert len(linked) >= len(answer["requests"]) * (0.3 if is_of_uvloop(film) else 1), len(linked)
    slowest = max(linked, key=lambda request: request["duration"])
    assert slowest["comm"].endswith(" handle") and slowest["duration"] >= 2.5 * HOLDS * 10**9, slowest
    assert sum(part["duration"] for part in slowest["parts"]) == slowest["duration"]
    first = max(slowest["parts"], key=lambda part: part["duration"])
    # one of two others that stood before it
    assert first["duration"] >= 1.5 * HOLDS * 10**9 and first["words"].startswith("waiting for a future"), first
    assert first["waker"]["comm"].endswith(" handle") and first["waker"]["comm"] != slowest["comm"], first
    assert first["parts"] and sum(part["duration"] for part in first["parts"]) == first["duration"], first


def test_the_words_name_tasks_without_numbers(film, lab):
    words = lab.run("explain", "--slowest", "90", "--endpoint", "GET /locked", film.path).stdout
    assert " handle of python3, endpoint GET /locked" in words, words
    assert "waiting for a future, ended by Task-" in words and " handle, which spent" in words, words


def test_requests_are_of_tasks_in_the_report(film):
    report = film.report("-e", "task-lanes", "--by", "endpoint").stdout
    assert "GET /locked" in report, report
    assert is_of_uvloop(film) or "not linked" not in report, report


# Each request has an executor's thread work for HOLDS; meanwhile the loop wakes for a task that has nothing to do with it.
EXECUTOR = SERVER.replace("        async with lock:\n            await asyncio.sleep(holds)\n",
                          "        await asyncio.get_running_loop().run_in_executor(None, look_up)\n")
EXECUTOR = EXECUTOR.replace("async def main():", """
def look_up():
    time.sleep(holds)

async def tick():
    while True:
        await asyncio.sleep(holds / 3)

async def main():
    ticks = asyncio.create_task(tick())""").replace("import asyncio, sys", "import asyncio, sys, time")


def passed_on(parts):
    for part in parts:
        if "woke the event loop" in part["words"]:
            yield part
        yield from passed_on(part["parts"])


def test_a_request_leads_through_the_loop_to_the_thread_of_the_executor(shared_lab):
    python = "/usr/bin/python3"
    film = shared_lab.record("-e", "requests,threads,task-lanes", "--", python, "-c", EXECUTOR, HOLDS, python, CLIENT)
    answer = json.loads(shared_lab.run("explain", "--format", "json", "--endpoint", "GET /locked", "--slowest", "9", film.path).stdout)
    # a turn of the loop that the clock began may take a result, too: not of all is it known
    parts = [part for request in answer["requests"] for part in passed_on(request["parts"])]
    longest = max(parts, key=lambda part: part["duration"])
    assert longest["likely"] and longest["duration"] >= .9 * HOLDS * 10**9, longest
    assert sum(inner["duration"] for inner in longest["parts"]) == longest["duration"], longest
    slept = [inner for inner in longest["parts"] if inner["kind"] == "sleep"]
    assert slept and slept[0]["duration"] >= .9 * HOLDS * 10**9 and "in look_up" in slept[0]["words"], longest
