# SPDX-License-Identifier: Apache-2.0
"""The tutorial: its commands, as they stand there, lead to the causes that are planted in the examples' shop."""

import os
import re
import runpy
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from harness import PATIENCE, needs_root, wait_until
from test_docs import commands_of

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "examples" / "run"
SECONDS = 5  # of a film, in place of the 10 of the page

# What an explanation of five slow requests of an endpoint has, by the end of the command.
CAUSES = {"shop.film": ("Python lock", "held by audit", "sum_of_sales"),
          "'GET /stock/*' causes.film": ("row lock", "UPDATE stock SET count"),
          "'GET /prices/*' causes.film": ("similar_prices",),
          "'GET /receipts/*' causes.film": ("in fsync of", "in write_journal")}

pytestmark = [needs_root, pytest.mark.skipif(bool(runpy.run_path(str(RUN))["programs"]()[1]),
                                             reason="nginx, PostgreSQL or psycopg2 is missing")]


def processes_in(text):
    """Processes whose command line has a text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text in (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def test_commands_of_the_tutorial(lab, tmp_path):
    commands = list(commands_of((ROOT / "doc/guide/tutorial.md").read_text()))
    assert commands[0] == "./run.sh" and len(commands) == 9
    assert list(commands_of((ROOT / "README.md").read_text()))[2:4] == commands[1:3]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "build/src").mkdir(parents=True)
    (tmp_path / "build/src/stackcam").symlink_to(lab.stackcam)
    explained = set()
    for command in commands[1:]:
        # of many slow requests one may be slow because the machine is busy
        words = command.replace("-d 10", f"-d {SECONDS}").replace(" explain ", " explain --slowest 5 ")
        done = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, (command, done.stderr)
        for end, texts in CAUSES.items():
            if command.endswith(end) and " explain " in command:
                explained.add(end)
                assert all(text in done.stdout for text in texts), (command, done.stdout)
    assert explained == set(CAUSES)
    assert not processes_in("/var/tmp/shop.")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_ends_all_that_it_started(number):
    started = subprocess.Popen([RUN, "row"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    port = re.search(r"http://127.0.0.1:(\d+)/", started.stderr.readline())[1]
    children = [int(pid) for pid in Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()]
    commands = b"\0".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children)
    folder = re.search(rb"/var/tmp/shop\.\w+", commands)[0].decode()
    assert len(children) == 5 and len(processes_in(folder)) >= 4
    database = re.search(rb"/postgres\0-D\0[^\0]+\0-p\0(\d+)\0", commands)[1].decode()
    for user, may in (("shop", True), ("postgres", False)):  # of all users of the machine
        client = subprocess.run(["psql", "-X", "-w", "-h", "127.0.0.1", "-p", database, "-U", user, "-d", "postgres", "-c", "SELECT 1"],
                                capture_output=True, check=False, timeout=PATIENCE)
        assert (client.returncode == 0) == may, client.stderr
    started.send_signal(number)
    started.wait(timeout=PATIENCE)
    assert started.returncode == (-number if number == signal.SIGKILL else 0)
    started.stderr.close()
    started.stdout.close()
    assert wait_until(lambda: not processes_in(folder) and not any(os.path.exists(f"/proc/{pid}") for pid in children))
    assert not Path("/proc/net/tcp").read_text().count(f":{int(port):04X} 00000000:0000 0A")
    assert wait_until(lambda: not Path(folder).exists())


def test_what_it_says():
    done = subprocess.run([RUN, "sloth"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 2 and "there is no cause 'sloth': there is lock, row, cpu, sync" in done.stderr
    assert subprocess.run([RUN, "--", "sh", "-c", "exit 7"], capture_output=True, check=False, timeout=PATIENCE).returncode == 7
    hidden = f"mount -t tmpfs none /usr/lib/postgresql && exec {shlex.quote(str(RUN))} lock"
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", hidden], capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    assert done.returncode == 1 and "packages of Debian are missing: postgresql;" in done.stderr
