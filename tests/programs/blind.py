# SPDX-License-Identifier: Apache-2.0
"""
blind.py HOW SECONDS [DEPTH]: functions that end in code without unwind information. HOW: "made", machine code that the
program makes, as a JIT compiler does; or the path of a library (blind_x86_64.S). DEPTH: so many functions are in between.
"""

import ctypes
import mmap
import sys
import threading
import time

# push rbp; push rbx; mov rbp, rdi; 1: dec rbp; jnz 1b; pop rbx; pop rbp; ret
CODE = bytes.fromhex("55 53 4889fd 48ffcd 75fb 5b 5d c3")


def made():
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(CODE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(address)
    function.memory = memory  # lives as long
    return function


def inner():
    spin(3_000_000)


def outer(depth):
    if depth:
        outer(depth - 1)
    else:
        inner()


def by_sorting(depth):
    sorted([1], key=lambda _: outer(depth))


def main(seconds, depth):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        by_sorting(depth)


spin = made() if sys.argv[1] == "made" else ctypes.CDLL(sys.argv[1]).blind_spin
DEPTH = int(sys.argv[3]) if len(sys.argv) > 3 else 0
sys.setrecursionlimit(DEPTH + 1000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=main, args=(float(sys.argv[2]), DEPTH))
print("ready", flush=True)
thread.start()
thread.join()
