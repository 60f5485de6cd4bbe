#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_tests.py FOLDER TIMES: counts what test.sh left there, and names what failed and what took longest, tests and
files.

It reads Meson's logs (*.json, one object a line), pytest's (*.xml) and the file `checks` of test.sh
itself. Tests of e2e.xml that failed beside others and were run again alone (again/*.xml) count as passed if they passed
TIMES times and nothing else came of them; they are named as unsteady. The last line is "N passed, N failed, N skipped"; the status is 1 if anything failed.

count_tests.py --failed FILE.xml: the tests that failed, a line each, as pytest takes them.
"""

import collections
import json
import sys
import xml.etree.ElementTree
from pathlib import Path

SLOWEST = 10

# Why what did not begin within STACKCAM_MINUTES was skipped (test.sh).
NO_TIME = "no time left"

# Meson's words for the ends of a test.
MESON = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}


def of_meson(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        yield MESON.get(test["result"], "failed"), test["name"], test["duration"]


def of_pytest(path):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name, seconds = f"{case.get('classname')}.{case.get('name')}", float(case.get("time"))
        if case.find("failure") is not None or case.find("error") is not None:
            yield "failed", name, seconds
        elif case.find("skipped") is not None:
            yield "skipped", f"{name}: {case.find('skipped').get('message')}", seconds
        else:
            yield "passed", name, seconds


def file_of(name):
    """tests.e2e.page.test_app.test_one[two] is of tests.e2e.page.test_app."""
    words = name.split("[")[0].split(": ")[0].split(".")
    return next((".".join(words[:i + 1]) for i, word in enumerate(words[:-1]) if word.startswith("test_")), name)


def of_checks(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        result, name = line.split(" ", 1)
        yield result, name, 0


def steady_alone(folder, times):
    """Names of the tests that were run again so many times, and passed each time. A run that crashed has no results."""
    results = collections.defaultdict(list)
    for path in (folder / "again").glob("*.xml"):
        for result, name, _ in of_pytest(path):
            results[name].append(result)
    return {name for name, seen in results.items() if seen == ["passed"] * times}


def failed(path):
    """tests.e2e.page.test_app.test_one[two] is tests/e2e/page/test_app.py::test_one[two]."""
    for result, name, _ in of_pytest(path) if path.exists() else ():
        if result == "failed":
            file = file_of(name)
            print(f"{file.replace('.', '/')}.py::{name[len(file) + 1:]}")


def main():
    if sys.argv[1] == "--failed":
        failed(Path(sys.argv[2]))
        return 0
    folder = Path(sys.argv[1])
    found = {"passed": [], "failed": [], "skipped": []}
    unsteady, steady = [], steady_alone(folder, int(sys.argv[2]))
    times, files = [], collections.Counter()
    for path in sorted(folder.iterdir()):
        reader = {".json": of_meson, ".xml": of_pytest}.get(path.suffix)
        if path.name == "checks":
            reader = of_checks
        if not reader:
            continue
        for result, name, seconds in reader(path):
            if result == "failed" and path.name == "e2e.xml" and name in steady:
                result = "passed"
                unsteady.append(f"{path.stem}: {name}")
            found[result].append(f"{path.stem}: {name}")
            times.append((seconds, f"{path.stem}: {name}"))
            if reader is of_pytest:
                files[f"{path.stem}: {file_of(name)}"] += seconds
    print(f"the {SLOWEST} slowest:")
    for seconds, name in sorted(times, reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} s  {name}")
    print(f"the {SLOWEST} slowest files:")
    for name, seconds in files.most_common(SLOWEST):
        print(f"{seconds:7.1f} s  {name}")
    for name in unsteady:
        print(f"unsteady {name}: it failed beside other tests, and passed alone")
    late = [name for name in found["skipped"] if name.endswith(NO_TIME)]
    if late:
        print(f"skipped {len(late)} tests: {NO_TIME}")
    for result in ("skipped", "failed"):
        for name in found[result]:
            if name not in late:
                print(f"{result} {name}")
    print(f"{len(found['passed'])} passed, {len(found['failed'])} failed, "
          f"{len(found['skipped'])} skipped")
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
