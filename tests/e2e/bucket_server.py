# SPDX-License-Identifier: Apache-2.0
"""A small stand-in for object storage that checks signatures and checksums by itself, and fails as it is asked to."""

import base64
import collections
import contextlib
import hashlib
import hmac
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY_ID, SECRET = "AKIDTEST", "secret/that+nobody/may=see"
KEYS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}


def signature(handler, secret):
    """What the Authorization of AWS Signature Version 4 must be for the request at hand."""
    scheme, _, rest = handler.headers["Authorization"].partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    scope = parts["Credential"].split("/", 1)[1]
    path, _, query = handler.path.partition("?")
    signed = parts["SignedHeaders"].split(";")
    canonical = "\n".join([handler.command, path, "&".join(sorted(query.split("&"))),
                           *(f"{name}:{' '.join(handler.headers[name].split())}" for name in signed), "",
                           parts["SignedHeaders"], handler.headers["x-amz-content-sha256"]])
    text = "\n".join([scheme, handler.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return parts["Credential"].split("/")[0], parts["Signature"], hmac.digest(key, text.encode(), "sha256").hex()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, **headers):
        self.answer(status, f"<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>no</Message></Error>".encode(), **headers)

    def is_allowed(self, body):
        key_id, given, right = signature(self, SECRET)
        if key_id != KEY_ID or given != right:
            self.refuse(403, "SignatureDoesNotMatch")
        elif self.headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            self.refuse(400, "XAmzContentSHA256Mismatch")
        elif body and base64.b64decode(self.headers["Content-MD5"]) != hashlib.md5(body).digest():
            self.refuse(400, "BadDigest")
        else:
            return True
        return False

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        store = self.server.store
        fault = store.next_fault(self.command)
        path = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(path.path).lstrip("/").partition("/")
        if fault in store.REFUSALS:
            status, code, headers = store.REFUSALS[fault]
            self.refuse(status, code, **headers)
        elif fault == "hang up":
            self.close_connection = True
        elif not self.is_allowed(body):
            pass
        elif bucket != store.bucket:
            self.refuse(404, "NoSuchBucket")
        elif not key:
            begin = dict(urllib.parse.parse_qsl(path.query))["prefix"]
            found = "".join(f"<Contents><Key>{k}</Key></Contents>" for k in sorted(store.objects) if k.startswith(begin))
            self.answer(200, f"<ListBucketResult>{found}</ListBucketResult>".encode())
        else:
            self.handle_object(key, body, fault)

    def handle_object(self, key, body, fault):
        objects = self.server.store.objects
        if self.command == "PUT":
            if fault != "forget":
                objects[key] = (body[:-1] if fault == "shorten" else body, self.headers["x-amz-meta-sha256"])
            self.answer(200, ETag=f'"{"0" * 32 if fault == "wrong etag" else hashlib.md5(body).hexdigest()}"')
        elif self.command == "DELETE":
            objects.pop(key, None)
            self.answer(204)
        elif key not in objects:
            self.refuse(404, "NoSuchKey")
        else:
            data, sha256 = objects[key]
            length = len(data)
            if fault == "corrupt":
                data = bytes([data[0] ^ 1]) + data[1:]
            elif fault == "longer":
                data, length = data + b"more", length + 4
            elif fault == "cut":
                data, self.close_connection = data[:-1], True
            self.answer(200, data, length, ETag=f'"{hashlib.md5(objects[key][0]).hexdigest()}"', x_amz_meta_sha256=sha256)

    do_GET = do_PUT = do_HEAD = do_DELETE = handle_one


class BucketServer:
    REFUSALS = {"slow down": (503, "SlowDown", {"Retry_After": "1"}), "denied": (403, "AccessDenied", {}),
                "skewed": (403, "RequestTimeTooSkewed", {}), "error": (500, "InternalError", {})}

    def __init__(self):
        self.bucket, self.objects = "films", {}
        self.faults = collections.defaultdict(list)  # by method, what happens to its next requests
        self.always = {}  # by method, what happens to each
        self.requests = collections.Counter()
        self.lock = threading.Lock()

    def next_fault(self, method):
        with self.lock:
            self.requests[method] += 1
            return self.faults[method].pop(0) if self.faults[method] else self.always.get(method)

    def address(self, prefix="/some/prefix"):
        return f"s3+http://films@127.0.0.1:{self.http.server_port}{prefix}"

    def start(self, port=0):
        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.http.store = self
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,))
        self.thread.start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@contextlib.contextmanager
def bucket_server():
    server = BucketServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
