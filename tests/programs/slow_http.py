# SPDX-License-Identifier: Apache-2.0
"""A server that answers each request after some time, with its path: "slow_http.py SECONDS [PORT]". Says "ready"."""

import http.server
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(float(sys.argv[1]))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(self.path), self.path.encode()))

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
print("ready", flush=True)
server.serve_forever()
