# SPDX-License-Identifier: Apache-2.0
"""stackcam threads: what each thread of a program does, against what the program is known to do."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from harness import PATIENCE, control_group, go_built, needs_root, running, wait_until

pytestmark = needs_root

# thread: function, state, class of wait, system call
WAITING = {
    "locker": ("wait_for_lock", "lock", "futex"),
    "reader": ("wait_for_pipe", "ipc", "read"),
    "talker": ("wait_for_socket", "ipc", "read"),
    "listener": ("wait_for_network", "socket-read", "read"),
    "poller": ("wait_for_event", "poll", "epoll_wait"),
    "sleeper": ("wait_for_time", "sleep", "clock_nanosleep"),
    "dump": ("main", "sleep", "clock_nanosleep"),
}
MOVING = {"busy": "never_wait", "restless": "hardly_wait"}
PARTS = 10  # its threads, without the first one


def fields_of(pid, tid):
    return Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()


def is_settled(pid, count):
    """Whether all threads are there, and wait if they are to."""
    names = {tid: Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip() for tid in os.listdir(f"/proc/{pid}/task")}
    waiting = [tid for tid, name in names.items() if name not in MOVING]
    return len(names) == count and all(fields_of(pid, tid)[0] == "S" for tid in waiting) and \
        set(MOVING) <= set(names.values())


def start(lab, *arguments, count=PARTS + 1):
    """The program, once all of its threads do what they are to do."""
    program = running(lab.program("dump"), 100, *arguments)
    target = program.__enter__()
    assert wait_until(lambda: is_settled(target.pid, count)), os.listdir(f"/proc/{target.pid}/task")
    return program, target


@pytest.fixture
def target(lab):
    program, target = start(lab)
    yield target
    program.__exit__(None, None, None)


def dump(lab, *options, check=True):
    done = lab.run("threads", "--format", "json", *options)
    if not check:
        return done
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def names(thread):
    return [frame["name"] for frame in thread["stack"]]


def test_each_thread_waits_where_the_program_waits(lab, target):
    answer = dump(lab, "-p", target.pid)
    assert len(answer["threads"]) == PARTS + 1 and answer["loss"] == {}
    for thread in answer["threads"]:
        assert thread["pid"] == target.pid and thread["process"] == "dump"
        if thread["comm"] in MOVING:
            continue
        function, wait, call = WAITING[thread["comm"]]
        assert (thread["state"], thread["wait"], thread["call"]) == ("S", wait, call), thread
        kinds = [frame["kind"] for frame in thread["stack"]]
        own = names(thread).index(function)
        assert kinds[0] == "kernel" and kinds[own:] == ["native"] * len(kinds[own:]), thread
        assert names(thread)[-1] in ("_start", "clone3", "__clone3", "__clone"), thread


def taken_from_threads():
    """What interrupts and other virtual machines had of the CPUs so far, in ns: it is missing in the scheduler's clock of a CPU."""
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return sum(map(int, ticks[6:9])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def test_how_long_they_wait_is_known(lab, target):
    before = taken_from_threads()
    first = {thread["tid"]: thread for thread in dump(lab, "-p", target.pid)["threads"]}
    began = time.monotonic()
    assert wait_until(lambda: time.monotonic() - began > 1)
    second = {thread["tid"]: thread for thread in dump(lab, "-p", target.pid)["threads"]}
    taken = taken_from_threads() - before
    ns = {tid: [int(re.sub(r"\D", "", thread["time"][17:-1])) + 60_000_000_000 * int(thread["time"][14:16])
                for thread in (first[tid], second[tid])] for tid in first}
    for tid, thread in first.items():
        if thread["comm"] in MOVING:
            continue
        passed = (ns[tid][1] - ns[tid][0]) % 3_600_000_000_000
        # a tick of the kernel's clock at 100 Hz is 10 ms; each of the two times may be off by one
        missing = passed - (second[tid]["waited"] - thread["waited"])
        assert -25_000_000 < missing < 25_000_000 + taken, (thread, second[tid], passed, taken)


def test_a_thread_that_never_waits_has_a_stack_too(lab, target):
    def is_seen():
        threads = {thread["comm"]: thread for thread in dump(lab, "-p", target.pid)["threads"]}
        busy = threads["busy"]
        assert busy["state"] in "OR" and "call" not in busy
        # on a machine that is busy with other things no sample may come; then it has no stack, rather than a wrong one
        assert not busy["stack"] and busy["state"] == "O" or "never_wait" in names(busy), busy
        return busy["stack"]

    assert wait_until(is_seen)


def test_a_stack_that_changes_all_the_time_is_right_or_marked(lab, target):
    def is_seen():
        threads = {thread["comm"]: thread for thread in dump(lab, "-p", target.pid)["threads"]}
        restless = threads["restless"]
        assert not restless["stack"] and restless["state"] == "O" or \
            "hardly_wait" in names(restless) or names(restless)[-1].startswith("[truncated: the thread ran on"), restless
        return "hardly_wait" in names(restless)

    for _ in range(3):
        assert wait_until(is_seen)


def test_nothing_is_stopped(lab, target):
    """The kernel counts a stop as a switch that was wanted; who is stopped has the state T."""
    before = {tid: fields_of(target.pid, tid) for tid in os.listdir(f"/proc/{target.pid}/task")}
    switches = {tid: Path(f"/proc/{target.pid}/task/{tid}/status").read_text().split("voluntary_ctxt_switches:")[1]
                for tid in before if Path(f"/proc/{target.pid}/task/{tid}/comm").read_text().strip() not in MOVING}
    dump(lab, "-p", target.pid)
    for tid, count in switches.items():
        status = Path(f"/proc/{target.pid}/task/{tid}/status").read_text()
        assert status.split("voluntary_ctxt_switches:")[1] == count, status
        assert "TracerPid:\t0" in status


def test_those_that_are_alike_are_shown_once(lab, target):
    text = lab.run("threads", "-p", target.pid).stdout
    assert f"{target.pid} dump: {PARTS + 1} threads\n" in text
    assert len(re.findall(r"^  3 threads: locker \(\d+\), locker \(\d+\), locker \(\d+\)$", text, re.M)) == 1
    assert text.count("wait_for_lock  [dump]") == 1
    assert re.search(r"^    waits: lock \(futex\), for .*$", text, re.M)
    each = lab.run("threads", "-p", target.pid, "--each").stdout
    assert each.count("wait_for_lock  [dump]") == 3
    assert len(re.findall(r"^  \w+ \(\d+\)$", each, re.M)) == PARTS + 1


def test_one_thread_and_one_half_of_its_stack(lab, target):
    threads = dump(lab, "-p", target.pid)["threads"]
    reader = next(thread["tid"] for thread in threads if thread["comm"] == "reader")
    only = dump(lab, "-t", reader)["threads"]
    assert [thread["tid"] for thread in only] == [reader] and "wait_for_pipe" in names(only[0])
    user = dump(lab, "-t", reader, "--user-only")["threads"][0]
    assert "kernel" not in {frame["kind"] for frame in user["stack"]} and "wait_for_pipe" in names(user)
    kernel = dump(lab, "-t", reader, "--kernel-only")["threads"][0]
    assert {frame["kind"] for frame in kernel["stack"]} == {"kernel"} and kernel["wait"] == "ipc", kernel
    lines = dump(lab, "-t", reader, "--lines")["threads"][0]
    assert any(frame["name"] == "wait_for_pipe" and frame["file"].endswith("dump.c") and frame["line"]
               for frame in lines["stack"]), lines


def test_by_name(lab, target):
    threads = dump(lab, "-n", "dump")["threads"]
    assert {thread["process"] for thread in threads} == {"dump"}
    assert target.pid in {thread["pid"] for thread in threads}


def test_by_control_group(lab, target):
    with control_group() as group:
        (group / "cgroup.procs").write_text(str(target.pid))
        threads = dump(lab, "--cgroup", group)["threads"]
        assert {thread["pid"] for thread in threads} == {target.pid} and len(threads) == PARTS + 1
        (group / "cgroup.freeze").write_text("1")
        assert wait_until(lambda: "frozen 1" in (group / "cgroup.events").read_text())
        frozen = dump(lab, "--cgroup", group)["threads"]
        assert {(thread["state"], thread["wait"]) for thread in frozen} == {("F", "stopped")}, frozen
        # where it stands still is seen all the same
        assert all("never_wait" in names(thread) for thread in frozen if thread["comm"] == "busy")
        (group / "cgroup.freeze").write_text("0")


def test_a_process_that_is_stopped(lab, target):
    os.kill(target.pid, signal.SIGSTOP)
    assert wait_until(lambda: all(fields_of(target.pid, tid)[0] == "T" for tid in os.listdir(f"/proc/{target.pid}/task")))
    threads = dump(lab, "-p", target.pid)["threads"]
    assert {thread["state"] for thread in threads} == {"T"}
    assert {function for thread in threads for function in names(thread)} >= set(MOVING.values()) | {"wait_for_lock"}
    # it stays as it was
    assert fields_of(target.pid, target.pid)[0] == "T"


def test_a_thousand_threads(lab):
    program, target = start(lab, 1000, count=PARTS + 1 + 1000)
    try:
        answer = dump(lab, "-p", target.pid)
        crowd = [thread for thread in answer["threads"] if thread["comm"] == "crowd"]
        assert len(crowd) == 1000 and answer["loss"] == {}
        assert all("wait_in_crowd" in names(thread) and names(thread)[-1] in ("clone3", "__clone3", "__clone") for thread in crowd)
        text = lab.run("threads", "-p", target.pid).stdout
        assert re.search(r"^  1,000 threads: (crowd \(\d+\), ){7}crowd \(\d+\) and 992 more$", text, re.M), text[:2000]
    finally:
        program.__exit__(None, None, None)


def test_processes_that_end_meanwhile(lab):
    """Threads come and go while all are listed: each dump is whole, and what it has is right."""
    end = threading.Event()

    def churn():
        while not end.is_set():
            process = subprocess.Popen([lab.program("dump"), "100", "50"], stdout=subprocess.DEVNULL)
            end.wait(0.05)
            process.kill()
            process.wait()

    def is_seen():
        done = dump(lab, "-n", "dump", check=False)
        if done.returncode:
            assert done.stderr.startswith("stackcam: there are no such threads"), done.stderr
            return False
        for thread in json.loads(done.stdout)["threads"]:
            assert thread["process"] == "dump" or thread["comm"] in ("dump", "python3"), thread
        return True

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        for _ in range(6):
            assert wait_until(is_seen)
    finally:
        end.set()
        churning.join()


def test_no_such_process(lab):
    process = subprocess.Popen(["true"])
    process.wait()
    done = lab.run("threads", "-p", process.pid)
    assert done.returncode == 1 and f"there is no process {process.pid}" in done.stderr and not done.stdout
    for wrong in ([], ["-p", "x"], ["-p", os.getpid(), "-a"], ["-a", "--format", "svg"], ["-a", "extra"]):
        done = lab.run("threads", *wrong)
        assert done.returncode == 2 and done.stderr.startswith("stackcam"), (wrong, done.stderr)


def test_without_permission(lab):
    done = lab.run("threads", "-p", os.getpid(), preexec_fn=lambda: (os.setgroups([]), os.setuid(65534)))
    assert done.returncode == 3 and "run as root" in done.stderr and not done.stdout


def test_nothing_is_left_behind(lab, target, tmp_path):
    dump(lab, "-p", target.pid, check=False)
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    assert lab.run("threads", "-p", target.pid, env=environment).returncode == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("stackcam-")]
    # also when it is asked to end
    process = subprocess.Popen([lab.stackcam, "threads", "-p", str(target.pid)], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_until(lambda: any(tmp_path.glob("stackcam-*")))
    process.terminate()
    process.wait(timeout=PATIENCE)
    assert not list(tmp_path.glob("stackcam-*"))


def test_the_whole_machine(lab, target):
    answer = dump(lab, "-a")
    kinds = Counter(thread["wait"] for thread in answer["threads"])
    assert kinds["no-work"] > 10, kinds  # threads of the kernel
    ours = [thread for thread in answer["threads"] if thread["pid"] == target.pid]
    assert len(ours) == PARTS + 1
    assert {thread["comm"]: thread for thread in ours}["reader"]["wait"] == "ipc"


PYTHON = """
import queue, threading
def take(): queue.Queue().get()
for _ in range(5): threading.Thread(target=take, daemon=True).start()
def rest():
    print("ready", flush=True)
    threading.Event().wait()
rest()
"""


def test_python(lab):
    with running(sys.executable, "-c", PYTHON) as target:
        def waiting():
            threads = dump(lab, "-p", target.pid)["threads"]
            return Counter(function for thread in threads for function in ("take", "rest")
                           if function in names(thread)) == {"take": 5, "rest": 1}

        assert wait_until(waiting)
        text = lab.run("threads", "-p", target.pid).stdout
        assert text.count("take  [") == 1 and "  5 threads: python" in text


JAVA = """
public class Dump {
    static final Object lock = new Object();
    static void guarded() { synchronized (lock) { System.exit(1); } }
    static void rest() throws Exception { System.out.println("ready"); Thread.sleep(100000); }
    public static void main(String[] arguments) throws Exception {
        synchronized (lock) {
            for (int i = 0; i < 4; i++) new Thread(Dump::guarded, "guarded " + i).start();
            rest();
        }
    }
}
"""


def java_program(folder, *options):
    if not shutil.which("javac"):
        pytest.skip("no Java here")
    (folder / "Dump.java").write_text(JAVA)
    subprocess.run(["javac", "-d", folder, folder / "Dump.java"], check=True)
    return running("java", *options, "-cp", folder, "Dump")


def test_java(lab, tmp_path):
    with java_program(tmp_path, "-Xint") as target:
        def waiting():
            threads = dump(lab, "-p", target.pid)["threads"]
            guarded = [thread for thread in threads if "Dump.guarded" in names(thread)]
            return len(guarded) == 4 and sum("Dump.rest" in names(thread) for thread in threads) == 1 and \
                {thread["wait"] for thread in guarded} == {"lock"}

        assert wait_until(waiting)


def test_node(lab):
    if not shutil.which("node"):
        pytest.skip("no Node.js here")
    script = "function rest() { console.log('ready'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) } rest()"
    with running("node", "-e", script) as target:
        def waiting():
            threads = dump(lab, "-p", target.pid)["threads"]
            return sum("rest" in " ".join(names(thread)) for thread in threads) == 1

        assert wait_until(waiting)


GO = """
package main
import ("fmt"; "syscall")
//go:noinline
func rest(fd int) { b := make([]byte, 1); fmt.Println("ready"); syscall.RawSyscall(0, uintptr(fd), uintptr(0), 1); _ = b }
func main() { var p [2]int; syscall.Pipe(p[:]); rest(p[0]) }
"""


def go_program(folder):
    return running(go_built(folder, "rest", GO))


def test_go(lab, tmp_path):
    with go_program(tmp_path) as target:
        assert wait_until(lambda: any("main.rest" in names(thread) and names(thread)[-1].startswith("runtime.")
                                      for thread in dump(lab, "-p", target.pid)["threads"]))
