# SPDX-License-Identifier: Apache-2.0
"""deep.py DEPTH SECONDS: works below so many functions, by pieces; in the end prints when each began and how long it took, in ns."""
import sys
import time

DEPTH = int(sys.argv[1])
names = {}
for i in range(DEPTH):
    below = f"return f{i - 1}(turns)" if i else "return work(turns)"
    exec(f"def f{i}(turns):\n    result = ({below[7:]})\n    return result\n", names)


def work(turns):
    total = 0
    for i in range(turns):
        total += i & 7
    return total


names["work"] = work
top = names[f"f{DEPTH - 1}"]
end = time.monotonic_ns() + int(float(sys.argv[2]) * 1e9)
now = time.monotonic_ns()
pieces = []
while now < end:
    top(20000)
    then, now = now, time.monotonic_ns()
    pieces.append((then, now - then))
for then, took in pieces:
    print(then, took)
