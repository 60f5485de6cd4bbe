#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_links.py BUILD: no room's library needs a name that only a room above it defines.

test_includes.py holds includes to the order of src/meson.build. A function that is declared in one room and defined in
a higher one passes that, and static libraries are linked all the same.
"""

import subprocess
import sys
import unittest
from pathlib import Path

from test_includes import ROOT, rooms_of

BUILD = Path(sys.argv.pop(1))


def names(libraries, which):
    """What nm says of these libraries: --undefined-only, --defined-only."""
    if not libraries:
        return set()
    said = subprocess.run(["nm", which, *libraries], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in said.splitlines() if len(line.split()) >= 2 and not line.endswith(":")}


class TheHouse(unittest.TestCase):
    def test_nothing_links_upwards(self):
        rooms = list(rooms_of(ROOT / "src"))
        libraries = {room: sorted((BUILD / "src" / room).glob("lib*.a")) for room in rooms}
        self.assertGreater(sum(map(bool, libraries.values())), 15)
        needed = {room: names(libraries[room], "--undefined-only") for room in rooms}
        defined = {room: names(libraries[room], "--defined-only") for room in rooms}
        below, wrong = set(), []
        for number, room in enumerate(rooms):
            below |= defined[room]
            wrong += [f"{room} needs {name}, which {other} defines" for other in rooms[number + 1:]
                      for name in sorted((needed[room] & defined[other]) - below)]
        self.assertEqual(wrong, [])


unittest.main()
