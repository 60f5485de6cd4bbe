#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""words.py [FILE…]: names each line whose words CONTRIBUTING.md ("The words") does not allow, in what users and readers
see: documentation, manuals, messages and help (strings of src/), the page; and in comments of web/src, bench, and C files
of src and tests."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What to look for, and what to write.
RULES = [
    (re.compile(words, re.IGNORECASE), instead) for words, instead in (
        (r"(?<!there )\bis no\b(?! (?:longer|more|other))", "is not a …, cannot …, invalid"),
        (r"\bin vain\b", "say what failed"),
        (r"\b(?:is|are|was|were) told\b", "report, say"),
        (r"\bso many\b", "at most N, that many"),
        (r"\bwhat is what\b", "name both"),
        (r"\b(?:who|what)ever\b|\b(?:some|every|no)body\b", "a client, a reader, a user, a caller"),
        (r"(?:^|[.:;!?] )Who (?!am\b)[a-z]+(?![^.]*\?)", "Clients that …, users who …"),
        (r"\bof it\b", "its …"),
    )
]

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def strings(path):
    """The string literals of C and TypeScript, with their line numbers."""
    quotes = STRING if path.suffix in (".c", ".h") else re.compile(r"""['"`]((?:[^'"`\\]|\\.)*)['"`]""")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = line.split("//")[0]
        if code.lstrip().startswith(("*", "/*", "#include")):
            continue
        for found in quotes.finditer(code):
            if " " in found[1]:
                yield number, found[1]


def comments(path):
    """The comments of C, TypeScript and scripts, with their line numbers."""
    is_script = path.suffix not in (".c", ".h", ".ts", ".tsx")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.lstrip()
        if text.startswith("#" if is_script else ("*", "/*", "//")):
            yield number, text.lstrip("#*/ ")
        elif not is_script:
            code = STRING.sub("", line)
            found = re.search(r"/\*|(?<!:)//", code)
            if found:
                yield number, code[found.end():]


def prose(path):
    """Lines outside of code blocks; CONTRIBUTING.md quotes what it forbids."""
    is_code = is_quoted = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        is_code ^= line.startswith("```")
        if path.name == "CONTRIBUTING.md" and line.startswith("## "):
            is_quoted = line == "## The words"
        if not is_code and not is_quoted and not line.startswith('.\\"'):
            yield number, re.sub(r"`[^`]*`", "", line)


def texts():
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "doc").glob("*.md")),
                 *sorted((ROOT / "doc/guide").glob("*.md")), *sorted((ROOT / "doc/internals").glob("*.md")),
                 *sorted((ROOT / "doc/man").iterdir())):
        # scripts of bench/ write most of that page
        if path.name != "benchmarks.md":
            yield path, prose(path)
    for path in (*sorted((ROOT / "src").rglob("*.[ch]")), *sorted((ROOT / "web/src/text").glob("*en.ts"))):
        yield path, strings(path)
    for path in (*sorted((ROOT / "web/src").rglob("*.ts*")), *sorted((ROOT / "bench").iterdir())):
        if path.is_file():
            yield path, comments(path)
    for tree in ("src", "tests"):
        for path in sorted((ROOT / tree).rglob("*.[ch]")):
            yield path, comments(path)


def main():
    wanted = [Path(name).resolve() for name in sys.argv[1:]]
    found = 0
    for path, lines in texts():
        if wanted and path not in wanted:
            continue
        for number, line in lines:
            for rule, instead in RULES:
                match = rule.search(line)
                if match:
                    print(f"{path.relative_to(ROOT)}:{number}: '{match[0].strip()}': {instead}")
                    found += 1
    return found > 0


sys.exit(main())
