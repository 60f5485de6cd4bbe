# SPDX-License-Identifier: Apache-2.0
"""
A ClickHouse of its own on loopback: the server 18.16 of Debian 12, in a root folder of its packages; or the engine of a
current one, which is a library of npm, behind a few lines of HTTP (chdb_server.js).
"""

import contextlib
import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

import npm
from harness import free_port, wait_until
from suites import inside, unpacked

CONFIG = """<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{port}</http_port><tcp_port>{tcp}</tcp_port>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><mark_cache_size>67108864</mark_cache_size>
<users_config>{folder}/users.xml</users_config><timezone>UTC</timezone>
<default_profile>default</default_profile><default_database>default</default_database>
{more}</yandex>"""

USERS = """<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage><max_threads>2</max_threads>
<connect_timeout_with_failover_ms>5000</connect_timeout_with_failover_ms>
</default></profiles>
<users><default><password></password><profile>default</profile><quota>default</quota>
<networks><ip>127.0.0.1</ip></networks></default></users>
<quotas><default></default></quotas></yandex>"""


class ClickHouse:
    """more: of its configuration, as of a cluster."""

    def __init__(self, root, folder, tcp=None, more=""):
        self.root, self.folder = root, folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "config.xml").write_text(CONFIG.format(folder=folder, port=self.port, tcp=tcp or free_port(), more=more))
        (folder / "users.xml").write_text(USERS)
        self.start()

    def start(self):
        # it asks for the time zone's files, whatever its own is
        words = inside(self.root, "clickhouse-server", f"--config-file={self.folder}/config.xml", also=("/usr/share/zoneinfo",))
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC"})
        assert wait_until(self.is_there), "clickhouse-server does not start"

    def is_there(self):
        assert self.process.poll() is None, "clickhouse-server ended"
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"{self.url}/ping", timeout=5).read() == b"Ok.\n"
        return False

    def ask(self, sql, database="stackcam"):
        """The answer, without its last end of a line."""
        with urllib.request.urlopen(f"{self.url}/?database={database}", data=sql.encode(), timeout=30) as answer:
            return answer.read().decode().rstrip("\n")

    def ask_any(self, sql):
        """The same of what names its database."""
        return self.ask(sql, "default")

    def number(self, sql):
        return int(self.ask(sql))

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(timeout=30)


@contextlib.contextmanager
def clickhouse(lab, folder):
    """Skips where the packages cannot be had."""
    server = ClickHouse(unpacked(lab.suites, "bookworm", "clickhouse-server"), folder)
    try:
        yield server
    finally:
        server.end()


CHDB = "chdb@3.4.0"


def current_engine_modules(build):
    """Its folder node_modules. Half a gigabyte: fetched once, and only where each version is asked for."""
    if not (Path(build) / "chdb/node_modules/chdb").exists() and not os.environ.get("STACKCAM_EVERY_VERSION"):
        pytest.skip(f"{CHDB} of npm is not there; STACKCAM_EVERY_VERSION=1 fetches it")
    return npm.modules(build, "chdb", CHDB)


@contextlib.contextmanager
def current_engine(build, folder):
    """The address of a current engine."""
    port = free_port()
    program = Path(__file__).with_name("chdb_server.js")
    with subprocess.Popen(["node", program, current_engine_modules(build), folder, str(port)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        def is_there():
            assert process.poll() is None, "chdb ended"
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5).read() == b"Ok.\n"
            return False

        try:
            assert wait_until(is_there), "chdb does not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
