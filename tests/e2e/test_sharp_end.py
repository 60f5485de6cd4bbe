# SPDX-License-Identifier: Apache-2.0
"""A recording ends when it was to end, also where the recorder itself gets no CPU then: nothing later is in the film."""
import contextlib
import signal
import sqlite3
import time

import pytest

from harness import PATIENCE, needs_root, running, wait_until

SECONDS = 1
# the recorder stands still until well after the end
STOPPED = 2


# few calls a second, so that a ring has room for all of them
SLEEPS = ("python3", "-c", "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.005)")
NAPS = ("--inside", "libc.so*", "-f", "clock_nanosleep")


@needs_root
@pytest.mark.parametrize("verb, target, options", [
    ("record", SLEEPS, ("-e", "on-cpu,off-cpu,threads")),
    ("trace", SLEEPS, NAPS),
    ("trace", SLEEPS, ("--exit", "return", *NAPS)),
    ("inspect", ("calls_steady",), ("outer", "--rate", 100)),
], ids=["record", "trace", "trace-return", "inspect"])
def test_recorder_stands_still_at_the_end(lab, verb, target, options):
    if target[0] == "calls_steady":
        target = [lab.program(*target)]
    with running(*target) as process, lab.beside(verb, *options, "-d", SECONDS, "-p", process.pid) as (recorder, film):
        wait_until(film.begun)
        recorder.send_signal(signal.SIGSTOP)
        until = time.monotonic() + STOPPED
        wait_until(lambda: time.monotonic() > until)
        recorder.send_signal(signal.SIGCONT)
        said = recorder.communicate(timeout=PATIENCE)
        assert recorder.returncode == 0, said
    with contextlib.closing(sqlite3.connect(film.path)) as rows:
        meta = dict(rows.execute("SELECT * FROM meta"))
        start, end = int(meta["start"]), int(meta["end"])
        first, last = rows.execute("SELECT min(t0), max(t1) FROM block WHERE t0 > 0").fetchone()
    assert SECONDS * 1e9 <= end - start <= SECONDS * 1.1e9
    # it was filmed while the recorder stood still, and no further
    assert start <= first and (start + end) / 2 < last <= end
