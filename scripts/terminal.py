# SPDX-License-Identifier: Apache-2.0
"""
Executes the commands of the tutorial that lead from run.sh to the cause of a slow request, in a terminal, and draws what it
shows for scripts/pictures, which makes an animation of that. Waits are shortened, and a line with only "…" stands for lines
that are left out.
"""

import html
import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, ROW, CHARACTER = 138, 19, 8.43  # columns; px
TYPED = 7  # characters that appear at once
TIMEOUT = 120  # s
STRESSED = "held by audit|sum_of_sales|longest cause"

sys.path.insert(0, str(ROOT / "tests/e2e"))
from test_docs import commands_of  # noqa: E402  pylint: disable=wrong-import-position


class Step:
    """A command: how long it is typed, runs and is read in the animation, in seconds, and which of its lines are shown."""

    def __init__(self, command, typed, runs, shown, read=0.4, until=None):
        self.command, self.typed, self.runs, self.shown = command, typed, runs, shown
        self.read, self.until = read, until
        self.lines = []  # (s since its start, text)

    def execute(self, folder):
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(folder)
            os.execvp("sh", ["sh", "-c", self.command])
        start, text = time.monotonic(), ""
        while time.monotonic() < start + TIMEOUT:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                text += os.read(terminal, 65536).decode(errors="replace")
            except OSError:  # the end of a terminal
                break
            *whole, text = text.split("\n")
            self.lines += [(time.monotonic() - start, clean(line)) for line in whole]
            if self.until and any(self.until in line for _, line in self.lines):
                os.killpg(pid, signal.SIGINT)
                self.until = None
        os.waitpid(pid, 0)
        os.close(terminal)

    def rows(self):
        """(part of its running time, text), with those that are left out replaced."""
        end, shown = max((at for at, _ in self.lines), default=1), []
        for at, line in self.lines:
            if any(re.search(pattern, line) for pattern in self.shown):
                shown.append((at / end, line))
            elif shown and shown[-1][1] != "…" and line.strip():
                shown.append((at / end, "…"))
        return shown


def clean(line):
    """What stays in a line of a terminal; the token of an address, and where folders are, are nobody's business."""
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line.rstrip("\r")).split("\r")[-1]
    return re.sub(r"#token=[\w-]*", "", line).expandtabs()


def wrapped(text):
    """Rows of a line: what goes on is indented further."""
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    while len(text) > COLUMNS:
        at = text.rfind(" ", 0, COLUMNS)
        yield text[:at]
        text = indent + text[at + 1:]
    yield text


class Terminal:
    """What it shows, and from which moment on: a drawing whose texts have the time as data-at, in seconds."""

    def __init__(self):
        self.texts, self.commands, self.row, self.at = [], [], 0, 0.3

    def put(self, at, text, kind, column=0):
        """A text in the current row."""
        self.texts.append((at, f'<text x="{16 + column * CHARACTER:.1f}" y="{40 + self.row * ROW}" class="{kind}" data-at="{at:.2f}">'
                               f'{html.escape(text)}</text>'))

    def type(self, seconds, command):
        """A command as it is typed."""
        pieces = [(row, column, line[column:column + TYPED]) for row, line in enumerate(wrapped("$ " + command))
                  for column in range(0, len(line), TYPED)]
        for number, (row, column, piece) in enumerate(pieces):
            if number and row != pieces[number - 1][0]:
                self.row += 1
            self.put(self.at + seconds * number / len(pieces), piece, "c", column)
        self.row += 1
        self.at += seconds
        self.commands.append(command)

    def show(self, step):
        """A command with what it has printed."""
        self.type(step.typed, step.command)
        for part, line in step.rows():
            for row in wrapped(line):
                self.put(self.at + part * step.runs, row, "k" if re.search(STRESSED, line) else "o")
                self.row += 1
        self.at += step.runs + step.read

    def moments(self):
        """Those in which something appears."""
        return sorted({round(at, 1) for at, _ in self.texts})

    def page(self, width, height):
        """As HTML. The page's show(AT) shows a moment."""
        body = "\n".join(text for _, text in self.texts)
        return f"""<!DOCTYPE html><meta charset="utf-8"><style>body{{margin:0;background:#1d2129}}
text{{font:14px DejaVu Sans Mono,monospace;white-space:pre}}.c{{fill:#fff}}.o{{fill:#b6bcc6}}.k{{fill:#ffd166}}</style>
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" xml:space="preserve">
<circle cx="20" cy="14" r="5" fill="#ff5f57"/><circle cx="38" cy="14" r="5" fill="#febc2e"/><circle cx="56" cy="14" r="5" fill="#28c840"/>
{body}</svg>
<script>function show(at) {{ for (const one of document.querySelectorAll("text"))
    one.style.display = one.dataset.at <= at + 0.05 ? "" : "none"; }}</script>"""


def from_run_to_cause(folder):
    """Executes the commands in a folder, which has the film shop.film then."""
    build, record, explain = list(commands_of((ROOT / "doc/guide/tutorial.md").read_text()))[:3]
    steps = [Step(build, 0.6, 1.2, [r"… done$", "the page is at"], until="the page is at"),
             Step(record, 1.8, 2, [r"^The shop is at", r"^shop\.film: "]),
             Step(explain, 0.8, 0.3, [r"^/orders/", r"^ {2,15}\S.*(waiting for the answer|waiting in order|on CPU, .*sum_of_sales)", "^Its longest cause"], read=2)]
    for name in ("run.sh", "examples", "build"):
        (Path(folder) / name).symlink_to(ROOT / name)
    terminal = Terminal()
    for step in steps:
        step.execute(folder)
        terminal.show(step)
    return terminal
