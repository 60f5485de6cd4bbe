# SPDX-License-Identifier: Apache-2.0
"""A client that keeps many connections busy at once: each request has a mark of its own, and its answer must have it, too.

requests_client.py PORT CONNECTIONS ROUNDS
"""

import socket
import sys


def answer(connection):
    """One answer: its head and its body, by Content-Length or chunks."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        assert more, "the server has closed"
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lower = head.lower()
    if b"content-length:" in lower:
        length = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += connection.recv(65536)
    else:
        assert b"chunked" in lower, head
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
    return head, body


def main():
    port, connections, rounds = map(int, sys.argv[1:])
    all_of_them = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
    for turn in range(rounds):
        for i, connection in enumerate(all_of_them):
            mark = f"mark-{turn}-{i}"
            connection.sendall(f"GET /{mark} HTTP/1.1\r\nHost: x\r\nX-Request-Id: {mark}\r\n\r\n".encode())
        for i, connection in enumerate(all_of_them):
            head, body = answer(connection)
            assert head.startswith(b"HTTP/1.1 200 "), head
            assert f"/mark-{turn}-{i}".encode() in body, body
    for connection in all_of_them:
        connection.close()


if __name__ == "__main__":
    main()
