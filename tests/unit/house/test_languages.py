#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_languages.py: what is known of a programming language stands in its own folders, and in the film.

scripts/languages.py counts, room by room, the files whose code names a language; the counts of scripts/languages.txt
may only shrink.
"""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import languages  # noqa: E402


class TheHouse(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.found = languages.counted(ROOT)
        cls.table_text = languages.TABLE.read_text(encoding="utf-8")

    def test_names_no_more_languages(self):
        self.assertEqual(languages.complaints(languages.read_table(self.table_text), self.found), [])

    def test_table_is_in_order(self):
        self.assertEqual(languages.table_text(languages.read_table(self.table_text)), self.table_text)

    def test_allowed_are_needed(self):
        """A file that names no language any more is to be taken off the list."""
        for name in sorted(languages.ALLOWED):
            path = ROOT / name
            self.assertTrue(path.is_file() and languages.names_in(name, path.read_text(encoding="utf-8")), name)
        for folder in languages.ALLOWED_FOLDERS:
            self.assertTrue((ROOT / folder).is_dir(), folder)

    def test_folders_of_languages_are_read(self):
        for name, language in (("src/runtime/go/go.c", "go"), ("src/bpf/runtime/hotspot/hotspot.h", "java")):
            text = (ROOT / name).read_text(encoding="utf-8")
            self.assertNotIn(language, languages.names_in(name, text))
            self.assertIn(language, languages.names_in("src/query/a.c", text))


class Names(unittest.TestCase):
    def of(self, line):
        return set(languages.names_in("src/query/a.c", line))

    def test_are_found(self):
        for line, language in (
                ("uint32_t goroutine;", "go"), ("FILM_LOCK_GO,", "go"), ("read_go(a)", "go"), ("go_table_open(t)", "go"),
                ('"go-lanes"', "go"), ('"calls in Go, C"', "go"), ("EVENT_GO_LANES", "go"), ("DW_LANG_Go", "go"),
                ("FILM_FRAME_JAVA", "java"), ('"jdk.internal.vm"', "java"), ("EVENT_VTHREAD_LANES", "java"),
                ('"libjvm.so"', "java"), ('"virtual threads"', "java"), ("FILM_FRAME_PYTHON", "python"),
                ('"tasks of asyncio"', "python"), ("LOCK_GIL", "python"), ('"libuv.so*"', "javascript"),
                ('"node::SpinEventLoop"', "javascript"), ("FILM_FRAME_LUA", "lua"),
                ('"tokio::runtime::"', "rust"), ("FILM_LOCK_RUST", "rust")):
            self.assertEqual(self.of(f"\n{line}\n"), {language}, line)

    def test_are_not_found(self):
        for line in ("/* of a goroutine */", "// Python", "go_on(a)", '"it goes on"', "let_go(a)", "FILM_REQUEST_GOES_ON",
                     "SENT_GONE", "command.go", '"the oldest go first"', "evaluate(a)", "trust(a)", "tree->nodes[1]",
                     "google", '"register"'):
            self.assertEqual(self.of(line), set(), line)

    def test_of_files(self):
        self.assertEqual(languages.names_in("src/film/go_reasons.c", ""), {"go": 1})
        self.assertEqual(languages.names_in("src/runtime/go/python.c", "goroutine"), {"python": 1})


class Counts(unittest.TestCase):
    def test_of_rooms(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in (("src/query/a.c", "goroutine go_a"), ("src/query/explain/b.h", "/* go */ FILM_FRAME_JAVA"),
                               ("src/runtime/go/c.c", "goroutine"), ("web/src/d.tsx", "// Go\nconst goroutine = 1"),
                               ("web/src/text/en.ts", "'goroutine'"), ("src/film/events.c", "EVENT_GO_LANES")):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            self.assertEqual(languages.counted(root),
                             {("query", "go"): {"src/query/a.c": 2}, ("query", "java"): {"src/query/explain/b.h": 1},
                              ("web", "go"): {"web/src/d.tsx": 1}})

    def test_only_shrink(self):
        found = {("query", "go"): {"a": 1}, ("show", "java"): {"b": 2}}
        self.assertEqual(len(languages.complaints({("query", "go"): 2}, found)), 1)
        self.assertEqual(len(languages.shrunk({("query", "go"): 2}, found)), 1)
        self.assertEqual(languages.lowered({("query", "go"): 2, ("web", "lua"): 1}, found),
                         {("query", "go"): 1, ("web", "lua"): 0})
        self.assertEqual(languages.complaints({("query", "go"): 1, ("show", "java"): 1}, found), [])


if __name__ == "__main__":
    unittest.main()
