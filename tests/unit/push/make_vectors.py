#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""
Makes the bodies in vectors/, with Google's own implementation of protocol buffers, from the public files of the
formats: what they say must be understood, not what our own encoders make of it. Run by hand, when a format changes:

    make_vectors.py PROTOS

PROTOS holds, compiled by protoc --python_out: pprof's proto/profile.proto as pprof/profile.proto, Pyroscope's
push/v1/push.proto with the messages that it needs, and opentelemetry/proto of opentelemetry-proto.

The numbers in it are what test_push.c expects.
"""

import gzip
import importlib
import sys
from pathlib import Path

VECTORS = Path(__file__).resolve().parent / "vectors"
START = 1767225600 * 10**9  # 2026-01-01T00:00:00Z
SECOND = 10**9


def load(name):
    return importlib.import_module(name)


class Pprof:
    """A profile of pprof, whose tables are filled as they are needed."""

    def __init__(self):
        self.profile = load("pprof.profile_pb2").Profile()
        self.strings = {"": 0}
        self.profile.string_table.append("")
        self.functions = {}
        self.locations = {}

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.profile.string_table.append(text)
        return self.strings[text]

    def kind(self, to, name, unit):
        to.type, to.unit = self.string(name), self.string(unit)

    def function(self, name, file):
        if (name, file) not in self.functions:
            row = self.profile.function.add()
            row.id = len(self.functions) + 1
            row.name = row.system_name = self.string(name)
            row.filename = self.string(file)
            self.functions[name, file] = row.id
        return self.functions[name, file]

    def location(self, address, mapping, *lines):
        """lines: (function, file, line), the innermost first."""
        if address not in self.locations:
            row = self.profile.location.add()
            row.id, row.mapping_id, row.address = len(self.locations) + 1, mapping, address
            for name, file, number in lines:
                line = row.line.add()
                line.function_id, line.line = self.function(name, file), number
            self.locations[address] = row.id
        return self.locations[address]

    def sample(self, locations, values, **labels):
        row = self.profile.sample.add()
        row.location_id.extend(locations)
        row.value.extend(values)
        for key, value in labels.items():
            label = row.label.add()
            label.key = self.string(key)
            if isinstance(value, int):
                label.num = value
            else:
                label.str = self.string(value)

    def packed(self):
        return gzip.compress(self.profile.SerializeToString(), mtime=0)


def go_cpu():
    """As Go's runtime makes it: samples and cpu, a mapping at 0x400000, an inlined function."""
    p = Pprof()
    p.kind(p.profile.sample_type.add(), "samples", "count")
    p.kind(p.profile.sample_type.add(), "cpu", "nanoseconds")
    p.kind(p.profile.period_type, "cpu", "nanoseconds")
    p.profile.period = 10_000_000
    p.profile.time_nanos = START
    p.profile.duration_nanos = 10 * SECOND
    mapping = p.profile.mapping.add()
    mapping.id, mapping.memory_start, mapping.memory_limit = 1, 0x400000, 0x500000
    mapping.filename = p.string("/srv/app")
    mapping.build_id = p.string("0123456789abcdef0123456789abcdef01234567")
    mapping.has_functions = True
    main = p.location(0x401010, 1, ("main.main", "/src/main.go", 10))
    work = p.location(0x402020, 1, ("main.inner", "/src/work.go", 7), ("main.work", "/src/work.go", 30))
    wait = p.location(0x403030, 1, ("runtime.futex", "/go/src/runtime/sys_linux_amd64.s", 557))
    p.sample([work, main], [30, 300_000_000], endpoint="/buy")
    p.sample([work, main], [20, 200_000_000], endpoint="/sell", span_id="abcdef")
    p.sample([wait, main], [5, 50_000_000])
    return p


def go_heap():
    """Four types of values, none of them time, no mapping."""
    p = Pprof()
    for name, unit in (("alloc_objects", "count"), ("alloc_space", "bytes"),
                       ("inuse_objects", "count"), ("inuse_space", "bytes")):
        p.kind(p.profile.sample_type.add(), name, unit)
    p.kind(p.profile.period_type, "space", "bytes")
    p.profile.period = 524288
    p.profile.time_nanos = START
    make = p.location(0x1000, 0, ("make_order", "orders.py", 12))
    p.sample([make], [10, 4096, 2, 1024])
    return p


def push():
    request = load("push.v1.push_pb2").PushRequest()
    for service, profile in (("shop", go_cpu()), ("orders", go_heap())):
        series = request.series.add()
        for name, value in (("__name__", "process_cpu"), ("service_name", service), ("hostname", "web-1"),
                            ("env", "prod"), ("__session_id__", "0123")):
            label = series.labels.add()
            label.name, label.value = name, value
        sample = series.samples.add()
        sample.ID = "00000000-0000-0000-0000-000000000000"
        sample.raw_profile = profile.packed()
    return request.SerializeToString()


def multipart():
    """As pyroscope-go sends it to /ingest."""
    boundary = b"6f1d2c3b4a5968778695a4b3c2d1e0f0"
    parts = (b"profile", b"profile.pprof", go_cpu().packed()), \
            (b"sample_type_config", b"sample_type_config.json", b'{"samples":{"units":"samples"}}')
    body = b""
    for name, file, content in parts:
        body += (b"--" + boundary + b'\r\nContent-Disposition: form-data; name="' + name + b'"; filename="' + file
                 + b'"\r\nContent-Type: application/octet-stream\r\n\r\n' + content + b"\r\n")
    return body + b"--" + boundary + b"--\r\n"


class Otlp:
    """A request of OTLP, with its dictionary."""

    def __init__(self):
        service = "opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2"
        self.request = load(service).ExportProfilesServiceRequest()
        d = self.dictionary = self.request.dictionary
        d.string_table.append("")
        for table in (d.mapping_table, d.location_table, d.function_table, d.attribute_table, d.stack_table):
            table.add()
        zero = d.link_table.add()
        zero.trace_id, zero.span_id = bytes(16), bytes(8)

    def string(self, text):
        table = self.dictionary.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def attribute(self, key, value):
        row = self.dictionary.attribute_table.add()
        row.key_strindex = self.string(key)
        if isinstance(value, int):
            row.value.int_value = value
        else:
            row.value.string_value = value
        return len(self.dictionary.attribute_table) - 1

    def mapping(self, file, build_id):
        row = self.dictionary.mapping_table.add()
        row.filename_strindex = self.string(file)
        row.memory_limit = 0x100000
        row.attribute_indices.append(self.attribute("process.executable.build_id.gnu", build_id))
        return len(self.dictionary.mapping_table) - 1

    def location(self, kind, mapping, address, *names):
        row = self.dictionary.location_table.add()
        row.mapping_index, row.address = mapping, address
        row.attribute_indices.append(self.attribute("profile.frame.type", kind))
        for name, file, number in names:
            function = self.dictionary.function_table.add()
            function.name_strindex, function.filename_strindex = self.string(name), self.string(file)
            line = row.lines.add()
            line.function_index, line.line = len(self.dictionary.function_table) - 1, number
        return len(self.dictionary.location_table) - 1

    def stack(self, *locations):
        self.dictionary.stack_table.add().location_indices.extend(locations)
        return len(self.dictionary.stack_table) - 1

    def resource(self, **attributes):
        """Keys have '_' for '.'. Returns its only scope."""
        resource = self.request.resource_profiles.add()
        for key, value in attributes.items():
            row = resource.resource.attributes.add()
            row.key, row.value.string_value = key.replace("_", "."), value
        scope = resource.scope_profiles.add()
        scope.scope.name = "test"
        return scope

    def profile(self, scope, kind, period_kind, period):
        profile = scope.profiles.add()
        for to, (name, unit) in ((profile.sample_type, kind), (profile.period_type, period_kind)):
            to.type_strindex, to.unit_strindex = self.string(name), self.string(unit)
        profile.period = period
        profile.time_unix_nano, profile.duration_nano = START, 5 * SECOND
        profile.profile_id = bytes(range(16))
        return profile


def otlp():
    """
    As OpenTelemetry's eBPF profiler sends it: stamps without values, each of which stands for a period. A second
    resource has values without stamps, a third one has nothing that says what it is.
    """
    o = Otlp()
    app = o.mapping("/srv/app", "00112233445566778899aabbccddeeff00112233")
    native = o.stack(o.location("native", app, 0x2345), o.location("native", app, 0x1234, ("main", "main.c", 3)))
    python = o.stack(o.location("cpython", 0, 0, ("handle", "app.py", 21)), o.location("native", app, 0x1234))
    kernel = o.stack(o.location("kernel", 0, 0xffffffff81000010, ("do_syscall_64", "", 0)))
    who = [o.attribute("process.pid", 4711), o.attribute("thread.id", 4712), o.attribute("thread.name", "worker"),
           o.attribute("process.executable.path", "/srv/app")]

    cpu = o.profile(o.resource(service_name="shop", host_name="web-2", service_version="1.2"),
                    ("samples", "count"), ("cpu", "nanoseconds"), 50_000_000)
    for stack, stamps in ((native, range(0, 60)), (python, range(60, 80)), (kernel, range(80, 90))):
        sample = cpu.samples.add()
        sample.stack_index = stack
        sample.attribute_indices.extend(who)
        sample.timestamps_unix_nano.extend(START + n * 50_000_000 for n in stamps)

    off = o.profile(o.resource(service_name="orders", host_name="web-2", service_version="1.2"),
                    ("off_cpu", "nanoseconds"), ("events", "count"), 1)
    sample = off.samples.add()
    sample.stack_index = kernel
    sample.values.append(7_000_000)

    nobody = o.profile(o.resource(host_name="web-2", service_version="1.2"),
                       ("cpu", "nanoseconds"), ("cpu", "nanoseconds"), 50_000_000)
    sample = nobody.samples.add()
    sample.stack_index = native
    sample.attribute_indices.extend(who)
    sample.values.append(50_000_000)
    return o.request.SerializeToString()


def main():
    sys.path.insert(0, sys.argv[1])
    VECTORS.mkdir(exist_ok=True)
    for name, body in (("go-cpu.pb.gz", go_cpu().packed()), ("go-heap.pb", go_heap().profile.SerializeToString()),
                       ("push", push()), ("multipart", multipart()), ("otlp", otlp())):
        (VECTORS / name).write_bytes(body)


if __name__ == "__main__":
    main()
