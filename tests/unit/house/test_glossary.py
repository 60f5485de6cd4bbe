#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_glossary.py: no header declares a new function or type by a word that CONTRIBUTING.md's glossary replaces.

scripts/glossary.py counts them room by room; the counts of scripts/glossary.txt may only shrink.
"""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import glossary  # noqa: E402


class TheHouse(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.words = glossary.old_words(glossary.GLOSSARY.read_text(encoding="utf-8"))
        cls.table_text = glossary.TABLE.read_text(encoding="utf-8")

    def test_uses_no_more_old_words(self):
        found = glossary.counted(ROOT / "src", self.words)
        self.assertEqual(glossary.complaints(glossary.read_table(self.table_text), found), [])

    def test_glossary_is_read(self):
        self.assertEqual({self.words[form] for form in ("take", "took", "told", "lives", "as_before")},
                         {"take", "tell", "life", "as_before"})
        self.assertGreaterEqual(len(set(self.words.values())), 11)

    def test_table_is_in_order(self):
        self.assertEqual(glossary.table_text(glossary.read_table(self.table_text)), self.table_text)

    def test_headers_are_read(self):
        names = glossary.names_in((ROOT / "src/base/buf.h").read_text(encoding="utf-8"))
        self.assertLessEqual({"buf", "buf_put"}, names)


class Glossary(unittest.TestCase):
    def test_rows(self):
        text = ("| `outside` | x |\n### The glossary\n\n| old | new | when |\n| --- | --- | --- |\n"
                "| `take`, `takes` | read | `read()` |\n| | parse | text |\n| `words` | text | |\n\n## Next\n| `no` | |\n")
        self.assertEqual(glossary.old_words(text), {"take": "take", "takes": "take", "words": "words"})


class Names(unittest.TestCase):
    def test_are_found(self):
        for text, names in (
                ("int ring_take(struct ring *ring, give_function *give);", {"ring_take"}),
                ("static inline int a_take(int b)\n{\n\tif (b_take(b)) {\n\t}\n\treturn 0;\n}\nvoid c_take(void);",
                 {"a_take", "c_take"}),
                ("struct a_turn {\n\tint (*take)(void);\n\tstruct b_turn {\n\t\tint c;\n\t} b;\n};", {"a_turn", "b_turn"}),
                ("struct a_turn;\nextern const struct a_turn b_turn;", set()),
                ("enum a_life {\n\tA,\n};\nunion b_life {\n\tint c;\n};", {"a_life", "b_life"}),
                ("typedef int a_take(void *context, int (*b_take)(int));", {"a_take"}),
                ("typedef int (*a_take)(int b_take);", {"a_take"}),
                ("typedef unsigned long a_take[4];", {"a_take"}),
                ("typedef vec(struct a) a_turns;", {"a_turns"}),
                ("typedef struct {\n\tint b;\n} a_turns;", {"a_turns"}),
                ("__attribute__((format(printf, 1, 2))) void a_say(const char *f, ...);", {"a_say"}),
                ("/* a_take(b) */ // b_take();\n#define c_take(x) \\\n\td_take(x)\nchar *e(void); \"f_take(\"", {"e"}),
                ("static const int a = b_take(1);", set())):
            self.assertEqual(glossary.names_in(text), names, text)

    def test_uses_are_whole_parts(self):
        words = {"take": "take", "took": "take", "as_before": "as_before"}
        for name, used in (("a_take", {"take"}), ("take_b", {"take"}), ("a_took_b", {"take"}), ("mistake", set()),
                           ("a_takeover", set()), ("as_before_is", {"as_before"}), ("as_it_was_before", set())):
            self.assertEqual(glossary.uses(name, words), used, name)


class Counts(unittest.TestCase):
    def test_of_a_house(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder)
            for name, text in (("a/a.h", "int a_take(void);\n"), ("a/b/c.h", "int c_took(void);\nint a_take(void);\n"),
                               ("b/d.h", "int a_take(void);\nstruct d_turn {\n};\n"), ("b/e.c", "int e_take(void);\n")):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_text(text)
            self.assertEqual(glossary.counted(source, {"take": "take", "took": "take", "turn": "turn"}),
                             {("a", "take"): ["a_take", "c_took"], ("b", "turn"): ["d_turn"]})

    def test_may_only_shrink(self):
        table = {("a", "take"): 2, ("b", "turn"): 1}
        found = {("a", "take"): ["x_take", "y_take"], ("b", "turn"): ["z_turn"]}
        self.assertEqual(glossary.complaints(table, found), [])
        found["a", "take"] = ["w_take", "x_take", "y_take"]
        found["c", "say"] = ["v_say"]
        del found["b", "turn"]
        lines = glossary.complaints(table, found)
        self.assertEqual(len(lines), 3)
        self.assertIn("src/a: 'take' is in 3 names, 2 allowed: w_take, x_take, y_take;", lines[0])
        self.assertIn("glossary.py --lower", lines[1])
        self.assertIn("src/c: 'say' is in 1 names, 0 allowed: v_say;", lines[2])
        self.assertEqual(glossary.lowered(table, found), {("a", "take"): 2, ("b", "turn"): 0})

    def test_table_is_read_as_written(self):
        table = {("a", "take"): 2, ("b", "as_before"): 1}
        self.assertEqual(glossary.read_table(glossary.table_text({**table, ("c", "say"): 0})), table)


if __name__ == "__main__":
    unittest.main()
