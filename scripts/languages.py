#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""languages.py [--lower|--list]: counts, room by room, the files of src/ and web/src/ whose code names a programming
language or its runtime outside that language's own folders, and compares them with scripts/languages.txt.

What is known of a runtime stands in src/runtime/LANGUAGE/ and src/bpf/runtime/LANGUAGE/, and reaches the playing half
in films. Comments may name what they like, and so may the tables and texts of ALLOWED. A count above the table's fails:
the fact belongs into the language's folder. --lower writes the counts that shrank; it never raises one. --list prints the files,
with how often each names the language.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts/languages.txt"
TITLE = """\
# SPDX-License-Identifier: Apache-2.0
# Files whose code names a language outside its folders: room, language, files. Counts may only shrink.
# scripts/languages.py checks them; scripts/languages.py --lower writes what is left.
"""

# "go" is also a verb, in names as in texts.
BEFORE = "(?<![A-Za-z0-9])" + "".join(f"(?<!{word}_)" for word in ("may", "let", "all", "command", "python", "HOLD"))
BEHIND = r"(?![a-z0-9])(?!_?(?:on|to|by|in|into|out|over|up|down|back|there|first|through|leave|stuck)(?![a-z]))"
LANGUAGES = {
    "go": rf"(?i:golang|goroutine)|{BEFORE}(?:Go(?=[A-Z]|_|\b)|GO(?![A-Z])){BEHIND}|{BEFORE}(?<=_)go{BEHIND}"
          rf"|\bgo(?=_){BEHIND}|\"\.?go[-.:]",
    "java": r"(?i:java(?!script)|jvm|hotspot|(?<![a-z])jdk|vthread|virtual.?thread)",
    "javascript": r"(?i:javascript|node\.?js|libuv|(?<![a-z0-9])v8(?![0-9a-z]))|\bnode::|\buv_",
    "lua": r"(?i:(?<![a-z])lua)",
    "python": r"(?i:python|asyncio|uvloop|(?<![a-z])gil(?![a-z]))",
    "rust": r"(?i:(?<![a-z])rust(?![a-z])|tokio)",
}
NAMED = {language: re.compile(pattern) for language, pattern in LANGUAGES.items()}

# The folders of a language, below runtime/.
OWN = {"go": {"go"}, "java": {"hotspot"}, "javascript": {"v8"}, "lua": {"lua", "luajit"}, "python": {"python"},
       "rust": set()}

# The rows of tables that have one for each language, and words that a user reads.
ALLOWED = {
    "src/bpf/unwind/abi.h",
    "src/bpf/unwind/runtimes.h",
    "src/exchange/otlp/keys.c",
    "src/film/events.c",
    "src/film/events.h",
    "src/film/frame_kinds.c",
    "src/film/frame_kinds.h",
    "src/film/roles_before.c",
    "src/film/task_kinds.c",
    "src/film/task_kinds.h",
    "src/query/lock_words.c",
    "src/resolve/function_roles.c",
    "src/runtime/runtime.c",
    "src/runtime/runtime.h",
}
ALLOWED_FOLDERS = ("web/src/text/",)

# A comment; a string or a character, which are kept.
TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.DOTALL)


def code_of(text):
    return TEXT.sub(lambda found: found[1] or " ", text)


def is_own(name, language):
    parts = Path(name).parts
    return any(part == "runtime" and parts[i + 1] in OWN[language] for i, part in enumerate(parts[:-1]))


def room_of(name):
    """"query" of src/query/view.c; "web" of all that is the page's."""
    parts = Path(name).parts
    return parts[0] if parts[0] != "src" else parts[1] if len(parts) > 2 else "main"


def names_in(name, text):
    """{language: how often} of a file, whose own name counts, too."""
    code = Path(name).name + "\n" + code_of(text)
    return {language: len(found) for language, pattern in NAMED.items()
            if not is_own(name, language) and (found := pattern.findall(code))}


def files_of(root):
    for folder, endings in (("src", (".c", ".h")), ("web/src", (".ts", ".tsx"))):
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in endings and name not in ALLOWED and not name.startswith(ALLOWED_FOLDERS):
                yield name, path.read_text(encoding="utf-8")


def counted(root):
    """{(room, language): {file: how often}}"""
    found = {}
    for name, text in files_of(root):
        for language, count in names_in(name, text).items():
            found.setdefault((room_of(name), language), {})[name] = count
    return found


def read_table(text):
    """{(room, language): files}"""
    return {(room, language): int(count)
            for room, language, count in re.findall(r"^(\w+) (\w+) (\d+)$", text, re.MULTILINE)}


def table_text(table):
    return TITLE + "".join(f"{room} {language} {count}\n" for (room, language), count in sorted(table.items()) if count)


def lowered(table, found):
    """The table with the numbers that shrank; none grows."""
    return {key: min(count, len(found.get(key, ()))) for key, count in table.items()}


def complaints(table, found):
    """A line for each count that is above the table's."""
    lines = []
    for room, language in sorted(table.keys() | found.keys()):
        names, allowed = found.get((room, language), {}), table.get((room, language), 0)
        if len(names) > allowed:
            lines.append(f"{room}: {len(names)} files name {language}, {allowed} allowed: {', '.join(names)}; "
                         f"put what is known of a language into src/runtime/, and into the film")
    return lines


def shrunk(table, found):
    """A line for each count that the table may be lowered to."""
    return [f"{room}: {len(found.get((room, language), ()))} files name {language}, the table says {allowed}; "
            f"lower it with scripts/languages.py --lower"
            for (room, language), allowed in sorted(table.items()) if len(found.get((room, language), ())) < allowed]


def main():
    if sys.argv[1:] not in ([], ["--lower"], ["--list"]):
        sys.exit(__doc__)
    found = counted(ROOT)
    table = read_table(TABLE.read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--list"]:
        for (room, language), names in sorted(found.items()):
            print(room, language, len(names), *(f"{name}:{count}" for name, count in names.items()))
        for language in LANGUAGES:
            files = [names for (_, its), names in found.items() if its == language]
            print("all", language, sum(map(len, files)), "files,", sum(sum(names.values()) for names in files), "names")
        return
    if sys.argv[1:]:
        table = lowered(table, found)
        TABLE.write_text(table_text(table), encoding="utf-8")
    lines = complaints(table, found)
    print("".join(f"{line}\n" for line in lines + shrunk(table, found)), end="")
    sys.exit(len(lines) > 0)


if __name__ == "__main__":
    main()
