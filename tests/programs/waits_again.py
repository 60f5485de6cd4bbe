# SPDX-License-Identifier: Apache-2.0
"""The same for Python. Both threads are there before: what is in the film is the wait alone."""

import threading, time

begin, rendered = threading.Event(), threading.Event()

def render():
    begin.wait()
    time.sleep(1.7)
    rendered.set()

def wait_for_render():
    while not rendered.wait(0.5):
        pass

threads = [threading.Thread(target=body) for body in (render, wait_for_render)]
for thread in threads:
    thread.start()
begin.set()
for thread in threads:
    thread.join()
