# SPDX-License-Identifier: Apache-2.0
"""stackcam explain: waits with a timeout that begin anew lead to what ended the last of them."""

import planted
from harness import needs_root
from test_explain import explained, is_of_machine, of_work, work_of
from test_requests import postgres  # noqa: F401: a fixture
from test_requests_mysql import mariadb  # noqa: F401: a fixture

pytestmark = needs_root


def check_retried(cause, least):
    assert cause["end"] == "thread" and cause["retries"] >= least, cause
    assert cause["count"] == 1 and cause["longest"] == cause["duration"], cause


def known(cause_of):
    """
    A cause, and the whole. Some virtual machines hide switches of threads (doc/internals/threads.md), and then it is not known what
    ended the wait: that is so at most twice.
    """
    for _ in range(3):
        cause, request = cause_of()
        if cause["end"] == "thread":
            break
    return cause, request


def first_of(part):
    """What its thread did most below it, itself."""
    return next(one for one in part["parts"] if not is_of_machine(one))


def test_a_condition_of_cpp(lab):
    def cause_of():
        film = planted.condition_of_cpp(lab)
        request, = explained(lab, film, "-n", "handler")
        return work_of(film, request)[0], request

    cause, request = known(cause_of)
    check_retried(cause, 3)
    assert cause["kind"] == "condition" and cause["waker"]["comm"] == "renderer", cause
    assert of_work(cause, request) > 0.9 and any("wait_for_render" in one for one in cause["stack"]), cause
    did = first_of(cause)
    assert did["kind"] == "sleep" and any("render" in one for one in did["stack"]), did


def test_an_event_of_python(lab):
    def cause_of():
        found = [part for request in explained(lab, planted.event_of_python(lab), "--slowest", "3") for part in request["parts"]
                 if "wait_for_render" in part["stack"] and part["kind"] == "condition"]
        return max(found, key=lambda part: part["duration"]), None

    cause, _ = known(cause_of)
    # one for each half of a second; the first wait may be apart, as the interpreter was waited for in between
    check_retried(cause, cause["duration"] // 500_000_000)
    assert cause["duration"] > 1_000_000_000, cause
    assert first_of(cause)["kind"] == "sleep", cause


def statement(lab, film, glob, slow):
    """The explanation of the slowest statement that fits, and its first cause."""
    request = explained(lab, film, "--endpoint", glob)[0]
    assert request["duration"] > slow, request
    return work_of(film, request)[0], request


def test_a_row_of_postgresql_past_its_deadlock_timeout(lab, postgres):  # noqa: F811
    cause, request = known(lambda: statement(lab, planted.postgres_row_past_its_deadlock_timeout(lab, postgres),
                                             "update pgbench_branches*", 500_000_000))
    check_retried(cause, 1)
    assert "ProcSleep" in cause["stack"] and of_work(cause, request) > 0.9, request["parts"]
    # the transaction that holds the row
    before = first_of(cause)
    assert before["kind"] == "connection" and before["object"].startswith("select pg_sleep"), cause
    assert "no work" not in before["parts"][0]["words"], before


def test_a_metadata_lock_of_mariadb(lab, mariadb):  # noqa: F811
    cause, request = known(lambda: statement(lab, planted.mariadb_metadata_lock(lab, mariadb), "alter table marks*", 1_200_000_000))
    check_retried(cause, 1)
    assert any("MDL_wait::timed_wait" in one for one in cause["stack"]) and of_work(cause, request) > 0.9, request["parts"]
    # what its transaction did, as far as a wait of the server between two statements tells them apart
    before = first_of(cause)
    assert before["kind"] in ("condition", "sleep") or (before["object"] or "").startswith("select sleep"), cause
