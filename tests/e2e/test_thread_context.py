# SPDX-License-Identifier: Apache-2.0
"""What programs publish of their threads (OTEP 4947) becomes labels of samples."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness import filming, needs_root, running, wait_until

pytestmark = needs_root

SOURCE = Path(__file__).resolve().parents[1] / "programs" / "thread_context.c"
# the models of thread-local storage: by the program itself, and of a library as each of its dialects has it
MODELS = {
    "program": (["-DCONTEXT_OWN", "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1"], None),
    "initial exec": ([], ["-ftls-model=initial-exec"]),
    "global dynamic": ([], []),
    "descriptors": ([], ["-mtls-dialect=gnu2"]),
}
BUY, READ, SLEEP = "http.route=/buy,user=7", "http.route=/read", "http.route=/sleep"


def build(folder, model):
    own, library = MODELS[model]
    command = ["gcc", "-O1", "-g", "-D_GNU_SOURCE", "-pthread", SOURCE, "-o", folder / "thread_context", *own]
    if library is not None:
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-DCONTEXT_LIBRARY", *library, SOURCE, "-o", folder / "libcontext.so"], check=True)
        command += [folder / "libcontext.so", f"-Wl,-rpath,{folder}"]
    subprocess.run(command, check=True)
    return folder / "thread_context"


def labels_of(stacks, function):
    """Time by label of the stacks with the function; "": without one."""
    found = {}
    for stack, value in stacks:
        if function in stack:
            label = stack[0] if "=" in stack[0] else ""
            found[label] = found.get(label, 0) + value
    return found


def has_label(film, label, *options):
    return label in film.report("--format", "folded", "--by", "label", *options, check=False).stdout


def most(found):
    return max(found, key=found.get) if found else None


@pytest.mark.parametrize("model", MODELS)
def test_labels_are_those_of_the_work(lab, tmp_path, model):
    program = build(tmp_path, model)
    with running(program) as target:
        with filming(lab, "-e", "on-cpu,off-cpu", "-p", target.process.pid) as film:
            assert wait_until(lambda: has_label(film, BUY) and has_label(film, SLEEP, "-e", "off-cpu"))
            # as long again, when all of it is known
            before = film.json()["event"]["total"]
            assert wait_until(lambda: film.json()["event"]["total"] > 2 * before + 10 ** 9)
    stacks = film.folded("--by", "label")
    bought, read = labels_of(stacks, "buys"), labels_of(stacks, "reads")
    # the first samples come before it is known where the program has its context
    assert most(bought) == BUY and set(bought) <= {BUY, ""}, bought
    assert most(read) == READ and set(read) <= {READ, ""}, read
    assert set(labels_of(stacks, "others")) == {""}, "a record that is not valid, or none"
    assert 0.6 < bought[BUY] / (bought[BUY] + read[READ]) < 0.8
    slept = labels_of(film.folded("-e", "off-cpu", "--by", "label"), "sleeps")
    assert most(slept) == SLEEP and set(slept) <= {SLEEP, ""}, slept
    # one label is selected as functions are
    whole = film.json()["event"]["total"]
    of_buys = film.json("--focus", "http.route=/buy(,|$)")["event"]["total"]
    assert of_buys == sum(value for stack, value in stacks if stack[0] == BUY) > 0
    assert of_buys + film.json("--ignore", "http.route=/buy(,|$)")["event"]["total"] == whole
    # labels are no frames, unless they are asked for
    assert not any("http.route" in frame for stack, _ in film.folded() for frame in stack)


@pytest.mark.skipif(not shutil.which("go"), reason="no reader of pprof's format but stackcam's")
def test_labels_of_pprof(lab, tmp_path):
    """The same as labels of samples, and by request, if that is asked for: each byte of an id is the context's number."""
    with running(build(tmp_path, "program")) as target:
        with filming(lab, "--trace-ids", "-p", target.process.pid) as film:
            assert wait_until(lambda: has_label(film, BUY) and has_label(film, READ))
    profile = tmp_path / "film.pb.gz"
    profile.write_bytes(film.report("--format", "pprof", text=False).stdout)
    done = subprocess.run(["go", "tool", "pprof", "-raw", profile], capture_output=True, text=True, check=True)
    labels = {line.strip() for line in done.stdout.splitlines() if "http.route:" in line}
    for route, user, number in (("/buy", "user:[7]", "01"), ("/read", "", "02")):
        of_route = [line for line in labels if f"http.route:[{route}]" in line]
        assert of_route, labels
        assert all(f"trace_id:[{number * 16}]" in line and f"span_id:[{number * 8}]" in line and user in line for line in of_route), of_route


def test_what_is_no_record(lab, tmp_path):
    """Pointers to nowhere, lengths beyond all bounds, numbers without names: no label comes from them, and the film says so."""
    lost = "labels of a sample lost: what its program publishes of the thread is not in memory"
    with running(build(tmp_path, "program"), "hostile") as target:
        with filming(lab, "-p", target.process.pid) as film:
            assert wait_until(lambda: has_label(film, BUY) and film.json()["loss"].get(lost, 0) > 10)
        assert target.process.poll() is None
    stacks = film.folded("--by", "label")
    assert set(labels_of(stacks, "garbles")) == {""}, labels_of(stacks, "garbles")
    assert most(labels_of(stacks, "buys")) == BUY
    assert film.json()["loss"][lost]
