# SPDX-License-Identifier: Apache-2.0
"""Arguments and results in films: those of 'inspect -o' and of 'trace --args', and what reports make of them."""

import json
import re
import subprocess

import pytest

from asking import playing
from harness import needs_root, wait_until

pytestmark = needs_root


def run(lab, *words, **options):
    done = lab.run(*words, **options)
    assert done.returncode == 0, done.stderr
    return done


def calls_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def values(call):
    return {one["name"]: one.get("value", one.get("status")) for one in call["args"]}


def shown(lab, film, *words):
    return calls_of(run(lab, "report", "--format", "inspect-json", *words, film).stdout)


def fields(call):
    """A call without its time, which a film tells by an offset of the clocks of its own."""
    return {key: one for key, one in call.items() if key != "time"}


PROGRAMS = [("inspected", ["count", "show", "parse", "throws"]), ("inspected-o0", ["count", "show", "parse", "throws"]),
            ("inspected_go", ["main.handle", "main.waits"]), ("inspected_rust", ["re:::.*$"])]


@pytest.mark.parametrize("program, functions", PROGRAMS, ids=[one[0] for one in PROGRAMS])
def test_a_film_has_what_is_printed(lab, tmp_path, program, functions):
    """The same calls, with the same values and latencies, as the same run has printed."""
    film, text = tmp_path / "x.film", tmp_path / "x.jsonl"
    run(lab, "inspect", *functions, "-o", film, "--json", "--text", text, "--", lab.program(program), 20)
    printed = calls_of(text.read_text())
    kept = shown(lab, film)
    assert len(printed) == len(kept) > 20

    def order(call):
        return call["time"], call["tid"], call["function"]
    for a, b in zip(sorted(printed, key=order), sorted(kept, key=order)):
        assert fields(a) == fields(b)
    # they are calls, as those of the tracer are
    table = json.loads(run(lab, "report", "--format", "json", film).stdout)
    assert sum(function["calls"] for function in table["functions"]) == len(kept)


def test_filters(lab, tmp_path):
    film = tmp_path / "x.film"
    run(lab, "inspect", "count", "show", "-o", film, "--", lab.program("inspected"), 30)
    calls = shown(lab, film)
    assert shown(lab, film, "--focus", "^count$") == [call for call in calls if call["function"] == "count"]
    assert lab.run("report", "--format", "inspect", "--tid", 1, film).returncode == 1
    done = lab.run("report", "--format", "values", "--by", "arg.nothing", film)
    assert done.returncode == 1 and "no call" in done.stderr
    done = lab.run("report", "--format", "svg", "--by", "arg.n", film)
    assert done.returncode == 2 and "does not show values" in done.stderr


def test_values_and_heat(lab, tmp_path):
    """Sums by value, and the heat map, are those of the calls one by one."""
    film = tmp_path / "x.film"
    run(lab, "inspect", "count", "-o", film, "--", lab.program("inspected"), 500)
    calls = shown(lab, film)
    answer = json.loads(run(lab, "report", "--format", "values-json", "--by", "arg.name", film).stdout)
    function, = answer["functions"]
    assert function["calls"] == len(calls) == 500
    of = {column["of"]: column for column in function["columns"]}
    assert {one["value"]: one["calls"] for one in of["name"]["values"]} == {'"odd"': 250, '"even"': 250}
    heat = answer["heat"]
    assert heat["by"] == "name" and heat["calls"] == 500
    for row in heat["rows"]:
        of_row = [call["latency_ns"] for call in calls if f'"{values(call)["name"]}"' == row["value"]]
        assert (row["calls"], row["total_ns"]) == (len(of_row), sum(of_row))
        for bucket in row["buckets"]:
            low = bucket["from_ns"]
            assert bucket["calls"] == sum(low <= one < max(2 * low, 2) for one in of_row)
        assert sum(bucket["calls"] for bucket in row["buckets"]) == row["calls"]
    text = run(lab, "report", "--by", "arg.n", film).stdout
    # many numbers are powers of two
    assert re.search(r"^ +128 .*\| \[128, 256\)$", text, re.MULTILINE), text
    assert re.search(r"^ +1 .*\| 0$", text, re.MULTILINE), text


def tree_of(lab, film):
    """Lines of the call tree, without their columns and durations."""
    return [line.split("| ", 1)[1] for line in run(lab, "replay", film).stdout.splitlines() if "| " in line][1:]


@pytest.mark.parametrize("program", ["arguments", "arguments-o0"])
@pytest.mark.parametrize("exits", ["auto", "ret"])
def test_arguments_in_the_call_tree(lab, tmp_path, program, exits):
    """Each call of a recursive function, on several threads, has its own arguments and its own result."""
    film = tmp_path / "x.film"
    run(lab, "trace", "--args", "--exit", exits, "-f", "fib", "-f", "run", "-o", film, "--", lab.program(program), 6, 10)
    calls = shown(lab, film)
    told = json.loads(run(lab, "report", "--format", "json", film).stdout)
    assert not told["loss"] and {function["name"]: function["calls"] for function in told["functions"]} == {
        "fib": 3 * 10 * 25, "run": 3}
    assert len(calls) == 3 * 10 * 25 + 3
    expected = []

    def fib(n, depth):
        if n < 2:
            expected.append(f"{'  ' * depth}fib(n={n}) = {n};")
            return n
        expected.append(f"{'  ' * depth}fib(n={n}) {{")
        result = fib(n - 1, depth + 1) + fib(n - 2, depth + 1)
        expected.append(f"{'  ' * depth}}} = {result} /* fib */")
        return result
    for _ in range(10):
        fib(6, 1)
    threads = {call["tid"] for call in calls}
    assert len(threads) == 3
    for tid in threads:
        lines = run(lab, "replay", "--tid", tid, film).stdout.splitlines()
        tree = [line.split("| ", 1)[1] for line in lines[1:]]
        assert re.fullmatch(r'run\(who="(one|two|three)"\) {', tree[0]) and tree[1:-1] == expected
        assert tree[-1] == "} = nil /* run */"
    assert "fib(n=6" not in run(lab, "replay", "--no-args", film).stdout


def test_arguments_live(lab):
    done = run(lab, "trace", "--args", "-f", "fib", "--", lab.program("arguments"), 3, 1)
    lines = [line.split("| ", 1)[1] for line in done.stderr.splitlines() if "fib(n=" in line or "fib */" in line]
    assert sorted(lines) == sorted(3 * ["fib(n=3) {", "  fib(n=2) {", "    fib(n=1) = 1;", "    fib(n=0) = 0;", "  } = 1 /* fib */",
                                        "  fib(n=1) = 1;", "} = 2 /* fib */"])
    flat = run(lab, "trace", "--args", "--flat", "-f", "fib", "--", lab.program("arguments"), 1, 1).stderr
    assert len(re.findall(r"> fib\(n=1\)$", flat, re.MULTILINE)) == 3, flat
    assert len(re.findall(r"< fib = 1 ", flat)) == 3, flat


def test_arguments_of_kept_calls_only(lab, tmp_path):
    film = tmp_path / "x.film"
    run(lab, "trace", "--args", "--depth", 2, "-f", "fib", "-o", film, "--", lab.program("arguments"), 5, 4)
    assert sorted(values(call)["n"] for call in shown(lab, film)) == sorted(3 * 4 * [5, 4, 3])
    run(lab, "trace", "--args", "--under", "run", "-f", "fib", "-o", film, "--", lab.program("arguments"), 2, 4)
    assert sorted(values(call)["n"] for call in shown(lab, film)) == sorted(3 * 4 * [2, 1, 0])
    run(lab, "trace", "--args", "--min-time", "1h", "-f", "fib", "-o", film, "--", lab.program("arguments"), 9, 4)
    assert lab.run("report", "--format", "inspect", film).returncode == 1
    done = lab.run("trace", "--args", "--summary", "-o", film, "--", lab.program("arguments"), 1, 1)
    assert done.returncode == 2 and "--args goes without" in done.stderr


def test_arguments_of_goroutines(lab, tmp_path):
    """Goroutines change threads, and begin on the same ones: each has a tree of its own."""
    film = tmp_path / "x.film"
    run(lab, "trace", "--args", "-f", "main.outer", "-f", "main.inner", "-o", film, "--", lab.program("arguments_go"))
    assert not json.loads(run(lab, "report", "--format", "json", film).stdout)["loss"]
    calls = shown(lab, film)
    outer = sorted(values(call)["id"] for call in calls if call["function"] == "main.outer")
    assert outer == [who * 100 + k for who in range(8) for k in range(20)]
    inner = [call for call in calls if call["function"] == "main.inner"]
    assert len(inner) == 160 and all(values(call)["name"] == f"n{values(call)['id']}" for call in inner)
    tree = tree_of(lab, film)
    flat = run(lab, "replay", film).stdout.splitlines()[1:]
    tracks = {}
    for line in flat:
        who, text = line.split("|", 1)
        tracks.setdefault(who.split()[0], []).append(text[1:])
    assert tree and len(tracks) == 8
    for lines in tracks.values():
        for begin, within, end in zip(lines[::3], lines[1::3], lines[2::3]):
            number = re.fullmatch(r"main\.outer\(id=(\d+)\) {", begin)[1]
            result = int(number) + len(f"n{number}")
            assert within == f'  main.inner(id={number}, name="n{number}") = {result};'
            assert end == f"}} = {result} /* main.outer */"


def test_redacted_in_the_tree(lab, tmp_path):
    film = tmp_path / "x.film"
    run(lab, "trace", "--args", "--redact", "who", "-f", "run", "-o", film, "--", lab.program("arguments"), 1, 1)
    assert [values(call)["who"] for call in shown(lab, film)] == 3 * ["redacted"]
    assert b"three" not in film.read_bytes()


def test_killed_recorder_leaves_a_film(lab, tmp_path):
    """What was committed before can be read."""
    film = tmp_path / "x.film"
    with subprocess.Popen([lab.program("inspected")], stdout=subprocess.DEVNULL) as process:
        with subprocess.Popen([lab.stackcam, "inspect", "-p", str(process.pid), "count", "-o", film, "-q"],
                              stdin=subprocess.DEVNULL) as recorder:
            assert wait_until(lambda: film.exists() and
                              lab.run("report", "--format", "inspect", film).returncode == 0)
            recorder.kill()
        process.kill()
    calls = shown(lab, film)
    assert calls and all(call["function"] == "count" for call in calls)


def test_the_page_s_answers(lab, tmp_path):
    """What 'play' answers is what 'report' says."""
    film = tmp_path / "x.film"
    run(lab, "inspect", "count", "show", "-o", film, "--", lab.program("inspected"), 300)
    calls = shown(lab, film)
    with playing(lab.stackcam, film) as player:
        def ask(question):
            return player.json(f"/api/v1/values?{question}")

        answer = ask("function=count&value=name&limit=1000&values=5")
        counts = [call for call in calls if call["function"] == "count"]
        assert answer["count"] == len(counts) == len(answer["calls"]) == 300
        assert sorted(one["duration"] for one in answer["calls"]) == sorted(call["latency_ns"] for call in counts)
        durations = [one["duration"] for one in answer["calls"]]
        assert durations == sorted(durations, reverse=True)
        function, = answer["functions"]
        of = {column["of"]: column for column in function["columns"]}
        assert of["n"]["distinct"] == 300 and len(of["n"]["values"]) == 5 and of["n"]["others"]["calls"] == 295
        assert {row["value"]: row["calls"] for row in answer["heat"]["rows"]} == {'"odd"': 150, '"even"': 150}
        one, = ask("function=count&search=n%3D17,%20")["calls"]
        assert (one["arguments"], one["results"]) == ('n=17, name="odd"', "18")
        starts = [one["start"] for one in ask("sort=latest&limit=7")["calls"]]
        assert len(starts) == 7 and starts == sorted(starts, reverse=True)
        least = sorted(durations)[200]
        assert ask(f"function=count&least={least}")["count"] == sum(one >= least for one in durations)
        assert player.error("/api/v1/values?by=arg.n")[0] == 400
