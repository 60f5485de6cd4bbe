#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_walkers.py: each program of src/bpf that walks stacks has a slot for itself with the steps of runtimes.

Without capture_whole() and CAPTURE_WHOLE() (capture_unwind.h) a program never finds a frame of a language runtime.
"""

import re
import unittest
from pathlib import Path

BPF = Path(__file__).resolve().parents[3] / "src/bpf"

FUNCTION = re.compile(r"^(?:SEC\(\"[^\"]+\"\)\n)?[a-z_][^\n;={}]*?\b(\w+)\((?:[^;{}]*)\)\n\{\n(.*?)^\}", re.M | re.S)
PROGRAM = re.compile(r"^SEC\(\"[^\"]+\"\)\nint (?:BPF_PROG\()?(\w+)[^{;]*\n\{\n(.*?)^\}", re.M | re.S)


def calls_of(body):
    return set(re.findall(r"\b(\w+)\(", body))


def walking(functions):
    """The names of those that call the walk, in however many steps."""
    found, before = {"capture_walk"}, 0
    while len(found) != before:
        before = len(found)
        found |= {name for name, calls in functions.items() if calls & found}
    return found


def functions_of(text):
    functions = {}
    for name, body in FUNCTION.findall(text):
        functions.setdefault(name, set()).update(calls_of(body))
    return functions


def programs_of(text):
    return dict(PROGRAM.findall(text))


def slots_of(text):
    return set(re.findall(r"^CAPTURE_WHOLE\((\w+)\);", text, re.M))


def wrong(headers, files):
    """Programs that walk and have no slot, or do not look into it; those with one that do not walk."""
    shared = functions_of("\n".join(headers))
    found = []
    for text in files:
        walks = walking({**shared, **functions_of(text)})
        for name, body in programs_of(text).items():
            has = name in slots_of(text) and f"capture_whole(ctx, {name});" in body
            if has != bool(calls_of(body) & walks):
                found.append(name)
    return found


class Walkers(unittest.TestCase):
    def test_have_slots(self):
        headers, files = ([path.read_text(encoding="utf-8") for path in sorted(BPF.glob(names))]
                          for names in ("*.h", "*.c"))
        self.assertGreater(sum(len(programs_of(text)) for text in files), 40)
        self.assertGreater(sum(len(slots_of(text)) for text in files), 15)
        self.assertEqual(wrong(headers, files), [])

    def test_one_without_is_found(self):
        walk = "__noinline int take(void *ctx)\n{\n\tcapture_walk(ctx);\n}\n"
        begin = 'SEC("perf_event")\nint one(void *ctx)\n{\n'
        slot = "CAPTURE_WHOLE(one);\n"
        for text, expected in ((begin, ["one"]), (slot + begin, ["one"]),
                               (slot + begin + "\tcapture_whole(ctx, one);\n", [])):
            self.assertEqual(wrong([walk], [text + "\ttake(ctx);\n}\n"]), expected)


if __name__ == "__main__":
    unittest.main()
