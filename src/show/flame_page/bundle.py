#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the parts of the page into one and writes it as C strings.

    bundle.py OUTPUT.h page.html STYLE.css... MODULE.mjs...

The modules are given in the order in which they need each other. Their import and export words are
dropped, since they become one script; so are comments and most white space, to keep pages small.
page.html holds {{csp}}, {{style}}, {{title}}, {{script}} and {{data}}: title and data are left to C,
so the page is cut there.
"""
import base64
import hashlib
import re
import sys

NAMES = ("flame_page_head", "flame_page_middle", "flame_page_tail")

STRING = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)""")
SPACED = re.compile(r" ?([!=<>]=+|=>|&&|\|\||\?\?=?|[-+*/|]=|[{}()\[\],;:?*<>=]) ?| ([-+]) (?![-+])")


def without_comments(text):
    text = re.sub(r"^[ \t]*/\*.*?\*/\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r" // [^\n'\"`]*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^[ \t]*(//[^\n]*)?\n|^[ \t]+", "", text, flags=re.MULTILINE)


def module(text):
    """Drops the spaces between signs, except in a line with a slash, which may be a pattern's."""
    text = re.sub(r"^import .*?;\n", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = []
    for line in re.sub(r"^export ", "", without_comments(text), flags=re.MULTILINE).splitlines():
        parts = STRING.split(line)
        if any("//" in code for code in parts[::2]):
            sys.exit("bundle.py: a comment behind code must have no quotes: " + line)
        if not any("/" in code for code in parts[::2]):
            parts[::2] = [SPACED.sub(r"\1\2", code) for code in parts[::2]]
        lines.append("".join(parts) + "\n")
    return re.sub(r"([{(\[,;])\n|\n(?=})", r"\1", "".join(lines)).replace(";}", "}")


def style_sheet(text):
    text = re.sub(r"\s*([{};,])\s*|: (?=[^{}]*;)", lambda m: m[1] or ":", without_comments(text))
    return text.replace(";}", "}")


def hash_source(text):
    """What a content security policy calls a script or style that stands inside the page."""
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def c_string(name, text):
    lines = []
    for line in text.splitlines(keepends=True):
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        line = line.replace("?", "\\?")  # no trigraphs
        line = "".join(c if c.isascii() else "".join("\\%03o" % b for b in c.encode()) for c in line)
        lines.append('\t"%s"' % line.replace("\t", "\\t"))
    return "static const char %s[] =\n%s;\n" % (name, "\n".join(lines))


def main(output, page, *files):
    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    style = "".join(style_sheet(read(path)) for path in files if path.endswith(".css"))
    script = "\n'use strict';\n" + "".join(module(read(path)) for path in files if path.endswith(".mjs"))
    if "</script" in script or "</style" in style:
        sys.exit("bundle.py: a closing tag inside the script or style would end it")
    policy = "default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'" % (
        hash_source(script), hash_source(style))
    html = re.sub(r">\n<", "><", without_comments(read(page)))
    for key, value in (("csp", policy), ("style", style), ("script", script)):
        html = html.replace("{{%s}}" % key, value)
    parts = re.split(r"\{\{(?:title|data)\}\}", html)
    with open(output, "w", encoding="ascii") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
        file.write("/* Made by bundle.py: edit the files it was made from. */\n")
        for name, part in zip(NAMES, parts, strict=True):
            file.write(c_string(name, part))


main(*sys.argv[1:])
