#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""comment_width.py [--write]: comments of src/ and tests/ that are wider than 100 columns, which clang-format lets be.

With --write their paragraphs are filled again, and so are the words of a list in columns (a name, tabs, words); a
comment behind code goes in front of it. What is left is for a person. A word that is wider by itself (an address) may
stay.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100
COMMENT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def width(line):
    return len(line.expandtabs(8))


def is_wide(line):
    """Too wide, and could be less so."""
    words = line.replace("/*", "").replace("*/", "").strip(" \t*/").split()
    return width(line) > WIDTH and len(words) > 1


def comments(text):
    """Where comments of C begin and end."""
    return [found.span() for found in COMMENT.finditer(text) if found[0].startswith(("/*", "//"))]


def wide_lines(text):
    """Numbers of lines, from 1, that a comment makes too wide."""
    found, lines = set(), text.split("\n")
    for begin, end in comments(text):
        first = text.count("\n", 0, begin)
        for number in range(first, first + text.count("\n", begin, end) + 1):
            if is_wide(lines[number]):
                found.add(number + 1)
    return sorted(found)


def filled(indent, words):
    """Lines of a comment of several lines, without its first and last."""
    return textwrap.wrap(words, WIDTH - width(indent) - 3, break_long_words=False, break_on_hyphens=False)


def with_star(indent, line):
    return (f"{indent} *{line}" if line.startswith("\t") else f"{indent} * {line}").rstrip()


def fill_columns(indent, lines):
    """A list of names, tabs and words: words that are too wide filled again, each at its column."""
    out, number = [], 0
    while number < len(lines):
        entry = re.fullmatch(r"(\t?[^\t]+\t+ ?|[\t ]*- )(\S[^\t]*)", lines[number])
        number += 1
        if not entry:
            line = lines[number - 1]
            lead = re.match(r"[\t ]*", line)[0]
            room = WIDTH + 1 - width(with_star(indent, lead + "x"))
            parts = textwrap.wrap(line.strip(), room, break_long_words=False, break_on_hyphens=False) or [""]
            # what is too much begins the next line, if the sentence goes on there
            more = re.fullmatch(r"([\t ]*)([a-z][^\t]*)", lines[number]) if number < len(lines) else None
            if len(parts) > 1 and more:
                lines[number] = more[1] + parts.pop() + " " + more[2]
            out += [lead + part for part in parts]
            continue
        column = width(with_star(indent, entry[1] + "x")) - 1
        parts = [entry[2]]
        while number < len(lines):
            more = re.fullmatch(r"[\t ]+(\S[^\t]*)", lines[number])
            if not more or more[1].startswith("- ") or width(with_star(indent, lines[number])) - len(more[1]) != column:
                break
            parts.append(more[1])
            number += 1
        if all(width(with_star(indent, line)) <= WIDTH for line in lines[number - len(parts):number]):
            out += lines[number - len(parts):number]
            continue
        words = textwrap.wrap(" ".join(parts), WIDTH - column, break_long_words=False, break_on_hyphens=False)
        # the first tab ends behind the star
        lead = "\t" * (column // 8 - width(indent) // 8) + " " * (column % 8) if column >= width(indent) + 8 else "  "
        out += [entry[1] + words[0], *(lead + word for word in words[1:])]
    return out


def fill(indent, comment):
    """The comment, which stands alone, with its wide paragraphs filled again; as lines."""
    body = comment[2:-2].split("\n")
    if len(body) == 1:
        return [f"{indent}/*", *(f"{indent} * {line}" for line in filled(indent, body[0].strip())), f"{indent} */"]
    lines = [re.sub(r"^[ \t]*\*? ?", "", line, count=1) if number else line.strip()
             for number, line in enumerate(body)]
    out, paragraph = [], []

    def close():
        if any(width(f"{indent} * {line}") > WIDTH for line in paragraph):
            out.extend(filled(indent, " ".join(line.strip() for line in paragraph)))
        else:
            out.extend(paragraph)
        paragraph.clear()

    for line in lines:
        stands_alone = not line.strip() or "\t" in line or line.startswith((" ", "- "))
        if stands_alone or re.match(r"[*] |\d+[.)] ", line):
            close()
        if stands_alone:
            out.append(line)
        else:
            paragraph.append(line)
    close()
    while out and not out[0].strip():
        out.pop(0)
    while out and not out[-1].strip():
        out.pop()
    return [f"{indent}/*", *(with_star(indent, line) for line in fill_columns(indent, out)), f"{indent} */"]


def rewritten(text):
    """The text with its wide comments filled again, the last one first."""
    wide = set(wide_lines(text))
    for begin, end in reversed(comments(text)):
        first = text.count("\n", 0, begin) + 1
        comment = text[begin:end]
        if not wide.intersection(range(first, first + comment.count("\n") + 1)) or comment.startswith("//"):
            continue
        line_begin = text.rfind("\n", 0, begin) + 1
        line_end = (text + "\n").find("\n", end)
        before, behind = text[line_begin:begin], text[end:line_end]
        if behind.strip() or "clang-format" in comment:
            continue
        indent = re.match(r"[ \t]*", before)[0]
        if not before.strip():
            lines = fill(indent, comment)
        elif before.rstrip().endswith("\\") or text[:line_begin].rstrip(" \t").endswith("\\\n"):
            continue
        else:
            words = " ".join(re.sub(r"^[ \t]*\*? ?", "", line).strip() for line in comment[2:-2].split("\n")).strip()
            one = f"{indent}/* {words} */"
            lines = ([one] if width(one) <= WIDTH else fill(indent, f"/* {words} */")) + [before.rstrip()]
        text = text[:line_begin] + "\n".join(lines) + text[line_end:]
    return text


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    left = 0
    for path in sorted(path for top in ("src", "tests") for path in (ROOT / top).rglob("*")
                       if path.suffix in (".c", ".h", ".cc")):
        text = path.read_text(encoding="utf-8")
        if sys.argv[1:] and wide_lines(text):
            text = rewritten(text)
            path.write_text(text, encoding="utf-8")
        for number in wide_lines(text):
            print(f"{path.relative_to(ROOT)}:{number}: a comment wider than {WIDTH} columns")
            left += 1
    sys.exit(left > 0)


if __name__ == "__main__":
    main()
