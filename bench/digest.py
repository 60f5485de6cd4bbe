# SPDX-License-Identifier: Apache-2.0
"""Sums doc/benchmarks/ up for doc/benchmarks.md: which goals are met, which are missed, when that was measured."""

import re

import lib

PAGES = lib.ROOT / "doc/benchmarks"
INDEX = lib.ROOT / "doc/benchmarks.md"


def block(text, name):
    """Where what a benchmark printed stands in a page: between the marks of its name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if begin not in text:
        return None
    start = text.index(begin) + len(begin)
    return start, text.index(end)


def replaced(text, name, words):
    start, end = block(text, name)
    return text[:start] + "\n" + words.strip() + "\n\n" + text[end:]


def page_of(name):
    """The page that has a benchmark's block: its own, or one that compares several."""
    return next(page for page in sorted(PAGES.glob("*.md")) if block(page.read_text(), name))


def goals_of(text):
    """The rows of its tables of goals: what, goal, measured, ratio, verdict."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 5 and not set(line) <= set("| -"):
            if inside:
                yield cells
            inside = inside or cells == ["what", "goal", "measured", "ratio", "verdict"]
        elif not cells:
            inside = False


def rows(pages):
    """Of the goals that are missed, and of all pages."""
    missed, all_pages = [], []
    for page in pages:
        text = page.read_text()
        title = text.splitlines()[0].removeprefix("# ")
        link = f"[{title}](benchmarks/{page.name})"
        goals = list(goals_of(text))
        met = [goal for goal in goals if goal[4] == "met"]
        missed += [f"| {what} | {goal} | {measured} | {ratio} | {link} |"
                   for what, goal, measured, ratio, word in goals if word == "**missed**"]
        best = (met or goals or [["", "", "", "", ""]])[0]
        dates = re.findall(r"^Measured (?:on|by) ([\d-]+)", text, re.M)
        words = f"{best[0]}: {best[2]}" + (f", {best[3]}" if best[3] else "") + f" (goal {best[1]})" if best[0] else ""
        all_pages.append(f"| {link} | {f'{len(met)} of {len(goals)}' if goals else ''} | {words} | {max(dates, default='')} |")
    return missed, all_pages


def digest():
    missed, all_pages = rows(sorted(PAGES.glob("*.md")))
    return "\n".join(["## Goals that are missed", "", "| what | goal | measured | ratio | page |",
                      "| --- | --- | --- | --- | --- |", *missed, "", "## All benchmarks", "",
                      "| page | goals met | the first of them | measured |", "| --- | --- | --- | --- |", *all_pages])
