# SPDX-License-Identifier: Apache-2.0
"""Two films compared, and the gate for CI."""

import gzip
import json
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def films(shared_lab):
    return (shared_lab.film_program("split", seconds=2),
            shared_lab.film_program("split", seconds=2), shared_lab.film_program("coroutine"))


def test_diff_names_what_changed(lab, films):
    done = lab.run("diff", films[0].path, films[2].path)
    assert done.returncode == 0, done.stderr
    assert "f70" in done.stdout and "coroutine_leaf" in done.stdout


def test_gate_opens_for_the_same_program(lab, films):
    done = lab.run("diff", "--fail-above", "5", films[0].path, films[1].path)
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_gate_closes_for_a_change(lab, films):
    done = lab.run("diff", "--fail-above", "5", films[0].path, films[2].path)
    assert done.returncode == 1, (done.stdout, done.stderr)


def test_a_film_is_equal_to_itself(lab, films):
    done = lab.run("diff", "--fail-above", "0", films[0].path, films[0].path)
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_diff_for_other_tools(lab, films, tmp_path):
    scope, profile = tmp_path / "diff.speedscope.json", tmp_path / "diff.pb.gz"
    for path in (scope, profile):
        done = lab.run("diff", "-o", path, films[0].path, films[2].path)
        assert done.returncode == 0, done.stderr
    before, now = json.loads(scope.read_text())["profiles"]
    total = sum(now["weights"])
    assert total and sum(before["weights"]) == before["endValue"] == now["endValue"] == total
    assert b"pprof::base" in gzip.decompress(profile.read_bytes())
    if shutil.which("go"):
        top = subprocess.run(["go", "tool", "pprof", "-top", profile], capture_output=True, text=True, check=True).stdout
        gone = next(line for line in top.splitlines() if line.endswith(" f70"))
        assert -75 < float(gone.split()[1].rstrip("%")) * (-1 if gone.lstrip().startswith("-") else 1) < -60, top


def test_diff_with_a_film_that_is_none(lab, films, tmp_path):
    other = tmp_path / "not.film"
    other.write_text("no film\n")
    done = lab.run("diff", films[0].path, other)
    assert done.returncode == 1
    assert "not.film" in done.stderr
