# SPDX-License-Identifier: Apache-2.0
"""Results of calls in the tracer's tree and film (trace --args), against what the program has printed, and inspect's."""

import collections
import json
import re
import subprocess

import pytest

from harness import needs_root

pytestmark = needs_root

FUNCTIONS = ["leaf", "small", "negative", "is_even", "paint", "half", "nothing", "pair", "mix", "text*", "list", "big", "pointer",
             "word", "first", "middle", "last", "jumps", "throws", "catches", "leaves", "lands", "deep", "local"]
NONE = "no result"
FLOAT = "unavailable: float register"
LEFT = "unavailable: the function ended by a jump to another one"


def run(lab, *words, **options):
    done = lab.run(*words, **options)
    assert done.returncode == 0, done.stderr
    return done


def shown(lab, film, *words):
    return [json.loads(line) for line in
            run(lab, "report", "--format", "inspect-json", *words, film).stdout.splitlines() if line.startswith("{")]


def loss(lab, film):
    return json.loads(run(lab, "report", "--format", "json", film).stdout)["loss"]


def named(functions):
    return [word for function in functions for word in ("-f", function)]


def value(one):
    return one["value"] if "value" in one else one["status"]


def result(call):
    """The value of its one result."""
    return value(call["results"][0]) if call["results"] else NONE


def plain(name):
    return name.split("[")[0]


def expected(name, words, keeps_local):
    """What the film must say of a result that the program has printed so."""
    number = re.fullmatch(r"-?\d+", words) and int(words)
    if name == "is_even":
        return words == "true"
    if name == "paint":
        return ["red", "green", "blue"][number]
    if name == "half":
        return FLOAT
    if name == "pair":
        return dict(zip("ab", map(int, words.split())))
    if name == "mix":
        return {"weight": {"status": FLOAT}, "count": int(words.split()[1])}
    if name == "list":
        return 3 * [number]
    if name == "big":
        last = int(words.split()[-1])
        return {"id": last - 3, "name": f"big {last - 3}", "numbers": [last - 3, last - 2, last - 1, last]}
    if name == "pointer":
        return None if words == "nil" else {"id": 7, "name": "known", "numbers": [1, 2, 3, 4]}
    if name == "local" and not keeps_local:
        return "unavailable: its place is not known"
    return words if number is None else number


@pytest.mark.parametrize("program", ["results", "results-o0"])
@pytest.mark.parametrize("exits", ["auto", "ret", "return"])
@pytest.mark.parametrize("thread", [False, True], ids=["alone", "thread"])
def test_results_are_what_the_program_printed(lab, tmp_path, program, exits, thread):
    film = tmp_path / "x.film"
    # exceptions do not pass return addresses that the kernel has changed
    functions = [one for one in FUNCTIONS if exits != "return" or one not in ("throws", "catches", "leaves", "lands")]
    done = run(lab, "trace", "--args", "--exit", exits, *named(functions), "-o", film, "--", lab.program(program), 12,
               *["x"] * thread)
    printed = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        name, words = line.split(": ", 1)
        printed[name].append(words)
    assert len(printed) == 19 and all(len(words) == 12 for words in printed.values())
    assert not loss(lab, film)
    calls = collections.defaultdict(list)
    for call in sorted(shown(lab, film), key=lambda call: call["time"]):
        calls[plain(call["function"])].append(call)
    is_optimised = program == "results"
    jumps = is_optimised and exits != "return"
    for name, words in printed.items():
        if name in ("catches", "lands") and exits == "return":
            continue
        if name == "deep":
            # each of them has called itself
            results = [result(call) for call in calls[name]]
            assert results == [int(words[k]) for n in range(12) for k in range(n, -1, -1)]
            continue
        # the first two of word() are of before the rounds
        results = [result(call) for call in calls[name]][2 if name == "word" else 0:]
        if name in ("first", "jumps") and jumps:
            assert results == 12 * [LEFT]
            continue
        assert results == [expected(name, one, not is_optimised) for one in words], name
    assert [result(call) for call in calls["nothing"]] == 12 * [NONE]
    assert [result(call) for call in calls["last"]] == list(map(int, printed["first"]))
    assert [result(call) for call in calls["middle"]] == (12 * [LEFT] if jumps else list(map(int, printed["first"])))
    if exits == "return":
        return
    # those that an exception or a jump has ended have returned nothing
    assert [result(call) for call in calls["throws"]] == [NONE if n % 2 else n * 2 for n in range(12)]
    assert [result(call) for call in calls["leaves"]] == [NONE if n % 2 else n * 5 for n in range(12)]


PROGRAMS = [("inspected", ["count", "show", "parse", "throws", "catches"]),
            ("inspected-o0", ["count", "show", "parse", "throws", "catches"]),
            ("inspected_go", ["main.handle", "main.waits", "main.grows", "main.recovers", "main.panics"]),
            ("inspected_rust", ["inspected_rust::handle"]), ("inspected_rust-release", ["inspected_rust::handle"])]


@pytest.mark.parametrize("program, functions", PROGRAMS, ids=[one[0] for one in PROGRAMS])
def test_results_are_those_of_inspect(lab, tmp_path, program, functions):
    """The same program, inspected and traced: each function's calls have the same values, in any order."""
    def values(film):
        # addresses differ from run to run
        return sorted(re.sub(r"0x[0-9a-f]+", "0x", json.dumps([call["function"], call["args"], call["results"]]))
                      for call in shown(lab, film))
    inspected, traced = tmp_path / "inspected.film", tmp_path / "traced.film"
    run(lab, "inspect", *functions, "-o", inspected, "--", lab.program(program), 25)
    run(lab, "trace", "--args", *named(functions), "-o", traced, "--", lab.program(program), 25)
    assert not loss(lab, traced)
    assert values(traced) == values(inspected) and any(call["results"] for call in shown(lab, traced))


def test_results_live(lab, tmp_path):
    """The live tree has those of the film, and the film those of the live tree."""
    film, text = tmp_path / "x.film", tmp_path / "x.txt"
    run(lab, "trace", "--args", "-f", "big", "-f", "word", "-f", "deep", "-o", film, "--text", text, "--", lab.program("results"), 6)

    def tree(lines):
        return [line.split("| ", 1)[1] for line in lines if "| " in line]
    live = tree(text.read_text().splitlines())
    assert live == tree(run(lab, "replay", film).stdout.splitlines())
    assert 'big(n=3) = {id=3, name="big 3", numbers=[3, 4, 5, 6]};' in live and 'word(n=1) = "odd";' in live
    assert [line for line in live if line.startswith("} = ")] == [f"}} = {sum(range(n + 1))} /* deep */" for n in range(1, 6)]
    assert " = " not in re.sub(r"\(.*?\)", "", run(lab, "replay", "--no-args", film).stdout)


def test_values_in_traces_of_others(lab, tmp_path):
    """What the tree says of a call is among its arguments in JSON for chrome://tracing, and in a trace of Perfetto."""
    film = tmp_path / "x.film"
    run(lab, "trace", "--args", "-f", "word", "-f", "deep", "-f", "nothing", "-o", film, "--", lab.program("results"), 4)

    def args(*options):
        events = json.loads(run(lab, "replay", "--format", "chrome", *options, film).stdout)["traceEvents"]
        return [(event["name"], event["args"].get("arguments"), event["args"].get("results"))
                for event in events if event["ph"] == "X"]
    calls = args()
    assert sorted(call[1:] for call in calls if call[0] == "deep") == sorted(
        (f"n={k}", str(sum(range(k + 1)))) for n in range(4) for k in range(n + 1))
    assert ("word", "n=3", '"odd"') in calls and ("nothing", "n=3", None) in calls
    assert [call[1:] for call in args("--no-args")] == len(calls) * [(None, None)]
    for options in ([], ["--no-args"]):
        trace = tmp_path / "x.perfetto-trace"
        run(lab, "replay", *options, "-o", trace, film)
        assert (b'"odd"' in trace.read_bytes(), b"n=3" in trace.read_bytes()) == 2 * (not options,)


def test_results_of_kept_calls_only(lab, tmp_path):
    film = tmp_path / "x.film"
    run(lab, "trace", "--args", "--depth", 2, "-f", "deep", "-o", film, "--", lab.program("results"), 5)
    assert sorted(result(call) for call in shown(lab, film)) == sorted(
        sum(range(k + 1)) for n in range(5) for k in range(max(n - 1, 0), n + 1))
    run(lab, "trace", "--args", "--min-time", "1h", "-f", "deep", "-o", film, "--", lab.program("results"), 9)
    assert lab.run("report", "--format", "inspect", film).returncode == 1 and not loss(lab, film)
    run(lab, "trace", "--args", "--redact", "r", "-f", "main.recovers", "-o", film, "--", lab.program("inspected_go"), 3)
    assert [(one["name"], one["status"]) for call in shown(lab, film) for one in call["results"]] == 3 * [("r", "redacted")]


def test_without_debug_information_nothing_is_guessed(lab, tmp_path):
    """What a register held where a function of unknown type returned is not called its result."""
    film, program = tmp_path / "x.film", tmp_path / "stripped"
    subprocess.run(["strip", "--strip-debug", "-o", program, lab.program("results")], check=True)
    done = run(lab, "trace", "--args", "-f", "leaf", "-f", "pair", "-o", film, "--", program, 3)
    assert "its calls are shown without values" in done.stderr
    assert lab.run("report", "--format", "inspect", film).returncode == 1
    assert "leaf()" in run(lab, "replay", film).stdout and " = " not in run(lab, "replay", film).stdout


HOOKED = """
extern int (*hook)(int id);
int (*hook)(int id);
__attribute__((noinline)) int hooked(int id, int more) { return hook ? hook(id) + more : id; }
"""
CALLS_HOOKED = """
#include <unistd.h>
int hooked(int id, int more);
int main(void) { for (int id = 1;; id++) { hooked(id, 5); if (id % 10 == 0) usleep(100); } }
"""


def test_arguments_of_a_library_function_that_begins_with_computing(lab, tmp_path):
    """
    The tracer's own probe would be cheapest behind what it computes, but then inspect's came before it. What is called
    until the end has its arguments, too.
    """
    film, library, program = tmp_path / "x.film", tmp_path / "libhooked.so", tmp_path / "calls"
    (tmp_path / "hooked.c").write_text(HOOKED)
    (tmp_path / "calls.c").write_text(CALLS_HOOKED)
    subprocess.run(["gcc", "-g", "-O2", "-shared", "-fPIC", "-o", library, tmp_path / "hooked.c"], check=True)
    subprocess.run(["gcc", "-g", "-O2", "-o", program, tmp_path / "calls.c", library, f"-Wl,-rpath,{tmp_path}"], check=True)
    with subprocess.Popen([program]) as target:
        try:
            run(lab, "trace", "--args", "-p", target.pid, "-d", 1, "-f", "hooked*", "-o", film)
        finally:
            target.kill()
    assert not loss(lab, film)
    calls = shown(lab, film)
    assert len(calls) > 10
    for call in calls:
        number, more = (value(one) for one in call["args"])
        assert more == 5 and (not call["results"] or result(call) == number)
