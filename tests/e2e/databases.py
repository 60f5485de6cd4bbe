# SPDX-License-Identifier: Apache-2.0
"""Servers of databases, each of its own, as a user that is not root."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest

from asking import certificate
from harness import free_port, tool, wait_until


def reach(folder):
    """Lets other users get to a folder: those above it are of this run."""
    folder.chmod(0o755)
    for path in folder.parents:
        if path.name.startswith(("pytest-", "popen-", "stackcam-bench.")):
            path.chmod(0o755)


@contextlib.contextmanager
def postgresql(folder):
    """One with the tables of pgbench; yields the folder of its programs, that of its data and its socket, and its port."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places:
        pytest.skip("postgresql is missing")
    place, port = places[-1], free_port()
    reach(folder)
    data = folder / "data"
    data.mkdir()
    user = {"user": "postgres", "group": "postgres", "cwd": "/"}
    shutil.chown(data, "postgres", "postgres")
    subprocess.run([place / "initdb", "-D", data, "-A", "trust", "-N"], check=True, stdout=subprocess.DEVNULL, **user)
    server = subprocess.Popen([place / "postgres", "-D", data, "-p", str(port), "-c", "fsync=off",
                               "-c", f"unix_socket_directories={data}", "-c", "listen_addresses=127.0.0.1"],
                              stderr=subprocess.DEVNULL, **user)
    try:
        wait_until(lambda: not subprocess.run([place / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)],
                                              check=False).returncode)
        subprocess.run([place / "pgbench", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-i", "-q", "postgres"],
                       check=True, capture_output=True)
        yield place, data, port
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def mariadb(folder):
    """One with a table test.marks; yields the process, its socket, its port and its log."""
    install, server = tool("mariadb-install-db"), tool("mariadbd")
    port = free_port()
    reach(folder)
    data = folder / "data"
    data.mkdir()
    user = {"user": "nobody", "group": "nogroup", "cwd": "/"}
    own, key = certificate(folder, "server")
    for path in (data, own, key):
        shutil.chown(path, "nobody", "nogroup")
    subprocess.run([install, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"], check=True,
                   capture_output=True, **user)
    process = subprocess.Popen([server, "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", f"--port={port}",
                                "--bind-address=127.0.0.1", "--general-log=1", f"--general-log-file={data}/log",
                                f"--pid-file={data}/pid", f"--ssl-cert={own}", f"--ssl-key={key}",
                                "--innodb-flush-log-at-trx-commit=0"],
                               stderr=subprocess.DEVNULL, **user)
    try:
        assert wait_until((data / "socket").exists)
        run = subprocess.run([tool("mariadb"), "-uroot", f"-S{data}/socket", "-e",
                              "create database if not exists test; create table test.marks (v int); insert into test.marks "
                              "select seq from test.none"], check=False, capture_output=True)
        assert run.returncode, "the last statement has no table"
        yield process, data / "socket", port, data / "log"
    finally:
        process.terminate()
        process.wait()
