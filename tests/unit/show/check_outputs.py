#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the pictures and pages that flame_sample writes with parsers of someone else.

    check_outputs.py FLAME_SAMPLE
"""
import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

SAMPLE = Path(sys.argv.pop())
SHAPES = (("server", 3000), ("diff", 3000), ("hostile", 3000), ("deep", 1000), ("wide", 20000),
          ("empty", 1))
NO_PAGE = 77  # the status of SAMPLE where this build has none
PAGE_LIMIT = 96000  # bytes of a page without its data
SVG = "{http://www.w3.org/2000/svg}"


def written(kind, shape, nodes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        subprocess.run([SAMPLE, kind, shape, str(nodes), path], check=True)
        return path.read_bytes().decode("utf-8")  # strict: all of it is valid UTF-8


def between(text, start, end):
    at = text.index(start) + len(start)
    return text[at:text.index(end, at)]


def data_of(page):
    return between(page, '<script type="application/json" id="data">', "</script>")


class Pictures(unittest.TestCase):
    def test_are_xml(self):
        for shape, nodes in SHAPES:
            with self.subTest(shape):
                root = xml.etree.ElementTree.fromstring(written("svg", shape, nodes).encode())
                self.assertEqual(root.tag, SVG + "svg")
                self.assertEqual({e.tag for e in root.iter()} - {
                    SVG + tag for tag in ("svg", "title", "style", "defs", "pattern", "rect", "g",
                                          "text")}, set())

    def test_frames_stay_inside_of_their_callers(self):
        root = xml.etree.ElementTree.fromstring(written("svg", "server", 3000).encode())
        rows = {}
        for rect in root.findall(f"{SVG}g[@class='frames']/{SVG}g/{SVG}rect[1]"):
            x, y, width = (float(rect.get(key)) for key in ("x", "y", "width"))
            rows.setdefault(y, []).append((x, x + width))
        levels = sorted(rows, reverse=True)
        for below, above in zip(levels, levels[1:]):
            for start, end in rows[above]:
                self.assertTrue(any(a - 0.02 <= start and end <= b + 0.52 for a, b in rows[below]))


def has_page():
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([SAMPLE, "html", "empty", "1", Path(folder) / "out"], check=False).returncode != NO_PAGE


@unittest.skipUnless(has_page(), "this build has no page")
class Pages(unittest.TestCase):
    def test_data_is_json_and_adds_up(self):
        for shape, nodes in SHAPES:
            with self.subTest(shape):
                data = json.loads(data_of(written("html", shape, nodes)))
                levels = data["levels"]
                self.assertEqual(len(levels[0]["frame"]), 1)
                for level, above in zip(levels, levels[1:] + [{"frame": []}]):
                    self.assertEqual(sum(level["children"]), len(above["frame"]))
                    self.assertEqual(len(level["self"]), len(level["frame"]))
                frames = data["frames"]
                self.assertEqual(len({len(column) for column in frames.values()}), 1)
                count = len(frames["name"])
                self.assertEqual({f for level in levels for f in level["frame"]}, set(range(count)))
                self.assertEqual(set(frames["image"]), set(range(len(data["images"]))))
                self.assertEqual(set(frames["file"]), set(range(len(data["files"]))))
                total = sum(sum(level["self"]) for level in levels)
                self.assertEqual(total > 0, shape != "empty")

    def test_names_are_escaped(self):
        data = data_of(written("html", "hostile", 3000))
        self.assertFalse(re.search("[<>&\u2028\u2029\x00-\x1f]", data))

    def test_page_is_small_and_needs_nothing_else(self):
        page = written("html", "server", 100)
        self.assertLess(len(page.encode()) - len(data_of(page).encode()), PAGE_LIMIT)
        outside = r"https?:|@import|url\(|<[a-z][^<>]* (src|href|style|on[a-z]+)=|fetch\(|XMLHttpRequest|import\("
        page = re.sub(r"http://www\.w3\.org/[\w/]+", "", page.replace(data_of(page), ""))  # names of namespaces
        self.assertIsNone(re.search(outside, page))

    def test_policy_allows_only_what_is_there(self):
        page = written("html", "server", 100)
        policy = between(page, '<meta http-equiv="Content-Security-Policy" content="', '"')
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for start, end in (("<style>", "</style>"), ('<script type="module">', "</script>")):
            digest = hashlib.sha256(between(page, start, end).encode()).digest()
            self.assertIn(f"'sha256-{base64.b64encode(digest).decode()}'", policy)

    @unittest.skipUnless(shutil.which("node"), "there is no node")
    def test_script_is_javascript(self):
        script = between(written("html", "server", 100), '<script type="module">', "</script>")
        with tempfile.NamedTemporaryFile("w", suffix=".mjs") as file:
            file.write(script)
            file.flush()
            subprocess.run(["node", "--check", file.name], check=True)


unittest.main()
