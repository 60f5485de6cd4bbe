#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_includes.py: reads the includes of src/ and holds them to the map in CONTRIBUTING.md.

src/meson.build lists the rooms from below, in parts that a comment begins: below both halves, the recording half, the
playing half, above both. A file includes files of its own room and of rooms below it; neither half includes the
other, and what records does not get at the reader of films either, which is the playing half's side of the wall. No
files include each other, in however many steps.
"""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

BELOW, RECORDING, PLAYING, ABOVE = "below both halves", "the recording half", "the playing half", "above both"
PARTS = {f"# {part}": part for part in (BELOW, RECORDING, PLAYING, ABOVE)}

# The side of the wall that only the playing half sees.
READER = "film/reader.h"


def rooms_of(source):
    """The rooms from below, each with its part."""
    rooms, part = {}, None
    for line in (source / "meson.build").read_text(encoding="utf-8").splitlines():
        part = PARTS.get(line, part)
        room = re.match(r"subdir\('(.*)'\)", line)
        if room:
            rooms[room[1]] = part
    return rooms


def includes_of(source):
    """Each file of src/ with the files of src/ that it includes, as paths below src/."""
    files = {str(path.relative_to(source)): path for path in sorted(source.rglob("*.[ch]"))}
    includes = {}
    for name, path in files.items():
        given = re.findall(r'^[ \t]*#[ \t]*include[ \t]+"(.*?)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        # as the compiler looks: beside the file, then below src/; what is neither is made by the build
        near = [str(Path(name).parent / include) for include in given]
        includes[name] = [beside if beside in files else include
                          for beside, include in zip(near, given) if beside in files or include in files]
    return includes


def reached(includes, name):
    """All that a file includes, by whatever ways, and for each the file that includes it there."""
    by, left = {}, [name]
    while left:
        at = left.pop()
        for include in includes[at]:
            if include not in by:
                by[include] = at
                left.append(include)
    return by


def wrong(source):
    """What stands against the rules, a line each."""
    rooms, includes = rooms_of(source), includes_of(source)
    order = {room: number for number, room in enumerate(rooms)}
    found = [f"src/{room.name} is no room of src/meson.build, or is in no part of it"
             for room in sorted(source.iterdir()) if room.is_dir() and not rooms.get(room.name)]
    for name, included in includes.items():
        room, by = name.split("/")[0], reached(includes, name)
        if name in by:
            found.append(f"{name} includes itself: {by[name]} includes it")
        if room not in rooms:
            continue  # main.c, above all of them
        for include in included:
            other = include.split("/")[0]
            if {rooms[room], rooms.get(other)} == {RECORDING, PLAYING}:
                found.append(f"{name}, of {rooms[room]}, includes {include}, of the other")
            elif order.get(other, -1) > order[room]:
                found.append(f"{name} includes {include}, of a room above its own")
        if rooms[room] == RECORDING and READER in by:
            found.append(f"{name}, of {RECORDING}, reads films: {by[READER]} includes {READER}")
    return found


class TheHouse(unittest.TestCase):
    def test_stands(self):
        self.assertEqual(wrong(ROOT / "src"), [])

    def test_is_read(self):
        """What is looked at is all there, and includes something."""
        rooms, includes = rooms_of(ROOT / "src"), includes_of(ROOT / "src")
        self.assertGreater(len(includes), 500)
        self.assertEqual(set(rooms.values()), set(PARTS.values()))
        self.assertIn("base/fail.h", includes["film/reader.h"])
        self.assertIn("bpf/unwind/restart.h", includes["bpf/unwind/unwind.h"])
        self.assertIn("film/reader.h", reached(includes, "server/api_flame.c"))


class Faults(unittest.TestCase):
    """Each rule, broken in a house that is made up."""

    def house(self, files):
        source = Path(self.enterContext(tempfile.TemporaryDirectory()))
        lines = []
        for part, rooms in ((BELOW, ["base", "film"]), (RECORDING, ["bpf", "camera"]), (PLAYING, ["query", "show"]),
                            (ABOVE, ["cmd"])):
            lines += [f"# {part}"] + [f"subdir('{room}')" for room in rooms]
            for room in rooms:
                (source / room).mkdir()
        (source / "meson.build").write_text("\n".join(lines))
        for name in ("film/film.h", "film/reader.h", "camera/camera.h", "query/tree.h", "show/text.h"):
            (source / name).touch()
        for name, included in files.items():
            (source / name).parent.mkdir(exist_ok=True)
            (source / name).write_text("".join(f'#include "{include}"\n' for include in included))
        return wrong(source)

    def test_nothing(self):
        self.assertEqual(self.house({"main.c": ["cmd/verb.h"],
                                     "cmd/verb.h": [],
                                     "cmd/record.c": ["camera/camera.h", "query/tree.h", "film/reader.h", "made.h"],
                                     "camera/camera.c": ["camera/camera.h", "film/film.h"],
                                     "bpf/a.bpf.c": ["a.h"],
                                     "bpf/a.h": [],
                                     "show/text.c": ["query/tree.h", "film/reader.h"]}), [])

    def test_upwards(self):
        self.assertEqual(self.house({"query/tree.c": ["show/text.h"]}),
                         ["query/tree.c includes show/text.h, of a room above its own"])
        self.assertEqual(self.house({"film/a.c": ["camera/camera.h"]}),
                         ["film/a.c includes camera/camera.h, of a room above its own"])

    def test_across(self):
        self.assertEqual(self.house({"camera/a.c": ["query/tree.h"]}),
                         ["camera/a.c, of the recording half, includes query/tree.h, of the other"])
        self.assertEqual(self.house({"show/a.c": ["camera/camera.h"]}),
                         ["show/a.c, of the playing half, includes camera/camera.h, of the other"])

    def test_through_the_wall(self):
        self.assertEqual(self.house({"camera/a.c": ["film/reader.h"]}),
                         ["camera/a.c, of the recording half, reads films: camera/a.c includes film/reader.h"])
        self.assertEqual(self.house({"camera/a.c": ["film/merge.h"], "film/merge.h": ["film/reader.h"]}),
                         ["camera/a.c, of the recording half, reads films: film/merge.h includes film/reader.h"])

    def test_each_other(self):
        self.assertEqual(self.house({"show/a.h": ["show/b.h"], "show/b.h": ["show/a.h"]}),
                         ["show/a.h includes itself: show/b.h includes it",
                          "show/b.h includes itself: show/a.h includes it"])
        self.assertEqual(len(self.house({"bpf/a.h": ["b.h"], "bpf/b.h": ["c.h"], "bpf/c.h": ["a.h"]})), 3)

    def test_a_room_that_is_not_listed(self):
        self.assertEqual(self.house({"attic/a.c": []}),
                         ["src/attic is no room of src/meson.build, or is in no part of it"])


if __name__ == "__main__":
    sys.exit(unittest.main())
