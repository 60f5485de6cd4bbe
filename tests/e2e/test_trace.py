# SPDX-License-Identifier: Apache-2.0
"""Does the function tracer see the calls that programs make, all of them, in their order, and none more;
and does it leave the programs as they were?"""

import collections
import functools
import os
import shutil
import signal
from pathlib import Path

import pytest

from calls import CAN_HOLD, TOO_DEEP, Traced, alone, assert_counts, trace, truth_of, wanted
from harness import PATIENCE, Running, needs_root, wait_until

pytestmark = needs_root

# Programs that no exception and no panic passes through, with their arguments. Those that start others, then the rest.
STARTERS = [("calls_fork",), ("calls_starts",)]
ALONE = [
    ("calls_tree",), ("calls_tree-o0",), ("calls_tree-no-pie",), ("calls_tree-static",),
    ("calls_tree-static-pie",), ("calls_tree-ibt",), ("calls_tree-fp",), ("calls_tree-musl",),
    ("calls_recursion", 10), ("calls_recursion", 100), ("calls_tail",), ("calls_longjmp",),
    ("calls_signal",), ("calls_coroutine", "mmap"), ("calls_coroutine", "malloc"),
    ("calls_threads", 1000), ("calls_time", 20),
    ("calls_plt",), ("calls_plt-lazy",), ("calls_plt-ibt",), ("calls_plt-none",),
    ("calls_cpp",), ("calls_cpp-o0",),
]
PLAIN = [*STARTERS, *ALONE]
UNWOUND = [
    ("calls_exceptions",), ("calls_exceptions-static",), ("calls_exceptions-o0",), ("calls_rust",),
]
INSIDE = ("--inside", "libcalls*")

BPFTOOL = shutil.which("bpftool", path="/usr/sbin:/usr/bin:/sbin")


def words_of(program):
    return " ".join(map(str, program))


def counted(lab, program, *options):
    """Traces a program: same output, same counts. Returns the film."""
    command = [lab.program(program[0]), *program[1:]]
    output = alone(lab, *command)
    truth = truth_of(output)
    film = trace(lab, *wanted(truth), *INSIDE, *options, "--", *command)
    assert film.recording.stdout == output
    assert_counts(film, truth)
    assert not film.lost(), film.explain()
    return film


# Each program that runs behind the others: what it prints goes to a file, and a line says its process and its status.
ONE_BY_ONE = """
folder=$1; shift
while [ $# -gt 0 ]; do
    $1 >"$folder/$2" & wait $!
    echo "$2 $! $?"
    shift 2
done
"""


class OneByOne:
    """Programs that run one after the other in one film: to start a tracer takes longer than any of them."""

    def __init__(self, lab, programs, exits):
        self.lab = lab
        self.outputs, self.truths, words, names = {}, {}, [], set()
        for program in programs:
            path = lab.programs / program[0]
            if not path.exists():
                continue
            self.outputs[program] = alone(lab, path, *program[1:])
            self.truths[program] = truth_of(self.outputs[program])
            names.update(self.truths[program])
            words += [" ".join(map(str, (path, *program[1:]))), words_of(program)]
        self.folder = lab.folder / exits
        self.folder.mkdir()
        self.film = trace(lab, *wanted(sorted(names)), *INSIDE, "--exit", exits, "--", "/bin/sh", "-c", ONE_BY_ONE, "sh",
                          self.folder, *words)
        self.pids, self.statuses = {}, {}
        for line in self.film.recording.stdout.splitlines():
            name, pid, status = line.rsplit(" ", 2)
            self.pids[name], self.statuses[name] = pid, status

    def check(self, program):
        self.lab.program(program[0])
        name = words_of(program)
        assert self.statuses[name] == "0", self.film.recording.stdout
        assert (self.folder / name).read_text() == self.outputs[program]
        assert_counts(self.film, self.truths[program], "-p", self.pids[name])


@pytest.fixture(scope="module")
def one_by_one(shared_lab):
    """The programs of a way to see exits, filmed when the first test asks for them."""
    @functools.cache
    def of(exits):
        # whose functions have names that others count too would return to where the kernel wants, on their own stacks
        return OneByOne(shared_lab, [program for program in [*ALONE, *UNWOUND] if exits != "return" or
                                     program in ALONE and program[0] != "calls_coroutine"], exits)

    return of


def assert_counted(lab, one_by_one, program, exits):
    """On older kernels the first calls of what others start are not seen."""
    if CAN_HOLD and not (exits == "return" and program[0] == "calls_coroutine"):
        one_by_one(exits).check(program)
    else:
        counted(lab, program, "--exit", exits)


@pytest.mark.parametrize("exits", ["auto", "return", "ret", "inferred"])
@pytest.mark.parametrize("program", ALONE, ids=words_of)
def test_counts(lab, one_by_one, program, exits):
    assert_counted(lab, one_by_one, program, exits)


@pytest.mark.parametrize("exits", ["auto", "ret", "inferred"])
@pytest.mark.parametrize("program", UNWOUND, ids=words_of)
def test_counts_where_exceptions_pass(lab, one_by_one, program, exits):
    assert_counted(lab, one_by_one, program, exits)


@pytest.mark.skipif(not CAN_HOLD, reason="each program is filmed by itself here")
@pytest.mark.parametrize("exits", ["auto", "return", "ret", "inferred"])
def test_nothing_is_lost_of_programs_that_others_start(one_by_one, exits):
    film = one_by_one(exits).film
    assert not film.lost(), film.explain()


@pytest.mark.parametrize("exits", ["auto", "return", "ret", "inferred"])
@pytest.mark.parametrize("program", STARTERS, ids=words_of)
def test_counts_of_what_starts_others(lab, program, exits):
    counted(lab, program, "--exit", exits)


@pytest.mark.parametrize("exits", ["auto", "ret"])
def test_counts_in_go(lab, exits):
    """On 100 goroutines, which change threads, and whose stacks are moved."""
    film = counted(lab, ("calls_go",), "--exit", exits)
    # goroutines take turns on a thread: none is called by another one
    callers = below(film.paths(), "main.leaf")
    assert callers == {"main.works": 1000, "main.digs": 2}, callers
    stacks = film.json()["stacks"]
    assert stacks["complete"] == stacks["samples"], stacks


@pytest.mark.parametrize("program", [*PLAIN, *UNWOUND, ("calls_go",), ("calls_dlopen",)],
                         ids=words_of)
def test_all_functions_traced_and_nothing_changed(lab, program):
    """Without a pattern: all that the program has, and each call into libraries."""
    command = [lab.program(program[0]), *program[1:]]
    output = alone(lab, *command)
    film = trace(lab, "--", *command)
    assert film.recording.stdout == output
    assert sum(film.counts().values()) > 0


def test_status_is_that_of_the_command(lab):
    for script, status in (("exit 7", 7), ("kill -TERM $$", 143)):
        done = lab.run("trace", "-o", lab.new_film(), "-l", "libc.*", "--", "/bin/sh", "-c", script)
        assert done.returncode == status, done.stderr
    done = lab.run("trace", "-o", lab.new_film(), "-f", "scheduler", "--",
                   lab.program("calls_coroutine"), "mmap", 65)
    assert done.returncode == 2, done.stderr


def test_deeper_than_can_be_followed_is_counted(lab):
    """Of 1,000 open calls some find no room. What is there and what was lost are all."""
    command = [lab.program("calls_recursion"), 1000]
    output = alone(lab, *command)
    truth = truth_of(output)
    film = trace(lab, *wanted(truth), "--", *command)
    assert film.recording.stdout == output
    lost = sum(count for reason, count in film.lost().items() if TOO_DEEP in reason)
    assert lost > 0, film.explain()
    counts = film.counts()
    assert sum(counts[name] for name in truth) + lost == sum(truth.values()), film.explain()
    assert counts["fib"] == truth["fib"], film.explain()


# --- who called whom -----------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["auto", "ret"])
def exits(request):
    return "--exit", request.param


def below(paths, name):
    """The functions that called name, with counts."""
    return dict(collections.Counter({caller: sum(
        count for path, count in paths.items() if path[-1] == name and path[-2:-1] == (caller,))
        for caller in {path[-2] for path in paths if path[-1] == name and len(path) > 1}}))


def test_nesting_of_a_tree(lab, exits):
    film = trace(lab, *exits, "-f", "main", "-f", "a", "-f", "b", "-f", "c", "--",
                 lab.program("calls_tree"))
    assert film.paths() == {("main",): 1, ("main", "a"): 3, ("main", "a", "b"): 12,
                            ("main", "a", "b", "c"): 60}


@pytest.mark.parametrize("deepest", [100, 510])
def test_nesting_of_recursion(lab, exits, deepest):
    """Also as deep as can be followed, which takes memory beside the thread's own."""
    film = trace(lab, *exits, "-f", "down", "-f", "even", "-f", "odd", "--",
                 lab.program("calls_recursion"), deepest)
    paths = film.paths()
    assert not film.lost(), film.explain()
    assert all(paths[("down",) * depth] == 1 for depth in range(1, deepest + 1)), film.explain()
    assert paths[("even", "odd") * (deepest // 2)] == 1, film.explain()
    assert paths[(*("even", "odd") * (deepest // 2), "even")] == 1, film.explain()


# The recorder's map of that name, once a deep thread has ended.
PARTS_OF_RECORDER = r"""
"$0" 510 >/dev/null
for id in $(sed -n 's/^map_id:[[:space:]]*//p' /proc/$PPID/fdinfo/*); do
    bpftool map show id "$id" | grep -q 'name calls_parts ' && exec bpftool --json map dump id "$id"
done
"""


@pytest.mark.skipif(not BPFTOOL, reason="no bpftool")
def test_memory_of_deep_stacks_goes_with_the_thread(lab, monkeypatch):
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin")
    film = trace(lab, "-f", "down", "--", "/bin/sh", "-c", PARTS_OF_RECORDER, lab.program("calls_recursion"))
    assert film.counts()["down"] == 510, film.explain()
    assert film.recording.stdout.strip() == "[]", film.explain()


def test_nesting_of_tail_calls(lab):
    """Whoever jumps ends with the one that it has jumped to, and is shown as its caller."""
    film = trace(lab, "--exit", "return", *wanted(["first", "second", "third", "through"]), "--",
                 lab.program("calls_tail"))
    assert film.paths() == {
        ("first",): 10, ("first", "second"): 10, ("first", "second", "third"): 10,
        ("through",): 10, ("through", "third"): 5, ("through", "first"): 5,
        ("through", "first", "second"): 5, ("through", "first", "second", "third"): 5,
    }, film.explain()


def test_jumps_are_no_ends(lab):
    """A function that jumps to another one ends with it, where each exit has its probe, too."""
    film = trace(lab, "--exit", "ret", "-f", "first", "-f", "second", "-f", "third", "--",
                 lab.program("calls_tail"))
    chain = ("first", "second", "third")
    assert film.paths() == {**{chain[:length]: 15 for length in (1, 2, 3)}, ("third",): 5}, film.explain()


def test_jumps_to_what_is_not_traced(lab):
    """Its end is not seen then: the time until the jump is none, the time until its caller goes on is marked."""
    film = trace(lab, "--exit", "ret", "-f", "first", "-f", "through", "--", lab.program("calls_tail"))
    assert film.paths() == {("first",): 10, ("through",): 10, ("through", "first"): 5}, film.explain()
    assert all(line.guess for line in film.lines("--raw")), film.explain()


def test_nesting_behind_longjmp(lab, exits):
    film = trace(lab, *exits, "-f", "catcher", "-f", "dig", "-f", "after", "-f", "looper",
                 "-f", "hop", "--", lab.program("calls_longjmp"))
    assert film.paths() == {
        ("catcher",): 20, ("catcher", "after"): 20, ("looper",): 1, ("looper", "hop"): 10,
        **{("catcher", *["dig"] * depth): 20 - 4 * (depth - 1) for depth in range(1, 6)},
    }, film.explain()


def test_nesting_in_signal_handlers(lab, exits):
    film = trace(lab, *exits, *wanted(["worker", "raiser", "handler", "in_handler", "leaver",
                                       "escape"]), "--", lab.program("calls_signal"))
    paths = film.paths()
    own = ("worker", "raiser", "handler")
    # on the thread's own stack the handler stands above who was interrupted, on another one it begins
    assert paths[own] == 5 and paths[(*own, "in_handler")] == 10, film.explain()
    assert paths[("handler",)] == 5 and paths[("handler", "in_handler")] == 10, film.explain()
    assert paths[("escape", "leaver")] == 4 and paths[("leaver",)] == 4, film.explain()
    assert paths[("worker",)] == 2 and paths[("worker", "raiser")] == 10, film.explain()
    assert paths[("escape",)] == 8, film.explain()


@pytest.mark.parametrize("memory", ["mmap", "malloc"])
def test_nesting_in_coroutines(lab, exits, memory):
    film = trace(lab, *exits, "-f", "body", "-f", "step", "-f", "leaf", "-f", "scheduler", "--",
                 lab.program("calls_coroutine"), memory)
    assert film.paths() == {("scheduler",): 1, ("body",): 3, ("body", "step"): 30,
                            ("body", "step", "leaf"): 60}, film.explain()


def test_nesting_in_more_coroutines_than_are_followed(lab):
    """With 20 stacks of one thread nesting may be lost, but no call."""
    film = counted(lab, ("calls_coroutine", "mmap", 20))
    assert all(path[-2:-1] in ((), ("step",)) for path in film.paths() if path[-1] == "leaf")


@pytest.mark.parametrize("program", ["calls_catches", "calls_catches-static", "calls_catches-no-plt"])
def test_nesting_behind_a_catch_that_is_not_traced(lab, exits, program):
    """Who catches takes more room on the stack than the exception has left, and calls from below that."""
    film = trace(lab, *exits, "-f", "dig", "-f", "after", "--", lab.program(program))
    assert film.paths() == {("after",): 40, **{("dig",) * depth: 24 - 4 * depth for depth in range(1, 6)}}, film.explain()
    assert all(line.guess for line in film.lines("--raw") if line.path[-1] == "dig"), film.explain()


def test_nesting_behind_exceptions(lab):
    program = lab.program("calls_exceptions")
    truth = truth_of(alone(lab, program))
    film = trace(lab, *wanted(truth), "-f", "main", "--", program)
    paths = film.paths()
    assert below(paths, "thrower") == {"passes": truth["thrower"]}, film.explain()
    callers = below(paths, "after")
    assert set(callers) <= {"catches", "rethrows", "nested", "leaves", "main"}, film.explain()
    assert callers["main"] == 5 and sum(callers.values()) == truth["after"], film.explain()
    assert below(paths, "cleans_up") == {"guard::~guard": truth["cleans_up"]}, film.explain()
    # as a child of each depth from which it was thrown
    deepest = ("main", "catches", *["passes"] * 10, "thrower")
    assert paths[deepest] == 5, film.explain()
    # of functions that end unseen now and then, only those calls
    answer = film.json()
    assert 0 < answer["stacks"]["guessed"] == answer["calls"]["inferred"], film.explain()


def test_what_may_have_ended_is_a_guess(lab):
    film = trace(lab, "--exit", "inferred", "-f", "main", "--", lab.program("calls_tree"))
    answer = film.json()["calls"]
    assert answer["calls"] == answer["open"] == answer["inferred"] == 1, film.explain()


@pytest.mark.parametrize("exits", ["auto", "ret", "return", "inferred"])
def test_no_caller_that_has_returned(lab, exits):
    """
    Below a function without an exit probe that has returned, code that is not traced calls another: each caller
    is the right one, or not known.
    """
    names = ["around", "worker", "maybe", "inner", "other"]
    program = lab.program("calls_callers")
    film = trace(lab, "--exit", exits, *wanted(names), "--", program)
    assert_counts(film, truth_of(alone(lab, program)))
    answer = film.json()
    chains = [line.rpartition(" ")[0].split(";")
              for line in film.report("--format", "folded", "--raw").stdout.splitlines()]
    callers = {(callee, caller) for chain in chains for caller, callee in zip(chain, chain[1:])}
    assert ("inner", "maybe") not in callers and ("maybe", "maybe") not in callers, film.explain()
    assert {caller for callee, caller in callers if callee == "inner"} <= {
        "worker", "[caller not known]"}, film.explain()
    assert ("worker", "around") in callers and ("inner", "worker") in callers, film.explain()
    not_known = sum(count for reason, count in answer["stacks"]["reasons"].items()
                    if reason.startswith("caller not known"))
    # inner() is called by code that is not traced: only then nobody knows
    assert not_known == (100 if exits == "inferred" else 0), film.explain()
    assert answer["stacks"]["truncated"] == not_known, film.explain()


def test_durations_are_within_their_callers(lab):
    """What tracing costs varies, and is taken off all the same: nothing lasts longer than its caller."""
    for exits in "return", "ret", "inferred":
        film = trace(lab, "--exit", exits, *wanted(["main", "around", "worker", "inner"]), "--",
                     lab.program("calls_callers"))
        open_below = {}
        for line in film.lines():
            inner = open_below.pop(len(line.path) + 1, 0)
            assert line.duration is None or line.duration >= inner, film.explain()
            if line.duration is not None:
                depth = len(line.path)
                open_below[depth] = max(open_below.get(depth, 0), line.duration)


def test_what_is_too_short_to_be_measured_is_marked(lab):
    """A function that does nothing: no number stands for it, but what can be measured at least."""
    film = trace(lab, "--exit", "inferred", "-f", "other", "-f", "inner", "--",
                 lab.program("calls_callers"))
    assert film.function("inner")["error"] > 0, film.explain()
    text = film.replay("--no-on-cpu")
    assert " 0.000 us" not in text, text[:2000]


def test_nesting_behind_panics(lab):
    program = lab.program("calls_rust")
    truth = truth_of(alone(lab, program))
    film = trace(lab, *wanted(truth), "--", program)
    name = "calls_rust::{}".format
    callers = below(film.paths(), name("sums"))
    assert callers == {name("catches"): 5}, film.explain()


def test_threads_have_trees_of_their_own(lab):
    film = trace(lab, "-f", "thread_body", "-f", "work", "-f", "leave", "--",
                 lab.program("calls_threads"), 1000)
    lines = film.lines()
    trees = collections.defaultdict(collections.Counter)
    for line in lines:
        trees[line.tid][line.path] += 1
    assert len(trees) >= 900, "tids are used again, but seldom"
    paths = collections.Counter(line.path for line in lines)
    assert paths == {("thread_body",): 1000, ("thread_body", "work"): 10000,
                     ("thread_body", "leave"): 500}


def test_processes_have_trees_of_their_own(lab):
    film = trace(lab, *wanted(["parent", "both", "child", "fresh"]), "--",
                 lab.program("calls_fork"))
    lines = film.lines()
    threads = {line.tid for line in lines}
    assert len(threads) == 1 + 5 + 6, film.explain()
    assert len({line.tid for line in lines if line.path[-1] == "fresh"}) == 6
    assert sum(line.path[-2:] == ("parent", "both") for line in lines) == 10, film.explain()
    assert sum(line.path[-2:] == ("child", "both") for line in lines) == 10, film.explain()


def test_children_are_left_alone_if_told(lab):
    film = trace(lab, "--no-children", *wanted(["parent", "both", "child", "fresh"]), "--",
                 lab.program("calls_fork"))
    counts = film.counts()
    assert (counts["parent"], counts["both"]) == (5, 10), film.explain()
    assert counts["child"] == counts["fresh"] == 0, film.explain()


# --- libraries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["calls_plt", "calls_plt-lazy", "calls_plt-ibt"])
def test_calls_into_a_library(lab, program):
    film = trace(lab, "-f", "caller", "-l", "libcalls*", "--", lab.program(program))
    assert film.paths() == {("caller",): 1, ("caller", "lib_twice@libcalls.so"): 7,
                            ("caller", "lib_other@libcalls.so"): 9,
                            ("lib_tell@libcalls.so",): 1}, film.explain()


@pytest.mark.parametrize("program", ["calls_plt", "calls_plt-none"])
def test_inside_a_library(lab, program):
    film = trace(lab, "--inside", "libcalls*", "-f", "caller", "-f", "lib_*", "--",
                 lab.program(program))
    paths = film.paths()
    assert below(paths, "lib_once") == {"lib_twice": 14}, film.explain()
    assert all(path[0] == "caller" for path in paths if path[-1] == "lib_other"), film.explain()
    assert film.counts()["lib_other"] == 9, film.explain()


def test_a_library_that_is_loaded_later(lab):
    """It is found soon after it was loaded, and as long as it is not, that is counted as a loss. The
    program loads it three times, and waits for that after the first time."""
    command = [lab.program("calls_dlopen"), PATIENCE]
    output = alone(lab, command[0])
    film = trace(lab, "-f", "user", "-f", "lib_*", "--inside", "libcalls*", "--", *command)
    assert film.recording.stdout == output
    counts = film.counts()
    assert counts["user"] == 3
    # 8 calls each time
    assert 16 <= counts["lib_once"] <= 24 and counts["lib_once"] == 2 * counts["lib_twice"]
    lost = " ".join(film.json()["loss"])
    assert counts["lib_once"] == 24 or "first calls" in lost, film.explain()
    assert film.paths()[("user", "lib_twice", "lib_once")] >= 16, film.explain()
    summed = trace(lab, "--summary", "-f", "user", "-f", "lib_*", "--inside", "libcalls*", "--",
                   *command).counts()
    assert summed["user"] == 3 and 16 <= summed["lib_once"] <= 24, summed


def test_leveldb(lab, tmp_path):
    """A library of others, with its threads, templates and exceptions: it reads what was written."""
    program = lab.program("calls_leveldb")
    untraced = alone(lab, program, tmp_path / "untraced")
    film = trace(lab, "-f", "leveldb::*", "--inside", "libleveldb*", "--", program,
                 tmp_path / "traced")
    assert film.recording.stdout == untraced
    counts = film.counts()
    if not film.lost() and "too often" not in film.recording.stderr:
        assert counts["leveldb::WriteBatch::Put"] == 50000, film.explain()
    assert sum(counts.values()) > 100000, film.explain()


# --- time ----------------------------------------------------------------------------------------


# The kernel counts what a hypervisor takes in ticks, rounded down.
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")


def stolen_ns():
    """What a hypervisor has taken from this machine's CPUs while they had work."""
    all_cpus = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(all_cpus[8]) * TICK_NS


@pytest.fixture(scope="module")
def times(shared_lab):
    before = stolen_ns()
    film = trace(shared_lab, *wanted(["on_cpu", "asleep", "waits_for_lock"]), "--",
                 shared_lab.program("calls_time"), 200)
    film.stolen = stolen_ns() - before + TICK_NS
    return film


def test_time_on_a_cpu(times):
    """The program itself measures 200 ms of CPU time, in which there is nothing of what the hypervisor took."""
    function = times.function("on_cpu")
    assert 196e6 <= function["on_cpu"] <= 204e6 + times.stolen, (function, times.stolen)
    assert function["total"] >= function["on_cpu"]


@pytest.mark.parametrize("name", ["asleep", "waits_for_lock"])
def test_time_asleep(times, name):
    function = times.function(name)
    assert function["total"] >= 195e6, function
    assert function["total"] - function["on_cpu"] >= 195e6, function
    line = next(line for line in times.lines() if line.path[-1] == name)
    assert line.duration - line.on_cpu >= 195e6, times.replay()


def test_times_add_up(lab):
    """Without recursion: what a function has as its own and what it called are its total."""
    film = trace(lab, *wanted(["main", "a", "b", "c"]), "--", lab.program("calls_tree"))
    functions = {name: film.function(name) for name in ("main", "a", "b", "c")}
    for name, callee in (("main", "a"), ("a", "b"), ("b", "c")):
        assert functions[name]["total"] == functions[name]["self"] + functions[callee]["total"]
    assert functions["c"]["total"] == functions["c"]["self"]
    for function in functions.values():
        assert function["calls"] * function["min"] <= function["total"]
        assert function["total"] <= function["calls"] * function["max"]
    total = sum(function["self"] for function in functions.values())
    assert total == functions["main"]["total"] == film.json()["event"]["total"]


# --- many calls ----------------------------------------------------------------------------------


def test_a_million_calls(lab):
    """What is in the film and what was lost are all calls that were made."""
    command = [lab.program("calls_million"), 1000000]
    output = alone(lab, *command)
    film = trace(lab, "-f", "add", "--", *command)
    assert film.recording.stdout == output
    assert film.counts()["add"] + sum(film.lost().values()) == 1000000, film.explain()


def state_of(pid):
    """The letter of /proc/PID/stat."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2][0]


def test_what_does_not_fit_is_counted(lab):
    """The tracer is stopped for a while: its rings run over."""
    count = 3000000
    command = [lab.program("calls_million"), count, 0, "wait"]
    with lab.beside("trace", "-q", "--max-rate", 0, "-f", "add", "--", *command) as (tracer, film):
        # the line that it waits for is the end of /dev/null
        assert tracer.stdout.readline() == b"ready\n", tracer.stderr.read()
        os.kill(tracer.pid, signal.SIGSTOP)
        program, = Running(tracer).children()
        ended = wait_until(lambda: state_of(program) == "Z", 3 * PATIENCE)
        os.kill(tracer.pid, signal.SIGCONT)
        assert ended
        assert tracer.wait(timeout=PATIENCE) == 0, tracer.stderr.read()
    film = Traced(film.stackcam, film.path)
    lost = sum(film.lost().values())
    assert lost > 0, film.explain()
    assert film.counts()["add"] + lost == count, film.explain()
