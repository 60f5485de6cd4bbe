# SPDX-License-Identifier: Apache-2.0
"""
echoes.py LOOP SECONDS: a server and its clients in one event loop (asyncio's, or uvloop's), which send each other numbered
lines and compare what comes back. Prints how many did.
"""

import asyncio
import sys
import time

CLIENTS = 4


async def serves(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()


async def asks(number, port, end):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while time.monotonic() < end:
        line = f"{number} {count}\n".encode()
        writer.write(line)
        await writer.drain()
        if await reader.readline() != line:
            sys.exit("another line came back")
        count += 1
    writer.close()
    return count


async def main(seconds):
    end = time.monotonic() + seconds
    server = await asyncio.start_server(serves, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    counts = await asyncio.gather(*(asks(i, port, end) for i in range(CLIENTS)))
    server.close()
    print("echoes", sum(counts), flush=True)


if sys.argv[1] == "uvloop":
    import uvloop
    uvloop.install()
asyncio.run(main(float(sys.argv[2])))
