# SPDX-License-Identifier: Apache-2.0
"""
mix.py SECONDS HZ: does the work of web.py's requests, and looks at itself by sys._current_frames() meanwhile. Prints
how many of its samples within a step had each function, at the leaf and anywhere, and the CPU time of each step, as
JSON.
"""

import collections
import json
import sys
import threading
import time

from web import ORDER, parse_order, price_rows, render_page

STEPS = {"parse_order", "price_rows", "render_page"}
own, total = collections.Counter(), collections.Counter()
samples = 0
done = False


def look(thread, every):
    global samples
    while not done:
        time.sleep(every)
        frame = sys._current_frames().get(thread)
        names = []
        while frame:
            names.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname")
                         else frame.f_code.co_name)
            frame = frame.f_back
        if STEPS & set(names):
            samples += 1
            own[names[0]] += 1
            total.update(set(names))


def main():
    global done
    sys.setswitchinterval(0.0005)
    looker = threading.Thread(target=look, args=(threading.get_ident(), 1 / float(sys.argv[2])))
    looker.start()
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
    done = True
    looker.join()
    print(json.dumps({"samples": samples, "self": own, "total": total, "clock": clock}))


if __name__ == "__main__":
    main()
