#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_arch.py: no file outside src/arch/ names a register, a relocation or an instruction of a CPU architecture.

Other rooms include src/arch/*.h, which say by its role what they mean: the stack pointer, the first argument, a system
call's number. Comments may name what they like. The list of exceptions may only get shorter.
"""

import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# A comment; a string or a character, which are kept.
TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.DOTALL)

REGISTER = r"(?:[re](?:[abcd]x|[sd]i|[sb]p|ip)|r(?:8|9|1[0-5])[dwb]?|[xyz]mm\d+)"
NAMED = re.compile("|".join((
    # registers, as a word or as a part of a name between underscores
    rf"(?i:(?<![a-z0-9]){REGISTER}(?![a-z0-9]))",
    # members of the kernel's struct pt_regs
    r"\b(?:ctx|entry|\w*regs)(?:->|\.)(?:[abcd]x|[sd]i|bp|[cs]s|eflags)\b",
    r"\b(?:orig_ax|fsbase|user_regs_struct)\b",
    # what headers and libraries call by the architecture
    r"(?<!0)(?i:x86|amd64|aarch64)",
    # how its instructions are coded
    r"(?:->|\.)(?:modrm|sib|rex|vvvv)\b",
    r"\bendbr64\b",
    r"\bcapstone\b",
    r"\bcs_(?:insn|x86_?\w*|open|option)\b",
)))

# A folder of an architecture is included within src/arch/ only.
FOLDER = re.compile(r'#[ \t]*include[ \t]+"arch/\w+/')

# Where such names still stand.
EXCEPTIONS = set()


def code_of(text):
    """Without comments; lines stay where they are."""
    return TEXT.sub(lambda found: found[1] or " " + "\n" * found[0].count("\n"), text)


def names_in(text):
    """Each name as (line, name)."""
    code = code_of(text)
    return [(code.count("\n", 0, found.start()) + 1, found[0].strip())
            for pattern in (NAMED, FOLDER) for found in pattern.finditer(code)]


def files_of(source):
    """Each file of src/ that names an architecture, with what it names."""
    named = {}
    for path in sorted(source.rglob("*.[ch]")):
        name = str(path.relative_to(source))
        if not name.startswith("arch/"):
            found = names_in(path.read_text(encoding="utf-8"))
            if found:
                named[name] = found
    return named


class TheHouse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.named = files_of(ROOT / "src")

    def test_names_no_architecture(self):
        self.assertEqual({name: found[:5] for name, found in self.named.items() if name not in EXCEPTIONS}, {})

    def test_exceptions_are_needed(self):
        """One that is not any more is to be taken off the list."""
        self.assertEqual(EXCEPTIONS - set(self.named), set())

    def test_is_read(self):
        self.assertGreater(len(names_in((ROOT / "src/arch/x86_64/bpf.h").read_text(encoding="utf-8"))), 50)


class Names(unittest.TestCase):
    def test_are_found(self):
        for line in ("regs->r14", "w->rbx_at", "#define RSP 7", "UNWIND_REG_RBP", 'asm("push %rbx")', "regs->orig_ax",
                     "entry.di", "task->thread.fsbase", "R_X86_64_RELATIVE", "#ifdef __x86_64__", "EM_X86_64",
                     '"rax", "rdx"', "insn->modrm >> 6", "const cs_insn *insn", "uint8_t endbr64[]",
                     '#include "arch/x86_64/bpf.h"', "#include <capstone/capstone.h>", "struct user_regs_struct was"):
            self.assertEqual(len(names_in(f"\n{line}\n")[:1]), 1, line)
            self.assertEqual(names_in(f"\n{line}\n")[0][0], 2, line)

    def test_are_not_found(self):
        for line in ("/* rbx\n * is here */", "// %rsp", "regs->ip", "description", "is_spare", "strip(erase)",
                     '#include "arch/arch.h"', "ARCH_REG_SP", "for (r = 8; r < 15; r++)", "di = si", "s->sp"):
            self.assertEqual(names_in(line), [], line)

    def test_of_a_house(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder)
            for name, text in (("arch/x86_64/a.c", "rax"), ("probe/b.c", "rax"), ("probe/c.h", "/* rax */")):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                (source / name).write_text(text)
            self.assertEqual(files_of(source), {"probe/b.c": [(1, "rax")]})


if __name__ == "__main__":
    unittest.main()
