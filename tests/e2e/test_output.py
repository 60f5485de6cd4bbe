# SPDX-License-Identifier: Apache-2.0
"""What `stackcam report` writes is valid, adds up, and needs nothing from elsewhere."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import xml.etree.ElementTree

import pytest

from harness import HZ, PATIENCE, wait_until


@pytest.fixture(scope="module")
def film(shared_lab):
    return shared_lab.film_program("names", options=("--lines", "--inlines"), seconds=2)


def test_json_has_its_keys(film):
    answer = film.json()
    assert {"machine", "start", "end", "command", "version"} <= set(answer["film"])
    assert set(answer["event"]) >= {"name", "unit", "total"}
    assert isinstance(answer["loss"], dict)
    assert set(answer["stacks"]) >= {"samples", "complete", "truncated"}
    for function in answer["functions"]:
        assert set(function) >= {"name", "image", "kind", "self", "total"}
        assert 0 <= function["self"] <= function["total"] <= answer["event"]["total"]


def test_films_from_a_pipe_and_several(film, shared_lab, tmp_path):
    """A film from standard input is the same film; two of a machine add up; nothing is left behind."""
    def report(*films, **options):
        return subprocess.run([shared_lab.stackcam, "report", "--json", "-e", "on-cpu", *map(str, films)], capture_output=True, check=False,
                              timeout=60, env={**os.environ, "TMPDIR": str(tmp_path)}, **options)

    plain = report(film.path)
    with open(film.path, "rb") as pipe:
        cat = subprocess.Popen(["cat"], stdin=pipe, stdout=subprocess.PIPE)
        piped = report("-", stdin=cat.stdout)
        cat.stdout.close()
        assert cat.wait() == 0
    assert piped.returncode == 0 and piped.stdout == plain.stdout
    other = shared_lab.film_program("names", seconds=1)
    done = report(film.path, other.path)
    assert done.returncode == 0, done.stderr
    both, parts = json.loads(done.stdout), (json.loads(plain.stdout), other.json())
    assert both["event"]["total"] == sum(part["event"]["total"] for part in parts)
    assert both["stacks"]["samples"] == sum(part["stacks"]["samples"] for part in parts)
    for films, words in ((("-",), b"not a film"), ((film.path, "-"), b"standard input"), ((film.path, tmp_path / "none.film"), b"none.film")):
        done = report(*films, input=b"no film")
        assert done.returncode == 1 and words in done.stderr, done.stderr
    # one that waits for a pipe can be stopped
    with subprocess.Popen([shared_lab.stackcam, "report", "-"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env={**os.environ, "TMPDIR": str(tmp_path)}) as waiting:
        assert wait_until(lambda: list(tmp_path.glob("*/*")))
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(PATIENCE) == -signal.SIGTERM
    assert not list(tmp_path.iterdir())


def test_json_adds_up(film):
    answer = film.json()
    functions = answer["functions"]
    assert sum(function["self"] for function in functions) == answer["event"]["total"]
    own = [function["self"] for function in functions]
    assert own == sorted(own, reverse=True)
    stacks = answer["stacks"]
    assert stacks["complete"] + stacks["truncated"] == stacks["samples"]
    # A sample stands for the time between two of them.
    assert abs(answer["event"]["total"] / stacks["samples"] * HZ / 1e9 - 1) < 0.05


@pytest.mark.parametrize("options", [
    (), ("--by", "process"), ("--by", "name"), ("--by", "thread"), ("--by", "image"), ("--lines",), ("--inlines",),
    ("--by", "process,thread", "--lines", "--inlines"),
], ids=" ".join)
def test_folded_adds_up(film, options):
    total = film.json()["event"]["total"]
    assert sum(value for _, value in film.folded(*options)) == total


def test_filters_part_the_whole(film):
    total = film.json()["event"]["total"]
    focus = film.json("--focus", "thrower")["event"]["total"]
    ignore = film.json("--ignore", "thrower")["event"]["total"]
    assert 0 < focus < total
    assert focus + ignore == total
    first = film.json("--to", "1s")["event"]["total"]
    second = film.json("--from", "1s")["event"]["total"]
    assert 0 < first < total
    assert first + second == total


def test_table(film):
    text = film.report("--format", "table").stdout
    assert "outer::thrower" in text
    assert film.report().stdout == text


def test_limit(film):
    few = film.report("--limit", "2").stdout.splitlines()
    many = film.report("--limit", "20").stdout.splitlines()
    assert len(few) < len(many)


def test_tree(film):
    text = film.report("--format", "tree").stdout
    assert "main" in text and "outer::thrower" in text


def test_svg_is_xml(film):
    root = xml.etree.ElementTree.fromstring(film.report("--format", "svg").stdout)
    assert root.tag.endswith("svg")
    assert "outer::thrower" in "".join(root.itertext())


def test_heat_map(film):
    """A cell for each part of a second in which something ran; with the seconds of the film."""
    root = xml.etree.ElementTree.fromstring(film.report("--format", "heatmap").stdout)
    words = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    seconds = int(re.match(r"On-CPU, (\d+) s on ", words[0]).group(1))
    assert 0 < len(words) - 1 <= seconds * 50
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d\.\d\d: \d+\.\d\d CPUs", word) for word in words[1:])
    few = film.report("--format", "heatmap", "--to", "500ms")
    assert 0 < few.stdout.count("<title>") < len(words)
    assert film.report("--format", "heatmap", "-n", "nobody", check=False).returncode == 1


LOADS = re.compile(r"""(?:src|href|action)\s*=\s*["']?\s*(?!data:|\#)(?:[a-z]+:)?//
                       |url\(\s*["']?(?:[a-z]+:)?// |@import|fetch\(|XMLHttpRequest|sendBeacon
                       |importScripts|new\s+WebSocket""", re.VERBOSE | re.IGNORECASE)


@pytest.mark.parametrize("format", ["html", "svg"])
def test_nothing_comes_from_elsewhere(film, format):
    text = film.report("--format", format).stdout
    found = LOADS.search(text)
    assert not found, text[found.start() - 40:found.end() + 80]
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert all("www.w3.org" in address for address in addresses), addresses


def test_html_holds_the_flame(film):
    text = film.report("--format", "html").stdout
    assert text.lower().startswith("<!doctype html")
    assert "outer::thrower" in text


def test_speedscope(film):
    answer = json.loads(film.report("--format", "speedscope").stdout)
    assert answer["$schema"].endswith("file-format-schema.json")
    frames = answer["shared"]["frames"]
    total = 0
    for profile in answer["profiles"]:
        assert profile["type"] == "sampled"
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= index < len(frames) for stack in profile["samples"] for index in stack)
        total += sum(profile["weights"])
    assert total == film.json()["event"]["total"]


def firefox_stacks(profile):
    """The stacks of a Firefox profile, root first, with their weights in ms; every index is checked, as Python's count from behind."""
    strings, sources = profile["shared"]["stringArray"], profile["shared"]["sources"]
    assert sources["length"] == len(sources["uuid"]) == len(sources["filename"])
    assert all(0 <= name < len(strings) for name in sources["filename"])
    found = {}
    for thread in profile["threads"]:
        tables = {name: thread[name] for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "markers")}
        for table in (*tables.values(), thread["samples"]):
            assert {len(column) for column in table.values() if isinstance(column, list)} == {table["length"]}
        stacks, frames, functions, resources = list(tables.values())[:4]
        for column, other in ((stacks["frame"], frames), (frames["func"], functions),
                              (functions["resource"], resources)):
            assert all(-1 <= index < other["length"] for index in column)
        assert all(0 <= lib < len(profile["libs"]) for lib in resources["lib"])
        assert all(source is None or 0 <= source < sources["length"] for source in functions["source"])
        assert all(0 <= category < len(profile["meta"]["categories"]) for category in frames["category"])
        names = []
        for frame, prefix in zip(stacks["frame"], stacks["prefix"]):
            assert prefix is None or prefix < len(names)
            name = strings[functions["name"][frames["func"][frame]]]
            names.append((*(names[prefix] if prefix is not None else ()), name))
        samples = thread["samples"]
        assert samples["time"] == sorted(samples["time"]) and samples["weightType"] == "tracing-ms"
        for stack, weight, own in zip(samples["stack"], samples["weight"], samples["threadCPUDelta"]):
            stack = names[stack] if stack is not None else ()
            found[stack] = found.get(stack, 0) + own
            assert own == pytest.approx(weight * 1e6, abs=1)
    return found


def test_firefox(film):
    """As firefox-devtools/profiler's src/types/profile.ts has it for version 58; the stacks are those of other formats."""
    profile = json.loads(film.report("--format", "firefox").stdout)
    meta = profile["meta"]
    assert (meta["preprocessedProfileVersion"], meta["product"]) == (58, "on-cpu")
    assert [one for one in meta["categories"] if one["color"] == "grey"] and all(one["subcategories"] for one in meta["categories"])
    assert meta["interval"] == pytest.approx(1000 / HZ, rel=0.01) and 0 < meta["profilingEndTime"] < 60_000
    assert {thread["tid"] for thread in profile["threads"] if thread["isMainThread"]}
    assert all(thread["pid"].isdigit() and thread["processName"] for thread in profile["threads"])
    assert any(re.fullmatch(r"[0-9A-F]{32}0", lib["breakpadId"]) and lib["codeId"] for lib in profile["libs"])
    folded = {}
    for stack, value in film.folded("--inlines"):
        folded[tuple(stack)] = folded.get(tuple(stack), 0) + value
    assert firefox_stacks(profile) == folded
    # a part of it
    part = json.loads(film.report("--format", "firefox", "--to", "1s", "--focus", "thrower").stdout)
    assert 0 < sum(firefox_stacks(part).values()) == film.json("--to", "1s", "--focus", "thrower")["event"]["total"]
    done = film.report("--format", "firefox", "-n", "nothing", check=False)
    assert done.returncode == 1 and "no such samples" in done.stderr


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a protocol buffer message: (number, integer or bytes)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f"wire type {key & 7}")
        yield key >> 3, value
    assert at == len(data)


def test_pprof(film, tmp_path):
    data = film.report("--format", "pprof", text=False).stdout
    profile = list(fields(gzip.decompress(data)))
    strings = [value for number, value in profile if number == 6]
    assert strings[0] == b""
    assert any(b"outer::thrower" in string for string in strings)
    types = [dict(fields(value)) for number, value in profile if number == 1]
    units = [strings[kind[2]] for kind in types]
    assert b"nanoseconds" in units
    sums = [0] * len(types)
    for number, value in profile:
        if number != 2:
            continue
        packed = next(part for tag, part in fields(value) if tag == 2)
        at = place = 0
        while at < len(packed):
            one, at = varint(packed, at)
            sums[place] += one
            place += 1
    assert sums[units.index(b"nanoseconds")] == film.json()["event"]["total"]


@pytest.mark.skipif(not shutil.which("go"), reason="no go tool")
def test_pprof_opens_in_its_own_tool(film, tmp_path):
    path = tmp_path / "x.pb.gz"
    path.write_bytes(film.report("--format", "pprof", text=False).stdout)
    done = subprocess.run(["go", "tool", "pprof", "-top", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "thrower" in done.stdout, done.stdout


def test_reports_are_the_same_each_time(film):
    for format in ("table", "tree", "folded", "json", "svg", "html"):
        assert film.report("--format", format).stdout == film.report("--format", format).stdout


def test_resolve_of_a_film_without_gaps_changes_nothing(lab, film, tmp_path):
    copy = tmp_path / "copy.film"
    shutil.copy(film.path, copy)
    done = lab.run("resolve", copy)
    assert done.returncode == 0, done.stderr
    after = lab.run("report", "--format", "json", copy)
    assert json.loads(after.stdout)["event"] == film.json()["event"]
