# SPDX-License-Identifier: Apache-2.0
"""Made-up answers about requests: endpoints, services that ask others, why one took so long, its spans."""
from made import ENDPOINTS, HOSTILE, ROWS, SPANS


class OfRequests:
    """A part of the answers."""

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
            {"id": ask.get("request"), "endpoint": "GET /orders/*", "path": "/orders/7", **thread(100), "start": "2026-11-21T14:32:00Z",
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
