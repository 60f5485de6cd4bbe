# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: options, recorders and what they cost, loads, tables."""

import argparse
import collections
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPUS = sorted(os.sched_getaffinity(0))

# Debian's packages of the commands that the benchmarks call.
PACKAGES = {
    "ab": "apache2-utils",
    "bash": "bash",
    "bpftool": "bpftool",
    "bpftrace": "bpftrace",
    "erl": "erlang-base",
    "erlc": "erlang-base",
    "ffmpeg": "ffmpeg",
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "chrt": "util-linux",
    "clang": "clang",
    "gcc": "gcc",
    "ghc": "ghc",
    "g++": "g++",
    "gdb": "gdb",
    "go": "golang-go",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "jstack": "default-jdk-headless",
    "nginx": "nginx",
    "node": "nodejs",
    "npm": "npm",
    "objcopy": "binutils",
    "openssl": "openssl",
    "perf": "linux-perf",
    "perl": "perl",
    "php": "php-cli",
    "qemu-x86_64": "qemu-user",
    "python3": "python3",
    "readelf": "binutils",
    "redis-benchmark": "redis-tools",
    "redis-cli": "redis-tools",
    "redis-server": "redis-server",
    "rustc": "rustc",
    "sqlite3": "sqlite3",
    "taskset": "util-linux",
    "uftrace": "uftrace",
    "wrk": "wrk",
    "xz": "xz-utils",
}


def fail(words):
    sys.exit(f"{Path(sys.argv[0]).name}: {words}")


def options(about, **more):
    """Reads the command line; more: name=(default, help) of options with numbers."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--build", default=ROOT / "build", type=Path, help="build folder (build)")
    for name, (default, words) in more.items():
        parser.add_argument(f"--{name}", default=default, type=type(default),
                            help=f"{words} ({default})")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        fail("recording the whole machine needs root")
    chosen.build = chosen.build.resolve()
    chosen.stackcam = str(chosen.build / "src/stackcam")
    if not os.access(chosen.stackcam, os.X_OK):
        fail(f"there is no {chosen.stackcam}: build it with 'meson setup build "
             "--buildtype=release && ninja -C build', or name its folder with --build")
    return chosen


def private_libraries(*names):
    """
    Begins again with copies of these libraries in the place of theirs, in a mount namespace of its own: a probe sits in
    the file, so that in those of the machine it would slow every program that calls there.
    """
    if os.environ.get("STACKCAM_BENCH_PRIVATE"):
        return
    with scratch() as folder:
        mounts = []
        for name in names:
            for path in Path("/lib/x86_64-linux-gnu").glob(name):
                shutil.copy(path, folder / path.name)
                mounts.append(f"mount --bind {folder / path.name} {path.resolve()}")
        folder.chmod(0o755)
        script = " && ".join([*mounts, 'exec "$@"'])
        sys.exit(subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-B", *sys.argv],
                                env={**os.environ, "STACKCAM_BENCH_PRIVATE": "1"}, check=False).returncode)


def has(*commands):
    return all(shutil.which(command) for command in commands)


def need(*commands):
    missing = sorted({PACKAGES[c] for c in commands if not shutil.which(c)})
    if missing:
        fail("missing packages: apt-get install " + " ".join(missing))


@contextlib.contextmanager
def scratch():
    """A folder on disk (perf.data is large) that goes with the block."""
    folder = Path(tempfile.mkdtemp(prefix="stackcam-bench.", dir="/var/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def output_of(*command, **more):
    more.setdefault("stderr", subprocess.DEVNULL)
    more.setdefault("check", True)
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, errors="replace", **more).stdout


def seconds_of(*command):
    """Runs a command with its output thrown away. Returns its wall time."""
    begin = time.monotonic()
    subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


# Recorders

PERF_EVENT = "7"  # BPF_PROG_TYPE_PERF_EVENT


@dataclass
class Bpf:
    """The BPF programs and maps that a process holds."""
    run_ns: int = 0     # of all its programs
    sample_ns: int = 0  # of those that take samples
    samples: int = 0    # how often these ran
    map_bytes: int = 0


@dataclass
class Cost:
    cpu_s: float      # user and system time, of children too
    user_s: float
    system_s: float
    peak_kb: int      # the largest resident set
    wall_s: float


class Recorder:
    """A recorder that runs beside what it records."""

    def __init__(self, *command, **more):
        self.begin = time.monotonic()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                        stderr=self.log,
                                        stdout=more.pop("stdout", subprocess.DEVNULL), **more)
        self.pid = self.process.pid
        self.threads = {}

    def cpu_of_threads(self):
        """ns so far by the name of threads, from the scheduler: finer than ticks. Of those that ended, as last asked."""
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                self.threads[task.name] = ((task / "comm").read_text().strip(),
                                           int((task / "schedstat").read_text().split()[0]))
        found = collections.Counter()
        for name, ns in self.threads.values():
            found[name] += ns
        return found

    def cpu_ns(self):
        return sum(self.cpu_of_threads().values())

    def bpf(self):
        """What the kernel says of its BPF files. Run times need bpf_statistics()."""
        found, seen = Bpf(), set()
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{self.pid}/fdinfo"):
                with contextlib.suppress(OSError):
                    text = Path(entry.path).read_text()
                    info = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
                    key = next((k + info[k] for k in ("prog_id", "map_id") if k in info), None)
                    # a link tells of its program too, but has no times
                    if not key or key in seen or "link_id" in info:
                        continue
                    seen.add(key)
                    found.run_ns += int(info.get("run_time_ns", 0))
                    if info.get("prog_type", "").strip() == PERF_EVENT:
                        found.sample_ns += int(info.get("run_time_ns", 0))
                        found.samples += int(info.get("run_cnt", 0))
                    if "map_id" in info:
                        found.map_bytes += int(info["memlock"])
        return found

    def has_ended(self):
        """Whether it has; what it cost stays to be collected."""
        return bool(os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))

    def end(self):
        """Waits for its end. Returns its Cost."""
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.log.seek(0)
        if self.process.returncode:
            fail(f"{self.process.args}: status {self.process.returncode}: "
                 + self.log.read().decode(errors="replace"))
        return Cost(usage.ru_utime + usage.ru_stime, usage.ru_utime, usage.ru_stime,
                    usage.ru_maxrss, time.monotonic() - self.begin)


def address_of(serve):
    """The address of `stackcam serve`, a Recorder, once it listens."""
    while True:
        serve.log.seek(0)
        if found := re.search(rb"the page is at (http://\S+)/, ", serve.log.read()):
            return found[1].decode()
        if serve.has_ended():
            serve.end()
            fail(f"{serve.process.args} ended by itself")
        time.sleep(0.1)


def write_token(store):
    """The token that `stackcam serve` has made for clients that send."""
    return re.search(r"^(\S+) write$", (store / "tokens").read_text(), re.MULTILINE)[1]


@contextlib.contextmanager
def bpf_statistics():
    """Has the kernel time BPF programs within the block."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


def stackcam_json(chosen, film, *more):
    return json.loads(output_of(chosen.stackcam, "report", "--format", "json", *more, film))


def perf_counts(data):
    """Name of a kind of event to how many of them a perf.data has."""
    counts = {}
    for line in output_of("perf", "report", "--stats", "-i", data).splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] == "events:":
            counts[words[0]] = int(words[2])
    return counts


# Loads

PYTHON_WORK = """
import json, re
words = [{"id": i, "name": "name%d" % i, "tags": ["a", "b", "c"]} for i in range(200)]
while True:
    text = json.dumps(words)
    words = sorted(json.loads(text), key=lambda w: w["name"])
    re.findall(r'"(name[0-9]+)"', text)
"""

# Requests over loopback from clients of its own, some of which wait for a lock.
REQUESTS_WORK = """
import http.client, http.server, json, threading, time
lock = threading.Lock()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_):
        pass
    def do_GET(self):
        body = json.dumps([{"id": i} for i in range(300)]).encode()
        with lock:
            time.sleep(0.0005)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
def ask():
    while True:
        client = http.client.HTTPConnection(*server.server_address)
        for i in range(50):
            client.request("GET", f"/item/{i}")
            client.getresponse().read()
        client.close()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
for _ in range(6):
    threading.Thread(target=ask, daemon=True).start()
server.serve_forever()
"""

PERL_WORK = """
while (1) {
    my %seen;
    for my $i (1 .. 5000) { my $k = "key" . ($i * 7919 % 1000); $seen{$k} .= substr($k, 1, 3); }
    my $text = join ",", sort keys %seen;
    $text =~ s/key(\\d+)/<$1>/g;
}
"""

SQLITE_WORK = """
CREATE TABLE t(a INTEGER, b TEXT);
INSERT INTO t WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
    SELECT x * 7919 % 10007, 'text ' || x FROM n;
CREATE INDEX i ON t(b);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)
    SELECT sum((SELECT count(*) FROM t WHERE b LIKE 'text ' || x || '%' AND a > x)) FROM n;
"""

# Debian's programs: stripped, optimized, without frame pointers. Each runs until it is killed.
STEADY = {
    "python3": ["/usr/bin/python3", "-c", PYTHON_WORK],
    "perl": ["/usr/bin/perl", "-e", PERL_WORK],
    "openssl": ["openssl", "speed", "-seconds", "1000", "rsa2048"],
    "sqlite3": ["sqlite3", ":memory:", SQLITE_WORK],
    "xz": ["xz", "-6", "-T1", "-c", "-f", *map(str, sorted(Path("/usr/bin").glob("[a-p]*")))],
}


@contextlib.contextmanager
def running(*commands, cpus=None, new_session=True):
    """Runs commands beside the block; each has a process group of its own, and a session, killed at the end."""
    started = []
    try:
        for i, command in enumerate(commands):
            pin = ["taskset", "-c", str(cpus[i])] if cpus else []
            started.append(subprocess.Popen(
                pin + [str(word) for word in command], start_new_session=new_session,
                process_group=None if new_session else 0,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        yield started
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def busy_machine(turn=10):
    """Keeps every CPU busy: each runs the steady programs by turns of so many seconds."""
    names = list(STEADY)
    need("taskset", *names)
    commands = []
    for i, _ in enumerate(CPUS):
        turns = names[i % len(names):] + names[:i % len(names)]
        words = [w for name in turns for w in ("--", *STEADY[name])]
        commands.append(["/usr/bin/python3", "-c", BY_TURNS, str(turn), *words])
    return running(*commands, cpus=CPUS)


# Ends each command after some seconds and begins the next: its group is that of `running`.
BY_TURNS = """
import subprocess, sys
seconds, commands = float(sys.argv[1]), []
for word in sys.argv[2:]:
    if word == "--":
        commands.append([])
    else:
        commands[-1].append(word)
while True:
    for command in commands:
        process = subprocess.Popen(command)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
"""


def probes_of(name, folder):
    """Builds probes of bench/: the command that attaches them. It says "ready" then, and ends with its input."""
    command = [folder / "empty_probes", folder / f"{name}.o"]
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-idirafter", "/usr/include/x86_64-linux-gnu", "-c",
                    ROOT / f"bench/{name}.bpf.c", "-o", command[1]], check=True)
    subprocess.run(["gcc", "-O2", ROOT / "bench/empty_probes.c", "-o", command[0], "-lbpf"], check=True)
    return command


@functools.cache
def roots(image):
    """
    Where in a file (from, to) the functions are at which a stack may begin: its ELF entry; what its
    unwind information marks by an undefined return address (clone() where the child begins); in
    libc __libc_start_main() and, right before it, its helper that calls main().
    """
    if not Path(image).is_file():
        return []
    places, fdes = [], []
    entry = re.search(r"Entry point address:\s+0x(\w+)",
                      output_of("readelf", "-hW", image, check=False))
    if entry and int(entry[1], 16):
        places.append((int(entry[1], 16), int(entry[1], 16) + 64))
    for line in output_of("readelf", "--debug-dump=frames", image, check=False).splitlines():
        fde = re.search(r" FDE .* pc=(\w+)\.\.(\w+)", line)
        if fde:
            fdes.append((int(fde[1], 16), int(fde[2], 16)))
        elif "DW_CFA_undefined: r16" in line and fdes:
            places.append(fdes[-1])
    start_main = re.search(r"([0-9a-f]{16}) +\d+ FUNC +GLOBAL +DEFAULT +\d+ __libc_start_main@",
                           output_of("readelf", "--dyn-syms", "-W", image, check=False))
    if start_main:
        places += [fde for fde in sorted(fdes) if fde[0] <= int(start_main[1], 16)][-2:]
    segments = [(int(line.split()[1], 16), int(line.split()[2], 16), int(line.split()[4], 16))
                for line in output_of("readelf", "-lW", image, check=False).splitlines()
                if line.split()[:1] == ["LOAD"]]
    return [(low - address + offset, high - address + offset) for low, high in places
            for offset, address, size in segments if address <= low < address + size]


def is_root(image, address):
    """Of a frame as perf writes it: a file, and an address in it."""
    return any(low <= address < high for low, high in roots(image))


Count = collections.namedtuple("Count", "complete stacks ends")


def count_perf(data, name):
    """Complete stacks, stacks with user frames, and where the others end."""
    text = output_of("perf", "script", "--no-inline", "-F", "comm,tid,ip,sym,dso", "-i", data,
                         "--comms", name)
    complete = stacks = 0
    ends = collections.Counter()
    for sample in text.split("\n\n"):
        frames = [re.match(r"\s+([0-9a-f]+) (.*) \((.*)\)$", line)
                  for line in sample.splitlines()[1:]]
        frames = [f for f in frames if f and int(f[1], 16) < 1 << 63]
        if not frames:
            continue
        stacks += 1
        address, symbol, image = frames[-1].groups()
        if is_root(image, int(address, 16)):
            complete += 1
        else:
            ends[f"{symbol} ({Path(image).name})"] += 1
    return Count(complete, stacks, ends)


ROOT_NAMES = {"_start", "__clone", "clone", "__clone3", "clone3", "__libc_start_main",
              "__libc_start_call_main"}


# Machine and tables

def processes_started():
    """How many since boot."""
    return int(next(line.split()[1] for line in open("/proc/stat") if line.startswith("processes")))


def busy_ns():
    """CPU time that the whole machine has worked since boot, in ns: all but idle, waiting for disks and stolen."""
    user, nice, system, _, _, irq, softirq = (int(word) for word in open("/proc/stat").readline().split()[1:8])
    return (user + nice + system + irq + softirq) * 10**9 // os.sysconf("SC_CLK_TCK")


def spread(values):
    """Half the distance between the quartiles, as a part of the median."""
    middle = statistics.median(values)
    if len(values) < 3 or not middle:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2 / middle


def with_spread(values, form="{:.3g}"):
    text = form.format(statistics.median(values))
    return f"{text} ± {spread(values) * 100:.0f} %" if len(values) >= 3 else text


def megabytes(size):
    return f"{size / 1e6:.3g} MB"


NOISE = "within the noise"


def at_most(values, goal):
    """Whether that goal is met by what rounds measured: true or false if three of four rounds say so, else NOISE."""
    low, high = min(values), max(values)
    if len(values) >= 3:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return True if high <= goal else False if low > goal else NOISE


def at_least(values, goal):
    return at_most([-value for value in values], -goal)


def verdict(met):
    """Of true, false, NOISE, or None where too little was measured."""
    return {True: "met", False: "**missed**", None: "too little measured"}.get(met, met)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def goals(rows):
    """Prints the table of goals; a row: what, goal, measured, ratio or "", whether it is met."""
    table(["what", "goal", "measured", "ratio", "verdict"],
          [(*row[:4], verdict(row[4])) for row in rows])


def say(words):
    print(words + "\n")
