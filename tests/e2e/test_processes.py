# SPDX-License-Identifier: Apache-2.0
"""Processes that come, go, change and hide, and the ways to choose which are filmed."""

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import PATIENCE, control_group, needs_root, running, wait_until

pytestmark = needs_root

NEARLY_ALL = 0.98


def pids_of(film):
    """The processes that have time in the film, by their groups in the folded text."""
    groups = set()
    for stack, _ in film.folded("--by", "process"):
        groups.add(stack[0])
    return groups


def test_fork_without_exec(lab):
    film = lab.film_program("forker")
    for name, share in (("child_work", 0.8), ("parent_work", 0.2)):
        assert film.near(film.user_share(lambda stack, name=name: stack[-1] == name), share, 0.07), film.explain()
    assert film.complete() >= 0.99, film.explain()
    below = film.user_share(lambda stack: stack.has("main", "fork_loop", "child_work"))
    assert below > 0.7, film.explain()
    assert len(pids_of(film)) > 10
    # by name they are one
    answer = film.json("--by", "name")
    group, = answer["groups"]
    assert group["process"] == "forker" and group["total"] == answer["event"]["total"] and "pid" not in group
    assert "forker (" not in film.report("--by", "name").stdout


def test_no_children(lab):
    film = lab.film_program("forker", options=("--no-children",))
    shares = film.self_shares()
    assert shares.get("child_work", 0) == 0, film.explain()
    assert shares["parent_work"] > 0.5, film.explain()


def test_exec_loop_is_named(lab):
    """Processes that live 30 ms: nearly all their samples have names all the same."""
    film = lab.film_program("execer", seconds=2)
    # the dynamic linker's samples are beside these
    named = film.user_share(lambda stack: stack.has("main", "short_main"))
    nameless = film.user_share(lambda stack: any("short_lived+0x" in frame for frame in stack))
    assert named > 0.8 and named / (named + nameless) > 0.95, film.explain()
    assert film.complete() >= 0.95, film.explain()


def test_children_of_a_filmed_process_are_followed(lab):
    with running(lab.program("execer"), 20) as program:
        film = lab.record("-d", 1, "-p", program.pid)
    assert film.user_share(lambda stack: "short_main" in stack) > 0.85, film.explain()


def test_dlopen_and_dlclose_at_the_same_address(lab):
    film = lab.film_program("dlopen", seconds=2)
    shares = film.self_shares()
    assert film.near(shares["spin_in_a"], 0.5, 0.06), film.explain()
    assert film.near(shares["spin_in_b"], 0.5, 0.06), film.explain()
    for function in film.json()["functions"]:
        for letter in "ab":
            if function["name"] == f"spin_in_{letter}":
                assert function["image"].endswith(f"plugin-{letter}.so"), function
    for letter in "ab":
        whole = ("main", "use_plugin", "plugin_run", f"spin_in_{letter}")
        assert film.share(lambda stack: stack.has(*whole)) > 0.44, film.explain()
    assert film.complete() >= 0.98, film.explain()


@pytest.mark.parametrize("attach", [False, True])
def test_deleted_binary(lab, tmp_path, attach):
    copy = tmp_path / "a-copy"
    if attach:
        with running(lab.program("deleted"), 20, copy) as program:
            assert not copy.exists()
            film = lab.record("-d", 1, "-p", program.pid)
    else:
        film = lab.film_program("deleted", copy)
    share = film.share(lambda stack: stack.has("main", "deleted_work"))
    assert share > (NEARLY_ALL if attach else 0.95), film.explain()


def test_binary_replaced_while_it_runs(lab, tmp_path):
    """Names come from the file that runs, not from the other one that has its name now."""
    program = tmp_path / "changing"
    shutil.copy(lab.program("split"), program)
    with running(program, 20) as old:
        shutil.copy(lab.program("omit"), tmp_path / "new")
        os.rename(tmp_path / "new", program)
        film = lab.record("-d", 1, "-p", old.pid)
    assert film.share(lambda stack: stack.has("main", "work", "f70")) > 0.6, film.explain()
    assert film.share(lambda stack: "c1" in stack) == 0


def libraries_of(program):
    words = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [word for word in words.split() if word.startswith("/")]


def furnish(root, program, name):
    """A root folder with the program, under that name, and its libraries."""
    for path in libraries_of(program):
        target = Path(f"{root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copy(program, f"{root}/{name}")


@pytest.mark.parametrize("attach", [False, True])
def test_chroot(lab, tmp_path, attach):
    root = tmp_path / "root"
    root.mkdir()
    # Outside, the same path holds something else.
    inside = f"/stackcam-e2e-{os.getpid()}"
    furnish(root, lab.program("split"), inside)
    shutil.copy(lab.program("omit"), inside)
    try:
        if attach:
            with running(shutil.which("chroot"), root, inside, 20) as program:
                film = lab.record("-d", 1, "-p", program.pid)
        else:
            film = lab.record("--", "chroot", root, inside, 1)
    finally:
        os.unlink(inside)
    assert film.share(lambda stack: stack.has("main", "work", "f70")) > 0.6, film.explain()
    assert film.complete() >= 0.98, film.explain()


@pytest.mark.parametrize("attach", [False, True])
def test_mount_namespace(lab, tmp_path, attach):
    place = tmp_path / "place"
    place.mkdir()
    script = (f"mount -t tmpfs none {place} && cp {lab.program('split')} {place}/hidden && "
              f"exec {place}/hidden $0")
    command = ("unshare", "--mount", "sh", "-c", script)
    if attach:
        with running(*command, 20) as program:
            assert not (place / "hidden").exists()
            film = lab.record("-d", 1, "-p", program.pid)
        assert film.share(lambda stack: stack.has("main", "work", "f70")) > 0.6, film.explain()
    else:
        film = lab.record("--", *command, 1)
        assert film.share(lambda stack: stack.has("main", "work", "f70")) > 0.55, film.explain()


def test_pid_namespace(lab):
    """A process is shown by the recorder's numbers, and its JIT names are found by its own."""
    command = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", lab.program("jit"))
    with running(*command, 20) as program:
        pid, = program.children()
        film = lab.record("-d", 1, "-p", pid)
    whole = ("main", "run_jitted", "jit_outer", "jit_alpha")
    assert film.share(lambda stack: stack.has(*whole)) > 0.95, film.explain()
    assert [process["pid"] for process in film.json()["processes"]] == [pid]


def test_recording_ends_with_its_last_process(lab):
    with running(lab.program("split"), 60) as program, lab.recording("-d", 50, "-p", program.pid) as (recorder, film):
        assert wait_until(film.has_samples)
        program.process.kill()
        assert recorder.wait(timeout=20) == 0, recorder.stderr.read()
    assert film.share(lambda stack: "f70" in stack) > 0.6, film.explain()


@pytest.mark.parametrize("verb", [("record",), ("trace", "-f", "work")])
def test_recording_ends_with_a_process_that_is_gone_before_it_begins(lab, verb):
    def makes_ready():
        """It has named its process, and loads its probes."""
        links = [os.path.realpath(fd) for fd in Path(f"/proc/{recorder.pid}/fd").iterdir()]
        return any("bpf-map" in link for link in links)

    with running(lab.program("split"), 100) as program:
        recorder = subprocess.Popen([lab.stackcam, *verb, "-p", str(program.pid), "-o", lab.new_film()],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            assert wait_until(makes_ready)
            recorder.send_signal(signal.SIGSTOP)
            program.process.kill()
            program.process.wait()
            recorder.send_signal(signal.SIGCONT)
            said = recorder.communicate(timeout=PATIENCE)[1]
        finally:
            recorder.kill()
            recorder.wait()
    assert recorder.returncode == 0, said


def test_process_killed_while_filmed(lab):
    with running(lab.program("split"), 20) as program:
        with lab.recording("-d", 30, "-p", program.pid) as (recorder, film):
            assert wait_until(film.begun)
            time.sleep(1.2)
            os.kill(program.pid, signal.SIGKILL)
            program.wait()
            assert recorder.wait(timeout=20) == 0
        assert film.share(lambda stack: "f70" in stack) > 0.6, film.explain()


def test_several_pids(lab):
    with running(lab.program("omit"), 20) as first, running(lab.program("deep"), 20) as second, \
            running(lab.program("split"), 20):
        film = lab.record("-d", 1, "-p", f"{first.pid},{second.pid}")
    shares = film.self_shares()
    assert shares["c30"] > 0.15 and shares["deep_leaf"] > 0.15, film.explain()
    assert "f70" not in shares


def test_one_thread(lab):
    with running(lab.program("threads"), 20) as program:
        tids = {Path(f"/proc/{program.pid}/task/{tid}/comm").read_text().strip(): tid
                for tid in os.listdir(f"/proc/{program.pid}/task")}
        film = lab.record("-d", 1, "-t", tids["worker-2"])
    assert film.share(lambda stack: "thread_2" in stack) > NEARLY_ALL, film.explain()


def test_by_name(lab):
    with running(lab.program("omit"), 20), running(lab.program("split"), 20):
        film = lab.record("-d", 1, "-n", "spl?t")
    shares = film.self_shares()
    assert shares["f70"] > 0.6 and "c30" not in shares, film.explain()


def test_by_name_that_no_process_has(lab):
    said = "no process is called 'no-such-*' now; those that start later are"
    with running(lab.program("split"), 20):
        done = lab.run("record", "-d", "300ms", "-n", "no-such-*", "-n", "split", "-o", lab.new_film())
        assert done.returncode == 0 and done.stderr.count("no process is called") == 1, done.stderr
        assert f"{said} filmed; 'ps -eo comm' shows" in done.stderr
        done = lab.run("inspect", "-d", "300ms", "-n", "no-such-*", "main")
        assert f"{said} inspected" in done.stderr, done.stderr
        done = lab.run("record", "-q", "-d", "300ms", "-n", "no-such-*", "-o", lab.new_film())
        assert not done.stderr


def test_by_name_also_what_starts_later(lab):
    with lab.recording("-d", 3, "-n", "split") as (recorder, film):
        assert wait_until(film.begun)
        subprocess.run([lab.program("split"), "1"], stdout=subprocess.DEVNULL, check=True)
        assert recorder.wait(timeout=30) == 0
    assert film.share(lambda stack: "f70" in stack) > 0.6, film.explain()


def test_by_control_group(lab):
    with control_group() as group, running(lab.program("omit"), 20) as inside, running(lab.program("split"), 20):
        (group / "cgroup.procs").write_text(str(inside.pid))
        film = lab.record("-d", 1, "--cgroup", group)
    shares = film.self_shares()
    assert shares["c30"] > 0.9 and "f70" not in shares, film.explain()


def test_by_user(lab):
    """The user that a process has become, and not the one of its program; whoever it is as its film begins."""
    other = pwd.getpwnam("nobody")
    code = f"import os; os.setuid({other.pw_uid}); print('ready', flush=True)\nwhile True: pass"
    with running(sys.executable, "-c", code) as given_up, running(lab.program("split"), 20) as root:
        film = lab.record("-d", 1, "-p", f"{given_up.pid},{root.pid}")
    answer = film.json("--by", "user")
    totals = {group["user"]: group["total"] for group in answer["groups"]}
    assert set(totals) == {other.pw_name, "root"}, answer["groups"]
    assert sum(totals.values()) == answer["event"]["total"] and min(totals.values()) > 0.2 * sum(totals.values()), totals
    assert re.search(r"\bUser$", film.report("--by", "user").stdout, re.MULTILINE)


PUBLISH = """
import ctypes, mmap, os, struct, sys

def field(number, data):
    size = [len(data)] if len(data) < 128 else [len(data) & 127 | 128, len(data) >> 7]
    return bytes([number << 3 | 2, *size]) + data

attributes = {b"service.name": b"checkout", b"service.namespace": b"shop", b"other": b"thing",
              b"service.version": b"1.4.2", b"deployment.environment.name": b"test"}
resource = b"".join(field(1, field(1, key) + field(2, field(1, value))) for key, value in attributes.items())
payload = field(1, resource)
fd = os.memfd_create("OTEL_CTX")
os.ftruncate(fd, 8192)
memory = mmap.mmap(fd, 8192)
os.close(fd)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
memory[32:32 + len(payload)] = payload
memory[0:32] = struct.pack("<8sIIQQ", b"OTEL_CTX", int(sys.argv[1]), len(payload), 1, address + 32)
print("ready", flush=True)
while True:
    pass
"""


def test_what_a_program_says_of_itself(lab):
    """By OpenTelemetry's process context; one of an unknown version is counted as a loss."""
    with running(sys.executable, "-c", PUBLISH, 2) as known, running(sys.executable, "-c", PUBLISH, 3) as unknown:
        film = lab.record("-d", 1, "-p", f"{known.pid},{unknown.pid}")
    with contextlib.closing(sqlite3.connect(f"file:{film.path}?mode=ro", uri=True)) as database:
        said = dict(database.execute("SELECT pid, resource FROM process"))
    resource = "deployment.environment.name=test,service.name=checkout,service.namespace=shop,service.version=1.4.2"
    assert said == {known.pid: resource, unknown.pid: ""}
    losses = {reason: count for reason, count in film.json()["loss"].items() if "OTEL_CTX" in reason}
    assert list(losses.values()) == [1], losses
    answer = film.json("--by", "service")
    groups = {group["service"]: group for group in answer["groups"]}
    assert len(groups) == 2 and sum(group["total"] for group in groups.values()) == answer["event"]["total"], groups
    own = groups.pop("shop/checkout")
    assert (own["version"], own["environment"]) == ("1.4.2", "test")
    assert not {"version", "environment"} & set(groups.popitem()[1])
    table = film.report("--by", "service", "--service", "comm=*python* scripts").stdout
    assert re.search(r"Service +Version +Environment$", table, re.MULTILINE), table
    assert re.search(r"scripts +1\.4\.2 +test$", table, re.MULTILINE), table
    done = lab.run("report", "--service", "comm=* all", film.path)
    assert done.returncode == 2 and "--service names the groups of --by service" in done.stderr, done.stderr


@pytest.mark.parametrize("options", [(), ("-a",)])
def test_whole_machine(lab, options):
    with running(lab.program("omit"), 20), running(lab.program("split"), 20):
        film = lab.record("-d", 1, *options)
    shares = film.self_shares()
    assert shares["c30"] > 0.02 and shares["f70"] > 0.02, film.explain()


def test_whole_machine_while_a_command_runs(lab):
    with running(lab.program("omit"), 20):
        film = lab.film_program("split", options=("-a",))
    shares = film.self_shares()
    assert shares["c30"] > 0.02 and shares["f70"] > 0.02, film.explain()


def test_a_process_while_a_command_runs(lab):
    """As with perf, the command says how long, and how it ended; it is not filmed."""
    with running(lab.program("omit"), 20) as omit:
        film = lab.new_film()
        done = lab.run("record", "-F", 1999, "-o", film, "-p", omit.pid, "--", "sh", "-c", f"{lab.program('split')} 1; exit 7")
        assert done.returncode == 7, done.stderr
        filmed = json.loads(lab.run("report", "--format", "json", "--by", "process", film).stdout)
    assert {int(process["pid"]) for process in filmed["processes"]} == {omit.pid}, filmed["processes"]


def test_containers_do_not_mix_up_processes_of_one_name(lab, tmp_path):
    """Two programs at the same path in two roots, filmed at once, keep their own names."""
    roots = []
    for name in ("split", "omit"):
        root = tmp_path / name
        root.mkdir()
        furnish(root, lab.program(name), "/app")
        roots.append(root)
    with running(shutil.which("chroot"), roots[0], "/app", 20) as first, \
            running(shutil.which("chroot"), roots[1], "/app", 20) as second:
        film = lab.record("-d", 1, "-p", f"{first.pid},{second.pid}")
        own = film.total_shares(("f70", "c30"), "--pid", str(first.pid))
        other = film.total_shares(("f70", "c30"), "--pid", str(second.pid))
    assert own["f70"] > 0.6 and not own["c30"], film.explain()
    assert other["c30"] > 0.9 and not other["f70"], film.explain()
