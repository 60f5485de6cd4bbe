# SPDX-License-Identifier: Apache-2.0
"""What 'stackcam replay' makes of films, in each format, read by readers that know nothing of it.

check_calls.py STACKCAM MAKE_CALLS
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

from protobuf import fields, one

STACKCAM, MAKE_CALLS = sys.argv[1:3]
NAME = re.compile(r"(part\d::function_\d+\(int\))")


def run(*words, status=0, **options):
    done = subprocess.run([STACKCAM, "replay", *words], capture_output=True, timeout=100, **options)
    assert done.returncode == status, done
    return done


def perfetto(data):
    """Slices of each track: (pid, tid, name of the track) to [(depth, name, start, end, args)]."""
    names, keys, tracks, processes = {}, {}, {}, {}
    open_slices, slices, gaps = defaultdict(list), defaultdict(list), Counter()
    last = 0
    for number, packet in fields(data):
        assert number == 1
        assert one(packet, 10) == 1
        if one(packet, 13) == 1:
            names.clear()
        described = one(packet, 60)
        if described is not None:
            uuid, parent = one(described, 1), one(described, 5)
            process, thread = one(described, 3), one(described, 4)
            assert uuid not in tracks and uuid not in processes
            if process is not None:
                processes[uuid] = (one(process, 1), one(process, 6).decode())
                continue
            pid = processes[parent][0]
            if thread is not None:
                assert one(thread, 1) == pid
                tracks[uuid] = (pid, one(thread, 2), one(thread, 5).decode())
            else:
                tracks[uuid] = (pid, None, one(described, 2).decode())
            continue
        interned = one(packet, 12)
        if interned is not None:
            for entry, value in fields(interned):
                table = {2: names, 3: keys}[entry]
                assert one(value, 1) not in table
                table[one(value, 1)] = one(value, 2).decode()
        event = one(packet, 11)
        if event is None:
            clocks = one(packet, 6)
            assert clocks and one(clocks, 2) == 3
            continue
        time, kind, track = one(packet, 8), one(event, 9), tracks[one(event, 11)]
        assert one(packet, 58) == 3 and one(packet, 13) == 2
        assert time >= last
        last = time
        if kind == 1:
            open_slices[track].append((names[one(event, 10)], time))
        elif kind == 2:
            name, start = open_slices[track].pop()
            args = {keys[one(a, 1)]: one(a, 3, one(a, 2)) for f, a in fields(event) if f == 4}
            slices[track].append((len(open_slices[track]), name, start, time, args))
        else:
            assert kind == 3 and one(event, 23) == b"calls lost here"
            gaps[track] += 1
    assert not any(open_slices.values()), "a slice has no end"
    return slices, gaps


def chrome(data):
    """Events of each row: (pid, tid) to [(name, start, end, args)] in ns; names of the rows."""
    trace = json.loads(data)
    rows, names, gaps = defaultdict(list), {}, Counter()
    for event in trace["traceEvents"]:
        row = (event["pid"], event["tid"])
        if event["ph"] == "M":
            names[event["name"], row if event["name"] == "thread_name" else row[0]] = \
                event["args"]["name"]
        elif event["ph"] == "X":
            start = round(event["ts"] * 1000)
            rows[row].append((event["name"], start, start + round(event["dur"] * 1000),
                              event["args"]))
        else:
            assert event["ph"] == "i" and event["s"] == "t"
            gaps[row] += 1
    # each event lies within the one around it
    for events in rows.values():
        stack = []
        for _, start, end, _ in sorted(events, key=lambda e: (e[1], -e[2])):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)
    return rows, names, gaps, trace


def text_tree(text):
    """Calls by name and depth, from lines of text; brackets must match within each thread."""
    calls, open_calls = Counter(), defaultdict(list)
    for line in text.splitlines()[1:]:
        columns, tree = line.split(" | ", 1)
        tid, level = columns.split()[0], (len(tree) - len(tree.lstrip())) // 2
        name = NAME.search(tree).group(1)
        if tree.endswith(" {"):
            assert len(open_calls[tid]) == level
            open_calls[tid].append(name)
        elif "}" in tree:
            assert open_calls[tid].pop() == name and len(open_calls[tid]) == level
            calls[tid, level, name] += 1
        else:
            assert len(open_calls[tid]) == level
            calls[tid, level, name] += 1
    assert not any(open_calls.values())
    return calls


def check_sample(path):
    text = run(path)
    assert text.stdout.decode() == r"""   TID     DURATION     ON-CPU | FUNCTION CALLS
  1000                         | main() {
  1000     1.000 us            |   parse(char const*);
1000/1     0.100 us            | on_signal();
  1001     1.000 us            | </script><b>\x1b[31m\x0a"\\xff\xe2\x80\xae();
  1000    ~0.700 us            |   guessed();
  1000                         |     … calls lost here …
  1000     0.100 us            |     orphan();
  1000     0.100 us            |   server+0x1230();
  1001     0.000 us            | zero();
  1000     1.000 us            |   waits(); /* still running */
  1000     4.500 us            | } /* main: still running */
"""
    assert text.stderr == b"stackcam: lost: no room in a ring: 7\n"
    rows, names, gaps, trace = chrome(run("--format", "chrome", path).stdout)
    assert trace["displayTimeUnit"] == "ns"
    assert trace["metadata"]["loss"] == {"no room in a ring": 7}
    assert names["process_name", 1000] == "server"
    assert names["thread_name", (1000, 1001)].startswith("\033[2J</script>")
    assert gaps == {(1000, 1000): 1}
    assert rows[1000, 1001][0][0].startswith("</script><b>\033[31m\n")
    assert sorted((e[0], e[1], e[2]) for e in rows[1000, 1000]) == [
        ("guessed", 2300, 3000), ("main", 500, 5000), ("orphan", 3100, 3200),
        ("parse(char const*)", 1000, 2000), ("server+0x1230", 3300, 3400), ("waits", 4000, 5000)]
    flags = {e[0]: sorted(k for k, v in e[3].items() if v is True) for e in rows[1000, 1000]}
    assert flags["guessed"] == ["inferred"] and flags["main"] == ["open"]
    slices, gaps = perfetto(run("--format", "perfetto", path).stdout)
    assert {track[1:]: len(all) for track, all in slices.items()} == {
        (1000, "server"): 6, (None, "server, stack 1 of 1000"): 1,
        (1001, r'\x1b[2J</script>"\\xff'): 2}
    assert gaps == {(1000, 1000, "server"): 1}
    assert [(s[0], s[1]) for s in slices[1000, 1000, "server"]] == [
        (1, "parse(char const*)"), (1, "guessed"), (1, "orphan"), (1, "server+0x1230"),
        (1, "waits"), (0, "main")]


def check_made(path, calls, threads):
    tree = text_tree(run(path).stdout.decode())
    assert sum(tree.values()) >= calls
    rows, names, _, _ = chrome(run("--format", "chrome", path).stdout)
    assert len(rows) == threads and names["thread_name", (1000, 2000)] == "worker-0"
    slices, _ = perfetto(run("--format", "perfetto", path).stdout)
    # all formats tell of the same calls, at the same levels and times
    found = Counter()
    for (pid, tid, _), events in slices.items():
        found.update((str(tid), depth, name) for depth, name, *_ in events)
        same = sorted((name, start - 10 ** 12, end - 10 ** 12, args["duration_ns"],
                       args["on_cpu_ns"]) for _, name, start, end, args in events)
        assert same == sorted((name, start, end, round(args["duration_us"] * 1000),
                               round(args["on_cpu_us"] * 1000))
                              for name, start, end, args in rows[pid, tid])
    assert found == tree
    # the tracer's cost: 100 ns of a leaf's own, 300 ns of each call below
    for events in slices.values():
        below = [0] * 20
        for depth, _, start, end, args in events:
            cost = 100 + below[depth + 1]
            assert args["duration_ns"] == max(0, end - start - cost)
            below[depth] += 300 + below[depth + 1]
            below[depth + 1] = 0
    raw, _ = perfetto(run("--format", "perfetto", "--raw", path).stdout)
    assert all(args["duration_ns"] == end - start
               for events in raw.values() for _, _, start, end, args in events)


def check_options(path, folder):
    out = os.path.join(folder, "out.perfetto-trace")
    run("-o", out, path)
    with open(out, "rb") as file:
        assert file.read() == run("--format", "perfetto", path).stdout
    out = os.path.join(folder, "out.json")
    run("-o", out, "--tid", "2001", path)
    with open(out, "rb") as file:
        assert {row for row in chrome(file.read())[0]} == {(1000, 2001)}
    lines = run("--max-depth", "1", "--no-tid", "--no-on-cpu", path).stdout.decode().splitlines()
    assert lines[0] == "     DURATION | FUNCTION CALLS"
    assert all(re.fullmatch(r" {1,9}[\d.]+ (us|ms| s) \| part\S+\(int\);( /\* still running \*/)?",
                            line) for line in lines[1:])
    assert b"\033[32m" in run("--color", path).stdout
    assert b"\033" not in run(path).stdout
    assert b" avg " in run("--fold", "-f", "re:function_[0-4]", path).stdout
    done = run("-f", "nothing", path)
    assert done.stdout == b"" and b"no call is left" in done.stderr
    for words in (["--format", "svg", path], ["--max-depth", "0"], ["--min-time", "1 day"],
                  ["--color", "--no-color"], [path, path], ["-f", "re:("], ["--from", "2", "--to", "1"]):
        assert run(*words, status=2).stdout == b""
    run(os.path.join(folder, "missing.film"), status=1)
    done = run("-e", "on-cpu", path, status=1)
    assert b"no calls" in done.stderr
    # a film is not replaced
    run("-o", path, path, status=1)


with tempfile.TemporaryDirectory() as made:
    small, big = os.path.join(made, "small.film"), os.path.join(made, "big.film")
    subprocess.run([MAKE_CALLS, "sample", small], check=True)
    subprocess.run([MAKE_CALLS, "20000", "5", big], check=True)
    check_sample(small)
    check_made(big, 20000, 5)
    check_options(big, made)
