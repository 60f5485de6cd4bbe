# SPDX-License-Identifier: Apache-2.0
"""For which request an event loop makes another one, where it serves many at once and no id tells: right, or not known."""

import shutil
import subprocess
import sys

import pytest

from harness import needs_root
from test_requests import CLIENT, nginx_server, requests_of, serving  # noqa: F401 (a fixture)

pytestmark = needs_root

CONNECTIONS, ROUNDS = 150, 3
WANTED = CONNECTIONS * ROUNDS

# It answers later, in another order than it was asked.
BEHIND = """
import asyncio, random, sys
async def serve(reader, writer):
    while head := await reader.read(65536):
        while not head.endswith(b"\\r\\n\\r\\n"):
            head += await reader.read(65536)
        await asyncio.sleep(random.random() * 0.02)
        path = head.split(b" ")[1]
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(path), path))
        await writer.drain()
    writer.close()
async def main():
    await (await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1024)).serve_forever()
asyncio.run(main())
"""

# "direct" does each thing as soon as it can; "later" often puts it off by timers; a "queue" has few connections behind.
NODE = """
const http = require("http"), [port, behind, way] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: way == "direct" ? 500 : 8 });
const may_be_later = (what) => way == "later" && Math.random() < 0.5 ? setTimeout(what, Math.random() * 30) : what();
http.createServer((request, response) => may_be_later(() => {
    http.get({ port: behind, host: "127.0.0.1", path: "/down" + request.url, agent }, (down) => {
        down.resume();
        down.on("end", () => may_be_later(() => response.end(request.url)));
    });
})).listen(port, "127.0.0.1", 1024);
"""

LATER = """
import asyncio, random, sys
async def serve(reader, writer):
    down_reader, down = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    while head := await reader.read(65536):
        path = head.split(b" ")[1]
        await asyncio.sleep(random.random() * 0.02 if random.random() < 0.5 else 0)
        down.write(b"GET /down%s HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" % path)
        await down_reader.read(65536)
        await asyncio.sleep(random.random() * 0.02 if random.random() < 0.5 else 0)
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(path), path))
        await writer.drain()
    down.close()
    writer.close()
async def main():
    await (await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=1024)).serve_forever()
asyncio.run(main())
"""

GO = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 500
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		down, err := http.Get("http://127.0.0.1:" + os.Args[2] + "/down" + r.URL.Path)
		if err != nil {
			panic(err)
		}
		io.ReadAll(down.Body)
		down.Body.Close()
		fmt.Fprint(w, r.URL.Path)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
"""

PASS = 'proxy_pass http://behind/down$request_uri; proxy_http_version 1.1; proxy_set_header X-Request-Id "";'
KEPT = PASS + 'proxy_set_header Connection "";'


def behind_server(folder, port):
    return [sys.executable, "-c", BEHIND, str(port)]


def node_server(folder, port, behind, way):
    (folder / "server.js").write_text(NODE)
    return [shutil.which("node") or pytest.skip("node is missing"), str(folder / "server.js"), str(port), str(behind), way]


def later_server(folder, port, behind):
    return [sys.executable, "-c", LATER, str(port), str(behind)]


def go_server(folder, port, behind):
    go = shutil.which("go") or pytest.skip("go is missing")
    (folder / "server.go").write_text(GO)
    subprocess.run([go, "build", "-o", "server", "server.go"], cwd=folder, check=True,
                   env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "GOCACHE": str(folder / "cache")})
    return [str(folder / "server"), str(port), str(behind)]


def links(lab, port, has_goroutines=False):
    """Of the requests that the server makes for others: those right, the others with what each was said to be for."""
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, CONNECTIONS, ROUNDS)
    answer = requests_of(lab, film)
    served = {r["number"]: r for r in answer["requests"] if r["role"] == "served" and r["path"].startswith("/mark-")}
    made = [r for r in answer["requests"] if r["role"] == "made" and r["path"].startswith("/down/mark-")]
    assert len(served) == len(made) == WANTED, (len(served), len(made), answer["loss"])
    unknown = sum(count for reason, count in answer["loss"].items() if "for which is not known" in reason)
    none = sum(r["parent"] is None for r in made)
    # of goroutines, those alone are counted whose thread had read a request that was open then
    assert unknown == none or has_goroutines and 0 < unknown < none, (unknown, none, answer["loss"])
    right = [r for r in made if r["parent"] and "/down" + served[r["parent"]]["path"] == r["path"]]
    wrong = [(served[r["parent"]]["path"], r["path"], r["parent_by"]) for r in made if r["parent"] and r not in right]
    return right, wrong


@pytest.mark.parametrize("what", [KEPT, PASS, KEPT + "limit_req zone=slow burst=1000;"], ids=["kept", "opened", "delayed"])
def test_a_proxy(lab, serving, what):
    _, behind, _ = serving(behind_server)
    proxy, port, folder = serving(lambda folder, port: limited(folder, nginx_server(folder, port, what, behind)))
    right, wrong = links(lab, port)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert sum(r["parent_by"] == "order" for r in right) >= 0.8 * WANTED


def limited(folder, command):
    """nginx lets requests wait for a timer."""
    conf = folder / "nginx.conf"
    conf.write_text(conf.read_text().replace("http {", "http { limit_req_zone $server_name zone=slow:1m rate=500r/s;"))
    return command


def test_node(lab, serving):
    _, behind, _ = serving(behind_server)
    _, port, _ = serving(node_server, behind=behind, way="direct")
    right, wrong = links(lab, port)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)


def test_goroutines_are_not_guessed_at(lab, serving):
    """Which one a thread runs after another one says nothing of what they do."""
    _, behind, _ = serving(behind_server)
    _, port, _ = serving(go_server, behind=behind)
    _, wrong = links(lab, port, has_goroutines=True)
    assert not wrong, wrong


@pytest.mark.parametrize("way", ["later", "queue", "asyncio"])
def test_a_loop_that_puts_its_work_off_is_not_guessed_at(lab, serving, way):
    _, behind, _ = serving(behind_server)
    _, port, _ = serving(later_server, behind=behind) if way == "asyncio" else serving(node_server, behind=behind, way=way)
    _, wrong = links(lab, port)
    assert not wrong, wrong
