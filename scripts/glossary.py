#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""glossary.py [--lower|--list]: counts, room by room, the functions and types of src/'s headers whose names use a word
of the glossary's left column (CONTRIBUTING.md), and compares them with scripts/glossary.txt.

A count above the table's fails: the new name needs a word of the right column. A count below it asks for a lower
number, which --lower writes; it never raises one. --list prints the names.
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "CONTRIBUTING.md"
TABLE = ROOT / "scripts/glossary.txt"
HEADING = "### The glossary"
TITLE = """\
# SPDX-License-Identifier: Apache-2.0
# Names in headers that use a word of the glossary (CONTRIBUTING.md): room, word, count. Counts may only shrink.
# scripts/glossary.py checks them; scripts/glossary.py --lower writes what is left.
"""

# Comments, strings and characters; then directives, with the lines that they continue on.
TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*(?:(?<=\\)\n[^\n]*)*", re.MULTILINE)
TYPE = re.compile(r"\b(?:struct|union|enum)\s+([a-z]\w*)\s*\{")
# The name that a typedef defines: of a pointer to a function, of a function, of anything else.
ALIAS = re.compile(r"typedef\b(?:[^(]*\(\s*\*\s*(\w+)\s*\)\s*\(.*|[^(]*?(\w+)\s*\(.*\)|.*?(\w+)(?:\s*\[.*\])?)", re.DOTALL)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
FUNCTION = re.compile(r"\b(?!_Static_assert|sizeof|typeof|__typeof__)([a-z]\w*)\s*\(")


def old_words(text):
    """{form: word} of the glossary's left column: "`take`, `takes`" is one word in two forms."""
    section = text.partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    words = {}
    for row in re.findall(r"^ *\|([^|]*)\|", section, re.MULTILINE):
        forms = re.findall(r"`(\w+)`", row)
        words.update((form, forms[0]) for form in forms)
    return words


def outside_of_braces(code):
    """The code of the outermost level; a body is one `{}`."""
    out, depth = [], 0
    for part in re.split(r"([{}])", code):
        if part == "{":
            depth += 1
        elif part == "}":
            depth -= 1
            if not depth:
                out.append("{}\n")
        elif not depth:
            out.append(part)
    return "".join(out)


def names_in(text):
    """The functions and types that a header declares or defines."""
    code = ATTRIBUTE.sub("", DIRECTIVE.sub("", TEXT.sub(" ", text)))
    code = re.sub(r'\bextern\s+(?="C")', "", code)
    outside = outside_of_braces(code)
    names = set(TYPE.findall(code))
    for statement in re.split(r";|\{\}\n(?!\s*\w+\s*;)", outside):
        alias = ALIAS.fullmatch(statement.strip())
        # the first pair of parentheses is the function's
        found = FUNCTION.search(statement)
        if alias:
            names.add(alias[1] or alias[2] or alias[3])
        elif found and "=" not in statement[:found.start()]:
            names.add(found[1])
    return names


def uses(name, words):
    """The words of {form: word} that the name has among its parts."""
    return {word for form, word in words.items() if f"_{form}_" in f"_{name}_"}


def counted(source, words):
    """{(room, word): names} of the headers under a folder. A name is counted once, in the room that declares it first."""
    found, seen = {}, set()
    for path in sorted(source.rglob("*.h")):
        room = path.relative_to(source).parts[0]
        for name in sorted(names_in(path.read_text(encoding="utf-8")) - seen):
            seen.add(name)
            for word in uses(name, words):
                found.setdefault((room, word), []).append(name)
    return found


def read_table(text):
    """{(room, word): count}"""
    return {(room, word): int(count) for room, word, count in re.findall(r"^(\w+) (\w+) (\d+)$", text, re.MULTILINE)}


def table_text(table):
    return TITLE + "".join(f"{room} {word} {count}\n" for (room, word), count in sorted(table.items()) if count)


def lowered(table, found):
    """The table with the numbers that shrank; none grows."""
    return {key: min(count, len(found.get(key, ()))) for key, count in table.items()}


def complaints(table, found):
    """A line for each count that is not the table's."""
    lines = []
    for room, word in sorted(table.keys() | found.keys()):
        names, allowed = found.get((room, word), []), table.get((room, word), 0)
        if len(names) > allowed:
            lines.append(f"src/{room}: '{word}' is in {len(names)} names, {allowed} allowed: {', '.join(names)}; "
                         f"name the new one by the glossary in CONTRIBUTING.md")
        elif len(names) < allowed:
            lines.append(f"src/{room}: '{word}' is in {len(names)} names, the table says {allowed}; "
                         f"lower it with scripts/glossary.py --lower")
    return lines


def main():
    if sys.argv[1:] not in ([], ["--lower"], ["--list"]):
        sys.exit(__doc__)
    found = counted(ROOT / "src", old_words(GLOSSARY.read_text(encoding="utf-8")))
    table = read_table(TABLE.read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--list"]:
        for (room, word), names in sorted(found.items()):
            print(room, word, len(names), *names)
        return
    if sys.argv[1:]:
        table = lowered(table, found)
        TABLE.write_text(table_text(table), encoding="utf-8")
    lines = complaints(table, found)
    print("".join(f"{line}\n" for line in lines), end="")
    sys.exit(len(lines) > 0)


if __name__ == "__main__":
    main()
