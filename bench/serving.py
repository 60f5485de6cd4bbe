# SPDX-License-Identifier: Apache-2.0
"""Servers in several languages (bench/servers), and the loads that keep them busy over loopback."""

import contextlib
import re
import socket
import subprocess
import time
from pathlib import Path

import lib

SERVERS = lib.ROOT / "bench/servers"
lib.PACKAGES.update({
    "go": "golang-go", "java": "openjdk-17-jre-headless", "javac": "openjdk-17-jdk-headless",
    "jcmd": "openjdk-17-jdk-headless", "jfr": "openjdk-17-jdk-headless", "luajit": "luajit",
    "lua5.4": "lua5.4", "node": "nodejs",
})
COMMANDS = ("ab", "go", "java", "javac", "luajit", "node", "python3", "redis-server", "redis-benchmark")
NGINX_LUA = Path("/usr/lib/nginx/modules/ngx_http_lua_module.so")
PYTHON = "/usr/bin/python3"  # Debian's: stripped, without frame pointers


class Server:
    """How one is built, started and loaded. The runtime is as the film's frames name it."""

    def __init__(self, name, runtime, port, about):
        self.name, self.runtime, self.port, self.about = name, runtime, port, about

    def build(self, folder):
        if self.name == "java":
            lib.output_of("javac", "-d", folder, SERVERS / "Web.java")
        elif self.name == "go":
            lib.output_of("go", "build", "-ldflags=-s -w", "-o", folder / "web-go",
                          SERVERS / "web.go", env={"HOME": str(folder), "PATH": "/usr/bin:/bin",
                                                   "GO111MODULE": "off"})
        elif self.name == "nginx" and NGINX_LUA.exists():
            text = (SERVERS / "nginx.conf").read_text()
            for word, value in (("FOLDER", folder), ("PORT", self.port),
                                ("SCRIPT", SERVERS / "work.lua"),
                                ("MODULES", NGINX_LUA.parent)):
                text = text.replace(word, str(value))
            (folder / "nginx.conf").write_text(text)

    def command(self, folder, for_perf=False):
        """for_perf: with what perf needs to walk and name JIT code."""
        java = ["-XX:+PreserveFramePointer"] if for_perf else []
        node = ["--perf-basic-prof", "--interpreted-frames-native-stack"] if for_perf else []
        return {
            "python": [PYTHON, "-B", SERVERS / "web.py", self.port],
            "java": ["java", *java, "-XX:+UseSerialGC", "-Xmx256m", "-cp", folder, "Web",
                     self.port],
            "go": [folder / "web-go", self.port],
            "node": ["env", "-C", folder, "node", *node, SERVERS / "web.js", self.port],
            "luajit": ["luajit", SERVERS / "web.lua", self.port],
            "redis": ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", ""],
            "nginx": ["nginx", "-p", folder, "-c", folder / "nginx.conf", "-g", "daemon off;"],
        }[self.name]

    def client(self, requests=10**8):
        if self.name == "redis":
            script = (SERVERS / "work.lua").read_text()
            return ["redis-benchmark", "-p", self.port, "-c", 4, "-q", "-n", requests,
                    "eval", script, 0]
        return ["ab", "-q", "-k", "-c", 4, "-t", 100000, "-n", requests,
                f"http://127.0.0.1:{self.port}/"]

    def pids(self, started):
        """The process that answers: nginx has workers."""
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
        return [int(pid) for pid in children] if self.name == "nginx" else [started.pid]


ALL = {server.name: server for server in (
    Server("python", "python", 18201, "Flask on werkzeug's threads, Debian's python3"),
    Server("java", "java", 18202, "com.sun.net.httpserver"),
    Server("go", "go", 18203, "net/http, built with -s -w"),
    Server("node", "node", 18204, "http"),
    Server("redis", "lua", 18205, "EVAL in Redis (Lua 5.1)"),
    Server("luajit", "luajit", 18207, "LuaSocket in LuaJIT"),
    Server("nginx", "luajit", 18206, "content_by_lua in nginx (LuaJIT)"),
)}


def chosen_servers(words):
    """The servers that were asked for; "" means all, and nginx only where its module is."""
    default = [server for server in ALL.values() if server.name != "nginx" or NGINX_LUA.exists()]
    wanted = [ALL[name] for name in words.split(",")] if words else default
    names = {server.name for server in wanted}
    missing = set()
    if "python" in names and not works(PYTHON, "-c", "import flask"):
        missing.add("python3-flask")
    if "luajit" in names and not works("luajit", "-e", "require('socket')"):
        missing.add("lua-socket")
    if "nginx" in names and not NGINX_LUA.exists():
        missing.add("libnginx-mod-http-lua (in place of luajit)")
    if missing:
        lib.fail("missing packages: apt-get install " + " ".join(sorted(missing)))
    return wanted


def works(*command):
    return not subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode


def wait_for_port(port, process, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.05)
    lib.fail(f"{process.args[0]} does not answer at port {port}")


@contextlib.contextmanager
def serving(servers, folder, for_perf=False, warm=4):
    """Runs servers with their loads; yields name to pids once they have worked for warm seconds."""
    with contextlib.ExitStack() as stack:
        pids = {}
        for server in servers:
            home = folder / server.name
            if not home.exists():
                home.mkdir()
                server.build(home)
            started = stack.enter_context(lib.running(server.command(home, for_perf)))
            wait_for_port(server.port, started[0])
            pids[server.name] = server.pids(started[0])
        for server in servers:
            stack.enter_context(lib.running(server.client()))
        time.sleep(warm)
        yield pids


NAMELESS = re.compile(r"\[unknown|\+0x[0-9a-f]+$")


def folded(chosen, film, *options):
    """(frames, root first; value) of each stack of a film."""
    for line in lib.output_of(chosen.stackcam, "report", "--format", "folded", *options,
                              film).splitlines():
        frames, _, value = line.rpartition(" ")
        yield frames.split(";"), int(value)
