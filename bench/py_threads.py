# SPDX-License-Identifier: Apache-2.0
"""The standard library's http.server: one thread for each connection, and a small answer with JSON for each request."""
import http.server
import json
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):  # pylint: disable=invalid-name
        body = json.dumps({"number": 17, "lines": [{"article": f"article {i}", "count": i} for i in range(10)]}).encode()
        self.send_response(200)
        self.send_header("Connection", "keep-alive")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words):  # pylint: disable=arguments-differ
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
