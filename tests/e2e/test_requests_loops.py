# SPDX-License-Identifier: Apache-2.0
"""For which request an event loop makes another one, where it serves many at once and no id tells: right, or not known."""

import shutil
import sys

import pytest

from harness import go_built, needs_root
from test_requests import CLIENT, nginx_server, of_process, requests_of, serving  # noqa: F401 (a fixture)

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

# It closes each connection behind its answer, as servers do that are asked over HTTP/1.0.
CLOSES = BEHIND.replace("        await writer.drain()\n", "        await writer.drain()\n        break\n")
CLOSES = CLOSES.replace("Content-Length:", "Connection: close\\r\\nContent-Length:")  # else the proxy may ask once more as it closes

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

GO = """
package main

import (
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"
)

type order struct {
	path string
	done chan bool
}

func ask(path string) bool {
	down, err := http.Get("http://127.0.0.1:" + os.Args[2] + "/down" + path)
	if err != nil {
		panic(err)
	}
	io.ReadAll(down.Body)
	down.Body.Close()
	return true
}

func mayBeLater() {
	if rand.Intn(2) == 0 {
		time.Sleep(time.Duration(rand.Intn(20)) * time.Millisecond)
	}
}

func main() {
	way, orders := os.Args[3], make(chan order)
	transport := http.DefaultTransport.(*http.Transport)
	transport.MaxIdleConnsPerHost = 500
	if way == "few" {
		transport.MaxConnsPerHost = 8
	} else if way == "opened" {
		transport.DisableKeepAlives = true
	}
	for i := 0; i < 8; i++ {
		go func() {
			for o := range orders {
				o.done <- ask(o.path)
			}
		}()
	}
	behind, _ := url.Parse("http://127.0.0.1:" + os.Args[2] + "/down")
	proxy := httputil.NewSingleHostReverseProxy(behind)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if way == "renamed" {
			os.WriteFile("/proc/self/comm", []byte("renamed"), 0)
		}
		if way == "proxy" {
			r.Header.Del("X-Request-Id")
			proxy.ServeHTTP(w, r)
			return
		}
		if way == "later" {
			mayBeLater()
		}
		if way == "workers" {
			o := order{r.URL.Path, make(chan bool)}
			orders <- o
			<-o.done
		} else if way == "child" {
			done := make(chan bool)
			go func() { done <- ask(r.URL.Path) }()
			<-done
		} else {
			ask(r.URL.Path)
		}
		if way == "later" {
			mayBeLater()
		}
		fmt.Fprint(w, r.URL.Path)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	panic(http.Serve(listener, nil))
}
"""

PASS = 'proxy_pass http://behind/down$request_uri; proxy_http_version 1.1; proxy_set_header X-Request-Id "";'
KEPT = PASS + 'proxy_set_header Connection "";'


def behind_server(folder, port):
    return [sys.executable, "-c", BEHIND, str(port)]


def node_server(folder, port, behind, way):
    (folder / "server.js").write_text(NODE)
    return [shutil.which("node") or pytest.skip("node is missing"), str(folder / "server.js"), str(port), str(behind), way]


def go_server(folder, port, behind, way):
    return [str(go_built(folder, "server", GO)), str(port), str(behind), way]


# Requests wait in it for one of few connections; it has no ids.
HAPROXY = """
global
  nbthread {threads}
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
  timeout queue 60s
listen all
  bind 127.0.0.1:{port}
  http-request del-header x-request-id
  server behind 127.0.0.1:{behind} maxconn 6
"""


def haproxy_server(folder, port, behind, threads):
    haproxy = shutil.which("haproxy", path="/usr/sbin:/usr/bin") or pytest.skip("haproxy is missing")
    (folder / "haproxy.cfg").write_text(HAPROXY.format(port=port, behind=behind, threads=threads))
    return [haproxy, "-db", "-f", str(folder / "haproxy.cfg")]


# All ask for the same. By the length of its answer, which the client chooses, each is known.
ALIKE = """
import socket, sys
port, connections, rounds = map(int, sys.argv[1:])
all_of_them = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
for turn in range(rounds):
    for i, connection in enumerate(all_of_them):
        connection.sendall(b"GET /mark-same HTTP/1.1\\r\\nHost: x\\r\\nX-Want: %d\\r\\n\\r\\n" % (1000 + turn * connections + i))
    for connection in all_of_them:
        data = b""
        while b"\\r\\n\\r\\n" not in data or len(data) < data.index(b"\\r\\n\\r\\n") + 4 + int(data.lower().split(b"length: ")[1].split(b"\\r")[0]):
            data += connection.recv(65536)
"""

WANTED_LENGTH = BEHIND.replace("path = head.split(b\" \")[1]",
                               "path = b'x' * int(head.lower().split(b'x-want: ')[1].split(b'\\r')[0])")


def links(lab, server, port, has_goroutines=False):
    """Of the requests that the server makes for others: those right, the others with what each was said to be for."""
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, CONNECTIONS, ROUNDS)
    answer = requests_of(lab, film)
    served = {r["number"]: r for r in of_process(answer, server) if r["path"].startswith("/mark-")}
    made = [r for r in of_process(answer, server, "made") if r["path"].startswith("/down/mark-")]
    assert len(served) == len(made) == WANTED, (len(served), len(made), answer["loss"])
    unknown = sum(count for reason, count in answer["loss"].items() if "for which is not known" in reason)
    none = sum(r["parent"] is None for r in made)
    # those of other programs that run meanwhile are counted, too; of goroutines, only those whose thread had read a request
    assert unknown >= none or has_goroutines, (unknown, none, answer["loss"])
    right = [r for r in made if r["parent"] and "/down" + served[r["parent"]]["path"] == r["path"]]
    wrong = [(served[r["parent"]]["path"], r["path"], r["parent_by"]) for r in made if r["parent"] and r not in right]
    return right, wrong


@pytest.mark.parametrize("what", [KEPT, PASS, KEPT + "limit_req zone=slow burst=1000;"], ids=["kept", "opened", "delayed"])
def test_a_proxy(lab, serving, what):
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(lambda folder, port: limited(folder, nginx_server(folder, port, what, behind)))
    right, wrong = links(lab, server, port)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert sum(r["parent_by"] == "order" for r in right) >= 0.8 * WANTED


def test_a_proxy_whose_connections_end_with_the_answer(lab, serving):
    """It reads up to the end of a connection, and sends the answer on only then."""
    _, behind, _ = serving(lambda folder, port: [sys.executable, "-c", CLOSES, str(port)])
    # a connection that the one behind was too busy to take is not tried again
    what = 'proxy_pass http://behind/down$request_uri; proxy_set_header X-Request-Id ""; proxy_next_upstream off;'
    server, port, _ = serving(lambda folder, port: nginx_server(folder, port, what, behind))
    right, wrong = links(lab, server, port)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)


def limited(folder, command):
    """nginx lets requests wait for a timer."""
    conf = folder / "nginx.conf"
    conf.write_text(conf.read_text().replace("http {", "http { limit_req_zone $server_name zone=slow:1m rate=500r/s;"))
    return command


@pytest.mark.parametrize("threads", [1, 3])
def test_a_proxy_with_a_queue(lab, serving, threads):
    """What it sends next has waited there since long before: what both say tells."""
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(haproxy_server, behind=behind, threads=threads)
    film = lab.record("-e", "requests", "-a", "--", sys.executable, CLIENT, port, CONNECTIONS, ROUNDS)
    served, made = both_of(requests_of(lab, film), server, WANTED)
    right = [r for r in made if r["parent"] and served[r["parent"]]["path"] == r["path"]]
    assert not [r for r in made if r["parent"] and r not in right]
    assert len(right) >= 0.95 * WANTED, len(right)


def both_of(answer, server, count):
    served = {r["number"]: r for r in of_process(answer, server)}
    made = of_process(answer, server, "made")
    assert len(served) == len(made) == count, (len(served), len(made), answer["loss"])
    return served, made


@pytest.mark.parametrize("threads", [1, 3])
def test_a_proxy_whose_requests_are_alike(lab, serving, threads):
    """Which one of those that wait it sends next is not known before their answers come; then most are."""
    _, behind, _ = serving(lambda folder, port: [sys.executable, "-c", WANTED_LENGTH, str(port)])
    server, port, _ = serving(haproxy_server, behind=behind, threads=threads)
    film = lab.record("-e", "requests", "-a", "--", sys.executable, "-c", ALIKE, port, 40, 12)
    served, made = both_of(requests_of(lab, film), server, 480)
    wrong = [r for r in made if r["parent"] and served[r["parent"]]["sent"] != r["received"]]
    assert not wrong, [(served[r["parent"]]["sent"], r["received"], r["parent_by"]) for r in wrong]
    assert sum(r["parent"] is not None for r in made) >= 0.5 * 480, made[:20]


def test_node(lab, serving):
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(node_server, behind=behind, way="direct")
    right, wrong = links(lab, server, port)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)


@pytest.mark.parametrize("way", ["direct", "opened", "few", "later", "proxy", "renamed"])
def test_goroutines(lab, serving, way):
    """One serves a request, on whichever threads; net/http has others that write what it asks."""
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(go_server, behind=behind, way=way)
    right, wrong = links(lab, server, port, has_goroutines=True)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert {r["parent_by"] for r in right} == {"goroutine"}


def test_what_a_goroutine_asks_that_a_handler_started(lab, serving):
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(go_server, behind=behind, way="child")
    right, wrong = links(lab, server, port, has_goroutines=True)
    assert not wrong and len(right) >= 0.9 * WANTED, (len(right), wrong)
    assert {r["parent_by"] for r in right} == {"start"}


def test_other_goroutines_are_not_guessed_at(lab, serving):
    """Which one a thread runs after another one says nothing of what they do."""
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(go_server, behind=behind, way="workers")
    right, wrong = links(lab, server, port, has_goroutines=True)
    assert not wrong and not right, (len(right), wrong)


@pytest.mark.parametrize("way", ["later", "queue"])
def test_a_loop_that_puts_its_work_off_is_not_guessed_at(lab, serving, way):
    _, behind, _ = serving(behind_server)
    server, port, _ = serving(node_server, behind=behind, way=way)
    _, wrong = links(lab, server, port)
    assert not wrong, wrong
