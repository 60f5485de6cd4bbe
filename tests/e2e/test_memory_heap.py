# SPDX-License-Identifier: Apache-2.0
"""mem-alloc and mem-inuse: who allocates memory, and holds it. tests/programs/allocates.c says what each of its functions has got."""

import contextlib
import datetime
import math
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import Film, PATIENCE, needs_root, running, wait_until
from test_go import NEWER, by_newer

pytestmark = needs_root

FUNCTIONS = ("small", "large", "cleared", "moved", "aligned", "leaks")
# not the default, by which a thread that allocates much takes fewer samples
INTERVAL = 500000


def truth_of(output):
    """What the program says: name to (allocated, held)."""
    rows = [line.split() for line in output.splitlines()]
    return {row[0]: (int(row[1]), int(row[2])) for row in rows if len(row) == 3}


def of_function(film, event, name):
    return sum(value for stack, value in film.folded("-e", event) if name in stack)


def near(value, truth, interval=INTERVAL):
    """
    Within five standard errors: each sample stands for at least the interval, so n samples of a truth of t bytes are
    about t/interval, and their relative error is 1/sqrt(n).
    """
    return abs(value - truth) <= 5 * math.sqrt(max(interval, 1) * truth)


def when_again(film):
    """Before its end, as a time of stackcam's options: allocates' "leaks" waits, to run once more soon."""
    return f"{int(film.recording.stdout.partition('again ')[2].split()[0]) // 1000000}ms"


def record(lab, *words, events="mem-alloc", options=("--mem-interval", INTERVAL)):
    return lab.record("-e", events, *options, "--", *words)


def test_the_heap_of_node_is_told_to_be_missing(lab):
    """V8 maps it itself: memory in use is far less than the program has, and the film says why."""
    node = shutil.which("node") or pytest.skip("node is missing")
    film = record(lab, node, "-e", "let kept = []; for (let i = 0; i < 1e6; i++) kept.push({i})", events="mem-alloc,mem-inuse")
    missing = "memory in use of JavaScript's heap not known: V8 maps it without malloc(); -e rss tells its size"
    assert film.json("-e", "mem-inuse")["loss"][missing] == 1
    # of the program alone, once
    other = record(lab, lab.program("allocates"), 1, "long", events="mem-inuse")
    assert missing not in other.json("-e", "mem-inuse")["loss"]


def test_a_thread_that_allocates_much_takes_fewer_samples(lab):
    """About 250 a second once it has taken thousands, each of which stands for more: by default."""
    begin = time.monotonic()
    film = record(lab, lab.program("allocates"), 1, "long", options=())
    took = time.monotonic() - begin
    truth = truth_of(film.recording.stdout)
    samples, usual = film.json("-e", "mem-alloc")["stacks"]["samples"], sum(truth[name][0] for name in FUNCTIONS) / (512 << 10)
    # on a machine that is so busy that it allocates slowly, all of them
    assert samples < 0.72 * usual or samples < 1500 * took, (samples, usual, took)
    for name in FUNCTIONS:
        assert near(of_function(film, "mem-alloc", name), truth[name][0], 16 * INTERVAL), (name, film.explain())


@pytest.fixture(scope="module", name="film")
def fixture_film(shared_lab):
    return record(shared_lab, shared_lab.program("allocates"), 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_who_allocates(film, name):
    truth = truth_of(film.recording.stdout)
    assert near(of_function(film, "mem-alloc", name), truth[name][0]), film.explain()


def test_stacks_begin_with_what_was_called(film):
    """The library's own frames are not there but for the function itself, and every stack is whole."""
    for stack, _ in film.folded("-e", "mem-alloc"):
        assert stack[-1] in ("malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"), stack
        assert stack[-2] in FUNCTIONS or "all" not in stack, stack
    report = film.json("-e", "mem-alloc")
    assert report["event"]["unit"] == "bytes"
    assert report["stacks"]["complete"] == report["stacks"]["samples"] > 1000, film.explain()
    assert not report["loss"], film.explain()


def test_threads_and_a_child(lab):
    """Eight threads, then a child that does the same once more: nine times one thread's bytes."""
    film = record(lab, lab.program("allocates"), 8, "fork")
    truth = truth_of(film.recording.stdout)
    for name in FUNCTIONS:
        assert near(of_function(film, "mem-alloc", name), truth[name][0] * 9 / 8), (name, film.explain())


def test_a_program_that_executes_another(lab):
    film = record(lab, lab.program("allocates"), 1, "exec")
    truth = truth_of(film.recording.stdout)
    assert near(of_function(film, "mem-alloc", "small"), truth["small"][0]), film.explain()


def test_the_interval_is_the_users(lab):
    film = record(lab, lab.program("allocates"), 1, options=("--mem-interval", 64 << 10))
    truth = truth_of(film.recording.stdout)
    for name in FUNCTIONS:
        assert near(of_function(film, "mem-alloc", name), truth[name][0], 64 << 10), (name, film.explain())


def test_the_program_is_as_it_was(lab, tmp_path):
    """Its output, its status and its environment but for the two variables."""
    script = "import os, sys; print(sorted(set(os.environ))); sys.exit(7)"
    env = {**os.environ, "LD_PRELOAD": ""}
    plain = subprocess.run(["python3", "-c", script], env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    filmed = subprocess.run([lab.stackcam, "record", "-q", "-e", "mem-alloc", "-o", tmp_path / "a.film", "--", "python3", "-c",
                             script], env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert filmed.returncode == plain.returncode == 7
    assert set(eval(filmed.stdout)) - set(eval(plain.stdout)) == {"STACKCAM_MEMORY_INTERVAL"}
    assert filmed.stderr == plain.stderr == ""


def test_intervals_that_are_none_are_refused(lab):
    for interval in ("0", "-1", "x"):
        done = subprocess.run([lab.stackcam, "record", "-e", "mem-alloc", "--mem-interval", interval, "--", "true"],
                              check=False, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2 and "--mem-interval takes a number" in done.stderr, done.stderr


@pytest.fixture(scope="module", name="held")
def fixture_held(shared_lab):
    return record(shared_lab, shared_lab.program("allocates"), 4, events="mem-alloc,mem-inuse")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_in_use_at_the_end(held, name):
    truth = truth_of(held.recording.stdout)[name][1]
    assert near(of_function(held, "mem-inuse", name), truth), held.explain()


def test_the_leak_is_named_first(held):
    stacks = sorted(held.folded("-e", "mem-inuse"), key=lambda row: -row[1])
    assert stacks[0][0][-2:] == ("leaks", "malloc"), stacks
    assert not held.json("-e", "mem-inuse")["loss"], held.explain()


def test_exactly(lab):
    """Every allocation: not an estimate, but the bytes themselves."""
    film = record(lab, lab.program("allocates"), 1, "few", events="mem-alloc,mem-inuse", options=("--exact",))
    truth = truth_of(film.recording.stdout)
    for name in FUNCTIONS:
        assert of_function(film, "mem-alloc", name) == truth[name][0], (name, film.explain())
        assert of_function(film, "mem-inuse", name) == truth[name][1], (name, film.explain())
    # blocks of 2,000 bytes
    assert film.json("-e", "mem-inuse", "--focus", "^leaks$")["stacks"]["samples"] == truth["leaks"][1] / 2000, film.explain()


def test_only_what_is_old(lab):
    """The program holds some bytes for a while, gets more, and ends: with an age, only the first ones."""
    film = record(lab, lab.program("allocates"), 1, "old", events="mem-inuse")
    truth = truth_of(film.recording.stdout)
    assert near(of_function(film, "mem-inuse", "leaks"), truth["leaks"][1]), film.explain()
    old = sum(value for stack, value in film.folded("-e", "mem-inuse", "--leaks", when_again(film)) if "leaks" in stack)
    assert near(old, truth["leaks"][1] / 2), film.explain()
    assert not film.folded("-e", "mem-inuse", "--leaks", "1h")


def test_an_age_is_of_memory_in_use(held):
    for words, options in (("says nothing of mem-alloc", ("-e", "mem-alloc", "--leaks", "1s")),
                           ("--leaks takes a time", ("-e", "mem-inuse", "--leaks", "soon"))):
        refused = held.report(*options, check=False)
        assert refused.returncode and words in refused.stderr


def test_a_child_holds_what_it_has_allocated(lab):
    """Not what its parent gave it: both hold as much as one of them has allocated."""
    film = record(lab, lab.program("allocates"), 1, "fork", events="mem-inuse")
    truth = truth_of(film.recording.stdout)
    for name in ("cleared", "moved", "leaks"):
        assert near(of_function(film, "mem-inuse", name), 2 * truth[name][1]), (name, film.explain())


def test_a_process_that_gets_another_name_gives_back_what_it_had(lab):
    script = 'x = [bytearray(1 << 20) for _ in range(64)]; open("/proc/self/comm", "w").write("renamed"); del x'
    film = record(lab, "python3", "-c", script, events="mem-inuse")
    assert film.json("-e", "mem-inuse")["event"]["total"] < 16 << 20, film.explain()


def test_the_highest_state_is_named(lab):
    """A program that gives back what it had: the report says when that was, and shows it when asked."""
    film = Film(lab.stackcam, lab.new_film())
    script = 'x = [bytearray(1 << 20) for _ in range(100)]; print("ready", flush=True); input(); del x'
    with subprocess.Popen([lab.stackcam, "record", "-q", "-e", "mem-inuse", "-o", film.path, "--", "python3", "-c", script],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout.readline() == "ready\n"
        assert wait_until(lambda: film.begun() and film.json("-e", "mem-inuse")["event"]["total"] > 70 << 20)
        assert not re.search("^peak:", film.report("-e", "mem-inuse").stdout, re.MULTILINE)
        recorder.stdin.write("\n")
        recorder.stdin.close()
        assert recorder.wait(timeout=PATIENCE) == 0
    event = film.json("-e", "mem-inuse")["event"]
    assert event["total"] < 20 << 20 and near(event["peak"], 100 << 20), film.explain()
    moment = re.search(r"^peak:.*--to (\d+ms)", film.report("-e", "mem-inuse").stdout, re.MULTILINE)[1]
    assert film.json("-e", "mem-inuse", "--to", moment)["event"]["total"] == event["peak"], film.explain()


def test_nothing_is_in_use_at_the_end(lab):
    """That is no stack without frames, and the report says it."""
    script = ("import ctypes; libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p; "
              "[libc.free(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(1 << 30)))) for _ in range(64)]")
    film = record(lab, "python3", "-c", script, events="mem-inuse", options=("--mem-interval", 1 << 30))
    assert film.json("-e", "mem-inuse")["stacks"]["samples"] == 0, film.explain()
    assert "nothing is in use" in film.report("-e", "mem-inuse").stderr
    none = record(lab, "true", events="mem-alloc", options=("--mem-interval", 1 << 30))
    assert "there was nothing to film, or too little for a sample" in none.report("-e", "mem-alloc").stderr


def test_a_static_program_is_said(lab):
    film = record(lab, lab.program("allocates-static"), 1, events="mem-alloc,mem-inuse")
    done = film.report(check=False)
    assert "it is linked statically" in done.stdout + done.stderr


def test_a_program_with_its_own_malloc_is_said(lab):
    film = record(lab, lab.program("allocates_own"), 1)
    done = film.report(check=False)
    assert "brings its own malloc()" in done.stdout + done.stderr


def test_the_recorder_is_killed(lab, tmp_path):
    """The program does not notice: its output and its status are what they are without a recorder."""
    program = lab.program("allocates")
    plain = subprocess.run([program, "1", "long"], capture_output=True, text=True, check=True, timeout=PATIENCE)
    with subprocess.Popen([lab.stackcam, "record", "-q", "-e", "mem-alloc,mem-inuse", "--mem-interval", "4096", "-o",
                           tmp_path / "killed.film", "--", program, "1", "long", str(tmp_path / "done")],
                          stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout.readline() == "begins\n"
        os.kill(recorder.pid, signal.SIGKILL)
        assert recorder.wait() == -signal.SIGKILL
        said = "begins\n" + recorder.stdout.read()
    assert said == plain.stdout
    assert wait_until((tmp_path / "done").exists)


def is_read(film, said):
    """Whether the film has what the program holds at its end, or says why it has not."""
    done = film.report("-e", "mem-inuse", "--format", "folded", check=False)
    held = sum(int(line.rpartition(" ")[2]) for line in done.stdout.splitlines() if "main.leaks" in line)
    truth = truth_of("".join(said)).get("leaks", (0, 0))[1]
    return held > 0 and held == pytest.approx(truth, rel=0.001) or \
        "not read" in film.report("-e", "mem-inuse", check=False).stdout


@contextlib.contextmanager
def go_program(lab, *words, way="command", program=None):
    """
    Films a Go program until its memory has been read. Yields the film, and what the program said. way: it is filmed as a
    command, or by its pid.
    """
    program = program or lab.program("allocates_go")
    film = Film(lab.stackcam, lab.new_film())
    start = [lab.stackcam, "record", "-q", "-e", "mem-alloc,mem-inuse", "-o", film.path]
    said = []
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*start, "--", program, *words] if way == "command" else [program, *words], **pipes) as running:
        for line in running.stdout:
            if line == "ready\n":
                break
            said.append(line)
        if way == "command":
            assert wait_until(lambda: is_read(film, said))
        else:
            subprocess.run([*start, "-d", "1", "-p", str(running.pid)], check=True, timeout=PATIENCE)
        running.stdin.close()
        assert running.wait(timeout=PATIENCE) == 0
    yield film, truth_of("".join(said))


@pytest.mark.parametrize("name", ["allocates_go", "allocates_go-pie", "allocates_go-stripped"])
def test_go_is_what_go_says(lab, name):
    """To the byte, but for rounding, as it is the same profile: Go's own."""
    with go_program(lab, program=lab.program(name)) as (film, truth):
        assert set(truth) >= {"small", "large", "leaks"}
        for function, (allocated, held) in truth.items():
            assert of_function(film, "mem-alloc", f"main.{function}") == pytest.approx(allocated, rel=0.001), film.explain()
            assert of_function(film, "mem-inuse", f"main.{function}") == pytest.approx(held, rel=0.001, abs=1), film.explain()
        stacks = film.json("-e", "mem-inuse")["stacks"]
        assert stacks["complete"] == stacks["samples"], film.explain()
        assert not film.json("-e", "mem-alloc")["loss"], film.explain()


@pytest.mark.parametrize("name", ["allocates_go", "allocates_go-stripped"])
@pytest.mark.parametrize("version", NEWER)
def test_newer_go_is_what_go_says(lab, version, name):
    with go_program(lab, program=by_newer(lab, version, name)) as (film, truth):
        for function, (allocated, held) in truth.items():
            assert of_function(film, "mem-alloc", f"main.{function}") == pytest.approx(allocated, rel=0.001), film.explain()
            assert of_function(film, "mem-inuse", f"main.{function}") == pytest.approx(held, rel=0.001, abs=1), film.explain()


def test_go_of_a_process_that_runs(lab):
    """What it holds is known, also from before; what it allocates, from the recording's beginning on."""
    with go_program(lab, way="pid") as (film, truth):
        for function in ("small", "leaks"):
            held = of_function(film, "mem-inuse", f"main.{function}")
            assert held == pytest.approx(truth[function][1], rel=0.001), film.explain()
        assert film.report("-e", "mem-alloc", check=False).returncode or not of_function(film, "mem-alloc", "main.leaks")


def test_a_stranger_that_wakes_the_target_is_not_in_the_film(lab):
    """The film knows who woke a thread, also where that is a program of Go that is not meant: its memory is none of the film's."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([lab.program("allocates_go"), "stops"], **pipes) as stranger:
        film = Film(lab.stackcam, lab.new_film())
        start = [lab.stackcam, "record", "-q", "-e", "threads,mem-alloc,mem-inuse", "-o", film.path]
        with subprocess.Popen([*start, "--", "sed", "/done/q"], stdin=stranger.stdout, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as film.recorder:
            assert wait_until(film.begun)
            # its answer wakes the target
            print(file=stranger.stdin, flush=True)
            assert film.recorder.wait(timeout=PATIENCE) == 0
        stranger.stdin.close()
        assert stranger.wait(timeout=PATIENCE) == 0
    for event in ("mem-alloc", "mem-inuse"):
        done = film.report("-e", event, "--by", "process", "--limit", "0", check=False)
        assert "allocates_go" not in done.stdout, done.stdout
        assert "not seen" not in done.stdout and "not read" not in done.stdout, done.stdout


def assert_said(film, said):
    for event in ("mem-alloc", "mem-inuse"):
        done = film.report("-e", event, check=False)
        assert said in done.stdout + done.stderr


def test_go_that_takes_no_samples_is_said(lab):
    with go_program(lab, "off") as (film, _):
        assert_said(film, "MemProfileRate is 0")


def stop_go(program):
    """It takes samples no more. Returns what it says then."""
    program.stdin.write("\n")
    program.stdin.flush()
    return truth_of("".join(iter(program.stdout.readline, "done\n")))


def in_use_of_go(film, truth):
    """Whether the last state has been read to the end."""
    lines = film.report("-e", "mem-inuse", "--format", "folded", check=False).stdout.splitlines()
    held = sum(int(line.rpartition(" ")[2]) for line in lines if "main.small" in line)
    return held == pytest.approx(truth, rel=0.001)


@pytest.mark.parametrize("way", ["begun before", "begun after"])
def test_go_that_takes_samples_no_more(lab, way):
    """
    Half of what it had then is still in use, by the rate that was seen; it was seen only if the recording had begun. What it
    allocates afterwards is not known.
    """
    with subprocess.Popen([lab.program("allocates_go"), "stops"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "ready\n"
        truth = stop_go(program) if way == "begun after" else {}
        with lab.recording("-e", "mem-alloc,mem-inuse", "-p", program.pid) as (recorder, film):
            assert wait_until(film.begun)
            if not truth:
                # it has been looked at again, and so has its rate: names follow what was read first
                assert wait_until(lambda: "main.small" in film.report("-e", "mem-inuse", check=False).stdout)
                assert "not read" not in film.report("-e", "mem-inuse").stdout
                truth = stop_go(program)
            held = truth["small" if way == "begun before" else "small.unscaled"][1]
            # on a slow machine two seconds of allocations fit into the rings
            assert wait_until(lambda: in_use_of_go(film, held)), (truth, film.explain())
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=PATIENCE) == 0
        program.stdin.close()
    assert truth["small"][1] == pytest.approx(200000 * 416, rel=0.5)
    # since Go 1.23 a thread learns of another rate as it takes its next sample, which is of the old one
    assert of_function(film, "mem-inuse", "main.leaks") <= 1.1 * truth.get("leaks", (0, 0))[1]
    assert_said(film, "MemProfileRate is 0")
    said = film.report("-e", "mem-inuse").stdout
    assert ("524288 bytes between samples" in said) == (way == "begun before"), film.explain()
    assert ("not scaled, as their rate was not seen" in said) == (way == "begun after"), film.explain()


def of_unknown_version(lab, folder):
    """A program of Go that says so: the version stands in the file as text."""
    code = Path(lab.program("allocates_go")).read_bytes()
    version = re.search(rb"\x08?(go1\.\d\d)[.0-9]*", code[code.index(b"\xff Go buildinf:"):])[1]
    unknown = folder / "unknown"
    unknown.write_bytes(code.replace(version, b"go1.99"))
    unknown.chmod(0o755)
    return unknown


def test_go_of_an_unknown_version_is_said(lab, tmp_path):
    with go_program(lab, program=of_unknown_version(lab, tmp_path)) as (film, _):
        assert_said(film, "it is of an unknown version")


BY_SPANS = "seen by the spans that it takes"


@pytest.mark.parametrize("program", ["allocates_go", "allocates_go-stripped"])
def test_go_that_takes_no_samples_is_seen_by_its_spans(lab, program):
    """400,000 objects of 400 bytes, of which 19 are in a span of 8 KiB; 60 of 3 MiB, and 100 of 1 MiB."""
    film = Film(lab.stackcam, lab.new_film())
    with subprocess.Popen([lab.stackcam, "record", "-q", "-e", "mem-alloc", "--mem-interval", str(64 << 10), "--mem-budget", "50",
                           "-o", film.path, "--", lab.program(program), "later"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout.readline() == "ready\n"
        assert wait_until(lambda: BY_SPANS in film.report("-e", "mem-alloc", check=False).stdout)
        recorder.stdin.write("\n")
        recorder.stdin.flush()
        assert recorder.stdout.readline() == "done\n"
        recorder.stdin.close()
        assert recorder.wait(timeout=PATIENCE) == 0
    for name, low, high in (("small", 400000 / 19 * 8192, 400000 / 19 * 8192 + (200 << 20)), ("large", 180 << 20, 180 << 20),
                            ("leaks", 100 << 20, 200 << 20)):
        got = of_function(film, "mem-alloc", f"main.{name}")
        slack = 5 * math.sqrt((64 << 10) * high)
        assert low - slack <= got <= high + slack, (name, got, film.explain())
    stacks = film.json("-e", "mem-alloc")["stacks"]
    assert stacks["complete"] == stacks["samples"] > 1000, film.explain()


def test_a_realloc_that_fails_gives_nothing_back(lab):
    film = record(lab, lab.program("allocates_on"), "fails", events="mem-inuse", options=("--exact",))
    assert of_function(film, "mem-inuse", "fails") == truth_of(film.recording.stdout)["fails"][1] == 500000, film.explain()


@contextlib.contextmanager
def running_on(lab, rate, seconds):
    with subprocess.Popen([lab.program("allocates_on"), str(rate), str(seconds)], stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.wait(timeout=PATIENCE) == 0


def test_a_process_that_runs(lab):
    """Probes in malloc() of a process that was started without stackcam: so slow that they stay."""
    with running_on(lab, 5000, 6) as process:
        film = lab.record("-e", "mem-alloc,mem-inuse", "--mem-inject", 0, "--mem-interval", 64 << 10, "-p", process.pid, "-d", 4)
        output, _ = process.communicate()
    rate = {name: row[0] / 6 for name, row in truth_of(output).items()}
    # less than four seconds where the recorder came so late that the process ended before
    begin, end = (datetime.datetime.fromisoformat(film.json("-e", "mem-alloc")["film"][key][:26] + "+00:00") for key in ("start", "end"))
    seconds = (end - begin).total_seconds()
    assert 1 < seconds < 5.5, film.explain()
    for name in ("alpha", "beta"):
        got = of_function(film, "mem-alloc", name)
        # how long it was filmed is known to some tenths of a second
        assert (seconds - 0.5) * rate[name] - 5 * math.sqrt((64 << 10) * seconds * rate[name]) <= got, film.explain()
        assert got <= (seconds + 0.5) * rate[name] + 5 * math.sqrt((64 << 10) * seconds * rate[name]), film.explain()
    for stack, _ in film.folded("-e", "mem-alloc"):
        assert stack[-1] in ("malloc", "__libc_malloc", "calloc", "__libc_calloc"), stack
    assert "memory in use of a process not known: its free() is not probed" in film.report("-e", "mem-inuse", check=False).stdout


def test_probes_keep_to_their_budget(lab):
    """A process that does little but allocate: the probes are out most of the time, and the film says so."""
    with running_on(lab, 1e9, 6) as process:
        done = lab.run("record", "-e", "mem-alloc", "--mem-interval", 64 << 10, "--mem-budget", 1, "-p", process.pid, "-d", 4, "-o",
                       lab.folder / "budget.film")
    film = Film(lab.stackcam, lab.folder / "budget.film")
    # seconds are not as many losses
    out = re.search(r"; probes were out for ([0-9.]+) s, to keep to their budget", done.stderr)
    others = re.search(r"; (\d+) smaller loss", done.stderr)
    assert out and 1 < float(out[1]) < 6 and (not others or int(others[1]) < 100), done.stderr
    loss = film.json("-e", "mem-alloc")["loss"]
    assert any("to keep to their budget" in words and count > 1000 for words, count in loss.items()), film.explain()
    alpha, beta = of_function(film, "mem-alloc", "alpha"), of_function(film, "mem-alloc", "beta")
    assert alpha and near(beta, 0.75 * (alpha + beta), 2 * (64 << 10)), film.explain()


def test_budgets_that_are_none_are_refused(lab):
    done = subprocess.run([lab.stackcam, "record", "-e", "mem-alloc", "--mem-budget", "0", "-p", str(os.getpid())],
                          check=False, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and "--mem-budget takes a number" in done.stderr, done.stderr


def test_growth_between_two_moments(lab):
    """Half of what it holds in the end it had for some time before."""
    film = record(lab, lab.program("allocates"), 1, "old", events="mem-alloc,mem-inuse", options=("--mem-interval", 16 << 10))
    whole = of_function(film, "mem-inuse", "leaks")
    grown = sum(value for stack, value in film.folded("-e", "mem-inuse", "--grown", when_again(film)) if "leaks" in stack)
    assert near(grown, whole / 2, 16 << 10), film.explain()
    # before it began it had nothing
    assert sum(value for stack, value in film.folded("-e", "mem-inuse", "--grown", "1h") if "leaks" in stack) == whole
    refused = film.report("-e", "mem-alloc", "--grown", "1s", check=False)
    assert refused.returncode and "--grown says nothing of mem-alloc" in refused.stderr


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_full_ring_is_said_of_both_events(lab):
    """A sample that is lost is missing in what was allocated and in what is in use; it is one loss."""
    path = lab.new_film()
    with running(lab.stackcam, "record", "-e", "mem-alloc,mem-inuse", "--mem-interval", 64, "-o", path, "--",
                 lab.program("allocates_threads"), 2, stdin=subprocess.PIPE) as recorder:
        film = Film(lab.stackcam, path)
        assert wait_until(lambda: path.exists() and film.report("-e", "mem-alloc", check=False).returncode == 0)
        target = int(Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text(encoding="utf-8").split()[0])
        recorder.process.send_signal(signal.SIGSTOP)
        before = cpu_seconds(target)
        assert wait_until(lambda: cpu_seconds(target) > before + 8)
        recorder.process.send_signal(signal.SIGCONT)
        recorder.process.stdin.close()
        recorder.wait()
    losses = [film.json("-e", event)["loss"] for event in ("mem-alloc", "mem-inuse")]
    full = [next(count for words, count in loss.items() if words.startswith("ring full")) for loss in losses]
    assert full[0] == full[1] > 0, losses
