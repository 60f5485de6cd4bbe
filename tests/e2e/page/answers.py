# SPDX-License-Identifier: Apache-2.0
"""A server with made-up answers for the page: the awkward cases that a real one has seldom.

It serves the built page with the headers of the real server and answers the API from a small profile that
is always the same. What it does wrong, or slowly, is set while it runs:

    server.behave(stored=False)     an empty store
    server.behave(status=503)       each question fails so; 0: the connection is cut
    server.behave(token="secret")   only who brings that is answered
    server.behave(hold={"flame"})   that answer is held back until release()
    server.behave(film=True)        one film, as "stackcam play" has it
    server.behave(short=60)         so many threads of redis that live for a short time
    server.behave(cut_off=True)     its recorder was killed
    server.behave(growing=True)     … or is at work still
    server.behave(events=["calls"]) what was filmed
    server.behave(many=400)         so many services, each with 40 versions, beside those that are always there
    server.behave(deployed=True)    a new version of api.service, which takes twice as much for JSON
    server.behave(young=120)        a store that began so many seconds ago
    server.behave(marks=True)       a deployment and a new version 10 and 5 minutes ago
    server.behave(cut=True)         there is no room for all slices of a timeline
    server.behave(cpus=True)        lanes of CPUs, too: above all others
    server.behave(devices=2)        lanes of so many streams of GPUs, too: below those of CPUs
    server.behave(beside=True)      what the machine did beside the lanes of threads, and what threads logged
    server.behave(summary=True)     of calls only sums were kept
    server.behave(part=True)        a profile of which only a part is sent: a search finds more
    server.behave(thin=3)           so many seconds of the last minute were filmed, in which all was busy
    server.behave(bpf=None)         the kernel does not time BPF programs
    server.behave(idle={"on-cpu"})  of these events there is nothing
"""
import gzip
import json
import math
import pathlib
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from made import API, CLASSES, HOSTILE, HOUR, LATE, NOW, SERVICES, SPANS, STACKS, Profile, event_type, seconds_of  # noqa: F401
from made_requests import OfRequests
from made_timeline import OfThreads

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css",
         "svg": "image/svg+xml"}

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from openapi import Api as Description  # noqa: E402

DESCRIPTION = Description()
# what each question may have, as the real server checks it
PARAMETERS = {path.removeprefix("/api/v1/"): {parameter["name"] for parameter in DESCRIPTION.parameters(operation)}
              for method, path, operation in DESCRIPTION.operations() if method == "GET"}


class Api(OfThreads, OfRequests):
    """The answers to questions."""

    def __init__(self, server):
        self.server = server

    def sum_of(self, ask, total, prefix=""):
        first = self.first()
        until = NOW if self.server.film and not self.server.growing else NOW - LATE
        at_from = seconds_of(ask.get(prefix + "from", str(first)))
        at_to = seconds_of(ask.get(prefix + "to", str(NOW)))
        return {"from": at_from, "to": at_to, "samples": total // 10_000_000, "total": total, "truncated": 3,
                "guessed": 12, "lost": 7, "lost_samples": 4, "unit": "ns",
                "complete_from": at_from + (min(at_to, until) - at_from) / 2 if self.server.partial else at_from,
                "complete_until": min(at_to, until),
                "filmed": max(min(at_to, until) - max(at_from, first), 0), "by_films": False, "by_paths": False,
                "films_damaged": 0, "films_unread": self.server.partial, "films_unfetched": 0}

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
        if ask.get("by") == "wait":
            stacks = [([(("[disk]", "[lock]", "[sleep]")[i % 3], "", "mark")] + stack, weight) for i, (stack, weight) in enumerate(stacks)]
        if ask.get("by") == "lock":
            stacks = [([(self.locks_of()[i % 2], "", "mark")] + stack, weight) for i, (stack, weight) in enumerate(stacks)]
        if ask.get("event", "on-cpu") in self.server.idle:
            return Profile([], 0)
        other = {name: ask.get(prefix + name, ask.get(name)) for name in ("host", "service", "version", "label")}
        total = sum(self.cpus(other).values()) * max(at["complete_until"] - at["from"], 0) * 1e9 * self.server.busy
        return Profile(stacks, total if at["to"] > self.first() else 0)

    def status(self, _ask):
        has = self.server.stored
        return {"version": "0.1.0", "host": "web-1", "camera": None, "now": NOW, "started": NOW - 30 * HOUR,
                "filming": not self.server.film, "one_film": self.server.film, "cut_off": self.server.cut_off,
                "growing": self.server.growing, "devices": bool(self.server.devices),
                "read_only": self.server.film, "cpus": self.server.machine_cpus,
                "events": self.server.events,
                "event_types": [event_type(name) for name in self.server.events],
                "recorder": None if self.server.film else
                {"samples": 1_284_331, "lost": 7, "cpu": 0.0042, "cpu_bpf": self.server.bpf, "frequency": 99},
                "process": {"cpu_seconds": 431.5, "bpf_seconds": 12.5, "rss_bytes": 58_300_000},
                "store": {"films": 30 if has else 0, "bytes": 61_200_000, "first": self.first() if has else 0,
                          "last": NOW if has else 0, "hosts": self.server.machines, "series": 5, "in_others": 0, "set_aside": 0, "later": 0, "taken": 0,
                          "again": 0, "removed": 0, "full": False},
                "bucket": None}

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
        length = at["to"] - at["from"]
        steps = int(ask.get("steps", 60))
        if length > HOUR + 1 or steps <= length / 60 + 1:  # minutes, as the index has them
            steps = min(steps, int(length / 60))
        steps = max(1, min(steps, int(length / 0.25)))
        step = (at["to"] - at["from"]) / steps
        begins = [at["from"] + i * step for i in range(steps)]
        filmed = [max(0, min(begin + step, at["complete_until"]) - max(begin, self.first())) for begin in begins]
        if self.server.thin:
            filmed[-1] = self.server.thin
        rows = []
        for service, cpus in self.cpus(ask).items():
            name = {"service": service, "host": SERVICES.get(service, ("web-1",))[0],
                    "version": SERVICES.get(service, ("", "a1b2c3d4"))[1],
                    "label.env": SERVICES.get(service, ("", "", ""))[2].removeprefix("env=")}.get(ask.get("group"), "")
            values = [max(0, int(cpus * step * 1e9 * (1 + 0.5 * math.sin(i / steps * 9 + cpus * 20) +
                                                     (0.8 if 0.6 < i / steps < 0.66 else 0)))) for i in range(steps)]
            values = [int(value * part / step) for value, part in zip(values, filmed)]
            if self.server.thin:
                values[-1] = int(20e9 * filmed[-1])
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
        return {"sum": self.sum_of(ask, sum(row["total"] for row in rows)), "step": step, "filmed": filmed, "rows": rows}

    def flame(self, ask):
        profile = self.profile(ask)
        functions = {"functions": profile.rows()[:3 if self.server.part else None]} if ask.get("functions") == "1" else {}
        if "request" in ask:
            functions["request"] = {"id": ask["request"], "shared": 2, "not_known": 1500,
                                    "not_linked": ["tasks of asyncio"] if self.server.unlinked else []}
        return {"sum": self.sum_of(ask, profile.total), "unit": "ns", **profile.flame(), **functions,
                **({"hidden": 230_000} if self.server.part else {})}

    def search(self, ask):
        """What is not sent matches, too: 400 more frames with as much again, in three functions."""
        profile = self.profile(ask)
        rows = [row for row in profile.rows() if ask["text"].lower() in row["name"].lower()]
        total = sum(row["total"] for row in rows)
        rows += [{**rows[0], "name": f"{ask['text']}_{i}", "self": 0, "total": 1000} for i in range(3)] if rows else []
        return {"sum": self.sum_of(ask, profile.total), "unit": "ns", "frames": 400 + len(rows), "total": total * 2,
                "functions": rows, "functions_found": len(rows) + 2}

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
        marks += [{"time": NOW - 60 * i, "host": "", "service": "worker.service", "version": f"{i:016x}", "text": "", "derived": True}
                  for i in range(1, self.server.new_versions + 1)]
        marks.sort(key=lambda mark: mark["time"])
        if self.server.kept:
            marks += [{"time": NOW - 60 + i, "host": "web1", "service": "", "version": "", "text": self.server.kept,
                       "derived": False} for i in (0, 3, 9, -200)[:self.server.keeps]]
        marks = [mark for mark in marks if ask.get("service", mark["service"]) == mark["service"] and
                 seconds_of(ask["from"]) <= mark["time"] < seconds_of(ask["to"])] if self.server.marked else []
        return {"from": seconds_of(ask["from"]), "to": seconds_of(ask["to"]), "marks": marks, "others": self.server.more_marks}

    def of_time(self, ask):
        first = int(self.first() * 10**9)
        start, end = (int(round(seconds_of(ask.get(name, str(usual))) * 10**9)) for name, usual in
                      (("from", self.first()), ("to", NOW)))
        return first, start, end, {"sum": self.sum_of(ask, 0), "base": str(start), "length": end - start, "classes": CLASSES}

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
               events=("on-cpu", "calls", "off-cpu", "lock"), goroutines=0, tasks=0, unlinked=False, summary=False, many=0, marks=False, kept="", keeps=1, more_marks=0, young=0, deployed=False,
               cut=False, cpus=False, devices=0, beside=False, cut_off=False, growing=False, short=0, part=False, thin=0, idle=(), bpf=0.0011):
        self.release()
        self.more_marks = more_marks
        self.kept, self.keeps = kept, keeps
        self.many, self.marked, self.young, self.deployed = many, marks, young, deployed
        self.events, self.summary = list(events), summary
        self.stored, self.status, self.token = stored, status, token
        self.film, self.hostile = film, hostile
        self.cut, self.cpus, self.devices, self.beside, self.goroutines, self.tasks, self.unlinked = cut, cpus, devices, beside, goroutines, tasks, unlinked
        self.cut_off, self.growing, self.short = cut_off, growing, short
        self.only_short = False
        self.part, self.thin, self.idle, self.bpf = part, thin, set(idle), bpf
        self.new_versions = 0  # so many marks of them, each minute one
        self.hosts = ["web-1"]  # of lanes
        self.machine_cpus, self.machines = 0, 2  # CPUs of the machine that is filmed, and machines of the store
        self.busy = 1  # how many times as much as usual
        self.partial = 0  # older films that no answer had time for
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
