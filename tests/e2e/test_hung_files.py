# SPDX-License-Identifier: Apache-2.0
"""
File systems that stop to answer, under programs that are filmed: a server of our own for FUSE, which is stopped. What lies
there is not read; all else is filmed as ever, in time, and what is missing is said.
"""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from harness import name_of, needs_root, running, wait_until
from test_serve import serving

pytestmark = needs_root

UNANSWERED = "file or memory of a process: its file system did not answer"
FUNCTIONS = {"f10", "f20", "f70"}  # of the program split

# A recording may end that much later than it was asked to.
LATE = 5


class Mount:
    """A mounted file system, whose server can be stopped."""

    def __init__(self, server, point):
        self.server = server
        self.point = point

    @contextlib.contextmanager
    def stopped(self):
        self.server.send_signal(signal.SIGSTOP)
        try:
            yield time.monotonic()
        finally:
            self.server.send_signal(signal.SIGCONT)


@pytest.fixture
def mount(lab):
    folder, point = lab.folder / "files", lab.folder / "point"
    for path in (folder, point):
        path.mkdir()
    shutil.copy(lab.program("split-pie"), folder / "far")
    shutil.copy(lab.program("plugin-a.so"), folder)
    shutil.copy(lab.program("plugin-b.so"), folder)
    shutil.copy(lab.program("split-pie"), lab.folder / "near")
    shutil.copy(lab.program("dlopen"), lab.folder)
    server = subprocess.Popen([lab.program("fuse_server"), folder, point], stdout=subprocess.PIPE)
    try:
        if not server.stdout.readline():
            assert server.wait() == 77
            pytest.skip("no file system of FUSE can be mounted here")
        yield Mount(server, point)
    finally:
        # what waits for it is let go by that, too
        server.kill()
        server.wait()
        server.stdout.close()
        subprocess.run(["umount", "-l", point], check=False, capture_output=True)


@contextlib.contextmanager
def far_and_near(lab, mount):
    """The same program twice: its file on that file system, and on one of this machine."""
    with running(mount.point / "far", 100) as far, running(lab.folder / "near", 100) as near:
        yield far, near


def frames_of(film, comm):
    """Names of frames of processes with that name."""
    return {name_of(frame) for stack, _ in film.folded("--comm", comm) for frame in stack}


def assert_unnamed(film, name="far"):
    """Its frames have image and offset, and no name."""
    frames = frames_of(film, name)
    assert any(re.fullmatch(re.escape(name) + r"\+0x[0-9a-f]+", frame) for frame in frames), film.explain()
    assert not frames & FUNCTIONS, film.explain()


def test_answers(lab, mount):
    """Such a file system is read as others are, as long as it answers."""
    with far_and_near(lab, mount) as (far, _):
        film = lab.record("-p", far.pid, "-d", 1)
    film.assert_whole()
    assert frames_of(film, "far") >= FUNCTIONS, film.explain()
    assert UNANSWERED not in film.json()["loss"]


def test_lines_of_far_files(lab, mount):
    """Source lines come from a child that reads the file itself."""
    with far_and_near(lab, mount) as (far, _):
        film = lab.record("-p", far.pid, "-d", 1, "--lines")
    assert "split.c:" in film.report("--format", "folded", "--lines").stdout, film.explain()


@pytest.mark.parametrize("targets", ["processes", "machine"])
def test_stopped_before(lab, mount, targets):
    with far_and_near(lab, mount) as (far, near), mount.stopped() as begin:
        film = lab.record(*(["-a"] if targets == "machine" else ["-p", f"{far.pid},{near.pid}"]), "-d", 4)
        assert time.monotonic() - begin < 4 + LATE
    assert_unnamed(film)
    assert film.json()["loss"].get(UNANSWERED, 0) > 0, film.explain()
    assert frames_of(film, "near") >= FUNCTIONS, film.explain()
    said = re.findall(r"stackcam: (\S+): the file system at (\S+) \(fuse.fuse_server\) has not answered for \d+ s",
                      film.recording.stderr)
    assert said == [(str(mount.point / "far"), str(mount.point))], film.recording.stderr


def test_stopped_meanwhile(lab, mount):
    """Its files are open then; what was not read before its end has no names."""
    with far_and_near(lab, mount) as (far, near), \
         lab.recording("-p", f"{far.pid},{near.pid}", "-d", 4) as (recorder, film):
        assert wait_until(film.begun)
        with mount.stopped() as begin:
            assert recorder.wait(timeout=4 + LATE) == 0
            assert time.monotonic() - begin < 4 + LATE
    assert_unnamed(film)
    assert film.json()["loss"].get(UNANSWERED, 0) > 0, film.explain()
    assert frames_of(film, "near") >= FUNCTIONS, film.explain()


def test_ends_at_once(lab, mount):
    with far_and_near(lab, mount) as (far, _), mount.stopped(), lab.recording("-p", far.pid) as (recorder, film):
        assert wait_until(film.begun)
        begin = time.monotonic()
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=LATE) == 0
        assert time.monotonic() - begin < LATE


def test_library(lab, mount):
    """A program loads libraries from there: what is its own has names, and it is waited for as it waits itself."""
    for name in ("plugin-a.so", "plugin-b.so"):
        (lab.folder / name).symlink_to(mount.point / name)
    with running(lab.folder / "dlopen", 100) as program:
        film = lab.record("-p", program.pid, "-d", 1)
        assert frames_of(film, "dlopen") >= {"spin_in_a", "spin_in_b"}, film.explain()
        with mount.stopped() as begin:
            lab.record("-p", program.pid, "-d", 2)
            assert time.monotonic() - begin < 2 + LATE


def test_leaves_nothing_behind(lab, mount, monkeypatch):
    monkeypatch.setenv("RECORDER_OF", str(lab.folder))
    with far_and_near(lab, mount) as (far, _):
        with mount.stopped(), lab.recording("-p", far.pid) as (recorder, _):
            assert wait_until(lambda: helpers(lab))
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=LATE) == 0
        # the kernel lets the helper end as soon as it has its answer
        assert wait_until(lambda: not helpers(lab)), helpers(lab)


def helpers(lab):
    """Processes that read files for a recorder of this test: others may run beside it."""
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/comm") if is_helper(path, lab)]


def is_helper(comm, lab):
    with contextlib.suppress(OSError):
        return comm.read_text() == "stackcam-files\n" and \
            f"RECORDER_OF={lab.folder}".encode() in (comm.parent / "environ").read_bytes().split(b"\0")
    return False


def test_serve(lab, mount):
    """It films on, says what is missing, and reads it when it is there again."""
    def health():
        with contextlib.suppress(urllib.error.HTTPError):  # for a moment after the start
            with urllib.request.urlopen(f"{serve.url}/health", timeout=10) as answer:
                return json.load(answer)
        return {"status": "failing"}

    with far_and_near(lab, mount), contextlib.ExitStack() as stack:
        with mount.stopped():
            serve = stack.enter_context(serving(lab, lab.folder / "store", "-F", "499"))
            assert wait_until(lambda: health()["status"] == "degraded"), health()
            assert re.fullmatch(r"files on 1 file system are not read, which has not answered for \d+ s",
                                health()["reasons"][0])
            serve.hear(rf"{mount.point}/far: the file system at {mount.point} \(fuse.fuse_server\) has not answered")
            serve.wait_for_function("f70", comm="near")
            assert not FUNCTIONS & set(serve.functions(comm="far")), serve.functions(comm="far")
            assert health()["status"] == "degraded"
        serve.hear(rf"the file system at {mount.point} \(fuse.fuse_server\) answers again, after \d+ s")
        assert wait_until(lambda: health() == {"status": "ok", "reasons": []}), health()
        serve.wait_for_function("f70", comm="far")
        assert serve.said.count("has not answered") == 1, serve.said
