# SPDX-License-Identifier: Apache-2.0
"""A server of asyncio's streams alone: one task for each connection, and a small answer with JSON for each request."""
import asyncio
import json
import sys


async def answer(reader, writer):
    while await reader.readline():
        while await reader.readline() not in (b"\r\n", b""):
            pass
        body = json.dumps({"number": 17, "lines": [{"article": f"article {i}", "count": i} for i in range(10)]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
