#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the stored stacks anew, with gcc and gdb: program.elf, and for each stop of the program a file
# with its registers, its stack and the functions that are on it, innermost first.
set -eu
cd "$(dirname "$0")"
gcc -O2 -g -fomit-frame-pointer -mno-red-zone -fno-stack-protector -nostdlib -static -Wl,--build-id=none \
	-Wl,-z,noseparate-code -o program.full program.c
strip --strip-all -R .comment -o program.elf program.full

# gdb stops at each int3; its own backtrace (by the same unwind information) is the expected answer
cat >dump.py <<'PYTHON'
import gdb

REGISTERS = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15".split()

def functions():
    frame, names = gdb.newest_frame(), []
    while frame:
        names.append(frame.name() or "<signal handler called>")
        frame = frame.older()
    return names

def value(name):
    return int(gdb.parse_and_eval("(unsigned long)$" + name))

def regions(sp):
    """The stack that is in use, and, below a signal handler, the one it interrupted."""
    frame, starts = gdb.newest_frame(), [sp]
    while frame:
        here = int(frame.read_register("rsp").cast(gdb.lookup_type("unsigned long")))
        if abs(here - starts[-1]) > 1 << 20:
            starts.append(here)
        last = here
        frame = frame.older()
    ends = [0] * len(starts)
    ends[-1] = last + 64
    for i in range(len(starts) - 1):
        ends[i] = (starts[i] | 0xfff) + 1
    return list(zip(starts, ends))

def store(path):
    with open(path, "w") as out:
        print("pc", hex(value("rip")), file=out)
        for number, name in enumerate(REGISTERS):
            print("register", number, hex(value(name)), file=out)
        for start, end in regions(value("rsp")):
            memory = gdb.selected_inferior().read_memory(start, end - start).tobytes()
            print("memory", hex(start), memory.hex(), file=out)
        for name in functions():
            print("frame", name, file=out)

gdb.execute("set pagination off")
gdb.execute("set backtrace limit 2000")
gdb.execute("handle SIGUSR1 nostop noprint pass")
gdb.execute("run >/dev/null")
store("signal.stack")
gdb.execute("continue")
store("deep.stack")
gdb.execute("kill")
PYTHON
gdb -q -batch -x dump.py program.full >/dev/null
# the addresses of the functions, for the test
nm -S --defined-only program.full | awk 'NF == 4 && $3 ~ /[tT]/ { print $1, $2, $4 }' >program.symbols
rm -f program.full dump.py
ls -l *.elf *.stack program.symbols
