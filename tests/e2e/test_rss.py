# SPDX-License-Identifier: Apache-2.0
"""rss and mem-beside: what the memory of a process is. tests/programs/resident.c says what it holds."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from harness import PATIENCE, needs_root, running, wait_until
from test_agent import agent
from test_serve import serving

pytestmark = needs_root

MIB = 1 << 20
PYTHON = """
import sys
rows = [{"number": number, "text": "text %d" % number} for number in range(100000)]
large = bytearray(30 << 20)
print(sum(sys.getsizeof(row) for row in rows) + 64 * len(rows), flush=True)
sys.stdin.read()
"""
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
# Says what jemalloc itself has handed out, without what threads keep, once half of the objects are freed again.
ON_JEMALLOC = """
import ctypes, sys
held = [bytes([65]) * (100 + number % 900) for number in range(80000)] + [b"x" * ((3 << 20) - 64) for number in range(5)]
del held[:80000:2]
mallctl, size, value = ctypes.CDLL(None).mallctl, ctypes.c_size_t(8), ctypes.c_uint64(1)
mallctl(b"thread.tcache.flush", None, None, None, ctypes.c_size_t(0))
mallctl(b"epoch", None, None, ctypes.byref(value), size)
assert mallctl(b"stats.allocated", ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)) == 0
print(value.value, flush=True)
sys.stdin.read()
"""
JAVA = """
public class Held {
    static Object[] held = new Object[60];
    public static void main(String[] words) throws Exception {
        for (int i = 0; i < held.length; i++) held[i] = new byte[1 << 20];
        System.out.println("ready");
        System.in.read();
    }
}
"""
# A collector, and what its heap holds at least, of 60 MiB. Those of others, which lie in one range, are not divided.
COLLECTORS = [("G1", "[heap: objects, garbage as well]"), ("Serial", "[heap: objects, garbage as well]"),
              ("Parallel", "[heap: objects, garbage as well]"), ("Shenandoah", "[heap: objects or free]")]


@contextlib.contextmanager
def held(*words, **variables):
    """A program that says what it holds, and ends with its input."""
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **variables}) as process:
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(timeout=PATIENCE)


def rollup(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Rss:"))


def parts_of(film, event="rss"):
    return dict(film.folded("-e", event))


@pytest.fixture(scope="module", name="resident")
def fixture_resident(shared_lab, tmp_path_factory):
    file = tmp_path_factory.mktemp("resident") / "a file"
    with held(shared_lab.program("resident"), file) as process:
        said = {}
        for line in process.stdout:
            if line == "ready\n":
                break
            name, value = line.split()
            said[name] = int(value)
        film = shared_lab.record("-e", "rss,mem-beside", "-p", process.pid, "-d", 2)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            tables = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmPTE:"))
        yield film, said, rollup(process.pid), str(file), tables


def sum_of(film, *words):
    return sum(value for stack, value in film.folded("-e", "rss") if all(word in stack for word in words))


def test_parts_add_up(resident):
    film, _, whole, _, _ = resident
    # the kernel may have moved pages of files meanwhile
    assert film.json("-e", "rss")["event"]["total"] == pytest.approx(whole, rel=0.01), film.explain()
    assert not film.json("-e", "rss")["loss"], film.explain()


@pytest.mark.parametrize("words, names, others", [
    (("[malloc]", "[in use]"), ("in_use", "thread_in_use"), 0.3),
    (("[malloc]", "[free, kept by the allocator]"), ("free", "small_free", "thread_free"), 0.3),
    (("[malloc]", "[in use, with a mapping of its own]"), ("large",), 0.1),
    (("[stacks]", "[other threads]"), ("stack",), 0.3),
    (("[shared memory]",), ("shared",), 0.1),
    (("[files]", "FILE"), ("file",), 0),
    (("[not explained]",), ("unknown",), 0.5),
])
def test_what_each_part_is(resident, words, names, others):
    film, said, _, file, _ = resident
    truth = sum(said[name] for name in names)
    got = sum_of(film, *(file if word == "FILE" else word for word in words))
    assert truth <= got * 1.005 and got <= truth * 1.005 + others * MIB, (got, truth, film.explain())


def test_what_lies_beside(resident):
    film, _, _, _, tables = resident
    parts = {stack[-1]: value for stack, value in film.folded("-e", "mem-beside")}
    assert parts["[page tables]"] == pytest.approx(tables, abs=16384)
    assert parts["[kernel stacks of threads]"] == 2 * 16384


def test_objects_of_python(lab):
    with held(sys.executable, "-c", PYTHON) as process:
        objects = int(process.stdout.readline())
        film = lab.record("-e", "rss", "-p", process.pid, "-d", 2)
        whole = rollup(process.pid)
    assert sum_of(film, "[not explained]") < 0.05 * whole, film.explain()
    # the dicts and their texts; Python itself has some MB
    assert objects <= sum_of(film, "[Python objects]", "[in use]") <= objects + 20 * MIB, film.explain()
    assert sum_of(film, "[in use, with a mapping of its own]") >= 30 * MIB, film.explain()


def test_heap_of_jemalloc(lab):
    if not os.path.exists(JEMALLOC):
        pytest.skip("there is no jemalloc")
    with held("/usr/bin/python3", "-c", ON_JEMALLOC, LD_PRELOAD=JEMALLOC, PYTHONMALLOC="malloc") as process:
        allocated = int(process.stdout.readline())
        film = lab.record("-e", "rss", "-p", process.pid, "-d", 2)
        whole = rollup(process.pid)
    assert sum_of(film, "[not explained]") < 0.05 * whole, film.explain()
    assert sum_of(film, "[jemalloc]", "[in use, or kept by threads]") == pytest.approx(allocated, rel=0.03), film.explain()
    assert sum_of(film, "[jemalloc]", "[free, kept by the allocator]") > 8 * MIB, film.explain()
    assert sum(value for _, value in film.folded("-e", "rss")) == pytest.approx(whole, rel=0.02), film.explain()


@pytest.mark.parametrize("java", ["java-17-openjdk-amd64", "temurin-25-jdk-amd64"])
@pytest.mark.parametrize("collector, words", COLLECTORS)
def test_heap_of_java(lab, java, collector, words):
    home = f"/usr/lib/jvm/{java}/bin"
    if not shutil.which(f"{home}/java"):
        pytest.skip(f"there is no {java}")
    (lab.folder / "Held.java").write_text(JAVA)
    with held(f"{home}/java", f"-XX:+Use{collector}GC", "-Xmx200m", lab.folder / "Held.java") as process:
        assert process.stdout.readline() == "ready\n", f"{collector} does not run"
        film = lab.record("-e", "rss", "-p", process.pid, "-d", 2)
        whole = rollup(process.pid)
    assert sum_of(film, "[not explained]") < 0.05 * whole, film.explain()
    assert sum_of(film, "[Java]", words) >= 60 * MIB, film.explain()
    # the compiler was run as well
    assert sum_of(film, "[Java]", "[classes]") > MIB, film.explain()
    assert sum_of(film, "[Java]", "[compiled code]") > MIB, film.explain()
    assert sum(value for _, value in film.folded("-e", "rss")) == pytest.approx(whole, rel=0.03), film.explain()


def test_it_is_a_level(lab):
    """Several readings, and the last one counts."""
    with held(lab.program("resident")) as process:
        while process.stdout.readline() != "ready\n":
            pass
        film = lab.record("-e", "rss", "-p", process.pid, "-d", 4)
        assert film.json()["event"]["total"] == pytest.approx(rollup(process.pid), rel=0.02), film.explain()
    assert film.json("--to", "2s")["event"]["total"] == pytest.approx(film.json()["event"]["total"], rel=0.02), film.explain()


def test_many_mapped_files(lab, tmp_path):
    """The last one is the largest, as the main library of an office suite can be: it has its name."""
    for number in range(400):
        (tmp_path / f"file{number}").write_bytes(b"x" * (8192 if number < 399 else 32 * MIB))
    script = ("import mmap, sys\nheld = []\n"
              f"for number in range(400):\n    with open(f'{tmp_path}/file{{number}}', 'r+b') as file:\n"
              "        held.append(mmap.mmap(file.fileno(), 0)); sum(held[-1][::4096])\n"
              "print('ready', flush=True); sys.stdin.read()")
    with held("/usr/bin/python3", "-c", script) as process:
        assert process.stdout.readline() == "ready\n"
        film = lab.record("-e", "rss", "-p", process.pid, "-d", 1)
    files = {stack[-1]: value for stack, value in film.folded("-e", "rss") if stack[0] == "[files]"}
    assert files[f"{tmp_path}/file399"] == 32 * MIB, film.explain()
    assert "[others]" not in files and f"{tmp_path}/file0" in files, film.explain()


def test_what_ended_holds_nothing(lab):
    """The total is of those that live; the peak has the others."""
    child = "import time; held = b'x' * (60 << 20); time.sleep(4)"
    script = ("import subprocess, sys\n"
              f"for number in range(2): subprocess.run(['/usr/bin/python3', '-c', {child!r}])\n"
              "print('ready', flush=True); sys.stdin.read()")
    with held("/usr/bin/python3", "-c", script) as process:
        with lab.recording("-e", "rss,mem-beside", "-p", process.pid) as (recorder, film):
            assert process.stdout.readline() == "ready\n"
            # the round after their end
            time.sleep(3)
            whole = rollup(process.pid)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
    event = film.json("-e", "rss")["event"]
    assert event["total"] == pytest.approx(whole, rel=0.05), film.explain()
    assert 60 * MIB < event["peak"] < 120 * MIB, film.explain()
    stacks = sum(value for stack, value in film.folded("-e", "mem-beside") if stack[-1] == "[kernel stacks of threads]")
    assert stacks == 16384, film.explain()


def test_what_ended_holds_nothing_in_a_store(lab, tmp_path):
    """Short films: what ends at a turn has no state in the next one that says so, unless the recorder remembers it."""
    with serving(lab, tmp_path / "store", "--no-record") as serve:
        with agent(lab, "--to", serve.url, "--token-file", serve.tokens, "--spool", tmp_path / "spool", "--span", "3s", "-e", "rss"):
            end = time.monotonic() + 15
            ended = 0
            while time.monotonic() < end:
                with contextlib.ExitStack() as stack:
                    for _ in range(20):
                        stack.enter_context(subprocess.Popen(["/bin/sleep", "1.5"]))
                ended += 20
            # the film after the one in which the last ones ended
            last = time.time() + 3
            assert wait_until(lambda: "rss" in serve.get("status")["events"] and serve.get("status")["store"]["last"] > last)
        rows = [row for row in serve.get("processes", event="rss")["processes"] if row["service"] == "sleep"]
    # other tests may run some
    assert len([row for row in rows if row["total"]]) < ended / 8, (ended, rows)


def test_a_command_keeps_its_last_state(lab):
    film = lab.record("-e", "rss", "--", "/usr/bin/python3", "-c", "import time; held = b'x' * (60 << 20); time.sleep(3)")
    assert film.json("-e", "rss")["event"]["total"] > 60 * MIB, film.explain()


def test_what_grows_between_readings(lab):
    """A reading of this heap takes long enough that the next one comes after the film's end; the kernel's counts come each second."""
    script = ("import sys\n"
              "first = [b'x' * (100000 + n % 7) for n in range(2000)]\n"
              "print('ready', flush=True); sys.stdin.readline()\n"
              "then = [b'x' * (100000 + n % 7) for n in range(1000)]\n"
              "print('grown', flush=True); sys.stdin.read()")
    with held("/usr/bin/python3", "-c", script) as process:
        assert process.stdout.readline() == "ready\n"
        with lab.recording("-e", "rss", "-p", process.pid) as (recorder, film):
            assert wait_until(lambda: film.path.exists() and bytes_of(film, process.pid))
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "grown\n"
            whole = rollup(process.pid)
            assert whole > 300 * 100000
            time.sleep(3.5)
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        assert film.json("-e", "rss")["event"]["total"] == pytest.approx(whole, rel=0.02), film.explain()
    # a state in each span
    for begin in (1, 1.5, 2):
        assert film.json("-e", "rss", "--from", f"{begin}s", "--to", f"{begin + 1.5}s")["event"]["total"] > 190 * MIB, film.explain()
    grown = sum_of(film, "[grown since it was read]")
    assert not grown or 90 * MIB < grown < 110 * MIB, film.explain()


def bytes_of(film, pid):
    """Of a process; 0: the film, which may be in the making, has none."""
    done = film.report("--format", "json", "--limit", "0", check=False)
    processes = json.loads(done.stdout)["processes"] if done.returncode == 0 else []
    return sum(process["total"] for process in processes if process["pid"] == pid)


def test_much_that_is_reserved(lab):
    """4 TB of addresses (MAP_NORESERVE), of which the last pages are used, before what is small: both have their share of the looks."""
    script = ("import mmap, sys\n"
              "small = mmap.mmap(-1, 8 << 20); small.write(b'x' * (8 << 20))\n"
              "large = mmap.mmap(-1, 4 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
              "large[(4 << 40) - (16 << 20):] = b'x' * (16 << 20)\n"
              "print('ready', flush=True); sys.stdin.read()")
    with running("python3", "-c", script, stdin=subprocess.PIPE) as target:
        begin = time.monotonic()
        film = lab.record("-e", "rss", "-p", target.pid, "-d", 1)
        # asking for each page of it would take minutes
        assert time.monotonic() - begin < 30
    assert 15 * MIB < sum_of(film, "[anonymous memory: not looked at, it is large]") < 24 * MIB, film.explain()
    assert "mapping not looked at to its end" in film.report("-e", "rss").stdout


def test_the_page_cache(lab, tmp_path):
    """Of its control group, once."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * (32 * MIB))
    with held(lab.program("resident"), file) as process, held(lab.program("resident"), file) as other:
        for one in (process, other):
            while one.stdout.readline() != "ready\n":
                pass
        film = lab.record("-e", "rss,mem-beside", "-p", f"{process.pid},{other.pid}", "-d", 1)
    rows = [value for stack, value in film.folded("-e", "mem-beside") if "[page cache of the control group]" in stack]
    if not rows:
        pytest.skip("no control group of this machine says what its page cache is")
    assert len(rows) == 1 and rows[0] >= 32 * MIB, film.explain()


def test_the_whole_machine(lab):
    """There may be much, and it takes no more than its share of a CPU to look into it: until then it is counted."""
    with held(lab.program("resident")) as process:
        while process.stdout.readline() != "ready\n":
            pass
        with lab.recording("-e", "rss", "-a") as (recorder, film):
            assert wait_until(lambda: film.path.exists() and bytes_of(film, process.pid))
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        assert bytes_of(film, process.pid) == pytest.approx(rollup(process.pid), rel=0.02), film.explain()
    rows = film.folded("-e", "rss", "--pid", str(process.pid))
    later = sum(value for stack, value in rows if stack[-1].endswith("turn had not come]"))
    malloc = sum(value for stack, value in rows if "[malloc]" in stack)
    assert later == sum(value for _, value in rows) if later else malloc > 40 * MIB, rows
