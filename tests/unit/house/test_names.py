#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_names.py BUILD: no two libraries of src/ define a public function or object of the same name.

The linker takes the first one that it finds and says nothing; callers of the other one then call a function that they do
not know.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path


def defined(library):
    """What nm says of a library: the public names that it defines. Those of the compiler begin with underscores."""
    done = subprocess.run(["nm", "-g", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def twice(said):
    """said: for each library what nm says of it. A line for each name that two of them have."""
    places = {}
    for library, text in said.items():
        for name in re.findall(r"^[0-9a-f]+ [TDBR] ([A-Za-z]\w*)$", text, re.MULTILINE):
            places.setdefault(name, set()).add(library)
    return [f"{name} is defined in {' and '.join(sorted(where))}" for name, where in places.items() if len(where) > 1]


class Names(unittest.TestCase):
    build = None

    def test_are_of_one_library(self):
        said = {path.stem[3:]: defined(path) for path in sorted(self.build.glob("src/*/lib*.a"))}
        self.assertGreater(len(said), 15)
        self.assertIn(" T film_open", said["film"])
        self.assertEqual(twice(said), [])

    def test_fault(self):
        self.assertEqual(twice({"host": "\nwatch.c.o:\n0000000000000010 T watch_start\n0000000000000000 t look\n",
                                "server": "0000000000000000 T watch_start\n0000000000000000 t look\n"
                                          "0000000000000000 R ___asan_gen_\n"}),
                         ["watch_start is defined in host and server"])


if __name__ == "__main__":
    Names.build = Path(sys.argv.pop(1))
    sys.exit(unittest.main())
