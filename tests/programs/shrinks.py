# SPDX-License-Identifier: Apache-2.0
"""
Objects that become small: `shrinks.py COUNT`. Each gets a buffer of 601 bytes, which has no pool, and then keeps 101 of
them, for which there is one; the buffer stays where it is. It ends when its standard input does: the names of its functions
are read from its memory.
"""

import os
import sys


def shrink(kept):
    for i in range(len(kept)):
        kept[i] = bytearray(600)
        del kept[i][100:]


hold = [None] * int(sys.argv[1])
shrink(hold)
sys.stdin.read()
os._exit(0)
