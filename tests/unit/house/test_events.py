#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_events.py: no file but src/film/events.c and event_units.c compares the name or the unit of an event.

What stackcam knows of events is a row of the tables there. A comparison elsewhere is what makes the next event cost a
branch in someone else's file.
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TABLES = "src/film/events.c", "src/film/event_units.c"

# A call that compares two strings, with its arguments as far as they stand on one line.
COMPARED = re.compile(r"\b(?:str(?:n?(?:case)?)cmp|memcmp|strstr|strcasestr)\((.*)")
# The same in the page, in either order.
EQUAL = re.compile(r"([\w.?]*)\s*[!=]==?\s*'([\w-]+)'|'([\w-]+)'\s*[!=]==?\s*([\w.?!]*)|([\w.]*)\.includes\('([\w-]+)'\)")
# A name for what is compared later.
NAMED = re.compile(r"(?:#define\s+\w+\s+|\bconst\b[^=;]*=\s*)[\"']([\w-]+)[\"']\s*;?\s*$")
# What is compared, where the word alone does not tell: "calls" is also a column, "ns" also a suffix of times.
OF_EVENT = re.compile(r"event|unit", re.IGNORECASE)


def words_of(root):
    """The names of all events, and all units, ours and those of others."""
    table = "".join((root / name).read_text(encoding="utf-8") for name in TABLES)
    names = set(re.findall(r"\.name = \"([^\"]+)\"", table)) | set(re.findall(r"(?:FLOW|LEVEL)\(\"([^\"]+)\"", table))
    names |= set(re.findall(r"\.abroad = \{\"([^\"]+)\", \"[^\"]+\"", table))
    units = set(re.findall(r"\.unit = \"([^\"]+)\"", table)) | set(re.findall(r"\{\"(\w+)\", \"\w+\", 1", table))
    return names, units


# Words that nothing but an event has as its name.
def is_its_own(name):
    return bool(re.search(r"[-_]", name))


def faults_of_line(line, words):
    if '"' not in line and "'" not in line:
        return
    for call in COMPARED.finditer(line):
        for literal in re.findall(r"\"([^\"]*)\"", call[1]):
            if literal in words and (is_its_own(literal) or OF_EVENT.search(call[1])):
                yield literal
    for pair in EQUAL.finditer(line if "==" in line or ".includes(" in line else ""):
        other = pair[1] or pair[4] or pair[5] or ""
        literal = pair[2] or pair[3] or pair[6]
        if literal in words and (is_its_own(literal) or OF_EVENT.search(other)):
            yield literal
    named = NAMED.search(line)
    if named and named[1] in words and (is_its_own(named[1]) or OF_EVENT.search(line)):
        yield named[1]


def faults_of(root):
    """Each comparison as "file:line: word"."""
    names, units = words_of(root)
    files = sorted(path for end in ("src/**/*.[ch]", "web/src/**/*.ts", "web/src/**/*.tsx") for path in root.glob(end))
    faults = []
    for path in files:
        name = str(path.relative_to(root))
        if name in TABLES:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            faults += [f"{name}:{number}: {word}" for word in faults_of_line(line, names | units)]
    return faults


class Events(unittest.TestCase):
    def test_nobody_else_compares_them(self):
        self.assertEqual(faults_of(ROOT), [])

    def test_the_tables_are_read(self):
        names, units = words_of(ROOT)
        self.assertLessEqual({"on-cpu", "calls", "off-cpu", "cpu", "inuse_space", "goroutines"}, names)
        self.assertLessEqual({"ns", "bytes", "count", "nanoseconds"}, units)

    def test_comparisons_are_found(self):
        lines = {
            "a.c": ['if (strcmp(name, "on-cpu"))', 'if (!strcmp(event->name, "calls"))',
                    'return strcmp(e->unit, "ns") ? 1 : 0;', 'if (!strcmp("bytes", unit))',
                    '#define DEFAULT_EVENT "on-cpu"'],
            "b.ts": ["if (event === 'calls')", "return unit !== 'ns';", "events.includes('on-cpu')",
                     "const USUAL_EVENT = 'on-cpu';"],
        }
        harmless = {
            "c.c": ['if (!strcmp(suffix, "ns"))', '.name = "on-cpu",', 'json_u64(j, "calls", n);',
                    '{"calls", FUNCTIONS_BY_CALLS},'],
            "d.ts": ["link.view === 'calls'", "formatOf('ns')", "column === 'calls'"],
        }
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "src/film").mkdir(parents=True)
            (root / "web/src").mkdir(parents=True)
            for name in TABLES:
                (root / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
            for name, text in (lines | harmless).items():
                (root / ("web/src" if name.endswith("ts") else "src") / name).write_text("\n".join(text) + "\n")
            found = {fault.rsplit(":", 1)[0] for fault in faults_of(root)}
        wanted = {f"{'web/src' if name.endswith('ts') else 'src'}/{name}:{i}"
                  for name, text in lines.items() for i in range(1, len(text) + 1)}
        self.assertEqual(found, wanted)


if __name__ == "__main__":
    sys.exit(unittest.main())
