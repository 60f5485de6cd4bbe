# SPDX-License-Identifier: Apache-2.0
"""Versions of services: a program that is replaced where it lies, while old processes of it go on."""

import json
import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness import PATIENCE, needs_root, running, wait_until
from test_serve import await_one_film, serving

def build_of(program):
    done = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: ([0-9a-f]+)", done.stdout)[1]


def replace(program, copy):
    """Another build, moved to the place of the program as a deployment does it."""
    build = bytes.fromhex(build_of(program))
    copy.write_bytes(program.read_bytes().replace(build, bytes(byte ^ 0xff for byte in build)))
    copy.chmod(0o755)
    os.replace(copy, program)


def version_of(program):
    """As the store names it."""
    return build_of(program)[:16]


def totals(serve, **query):
    return {row["version"]: row["total"] for row in serve.get("series", service="shop", **query)["series"]}


@needs_root
def test_replaced_in_place(lab, tmp_path):
    """Both builds are kept apart at once, by the index and by the films, and in the film of all."""
    await_one_film()
    program = tmp_path / "shop"
    shutil.copy(lab.program("fp"), program)
    old = version_of(program)
    with serving(lab, tmp_path / "store", "-F", "199") as serve, running(program, 100) as first:
        assert wait_until(lambda: list(totals(serve)) == [old]), totals(serve)
        replace(program, tmp_path / "next")
        new = version_of(program)
        before = totals(serve)[old]
        with running(program, 100):
            assert wait_until(lambda: new in totals(serve)), totals(serve)
            # the old process runs on, and stays what it was
            assert wait_until(lambda: totals(serve)[old] > before + 10**9), totals(serve)
        first.process.kill()
        films = totals(serve, native=1)
        assert set(films) == {old, new} and films[old] > films[new] > 0
        assert "c30" in serve.functions(service="shop", version=new)
        assert "c30" in serve.functions(service="shop", version=old)
        serve.end()
    with serving(lab, tmp_path / "store", "--no-record") as serve:
        # once the index has the end of the film
        assert wait_until(lambda: totals(serve) == totals(serve, native=1)), totals(serve)


def send_mark(serve, allows="write", **fields):
    request = urllib.request.Request(f"{serve.url}/api/v1/marks", urllib.parse.urlencode(fields).encode(),
                                     {"Authorization": f"Bearer {serve.made_token(allows)}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


@needs_root
def test_marks_are_kept(lab, tmp_path):
    """By kill -9 as well; with the films of their time."""
    store = tmp_path / "store"
    with serving(lab, store) as serve:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            send_mark(serve, "read", service="shop")
        first = send_mark(serve, service="shop", version="1.2", text="50 % faster\u00fc & more")
        serve.end(signal.SIGKILL)
    with serving(lab, store) as serve:
        assert serve.get("marks", service="shop", **{"from": "-1h", "to": "now"})["marks"] == [first]
        assert serve.get("marks", service="other", **{"from": "-1h", "to": "now"})["marks"] == []
        # a store without films has no beginning yet
        assert wait_until(lambda: serve.get("series")["series"])
        with pytest.raises(urllib.error.HTTPError, match="400"):
            send_mark(serve, text="long ago", time="2001-01-01T00:00:00Z")
