# SPDX-License-Identifier: Apache-2.0
"""stackcam inspect FILE:LINE and --show: each pass of a line once, with the values that the program printed there."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from harness import needs_root

pytestmark = needs_root

PROGRAMS = Path(__file__).parent.parent / "programs"
# what optimised code no longer has, or what its DWARF does not say in a way that is understood
HONEST = {"optimised out", "unavailable: its place is not known", "unavailable: float register"}

# source, compiler with its options, and the least share of values that must be shown
BUILDS = {
    "c gcc -O0": ("lines.c", ["gcc", "-O0"], 1),
    "c gcc -O2": ("lines.c", ["gcc", "-O2"], 1),
    "c clang -O0": ("lines.c", ["clang", "-O0"], 1),
    "c clang -O2": ("lines.c", ["clang", "-O2"], 0.9),
    "c++ g++ -O0": ("lines.cc", ["g++", "-std=c++17", "-O0"], 1),
    "c++ g++ -O2": ("lines.cc", ["g++", "-std=c++17", "-O2"], 0.9),
    "c++ clang++ -O0": ("lines.cc", ["clang++", "-std=c++17", "-O0"], 1),
    "c++ clang++ -O2": ("lines.cc", ["clang++", "-std=c++17", "-O2"], 0.8),
    "rust debug": ("lines.rs", ["rustc", "--edition=2021"], 1),
    "rust release": ("lines.rs", ["rustc", "--edition=2021", "-O"], 0.9),
    "go": ("lines.go", ["go", "build"], 0.75),
    "go plain": ("lines.go", ["go", "build", "-gcflags=-N -l"], 1),
}


def build(source, command, program):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    debug = [] if command[0] == "go" else ["-g"]
    subprocess.run([*command, *debug, "-o", program, PROGRAMS / source], check=True)
    return program


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Programs by the keys of BUILDS."""
    folder, programs = tmp_path_factory.mktemp("lines"), {}

    def one(how):
        if how not in programs:
            programs[how] = build(BUILDS[how][0], BUILDS[how][1], folder / re.sub(r"[ -]+", "-", how))
        return programs[how]

    return one


def places_of(source):
    """The numbers of the lines that print their variables, by the names that they print."""
    found = {}
    for number, line in enumerate((PROGRAMS / source).read_text().splitlines(), 1):
        name = re.search(r'(?:\\"place\\": |TRUTH\(")\\"(\w+)\\"', line)
        if name:
            found[name[1]] = number
    return found


def line_with(source, text):
    return next(number for number, line in enumerate((PROGRAMS / source).read_text().splitlines(), 1) if text in line)


def inspect(lab, *words):
    done = subprocess.run([lab.stackcam, "inspect", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done


def objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def variables(call):
    return {one["name"]: one.get("value", one.get("status")) for one in call["variables"]}


@pytest.mark.parametrize("how", BUILDS)
def test_each_pass_has_the_values_that_the_program_prints(lab, built, how):
    source, _, least = BUILDS[how]
    places = places_of(source)
    done = inspect(lab, "--json", *[f"{source}:{number}" for number in places.values()], "--", built(how), 4)
    shown, printed, right, honest = objects(done.stderr), objects(done.stdout), 0, 0
    is_optimised = {call["optimised"] for call in shown}
    assert is_optimised <= ({True, False} if "go" in how else {"O2" in how or "release" in how}), is_optimised
    for name, number in places.items():
        truth = [one for one in printed if one["place"] == name]
        calls = [call for call in shown if call["line"] == number]
        # each pass is shown once, in order, whatever copies of the line the compiler has made
        assert len(calls) == len(truth) and truth, (name, len(calls), len(truth), done.stderr[-500:])
        for one, call in zip(truth, calls):
            assert call["file"].endswith("/" + source) and call["results"] == [] and call["args"] == []
            have = {variable["name"]: variable for variable in call["variables"]}
            for key in one.keys() - {"place"}:
                status = have[key].get("status")
                if status in HONEST:
                    honest += 1
                    continue
                assert have[key]["value"] == one[key], (name, key, have[key], one)
                assert status is None or (status == "may be old" and call["optimised"]), (name, have[key])
                right += 1
    assert right >= least * (right + honest), (right, honest)


def test_scopes_hide_and_end(lab, built):
    places = places_of("lines.c")
    block, end = (variables(call) for call in objects(inspect(
        lab, "--json", f"programs/lines.c:{places['block']}", f"lines.c:{places['end']}", "--", built("c gcc -O0"),
        2).stderr)[-2:])
    # the inner total hides the outer one, and none of the two loops' variables is in scope
    assert block["total"] == 1001 and end["total"] != 1001
    assert set(block) == set(end) == {"order", "extra", "times", "amounts", "total"}
    assert block["order"]["next"]["id"] == 101 and block["amounts"] == [10, 11, 12, 13] and block["times"] == 2


def test_a_variable_that_is_not_declared_yet_has_no_value(lab, built):
    line = line_with("lines.c", "int kept = ")
    for how in "c gcc -O0", "c clang -O0":
        calls = [variables(call) for call in objects(inspect(lab, "--json", f"lines.c:{line}", "--", built(how), 1).stderr)]
        assert calls and all(call["kept"] == "not declared yet" for call in calls)
        assert calls[-1]["most"] == 10


def test_the_line_of_a_function_shows_its_arguments(lab, built):
    line = line_with("lines.c", "long place(") + 1  # where the compilers say that it begins
    for how in "c gcc -O0", "c clang -O0", "c gcc -O2", "c clang -O2":
        calls = [variables(call) for call in objects(inspect(lab, "--json", f"lines.c:{line}", "--", built(how), 3).stderr)]
        assert [(call["order"]["id"], call["extra"]) for call in calls] == [(0, 0), (1, 10), (2, 20)], how


def test_containers_and_goroutines(lab, built):
    places = places_of("lines.cc")
    call = variables(objects(inspect(lab, "--json", f"lines.cc:{places['main']}", "--show", "order.name,order.next,order.key",
                                     "--", built("c++ g++ -O0"), 3).stderr)[2])
    assert call["order.name"] == "order 2" and call["order.key"] == 2 and call["order.next"]["lines"] == []
    place = places_of("lines.go")["loop"]
    calls = objects(inspect(lab, "--json", f"lines.go:{place}", "--", built("go"), 2).stderr)
    assert all(call["goroutine"] == 1 and call["function"] == "main.sum" for call in calls), calls[0]


def code_of(pid, name):
    """The program's instructions in the process, which has breakpoints as long as there are probes."""
    found, until = None, time.monotonic() + 20
    while not found:  # the program may not be there yet
        assert time.monotonic() < until
        found = re.search(rf"^(\w+)-(\w+) r-xp .*/{re.escape(name)}$", Path(f"/proc/{pid}/maps").read_text(), re.MULTILINE)
    start, end = found.groups()
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(int(start, 16))
        return memory.read(int(end, 16) - int(start, 16))


def test_attach_and_detach_under_load(lab, built):
    """In the middle of a loop, again and again: the program's code and its output stay as they are."""
    program = built("c gcc -O2")
    where = f"lines.c:{places_of('lines.c')['loop']}"
    with subprocess.Popen([program, "1000000000"], stdout=subprocess.DEVNULL) as process:
        code = code_of(process.pid, program.name)
        for _ in range(10):
            calls = objects(inspect(lab, "-p", process.pid, where, "--limit", 30, "--json").stdout)
            assert len(calls) == 30
            numbers = [variables(call)["i"] for call in calls]
            assert all(b == (a + 1) % 3 for a, b in zip(numbers, numbers[1:])), numbers
            assert process.poll() is None and code_of(process.pid, program.name) == code
        process.kill()


# -- parts, conditions, and what is printed ----------------------------------------------------------------------------


def test_show_picks_parts(lab, built):
    where = f"lines.c:{places_of('lines.c')['loop']}"
    expressions = \
        "order->id,order.items[1].text,*order.items[2].text,order.next.id,order->next->next,amounts[2],i, order.next.next.id"
    calls = objects(inspect(lab, "--json", where, "--show", expressions, "--", built("c gcc -O0"), 2).stderr)
    last = calls[-1]["variables"]
    assert [one["name"] for one in last] == [part.strip() for part in expressions.split(",")]
    assert [one.get("value", one.get("status")) for one in last] == [1, "b", ord("c"), 101, None, 12, 2, "not resident"]
    # of functions: their arguments; results are as they were
    call = objects(inspect(lab, "--json", "place", "--show", "order.id,extra", "--", built("c gcc -O2"), 2).stderr)[1]
    assert {one["name"]: one["value"] for one in call["args"]} == {"order.id": 1, "extra": 10}
    assert call["results"][0]["value"] > 0 and call["latency_ns"] > 0


def test_show_picks_elements_of_lists(lab, built):
    where = f"lines.cc:{places_of('lines.cc')['main']}"
    calls = objects(inspect(lab, "--json", where, "--show", "order.lines[2],order.lines[3]", "--", built("c++ g++ -O0"), 2).stderr)
    assert [variables(call) for call in calls] == [
        {"order.lines[2]": 2 + i, "order.lines[3]": "no such element"} for i in range(2)]
    where = f"lines.go:{places_of('lines.go')['loop']}"
    calls = objects(inspect(lab, "--json", where, "--show", "o.Lines[1],o.Next.ID", "--when", "i == 2", "--",
                            built("go plain"), 3).stderr)
    assert [variables(call) for call in calls] == [{"o.Lines[1]": i + 1, "o.Next.ID": i + 100} for i in range(3)]


def test_conditions_on_variables(lab, built):
    where = f"lines.c:{places_of('lines.c')['loop']}"
    for how in "c gcc -O0", "c gcc -O2", "c clang -O0":
        done = inspect(lab, "--json", where, "--when", "i == 2 && order.items[1].text == \"b\" && amounts[1] > 10", "--",
                       built(how), 4)
        assert [(call["i"], call["extra"]) for call in map(variables, objects(done.stderr))] == \
            [(2, 10), (2, 20), (2, 30)], how


@pytest.mark.parametrize("condition, meant", [
    ("i == 2", {2}), ("i != 1", {0, 2}), ("i < 2 && extra > 5", {0, 1}), ("i >= 1 || extra == 77", {1, 2}), ("i > 2", set()),
])
def test_conditions_on_what_the_compiler_has_made_a_constant(lab, built, condition, meant):
    """A loop that was unrolled: at each of its three places, i is another constant."""
    where = f"lines.c:{places_of('lines.c')['loop']}"
    calls = objects(inspect(lab, "--json", where, "--when", condition, "--", built("c clang -O2"), 2).stderr)
    assert {variables(call)["i"] for call in calls} == meant
    assert len(calls) == len(meant) * (1 if "&&" in condition else 2)


def test_places_without_the_value_of_a_condition_are_named(lab, built):
    where = f"lines.c:{places_of('lines.c')['loop']}"
    done = lab.run("inspect", where, "--when", "more > 5", "--json", "--", built("c clang -O2"), 2)
    assert done.returncode == 0 and "at 1 of 3 places, the condition cannot be decided" in done.stderr, done.stderr
    assert [variables(call)["more"] for call in objects(done.stderr)] == [22, 36]
    done = lab.run("inspect", f"lines.cc:{places_of('lines.cc')['main']}", "--when", "n > 5", "--",
                   built("c++ clang++ -O2"), 2)
    assert done.returncode == 1 and "is not known" in done.stderr and not done.stdout, done.stderr


@pytest.mark.parametrize("show, words", [
    ("nothing", "no argument or variable"), ("order.nothing", "no argument or variable"), ("order.", "a name is missing"),
    ("amounts[4]", "shorter"), ("amounts[x]", "a number"), ("i[1]", "no elements"), ("*i", "not a pointer"),
    ("i j", "not understood"), ("amounts[1", "']'"),
])
def test_parts_that_cannot_be(lab, built, show, words):
    done = lab.run("inspect", f"lines.c:{places_of('lines.c')['loop']}", "--show", show, "--", built("c gcc -O0"), 1)
    assert done.returncode == 1 and words in done.stderr and not done.stdout, done.stderr


def test_redacted_parts_stay_hidden(lab, built):
    where = f"lines.c:{places_of('lines.c')['loop']}"
    calls = objects(inspect(lab, "--json", where, "--redact", "items", "--show", "order.items[1].text,i", "--",
                            built("c gcc -O0"), 1).stderr)
    assert all(call["variables"][0]["status"] == "redacted" and "value" not in call["variables"][0] for call in calls)


def test_text_and_summary(lab, built):
    place = f"lines.c:{places_of('lines.c')['loop']}"
    done = inspect(lab, place, "--show", "i,extra", "--limit", 2, "--", built("c gcc -O0"), 1)
    assert re.search(rf"\] {re.escape(place)} place: i=0, extra=0\n", done.stderr), done.stderr
    assert "2 passes of 1 place of lines shown" in done.stderr
    summed = objects(inspect(lab, place, "--summary", "--json", "--", built("c gcc -O0"), 4).stderr)[0]
    function, = summed["functions"]
    assert function["function"] == f"{place} place" and function["calls"] == 12
    i = next(column for column in function["columns"] if column["of"] == "i")
    assert {value["value"]: value["calls"] for value in i["values"]} == {"0": 4, "1": 4, "2": 4}


def test_list(lab, built):
    line = line_with("lines.c", "int kept = ")
    done = inspect(lab, "--list", built("c gcc -O2"), f"lines.c:{line}")
    assert re.search(r"in clamp, inlined into place, optimised, at 0x[0-9a-f]+\n", done.stdout), done.stdout
    done = inspect(lab, "--list", built("c gcc -O0"), f"lines.c:{places_of('lines.c')['loop']}")
    assert re.search(r"\n +times int  \(static\)\n", done.stdout) and "1 place of lines, 0 functions" in done.stdout


def test_a_line_and_a_function_together(lab, built):
    done = inspect(lab, "place", f"lines.c:{places_of('lines.c')['end']}", "--json", "--", built("c gcc -O0"), 3)
    calls = objects(done.stderr)
    assert [("line" in call, call["latency_ns"] is None) for call in calls] == 3 * [(True, True), (False, False)]
    assert "3 calls of 1 function, 3 passes of 1 place of lines shown" in done.stderr


@pytest.mark.parametrize("place, words", [
    ("lines.c:1", "the nearest line that has is"), (f"lines.c:{line_with('lines.c', 'static volatile') + 1}", "the nearest line that has is"),
    (f"lines.c:{line_with('lines.c', 'int kept = ') + 1}", "the nearest lines that have are"),
    ("ines.c:50", "no code comes from a file 'ines.c'"), ("lines.c:0", "names no line"),
])
def test_lines_without_code(lab, built, place, words):
    done = lab.run("inspect", place, "--", built("c gcc -O0"), 1)
    assert done.returncode in (1, 2) and words in done.stderr and not done.stdout, done.stderr


def test_a_program_without_debug_information_has_no_lines(lab, built, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, built("c gcc -O0")], check=True)
    done = lab.run("inspect", "lines.c:50", "--", bare, 1)
    assert done.returncode == 1 and "no code comes from a file" in done.stderr
    assert "its lines are not known" in done.stderr
