#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Writes doc/kernels.md: what works on which kernel, from what their last boots have said.

	table.py BUILD
"""

import re
import sys
from pathlib import Path

HEAD = """# Kernels

What `tests/kernels/boot.sh` found on Debian's kernels under qemu, each with the parameters that Debian ships unless its
column says otherwise. `tests/kernels/table.py` writes this page from the last boot of each; do not edit it.

"""
SYMBOLS = {"passed": "yes", "failed": "**fails**", "skipped": "no", "ok": "yes", "absent": "no", "missing": "no",
           "unknown": "not known"}


def boot(log):
    """What a boot has said: rows of features, of tests, and what the verifier walked at most."""
    said = {"release": "", "feature": {}, "test": {}, "verified": "", "ended": False}
    for line in log.read_text(errors="replace").replace("\r", "").splitlines():
        words = line.split()
        if release := re.search(r"(\d+\.\d+\.\d+\S*-amd64)$", line):
            said["release"] = said["release"] or release[1]
        elif len(words) == 3 and words[0] == "feature":
            said["feature"][words[1].replace("_", " ")] = SYMBOLS.get(words[2], "**fails**")
        elif len(words) == 3 and words[0] == "verified":
            said["verified"] = f"{int(words[2]):,}"
        elif words == ["passed", "the-end"]:
            said["ended"] = True
        elif len(words) >= 2 and words[0] in ("passed", "failed", "skipped"):
            said["test"][words[1].rstrip(":")] = SYMBOLS[words[0]]
    return said


def boot_with_parts(log):
    """The same with what boots of a part of the tests (only=…) have said since."""
    said = boot(log)
    for part in sorted(log.parent.glob(f"{log.stem}+only=*.log"), key=lambda part: part.stat().st_mtime):
        if part.stat().st_mtime > log.stat().st_mtime:
            said["test"].update(boot(part)["test"])
    return said


def series_of(name):
    release, *parameters = name.split("+")
    return [int(part) for part in release.split(".")], parameters


def table(title, about, boots, key):
    """Rows that are the same everywhere are a sentence."""
    rows = list(dict.fromkeys(row for said in boots.values() for row in said[key]))
    same = [row for row in rows if all(said[key].get(row) == "yes" for said in boots.values())]
    lines = [f"## {title}", "", about, ""]
    if same:
        lines += ["Everywhere: " + ", ".join(f"`{row}`" for row in same) + ".", ""]
    if set(rows) - set(same):
        lines += ["| | " + " | ".join(boots) + " |", "| --- " * (len(boots) + 1) + "|"]
        lines += [f"| `{row}` | " + " | ".join(said[key].get(row, "not tried") for said in boots.values()) + " |"
                  for row in rows if row not in same]
        lines.append("")
    return lines


def main():
    build = Path(sys.argv[1])
    logs = sorted((log for log in build.glob("kernels/*.log") if "only=" not in log.name),
                  key=lambda log: series_of(log.stem))
    boots = {log.stem.replace("+", " "): boot_with_parts(log) for log in logs}
    # one that did not come to its end is a failed test, and says nothing of what works
    boots = {name: said for name, said in boots.items() if said["ended"]}
    lines = ["| | release | most instructions that the verifier walked for one program (its limit: 1,000,000) |",
             "| --- | --- | --- |"]
    lines += [f"| {name} | {said['release']} | {said['verified'] or 'not tried'} |" for name, said in boots.items()]
    lines.append("")
    lines += table("Features and events", "What `stackcam doctor` says, and which events can be recorded by themselves "
                   "(`-e`).", boots, "feature")
    lines += table("Tests", "What `tests/kernels/inside.sh` compares with what its programs say of themselves.",
                   boots, "test")
    text = HEAD + "\n".join(lines).rstrip() + "\n"
    (Path(__file__).resolve().parents[2] / "doc/kernels.md").write_text(text)


main()
