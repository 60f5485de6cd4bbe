# SPDX-License-Identifier: Apache-2.0
"""
Programs and servers that are slow for a planted reason, each recorded once: for the tests of explain, and for bench/planted. What
cannot be had here is skipped with its reason (pytest.skip.Exception).
"""

import contextlib
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from harness import PATIENCE, filming, listening_port, memory_group, running, tool, wait_until

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
EVENTS = ("-e", "threads,on-cpu")
REQUESTS = ("-e", "threads,on-cpu,requests")


# -- waits with a timeout that begin anew

def condition_of_cpp(lab):
    """The thread "handler" waits for "renderer"."""
    return lab.record(*EVENTS, "--", lab.program("waits_again"))


def event_of_python(lab):
    """The one of its threads that waits has wait_for_render on its stack."""
    return lab.record(*EVENTS, "--", sys.executable, PROGRAMS / "waits_again.py")


def run_beside(lab, pid, script):
    """The film of a server, and its children, while a script of the shell runs."""
    with filming(lab, *REQUESTS, "-p", pid, hz=99) as film:
        subprocess.run(["sh", "-ec", script], check=True, timeout=PATIENCE)
    return film


def postmaster(data):
    return int((data / "postmaster.pid").read_text().split()[0])


def psql(postgres):
    place, _, port = postgres
    return f"{place}/psql -q -h 127.0.0.1 -p {port} -U postgres"


def postgres_row_past_its_deadlock_timeout(lab, postgres):
    """The statement waits while the transaction of another one sleeps."""
    ask = psql(postgres)
    return run_beside(lab, postmaster(postgres[1]), f"""
export PGOPTIONS='-c deadlock_timeout=200ms'
{ask} -c begin -c 'update pgbench_branches set bbalance = bbalance + 1' -c 'select pg_sleep(3)' -c commit >/dev/null &
until {ask} -Atc "select 1 from pg_stat_activity where wait_event = 'PgSleep'" | grep -q 1; do :; done
{ask} -c 'update pgbench_branches set bbalance = bbalance + 2'
wait
""")


def postgres_row_of_an_idle_transaction(lab, postgres):
    """The transaction that has the row waits for its client's next command until the other one has waited."""
    ask = psql(postgres)
    blocked = f"{ask} -Atc \"select 1 from pg_stat_activity where wait_event_type = 'Lock'\""
    return run_beside(lab, postmaster(postgres[1]), f"""
(
	echo 'begin; update pgbench_branches set bbalance = bbalance + 1;'
	until {blocked} | grep -q 1; do :; done
	sleep 1.5
	echo 'commit;'
) | {ask} &
until {ask} -Atc "select 1 from pg_stat_activity where state = 'idle in transaction'" | grep -q 1; do :; done
{ask} -c 'update pgbench_branches set bbalance = bbalance + 2'
wait
""")


def postgres_table_lock(lab, postgres):
    """A statement needs the whole table, which a transaction reads that sleeps."""
    ask = psql(postgres)
    return run_beside(lab, postmaster(postgres[1]), f"""
{ask} -c begin -c 'select count(*) from pgbench_tellers' -c 'select pg_sleep(2)' -c commit >/dev/null &
until {ask} -Atc "select 1 from pg_stat_activity where wait_event = 'PgSleep'" | grep -q 1; do :; done
{ask} -c 'lock table pgbench_tellers'  2>/dev/null || {ask} -c begin -c 'lock table pgbench_tellers' -c commit
wait
""")


def mariadb_client(mariadb):
    return f"{tool('mariadb')} --no-defaults -uroot -S{mariadb[1]} test"


def mariadb_metadata_lock(lab, mariadb):
    """A statement changes a table that a transaction has read which sleeps."""
    ask = mariadb_client(mariadb)
    return run_beside(lab, mariadb[0].pid, f"""
{ask} -e 'begin; select count(*) from marks; select sleep(6); commit' >/dev/null &
until {ask} -e 'show processlist' | grep -q 'User sleep'; do :; done
{ask} -e "alter table marks add column x$$ int"
wait
""")


def mariadb_row_lock(lab, mariadb):
    """A statement changes a row that a transaction has changed which sleeps."""
    ask = mariadb_client(mariadb)
    return run_beside(lab, mariadb[0].pid, f"""
{ask} -e 'create table if not exists rows_of (id int primary key, v int) engine=innodb; replace into rows_of values (1, 1)'
{ask} -e 'begin; update rows_of set v = 2 where id = 1; select sleep(3); commit' >/dev/null &
until {ask} -e 'show processlist' | grep -q 'User sleep'; do :; done
{ask} -e 'update rows_of set v = 3 where id = 1'
wait
""")


def request_of_curl(lab):
    """curl polls with a timeout, and makes requests only."""
    with running(sys.executable, PROGRAMS / "slow_http.py", 1.2) as server:
        return lab.record(*REQUESTS, "-n", "curl", "--", tool("curl"), "-s", f"http://127.0.0.1:{listening_port(server.pid)}/slow",
                          hz=99)


# -- the kernel, and processes

def reclaim_of_a_group(lab):
    """The program "touches" reads a file that is larger than its control group; yields the group's name, too."""
    with memory_group(32 << 20) as group:
        command = f"echo $$ >{group}/cgroup.procs; exec {lab.program('touches')} {lab.folder}/file"
        return lab.record(*EVENTS, "--", "sh", "-c", command, hz=999), group.name


TOUCHES_OWN = """
import time

def touch_all(memory):
    for at in range(0, len(memory), 4096):
        memory[at] = 1

memory = bytearray(96 << 20)
end = time.monotonic() + 2
while time.monotonic() < end:
    touch_all(memory)
"""


def swap_of_a_group(lab):
    """A program of Python has more memory than its control group may; what it does not use just now goes to swap."""
    if len(Path("/proc/swaps").read_text().splitlines()) < 2:
        pytest.skip("this machine has no swap")
    with memory_group(32 << 20) as group:
        script = lab.folder / "touches.py"
        script.write_text(TOUCHES_OWN)
        return lab.record(*EVENTS, "--", "sh", "-c", f"echo $$ >{group}/cgroup.procs; exec {sys.executable} {script}", hz=999)


@contextlib.contextmanager
def served_file(lab):
    """A file of a file system that a process serves."""
    folder, point = lab.folder / "files", lab.folder / "point"
    folder.mkdir()
    point.mkdir()
    (folder / "data").write_bytes(os.urandom(8 << 20))
    with subprocess.Popen([lab.program("fuse_server"), folder, point, "5000"], stdout=subprocess.PIPE) as server:
        try:
            if not server.stdout.readline():
                pytest.skip("no file system of FUSE can be mounted here")
            yield point / "data"
        finally:
            server.kill()
            subprocess.run(["umount", "-l", point], check=False, capture_output=True)


def file_of_fuse(lab):
    """cp reads it; the path, too."""
    with served_file(lab) as path:
        return lab.record("-a", *EVENTS, "--", "cp", path, "/dev/null", hz=99), path


def thread_made_meanwhile(lab):
    """"handler" waits for a thread that "maker" makes after half a second."""
    return lab.record(*EVENTS, "--", lab.program("born"))


def killed(lab, name):
    """timeout(1) sends the signal of that name to sleep(1)."""
    return lab.record("-a", "-e", "threads,deaths", "--", "timeout", "--foreground", "-s", name, "0.3", "sleep", "100", check=False)


def exit_status(lab):
    return lab.record(*EVENTS, "--", "sh", "-c", "sleep 0.1; exit 3", check=False)


def child_that_does_not_end(lab):
    """sh waits for sleep."""
    with running("sh", "-c", "echo ready; sleep 100; true") as target:
        assert wait_until(target.children)
        film = lab.record(*EVENTS, "-p", ",".join(map(str, [target.pid, *target.children()])), "-d", 1)
        subprocess.run(["kill", *map(str, target.children())], check=True)
        target.wait()
    return film


def case(lab, name, seconds=1.5):
    """One of tests/programs/cases.c, and its children."""
    return lab.record(*EVENTS, "--", lab.program("cases"), seconds, name, lab.folder / "file", hz=499)


def pipe_that_hangs(lab, name="hang"):
    """"handler" reads what "producer" never writes; both are there when the film ends. "fifo": the pipe has a name."""
    with running(lab.program("cases"), 60, name, lab.folder / "pipe") as target:
        return lab.record(*EVENTS, "-p", ",".join(map(str, [target.pid, *target.children()])), "-d", 1)


# -- languages

def java_stop(lab):
    """"handler" collects garbage, for which "grinder" stops late."""
    subprocess.run([tool("javac"), "-d", lab.folder, PROGRAMS / "Stops.java"], check=True, timeout=PATIENCE)
    with running(tool("java"), "-XX:+UseSerialGC", "-XX:-UseCountedLoopSafepoints", "-Xmx64m", "-cp", lab.folder, "Stops") as target:
        return lab.record(*EVENTS, "-p", target.pid, "-d", 5, hz=499)


def only_p_of_go(lab):
    """Requests wait for the goroutine that has the only place to run."""
    with running(lab.program("one_p")) as server:
        port = listening_port(server.pid)
        with filming(lab, "-e", "requests,threads,on-cpu,go-lanes", "-p", server.pid, hz=99) as film:
            for _ in range(20):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/slow", timeout=PATIENCE).read()
    return film


# -- clients, and pools

SLOW_SENDER = """
import socket, sys, time
there = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for piece in (b"POST /upload HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 40\\r\\n\\r\\n", *[b"x" * 10] * 4):
    there.sendall(piece)
    time.sleep(0.2)
there.recv(1000)
"""

TAKES_UPLOADS = """
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")

    def log_message(self, *arguments):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("ready", flush=True)
server.serve_forever()
"""


def client_that_sends_slowly(lab):
    """The pieces of a request's body come late."""
    with running(sys.executable, "-c", TAKES_UPLOADS) as server:
        port = listening_port(server.pid)
        with filming(lab, *REQUESTS, "-p", server.pid, hz=99) as film:
            subprocess.run([sys.executable, "-c", SLOW_SENDER, str(port)], check=True, timeout=PATIENCE)
    return film


POOL = """
import concurrent.futures, sys, threading, time

def work(number):
    time.sleep(0.2)
    return number

def handle(pool):
    pool.submit(work, 1).result()

pool = concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="worker")
threads = [threading.Thread(target=handle, args=(pool,)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def pool_that_is_too_small(lab):
    """Eight threads need one of the pool's two each, for 0.2 s."""
    return lab.record(*EVENTS, "--", sys.executable, "-c", POOL)
