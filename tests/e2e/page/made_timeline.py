# SPDX-License-Identifier: Apache-2.0
"""Made-up answers about threads: their lanes, slices and states, and what was beside them."""
from made import CLASSES, HOSTILE, STACKS, WAITS


SHORT = 1000  # and more: numbers of lanes that live for 200 ms, two at a time, each 300 ms


class OfThreads:
    """A part of the answers."""

    def lanes_of(self, ask):
        """Two processes: the first one's threads run and wait in turn; the other's sleeps, with a hole in its life."""
        name = HOSTILE if self.server.hostile else "api-server"
        lanes = [(100, 100 + i, name if i == 0 else f"worker-{i}", i) for i in range(30)] + [(300, 300, "redis", 30)]
        lanes += [(100, i, f"goroutine {i}", i) for i in range(1, self.server.goroutines + 1)]
        lanes += [(300, i, f"Task-{i} work", i) for i in range(1, self.server.tasks + 1)]
        lanes += [(300, 1000 + i, f"request-{i}", SHORT + i) for i in range(self.server.short)]
        if self.server.only_short:
            lanes = [lane for lane in lanes if lane[3] >= SHORT]
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
        if number >= SHORT:
            begin = (number - SHORT) // 2 * 3 * 10**8
            return [(0, max(begin, start), min(begin + 2 * 10**8, end))] if begin < end and begin + 2 * 10**8 > start else []
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

    def timeline_lanes(self, ask):
        first, start, end, answer = self.of_time(ask)
        lanes = []
        for lane in self.lanes_of(ask):
            pid, tid, comm, number = lane
            ns, slices = [0] * len(CLASSES), [0] * len(CLASSES)
            known = self.slices_of(number, start - first, min(end - first, start - first + 12 * 10**9))
            for which, a, b in known:
                ns[which] += b - a
                slices[which] += 1
            lanes.append({"host": self.server.hosts[len(lanes) % len(self.server.hosts)], "pid": pid, "tid": tid,
                          "goroutine": self.is_goroutine(lane), "comm": comm,
                          "kind": "task" if comm.startswith("Task-") else ("thread", "goroutine")[self.is_goroutine(lane)],
                          "process": comm if tid == pid else "api-server", "service": "shop" if pid == 100 else "redis", "command": f"/srv/{comm}",
                          "not_linked": ["tasks of asyncio"] if self.server.unlinked else [], "first": known[0][1] + first - start if known else 0, "last": known[-1][2] + first - start if known else 0, "ns": ns, "slices": slices})
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
                    runs += [a - at, b - a, which, 1, b - a]
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

    def timeline_devices(self, ask):
        """
        Streams of a GPU, each with turns of 40 ms: gemm for 20 ms, which thread 101 launched 5 ms before, a copy for 10, and nothing for 10. Of the
        first 40 ms nothing is known. The second stream does the same a thousand times as fast.
        """
        first, start, end, answer = self.of_time(ask)
        del answer["classes"]
        kernel = HOSTILE if self.server.hostile else "gemm"
        names = [{"name": kernel, "kind": "kernel"}, {"name": "[copy host to device]", "kind": "copy"}, {"name": "", "kind": "unknown"}]
        threads = [{"pid": 100, "tid": 101, "comm": "worker-1", "process": "api-server"}]
        pixel, streams = int(ask["pixel"]), []
        for number, turn in enumerate((4 * 10**7, 4 * 10**4)[:self.server.devices]):
            runs, works, at = [], [], start - first

            def put(begin, until, name, count, busy, copied, launcher, since):
                nonlocal at
                a, b = max(begin, at), min(until, end - first)
                if b > a:
                    runs.extend((a - at, b - a, name, count, (b - a) // max(count, 1)))
                    works.extend((busy, copied, launcher, since + (a - begin) if since else 0))
                    at = b
            if start == first:
                put(0, turn, 2, 0, 0, 0, 0, 0)
            if turn >= pixel:
                for begin in range(max((start - first) // turn, 1) * turn, min(end - first, start - first + 3000 * turn), turn):
                    put(begin, begin + turn // 2, 0, 1, turn // 2, 0, 1, turn // 8)
                    put(begin + turn // 2, begin + turn * 3 // 4, 1, 1, turn // 4, 4096, 0, 0)
            else:
                for begin in range(at, min(end - first, at + 12 * 10**9), pixel):
                    put(begin, begin + pixel, 0, 2 * pixel // turn + 1, pixel * 3 // 4, 4096, 0, 0)
            length = end - start
            streams.append({"host": "web-1", "pid": 100, "process": "api-server", "device": 0, "stream": 7 + number, "kernels": length // turn,
                            "copies": length // turn, "bytes": length // turn * 4096, "runs": runs, "works": works, "ns": {
                                "kernels": length // 2, "copies": length // 4, "unknown": 0, "idle": length - length // 2 - length // 4}})
        return answer | {"pixel": pixel, "cut": False, "left": 0, "names": names, "threads": threads, "streams": streams}

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
            "works": [{"kind": "kernel", "name": HOSTILE if self.server.hostile else "gemm<float>", "device": 0, "stream": 7,
                       "duration": 4100000}] if wait and not of_goroutine else [],
            "stack": [{"name": name, "image": image, "kind": kind, "is_guess": False} for name, image, kind in
                      reversed(STACKS[4][0])] if wait else []}}
