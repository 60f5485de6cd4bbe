# SPDX-License-Identifier: Apache-2.0
"""
Small objects, which the interpreter has pools for: `small_objects.py COUNT`. Each line of input has it hold more: "tracemalloc"
has Python itself count them from then on, and "say" has it print what it counted, by function.
"""

import os
import sys
import tracemalloc


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x):
        self.x = x
        self.y = None


kept = []


def hold_points(count):
    kept.append([Point(i) for i in range(count)])


def hold_texts(count):
    kept.append(["text number %d" % i for i in range(count)])


def hold_pairs(count):
    kept.append([(i, None) for i in range(count)])


def churn(count):
    for i in range(count):
        _ = "a" * 40 + str(i)


def grow(count):
    hold_points(count)
    hold_texts(count)
    hold_pairs(count)
    churn(count)


def say():
    """What is held by the lines of each function, and what is allocated by one that holds nothing."""
    lines = {line: code.co_name for code in (hold_points.__code__, hold_texts.__code__, hold_pairs.__code__)
             for line in range(code.co_firstlineno, code.co_firstlineno + 3)}
    sums = {}
    for row in tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)]).statistics("lineno"):
        name = lines.get(row.traceback[0].lineno)
        # a point's number is made in its range, and its slots are its own
        if name:
            sums[name] = sums.get(name, 0) + row.size
    for name, size in sums.items():
        print(name, size, size)


print("ready", flush=True)
for word in sys.stdin:
    if word == "tracemalloc\n":
        tracemalloc.start()
    elif word == "say\n":
        say()
    else:
        grow(int(word))
    print("done", flush=True)
# what is held stays so: the interpreter would give all back
os._exit(0)
