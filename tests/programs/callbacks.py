# SPDX-License-Identifier: Apache-2.0
"""Functions that C code calls, generators, special methods and exceptions, all the time."""
import functools


def busy(turns):
    total = 0
    for i in range(turns):
        total += i
    return total


def compare(a, b):
    busy(3)
    return a - b


def sorts():
    return sorted([3, 1, 2], key=functools.cmp_to_key(compare))


def steps():
    while True:
        busy(2)
        yield


class Value:
    def __init__(self):
        busy(1)

    def __getattr__(self, name):
        return busy(2)

    def __add__(self, other):
        return busy(2)

    @property
    def half(self):
        return busy(1)


def uses():
    value = Value()
    return value.anything, value + 1, value.half


def fails():
    try:
        raise ValueError
    except ValueError:
        busy(1)


def maps():
    return list(map(busy, [1, 2])), [busy(1) for _ in range(2)], sorted([2, 1], key=lambda n: busy(n))


def named(**turns):
    return busy(turns["turns"])


def run():
    generator = steps()
    while True:
        sorts()
        next(generator)
        uses()
        fails()
        maps()
        named(turns=1)


print("ready", flush=True)
run()
