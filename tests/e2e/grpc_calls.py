# SPDX-License-Identifier: Apache-2.0
"""gRPC without generated code: a server, or a client that makes calls at once on one channel.

grpc_calls.py serve PORT    calls of /unit.Marks/None end with NOT_FOUND
grpc_calls.py call PORT COUNT [FILE]    calls once, says "ready", waits for a line, calls COUNT times /unit.Marks/Echo
    and once None, and writes a line to FILE
"""

import sys
from concurrent import futures

import grpc


def echo(request, context):
    return request


def none(request, context):
    context.abort(grpc.StatusCode.NOT_FOUND, "there is none")


def serve(port):
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("unit.Marks", {
        "Echo": grpc.unary_unary_rpc_method_handler(echo), "None": grpc.unary_unary_rpc_method_handler(none)}),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def call(port, count, done=None):
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        marks = channel.unary_unary("/unit.Marks/Echo")
        marks(b"first", metadata=(("x-request-id", "first"),))
        print("ready", flush=True)
        sys.stdin.readline()
        calls = [marks.future(f"mark-{i}".encode(), metadata=(("x-request-id", f"mark-{i}"),)) for i in range(int(count))]
        assert [c.result() for c in calls] == [f"mark-{i}".encode() for i in range(int(count))]
        try:
            channel.unary_unary("/unit.Marks/None")(b"")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND
    if done:
        with open(done, "w", encoding="utf-8") as file:
            file.write("done\n")


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
