# SPDX-License-Identifier: Apache-2.0
"""
Lua 5.1 to 5.5 and LuaJIT, compiled and interpreted: functions in whole stacks, with names, files and lines; and
servers that embed them: redis (linked in), nginx (a library).

Some come from newer suites of Debian. More interpreters can be named in STACKCAM_LUAS, separated by colons.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import urllib.request
from pathlib import Path

import pytest

import suites
from harness import (GAP, LUA, PATIENCE, chance, free_port, is_walked, needs_root, running, spare_versions,
                     unpack_packages, wait_until)

pytestmark = needs_root

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PROGRAM, INLINED, BLIND = (PROGRAMS / name for name in ("lua_truth.lua", "inlined.lua", "blind.lua"))
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Suites of Debian, and what is taken from them.
NEWER = {"forky": ("lua5.5", "liblua5.5-0"), "trixie": ("lua5.3", "lua5.4")}
# An interpreter, or a library for lua_host and its last argument; a suite before it, if it is of another one.
LUAS = ["lua5.1", "lua5.2", "lua5.3", "lua5.4", "liblua5.1.so.0", "liblua5.4.so.0", "libluajit-5.1.so.2",
        "libluajit-5.1.so.2 off", "forky lua5.5", "forky liblua5.5.so.0", "trixie lua5.3",
        *filter(None, os.environ.get("STACKCAM_LUAS", "").split(":"))]

BY_SORTING = f"function <{BLIND}:33>"  # the comparison of table.sort()
BELOW = ("main chunk", "main_loop", "mode")


def line_of(text):
    return next(n for n, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line)


def unnamed(text):
    """What a function without a name is called: by where it is."""
    return f"function <{PROGRAM}:{line_of(text)}>"


spare = spare_versions("lua", ("lua5.2", "lua5.3", "liblua5"), ("test_shares", "test_files_and_lines"))


@pytest.fixture(scope="module", params=LUAS)
def lua(request, shared_lab):
    """The words that start an interpreter, or those around the program's name for a library."""
    words = request.param.split()
    if words[0] in NEWER:
        if words[0] == "trixie" and "STACKCAM_EVERY_VERSION" not in os.environ:
            pytest.skip("as in other versions; STACKCAM_EVERY_VERSION=1 tests all")
        root = suites.unpacked(shared_lab.suites, words[0], *NEWER[words[0]])
        host = [shared_lab.program("lua_host")] if words[1].startswith("lib") else []
        return suites.inside(root, *host, *words[1:], also=[shared_lab.programs])
    if words[0].startswith("lib"):
        if not (LIBRARIES / words[0]).exists():
            pytest.skip(f"there is no {words[0]}")
    elif not shutil.which(words[0]):
        pytest.skip(f"there is no {words[0]}")
    if not is_walked(words[0]):
        pytest.skip(f"frames of this {words[0]} are not looked for")
    return words


def is_compiled(lua):
    return "luajit" in lua[0] and len(lua) == 1


def film(lab, lua, mode, seconds=1):
    if lua[0].startswith("lib"):
        command = [lab.program("lua_host"), lua[0], PROGRAM, mode, *lua[1:]]
    else:
        command = [*lua, PROGRAM, mode]
    with running(*command) as program:
        return lab.record("-d", seconds, "-p", program.pid)


def of_program(film, *options):
    """Stacks as functions of the program alone, with their part of the time; without those that came too early."""
    names = {function["name"] for function in film.json()["functions"]
             if function["image"] == str(PROGRAM)}
    stacks = [([frame for frame in stack if frame in names], value)
              for stack, value in film.folded(*options) if not stack[0].startswith("[truncated")]
    total = sum(value for _, value in stacks)
    return [(stack, value / total) for stack, value in stacks]


def share(stacks, *chain):
    """The part of the time in stacks that begin with these functions."""
    return sum(part for stack, part in stacks if tuple(stack[:len(chain)]) == chain)


@pytest.fixture(scope="module")
def split(shared_lab, lua):
    return film(shared_lab, lua, "split", seconds=1.5)


def test_shares(split):
    split.assert_whole()
    assert not split.json()["loss"], split.explain()
    stacks = of_program(split)
    for name, part in (("seventy", 0.7), ("twenty", 0.2), ("ten", 0.1)):
        assert split.near(share(stacks, *BELOW, name, "until_time"), part, 0.06), split.explain()
    assert share(stacks, *BELOW) >= 0.99, split.explain()


def test_files_and_lines(split, lua):
    functions = [function for function in split.json("--lines")["functions"]
                 if function["name"] == "spin"]
    total = sum(function["self"] for function in functions)
    assert all(function["file"] == str(PROGRAM) for function in functions)
    first = line_of("local function spin")
    lines = {function["line"]: function["self"] / total for function in functions}
    # of compiled code only the function is known
    wanted = {first} if is_compiled(lua) else {first + 2, first + 3}
    assert sum(part for line, part in lines.items() if line in wanted) >= 0.9, lines


def seen_by_luajit(mode):
    """The share of each function, 0 to 1, in one second of LuaJIT's own profiler."""
    own = subprocess.run(["luajit", "-jp=fm0i1", INLINED, mode, "1"], capture_output=True, text=True, check=True)
    truth = {name: int(part) / 100 for part, name in re.findall(r"^ *(\d+)% +(\S+)$", own.stdout, re.MULTILINE)}
    assert truth, own.stdout
    return truth


@pytest.mark.parametrize("mode", ["loops", "small", "deep", "operator"])
def test_inlined_functions(lab, mode):
    """Functions in compiled code have the shares that LuaJIT's own profiler sees, which differ from run to run."""
    if not shutil.which("luajit"):
        pytest.skip("there is no luajit")
    truths = [seen_by_luajit(mode) for _ in range(3)]
    with running("luajit", INLINED, mode, 60) as program:
        made = lab.record("-d", 1, "-p", program.pid, hz=999)
    made.assert_whole()
    shares = {function["name"]: function["self"] / made.json()["event"]["total"]
              for function in made.json()["functions"] if function["image"] == str(INLINED)}
    count = made.json()["stacks"]["samples"]
    for name in set().union(*truths):
        parts = [truth.get(name, 0) for truth in truths]
        part = min(max(shares.get(name, 0), min(parts)), max(parts))
        allowed = max(0.08, chance(part, count, 1000, errors=4))
        assert abs(shares.get(name, 0) - part) <= allowed, (name, truths, shares, made.explain())


def test_recursion(lab, lua):
    deep = film(lab, lua, "deep")
    deep.assert_whole()
    assert share(of_program(deep), *BELOW, *["dive"] * 501, "until_time") >= 0.99, deep.explain()


def test_coroutines(lab, lua):
    """A coroutine has a stack of its own, which stands above that of who has resumed it."""
    coroutines = film(lab, lua, "coroutines")
    coroutines.assert_whole()
    stacks = of_program(coroutines)
    inside = unnamed("local function inside_coroutine")
    assert share(stacks, *BELOW, "resume_some", inside, "until_time") >= 0.98, coroutines.explain()


def test_callbacks(lab, lua):
    callbacks = film(lab, lua, "callbacks")
    callbacks.assert_whole()
    stacks = of_program(callbacks)
    sort = share(stacks, *BELOW, "sort_some", unnamed("local function compare"), "spin")
    gsub = share(stacks, *BELOW, "gsub_some", unnamed("local function replace"), "spin")
    assert sort >= 0.5 and gsub >= 0.08 and sort + gsub >= 0.85, callbacks.explain()


def test_metamethods(lab, lua):
    metamethods = film(lab, lua, "metamethods")
    metamethods.assert_whole()
    stacks = of_program(metamethods)
    index = share(stacks, *BELOW, "use_metamethods", "__index")
    add = share(stacks, *BELOW, "use_metamethods", "__add")
    assert index >= 0.3 and add >= 0.3 and index + add >= 0.9, metamethods.explain()


def test_errors(lab, lua):
    """Errors that fly through twenty functions, with a handler that is called where they were raised."""
    errors = film(lab, lua, "errors")
    errors.assert_whole(0.98)
    stacks = of_program(errors)
    guarded = unnamed("local function guarded")
    assert share(stacks, *BELOW, guarded, *["fail"] * 21) >= 0.8, errors.explain()
    handler = share(stacks, *BELOW, guarded, *["fail"] * 21, unnamed("local function handler"))
    assert handler >= 0.1, errors.explain()


def test_garbage(lab, lua):
    """Many objects, and functions that are gone when they are named: those have no name, never a wrong one."""
    garbage = film(lab, lua, "garbage")
    # Lua 5.1 keeps its state in another register while it makes a closure
    garbage.assert_whole(0.9 if "5.1" in lua[0] and "jit" not in lua[0] else 0.98)
    assert share(of_program(garbage), *BELOW, "collect") >= 0.8, garbage.explain()


@pytest.mark.parametrize("interpreter, how", [
    ("lua5.1", "module"), ("lua5.2", "module"), ("lua5.3", "module"), ("lua5.4", "module"), ("luajit", "module"),
    ("luajit", "ffi"), ("luajit", "interpreted"),
])
def test_native_code_without_unwind_information(lab, interpreter, how):
    """Its callers in C are not known, but those in Lua are: also in a coroutine, and across functions in C."""
    if not shutil.which(interpreter):
        pytest.skip(f"there is no {interpreter}")
    if not is_walked(interpreter):
        pytest.skip(f"frames of this {interpreter} are not looked for")
    folder = Path(lab.program("libblind.so" if how != "module" else "blind_lua.so")).parent
    with running(interpreter, BLIND, how, 60, folder) as program:
        film = lab.record("-d", 2, "-p", program.pid)
    stacks = film.json()["stacks"]
    assert stacks["complete"] >= 0.99 * stacks["samples"] and stacks["gaps"] >= 0.9 * stacks["samples"], film.explain()
    blind = film.share(lambda stack: GAP in stack)
    # what a trace has inlined counts for where its code has begun
    chain = (BY_SORTING,) if how == "ffi" else (BY_SORTING, "outer", "inner")
    assert film.share(lambda stack: GAP in stack and stack.has(*chain)) >= 0.99 * blind, film.explain()
    assert film.share(lambda stack: GAP in stack and "main chunk" in stack) >= 0.99 * blind, film.explain()


def test_a_short_command(lab, tmp_path):
    """A command is over before all of its files are read one after the other: they are read before it begins."""
    script = tmp_path / "short.lua"
    script.write_text("local function inner() local x = 0 for i = 1, 1000 do x = x + i * i end return x end\n"
                      "local begin = os.clock() while os.clock() - begin < 0.05 do inner() end\n")
    early = samples = 0
    for _ in range(5):
        stacks = lab.record("--", LUA, script, hz=999).json()["stacks"]
        early += stacks["reasons"].get("the language runtime was not known yet", 0)
        samples += stacks["samples"]
    # it was a quarter of them
    assert samples and early < 0.1 * samples, (early, samples)


def test_an_unknown_interpreter_is_refused(lab):
    """Debian 13's 5.4 keeps all that says where its functions are in registers that the walk does not follow."""
    words = ["lua5.4"]
    if is_walked("lua5.4"):
        if "STACKCAM_EVERY_VERSION" not in os.environ:
            pytest.skip("only with STACKCAM_EVERY_VERSION=1")
        words = suites.inside(suites.unpacked(lab.suites, "trixie", *NEWER["trixie"]), *words)
    made = film(lab, words, "split")
    assert any("Lua 5.4" in reason and reason.startswith("lua frames not looked for")
               for reason in made.json()["loss"]), made.explain()
    assert not any(function["kind"] == "lua" for function in made.json()["functions"])


@contextlib.contextmanager
def server(*command, port, **options):
    said = tempfile.TemporaryFile()
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=said, stderr=said, **options)

    def listens():
        if process.poll() is not None:
            said.seek(0)
            raise AssertionError(f"{command} ended: {said.read().decode(errors='replace')}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    try:
        assert wait_until(listens), f"{command} does not listen"
        yield process
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        said.close()


@contextlib.contextmanager
def asked(ask):
    """Asks again and again while the block runs."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            ask()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


REDIS_SCRIPT = """
local function hot(n) local x = 0 for i = 1, n do x = (x * 31 + i) % 65521 end return x end
local function render(t) local s = cjson.encode(t) return #s end
local total = hot(100000) for i = 1, 50 do total = total + render({i, i + 1}) redis.call("PING") end
return total
"""


def test_redis(lab, tmp_path):
    """Lua 5.1, linked into a stripped server."""
    # redis-server is the same program, of a package that would start it
    program = shutil.which("redis-check-rdb")
    if not program:
        pytest.skip("redis-tools is not installed")
    port = free_port()
    words = [b"EVAL", REDIS_SCRIPT.encode(), b"0"]
    request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
    with server("redis-server", "--port", port, "--save", "", "--dir", tmp_path, port=port,
                executable=program) as redis, \
            socket.create_connection(("127.0.0.1", port)) as connection:

        def ask():
            connection.sendall(request)
            assert connection.recv(100).startswith(b":")

        ask()
        with asked(ask):
            filmed = lab.record("-d", 2, "-p", redis.pid)
    filmed.assert_whole()
    assert filmed.share(lambda stack: stack.has("main chunk", "hot")) >= 0.5, filmed.explain()
    # the server's own functions stay beside those of Lua
    assert filmed.share(lambda stack: stack.has("processCommand", "call")) >= 0.8, filmed.explain()


NGINX_CONFIGURATION = """
load_module {folder}/usr/lib/nginx/modules/ndk_http_module.so;
load_module {folder}/usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; master_process off; user root;
pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
	access_log off;
	lua_package_path "{folder}/usr/share/lua/5.1/?.lua;;";
	client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
	uwsgi_temp_path {folder}; scgi_temp_path {folder};
	server {{ listen 127.0.0.1:{port}; location / {{ content_by_lua_file {folder}/page.lua; }} }}
}}
"""

NGINX_PAGE = """
local function load_items(n)
	local items = {}
	for i = 1, n do items[i] = {name = "item" .. i, value = (i * 7919) % 1009} end
	table.sort(items, function(a, b) return a.value < b.value end)
	return items
end
local function render(items)
	local out = {}
	for i = 1, #items do out[i] = string.format("<li>%s: %d</li>", items[i].name, items[i].value) end
	return table.concat(out)
end
local function handle()
	ngx.say(render(load_items(500)))
end
handle()
"""


def test_nginx(lab, tmp_path):
    """LuaJIT in a web server: each request is a coroutine."""
    unpack_packages(tmp_path, "nginx", "libnginx-mod-http-lua", "libnginx-mod-http-ndk", "lua-resty-core",
                    "lua-resty-lrucache", "libluajit2-5.1-2", "libpcre3")
    libraries = {path.parent for name in ("libluajit-5.1.so.2", "libpcre.so.3") for path in tmp_path.rglob(name)}
    port = free_port()
    (tmp_path / "nginx.conf").write_text(NGINX_CONFIGURATION.format(folder=tmp_path, port=port))
    (tmp_path / "page.lua").write_text(NGINX_PAGE)

    def ask():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
            assert answer.read(4) == b"<li>"

    with server("nginx", "-p", tmp_path, "-c", tmp_path / "nginx.conf", port=port,
                executable=tmp_path / "usr/sbin/nginx",
                env={"LD_LIBRARY_PATH": ":".join(map(str, libraries)), "PATH": os.environ["PATH"]}) as nginx:
        ask()
        with asked(ask):
            filmed = lab.record("-d", 2, "-p", nginx.pid)
    filmed.assert_whole()
    in_lua = filmed.share(lambda stack: stack.has("main chunk", "handle"))
    assert in_lua >= 0.4, filmed.explain()
    assert filmed.share(lambda stack: stack.has("handle", "load_items")) >= 0.5 * in_lua, filmed.explain()
    assert filmed.share(lambda stack: "ngx_http_core_run_phases" in stack) >= 0.8 * in_lua, filmed.explain()
