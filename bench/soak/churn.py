# SPDX-License-Identifier: Apache-2.0
"""churn.py SECONDS: makes functions, runs them and lets go of them. leaf_N is called by mid_N, that by top_N only."""

import random
import sys
import time

SOURCE = """
def leaf_N(count):
    total = 0
    for i in range(count):
        total += i % 7
    return total

def mid_N(count):
    return leaf_N(count) + 1

def top_N(count):
    try:
        return mid_N(count) + 1
    finally:
        pass
"""


def drive(number, count):
    names = {}
    exec(compile(SOURCE.replace("_N", f"_{number}"), f"churn-{number}", "exec"), names)
    return names[f"top_{number}"](count)


def main():
    end = time.monotonic() + float(sys.argv[1])
    random.seed(1)
    expected = sum(i % 7 for i in range(3000)) + 2
    while time.monotonic() < end:
        if drive(random.randrange(100000), 3000) != expected:
            sys.exit("a wrong result")


main()
