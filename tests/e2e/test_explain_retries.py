# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: waits with a timeout that begin anew lead to what ended the last of them."""

import signal
import subprocess
import sys

from harness import PATIENCE, needs_root, wait_until
from test_explain import EVENTS, explained, is_of_machine, of_work, work_of
from test_requests import postgres, tool  # noqa: F401: a fixture
from test_requests_mysql import mariadb  # noqa: F401: a fixture

pytestmark = needs_root

WAIT_FOR = """
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static bool done;

__attribute__((noinline)) static void render()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(750));
	std::lock_guard<std::mutex> guard(mutex);
	done = true;
	changed.notify_one();
}

__attribute__((noinline)) static void wait_for_render()
{
	std::unique_lock<std::mutex> lock(mutex);

	while (!done)
		changed.wait_for(lock, std::chrono::milliseconds(100));
}

int main()
{
	std::thread renderer([] { pthread_setname_np(pthread_self(), "renderer"); render(); });
	std::thread handler([] { pthread_setname_np(pthread_self(), "handler"); wait_for_render(); });

	handler.join();
	renderer.join();
}
"""

# Two threads that are there before: what is in the film is the wait alone.
EVENT = """
import threading, time

begin, rendered = threading.Event(), threading.Event()

def render():
    begin.wait()
    time.sleep(1.7)
    rendered.set()

def wait_for_render():
    while not rendered.wait(0.5):
        pass

threads = [threading.Thread(target=body) for body in (render, wait_for_render)]
for thread in threads:
    thread.start()
begin.set()
for thread in threads:
    thread.join()
"""


def check_retried(cause, least):
    assert cause["end"] == "thread" and cause["retries"] >= least, cause
    assert cause["count"] == 1 and cause["longest"] == cause["duration"], cause


def known(cause_of):
    """
    A cause, and the whole. A busy virtual machine hides a wake now and then, and then it is not known what ended the
    wait: that is so at most twice.
    """
    for _ in range(3):
        cause, request = cause_of()
        if cause["end"] == "thread":
            break
    return cause, request


def first_of(part):
    """What its thread did most below it, itself."""
    return next(one for one in part["parts"] if not is_of_machine(one))


def test_a_condition_of_cpp(lab, tmp_path):
    (tmp_path / "waits.cc").write_text(WAIT_FOR)
    subprocess.run(["g++", "-O1", "-o", tmp_path / "waits", tmp_path / "waits.cc", "-pthread"], check=True)

    def cause_of():
        film = lab.record(*EVENTS, "--", tmp_path / "waits")
        request, = explained(lab, film, "-n", "handler")
        return work_of(film, request)[0], request

    cause, request = known(cause_of)
    check_retried(cause, 3)
    assert cause["kind"] == "condition" and cause["waker"]["comm"] == "renderer", cause
    assert of_work(cause, request) > 0.9 and any("wait_for_render" in one for one in cause["stack"]), cause
    did = first_of(cause)
    assert did["kind"] == "sleep" and any("render" in one for one in did["stack"]), did


def test_an_event_of_python(lab, tmp_path):
    script = tmp_path / "waits.py"
    script.write_text(EVENT)

    def cause_of():
        film = lab.record(*EVENTS, "--", sys.executable, script)
        found = [part for request in explained(lab, film, "--slowest", "3") for part in request["parts"]
                 if "wait_for_render" in part["stack"] and part["kind"] == "condition"]
        return max(found, key=lambda part: part["duration"]), None

    cause, _ = known(cause_of)
    check_retried(cause, 3)
    assert cause["duration"] > 1_000_000_000, cause
    assert first_of(cause)["kind"] == "sleep", cause


def film_beside(lab, pid, script):
    """A server, and its children, while a script runs."""
    with lab.recording("-e", EVENTS[1] + ",requests", "-p", pid, hz=99) as (recorder, film):
        assert wait_until(film.begun)
        subprocess.run(["sh", script], check=True, timeout=PATIENCE)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=PATIENCE) == 0
    return film


def statement(lab, film, glob, slow):
    """The explanation of the slowest statement that fits, and its first cause."""
    request = explained(lab, film, "--endpoint", glob)[0]
    assert request["duration"] > slow, request
    return work_of(film, request)[0], request


def test_a_row_of_postgresql_past_its_deadlock_timeout(lab, postgres, tmp_path):  # noqa: F811
    place, data, port = postgres
    psql = f"{place}/psql -q -h 127.0.0.1 -p {port} -U postgres"
    script = tmp_path / "rows.sh"
    script.write_text(f"""
export PGOPTIONS='-c deadlock_timeout=200ms'
{psql} -c begin -c 'update pgbench_branches set bbalance = bbalance + 1' -c 'select pg_sleep(3)' -c commit >/dev/null &
until {psql} -Atc "select 1 from pg_stat_activity where wait_event = 'PgSleep'" | grep -q 1; do :; done
{psql} -c 'update pgbench_branches set bbalance = bbalance + 2'
wait
""")
    server = int((data / "postmaster.pid").read_text().split()[0])
    cause, request = known(lambda: statement(lab, film_beside(lab, server, script), "update pgbench_branches*", 500_000_000))
    check_retried(cause, 1)
    assert "ProcSleep" in cause["stack"] and of_work(cause, request) > 0.9, request["parts"]
    # the transaction that holds the row
    before = first_of(cause)
    assert before["kind"] == "connection" and before["object"].startswith("select pg_sleep"), cause
    assert "no work" not in before["parts"][0]["words"], before


def test_a_metadata_lock_of_mariadb(lab, mariadb, tmp_path):  # noqa: F811
    process, path, _, _ = mariadb
    client = f"{tool('mariadb')} --no-defaults -uroot -S{path} test"
    script = tmp_path / "metadata.sh"
    script.write_text(f"""
{client} -e 'begin; select count(*) from marks; select sleep(6); commit' >/dev/null &
until {client} -e 'show processlist' | grep -q 'User sleep'; do :; done
{client} -e 'alter table marks add column x$$ int'
wait
""")
    cause, request = known(lambda: statement(lab, film_beside(lab, process.pid, script), "alter table marks*", 1_200_000_000))
    check_retried(cause, 1)
    assert any("MDL_wait::timed_wait" in one for one in cause["stack"]) and of_work(cause, request) > 0.9, request["parts"]
    # what its transaction did, as far as a wait of the server between two statements tells them apart
    before = first_of(cause)
    assert before["kind"] in ("condition", "sleep") or (before["object"] or "").startswith("select sleep"), cause
