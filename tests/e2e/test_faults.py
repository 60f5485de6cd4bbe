# SPDX-License-Identifier: Apache-2.0
"""What goes wrong goes wrong with words, a status, and without harm."""

import contextlib
import ctypes
import datetime
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from harness import PATIENCE, Film, as_from_a_terminal, needs_root, running, wait_until

FORMATS = ("table", "tree", "folded", "json", "svg", "html", "speedscope")


def assert_failed(done, status, *words):
    assert done.returncode == status, (done.returncode, done.stderr)
    assert done.stderr.startswith("stackcam"), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


# --- wrong usage -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    (), ("no-such-verb",),
    ("record", "--no-such-option"), ("record", "-F", "0"), ("record", "-F", "fast"),
    ("record", "-d", "-1"), ("record", "-d", "soon"), ("record", "-e", "no-such-event"),
    ("record", "-p", "abc"), ("record", "-p", "1,,2"), ("record", "-a", "-p", "1"),
    ("report", "--no-such-option"), ("report", "--format", "no-such-format"),
    ("diff",), ("diff", "just-one.film"),
], ids=" ".join)
def test_wrong_usage(lab, words):
    done = lab.run(*words)
    assert done.returncode == 2, done.stderr
    assert done.stderr and not done.stdout


@pytest.mark.parametrize("words", [("--help",), ("record", "--help"), ("report", "--help"),
                                   ("diff", "--help"), ("resolve", "--help"),
                                   ("doctor", "--help"), ("--version",)], ids=" ".join)
def test_help(lab, words):
    done = lab.run(*words)
    assert done.returncode == 0
    assert "stackcam" in done.stdout and not done.stderr


def test_closed_output_is_no_crash(lab):
    """As in `stackcam report … | head -1`."""
    with open("/dev/full", "w", encoding="ascii") as full:
        done = lab.run("--help", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode >= 0


# --- a recorder that is busy -------------------------------------------------------------------

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # of waitpid(2): other threads, too


@contextlib.contextmanager
def stands_still(tid):
    """One thread of another process does nothing within the block."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    assert ptrace(PTRACE_SEIZE, tid, None, None) == 0, os.strerror(ctypes.get_errno())
    assert ptrace(PTRACE_INTERRUPT, tid, None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(tid, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, tid, None, None)


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@needs_root
def test_a_recorder_that_is_busy_for_seconds_loses_nothing(lab):
    """Its rings hold what comes in a second: another thread empties them meanwhile."""
    deep = running(lab.program("deep"), 60, 200)  # each of its samples has 1.6 kB
    with deep as program, lab.recording("-p", program.pid, hz=4999) as (recorder, film):
        wait_until(lambda: film.path.exists() and any(
            Path(f"/proc/{recorder.pid}/task/{tid}/comm").read_text() == "relief\n"
            for tid in os.listdir(f"/proc/{recorder.pid}/task")))
        # by then its stacks need not be completed any more
        wait_until(lambda: cpu_seconds(program.pid) > 2)
        before = cpu_seconds(program.pid)
        with stands_still(recorder.pid):
            wait_until(lambda: cpu_seconds(program.pid) > before + 3)
        recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=PATIENCE)
    result = film.json()
    assert not [words for words in result["loss"] if "ring full" in words], result["loss"]
    assert result["event"]["total"] > 2.8e9, result["event"]


# --- targets -----------------------------------------------------------------------------------


@needs_root
def test_no_such_process(lab):
    child = subprocess.Popen(["true"])
    child.wait()
    done = lab.run("record", "-o", lab.new_film(), "-d", 1, "-p", child.pid)
    assert_failed(done, 1, str(child.pid))


@needs_root
def test_no_such_thread_or_cgroup(lab):
    assert_failed(lab.run("record", "-o", lab.new_film(), "-d", 1, "-t", 4194000), 1, "4194000")
    done = lab.run("record", "-o", lab.new_film(), "-d", 1, "--cgroup", "/no/such/group")
    assert_failed(done, 1, "/no/such/group")


@needs_root
@pytest.mark.parametrize("verb", ["record", "trace"])
@pytest.mark.parametrize("command,status", [("/no/such/command", 127), ("no-such-command", 127),
                                            ("./no-program", 126)])
def test_no_such_command(lab, verb, command, status):
    """An older film is not replaced for the sake of a command that does not run."""
    (lab.folder / "no-program").write_text("x")
    path = lab.record("-d", "300ms", "-a").path
    before = path.read_bytes()
    done = lab.run(verb, "-o", path, "--", command, cwd=lab.folder)
    assert done.returncode == status, done
    assert command in done.stderr
    assert path.read_bytes() == before


@needs_root
@pytest.mark.parametrize("verb,options", [("record", ()), ("record", ("-e", "threads,requests")),
                                          ("trace", ())])
def test_a_recording_that_fails_leaves_no_film(lab, verb, options):
    """A script without its interpreter shows only when it is executed: then there is a film."""
    folder = lab.folder / "failed"
    folder.mkdir()
    (folder / "script").write_text("#!/no/such/interpreter\n")
    (folder / "script").chmod(0o755)
    (folder / "empty.film").touch()
    for film in ("new.film", "empty.film"):
        done = lab.run(verb, *options, "-o", film, "--", "./script", cwd=folder)
        assert_failed(done, 127, "./script")
    assert sorted(os.listdir(folder)) == ["script"]
    # the one from before is as it was
    assert not lab.run("record", "-o", "good.film", "--", "true", cwd=folder).returncode
    before = (folder / "good.film").read_bytes()
    assert_failed(lab.run(verb, *options, "-o", "good.film", "--", "./script", cwd=folder), 127, "./script")
    assert sorted(os.listdir(folder)) == ["good.film", "script"]
    assert (folder / "good.film").read_bytes() == before
    # and stays beside one that is recorded
    assert not lab.run("record", "-o", "good.film", "--", "true", cwd=folder).returncode
    assert (folder / "good.film.old").read_bytes() == before != (folder / "good.film").read_bytes()


@needs_root
@pytest.mark.parametrize("command,status", [("exit 0", 0), ("exit 7", 7),
                                            ("kill -TERM $$", 128 + signal.SIGTERM)])
def test_status_is_that_of_the_command(lab, command, status):
    done = lab.run("record", "-o", lab.new_film(), "--", "sh", "-c", command)
    assert done.returncode == status, done.stderr


@needs_root
def test_output_of_the_command_stays_as_it_was(lab):
    film = lab.record("--", "sh", "-c", "echo out; echo err >&2")
    assert film.recording.stdout == "out\n"
    lines = film.recording.stderr.splitlines()
    assert lines[0] == "err"
    assert any(str(film.path) in line for line in lines[1:]), lines


@needs_root
def test_quiet(lab):
    film = lab.record("--quiet", "--", "sh", "-c", "echo out")
    assert film.recording.stdout == "out\n"
    assert film.recording.stderr == ""


@needs_root
@pytest.mark.parametrize("options", [[], ["--quiet"], ["--flight", "10s"]])
def test_who_starts_a_load_hears_when_it_has_begun(lab, tmp_path, options):
    """By a line, as long as it is not quiet, and by a socket as systemd has one; what is done from then on is filmed."""
    address, path = tmp_path / "notify", lab.new_film()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
        inbox.bind(str(address))
        inbox.settimeout(PATIENCE)
        recorder = subprocess.Popen([lab.stackcam, "record", "-e", "threads", *options, "-a", "-o", path], text=True,
                                    env={**os.environ, "NOTIFY_SOCKET": str(address)}, stderr=subprocess.PIPE,
                                    preexec_fn=as_from_a_terminal)
        with recorder:
            line = recorder.stderr.readline() if "--quiet" not in options else None
            assert line is None or line.startswith("stackcam: recording"), line
            assert inbox.recv(4096) == b"READY=1"
            done = subprocess.run(["/bin/sleep", "0.01"], check=True)
            recorder.send_signal(signal.SIGINT)
            rest = recorder.stderr.read()
            assert recorder.wait(timeout=PATIENCE) == 0, rest
        assert not rest or "--quiet" not in options, rest
    assert done.returncode == 0
    threads = json.loads(lab.run("report", "--format", "states-json", path).stdout)["threads"]
    lives = [thread for thread in threads if thread["comm"] == "sleep" and thread["pid"] == thread["tid"]]
    assert any(state["state"] == "sleep" and state["total"] >= 10_000_000 for life in lives for state in life["states"]), lives


@needs_root
def test_input_of_the_command_stays_as_it_was(lab):
    done = subprocess.run([lab.stackcam, "record", "-o", lab.new_film(), "--", "cat"], input=b"in",
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE,
                          check=True)
    assert done.stdout == b"in"


# --- permissions -------------------------------------------------------------------------------


@pytest.fixture
def open_folder(lab):
    """A folder that any user can use, with a copy of stackcam in it."""
    folder = Path(tempfile.mkdtemp(prefix="stackcam-e2e-"))
    shutil.copy(lab.stackcam, folder / "stackcam")
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def as_nobody(folder, *words, options=()):
    return subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *options,
         "./stackcam", *words],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)


@needs_root
@pytest.mark.parametrize("target", [("-a",), ("-p", str(os.getpid())), ("--", "true")],
                         ids=["all", "pid", "command"])
def test_without_rights(open_folder, target):
    done = as_nobody(open_folder, "record", "-o", "x.film", "-d", "1", *target)
    assert_failed(done, 3)
    assert "CAP_" in done.stderr or "root" in done.stderr, done.stderr
    assert not (open_folder / "x.film").exists()


@needs_root
def test_with_too_few_rights(open_folder):
    """Some capabilities are there, some are not: it works, or says which one is missing."""
    done = as_nobody(open_folder, "record", "-o", "x.film", "-d", "1", "-a",
                     options=("--inh-caps=+perfmon", "--ambient-caps=+perfmon"))
    assert_failed(done, 3, "CAP_BPF")


@needs_root
@pytest.mark.parametrize("words", [("record", "-o", "x.film", "--", "true"), ("threads", "-p", "1"),
                                   ("serve", "--store", "store", "--listen", "127.0.0.1:0")],
                         ids=lambda words: words[0])
def test_in_a_pid_namespace_of_its_own(lab, tmp_path, words):
    """As in a container: probes see other numbers there than /proc does, so a film would name no process, or a wrong one."""
    done = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", lab.stackcam, *words],
                          cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert_failed(done, 3, "PID namespace", "--pid=host")
    assert not (tmp_path / "x.film").exists()


@needs_root
@pytest.mark.parametrize("files", [5, 20, 80, 100])
def test_too_few_files_may_be_open(lab, tmp_path, files):
    done = subprocess.run(["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", lab.stackcam, "record", "-d", "1", "-e", "threads", "-o", "x.film"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert_failed(done, 1, f"no more than {files}:", "ulimit -n")


@needs_root
def test_doctor_without_rights(open_folder):
    done = as_nobody(open_folder, "doctor")
    assert done.returncode in (0, 3), done
    assert "CAP_" in done.stdout + done.stderr


@needs_root
def test_doctor(lab):
    done = lab.run("doctor")
    assert done.returncode == 0, done
    assert os.uname().release in done.stdout, done.stdout


# --- films that are none -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def good_film(shared_lab):
    return shared_lab.film_program("split")


def report(lab, path, *options):
    done = lab.run("report", *options, path)
    assert done.returncode >= 0, f"died of signal {-done.returncode}"
    return done


def test_no_such_film(lab, tmp_path):
    assert_failed(report(lab, tmp_path / "nowhere.film"), 1, "nowhere.film")


def test_a_folder_is_no_film(lab, tmp_path):
    assert_failed(report(lab, tmp_path), 1)


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"this is a text\n" * 400,
                                     b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 4096],
                         ids=["empty", "zeros", "text", "header", "garbage"])
def test_not_a_film(lab, tmp_path, content):
    path = tmp_path / "not.film"
    path.write_bytes(content)
    assert_failed(report(lab, path), 1, "not.film")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["not.film"]


def test_another_database_is_no_film(lab, tmp_path):
    path = tmp_path / "other.film"
    with sqlite3.connect(path) as database:
        database.execute("create table t (x)")
    database.close()
    assert_failed(report(lab, path), 1, "not a film")


def test_film_of_another_version(lab, good_film, tmp_path):
    path = tmp_path / "later.film"
    shutil.copy(good_film.path, path)
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 9999")
    database.close()
    done = report(lab, path)
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "version" in done.stderr, done.stderr


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated_film(lab, good_film, tmp_path, part):
    path = tmp_path / "cut.film"
    content = good_film.path.read_bytes()
    path.write_bytes(content[:int(len(content) * part)])
    done = report(lab, path, "--format", "json")
    assert done.returncode in (0, 1)
    if done.returncode == 0:
        json.loads(done.stdout)
    else:
        assert "cut.film" in done.stderr, done.stderr


def test_damaged_film(lab, good_film, tmp_path):
    """Any byte may be wrong: it is an error or a film, never a crash."""
    chance = random.Random(7)
    content = good_film.path.read_bytes()
    path = tmp_path / "damaged.film"
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(8):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        done = report(lab, path, "--format", "json")
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 0:
            json.loads(done.stdout)


def test_film_that_may_only_be_read(lab, good_film, open_folder):
    """Reading changes neither the film nor its folder."""
    shutil.copy(good_film.path, open_folder / "x.film")
    os.chmod(open_folder / "x.film", 0o444)
    os.chmod(open_folder, 0o555)
    before = (open_folder / "x.film").read_bytes()
    done = as_nobody(open_folder, "report", "x.film")
    assert done.returncode == 0, done.stderr
    assert "f70" in done.stdout
    assert sorted(os.listdir(open_folder)) == ["stackcam", "x.film"]
    assert (open_folder / "x.film").read_bytes() == before


# --- where the film goes -----------------------------------------------------------------------


@needs_root
def test_film_in_no_folder(lab, tmp_path):
    done = lab.run("record", "-o", tmp_path / "no" / "x.film", "--", "true")
    assert_failed(done, 1, "x.film")


@needs_root
def test_read_only_folder(lab, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c",
         f"mount -t tmpfs -o ro none {place} && "
         f"exec {lab.stackcam} record -o {place}/x.film -- true"],
        capture_output=True, text=True, timeout=PATIENCE)
    assert_failed(done, 1, "x.film")


@needs_root
def test_a_file_that_is_no_film_is_not_overwritten(lab, tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_text("years of work\n")
    done = lab.run("record", "-o", path, "--", "true")
    assert path.read_text() == "years of work\n", done.stderr
    assert_failed(done, 1, "thesis.txt")


@needs_root
def test_an_older_film_is_replaced(lab):
    film = lab.film_program("omit", seconds=0.5)
    done = lab.run("record", "-F", 999, "-o", film.path, "--", lab.program("split"), 0.5)
    assert done.returncode == 0, done.stderr
    shares = film.self_shares()
    assert "f70" in shares and "c30" not in shares


@needs_root
def test_full_disk(lab, tmp_path):
    """The recorder says so and stops; the target lives on; what is in the film can be read."""
    place = tmp_path / "place"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192k", "none", place], check=True)
    try:
        with running(lab.program("many_processes"), 60, 3) as program:
            done = lab.run("record", "-F", 4000, "-d", 30, "-o", place / "x.film", "-a",
                           "--lines", timeout=50)
            # A quiet machine may take longer than that to fill it.
            assert program.process.poll() is None
        if done.returncode == 0:
            pytest.skip("the film fitted")
        assert done.returncode == 1, (done.returncode, done.stderr)
        assert "x.film" in done.stderr or "space" in done.stderr, done.stderr
        kept = lab.run("report", "--format", "json", place / "x.film")
        assert kept.returncode in (0, 1), kept.stderr
        if kept.returncode == 0:
            json.loads(kept.stdout)
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@needs_root
def test_a_disk_without_any_room(lab, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", place], check=True)
    try:
        done = lab.run("record", "-d", 1, "-o", place / "x.film", "-p", os.getpid())
        assert_failed(done, 1)
        assert "can be read" not in done.stderr and not (place / "x.film").exists(), done.stderr
    finally:
        subprocess.run(["umount", "-l", place], check=True)


# --- an end before the end ---------------------------------------------------------------------


def bpf_objects():
    """Ids of all BPF programs, maps and links of this machine, with the processes that hold them."""
    objects = {}
    for kind in ("prog", "map", "link"):
        done = subprocess.run(["bpftool", "--json", kind, "show"], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip("bpftool does not work here: " + done.stderr + done.stdout[:200])
        for item in json.loads(done.stdout or "[]"):
            objects[kind, item["id"]] = {holder["pid"] for holder in item.get("pids", [])}
    return objects


def lasting(objects):
    """Those of them that are still there: the kernel frees them a moment after their last use."""
    wait_until(lambda: not objects & set(bpf_objects()), seconds=10)
    return objects & set(bpf_objects())


@needs_root
@pytest.mark.skipif(not shutil.which("bpftool", path="/usr/sbin:/usr/bin:/sbin"),
                    reason="no bpftool")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_recorder_that_is_ended(lab, how):
    """The film reads, no more than the last second is missing, and nothing stays attached."""
    os.environ["PATH"] += ":/usr/sbin"
    before = set(bpf_objects())
    with running(lab.program("split"), 30) as program:
        with lab.recording("-p", program.pid) as (recorder, film):
            assert wait_until(film.has_samples)
            assert "did not end" not in lab.run("report", film.path).stderr
            time.sleep(1)
            # bpftool now and then does not find out who holds them
            wait_until(lambda: any(recorder.pid in pids for pids in bpf_objects().values()), seconds=5)
            held = {key for key, pids in bpf_objects().items() if recorder.pid in pids} or \
                set(bpf_objects()) - before
            assert held, "the recorder holds no BPF objects?"
            asked = time.time()
            recorder.send_signal(how)
            status = recorder.wait(timeout=20)
            assert status == (-signal.SIGKILL if how == signal.SIGKILL else 0), \
                recorder.stderr.read()
            gone = time.time()
        assert program.process.poll() is None
        assert not lasting(held)
        answer = film.json()
        end = datetime.datetime.fromisoformat(answer["film"]["end"].replace("Z", "+00:00"))
        assert asked - 1.6 < end.timestamp() < gone + 0.5, (asked, gone, answer["film"])
        assert answer["stacks"]["complete"] / answer["stacks"]["samples"] > 0.99, film.explain()
        # those who show it say so, and up to when it reaches; not of one that was closed, nor while it is recorded
        assert answer["film"].get("cut_off", False) == (how == signal.SIGKILL)
        reaches = "did not end properly, such as by kill -9 or without power: the film reaches to " + answer["film"]["end"]
        for verb in ("report", "explain", "replay"):
            assert (reaches in lab.run(verb, film.path).stderr) == (how == signal.SIGKILL)
        assert lab.run("diff", film.path, film.path).stderr.count(f"of {film.path} {reaches}") == 2 * (how == signal.SIGKILL)
        if how == signal.SIGKILL:
            play = subprocess.Popen([lab.stackcam, "play", film.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            assert play.stdout.readline().startswith(b"http://")
            play.terminate()
            assert reaches.encode() in play.communicate(timeout=PATIENCE)[1]
            # Most names are looked up at the end; what has none yet can get one now.
            done = lab.run("resolve", film.path)
            assert done.returncode == 0, done.stderr
        assert film.total_shares(["f70"])["f70"] > 0.5, film.explain()
        if how != signal.SIGKILL:
            assert sorted(os.listdir(film.path.parent)) == [film.path.name]


@needs_root
def test_interrupt_at_a_terminal_reaches_the_command_too(lab):
    """Control-C ends the command, the recorder keeps the film and gives the command's status."""
    with lab.recording("--", lab.program("split"), 30) as (recorder, film):
        assert wait_until(film.has_samples)
        child = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
        assert len(child) == 1
        os.kill(int(child[0]), signal.SIGINT)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=20) == 128 + signal.SIGINT, recorder.stderr.read()
    assert film.total_shares(["f70"])["f70"] > 0.6, film.explain()


@needs_root
def test_filmed_programs_are_not_harmed(lab):
    """Same output, same status, with signals and system calls that could be interrupted."""
    script = ("import signal, time\n"
              "signal.signal(signal.SIGALRM, lambda *_: None)\n"
              "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
              "began = time.monotonic(); sum(range(3_000_000)); time.sleep(0.2)\n"
              "signal.setitimer(signal.ITIMER_REAL, 0)\n"
              "print('unharmed', sum(i * i for i in range(1000)))\n")
    alone = subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True,
                           check=True)
    filmed = lab.record("--quiet", "--", "/usr/bin/python3", "-c", script, hz=4999)
    assert filmed.recording.stdout == alone.stdout


# --- names that do harm ------------------------------------------------------------------------

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\udc80-\udcff]")


@pytest.fixture(scope="module")
def hostile_film(shared_lab):
    return shared_lab.film_program("hostile")


@pytest.mark.parametrize("by", [(), ("--by", "process,thread")], ids=["plain", "grouped"])
@pytest.mark.parametrize("format", FORMATS)
def test_hostile_names_in(hostile_film, format, by):
    text = hostile_film.report("--format", format, *by).stdout
    assert not CONTROL.search(text), repr(CONTROL.search(text))
    if format in ("html", "svg"):
        assert "<script>alert(1)" not in text
        assert "<img src=x" not in text
        assert "<b>&\"" not in text


def test_hostile_names_at_the_recorder(hostile_film):
    assert not CONTROL.search(hostile_film.recording.stderr)


def test_hostile_names_do_not_break_folded_text(hostile_film):
    answer = hostile_film.json()
    total = 0
    for stack, value in hostile_film.folded():
        total += value
        assert all(stack), stack
    assert total == answer["event"]["total"]
    names = [function["name"] for function in answer["functions"]]
    # JSON gives the name as it is.
    assert "a;b 999\nnext;line 777\t%s%n" in names, names


# --- crowds ------------------------------------------------------------------------------------


def record_measured(lab, *options):
    """Films, and returns the film with the seconds and the MiB that it took."""
    film = lab.new_film()
    began = time.monotonic()
    process = subprocess.Popen([lab.stackcam, "record", "-F", "999", "-o", film,
                                *map(str, options)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stderr = process.stderr.read()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, stderr
    return Film(lab.stackcam, film), time.monotonic() - began, usage.ru_maxrss / 1024


def room_for(count):
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    most = int(Path("/proc/sys/kernel/threads-max").read_text())
    pids = int(Path("/proc/sys/kernel/pid_max").read_text())
    enough = min(most, pids) > 2 * count and (soft < 0 or soft > 2 * count)
    if not enough:
        pytest.skip(f"this machine does not allow {count} threads")


@needs_root
def test_10000_threads(lab):
    room_for(10000)
    with running(lab.program("many_threads"), 30, 10000) as program:
        film, seconds, megabytes = record_measured(lab, "-d", 1, "-p", program.pid)
    assert film.self_shares()["busy_thread"] > 0.9, film.explain()
    assert seconds < 15 and megabytes < 512, (seconds, megabytes)


@needs_root
def test_5000_processes(lab):
    room_for(5000)
    with running(lab.program("many_processes"), 60, 5000) as program:
        film, seconds, megabytes = record_measured(lab, "-d", 2, "-a")
        assert program.process.poll() is None
    assert film.self_shares()["busy_parent"] > 0.05, film.explain()
    assert seconds < 20 and megabytes < 1024, (seconds, megabytes)
