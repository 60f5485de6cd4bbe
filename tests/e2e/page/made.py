# SPDX-License-Identifier: Apache-2.0
"""What made-up answers are of: services, stacks, endpoints and classes, and a profile of them."""
NOW = 1_795_271_528  # 2026-11-21 14:32:08 UTC
SPANS = NOW - 8  # the start of what is explained, and of its spans
HOUR = 3600
LATE = 6  # s, of what is not there yet
HOSTILE = "</script><img src=x onerror=window.hacked=1>\u202e\x1b[31m<b>{{1}}"

LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
API = "/srv/api/bin/api-server"
# service: (host, version, labels, CPUs on average)
SERVICES = {
    "api.service": ("web-1", "a1b2c3d4", "env=prod", 0.61),
    "postgresql.service": ("db-1", "15.8", "env=prod", 0.34),
    "worker.service": ("web-1", "a1b2c3d4", "env=test", 0.22),
    "redis.service": ("db-1", "7.2", "env=prod", 0.08),
    "sshd.service": ("web-1", "", "", 0.004),
}
# stacks: root first, (name, image, kind); their weight in per mille
KERNEL = [("entry_SYSCALL_64_after_hwframe", "[kernel]", "kernel"), ("do_syscall_64", "[kernel]", "kernel")]
MAIN = [("_start", API, "native"), ("__libc_start_main", LIBC, "native"), ("main", API, "native"),
        ("http::Server::run(http::Options const&)", API, "native")]
HANDLE = MAIN + [("http::Server::dispatch(http::Request&)", API, "native"),
                 ("handle_orders(Request const&, Response&)", API, "native")]
PYTHON = [("_start", "/usr/bin/python3.11", "native"), ("<module>", "worker.py", "python"),
          ("run_forever", "worker.py", "python"), ("Job.execute", "jobs.py", "python")]
STACKS = [
    (HANDLE + [("json::parse(std::string_view)", API, "native"), ("malloc", LIBC, "native")], 130),
    (HANDLE + [("json::parse(std::string_view)", API, "native")], 160),
    (HANDLE + [("render_template(Template const&)", API, "native"), ("memcpy", LIBC, "native")], 90),
    (HANDLE + [("render_template(Template const&)", API, "native")], 110),
    (HANDLE + [("db_query(char const*)", API, "native"), ("send", LIBC, "native")] + KERNEL +
     [("__x64_sys_sendto", "[kernel]", "kernel"), ("tcp_sendmsg", "[kernel]", "kernel")], 120),
    (MAIN + [("epoll_wait", LIBC, "native")] + KERNEL +
     [("__x64_sys_epoll_wait", "[kernel]", "kernel")], 60),
    (PYTHON + [("resize", "jobs.py", "python"), ("ImagingResample", "_imaging.so", "native")], 180),
    (PYTHON + [("resize", "jobs.py", "python")], 40),
    (PYTHON + [("json.dumps", "json/__init__.py", "python")], 60),
    ([("java.lang.Thread.run()", "[jit]", "java"), ("Indexer.merge(int[])", "[jit]", "java")], 30),
    ([("[truncated: stack memory not readable]", "", "mark")], 20),
]


# Words for events, as src/film/events.c has them.
EVENTS = {"on-cpu": ("On-CPU", "CPUs", "samples"), "off-cpu": ("Off-CPU", "threads waiting", "waits"),
          "lock": ("Locks", "threads waiting for locks", "waits"),
          "mem-grow": ("Memory growth", "bytes/s", "faults"),
          "calls": ("Calls", "threads", "calls"), "threads": ("Threads", "threads waiting", "turns")}


def event_type(name):
    title, rate, noun = EVENTS.get(name, (name, "threads", "samples"))
    unit, scale = ("bytes", 1) if rate == "bytes/s" else ("ns", 10**9)
    return {"name": name, "unit": unit, "title": title, "rate": rate, "rate_scale": scale, "noun": noun, "about": "",
            "calls": name == "calls", "level": False, "interval": name in ("off-cpu", "lock", "threads", "requests"), "locks": name == "lock",
            "slices": name == "threads", "requests": name == "requests", "usual": name == "on-cpu"}


ENDPOINTS = (("GET /orders/*", "served", 2000), ("POST /login", "served", 300), ("SELECT ? FROM orders", "made", 1500))
ROWS = [0] + [(1024 << row // 2) * (3 if row % 2 else 2) // 2 for row in range(1, 54)]
CLASSES = ["on-cpu", "woken", "preempted", "hole", "other", "ready", "stopped", "page-fault", "disk", "no-work", "io_uring",
           "child", "sleep", "poll", "lock", "accept", "connect", "socket-read", "socket-write", "ipc", "signal", "file"]
WAITS = ("lock", "socket-read", "disk", "ipc", "sleep")


class Profile:
    """Stacks to what the API says of them."""

    def __init__(self, stacks, total):
        self.labels = []
        self.nodes = [{"parent": 0, "label": -1, "self": 0, "total": 0, "children": {}}]
        self.functions = {}
        whole = sum(weight for _, weight in stacks)
        for stack, weight in stacks:
            self.add(stack, int(total * weight / whole))
        self.total = self.nodes[0]["total"]

    def label(self, frame):
        if frame not in self.labels:
            self.labels.append(frame)
        return self.labels.index(frame)

    def add(self, stack, value):
        at = 0
        self.nodes[0]["total"] += value
        for frame in stack:
            children = self.nodes[at]["children"]
            if frame not in children:
                children[frame] = len(self.nodes)
                self.nodes.append({"parent": at, "label": self.label(frame), "self": 0, "total": 0,
                                   "children": {}})
            at = children[frame]
            self.nodes[at]["total"] += value
        self.nodes[at]["self"] += value
        for frame in set(stack):
            row = self.functions.setdefault(frame, [0, 0])
            row[0] += value if stack[-1] == frame else 0
            row[1] += value

    def flame(self, before=None):
        """With the same tree as it was before, its nodes scaled to this one's total."""
        order, at = [0], 0
        while at < len(order):
            children = self.nodes[order[at]]["children"].values()
            order += sorted(children, key=lambda node: -self.nodes[node]["total"])
            at += 1
        place = {node: i for i, node in enumerate(order)}
        nodes = {name: [self.nodes[node][name] for node in order] for name in ("label", "self", "total")}
        nodes["parent"] = [place[self.nodes[node]["parent"]] for node in order]
        if before:
            for name in ("self", "total"):
                nodes[f"before_{name}"] = [int(before.nodes[node][name] * self.total / max(before.total, 1))
                                           for node in order]
        columns = zip(*self.labels) if self.labels else ((), (), ())
        names, images, kinds = (list(column) for column in columns)
        return {"labels": {"name": names, "image": images, "kind": kinds,
                           "file": ["src/orders.cc" if "orders" in name else "" for name in names],
                           "line": [120 if "orders" in name else 0 for name in names]},
                "nodes": nodes, "hidden": 0}

    def rows(self, before=None):
        rows = []
        for (name, image, kind), (own, total) in self.functions.items():
            row = {"name": name, "image": image, "kind": kind, "self": own, "total": total}
            if before:
                row["before_self"], row["before_total"] = before.functions[(name, image, kind)]
            rows.append(row)
        return sorted(rows, key=lambda row: -row["self"])


def seconds_of(word):
    units = {"s": 1, "m": 60, "h": HOUR, "d": 24 * HOUR}
    if word == "now":
        return NOW
    if word.startswith("-"):
        return NOW - float(word[1:-1]) * units[word[-1]]
    return float(word)
