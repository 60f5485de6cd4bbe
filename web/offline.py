# SPDX-License-Identifier: Apache-2.0
"""Puts the page of one flame graph into C, for src/show/html.c: offline.py OUTPUT.h PAGE.html STYLE.css SCRIPT.js.

PAGE holds {{csp}}, {{style}}, {{script}}, {{title}} and {{data}}. The last two are left to C, so the page is cut there.
Where the style or the script is empty (see build.sh) or not given, all three strings are empty.
"""
import base64
import hashlib
import re
import sys
from pathlib import Path

NAMES = ("offline_head", "offline_middle", "offline_tail")


def hash_source(text):
    """What a content security policy calls a script or style that stands inside the page."""
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def array(name, text):
    data = text.encode() + b"\0"
    lines = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    return f"static const char {name}[] = {{\n\t" + ",\n\t".join(lines) + "\n};\n"


def page(path, style, script):
    if "</script" in script or "<!--" in script or "</style" in style:
        sys.exit("offline.py: a tag inside the script or style would end it")
    policy = "default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'" % (
        hash_source(script), hash_source(style))
    html = re.sub(r">\n<", "><", path.read_text(encoding="utf-8"))
    for key, value in (("csp", policy), ("style", style), ("script", script)):
        html = html.replace("{{%s}}" % key, value)
    return re.split(r"\{\{(?:title|data)\}\}", html)


def main(output, html, *parts):
    style, script = (Path(path).read_text(encoding="utf-8").strip() for path in parts) if parts else ("", "")
    texts = page(Path(html), style, script) if style and script else ("", "", "")
    text = "".join(array(name, part) for name, part in zip(NAMES, texts, strict=True))
    Path(output).write_text("/* Made by offline.py. */\n" + text, encoding="ascii")


main(*sys.argv[1:])
