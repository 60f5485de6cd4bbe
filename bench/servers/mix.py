# SPDX-License-Identifier: Apache-2.0
"""
mix.py SECONDS HZ [faulthandler]: does the work of web.py's requests, and looks at itself meanwhile, from another thread
by sys._current_frames(), or by faulthandler, which writes the stack at a signal of a timer of CPU time. Prints how many
of its samples within a step had each function, at the leaf and anywhere, and the CPU time of each step, as JSON.
"""

import collections
import faulthandler
import json
import os
import re
import signal
import sys
import threading
import time

from web import ORDER, parse_order, price_rows, render_page

STEPS = {"parse_order", "price_rows", "render_page"}


class Account:
    """What the samples have shown."""

    def __init__(self):
        self.own, self.total, self.samples = collections.Counter(), collections.Counter(), 0

    def add(self, names):
        """names: leaf first."""
        if STEPS & set(names):
            self.samples += 1
            self.own[names[0]] += 1
            self.total.update(set(names))


class Looker:
    """A thread that looks at the one that makes it."""

    def __init__(self, hz):
        self.account, self.done = Account(), False
        sys.setswitchinterval(0.0005)
        self.thread = threading.Thread(target=self.look, args=(threading.get_ident(), 1 / hz))
        self.thread.start()

    def look(self, thread, every):
        while not self.done:
            time.sleep(every)
            frame = sys._current_frames().get(thread)
            names = []
            while frame:
                names.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname")
                             else frame.f_code.co_name)
                frame = frame.f_back
            self.account.add(names)

    def end(self):
        self.done = True
        self.thread.join()
        return self.account


class Handler:
    """faulthandler writes at any instruction, as its signal handler is C and waits for no lock."""

    def __init__(self, hz):
        # in memory: what the handler takes is not the program's work
        self.file = os.fdopen(os.memfd_create("stacks"), "w+")
        faulthandler.register(signal.SIGPROF, file=self.file, all_threads=False, chain=False)
        signal.setitimer(signal.ITIMER_PROF, 1 / hz, 1 / hz)

    def end(self):
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.unregister(signal.SIGPROF)
        account = Account()
        self.file.seek(0)
        for stack in self.file.read().split("Stack (most recent call first):\n")[1:]:
            account.add(re.findall(r"^  File .*, line \S+ in (.*)$", stack, re.MULTILINE))
        return account


def main():
    looker = (Handler if sys.argv[3:] == ["faulthandler"] else Looker)(float(sys.argv[2]))
    end = time.monotonic() + float(sys.argv[1])
    clock = collections.Counter()
    while time.monotonic() < end:
        times = [time.thread_time_ns()]
        rows = parse_order(ORDER)
        times.append(time.thread_time_ns())
        rows = price_rows(rows)
        times.append(time.thread_time_ns())
        render_page(rows)
        times.append(time.thread_time_ns())
        for step, name in enumerate(("parse_order", "price_rows", "render_page")):
            clock[name] += times[step + 1] - times[step]
    found = looker.end()
    print(json.dumps({"samples": found.samples, "self": found.own, "total": found.total, "clock": clock}))


if __name__ == "__main__":
    main()
