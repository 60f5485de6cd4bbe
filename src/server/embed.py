# SPDX-License-Identifier: Apache-2.0
"""Puts files into C: embed.py text OUTPUT NAME FILE, or embed.py page OUTPUT [FILE…].

text: an array of a file's bytes. page: the files of the web page, compressed, as a table by path; empty ones are left
out (see web/build.sh).
"""

import gzip
import sys
from pathlib import Path

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def array(name, data):
    lines = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
    return f"static const unsigned char {name}[] = {{\n\t" + ",\n\t".join(lines) + "\n};\n"


def embed_text(name, path):
    return array(name, Path(path).read_bytes())


def embed_page(paths):
    text, rows = "", ""
    for i, path in enumerate(path for path in map(Path, paths) if path.stat().st_size):
        at = "/" if path.name == "index.html" else f"/assets/{path.name}"
        text += array(f"page_{i}", gzip.compress(path.read_bytes(), 9, mtime=0))
        rows += f'\t{{"{at}", "{TYPES[path.suffix]}", page_{i}, sizeof(page_{i})}},\n'
    return f"{text}static const struct page_file page_files[] = {{\n{rows}\t{{0}},\n}};\n"


def main(kind, output, *words):
    text = embed_text(*words) if kind == "text" else embed_page(words)
    Path(output).write_text("/* Made by embed.py. */\n" + text, encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
