# SPDX-License-Identifier: Apache-2.0
"""record -e threads: the life of every thread, against what the programs are known to do."""

import collections
import contextlib
import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

from harness import PATIENCE, needs_root, running, wait_for_line, wait_until
from test_threads import MOVING, PARTS, WAITING, start

pytestmark = needs_root

# Of the threads of dump that wait all the time: what for.
CLASSES = {name: what[1] for name, what in WAITING.items()}

# It waits in known ways, one after the other, and says how long each took by its own clock.
WAYS = """
import ctypes, fcntl, os, select, socket, subprocess, threading, time

def spent(name, wait):
    begin = time.monotonic_ns()
    wait()
    print(name, time.monotonic_ns() - begin, flush=True)

def after(act):
    threading.Timer(0.1, act).start()

def pipe():
    to, end = os.pipe()
    after(lambda: os.write(end, b"x"))
    os.read(to, 1)

def lock():
    held = threading.Lock()
    held.acquire()
    after(held.release)
    held.acquire()

def network():
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    two, _ = listener.accept()
    after(lambda: two.send(b"x"))
    one.recv(1)

def accept():
    listener = socket.create_server(("127.0.0.1", 0))
    after(lambda: socket.create_connection(listener.getsockname()))
    listener.accept()

def unix():
    one, two = socket.socketpair()
    after(lambda: two.send(b"x"))
    one.recv(1)

def poll():
    to, end = os.pipe()
    after(lambda: os.write(end, b"x"))
    select.select([to], [], [])

def flock():
    name = f"/tmp/flock-{os.getpid()}"
    one, two = open(name, "w"), open(name, "w")
    os.unlink(name)
    fcntl.flock(one, fcntl.LOCK_EX)
    after(lambda: fcntl.flock(one, fcntl.LOCK_UN))
    fcntl.flock(two, fcntl.LOCK_EX)

spent("ipc", pipe)
spent("ipc", unix)
spent("lock", lock)
spent("socket-read", network)
spent("accept", accept)
spent("poll", poll)
spent("lock", flock)
spent("sleep", lambda: time.sleep(0.1))
spent("child", lambda: os.waitpid(os.posix_spawn("/bin/sleep", ["sleep", "0.1"], os.environ), 0))
begin, cpu = time.monotonic_ns(), time.thread_time_ns()
while time.thread_time_ns() - cpu < 200_000_000:
    pass
print("on-cpu", time.thread_time_ns(), flush=True)
"""

PING_PONG = """
import os
a, b = os.pipe(), os.pipe()
turns = TURNS
if not os.fork():
    for _ in range(turns):
        os.read(a[0], 1)
        os.write(b[1], b"x")
    os._exit(0)
for _ in range(turns):
    os.write(a[1], b"x")
    os.read(b[0], 1)
os.wait()
"""

SHORT = """
import _thread, threading
done = threading.Semaphore(0)
for _ in range(1000):
    _thread.start_new_thread(done.release, ())
for _ in range(1000):
    done.acquire()
"""


def states_of(lab, film):
    done = lab.run("report", "--format", "states-json", getattr(film, "path", film))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    for part in [answer["all"], *answer["processes"], *answer["threads"]]:
        assert sum(state["total"] for state in part["states"]) == part["life"]
        for state in part["states"]:
            assert state["p50"] <= state["p99"] <= state["longest"] <= state["total"]
    return answer


def main_thread(lab, film):
    """Of a film of one program: the thread that it began with."""
    return next(thread["tid"] for thread in states_of(lab, film)["threads"] if thread["tid"] == thread["pid"])


# Threads wait for something that has a name, and say which it must be.
NAMED = """
import fcntl, os, select, socket, subprocess, sys, tempfile, threading, time

folder = tempfile.mkdtemp()
ready = []

def waits(state, name):
    def start(wait):
        print(state, name, sep="\\t")
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        ready.append(thread)
    return start

def ends(one):
    there, here = one.getsockname(), one.getpeername()
    brackets = "[{}]:{}" if one.family == socket.AF_INET6 else "{}:{}"
    return brackets.format(*there[:2]) + " -> " + brackets.format(*here[:2])

to, end = os.pipe()
waits("ipc", "pipe %d" % os.fstat(to).st_ino)(lambda: os.read(to, 1))
os.mkfifo(folder + "/fi\\nfo")
fifo = os.open(folder + "/fi\\nfo", os.O_RDWR)
waits("ipc", (folder + "/fi\\nfo").replace("\\n", "\\\\n"))(lambda: os.read(fifo, 1))
listener = socket.create_server(("127.0.0.1", 0))
waits("accept", "tcp 127.0.0.1:%d (listens)" % listener.getsockname()[1])(listener.accept)
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
one = socket.create_connection(six.getsockname()[:2])
waits("socket-read", "tcp " + ends(one))(lambda: one.recv(1))
two = six.accept()[0]
two.settimeout(60)
waits("poll", "tcp " + ends(two))(lambda: two.recv(1))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
waits("socket-read", "udp 127.0.0.1:%d" % udp.getsockname()[1])(lambda: udp.recv(1))
unix = socket.socket(socket.AF_UNIX)
unix.bind(folder + "/sock")
unix.listen()
waits("accept", "unix " + folder + "/sock (listens)")(unix.accept)
abstract = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
abstract.bind("\\0stackcam-%d" % os.getpid())
waits("ipc", "unix @stackcam-%d" % os.getpid())(lambda: abstract.recv(1))
a, b = socket.socketpair()
waits("ipc", "unix socket %d -> %d, made by pid %d at the other end" %
      (os.fstat(a.fileno()).st_ino, os.fstat(b.fileno()).st_ino, os.getpid()))(lambda: a.recv(1))
c, d = socket.socketpair()
waits("poll", "unix socket %d -> %d, made by pid %d at the other end" %
      (os.fstat(c.fileno()).st_ino, os.fstat(d.fileno()).st_ino, os.getpid()))(lambda: select.select([c], [], [c]))
epoll = select.epoll()
waits("poll", "epoll fd %d" % epoll.fileno())(lambda: epoll.poll())
event = os.eventfd(0)
waits("ipc", "eventfd fd %d" % event)(lambda: os.eventfd_read(event))
locks = [open(folder + "/lock", "w") for _ in range(2)]
fcntl.flock(locks[0], fcntl.LOCK_EX)
waits("lock", "flock of " + folder + "/lock")(lambda: fcntl.flock(locks[1], fcntl.LOCK_EX))
gone = [open(folder + "/gone", "w") for _ in range(2)]
os.unlink(folder + "/gone")
fcntl.flock(gone[0], fcntl.LOCK_EX)
waits("lock", "flock of " + folder + "/gone (deleted)")(lambda: fcntl.flock(gone[1], fcntl.LOCK_EX))
child = subprocess.Popen(["sleep", "60"])
waits("child", "pid %d" % child.pid)(lambda: os.waitpid(child.pid, 0))
poll = select.poll()
for fd in to, listener.fileno(), six.fileno():
    poll.register(fd, select.POLLPRI)
waits("poll", "3 descriptors")(poll.poll)
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
child.kill()
os._exit(0)
"""


def check_named(answer, lines):
    objects = {}
    for waited in answer["objects"]:
        assert not (waited["object"] and waited["unknown"]), waited
        objects[waited["state"], waited["object"]] = waited
    for line in lines:
        state, name = line.split("\t")
        # most of a second: the thread waits for nothing else
        assert (state, name.replace("\\n", "\n")) in objects, (line, sorted(objects))
        assert objects[state, name.replace("\\n", "\n")]["total"] > 700_000_000, line


def test_objects(lab, tmp_path):
    """What a thread waits for has its name, whether it waited before the recording or began to since."""
    film = tmp_path / "named.film"
    done = lab.run("record", "-e", "threads", "-o", film, "--", sys.executable, "-c", NAMED, "1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[:-1]
    assert len(lines) == 16
    answer = states_of(lab, film)
    check_named(answer, lines)
    assert not any("object of" in reason for reason in answer["loss"]), answer["loss"]
    # a hostile name moves nothing on a terminal
    text = lab.run("report", "--format", "states", film).stdout
    assert "/fi\\x0afo" in text and "/fi\nfo" not in text

    with subprocess.Popen([sys.executable, "-c", NAMED, "60"], stdout=subprocess.PIPE, text=True) as program:
        try:
            lines = []
            for line in program.stdout:
                if line == "ready\n":
                    break
                lines.append(line.rstrip("\n"))
            answer = states_of(lab, lab.record("-e", "threads", "-p", program.pid, "-d", 1))
            # of poll(2) and select(2) with one descriptor, its number is in memory of the process, which is read when the wait begins
            check_named(answer, [line for line in lines if not (line.startswith("poll") and ("tcp" in line or "unix" in line))])
        finally:
            program.kill()


LATE = """
import os, signal, sys, time
child = os.fork()
if not child:
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
    time.sleep(0.6)
    os.execl(sys.argv[1], sys.argv[1], "0.3")
print(child, flush=True)
os.waitpid(child, 0)
"""


def test_a_program_that_is_executed_late(lab, tmp_path):
    """By a name that is filmed, in a process that has lived for a second: its life is told from there, without a hole."""
    program = tmp_path / "late-sleep"
    program.symlink_to("/usr/bin/sleep")
    with lab.recording("-e", "threads", "-n", program.name) as (recorder, film):
        assert wait_until(film.begun)
        child = int(subprocess.run([sys.executable, "-c", LATE, program], check=True, capture_output=True, text=True).stdout)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0, recorder.stderr.read()
    answer = states_of(lab, film)
    thread, = answer["threads"]
    assert thread["tid"] == child
    # but where a virtual machine hides the switch of one of its own, for a moment, which is counted
    hole = in_state(thread, "hole")
    assert hole["total"] < 0.05e9, thread
    assert 0.29e9 < in_state(thread, "sleep")["total"] < thread["life"] < 0.9e9, thread
    assert sum(count for reason, count in answer["loss"].items() if "switches" in reason) == hole["count"], answer["loss"]


def in_state(thread, name):
    """What a thread has of a state; zeros if it was never in it."""
    for state in thread["states"]:
        if state["state"] == name:
            return state
    return {"count": 0, "total": 0, "longest": 0}


def check_sleepers(answer):
    threads = {thread["comm"]: thread for thread in answer["threads"]}
    for name, kind in CLASSES.items():
        thread = threads[name]
        wait = in_state(thread, kind)
        assert wait["count"] == 1 and wait["total"] == thread["life"], (name, kind, thread)
    lives = {name: thread["life"] for name, thread in threads.items()}
    # each was there from the first to the last moment, whatever it did
    assert max(lives.values()) - min(lives.values()) < 50_000_000, lives
    assert in_state(threads["busy"], "on-cpu")["total"] + in_state(threads["busy"], "preempted")["total"] + \
        in_state(threads["busy"], "woken")["total"] + in_state(threads["busy"], "hole")["total"] == threads["busy"]["life"]


def test_sleepers(lab):
    """Threads that wait from before the recording to its end, for something of each kind."""
    program, target = start(lab)
    try:
        answer = states_of(lab, lab.record("-e", "threads", "-p", target.pid, "-d", 1))
        assert len(answer["threads"]) == PARTS + 1
        check_sleepers(answer)
        assert in_state(next(thread for thread in answer["threads"] if thread["comm"] == "restless"), "on-cpu")["count"]
    finally:
        program.__exit__(None, None, None)


def test_planted_waits(lab, tmp_path):
    """Waits of each kind have their class, and last as long as by the program's own clock."""
    film = tmp_path / "ways.film"
    done = lab.run("record", "-e", "threads", "-o", film, "--", sys.executable, "-c", WAYS)
    assert done.returncode == 0, done.stderr
    answer = states_of(lab, film)
    wanted = {}
    for line in done.stdout.splitlines():
        name, took = line.split()
        wanted[name] = wanted.get(name, 0) + int(took)
    main = next(thread for thread in answer["threads"] if thread["pid"] == thread["tid"] and
                in_state(thread, "accept")["count"])
    # No probe sees what the init of some virtual machines goes out for, nor the thread that comes in behind it: until that
    # one goes out, how long it has run is not known, and the film says so.
    hole = in_state(main, "hole")["total"]
    # what the program measures ends only when it has a CPU again
    ready = sum(in_state(main, name)["total"] for name in ("woken", "preempted"))
    for name, took in wanted.items():
        total = in_state(main, name)["total"]
        if name == "on-cpu":
            assert 0.8 * took < total + hole and total < 1.25 * took + 50_000_000, (name, took, main)
        elif name == "lock":
            # Python's locks are semaphores, which look like conditions unless the lock is known
            longest = max(in_state(main, name)["longest"] for name in ("lock", "lock (condition)"))
            assert 0.5 * took < longest + ready + hole and longest < took + 20_000_000, (name, took, main)
        else:
            assert 0.5 * took < total + ready + hole and total < took + 20_000_000, (name, took, main)
    assert hole < 0.3 * main["life"], main
    # what is shown of such a film if no format is named; stacks are asked for
    plain = lab.run("report", film)
    assert plain.stdout == lab.run("report", "--format", "states", film).stdout and "  on-cpu  " in plain.stdout
    assert " Function " in lab.run("report", "--format", "table", film).stdout
    assert not any(state["state"].startswith("other") for state in main["states"])


def test_a_wait_of_seconds_has_one_stack(lab):
    """The film has it in several rows, of which only the last one has its stack."""
    film = lab.record("-e", "threads", "--", "sleep", "2.5")
    slept = sum(ns for frames, ns in film.folded("-e", "threads") if any("nanosleep" in frame for frame in frames))
    assert slept > 2_490_000_000, film.folded("-e", "threads")
    states = film.report("--format", "states-json").stdout
    assert in_state(json.loads(states)["threads"][0], "sleep")["total"] == slept
    # also of the part that was asked for, if the wait ends soon behind it
    part = sum(ns for frames, ns in film.folded("-e", "threads", "--from", "1.8", "--to", "2.2")
               if any("nanosleep" in frame for frame in frames))
    assert part == 400_000_000


def test_storm(lab):
    """Two threads that hand a byte to each other as fast as they can: each turn is there."""
    turns = 20000
    film = lab.record("-e", "threads", "--", sys.executable, "-c", PING_PONG.replace("TURNS", str(turns)))
    answer = states_of(lab, film)
    waits = sum(in_state(thread, "ipc")["count"] for thread in answer["threads"])
    on_cpu = sum(in_state(thread, "on-cpu")["count"] for thread in answer["threads"])
    assert not any("log of its CPU was full" in reason for reason in answer["loss"]), answer["loss"]
    # on two CPUs some bytes are there before they are waited for
    assert waits > turns / 4 and on_cpu >= waits
    assert sum(in_state(thread, "hole")["total"] for thread in answer["threads"]) < 0.02 * answer["all"]["life"]


def test_switches_without_end(lab):
    """As many switches as the machine can make, for seconds: what the logs have no room for is a hole, and counted."""
    film = lab.record("-e", "threads", "--", lab.program("storm"), 2, 8)
    truth = {int(tid): (int(life), int(switches)) for tid, life, _, switches, _ in
             (line.split() for line in film.recording.stdout.splitlines() if line.count(" ") == 4)}
    answer = states_of(lab, film)
    lives = {thread["tid"]: thread for thread in answer["threads"]}
    assert len(truth) == 16 and set(truth) <= set(lives)
    for tid, (life, switches) in truth.items():
        thread = lives[tid]
        # a thread reads the clock after it began, and before it ends, which is after others know of its end
        assert life <= thread["life"] <= life + 1e9, (life, thread)
        turns, hole = in_state(thread, "on-cpu")["count"], in_state(thread, "hole")
        assert turns <= switches + 10, (switches, thread)
        # what is missing is in a hole
        assert hole["count"] or turns >= 0.98 * switches, (switches, thread)
    holes = sum(in_state(thread, "hole")["count"] for thread in answer["threads"])
    counted = sum(count for reason, count in answer["loss"].items() if reason.startswith("time of a thread not known"))
    assert bool(holes) == bool(counted), (holes, answer["loss"])
    if any("log of its CPU was full" in reason for reason in answer["loss"]):
        assert holes, answer["loss"]


def test_crowd(lab):
    """More threads than anything has room for by itself: each is there, all the time."""
    program, target = start(lab, 2000, count=2000 + PARTS + 1)
    try:
        answer = states_of(lab, lab.record("-e", "threads", "-p", target.pid, "-d", 1))
        crowd = [thread for thread in answer["threads"] if thread["comm"] == "crowd"]
        assert len(crowd) == 2000
        assert all(in_state(thread, "lock (condition)")["total"] == thread["life"] for thread in crowd)
        check_sleepers(answer)
    finally:
        program.__exit__(None, None, None)


def test_short_lives(lab):
    """Threads that live for some microseconds, and are gone before anything is read of them."""
    answer = states_of(lab, lab.record("-e", "threads", "--", sys.executable, "-c", SHORT))
    assert len(answer["threads"]) >= 1001
    assert all(in_state(thread, "on-cpu")["count"] or in_state(thread, "hole")["count"] for thread in answer["threads"])
    holes = sum(in_state(thread, "hole")["count"] > 0 for thread in answer["threads"])
    assert holes < 20, answer["loss"]


def test_killed_recorder(lab, tmp_path):
    """What was committed reads, and has the lives of all threads."""
    program, target = start(lab)
    film = tmp_path / "killed.film"

    def is_committed():
        if not film.exists() or lab.run("report", "--format", "states-json", film).returncode:
            return False
        threads = {thread["comm"]: thread for thread in states_of(lab, film)["threads"]}
        return all(name in threads and in_state(threads[name], kind)["total"] > 1_000_000_000
                   for name, kind in CLASSES.items())

    try:
        recorder = subprocess.Popen([lab.stackcam, "record", "-q", "-e", "threads", "-p", str(target.pid), "-o", film],
                                    stdin=subprocess.DEVNULL)
        try:
            assert wait_until(is_committed)
        finally:
            recorder.kill()
            recorder.wait()
        answer = states_of(lab, film)
        threads = {thread["comm"]: thread for thread in answer["threads"]}
        for name, kind in CLASSES.items():
            assert in_state(threads[name], kind)["total"] > 1_000_000_000, (name, threads[name])
        assert set(MOVING) <= set(threads)
    finally:
        program.__exit__(None, None, None)


def hooks_of(pid):
    """How many programs a recorder has on each tracepoint."""
    found = collections.Counter()
    for fd in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            found.update(re.findall(r"^tp_name:\s*(\S+)", fd.read_text(), re.MULTILINE))
    return found


def by_thread(lab, film, *events):
    """What the events have of each thread, ns."""
    sums = collections.Counter()
    for event in events:
        for line in lab.run("report", "-e", event, "--by", "thread", "--format", "folded", film).stdout.splitlines():
            sums[int(re.match(r"\[thread\] .* \((\d+)\)(?:;| )", line)[1])] += int(line.rpartition(" ")[2])
    return sums


def test_with_other_events(lab):
    """
    The samples of CPUs, the waits by stack and the locks are in the same film. One program sees each switch for all of
    them, so that the sums are the same; of time that was lost, as the program ran too late, only the waits know.
    """
    path = lab.new_film()
    recorder = subprocess.Popen([lab.stackcam, "record", "-q", "-e", "threads,on-cpu,off-cpu,lock", "-F", "999", "-o", path,
                                 "--", lab.program("waits"), "1"], stdout=subprocess.PIPE)
    with recorder:
        wait_for_line(recorder)
        hooks = hooks_of(recorder.pid)
        assert recorder.wait(PATIENCE) == 0
    assert hooks["sched_switch"] == hooks["sched_waking"] == hooks["flock_lock_inode"] == 1
    answer = states_of(lab, path)
    waits, ready = by_thread(lab, path, "off-cpu", "idle"), by_thread(lab, path, "run-queue")
    assert {"wait_for_mutex", "wait_for_pipe", "wait_for_disk", "long_wait"} <= {one["comm"] for one in answer["threads"]}
    for thread in answer["threads"]:
        hole = in_state(thread, "hole")["total"]
        waited = sum(state["total"] for state in thread["states"] if state["wait"])
        was_ready = in_state(thread, "woken")["total"] + in_state(thread, "preempted")["total"]
        for mine, other in ((waited, waits[thread["tid"]]), (was_ready, ready[thread["tid"]])):
            assert 0.999 * mine - 50000 <= other <= 1.001 * mine + 50000 + hole, thread
    assert json.loads(lab.run("report", "-e", "on-cpu", "--format", "json", path).stdout)["stacks"]["samples"] > 10
    assert json.loads(lab.run("report", "-e", "lock", "--format", "json", path).stdout)["event"]["total"] > 0


ASYNCIO = """
import asyncio
async def turns():
    while True:
        await asyncio.sleep(0.005)
async def main():
    print("ready", flush=True)
    await asyncio.gather(turns(), turns())
asyncio.run(main())
"""


def not_linked(lab, film):
    """Of the film's processes, by name: which tasks have no lanes."""
    return {process["comm"]: process["not_linked"] for process in states_of(lab, film)["processes"]}


def test_both_events_of_waits_agree(lab):
    """What a command's process waits for before it is the command, its recorder does: that is no wait of the command."""
    film = lab.record("-e", "off-cpu,threads", "--", lab.program("cases"), 1, "lock")
    by_turns = {state["state"]: state["total"] for state in json.loads(film.report("--format", "states-json").stdout)["all"]["states"]
                if state["wait"]}
    by_waits = {group["wait"].strip("[]"): group["total"] for group in film.json("-e", "off-cpu", "--idle", "--by", "wait")["groups"]}
    assert "ipc" not in by_turns and "ipc" not in by_waits, (by_turns, by_waits)
    if not film.json("-e", "threads")["loss"]:
        assert abs(by_turns["sleep"] - by_waits["sleep"]) < 0.01 * by_turns["sleep"], (by_turns, by_waits)
        assert abs(by_turns["lock"] - by_waits["lock"]) < 0.01 * by_turns["lock"], (by_turns, by_waits)


def test_tasks_without_lanes_are_not_linked(lab):
    with running(sys.executable, "-c", ASYNCIO) as target:
        film = lab.record("-e", "threads", "-d", 1, "-p", target.pid)
    assert list(not_linked(lab, film).values()) == [["tasks of asyncio"]]
    assert "  not linked: which of its tasks of asyncio a thread ran is not known; 'record -e threads,task-lanes' records it" \
        in lab.run("report", film.path).stdout
    assert "Not linked: its process runs tasks of asyncio, which share threads" in lab.run("explain", film.path).stdout
    assert json.loads(lab.run("explain", "--format", "json", film.path).stdout)["requests"][0]["not_linked"] == ["tasks of asyncio"]
    film = lab.record("-e", "threads", "--", lab.program("lanes_go"), 300)
    assert not_linked(lab, film)["lanes_go"] == ["goroutines"]
    assert "'record -e threads,go-lanes'" in lab.run("report", film.path).stdout


def test_goroutines_with_lanes_are_linked(lab):
    film = lab.record("-e", "threads,go-lanes", "--", lab.program("lanes_go"), 300)
    assert not_linked(lab, film)["lanes_go"] == []


def test_threads_alone_share_with_no_tasks(lab):
    film = lab.record("-e", "threads", "--", lab.program("waits"), 1)
    assert not_linked(lab, film)["waits"] == []
    assert "not linked" not in lab.run("report", film.path).stdout
    assert "Not linked" not in lab.run("explain", film.path).stdout


def test_cut_films(lab, tmp_path):
    """A film that was cut, or has other bytes in it, is refused with words, or its parts add up."""
    film = lab.record("-e", "threads", "--", sys.executable, "-c", PING_PONG.replace("TURNS", "5000"))
    whole = open(film.path, "rb").read()
    size, chance = len(whole), random.Random(17)
    cut, refused = tmp_path / "cut.film", 0
    for i in range(60):
        end = size * i // 30 if i < 30 else size
        part = bytearray(whole[:end])
        for _ in range(8 if i >= 30 else 0):
            part[chance.randrange(100, size)] ^= 1 << chance.randrange(8)
        cut.write_bytes(part)
        done = lab.run("report", "--format", "states-json", cut)
        assert done.returncode in (0, 1), (i, end, done)
        if done.returncode:
            assert done.stderr.startswith("stackcam: "), done.stderr
            refused += 1
        else:
            states_of(lab, cut)
    # what is cut has lost pages that SQLite knows of
    assert refused >= 29


def test_refused(lab):
    """A film without lives has no states."""
    film = lab.record("-e", "on-cpu", "--", "true")
    done = lab.run("report", "--format", "states", film.path)
    assert done.returncode == 1 and "record -e threads" in done.stderr


# Waits for either of two descriptors, which have something to read in turn, and says what they are.
EITHER = """
import os, select, socket, threading, time

to, end = os.pipe()
listener = socket.create_server(("127.0.0.1", 0))
far = socket.create_connection(listener.getsockname())
near = listener.accept()[0]
print("pipe %d" % os.fstat(to).st_ino)
print("tcp 127.0.0.1:%d -> 127.0.0.1:%d" % (near.getsockname()[1], far.getsockname()[1]), flush=True)
epoll = select.epoll()
epoll.register(to, select.EPOLLIN)
epoll.register(near, select.EPOLLIN)

def write():
    for _ in range(8):
        time.sleep(0.05)
        os.write(end, b"x")
        time.sleep(0.05)
        far.send(b"x")

writer = threading.Thread(target=write)
writer.start()
done = 0
while done < 16:
    for fd, _ in epoll.poll():
        os.read(fd, 1)
        done += 1
writer.join()
"""


def test_what_was_ready_first(lab, tmp_path):
    """Of a wait for new events it is told which descriptor had one."""
    film = tmp_path / "either.film"
    done = lab.run("record", "-e", "threads", "-o", film, "--", sys.executable, "-c", EITHER)
    assert done.returncode == 0, done.stderr
    told = json.loads(lab.run("explain", "--thread", main_thread(lab, film), "--format", "json", film).stdout)
    waited = {part["object"]: part for part in told["requests"][0]["parts"] if part["kind"] == "poll"}
    for name in done.stdout.splitlines():
        assert name in waited, (name, told)
        assert waited[name]["count"] >= 7 and waited[name]["duration"] > 250_000_000, (name, told)
