# SPDX-License-Identifier: Apache-2.0
"""leaky.py cache|objects: see bench/leaks."""

import os
import sys
import time

seen = {}
listeners = []
slots = [None] * 100


class Listener:
    def __init__(self, number):
        self.number = number
        self.name = f"listener {number}"


def planted_cache(step):
    for number in range(60):
        seen[step * 60 + number] = b"x" * (1000 + number)


def planted_objects(step):
    """Small ones, which lie in CPython's own pools."""
    for number in range(200):
        listeners.append(Listener(step * 200 + number))


def cache_at_start():
    return [b"x" * (1000 + number % 10) for number in range(30000)]


def window(step):
    slots[step % 100] = [b"x" * (10000 + number) for number in range(80)]


def churn():
    for number in range(500):
        b"x" * (100 + number * 7)


cache = cache_at_start()
for step in range(600):
    churn()
    window(step)
    if sys.argv[1] == "cache":
        planted_cache(step)
    else:
        planted_objects(step)
    time.sleep(0.01)
# what is held is held to the end
os._exit(0)
