# SPDX-License-Identifier: Apache-2.0
"""For which request a task of an event loop of Python makes another one: right, or not known."""

import importlib.util
import sys
from collections import Counter

import pytest

from harness import needs_root, of_pyenv, spare_versions
from test_requests import CLIENT, of_process, requests_of, serving  # noqa: F401 (a fixture)
from test_requests_loops import WANTED, behind_server, links

pytestmark = needs_root

# Frames of 3.8 and 3.12 are as those of 3.9, 3.10 and 3.11.
spare = spare_versions("version", ["3.9", "3.10"], [])

# By asyncio's own streams. What a task does is named by the second argument; it puts half of it off by a timer.
STREAMS = """
import asyncio, random, sys
port, behind, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
orders = asyncio.Queue() if sys.version_info >= (3, 10) else None

async def may_be_later():
    await asyncio.sleep(random.random() * 0.02 if random.random() < 0.5 else 0)

async def ask(down, path):
    down[1].write(b"GET /down%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % path)
    await down[0].read(65536)

# What is no coroutine calls one, as adapters of libraries do.
def by_hand(down, path):
    async def write():
        down[1].write(b"GET /down%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % path)
    try:
        write().send(None)
    except StopIteration:
        pass

def answer(writer, path):
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(path), path))

# It asks for others, and in "answering" and "pairs" it answers for them, too.
async def worker():
    down = await asyncio.open_connection("127.0.0.1", behind)
    while True:
        some = [await orders.get() for _ in range(2 if way == "pairs" else 1)]
        for path, _, _ in some:
            await ask(down, path)
            await may_be_later()
        for path, writer, done in some:
            if way != "workers":
                answer(writer, path)
            done.set_result(None)

async def background(path):
    down = await asyncio.open_connection("127.0.0.1", behind)
    await may_be_later()
    await ask(down, b"/later" + path)
    down[1].close()

async def serve(reader, writer):
    down = await asyncio.open_connection("127.0.0.1", behind)
    while True:
        head = await reader.read(65536)
        if not head:
            break
        path = head.split(b" ")[1]
        await may_be_later()
        if way in ("workers", "answering", "pairs"):
            done = asyncio.get_running_loop().create_future()
            await orders.put((path, writer, done))
            await done
        elif way == "child":
            await asyncio.gather(ask(down, path))
        elif way == "by-hand":
            by_hand(down, path)
            await down[0].read(65536)
        else:
            await ask(down, path)
        if way == "background":
            asyncio.ensure_future(background(path))
        await may_be_later()
        if way not in ("answering", "pairs"):
            answer(writer, path)
        await writer.drain()
    down[1].close()
    writer.close()

async def main():
    workers = [asyncio.ensure_future(worker()) for _ in range(8) if orders]
    await (await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024)).serve_forever()

asyncio.run(main())
"""

AIOHTTP = """
import asyncio, random, sys
from aiohttp import web, ClientSession, TCPConnector

async def handle(request):
    await asyncio.sleep(random.random() * 0.02)
    async with request.app["session"].get("http://127.0.0.1:%s/down%s" % (sys.argv[2], request.path)) as response:
        await response.text()
    await asyncio.sleep(random.random() * 0.02)
    return web.Response(text=request.path)

async def start(app):
    app["session"] = ClientSession(connector=TCPConnector(limit=0))

app = web.Application()
app.on_startup.append(start)
app.router.add_get("/{tail:.*}", handle)
if sys.argv[3:] == ["uvloop"]:
    import uvloop
    uvloop.install()
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None, backlog=1024)
"""

UVICORN = """
import asyncio, random, sys
import httpx, uvicorn

client = None

async def app(scope, receive, send):
    global client
    client = client or httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60)
    await client.get("http://127.0.0.1:%s/down%s" % (sys.argv[2], scope["path"]))
    await asyncio.sleep(random.random() * 0.02)
    body = scope["path"].encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", loop=(sys.argv[3:] or ["asyncio"])[0], http="h11", lifespan="off",
            backlog=1024)
"""


def of_python(program, *words, python="/usr/bin/python3"):
    def command(folder, port, behind):
        return [python, "-c", program, str(port), str(behind), *words]
    return command


def has_modules(*names):
    for name in names:
        if not importlib.util.find_spec(name):
            pytest.skip(f"{name} is missing")


def links_of(lab, serving, command):
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(command, behind=behind)
    return links(lab, server, port)


def assert_by_task(right):
    """While it serves just one, its thread shows for which it asks: of the first of a round, if the client stops behind that."""
    by = [r["parent_by"] for r in right]
    assert set(by) <= {"task", "thread"} and by.count("task") >= 0.9 * len(by), Counter(by)


@pytest.mark.parametrize("version", ["debian", "3.8", "3.9", "3.10", "3.12", "3.13"])
def test_streams(lab, serving, version):
    python = "/usr/bin/python3" if version == "debian" else of_pyenv(version)
    right, wrong = links_of(lab, serving, of_python(STREAMS, "direct", python=python))
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert_by_task(right)


@pytest.mark.parametrize(["program", "modules"], [(AIOHTTP, ["aiohttp"]), (UVICORN, ["uvicorn", "httpx", "h11"])],
                         ids=["aiohttp", "uvicorn"])
def test_frameworks(lab, serving, program, modules):
    """One has a task for each connection, which requests wake; the other one makes a task of each request."""
    has_modules(*modules)
    right, wrong = links_of(lab, serving, of_python(program))
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert_by_task(right)


@pytest.mark.parametrize("way", ["child", "workers", "answering", "pairs", "by-hand"])
def test_tasks_of_another_kind_are_not_guessed_at(lab, serving, way):
    """Which task made another one is not seen, nor what its workers have to do, nor which coroutine is called by hand."""
    _, wrong = links_of(lab, serving, of_python(STREAMS, way))
    assert not wrong, wrong


@pytest.mark.parametrize(["program", "modules"], [(AIOHTTP, ["aiohttp"]), (UVICORN, ["uvicorn", "httpx", "h11"])],
                         ids=["aiohttp", "uvicorn"])
def test_uvloop(lab, serving, program, modules):
    """It sends what its tasks have written at the end of a turn, when no task runs."""
    has_modules("uvloop", *modules)
    right, wrong = links_of(lab, serving, of_python(program, "uvloop"))
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert_by_task(right)


def test_what_goes_on_behind_an_answer_is_of_none(lab, serving):
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(of_python(STREAMS, "background"), behind=behind)
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, 100, 3)
    made = of_process(requests_of(lab, film), server, "made")
    served = {r["number"]: r for r in of_process(requests_of(lab, film), server)}
    later = [r for r in made if r["path"].startswith("/down/later")]
    own = [r for r in made if r["path"].startswith("/down/mark-")]
    assert len(own) == 300 and len(later) > 200, (len(own), len(later))
    assert all(r["parent"] and "/down" + served[r["parent"]]["path"] == r["path"] for r in own)
    # at the end, the loop serves none or just one
    wrong = [r["path"] for r in later if r["parent"] and r["parent_by"] == "task"]
    assert not wrong, wrong
