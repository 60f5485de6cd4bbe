# SPDX-License-Identifier: Apache-2.0
"""A server with made-up answers for the page: the awkward cases that a real one has seldom.

It serves the built page with the headers of the real server and answers the API from a small profile that
is always the same. What it does wrong, or slowly, is set while it runs:

    server.behave(stored=False)     an empty store
    server.behave(status=503)       each question fails so; 0: the connection is cut
    server.behave(token="secret")   only who brings that is answered
    server.behave(hold={"flame"})   that answer is held back until release()
    server.behave(film=True)        one film, as "stackcam play" has it
    server.behave(events=["calls"]) what was filmed
    server.behave(many=400)         so many services, each with 40 versions, beside those that are always there
    server.behave(deployed=True)    a new version of api.service, which takes twice as much for JSON
    server.behave(young=120)        a store that began so many seconds ago
    server.behave(marks=True)       a deployment and a new version 10 and 5 minutes ago
    server.behave(cut=True)         there is no room for all slices of a timeline
    server.behave(cpus=True)        lanes of CPUs, too: above all others
    server.behave(beside=True)      what the machine did beside the lanes of threads, and what threads logged
    server.behave(summary=True)     of calls only sums were kept
"""
import gzip
import json
import math
import pathlib
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOW = 1_795_271_528  # 2026-11-21 14:32:08 UTC
SPANS = NOW - 8  # the start of what is explained, and of its spans
HOUR = 3600
LATE = 6  # s, of what is not there yet
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css",
         "svg": "image/svg+xml"}
HOSTILE = "</script><img src=x onerror=window.hacked=1>\u202e\x1b[31m<b>{{1}}"

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from openapi import Api as Description  # noqa: E402

DESCRIPTION = Description()
# what each question may have, as the real server checks it
PARAMETERS = {path.removeprefix("/api/v1/"): {parameter["name"] for parameter in DESCRIPTION.parameters(operation)}
              for method, path, operation in DESCRIPTION.operations() if method == "GET"}

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
          "calls": ("Calls", "threads", "calls"), "threads": ("Threads", "threads waiting", "turns")}


def event_type(name):
    title, rate, noun = EVENTS.get(name, (name, "threads", "samples"))
    return {"name": name, "unit": "ns", "title": title, "rate": rate, "rate_scale": 10**9, "noun": noun, "about": "",
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


class Api:
    """The answers to questions."""

    def __init__(self, server):
        self.server = server

    def sum_of(self, ask, total, prefix=""):
        first = self.first()
        at_from = seconds_of(ask.get(prefix + "from", str(first)))
        at_to = seconds_of(ask.get(prefix + "to", str(NOW)))
        return {"from": at_from, "to": at_to, "samples": total // 10_000_000, "total": total, "truncated": 3,
                "guessed": 12, "lost": 7, "lost_samples": 4, "unit": "ns", "complete_from": at_from,
                "complete_until": min(at_to, NOW - LATE),
                "filmed": max(min(at_to, NOW - LATE) - max(at_from, first), 0), "by_films": False,
                "films_damaged": 0, "films_unread": 0}

    def first(self):
        return NOW - 12 if self.server.film else NOW - (self.server.young or 30 * HOUR)

    def cpus(self, ask):
        """Per service that fits: CPUs on average."""
        wanted = {name: ask.get(name) for name in ("host", "service", "version", "label")}
        if self.server.deployed and wanted["version"] == "e5f6a7b8":
            wanted["version"] = "a1b2c3d4"
        found = {}
        if self.server.many and (wanted["service"] or "").startswith("job-"):
            return {wanted["service"]: 0.082}
        for service, (host, version, labels, cpus) in SERVICES.items():
            has = {"host": host, "service": service, "version": version, "label": labels}
            if wanted["service"] == HOSTILE:
                wanted["service"] = "api.service"
            if all(not want or has[name] == want for name, want in wanted.items()):
                found[HOSTILE if self.server.hostile and service == "api.service" else service] = cpus
        return found

    def profile(self, ask, prefix=""):
        at = self.sum_of(ask, 0, prefix)
        stacks = STACKS
        if self.server.hostile:
            stacks = [([(HOSTILE, HOSTILE, "native")], 100), ([(HOSTILE * 40, "", HOSTILE)], 50)]
        if ask.get("focus"):
            name = ask["focus"].strip("^$").replace("\\", "")
            stacks = [row for row in stacks if any(name in frame[0] for frame in row[0])]
        if prefix:  # before, JSON took less
            stacks = [(stack, weight // 2 if any("json" in frame[0] for frame in stack) else weight)
                      for stack, weight in stacks]
        if ask.get("by") == "lock":
            stacks = [([(self.locks_of()[i % 2], "", "mark")] + stack, weight) for i, (stack, weight) in enumerate(stacks)]
        other = {name: ask.get(prefix + name, ask.get(name)) for name in ("host", "service", "version", "label")}
        total = sum(self.cpus(other).values()) * max(at["complete_until"] - at["from"], 0) * 1e9 * self.server.busy
        return Profile(stacks, total if at["to"] > self.first() else 0)

    def status(self, _ask):
        has = self.server.stored
        return {"version": "0.1.0", "host": "web-1", "camera": None, "now": NOW, "started": NOW - 30 * HOUR,
                "filming": not self.server.film, "one_film": self.server.film,
                "read_only": self.server.film,
                "events": self.server.events,
                "event_types": [event_type(name) for name in self.server.events],
                "recorder": None if self.server.film else
                {"samples": 1_284_331, "lost": 7, "cpu": 0.0042, "frequency": 99},
                "process": {"cpu_seconds": 431.5, "rss_bytes": 58_300_000},
                "store": {"films": 30 if has else 0, "bytes": 61_200_000, "first": self.first() if has else 0,
                          "last": NOW if has else 0, "hosts": 2, "series": 5, "set_aside": 0, "later": 0, "taken": 0,
                          "again": 0, "removed": 0, "full": False}}

    def series(self, ask):
        at = self.sum_of(ask, 0)
        rows = [{"host": host, "service": service, "version": version, "labels": labels, "samples": 100,
                 "total": int(cpus * at["filmed"] * 1e9)}
                for service, (host, version, labels, cpus) in SERVICES.items()]
        rows[0]["total"] = int(rows[0]["total"] * (1 if at["to"] > NOW - HOUR / 2 else 0.5))  # it has grown
        if self.server.deployed and at["to"] > NOW - HOUR / 2:
            rows.append({**rows[0], "version": "e5f6a7b8", "total": rows[0]["total"] * 2 // 3})
            rows[0]["total"] //= 3
        for i in range(self.server.many):
            rows += [{"host": "web-1", "service": f"job-{i:03}.service", "version": f"v{version}", "labels": "",
                      "samples": 1, "total": int(at["filmed"] * 1e5 * (40 - version))} for version in range(40)]
        rows = [row for row in rows if all(not ask.get(name) or row[name] == ask[name]
                                           for name in ("host", "service", "version"))]
        if self.server.hostile and rows:
            rows[0]["service"] = HOSTILE * 10
        total = sum(row["total"] for row in rows)
        rows = sorted(rows, key=lambda row: -row["total"])[:int(ask.get("limit", 200))]
        return {"sum": self.sum_of(ask, total), "series": rows, "others": total - sum(row["total"] for row in rows)}

    def locks_of(self):
        return (f"[mutex {HOSTILE}]",) * 2 if self.server.hostile else ("[mutex guard in app]", "[Java monitor 0x7f10 of java (12)]")

    def locks(self, ask):
        held = ("[owner: flusher (12)]", "[releaser: gc (13)]", "[holder not known]")
        locks = [{"name": name, "waits": 40 - 30 * i, "total": (9 - 5 * i) * 10**9, "longest": 8 * 10**8,
                  "holders": [{"name": holder, "waits": 10, "total": 10**9} for holder in held[i:]], "holders_hidden": i}
                 for i, name in enumerate(dict.fromkeys(self.locks_of()))]
        return {"sum": self.sum_of(ask, 13 * 10**9), "cut": False, "locks": locks, "locks_hidden": 3}

    def heat(self, ask):
        at = self.sum_of(ask, 10**9)
        seconds = max(int(at["to"] - at["from"]), 1)
        cells = [20_000_000 * ((second * 7 + row) % 11 == 0) + 10_000_000 * (20 <= row < 30 and second % 5 == 0)
                 for second in range(seconds) for row in range(50)]
        return {"sum": at, "first": int(at["from"]), "seconds": seconds, "rows": 50, "most": max(cells), "cells": cells}

    def timeline(self, ask):
        at = self.sum_of(ask, 0)
        steps = max(1, min(int(ask.get("steps", 60)), int((at["to"] - at["from"]) / 60)))
        step = (at["to"] - at["from"]) / steps
        rows = []
        for service, cpus in self.cpus(ask).items():
            name = {"service": service, "host": SERVICES.get(service, ("web-1",))[0],
                    "version": SERVICES.get(service, ("", "a1b2c3d4"))[1],
                    "label.env": SERVICES.get(service, ("", "", ""))[2].removeprefix("env=")}.get(ask.get("group"), "")
            values = [max(0, int(cpus * step * 1e9 * (1 + 0.5 * math.sin(i / steps * 9 + cpus * 20) +
                                                     (0.8 if 0.6 < i / steps < 0.66 else 0)))) for i in range(steps)]
            values[-1] = int(values[-1] * max(0, 1 - (at["to"] - at["complete_until"]) / step))
            if at["to"] <= self.first():
                values = [0] * steps
            same = next((row for row in rows if row["name"] == name), None)
            if same:
                same["values"] = [a + b for a, b in zip(same["values"], values)]
            else:
                rows.append({"name": name, "values": values})
        if self.server.many and ask.get("group") == "service" and not ask.get("service"):
            rows += [{"name": f"job-{i:03}.service", "values": [int(step * 8.2e7)] * steps}
                     for i in range(self.server.many)]
            most = int(ask.get("rows", 10))
            rows, rest = rows[:most], rows[most:]
            rows.append({"name": "", "values": [sum(values) for values in zip(*(row["values"] for row in rest))]})
        if ask.get("function"):
            for row in rows:
                row["values"] = [value // 4 for value in row["values"]]
        for row in rows:
            row["total"] = sum(row["values"])
        rows.sort(key=lambda row: -row["total"])
        return {"sum": self.sum_of(ask, sum(row["total"] for row in rows)), "step": step, "rows": rows}

    def flame(self, ask):
        profile = self.profile(ask)
        functions = {"functions": profile.rows()} if ask.get("functions") == "1" else {}
        if "request" in ask:
            functions["request"] = {"id": ask["request"], "shared": 2, "not_known": 1500,
                                    "not_linked": ["tasks of asyncio"] if self.server.unlinked else []}
        return {"sum": self.sum_of(ask, profile.total), "unit": "ns", **profile.flame(), **functions}

    def calls(self, ask):
        """A server of 400 requests, of which each hundredth waits; made of powers of two, 2^power: so many."""
        handle, query = {11: 300, 12: 96, 20: 4}, {9: 790, 10: 6, 19: 4}
        name = HOSTILE if self.server.hostile else "db_query(char const*)"
        if ask.get("focus") == "nothing":
            handle = query = {}
        rows = [("handle", API, handle), (name, API, query)] if handle else []
        total = {row[0]: sum(n * 2**power for power, n in row[2].items()) for row in rows}
        functions = [{"name": name, "image": image, "calls": sum(powers.values()) + 1, "inferred": 2, "open": 1,
                      "cut": 0, "self": total[name] // 2, "total": total[name], "on_cpu": total[name] // 4,
                      "avg": total[name] // sum(powers.values()), "min": 600, "p50": 2**min(powers) + 50,
                      "p99": 2**sorted(powers)[1] + 100, "max": 2**max(powers) + 7,
                      "histogram": [{"power": power, "calls": n} for power, n in sorted(powers.items())]}
                     for name, image, powers in rows]
        functions.append({"name": "main", "image": API, "calls": 1, "inferred": 0, "open": 1, "cut": 0,
                          "self": 100, "total": 10**7, "on_cpu": 10**6, "histogram": [],
                          **dict.fromkeys(("avg", "min", "p50", "p99", "max"))}) if rows else None
        whole = 10**7 if rows else 0
        answer = Profile([([("main", API, "native")] + [(row[0], API, "native") for row in rows], 100)] if rows else [],
                         whole).flame()
        return {"sum": self.sum_of(ask, whole), "unit": "ns", "summary": self.server.summary, **answer,
                "functions": functions, "functions_hidden": 0, "calls": sum(row["calls"] for row in functions)}

    def values(self, ask):
        """The calls of "handle" alone have values: i of 400 was given id i % 4, and took 1000 * (i + 1) ns."""
        *_, answer = self.of_time(ask)
        name = HOSTILE if self.server.hostile else "name"
        calls = [{"function": "handle", "start": 10**6 * i, "duration": 1000 * (i + 1), "host": "web-1", "pid": 100, "tid": 101,
                  "comm": "worker-1", "goroutine": i % 2, "arguments": f'id={i % 4}, {name}="order {i}"', "results": str(i)}
                 for i in range(400) if ask.get("function") in (None, "handle")]
        calls = [call for call in calls if ask.get("search", "") in call["arguments"]]

        def amount(some):
            return {"calls": len(some), "ended": len(some), "total_ns": sum(call["duration"] for call in some),
                    "max_ns": max((call["duration"] for call in some), default=0)}

        def of(number):
            return [call for call in calls if call["arguments"].startswith(f"id={number},")]
        ids = [number for number in range(4) if of(number)]
        column = {"of": name if ask.get("value") == name else "id", "distinct": len(ids),
                  "values": [{"value": str(number), **amount(of(number))} for number in ids], "others": amount([])}
        heat = {"by": ask.get("value"), "calls": len(calls), "rows": [
            {"value": str(number), "calls": len(of(number)), "total_ns": amount(of(number))["total_ns"], "buckets": [
                {"from_ns": 2**power, "calls": n} for power in range(40)
                if (n := sum(2**power <= call["duration"] < 2**(power + 1) for call in of(number)))]} for number in ids]}
        slowest = sorted(calls, key=lambda call: -call["start" if ask.get("sort") == "latest" else "duration"])
        return {"sum": answer["sum"], "base": answer["base"], "count": len(calls),
                "functions": [{"function": "handle", **amount(calls), "p50_ns": 1, "p90_ns": 1, "p99_ns": 1, "buckets": [],
                               "columns": [column], "left_out": 0, "slowest": []}] if calls else [],
                "heat": heat if ask.get("value") else None, "calls": slowest[:int(ask.get("limit", 100))]}

    def functions(self, ask):
        profile = self.profile(ask)
        return {"sum": self.sum_of(ask, profile.total), "functions": profile.rows(), "others": 0}

    def diff(self, ask):
        now, before = self.profile(ask), self.profile(ask, "before_")
        return {"sum": self.sum_of(ask, now.total), "before": self.sum_of(ask, before.total, "before_"),
                "unit": "ns", **now.flame(before), "functions": now.rows(before)}

    def sandwich(self, ask):
        wanted = ask["name"]
        above, below = [], []
        profile = self.profile(ask)
        for stack, weight in STACKS:
            names = [frame[0] for frame in stack]
            if wanted in names:
                at = names.index(wanted)
                above.append((stack[at::-1], weight))
                below.append((stack[at:], weight))
        own, total = next((counts for frame, counts in profile.functions.items() if frame[0] == wanted), (0, 0))
        return {"sum": self.sum_of(ask, profile.total), "unit": "ns", "self": own, "total": total,
                "callers": Profile(above, total).flame(), "callees": Profile(below, total).flame()}

    def places(self, ask):
        profile = self.profile(ask)
        rows = {name: counts for (name, _, _), counts in profile.functions.items()}
        own, total = rows.get(ask["name"], (0, 0))
        image = HOSTILE if self.server.hostile else ask.get("image", "")
        parts = [(own - own // 4, total - total // 4), (own // 4, total // 4)]
        found = self.sum_of(ask, profile.total) | {"films_unread": self.server.unread}
        return {"sum": found, "self": own, "total": total,
                "builds": [{"image": image, "build_id": f"{i}a" * 20, "self": one, "total": all_of_it}
                           for i, (one, all_of_it) in enumerate(parts) if total],
                "lines": [{"file": "src/orders.cc", "line": 120 + i, "self": one, "total": all_of_it}
                          for i, (one, all_of_it) in enumerate(parts) if total and "orders" in ask["name"]]}

    def processes(self, ask):
        rows = []
        for number, (service, cpus) in enumerate(self.cpus(ask).items()):
            host = SERVICES.get(service, ("web-1",))[0]
            total = int(cpus * 1e9)
            comm = service.removesuffix(".service")[:15]
            # of the first one there are two
            for pid, part in ((100 + number, 2), (200 + number, 2)) if not number else ((100 + number, 1),):
                threads = [{"tid": tid, "comm": name, "samples": 10, "total": total // part // 2}
                           for tid, name in ((pid, comm), (pid + 1000, "io*"))]
                rows.append({"host": host, "service": service, "pid": pid, "comm": comm, "samples": 20,
                             "command": f"/srv/{comm} --listen 80{pid}", "total": total // part, "threads": threads})
        found = self.sum_of(ask, sum(row["total"] for row in rows)) | {"films_unread": self.server.unread}
        return {"sum": found, "processes": rows, "others": 0}

    def losses(self, ask):
        return {"lost": 12, "films_unread": 0, "losses": [{"reason": HOSTILE if self.server.hostile else "samples: no room for them", "count": 4, "kind": "sample"},
                                      {"reason": "python frame without a name: the process had ended", "count": 3, "kind": "name"}]}

    def marks(self, ask):
        words = HOSTILE * 20 if self.server.hostile else "faster checkout"
        apart = 3 if self.server.film else 300  # seconds: a film is 12 s long
        marks = [{"time": NOW - 2 * apart, "host": "", "service": "api.service", "version": "1.3", "text": words, "derived": False},
                 {"time": NOW - apart, "host": "", "service": "worker.service", "version": "0123456789abcdef", "text": "",
                  "derived": True}]
        if self.server.kept:
            marks.append({"time": NOW - 60, "host": "web1", "service": "", "version": "", "text": self.server.kept,
                          "derived": False})
        marks = [mark for mark in marks if ask.get("service", mark["service"]) == mark["service"] and
                 seconds_of(ask["from"]) <= mark["time"] < seconds_of(ask["to"])] if self.server.marked else []
        return {"from": seconds_of(ask["from"]), "to": seconds_of(ask["to"]), "marks": marks, "others": self.server.more_marks}

    def lanes_of(self, ask):
        """Two processes: the first one's threads run and wait in turn; the other's sleeps, with a hole in its life."""
        name = HOSTILE if self.server.hostile else "api-server"
        lanes = [(100, 100 + i, name if i == 0 else f"worker-{i}", i) for i in range(30)] + [(300, 300, "redis", 30)]
        lanes += [(100, i, f"goroutine {i}", i) for i in range(1, self.server.goroutines + 1)]
        lanes += [(300, i, f"Task-{i} work", i) for i in range(1, self.server.tasks + 1)]
        wanted = set(ask.get("lanes", "").split(",")) - {""}
        return [lane for lane in lanes if not wanted or self.key_of(lane) in wanted]

    @staticmethod
    def is_goroutine(lane):
        return lane[2].startswith(("goroutine ", "Task-"))

    def key_of(self, lane):
        return f"{lane[0]}.{'g' * self.is_goroutine(lane)}{lane[1]}"

    def slices_of(self, number, start, end):
        """(class, ns since the first film, length): a turn of the lane takes 1 ms and some."""
        if number == 30:
            return [(part, max(a, start), min(b, end)) for part, a, b in
                    ((CLASSES.index("poll"), 0, 4 * 10**9), (CLASSES.index("hole"), 4 * 10**9, 5 * 10**9),
                     (CLASSES.index("poll"), 5 * 10**9, 10**14)) if a < end and b > start]
        turn, found = 10**6 * (5 + number), []
        for at in range(start // turn * turn, end, turn):
            parts = ((0, 0.3), (CLASSES.index(WAITS[number % len(WAITS)]), 0.9), (1, 1))
            begin = at
            for which, until in parts:
                stop = at + int(turn * until)
                if stop > start and begin < end:
                    found.append((which, max(begin, start), min(stop, end)))
                begin = stop
        return found

    def of_time(self, ask):
        first = int(self.first() * 10**9)
        start, end = (int(round(seconds_of(ask.get(name, str(usual))) * 10**9)) for name, usual in
                      (("from", self.first()), ("to", NOW)))
        return first, start, end, {"sum": self.sum_of(ask, 0), "base": str(start), "length": end - start, "classes": CLASSES}

    def requests_of(self, ask):
        """Of each endpoint: (number, ns since the first film when it ended, ns that it took), one slower than the other."""
        first, start, end, _ = self.of_time(ask)
        for name, role, count in ENDPOINTS:
            if ask.get("role") in (None, role):
                yield (HOSTILE if self.server.hostile else name), role, [
                    (n, at, 200_000 + 137 * n if n % 100 else 90_000_000 + n) for n, at in
                    ((n, n * 5 * 10**6) for n in range(1, count + 1)) if start - first <= at < end - first]

    def requests(self, ask):
        first, start, _, answer = self.of_time(ask)
        steps, limit = int(ask.get("steps", 0)), int(ask.get("limit", 100))
        step = answer["length"] // max(steps, 1) + 1
        endpoints, cells, slowest = [], [0] * (steps * len(ROWS)), []
        for name, role, found in self.requests_of(ask):
            lengths = sorted(length for *_, length in found) or [0]
            endpoints.append({"endpoint": name, "protocol": "http" if role == "served" else "postgresql", "role": role,
                              "count": len(found), "failed": len(found) // 100, "open": 0, "total": sum(lengths),
                              **{word: lengths[min(len(lengths) * part // 100, len(lengths) - 1)]
                                 for word, part in (("p50", 50), ("p90", 90), ("p99", 99), ("longest", 100))}})
            if ask.get("endpoint") not in (None, name):
                continue
            for n, at, length in found:
                if steps:
                    row = max(row for row, least in enumerate(ROWS) if least <= length)
                    cells[(at - (start - first)) // step * len(ROWS) + row] += 1
                if int(ask.get("least", 0)) <= length <= (int(ask.get("most", 0)) or 10**18):
                    slowest.append({"name": HOSTILE if self.server.hostile else f"id-{n}", "number": f"{n:016x}", "parent": "",
                                    "endpoint": name, "path": name.replace("*", str(n)).split(" ")[1] if " " in name else "",
                                    "protocol": "http", "role": role, "status": 500 if n % 100 == 0 else 200,
                                    "failed": n % 100 == 0, "open": False, "end": at - (start - first), "duration": length,
                                    "first_byte": length // 2, "received": 80, "sent": 200, "peer": "127.0.0.1:40000",
                                    "host": "web-1", "pid": 100, "tid": 100 + n % 30, "process": "api-server",
                                    "comm": f"worker-{n % 30}"})
        answer.pop("classes")
        return answer | {"count": sum(row["count"] for row in endpoints), "failed": sum(row["failed"] for row in endpoints),
                         "open": 0, "cut": False, "endpoints": endpoints[:int(ask.get("endpoints", 200))],
                         "endpoints_hidden": 0, "step": step, "rows": ROWS, "map": cells,
                         "slowest": sorted(slowest, key=lambda row: -row["duration"])[:limit]}

    def services(self, ask):
        """A front that asks two services and a database that nobody films; one of the two fails now and then."""
        *_, answer = self.of_time(ask)
        figures = lambda count, failed: {"count": count, "failed": failed, "open": 0, "total": count * 2_000_000,  # noqa: E731
                                         "p50": 1_500_000, "p90": 4_000_000, "p99": 9_000_000, "longest": 12_000_000}
        names = [HOSTILE if self.server.hostile else name for name in ("front", "orders", "stock")]
        calls = ((0, 1, "10.0.0.2:8080", "http", 900, 0), (0, 2, "10.0.0.3:8080", "http", 600, 7),
                 (1, None, "10.0.0.9:5432", "postgresql", 1500, 0), (2, 0, "10.0.0.1:80", "http", 3, 0))
        return {"sum": answer["sum"], "cut": False,
                "services": [figures(count, failed) | {"host": "web-1", "service": name, "made": 1500, "made_failed": 7}
                             for name, count, failed in zip(names, (1000, 900, 600), (0, 0, 7))],
                "calls": [figures(count, failed) | {"from": one, "to": to, "several": False, "peer": peer, "protocol": protocol,
                                                    "for_served": count * 1_000_000}
                          for one, to, peer, protocol, count, failed in calls]}

    def explain(self, ask):
        thread = lambda tid: {"pid": 100, "tid": tid, "comm": HOSTILE if self.server.hostile else f"worker-{tid - 100}"}  # noqa: E731
        part = lambda kind, ms, words, parts=(): {  # noqa: E731
            "kind": kind, "duration": ms * 10**6, "object": None, "thread": thread(101), "waker": None, "holder": None, "queue": 0, "end": "cpu",
            "words": HOSTILE if self.server.hostile else words, "evidence": "3 slices, the longest 20 ms", "count": 3,
            "longest": 20 * 10**6, "likely": False, "stack": ["fsync", "flush"], "parts": list(parts)}
        parts = [part("mutex", 60, "waiting for mutex 0x7f10 held by flusher (101)",
                      [part("disk", 50, "waiting for disk, fsync(/var/lib/app/wal)"), part("on-cpu", 10, "on CPU")]),
                 part("on-cpu", 30, "on CPU, most of it in parse_order"), part("hole", 1, "not explained: records were lost")]
        return {"film": {}, "loss": {}, "groups": [], "goroutines": [], "requests": [
            {"id": ask["request"], "endpoint": "GET /orders/*", "path": "/orders/7", **thread(100), "start": "2026-11-21T14:32:00Z",
             "duration": 91 * 10**6, "unexplained": 10**6, "cause": {"kind": "sleep", "words": "sleeping", "duration": 20 * 10**6, "object": None, "thread": {**thread(102), "pid": 7}},
             "more_threads": "no", "more_threads_why": "the lock is held by one",
             "not_linked": ["tasks of asyncio"] if self.server.unlinked else [], "at_once": None, "open": False,
             "disk_users": [], "parts": parts}]}

    def spans(self, ask):
        base = SPANS * 10**9
        name = HOSTILE if self.server.hostile else "price_order"
        one = lambda number, parent, depth, start, ms, status="unset": {  # noqa: E731
            "trace": "0af7651916cd43dd8448eb211c80319c", "id": f"{number:016x}", "parent": f"{parent:016x}" if parent else "", "depth": depth,
            "name": name if depth else "GET /orders", "service": "shop", "host": "web-1", "pid": 100, "tid": 101, "kind": "server",
            "status": status, "start": str(base + start * 10**6), "duration": ms * 10**6}
        return {"spans": [one(1, 0, 0, 0, 91), one(2, 1, 1, 10, 40, "error")], "cut": False, "kept": 2, "dropped": 0}

    def timeline_lanes(self, ask):
        first, start, end, answer = self.of_time(ask)
        lanes = []
        for lane in self.lanes_of(ask):
            pid, tid, comm, number = lane
            ns, slices = [0] * len(CLASSES), [0] * len(CLASSES)
            for which, a, b in self.slices_of(number, start - first, min(end - first, start - first + 12 * 10**9)):
                ns[which] += b - a
                slices[which] += 1
            lanes.append({"host": self.server.hosts[len(lanes) % len(self.server.hosts)], "pid": pid, "tid": tid,
                          "goroutine": self.is_goroutine(lane), "comm": comm,
                          "kind": "task" if comm.startswith("Task-") else ("thread", "goroutine")[self.is_goroutine(lane)],
                          "process": comm if tid == pid else "api-server", "command": f"/srv/{comm}",
                          "not_linked": ["tasks of asyncio"] if self.server.unlinked else [], "ns": ns, "slices": slices})
        if ask.get("shown"):
            for lane, drawn in zip(lanes[:int(ask["shown"])], self.timeline_slices(ask)["lanes"]):
                lane["runs"] = drawn["runs"]
        steps = int(ask.get("steps", 0))
        return answer | {"threads": len(lanes), "cut": False, "lanes": lanes, "running": [10**9 + i for i in range(steps)],
                         "ready": [10**8] * steps}

    def timeline_slices(self, ask):
        first, start, end, answer = self.of_time(ask)
        pixel, lanes = int(ask["pixel"]), []
        for lane in self.lanes_of(ask):
            pid, tid, _, number = lane
            runs, open_run, at = [], None, start - first
            for which, a, b in self.slices_of(number, start - first, min(end - first, start - first + 60 * 10**9)):
                if open_run and (b - a >= pixel or b - open_run[1] > pixel):
                    runs += [0, open_run[2] - open_run[1], open_run[0], open_run[3], open_run[2] - open_run[1]]
                    open_run = None
                if b - a >= pixel:
                    runs += [0, b - a, which, 1, b - a]
                else:
                    open_run = [which, open_run[1] if open_run else a, b, open_run[3] + 1 if open_run else 1]
                at = b
            if open_run:
                runs += [0, open_run[2] - open_run[1], open_run[0], open_run[3], open_run[2] - open_run[1]]
            lanes.append({"pid": pid, "tid": tid, "goroutine": self.is_goroutine(lane), "runs": runs})
        return answer | {"pixel": pixel, "cut": self.server.cut, "lanes": lanes}

    def timeline_cpus(self, ask):
        """Two CPUs, on which threads of both processes take turns: 100 ms each on the first one, and on the other 10 us."""
        first, start, end, answer = self.of_time(ask)
        pixel, cpus = int(ask["pixel"]), []
        threads = [{"pid": pid, "tid": tid, "comm": comm, "process": "api-server" if pid == 100 else comm}
                   for pid, tid, comm, number in self.lanes_of(ask) if number in (0, 1, 30)]
        for cpu, turn in enumerate((10**8, 10**4) if self.server.cpus else ()):
            runs = []
            if turn >= pixel:
                for at in range((start - first) // turn * turn, min(end - first, start - first + 4000 * turn), turn):
                    a, b = max(at, start - first), min(at + turn, end - first)
                    runs += [0, b - a, at // turn % len(threads), 1, b - a]
            else:
                for at in range(start - first, min(end - first, start - first + 12 * 10**9), pixel):
                    length = min(pixel, end - first - at)
                    runs += [0, length, 1, length // turn + 1, length // 2]
            cpus.append({"cpu": cpu, "runs": runs})
        return answer | {"pixel": pixel, "cut": False, "threads": threads, "cpus": cpus}

    def timeline_machine(self, ask):
        """A disk that is busy for a second of each four, and CPUs of which nothing is known in the first half."""
        first, start, end, answer = self.of_time(ask)
        del answer["classes"]
        steps = int(ask["steps"])
        step = (end - start + steps - 1) // steps
        disk = HOSTILE if self.server.hostile else "vda"
        seconds = [(start - first + i * step) / 1e9 for i in range(steps)]

        def gauge(group, name, title, unit, level, obj, values):
            known = [value for value in values if value is not None] or [0]
            return {"group": group, "name": name, "title": title, "unit": unit, "level": level, "object": obj, "host": "web-1",
                    "average": sum(known) / len(known), "least": min(known), "most": max(known), "last": known[-1], "total": 0, "counted": "",
                    "count": 0, "time": 0, "longest": 0, "values": values}
        if not self.server.beside:
            return answer | {"step": step, "cut": False, "gauges": [], "threads": [], "notes": []}
        return answer | {"step": step, "cut": False, "gauges": [
            gauge("cpu", "user", "CPUs in user code", "ns", False, "", [None if at < 6 else 5 * 10**8 for at in seconds]),
            gauge("disk", "busy", "time in which a disk had requests", "ns", False, disk, [10**9 if at % 4 < 1 else 0 for at in seconds]),
            gauge("memory", "swap-in", "bytes read from swap", "bytes", False, "", [0 for _ in seconds])],
            "threads": [{"object": disk, "host": "web-1", "write": True, "pid": 100, "tid": 101,
                         "comm": HOSTILE if self.server.hostile else "worker-1", "bytes": 2 * 10**6, "count": 10, "time": 10**7, "longest": 3 * 10**6}],
            "notes": ["pressure is not known"]}

    def timeline_logs(self, ask):
        """Of the thread 101 a line each second, and after 5 s one that another thread wrote for it."""
        first, start, end, answer = self.of_time(ask)
        del answer["classes"]
        lines = []
        for second in range(12) if self.server.beside else ():
            at = first + second * 10**9 + 10**8
            error = second == 5
            text = HOSTILE if self.server.hostile else f"line {second} of worker-1" if not error else "ERROR [worker-1] it failed"
            if start <= at < end and ask.get("find", "").lower() in text.lower():
                lines.append({"time": at - start, "host": "web-1", "pid": 100, "tid": 101, "comm": "worker-1",
                              "matched": "thread-name" if error else "writer", "writer": 130 if error else 101, "kind": "error" if error else "output",
                              "stream": "", "level": "error" if error else "", "size": 20000 if error else len(text), "cut": error,
                              "unfinished": False, "text": text})
        return answer | {"lines": lines[:int(ask["limit"])], "left": max(len(lines) - int(ask["limit"]), 0)}

    def timeline_states(self, ask):
        first, start, end, answer = self.of_time(ask)
        lengths = {}
        lanes = self.lanes_of(ask)
        for *_, number in lanes:
            for which, a, b in self.slices_of(number, start - first, min(end - first, start - first + 12 * 10**9)):
                lengths.setdefault(which, []).append(b - a)
        return answer | {"lanes": len(lanes), "states": [
            {"class": which, "count": len(all_of_it), "sum": sum(all_of_it), "p50": sorted(all_of_it)[len(all_of_it) // 2],
             "p99": sorted(all_of_it)[len(all_of_it) * 99 // 100], "longest": max(all_of_it)}
            for which, all_of_it in sorted(lengths.items())]}

    def timeline_slice(self, ask):
        at = int(ask["at"].split(".")[0]) * 10**9 + int((ask["at"].split(".") + ["0"])[1].ljust(9, "0"))
        first = int(self.first() * 10**9)
        of_goroutine = ask.get("lane_goroutine") == "1"
        number = next(lane[3] for lane in self.lanes_of({})
                      if lane[1] == int(ask["lane_tid"]) and self.is_goroutine(lane) == of_goroutine)
        around = self.slices_of(number, max(at - first - 10**8, 0), at - first + 10**8)
        which, a, b = next(one for one in around if one[1] <= at - first < one[2])
        wait = which > 3
        return {"base": str(at), "slice": {
            "class": which, "name": CLASSES[which], "words": CLASSES[which], "start": first + a - at, "end": first + b - at,
            "open_start": False, "open_end": False, "last": False, "cpu": None if CLASSES[which] == "hole" else 1,
            "call": "futex" if wait else "", "arguments": ["0x7f0000000040", "0x80"] if wait else [],
            "state": "S" if wait else "", "descriptor": "",
            "object": (HOSTILE if self.server.hostile else "futex 0x7f0000000040 of pid 100") if wait else "",
            "object_unknown": "", "ready_object": "", "context": "thread" if wait else "", "iowait": False,
            "waker": {"pid": 100, "tid": 1, "comm": "goroutine 1"} if wait and of_goroutine else
                     {"pid": 100, "tid": 101, "comm": HOSTILE if self.server.hostile else "worker-1"} if wait else None,
            "waker_goroutine": bool(wait and of_goroutine),
            "holder": {"pid": 100, "tid": 102, "comm": HOSTILE if self.server.hostile else "worker-2"}
                      if wait and not of_goroutine else None,
            "holder_sure": "owner" if wait and not of_goroutine else "",
            "on": {"pid": 100, "tid": 102, "comm": "worker-2"} if of_goroutine else None,
            "stack": [{"name": name, "image": image, "kind": kind, "is_guess": False} for name, image, kind in
                      reversed(STACKS[4][0])] if wait else []}}

    def export(self, ask):
        return {"format": ask["format"], "service": ask.get("service", ""), "before": "before_from" in ask}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/api/v1/"):
            self.answer_question(url.path.removeprefix("/api/v1/"),
                                 dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        else:
            self.send_file({"/": "index.html"}.get(url.path, url.path.removeprefix("/assets/")))

    def send_file(self, name):
        path = self.server.folder / name
        if "/" in name or not path.is_file():
            self.send(404, b"", "text/plain")
        else:
            self.send(200, path.read_bytes(), TYPES[name.rpartition(".")[2]])

    def answer_question(self, what, ask):
        server = self.server
        server.asked.append((what, ask))
        if server.token and self.headers["Authorization"] != f"Bearer {server.token}":
            self.send_json(401, {"error": "who asks is not known: no token; give it"})
            return
        if what in server.hold:
            server.released.wait(20)
        if server.status == 0:
            self.close_connection = True
            return
        if server.status != 200 and what != "status":
            self.send_json(server.status, {"error": f"no answer: {HOSTILE}"})
            return
        if unknown := set(ask) - PARAMETERS[what]:
            self.send_json(400, {"error": f"there is no {unknown} for {what}"})
            return
        try:
            answer = getattr(server.api, what.replace("/", "_"))(ask)
        except ValueError as error:
            self.send_json(400, {"error": f"that is no question: {error}"})
            return
        self.send_json(200, answer)

    def send_json(self, status, answer):
        self.send(status, json.dumps(answer).encode(), "application/json")

    def send(self, status, body, kind):
        body = gzip.compress(body, 1)
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Content-Encoding", "gzip"),
                            ("Content-Security-Policy", POLICY), ("X-Content-Type-Options", "nosniff")):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page does not want it any more

    def log_message(self, *_):
        pass


class AnswerServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.api = Api(self)
        self.released = threading.Event()
        self.behave()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def behave(self, stored=True, status=200, token="", hold=(), film=False, hostile=False,
               events=("on-cpu", "calls", "off-cpu", "lock"), goroutines=0, tasks=0, unlinked=False, summary=False, many=0, marks=False, kept="", more_marks=0, young=0, deployed=False,
               cut=False, cpus=False, beside=False):
        self.release()
        self.more_marks = more_marks
        self.kept = kept
        self.many, self.marked, self.young, self.deployed = many, marks, young, deployed
        self.events, self.summary = list(events), summary
        self.stored, self.status, self.token = stored, status, token
        self.film, self.hostile = film, hostile
        self.cut, self.cpus, self.beside, self.goroutines, self.tasks, self.unlinked = cut, cpus, beside, goroutines, tasks, unlinked
        self.hosts = ["web-1"]  # of lanes
        self.busy = 1  # how many times as much as usual
        self.unread = 0  # films that places and processes had no time for
        self.hold = set(hold)
        self.released = threading.Event()
        self.asked = []

    def release(self):
        self.hold = set()
        self.released.set()

    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def questions(self, what):
        """What was asked so far of one kind."""
        return [ask for name, ask in self.asked if name == what]


if __name__ == "__main__":
    server = AnswerServer(pathlib.Path(sys.argv[1]))
    print(server.address(), flush=True)
    threading.Event().wait()
