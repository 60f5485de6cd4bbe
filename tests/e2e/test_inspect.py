# SPDX-License-Identifier: Apache-2.0
"""stackcam inspect: the values that it shows are those of the program, or have a status instead."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import signatures
import suites
from harness import needs_root

pytestmark = needs_root

HONEST = {"nil", "truncated", "not resident", "optimised out", "unavailable: float register",
          "unavailable: the call has too many values", "unavailable: its place is not known",
          "unavailable: the function ended by a jump to another one", "redacted", "not followed",
          "unavailable: its type is not supported"}
COMPILERS = {  # of C and C++: command, and the least share of values that must be shown
    "gcc -O0": 0.75, "gcc -O2": 0.6, "clang -O0": 0.75, "clang -O2": 0.5, "g++ -O0": 0.75, "g++ -O2": 0.6,
    "clang++ -O0": 0.75, "clang++ -O2": 0.5,
}


def least_of(how):
    """clang 19 keeps fewer values than clang 14."""
    version = subprocess.run([how.split()[0], "-dumpversion"], capture_output=True, text=True, check=True).stdout
    is_new = how.startswith("clang") and int(version.split(".")[0]) >= 19
    return COMPILERS[how] - (0.05 if is_new else 0)


def inspect(lab, *words, **options):
    done = subprocess.run([lab.stackcam, "inspect", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done


def calls_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Tally:
    def __init__(self):
        self.right, self.honest, self.wrong = 0, 0, []

    def status(self, words):
        assert words in HONEST, words
        self.honest += 1

    def compare(self, expected, got, where):
        """A value within another one, or without a status of its own."""
        if isinstance(got, dict) and set(got) <= {"status", "value", "len"} and "status" in got:
            self.status(got["status"])
        elif not isinstance(expected, (str, signatures.Opaque)) and isinstance(got, str) and re.fullmatch("0x[0-9a-f]+", got):
            self.status("not followed")  # a map within a list or a map, or more than a call may have
        elif isinstance(expected, dict) and isinstance(got, list) and any(isinstance(key, dict) for key, _ in got):
            self.status("not followed")  # keys of a map
        elif isinstance(expected, signatures.Opaque) and expected != got:
            self.compare(expected.target, got, where)
        elif isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
            for name, one in expected.items():
                self.compare(one, got[name], f"{where}.{name}")
        elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
            for i, one in enumerate(expected):
                self.compare(one, got[i], f"{where}[{i}]")
        elif expected == got and isinstance(expected, bool) == isinstance(got, bool):
            self.right += 1
        else:
            self.wrong.append((where, expected, got))

    def compare_all(self, expected, shown, where):
        assert len(shown) == len(expected), (where, shown)
        for one, got in zip(expected, shown):
            self.compare_one(one, got, where)

    def compare_one(self, expected, got, where):
        if got.get("status", "nil") != "nil":
            self.status(got["status"])
        else:
            self.compare(expected, got["value"], f"{where} {got['name']} {got['type']}")

    def take_generic(self, expected, calls):
        """Of generic functions of Go (signatures.MakerGoGeneric). Returns the names that were seen."""
        seen = set()
        for call in calls:
            name = signatures.without_types(call["function"])
            # what defers a call with arguments is a closure, too
            if name not in expected or (name.endswith(".func1") and not call["args"]):
                continue
            seen.add(name)
            for one, got in expected[name].pairs(call["args"]):
                self.compare_one(one, got, call["function"])
            if call["latency_ns"] is not None and expected[name].results is not None:
                self.compare_all(expected[name].results, call["results"], call["function"] + " result")
        return seen

    def take(self, expected, calls):
        for call in calls:
            arguments, results = expected[call["function"]]
            self.compare_all(arguments, call["args"], call["function"])
            if call["latency_ns"] is not None:
                self.compare_all(results or [], call["results"], call["function"] + " result")


def check_truth(lab, program, expected, pattern, least):
    done = inspect(lab, pattern, "--json", "--", program)
    calls, tally = calls_of(done.stderr), Tally()
    tally.take(expected, calls)
    assert not tally.wrong, (len(tally.wrong), tally.wrong[:10])
    # nothing is lost at this pace, and each call has its end unless its function has none that could be probed
    assert {call["function"] for call in calls} == set(expected), done.stderr[-2000:]
    assert sum(call["latency_ns"] is not None for call in calls) >= 0.9 * len(calls)
    assert tally.right >= least * (tally.right + tally.honest), (tally.right, tally.honest)


@pytest.mark.parametrize("how", COMPILERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_truth_of_c(lab, tmp_path, how, seed):
    compiler, *options = how.split()
    is_cpp = compiler.endswith("++")
    text, expected = signatures.MakerC(seed, is_cpp).program(100)
    source, program = tmp_path / ("many.cc" if is_cpp else "many.c"), tmp_path / "many"
    source.write_text(text)
    subprocess.run([compiler, "-g", "-w", *options, "-o", program, source], check=True)
    check_truth(lab, program, expected, "re:^f[0-9]+$", least_of(how))


FLOATS = """
struct pair { double x, y; };
struct mixed { float a; int b; };
struct big { double q[5]; };
volatile double sink;
__attribute__((noinline)) void first(double a, int n, struct pair v, float g, struct mixed m, struct big b, double z)
{
	sink = a + n + v.x + g + m.a + b.q[2] + z;
}
__attribute__((noinline)) struct big behind(float a, const char *s)
{
	struct big r = {{a, 2 * a, s[0]}};
	return r;
}
__attribute__((noinline)) void many(double a, double b, double c, double d, double e, double f, double g, double h, double i, double j)
{
	sink = a + b + c + d + e + f + g + h + i + j;
}
int main(void)
{
	struct pair v = {1.5, -2};
	struct mixed m = {0.25, 9};
	struct big b = {{1, 2, 3, 4, 5.5}};
	first(0.5, 3, v, 4.25, m, b, 7.125);
	sink = behind(2.5, "text").q[1];
	many(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5);
	return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_floating_point_numbers_without_optimisation(lab, tmp_path, compiler):
    """They are in vector registers at the first instruction: the probe is behind the prologue, which has stored them."""
    (tmp_path / "floats.c").write_text(FLOATS)
    subprocess.run([compiler, "-g", "-O0", "-o", tmp_path / "floats", tmp_path / "floats.c"], check=True)
    calls, _ = shown(lab, "first", "behind", "many", "--", tmp_path / "floats")
    of = {call["function"]: call for call in calls}
    assert values(of["first"]) == {"a": 0.5, "n": 3, "v": {"x": 1.5, "y": -2}, "g": 4.25, "m": {"a": 0.25, "b": 9},
                                   "b": {"q": [1, 2, 3, 4, 5.5]}, "z": 7.125}
    assert values(of["behind"]) == {"a": 2.5, "s": "text"}
    assert of["behind"]["results"][0]["value"] == {"q": [2.5, 5, 116, 0, 0]}
    assert values(of["many"]) == dict(zip("abcdefghij", [1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5]))
    # with -O2 they stay in registers, and are not guessed
    subprocess.run([compiler, "-g", "-O2", "-o", tmp_path / "floats", tmp_path / "floats.c"], check=True)
    calls, _ = shown(lab, "first", "--", tmp_path / "floats")
    assert values(calls[0])["a"] == "unavailable: float register" and values(calls[0])["n"] == 3


GO = {"installed": None, "1.23": "bookworm bookworm-backports", "1.24": "trixie", "1.25": "trixie trixie-backports", "1.26": "trixie trixie-backports"}


def build_go(lab, version, source, program, *flags):
    environment = dict(os.environ)
    go = "go"
    if GO[version]:
        if "STACKCAM_EVERY_VERSION" not in os.environ:
            pytest.skip("STACKCAM_EVERY_VERSION=1 tests all")
        root = suites.unpacked(lab.suites, GO[version], f"golang-{version}-go", f"golang-{version}-src")
        environment["GOROOT"] = str(root / "usr" / "lib" / f"go-{version}")
        go = f"{environment['GOROOT']}/bin/go"
        environment["GOCACHE"] = str(lab.suites / f"go-cache-{version}")
    subprocess.run([go, "build", *flags, "-o", program, source], check=True, env=environment)


@pytest.mark.parametrize("flags", [(), ("-gcflags=-N -l",), ("-buildmode=pie",)], ids=["usual", "plain", "pie"])
@pytest.mark.parametrize("version", GO)
def test_truth_of_go(lab, tmp_path, version, flags):
    text, expected = signatures.MakerGo(3).program(150)
    source, program = tmp_path / "many.go", tmp_path / "many"
    source.write_text(text)
    build_go(lab, version, source, program, *flags)
    check_truth(lab, program, expected, "re:^main[.]f[0-9]+$", 0.6)


@pytest.mark.parametrize("flags", [(), ("-gcflags=-N -l",), ("-buildmode=pie",)], ids=["usual", "plain", "pie"])
@pytest.mark.parametrize("version", GO)
def test_truth_of_generic_go(lab, tmp_path, version, flags):
    """
    DWARF leaves out dictionaries of generic functions, and with Go 1.21 and before, receivers of wrappers and parameters
    without a name: other parameters are in other registers than DWARF's list alone says.
    """
    text, expected = signatures.MakerGoGeneric(5).program(150)
    source, program = tmp_path / "many.go", tmp_path / "many"
    source.write_text(text)
    build_go(lab, version, source, program, *flags)
    done = inspect(lab, signatures.GENERIC_GO, "--json", "--", program)
    tally = Tally()
    seen = tally.take_generic(expected, calls_of(done.stderr))
    assert not tally.wrong, (len(tally.wrong), tally.wrong[:10])
    # some are inlined after all
    assert sum(any(re.search(rf"[gRE]{i}\b", name) for name in seen) for i in range(150)) >= 140, seen
    assert tally.right >= 0.75 * (tally.right + tally.honest), (tally.right, tally.honest)


def test_a_condition_on_an_argument_of_a_generic_function(lab, tmp_path):
    source, program = tmp_path / "sums.go", tmp_path / "sums"
    source.write_text("""
package main

import "fmt"

//go:noinline
func sum[T int | float64](xs []T, k int) (s T) {
	for _, x := range xs {
		s += x
	}
	return
}

func main() { fmt.Println(sum([]int{1, 2, 3}, 77), sum([]float64{1.5}, 78)) }
""")
    build_go(lab, "installed", source, program)
    calls, _ = shown(lab, "main.sum*", "--when", "k == 77", "--", program)
    assert [(values(call), values(call, "results")) for call in calls] == [({"xs": [1, 2, 3], "k": 77}, {"s": 6})], calls


RUST = {"debug": ([], 0.6), "release": (["-O"], 0.5)}  # options, and the least share of values that must be shown


def rustc_of(which):
    """Debian's compiler, or the one in PATH if it is another one."""
    found = {"debian": Path("/usr/bin/rustc"), "path": Path(shutil.which("rustc") or "/")}
    if not found[which].is_file() or (which == "path" and found["path"] == found["debian"]):
        pytest.skip(f"no rustc of {which}")
    return found[which]


@pytest.mark.parametrize("how", RUST)
@pytest.mark.parametrize("which", ["debian", "path"])
@pytest.mark.parametrize("seed", [1, 2])
def test_truth_of_rust(lab, tmp_path, which, how, seed):
    options, least = RUST[how]
    text, expected = signatures.MakerRust(seed).program(120)
    source, program = tmp_path / "many.rs", tmp_path / "many"
    source.write_text(text)
    subprocess.run([rustc_of(which), "--edition=2021", "-g", *options, "-o", program, source], check=True)
    check_truth(lab, program, expected, "re:^many::f[0-9]+$", least)


# -- what calls are shown ----------------------------------------------------------------------------------------------


def shown(lab, *words):
    """Calls of a command, as objects, and what was said at the end."""
    done = inspect(lab, "--json", *words)
    return calls_of(done.stderr), done.stderr.splitlines()[-1] if done.stderr else ""


def values(call, kind="args"):
    return {one["name"]: one.get("value", one.get("status")) for one in call[kind]}


def test_reasons_are_true_and_quotes_are_told_apart(lab, tmp_path):
    """Without optimisation nothing is optimised out; what has no bytes has a place; a type that is not read is said."""
    (tmp_path / "plain.rs").write_text(PLAIN_RUST)
    subprocess.run([rustc_of("debian"), "--edition=2021", "-g", "-o", tmp_path / "plain", tmp_path / "plain.rs"], check=True)
    calls, _ = shown(lab, "re:plain::(unit|large|call|wide)", "--", tmp_path / "plain")
    of = {call["function"].split("::")[1]: call for call in calls}
    # rustc 1.85 gives the name of an argument without bytes to a variable alone
    assert values(of["unit"]) in ({"u": [], "n": 3}, {"": [], "n": 3})
    assert values(of["large"]) == {"text": 'a"b\\c', "big": [1, 2, 3, 4, 5], "n": 9}
    assert values(of["call"])["n"] == 4 and values(of["call"])["f"] in ({}, [])
    assert values(of["wide"]) == {"a": "unavailable: its type is not supported", "n": 6}
    text = inspect(lab, "re:plain::large", "--", tmp_path / "plain").stderr
    assert 'text="a\\"b\\\\c", big=[1, 2, 3, 4, 5], n=9' in text, text


PLAIN_RUST = """
#[inline(never)] fn unit(u: (), n: i32) { if n == 77 { println!("{:?}", u); } }
#[inline(never)] fn large(text: &str, big: [u64; 5], n: i32) -> i32 { text.len() as i32 + big[1] as i32 + n }
#[inline(never)] fn call<F: Fn(i32) -> i32>(f: F, n: i32) -> i32 { f(n) }
#[inline(never)] fn wide(a: u128, n: i32) -> i32 { if a > 3 { n } else { 0 } }
fn main() { unit((), 3); large("a\\"b\\\\c", [1, 2, 3, 4, 5], 9); call(|x| x + 1, 4); wide(1 << 100, 6); }
"""


@pytest.mark.parametrize("program", ["inspected", "inspected-o0"])
def test_texts_and_lists_of_cpp(lab, program):
    calls, _ = shown(lab, "show", "--", lab.program(program), 4)
    assert len(calls) == 4
    for i, call in enumerate(calls):
        order = {"id": i, "customer": "customer of some length", "password": {"status": "redacted"}, "lines": [1, 2, i]}
        assert values(call) == {"o": order, "tag": "tag", "names": ["one", "two"], "own": order,
                                "some": i if i % 2 else None}


@pytest.mark.parametrize("program", ["inspected", "inspected-o0"])
def test_maps_and_sets_of_cpp(lab, program):
    calls, _ = shown(lab, "held", "--", lab.program(program), 3)
    assert len(calls) == 3
    for i, call in enumerate(calls):
        ages, numbers, orders = call["args"]
        assert ages["value"] == {"ann": i, "bob": 2, "cy": 3} and ages["len"] == 3, ages
        # of a large one, the first elements
        assert (numbers["len"], numbers["status"], numbers["value"]) == (20, "truncated", list(range(16))), numbers
        # keys that are there twice
        assert orders["len"] == 2 and "status" not in orders, orders
        assert [(key, order["id"], order["customer"]) for key, order in orders["value"]] == \
            [(5, i, "customer of some length"), (5, 7, "another")], orders
    text = inspect(lab, "held", "--elements", 2, "--", lab.program(program), 1).stderr
    assert 'ages={"ann": 0, "bob": 2, … of 3}, numbers=[0, 1, … of 20]' in text, text
    calls, _ = shown(lab, "held", "--depth", 1, "--", lab.program(program), 1)
    assert [(one["value"], one["len"], one["status"]) for one in calls[0]["args"]] == \
        [({}, 3, "truncated"), ([], 20, "truncated"), ({}, 2, "truncated")], calls


@pytest.mark.parametrize("program", ["inspected_rust", "inspected_rust-release"])
def test_enumerations_of_rust(lab, program):
    is_debug, program = program == "inspected_rust", lab.program(program)
    calls, _ = shown(lab, "inspected_rust::handle", "--", program, 4)
    assert [values(call) for call in calls] == [
        {"order": {"id": 0, "state": "Open", "lines": [{"text": "one", "count": None}, {"text": "two", "count": 0}],
                   "password": {"status": "redacted"}}, "limit": None},
        {"order": {"id": 1, "state": {"Paid": 1}, "lines": [{"text": "one", "count": None}, {"text": "two", "count": 1}],
                   "password": {"status": "redacted"}}, "limit": 1},
        {"order": {"id": 2, "state": {"Sent": {"to": "town", "weight": 2.5}},
                   "lines": [{"text": "one", "count": None}, {"text": "two", "count": 2}],
                   "password": {"status": "redacted"}}, "limit": None},
        {"order": {"id": 3, "state": {"Lost": [3, True]},
                   "lines": [{"text": "one", "count": None}, {"text": "two", "count": 3}],
                   "password": {"status": "redacted"}}, "limit": 3}]
    results = [{"Ok": 0}, {"Ok": 2}, {"Err": "too late"}, {"Ok": 6}]
    # compilers before Rust 1.70 do not say which results of optimised functions they leave out
    unknown = {"status": "unavailable: its place is not known"}
    assert [call["results"][0].get("value", unknown) for call in calls] in ([results] if is_debug else [results, 4 * [unknown]])
    done = inspect(lab, "inspected_rust::handle", "--when", "order.id == 2", "--", program, 4)
    assert re.search(r'state=Sent\{to="town", weight=2.5\}.*limit=nil\) = ' + (r'Err\("too late"\) ' if is_debug else ""),
                     done.stderr)


@pytest.mark.parametrize("program", ["inspected", "inspected-o0"])
def test_an_overload_is_chosen_by_its_parameters(lab, program):
    calls, _ = shown(lab, "parse(std::string const&)", "--", lab.program(program), 3)
    assert [values(call) for call in calls] == [{"text": f"text{i}"} for i in range(3)]
    assert [call["results"][0]["value"] for call in calls] == [5, 5, 5]
    calls, _ = shown(lab, "parse(int)", "--", lab.program(program), 3)
    assert [values(call) for call in calls] == [{"number": i} for i in range(3)]


@pytest.mark.parametrize("condition, meant", [
    ("n > 5", lambda i: i > 5),
    ("arg.n >= 3 && name == \"odd\"", lambda i: i >= 3 and i % 2),
    ("(n < 2 || n == 7) && name != \"even\"", lambda i: (i < 2 or i == 7) and i % 2),
    ("name == \"eve\" || n == -1", lambda i: False),
    ("n != 4 && n != 5 || n == 4 && name == \"even\"", lambda i: i != 5),
])
def test_conditions(lab, condition, meant):
    calls, _ = shown(lab, "count", "--when", condition, "--", lab.program("inspected"), 10)
    assert [values(call)["n"] for call in calls] == [i for i in range(10) if meant(i)]
    # ends of calls that are not meant are none
    assert all(call["results"][0]["value"] == values(call)["n"] + 1 for call in calls)


def test_conditions_look_behind_pointers(lab):
    calls, _ = shown(lab, "main.handle", "--when", "o.ID > 3 && o.Customer == \"customer1\"", "--",
                     lab.program("inspected_go"), 9)
    assert [values(call)["o"]["ID"] for call in calls] == [4, 7]


@pytest.mark.parametrize("condition, words", [
    ("o.password == \"x\"", "redacted"), ("token == \"x\"", "redacted"), ("o.nothing == 1", "no such member"),
    ("nothing == 1", "no such argument"), ("o.ID ==", "constant"), ("o.ID = 1", "comparison"), ("(o.ID == 1", "')'"),
    ("o.ID == 1 2", "not understood"), ("o.Next[i].ID == 1", "not a variable"), ("o.ID == \"x\"", "not a text"),
])
def test_conditions_that_cannot_be(lab, condition, words):
    done = lab.run("inspect", "main.handle", "--when", condition, "--", lab.program("inspected_go"), 9)
    assert done.returncode == 1 and words in done.stderr and "done" not in done.stdout


def test_redacted(lab):
    calls, _ = shown(lab, "main.handle", "--redact", "CUSTO", "--", lab.program("inspected_go"), 2)
    for call in calls:
        assert "hidden" not in json.dumps(call)
        assert values(call)["token"] == "redacted"
        assert values(call)["o"]["Customer"] == {"status": "redacted"}


def test_limits(lab):
    calls, _ = shown(lab, "show", "--string", 3, "--elements", 2, "--depth", 1, "--", lab.program("inspected"), 1)
    call = values(calls[0])
    assert (call["tag"], call["names"]) == ("tag", "not followed")
    calls, _ = shown(lab, "count", "--string", 2, "--", lab.program("inspected"), 1)
    assert calls[0]["args"][1] == {"name": "name", "type": "const char *", "value": "e", "len": 1, "status": "truncated"}
    calls, _ = shown(lab, "count", "--limit", 3, "--", lab.program("inspected"), 10)
    assert len(calls) == 3


def test_summary(lab):
    """The sums of --summary are those of the calls that --json shows."""
    said = inspect(lab, "--summary", "--json", "count", "--", lab.program("inspected"), 6000).stderr
    summed = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    function, = summed["functions"]
    assert (function["function"], function["calls"], function["ended"]) == ("count", 6000, 6000), said[-2000:]
    of = {column["of"]: column for column in function["columns"]}
    assert set(of) == {"n", "name", "result"}
    assert {value["value"]: value["calls"] for value in of["name"]["values"]} == {'"odd"': 3000, '"even"': 3000}
    for column in of.values():
        parts = [*column["values"], column["others"]]
        for key in "calls", "ended", "total_ns":
            assert sum(part[key] for part in parts) == function[key], (key, column["of"])
        assert max(part["max_ns"] for part in parts) == function["max_ns"]
    assert len(of["n"]["values"]) == 4096 and of["n"]["others"]["calls"] == 6000 - 4096
    assert sum(bucket["calls"] for bucket in function["buckets"]) == 6000
    assert function["p50_ns"] <= function["p90_ns"] <= function["p99_ns"] <= function["max_ns"]
    text = inspect(lab, "--summary", "count", "--", lab.program("inspected"), 10).stderr
    assert "count: 10 calls" in text and "name: 2 values" in text and text.count('count(n=') == 10, text


@pytest.mark.parametrize("program", ["inspected", "inspected-o0"])
def test_stack_of_each_call(lab, program):
    calls, _ = shown(lab, "throws", "count", "--stack", "--", lab.program(program), 4)
    for call in calls:
        begin = ["throws", "catches", "main"] if call["function"] == "throws" else ["count", "main"]
        assert [name.split("(")[0] for name in call["stack"][:len(begin)]] == begin, call["stack"]
    assert len(calls) == 8
    done = inspect(lab, "throws", "--stack", "--no-end", "--", lab.program(program), 1)
    assert re.search(r"throws\(n=0\)\n    from catches.*\n    from main\n", done.stderr)


def test_stack_of_go(lab):
    calls, _ = shown(lab, "main.panics", "--stack", "--", lab.program("inspected_go"), 3)
    assert len(calls) == 3
    assert all(call["stack"][:3] == ["main.panics", "main.recovers", "main.main"] for call in calls), calls[0]["stack"]


def test_no_end_shows_calls_when_they_begin(lab):
    done = inspect(lab, "count", "throws", "--no-end", "--json", "--", lab.program("inspected"), 10)
    calls = calls_of(done.stderr)
    assert [values(call)["n"] for call in calls if call["function"] == "count"] == list(range(10))
    assert [values(call)["n"] for call in calls if call["function"] == "throws"] == list(range(10))
    assert all(call["latency_ns"] is None and not call["results"] for call in calls)
    assert "without an end" not in done.stderr
    done = inspect(lab, "count", "--no-end", "--", lab.program("inspected"), 1)
    assert re.search(r'count\(n=0, name="even"\)$', done.stderr, re.MULTILINE)


def test_rate_is_kept_and_what_it_left_out_counted(lab):
    done = inspect(lab, "count", "--rate", 10, "--json", "--", lab.program("inspected"), 1000)
    counted = re.search(r"(\d+) calls not shown: --rate", done.stderr)
    calls = calls_of(done.stderr)
    assert counted and len(calls) + int(counted[1]) == 1000
    # of ten a second, no two are nearer
    times = [float(call["time"][17:-1]) for call in calls]
    assert all((b - a) % 60 >= 0.0999 for a, b in zip(times, times[1:]))


# -- ends of calls -----------------------------------------------------------------------------------------------------


RETURNS = """
#include <stdio.h>
#include <stdlib.h>
struct pair { long a, b; };
struct large { long at[9]; };
__attribute__((noinline, noclone)) int number(int n, const char *name) { return n + name[0]; }
__attribute__((noinline, noclone)) struct pair pair(long a) { return (struct pair){a, -a}; }
__attribute__((noinline, noclone)) struct large large(long a) { struct large l = {{a, 0, 0, 0, 0, 0, 0, 0, 2 * a}}; return l; }
__attribute__((noinline, noclone)) int deep(int n) { int r = n ? deep(n - 1) + 1 : 0; asm volatile("" : "+r"(r)); return r; }
int main(int argc, char **argv) {
    int sum = argc;
    for (int i = 0; i < 3; i++) sum += number(i, "a") + (int)pair(i).b + (int)large(i).at[8] + deep(i);
    printf("%d\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize("how", ["-O0", "-O2"])
def test_return_probes_see_what_probes_on_returns_see(lab, tmp_path, how):
    """--exit return: also where the first probe is behind a prologue, and the return address is not at the stack's end."""
    (tmp_path / "x.c").write_text(RETURNS)
    subprocess.run(["gcc", "-g", how, "-fcf-protection", "-no-pie", "-o", tmp_path / "x", tmp_path / "x.c"], check=True)
    seen = {}
    for exits in ("ret", "return"):
        said = inspect(lab, "--json", "--exit", exits, "number", "pair", "large", "deep", "--", tmp_path / "x").stderr
        assert ("changes return addresses" in said) == (exits == "return")
        calls = calls_of(said)
        seen[exits] = [(call["function"], values(call), call["results"][0]["value"], call["latency_ns"] > 0) for call in calls]
    assert seen["return"] == seen["ret"] and len(seen["ret"]) == 3 + 3 + 3 + 6
    assert [one[2] for one in seen["return"] if one[0] == "number"] == [97, 98, 99]
    assert [one[2]["at"][8] for one in seen["return"] if one[0] == "large"] == [0, 2, 4]


def test_go_has_no_return_probes(lab):
    """--exit return: a goroutine's stack moves when it grows, and the kernel would return to where it was."""
    both = [shown(lab, "--exit", exits, "main.recovers", "--", lab.program("inspected_go"), 4)[0] for exits in ("ret", "return")]
    assert both[0] and [values(call) for call in both[0]] == [values(call) for call in both[1]]


def test_the_goroutine_of_a_call_is_known_without_its_end(lab):
    """--no-end: of each call the same one as with its end."""
    goroutines = [[(values(call)["n"], call["goroutine"]) for call in shown(lab, *options, "main.waits", "--", lab.program("inspected_go"), 2)[0]]
                  for options in ((), ("--no-end",))]
    assert goroutines[0] and len({goroutine for _, goroutine in goroutines[1]}) > 1
    assert sorted(n for n, _ in goroutines[0]) == sorted(n for n, _ in goroutines[1])


def test_exceptions_pass_through(lab):
    done = inspect(lab, "throws", "catches", "--json", "--", lab.program("inspected"), 6)
    assert done.stdout == "done\n"
    calls = calls_of(done.stderr)
    thrown = [call for call in calls if call["function"] == "throws"]
    assert sorted((values(c)["n"], c["latency_ns"] is not None) for c in thrown) == [(n, n % 2 == 1) for n in range(6)]
    caught = [call for call in calls if call["function"] == "catches"]
    assert [call["results"][0]["value"] for call in caught] == [-1, 1, -1, 3, -1, 5]


def test_panics_and_stacks_that_grow(lab):
    done = inspect(lab, "main.panics", "main.recovers", "main.grows", "main.waits", "--json", "--",
                   lab.program("inspected_go"), 20)
    assert done.stdout == "done 20\n"
    calls = calls_of(done.stderr)
    by = {}
    for call in calls:
        by.setdefault(call["function"], []).append(call)
    assert sorted((values(c)["n"], c["latency_ns"] is not None) for c in by["main.panics"]) == \
        [(n, n % 2 == 1) for n in range(20)]
    # each call once, however often its stack was moved
    assert sorted(values(c)["n"] for c in by["main.grows"]) == sorted(20 * [n for k in range(4) for n in range(10 * k + 1)])
    assert all(c["results"][0]["value"] == values(c)["n"] + 1 for c in by["main.grows"] if values(c)["n"] < 1)
    assert all(c["latency_ns"] is not None for c in by["main.grows"])
    # on whichever thread it goes on
    assert len(by["main.waits"]) == 80
    assert all(c["results"][0]["value"] == -values(c)["n"] and c["latency_ns"] >= 1000000 for c in by["main.waits"])


def test_stripped_go_has_names_and_words(lab):
    calls, _ = shown(lab, "main.grows", "--", lab.program("inspected_go-stripped"), 3)
    assert sorted(values(c)["word0"] for c in calls) == sorted(3 * [n for k in range(4) for n in range(10 * k + 1)])
    assert all(c["latency_ns"] is not None for c in calls)


# -- running processes -------------------------------------------------------------------------------------------------


class Running:
    """A program that calls count() until it is ended, from two threads."""

    def __init__(self, lab):
        self.process = subprocess.Popen([lab.program("inspected")])

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def breakpoints(process, lab):
    """Whether the first instructions of count() in the process are those of its file."""
    symbols = subprocess.run(["nm", lab.program("inspected")], capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"^(\w+) T count$", symbols, re.MULTILINE)[1], 16)
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    base = int(re.search(r"^(\w+)-.*/inspected$", maps, re.MULTILINE)[1], 16)
    with open(f"/proc/{process.pid}/mem", "rb") as memory:
        memory.seek(base + address)
        return memory.read(16).count(b"\xcc")


def test_attach_and_detach_under_load(lab):
    with Running(lab) as process:
        for _ in range(10):
            calls = calls_of(inspect(lab, "-p", process.pid, "count", "--limit", 50, "--json").stdout)
            assert len(calls) == 50 and {c["pid"] for c in calls} == {process.pid}
            # calls of one thread count up
            for tid in {c["tid"] for c in calls}:
                numbers = [values(c)["n"] for c in calls if c["tid"] == tid]
                assert numbers == sorted(numbers)
            assert process.poll() is None and breakpoints(process, lab) == 0


def test_kill_leaves_nothing(lab):
    with Running(lab) as process:
        with subprocess.Popen([lab.stackcam, "inspect", "-p", str(process.pid), "count"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as recorder:
            assert b"count(" in recorder.stdout.readline()
            recorder.kill()
        until = time.monotonic() + 20
        while breakpoints(process, lab):  # the kernel takes them out once the last descriptor is closed
            assert time.monotonic() < until
            time.sleep(0.01)
        assert process.poll() is None


def test_interrupt_ends_with_a_count(lab):
    with Running(lab) as process:
        with subprocess.Popen([lab.stackcam, "inspect", "-p", str(process.pid), "count", "--text", "/dev/null"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
            until = time.monotonic() + 20
            while not breakpoints(process, lab):
                assert time.monotonic() < until
                time.sleep(0.01)
            recorder.send_signal(signal.SIGINT)
            assert re.search(r"\d+ calls? of 1 function shown", recorder.communicate(timeout=30)[1])
            assert recorder.returncode == 0


def test_list(lab):
    done = inspect(lab, "--list", lab.program("inspected_go"), "main.handle")
    assert re.search(r"o \*main.Order  \(rax\)\n +tag string  \(rbx:rcx\)\n +token string  \(rdi:rsi\)\n", done.stdout)
    assert re.search(r"-> ~r0 int  \(rax\)\n", done.stdout)


def test_what_does_not_exist(lab):
    done = lab.run("inspect", "main.handel", "--", lab.program("inspected_go"), 1)
    assert done.returncode == 1 and "main.handle" in done.stderr
    done = lab.run("inspect", "parse(double)", "--", lab.program("inspected"), 1)
    assert done.returncode == 1 and "parse(double)" in done.stderr
