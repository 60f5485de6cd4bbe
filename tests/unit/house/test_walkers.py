#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_walkers.py: programs of uprobes have a tail call, and only the walkers walk stacks (src/bpf).

Without a tail call the kernel may give a program that can be preempted a stack that it shares (capture/maps.h).
"""

import re
import unittest
from pathlib import Path

BPF = Path(__file__).resolve().parents[3] / "src/bpf"

FUNCTION = re.compile(r"^(?:SEC\(\"[^\"]+\"\)\n)?[a-z_][^\n;={}]*?\b(\w+)\((?:[^;{}]*)\)\n\{\n(.*?)^\}", re.M | re.S)
PROGRAM = re.compile(r"^SEC\(\"([^\"]+)\"\)\nint (?:BPF_PROG\()?(\w+)[^{;]*\n\{\n(.*?)^\}", re.M | re.S)


def calls_of(body):
    return set(re.findall(r"\b(\w+)\(", body))


def reaching(functions, callee):
    """The names of those that call it, in however many steps."""
    found, before = {callee}, 0
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
    return PROGRAM.findall(text)


def reaches(headers, files, callee, section):
    """The programs of sections that begin like this: those that reach a function, and all of them."""
    shared = functions_of("\n".join(headers))
    found, all_of_them = set(), set()
    for text in files:
        reach = reaching({**shared, **functions_of(text)}, callee)
        for where, name, body in programs_of(text):
            if where.startswith(section):
                all_of_them.add(name)
                if calls_of(body) & reach:
                    found.add(name)
    return found, all_of_them


class Walkers(unittest.TestCase):
    def setUp(self):
        self.headers, self.files = ([path.read_text(encoding="utf-8") for path in sorted(BPF.rglob(names))]
                                    for names in ("*.h", "*.c"))

    def test_programs_of_uprobes_have_tail_calls(self):
        found, programs = reaches(self.headers, self.files, "bpf_tail_call", "uprobe")
        self.assertGreater(len(programs), 12)
        # tail calls by a macro, which is no function in the text
        found |= {name for text in self.files for _, name, body in programs_of(text) if "capture_on_own_stack(" in body}
        self.assertEqual(programs - found, set())

    def test_one_without_is_found(self):
        begin = 'SEC("uprobe")\nint one(void *ctx)\n{\n'
        go = "static __always_inline void go(void *ctx)\n{\n\tbpf_tail_call(ctx, &table, 0);\n}\n"
        self.assertEqual(reaches([go], [begin + "\ttake(ctx);\n}\n"], "bpf_tail_call", "uprobe"), (set(), {"one"}))
        self.assertEqual(reaches([go], [begin + "\tgo(ctx);\n}\n"], "bpf_tail_call", "uprobe"), ({"one"}, {"one"}))

    def test_only_walkers_walk(self):
        found, programs = reaches(self.headers, self.files, "unwind_step", "")
        self.assertGreater(len(programs), 40)
        # walker_##name of each place that programs are called from is one program in the text
        self.assertEqual(found - {"walker_"}, set())


if __name__ == "__main__":
    unittest.main()
