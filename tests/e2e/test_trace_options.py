# SPDX-License-Identifier: Apache-2.0
"""What can be chosen of the calls that `stackcam trace` sees."""

import os
import re
import shutil
from pathlib import Path

import pytest

from calls import Traced, alone, assert_counts, lines_of, trace, truth_of, wanted
from harness import needs_root, running, wait_until

pytestmark = needs_root

TREE = {("main",): 1, ("main", "a"): 3, ("main", "a", "b"): 12, ("main", "a", "b", "c"): 60}
ALL = ("-f", "main", "-f", "a", "-f", "b", "-f", "c")


def tree(lab, *options):
    return trace(lab, *options, "--", lab.program("calls_tree"))


# --- which functions -----------------------------------------------------------------------------


def test_where_a_function_is_that_nobody_calls_from_outside(lab):
    """What a library has but the program does not call is found with --inside: the hint says so."""
    done = lab.run("trace", "-f", "mblen", "--", lab.program("calls_tree"))
    assert done.returncode == 1, done.stderr
    hint = re.search(r"'(--inside) (libc\S+)'", done.stderr)
    assert hint, done.stderr
    done = lab.run("trace", "--list", "-f", "mblen", *hint.groups(), "--",
                   lab.program("calls_tree"))
    assert done.returncode == 0 and "mblen" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("patterns, names", [
    (("-f", "[abc]"), "abc"),
    (("-f", "re:^[ab]$"), "ab"),
    (("--function", "?", "--no-function", "b"), "ac"),
    (("-f", "[abc]", "--no-function", "[bc]", "-f", "c"), "ac"),
    # the first one excludes: all others are meant
    (("--no-function", "b", "--no-function", "main", "--no-lib", "*"), "ac"),
    (("--no-function", "*", "-f", "c"), "c"),
], ids=lambda words: " ".join(words) if isinstance(words, tuple) else "")
def test_the_last_pattern_that_matches_decides(lab, patterns, names):
    counts = tree(lab, *patterns).counts()
    assert {name for name in ("main", "a", "b", "c") if counts[name]} == set(names), counts
    truth = {"a": 3, "b": 12, "c": 60}
    assert all(counts[name] == truth[name] for name in names), counts


def test_calls_into_libraries_by_name(lab):
    film = trace(lab, "-f", "lib_*@libcalls*", "--no-function", "lib_other@*", "--",
                 lab.program("calls_plt"))
    assert film.counts() == {"lib_twice@libcalls.so": 7, "lib_tell@libcalls.so": 1}
    film = trace(lab, "-l", "libcalls*", "--no-function", "lib_tell@*", "--",
                 lab.program("calls_plt"))
    assert film.counts() == {"lib_twice@libcalls.so": 7, "lib_other@libcalls.so": 9}
    film = trace(lab, "-f", "caller", "-l", "*", "--no-lib", "libc.*", "--",
                 lab.program("calls_plt"))
    assert {name.partition("@")[2] for name in film.counts()} == {"", "libcalls.so"}


def test_names_of_cpp(lab):
    program = lab.program("calls_cpp")
    film = trace(lab, "-f", "shapes::*", "--no-function", "*::operator*", "--", program)
    truth = {name: count for name, count in truth_of(alone(lab, program)).items()
             if name.startswith("shapes::") and "operator" not in name}
    assert len(truth) == 3
    assert_counts(film, truth)
    assert "shapes::point::operator+" not in film.counts()


def test_list_probes_nothing(lab):
    """It says what would be probed, what that costs, and what is refused."""
    done = lab.run("trace", "--list", "-f", "[abc]", "-f", "_start", "--",
                   lab.program("calls_tree"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for name in "abc":
        assert any(re.search(rf"(^|\s){name}(\s|$)", line) for line in lines), done.stdout
    start = next(line for line in lines if "_start" in line)
    assert "starts or ends the program" in start, done.stdout
    assert "checksum" not in done.stdout, "it ran"


def test_list_says_which_probes_are_dear(lab):
    done = lab.run("trace", "--list", "-f", "begins_*", "--", lab.program("calls_starts"))
    assert done.returncode == 0, done.stderr
    words = {name: next(line for line in done.stdout.splitlines()
                        if re.search(rf"\bbegins_{name}\b", line)).replace(f"begins_{name}", "")
             for name in ("push", "sub", "mov")}
    assert words["push"].split()[:1] != words["mov"].split()[:1] or "slow" in words["mov"]
    assert "slow" in words["sub"], done.stdout
    assert "slow" not in words["push"], done.stdout


# --- which calls ---------------------------------------------------------------------------------


def test_depth(lab):
    film = tree(lab, *ALL, "--depth", 2)
    assert film.paths() == {path: count for path, count in TREE.items() if len(path) <= 2}


def test_min_time_keeps_what_is_long(lab):
    film = trace(lab, *wanted(["main", "on_cpu", "asleep", "sleep_all"]), "--min-time", "50ms",
                 "-l", "*", "--", lab.program("calls_time"), 100)
    counts = film.counts()
    assert counts["main"] == counts["on_cpu"] == counts["asleep"] == 1, film.explain()
    # one in which another process ran may be as long
    assert sum(counts.values()) < 20, counts
    for line in film.lines():
        assert line.duration >= 50e6, line


def test_slower_keeps_the_whole_subtree(lab):
    """A slow call with all that it called, however short; of fast ones nothing."""
    film = trace(lab, "-f", "on_cpu", "-f", "asleep", "-l", "libc.*", "--no-function", "*@libstdc*",
                 "--slower", "50ms", "--", lab.program("calls_time"), 100)
    paths = film.paths()
    assert paths[("on_cpu",)] == paths[("asleep",)] == 1, film.explain()
    assert paths[("on_cpu", "clock_gettime@libc.so.6")] >= 2, film.explain()
    assert paths[("asleep", "nanosleep@libc.so.6")] + paths[
        ("asleep", "clock_nanosleep@libc.so.6")] == 1, film.explain()
    # quick, and in nothing slow
    assert not any(name.startswith("printf") for path in paths for name in path), film.explain()


def test_under(lab):
    film = tree(lab, "-f", "a", "-f", "b", "-f", "c", "--under", "b")
    assert film.paths() == {("b",): 12, ("b", "c"): 60}, film.explain()
    # it leaves by a jump, and ends with what it jumps to
    for exits in ("return", "auto"):
        film = trace(lab, "--exit", exits, "-f", "first", "-f", "second", "-f", "third", "--under", "through",
                     "--", lab.program("calls_tail"))
        counts = film.counts()
        assert (counts["first"], counts["second"], counts["third"]) == (5, 5, 10), film.explain()


def test_start_on_and_stop_on(lab):
    """Nothing is kept before the first; nothing from the second on."""
    order = ["on_cpu", "asleep", "waits_for_lock"]
    program = (lab.program("calls_time"), 10)
    started = trace(lab, *wanted(order), "--start-on", "asleep", "--", *program).counts()
    assert (started["on_cpu"], started["asleep"], started["waits_for_lock"]) == (0, 1, 1)
    stopped = trace(lab, *wanted(order), "--stop-on", "asleep", "--", *program).counts()
    assert (stopped["on_cpu"], stopped["asleep"], stopped["waits_for_lock"]) == (1, 0, 0)
    both = trace(lab, *wanted(order), "--start-on", "asleep", "--stop-on", "waits_for_lock", "--",
                 *program).counts()
    assert (both["on_cpu"], both["asleep"], both["waits_for_lock"]) == (0, 1, 0)


# --- keeping up ----------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [("calls_tree",), ("calls_recursion", 100), ("calls_tail",),
                                     ("calls_threads", 200), ("calls_fork",)],
                         ids=lambda words: words[0])
def test_summary_has_the_same_counts(lab, program):
    command = [lab.program(program[0]), *program[1:]]
    output = alone(lab, *command)
    truth = truth_of(output)
    film = trace(lab, "--summary", *wanted(truth), "--", *command)
    assert film.recording.stdout == output
    assert_counts(film, truth)
    functions = {f["name"]: f for f in film.json("--raw")["functions"]}
    for name in truth:
        function = functions[name]
        assert function["self"] <= function["total"], function
        assert function["min"] <= function["max"] <= function["total"], function


def test_summary_without_a_film_is_a_table(lab):
    before = set(Path("/tmp").glob("stackcam-??????"))
    command = [lab.program("calls_tree")]
    output = alone(lab, *command)
    truth = truth_of(output)
    done = lab.run("trace", "--summary", *wanted(truth), "--", *command)
    assert done.returncode == 0, done.stderr
    program, table = done.stdout[:len(output)], done.stdout[len(output):]
    assert program == output
    counted = {name: int(calls.replace(",", "")) for calls, name in re.findall(r"([\d,]+)  (\w+) +calls_tree$", table, re.M)}
    assert counted == truth
    assert "traced: " in done.stderr and "sums.film" not in done.stderr
    # others, of tests beside this one, go as well
    assert wait_until(lambda: not set(Path("/tmp").glob("stackcam-??????")) - before)


def test_summary_counts_the_deepest_calls_too(lab):
    """Of 1,000 open calls only the first have a time of their own; all are counted."""
    command = [lab.program("calls_recursion"), 1000]
    truth = truth_of(alone(lab, *command))
    film = trace(lab, "--summary", *wanted(truth), "--", *command)
    assert_counts(film, truth)
    assert any("without its time" in reason for reason in film.json()["loss"]), film.explain()


def test_summary_of_a_million(lab):
    """No ring can run over."""
    film = trace(lab, "--summary", "--max-rate", 0, "-f", "add", "--",
                 lab.program("calls_million"), 1000000)
    assert film.counts()["add"] == 1000000
    assert not film.lost()
    assert film.path.stat().st_size < 200000


def test_hot_function_is_taken_out(lab):
    """And it is said which one. The others stay."""
    with running(lab.program("calls_steady"), 60) as program:
        film = trace(lab, "-f", "leaf", "-f", "middle", "-f", "outer", "--max-rate", 2000,
                     "-d", 6, "-p", program.pid)
        program.process.terminate()
        output = program.process.stdout.read().decode()
        assert program.wait() == 0, output
    assert "the checksum is right" in output
    words = film.recording.stderr + str(film.json()["loss"])
    assert re.search(r"\bleaf\b", words), words
    counts = film.counts()
    # outer calls middle 50 times, and that calls leaf twice: of both there are less
    assert 0 < counts["leaf"] < 90 * counts["outer"], counts


# --- targets -------------------------------------------------------------------------------------


def test_a_process_that_runs(lab):
    with running(lab.program("calls_steady"), 60, 2) as program:
        film = trace(lab, "-f", "outer", "-f", "middle", "-d", 0.5, "-p", program.pid)
        program.process.terminate()
        assert program.wait() == 0
    counts = film.counts()
    assert counts["outer"] > 10, film.explain()
    # each outer() calls middle() 50 times; at begin and end a tree per thread may be cut
    assert abs(counts["middle"] - 50 * counts["outer"]) <= 4 * 50 + sum(film.lost().values())
    # a call that a film had no room for is counted, and missing in the tree: it is not read as one here
    assert len({line.split()[0] for line in film.replay().splitlines() if "middle()" in line}) == 2


def test_one_thread_of_two(lab):
    with running(lab.program("calls_steady"), 60, 2) as program:
        tids = sorted(int(tid) for tid in os.listdir(f"/proc/{program.pid}/task"))
        film = trace(lab, "-f", "outer", "-d", 0.5, "-t", tids[-1])
    assert {line.tid for line in film.lines()} == {str(tids[-1])}, film.explain()


def test_by_name(lab):
    """All that run under that name, and nothing else. If nothing does, it is waited for, with words; a command beside it
    is refused."""
    # the machine may run the program for another test, too
    ours = lab.folder / "by_name"
    shutil.copy(lab.program("calls_steady"), ours)
    options = ("-n", "by_na?e", "-f", "outer")
    with running(ours, 60) as one, running(ours, 60) as two, \
            running(lab.program("split"), 60):
        film = trace(lab, *options, "-d", 0.5)
        seen = {line.tid for line in film.lines()}
        threads = [set(os.listdir(f"/proc/{program.pid}/task")) for program in (one, two)]
    assert all(seen & each for each in threads) and seen <= set.union(*threads), film.explain()
    film = trace(lab, *options, "-d", 0.5, check=False)
    assert film.recording.returncode == 1
    assert "no process of that name runs; those that start later are traced" in film.recording.stderr
    assert not film.lines(), film.explain()
    # a command beside it says how long, and is not traced
    film = trace(lab, *options, "--", lab.program("calls_tree"), check=False)
    assert not film.lines(), film.explain()


def test_one_process_of_several_with_the_same_file(lab):
    with running(lab.program("calls_steady"), 60) as other, \
            running(lab.program("calls_steady"), 60) as program:
        film = trace(lab, "-f", "outer", "-d", 0.3, "-p", program.pid)
        assert other.process.poll() is None
    assert {line.tid for line in film.lines()}.isdisjoint({str(other.pid)})
    assert film.counts()["outer"] > 0


# --- what is printed -----------------------------------------------------------------------------


def test_live_tree(lab):
    """Without -o it goes to standard error, or to a file; a command's own output stays as it is."""
    text = lab.folder / "live.txt"
    program = lab.program("calls_tree")
    done = lab.run("trace", *ALL, "--text", text, "--", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == alone(lab, program)
    paths = [line.path for line in lines_of(text.read_text())]
    assert {path: paths.count(path) for path in set(paths)} == TREE, text.read_text()
    done = lab.run("trace", *ALL, "--", program)
    assert done.stdout == alone(lab, program)
    paths = [line.path for line in lines_of(done.stderr)]
    assert {path: paths.count(path) for path in set(paths)} == TREE, done.stderr


def test_live_tree_of_what_is_long(lab):
    """The shorter calls are left out, beginnings and ends: nothing is said to be lost."""
    text = lab.folder / "long.txt"
    done = lab.run("trace", "-f", "on_cpu", "-f", "asleep", "-f", "waits_for_lock", "-f", "main", "--min-time", "1ms",
                   "--text", text, "--", lab.program("calls_time"), 20)
    assert done.returncode == 0, done.stderr
    assert "lost" not in text.read_text(), text.read_text()
    paths = {line.path for line in lines_of(text.read_text())}
    assert ("main", "asleep") in paths, text.read_text()
    done = lab.run("trace", "-f", "third", "-f", "second", "--min-time", "10s", "--text", text, "--",
                   lab.program("calls_tail"))
    assert done.returncode == 0, done.stderr
    assert not lines_of(text.read_text()), text.read_text()


def test_sums_have_no_calls_to_replay(lab):
    film = trace(lab, "--summary", "-f", "third", "--", lab.program("calls_tail"))
    done = lab.run("replay", film.path)
    assert done.returncode == 1 and "--summary" in done.stderr, done.stderr


def test_live_and_film(lab):
    text = lab.folder / "live.txt"
    film = trace(lab, *ALL, "--live", "--text", text, "--", lab.program("calls_tree"))
    paths = [line.path for line in lines_of(text.read_text())]
    assert {path: paths.count(path) for path in set(paths)} == TREE, text.read_text()
    assert film.paths() == TREE


@pytest.mark.parametrize("option, heading", [
    ("--timestamps", "TIMESTAMP"), ("--cpu", "CPU"), ("--process", "PROCESS")])
def test_columns(lab, option, heading):
    text = lab.folder / "live.txt"
    done = lab.run("trace", *ALL, option, "--text", text, "--", lab.program("calls_tree"))
    assert done.returncode == 0, done.stderr
    assert heading in text.read_text().splitlines()[0]
    film = tree(lab, *ALL)
    assert heading in film.replay(option).splitlines()[0]
    assert "TID" in film.replay().splitlines()[0]
    assert "TID" not in film.replay("--no-tid").splitlines()[0]


def test_no_colour_where_nobody_looks(lab):
    film = tree(lab, *ALL)
    assert "\x1b[" not in film.recording.stderr + film.replay()
    assert "\x1b[" not in film.replay("--no-color")


def test_fold(lab):
    text = tree(lab, *ALL).replay("--fold")
    assert re.search(r"c\(\) x 5 avg ", text), text
    assert len(text.splitlines()) < 76


def test_replay_is_the_film(lab):
    film = tree(lab, *ALL)
    assert film.paths() == TREE
    assert film.paths("--max-depth", 2) == {p: n for p, n in TREE.items() if len(p) <= 2}
    flat = film.replay("--flat")
    assert len(re.findall(r"> c\b", flat)) == len(re.findall(r"< c\b", flat)) == 60, flat[:500]


def test_last_line_says_what_was_written(lab):
    film = tree(lab, *ALL)
    last = film.recording.stderr.strip().splitlines()[-1]
    assert film.path.name in last and "76 calls" in last and "nothing lost" in last, last
    quiet = tree(lab, "-q", *ALL)
    assert quiet.recording.stderr == ""


def test_duration_ends_it(lab):
    with running(lab.program("calls_steady"), 60) as program:
        with lab.beside("trace", "-f", "outer", "-d", "1000ms", "-p", program.pid) as (tracer, film):
            assert tracer.wait(timeout=30) == 0, tracer.stderr.read()
        program.process.terminate()
        assert program.wait() == 0
    assert Traced(film.stackcam, film.path).counts()["outer"] > 0


# --- what cannot be traced -----------------------------------------------------------------------

@pytest.mark.parametrize("verb", [("trace", "-f"), ("inspect",)], ids=lambda verb: verb[0])
def test_a_name_that_nothing_has(lab, verb):
    """Neither at the beginning nor in what the command executes: it is said, and the status is not that of success."""
    done = lab.run(*verb, "no_such_name", "--", "/bin/sh", "-c", lab.program("calls_tail"))
    assert done.returncode == 1, done.stderr
    assert "matches 'no_such_name'" in done.stderr and "no function of what ran matches" in done.stderr, done.stderr


@pytest.mark.parametrize("verb", [("trace", "-f"), ("inspect",)], ids=lambda verb: verb[0])
def test_a_function_that_cannot_be_traced(lab, verb):
    done = lab.run(*verb, "_init", "--", lab.program("calls_tail"))
    assert done.returncode == 1 and "_init (starts or ends the program or a thread)" in done.stderr, done.stderr


def test_functions_that_are_left_out(lab):
    """Some of what a pattern matches cannot be traced."""
    film = trace(lab, "-f", "_*", "-f", "first", "--", lab.program("calls_tail"))
    words = film.recording.stderr
    assert re.search(r"\d+ functions that match are left out, such as _init \(starts", words), words
