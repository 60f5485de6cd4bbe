# SPDX-License-Identifier: Apache-2.0
# What is stored of CPython: a function called by C code (sort), recursion, a method, a generator.
class Worker:
    def turn(self, count):
        return [leaf for leaf in self.each(count)]

    def each(self, count):
        for i in range(3):
            yield descend(4, count + i)


def descend(level, count):
    if level:
        return descend(level - 1, count) + 1
    return sorted([3, 1, 2], key=lambda i: busy(count + i))[0]


def busy(count):
    total = 0
    for i in range(count):
        total += i * count % 7
    return total


while True:
    Worker().turn(20000)
