# SPDX-License-Identifier: Apache-2.0
"""A cluster of ClickHouse 18.16 on loopback: two shards of two servers each, and the ZooKeeper of Debian 12 for them."""

import contextlib
import os
import socket
import subprocess

from clickhouse import ClickHouse
from harness import free_port, wait_until
from suites import inside, unpacked

JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
NAME = "films"
SHARDS, REPLICAS = 2, 2

# ticks are short, so that the session of a server that was killed is over soon
ZOO = """dataDir={folder}/data
clientPort={port}
clientPortAddress=127.0.0.1
tickTime=500
admin.enableServer=false
4lw.commands.whitelist=ruok
"""

SERVER = """<interserver_http_port>{interserver}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
<zookeeper><node><host>127.0.0.1</host><port>{keeper}</port></node><session_timeout_ms>5000</session_timeout_ms></zookeeper>
<distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
<macros><shard>{shard}</shard><replica>{replica}</replica></macros>
<remote_servers><{name}>{shards}</{name}></remote_servers>
"""


class Keeper:
    def __init__(self, root, folder):
        self.root, self.folder, self.port = root, folder, free_port()
        folder.mkdir()
        (folder / "zoo.cfg").write_text(ZOO.format(folder=folder, port=self.port))
        self.start()

    def start(self):
        words = inside(self.root, JAVA, "-Xmx200m", "-cp", f"{self.folder}:/usr/share/java/zookeeper.jar",
                       "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.folder / "zoo.cfg")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd=self.folder, env={**os.environ, "LC_ALL": "C"})
        assert wait_until(self.is_there), "ZooKeeper does not start"

    def is_there(self):
        assert self.process.poll() is None, "ZooKeeper ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"ruok")
            return connection.recv(10) == b"imok"
        return False

    def end(self):
        self.process.kill()
        self.process.wait(timeout=30)


class Cluster:
    """servers: replicas of the first shard, then those of the second."""

    def __init__(self, keeper, root, folder, stack):
        self.keeper, self.servers = keeper, []
        ports = [free_port() for _ in range(SHARDS * REPLICAS)]
        shards = "".join("<shard><internal_replication>true</internal_replication>" + "".join(
            f"<replica><host>127.0.0.1</host><port>{port}</port></replica>"
            for port in ports[REPLICAS * shard:REPLICAS * (shard + 1)]) + "</shard>" for shard in range(SHARDS))
        for at, port in enumerate(ports):
            more = SERVER.format(interserver=free_port(), keeper=keeper.port, shard=at // REPLICAS, replica=at % REPLICAS,
                                 name=NAME, shards=shards)
            place = folder / f"server-{at}"
            place.mkdir()
            self.servers.append(ClickHouse(root, place, tcp=port, more=more))
            stack.callback(self.servers[-1].end)
        self.urls = ",".join(server.url for server in self.servers)

    def numbers(self, sql):
        """What each server says, shard by shard."""
        return [server.number(sql) for server in self.servers]


@contextlib.contextmanager
def cluster(lab, folder):
    """Skips where the packages cannot be had."""
    root, keepers = unpacked(lab.suites, "bookworm", "clickhouse-server"), unpacked(lab.suites, "bookworm", "zookeeper")
    with contextlib.ExitStack() as stack:
        keeper = Keeper(keepers, folder / "keeper")
        stack.callback(keeper.end)
        yield Cluster(keeper, root, folder, stack)
