# SPDX-License-Identifier: Apache-2.0
"""Debian's programs under load, over loopback: what whole-machine benchmarks film."""

import shutil
from pathlib import Path

import lib

POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
REDIS_PORT, NGINX_PORT, POSTGRES_PORT = 16399, 18099, 15499

BASH_WORK = """
inner() { local i s=0; for ((i = 0; i < 2000; i++)); do s=$((s + i * $1)); done; echo $s; }
outer() { inner $1 | tr 0-9 a-j; x=$(inner $1); [[ $x =~ ^[0-9]+$ ]]; }
while :; do outer 7; done
"""

NGINX_CONFIG = """
user root; worker_processes 1; pid {0}/nginx.pid; error_log /dev/null;
events {{ worker_connections 64; }}
http {{
    access_log off; gzip on; gzip_types *; client_body_temp_path {0}; proxy_temp_path {0};
    fastcgi_temp_path {0}; uwsgi_temp_path {0}; scgi_temp_path {0};
    server {{ listen 127.0.0.1:{1}; root {0}; }}
}}
"""


def need():
    lib.need("gcc", "redis-server", "redis-benchmark", "redis-cli", "nginx", "ab", "bash", *lib.STEADY)
    if not POSTGRES:
        lib.fail("missing packages: apt-get install postgresql")


def when(ready, *client):
    """A client that waits for its server: until the shell's command succeeds."""
    return ["bash", "-c", f'until {ready}; do sleep 0.1; done; exec "$@"', "client", *client]


def redis(_):
    server = ["redis-server", "--port", REDIS_PORT, "--bind", "127.0.0.1", "--save", ""]
    client = ["redis-benchmark", "-h", "127.0.0.1", "-p", REDIS_PORT, "-q", "-l", "-n", 1000000,
              "-P", 8, "-t", "set,get,sadd,zadd,lrange_100"]
    return server, when(f"redis-cli -h 127.0.0.1 -p {REDIS_PORT} ping", *client)


def nginx(folder):
    (folder / "nginx.conf").write_text(NGINX_CONFIG.format(folder, NGINX_PORT))
    (folder / "page.html").write_text("<p>some text to be compressed</p>\n" * 2000)
    server = ["nginx", "-p", folder, "-c", folder / "nginx.conf", "-g", "daemon off;"]
    client = ["ab", "-q", "-k", "-c", 8, "-t", 1000, "-n", 100000000,
              "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{NGINX_PORT}/page.html"]
    return server, when(f": </dev/tcp/127.0.0.1/{NGINX_PORT}", *client)


def postgres(folder):
    """Its server refuses to run as root."""
    data = folder / "postgres"
    data.mkdir()
    folder.chmod(0o755)
    shutil.chown(data, "postgres")
    become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
              "env", "-C", data]
    connect = ["-h", data, "-p", POSTGRES_PORT, "-U", "postgres", "postgres"]
    lib.output_of(*become, POSTGRES / "initdb", "-D", data, "-A", "trust", "-U", "postgres")
    server = [*become, POSTGRES / "postgres", "-D", data, "-k", data, "-p", POSTGRES_PORT,
              "-c", "listen_addresses=", "-c", "fsync=off"]
    pgbench = [*become, POSTGRES / "pgbench", *connect]
    return server, when(" ".join(map(str, [*pgbench, "-q", "-i", "-s", 2])),
                        *pgbench, "-c", 2, "-T", 1000)


def cc1(folder):
    source = folder / "work.c"
    source.write_text("".join(
        f"int f{i}(int *a, int n) {{ int s = {i}; for (int j = 0; j < n; j++) "
        f"s += a[j] * (s ^ j) > {i} ? a[j + 1] % 7 : -s; return s; }}\n" for i in range(400)))
    return (["bash", "-c", f"while :; do gcc -O2 -S -o /dev/null {source}; done"],)


# A name of threads, and what makes them busy.
ALL = {
    "redis-server": redis, "nginx": nginx, "postgres": postgres, "cc1": cc1,
    "bash": lambda folder: (["bash", "-c", BASH_WORK],),
    **{name: lambda folder, name=name: (lib.STEADY[name],)
       for name in ("sqlite3", "python3", "perl", "openssl")},
}
