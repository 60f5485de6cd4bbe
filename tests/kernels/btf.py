# SPDX-License-Identifier: Apache-2.0
"""Types of kernels and of BPF objects (Documentation/bpf/btf.rst), as far as kernel_types.py needs them."""

import json
import struct
import subprocess
from pathlib import Path

MODIFIERS = ("TYPEDEF", "CONST", "VOLATILE", "RESTRICT", "TYPE_TAG")

# enum bpf_core_relo_kind of linux/bpf.h
RELOCATIONS = ("FIELD_BYTE_OFFSET", "FIELD_BYTE_SIZE", "FIELD_EXISTS", "FIELD_SIGNED", "FIELD_LSHIFT_U64",
               "FIELD_RSHIFT_U64", "TYPE_ID_LOCAL", "TYPE_ID_TARGET", "TYPE_EXISTS", "TYPE_SIZE", "ENUMVAL_EXISTS",
               "ENUMVAL_VALUE", "TYPE_MATCHES")

# How Debian's kernels are compressed, by the first bytes.
COMPRESSIONS = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zX": "xz", b"\x1f\x8b": "gzip", b"\x02\x21\x4c\x18": "lz4"}


def essential(name):
    """A name as libbpf compares it: "task_struct" of "task_struct___dump"."""
    at = name.rfind("___")
    return name[:at] if at > 0 and name[at - 1] != "_" and name[at + 3:at + 4] not in ("", "_") else name


class Types:
    """All types of a file, as bpftool reads them."""

    def __init__(self, path):
        out = subprocess.run(["/usr/sbin/bpftool", "--json", "btf", "dump", "file", path], capture_output=True, check=True)
        self.types = [{"id": 0, "kind": "VOID", "name": "void"}, *json.loads(out.stdout)["types"]]
        self.names = {}
        for type_ in self.types:
            self.names.setdefault(type_["name"], []).append(type_)

    @staticmethod
    def has_name(type_):
        return type_["name"] not in ("", "(anon)")

    def named(self, name):
        return self.names.get(name, [])

    def strip(self, at):
        type_ = self.types[at]
        while type_["kind"] in MODIFIERS:
            type_ = self.types[type_["type_id"]]
        return type_

    def size(self, at):
        type_ = self.strip(at)
        if type_["kind"] == "PTR":
            return 8
        if type_["kind"] == "ARRAY":
            return type_["nr_elems"] * self.size(type_["type_id"])
        return type_.get("size", 0)

    def show(self, at):
        type_ = self.types[at]
        kind = type_["kind"]
        if kind == "PTR":
            return f"{self.show(type_['type_id'])} *"
        if kind == "ARRAY":
            return f"{self.show(type_['type_id'])}[{type_['nr_elems']}]"
        if kind in MODIFIERS and kind != "TYPEDEF":
            return self.show(type_["type_id"])
        return type_["name"] if kind in ("TYPEDEF", "INT", "VOID") else f"{kind.lower()} {type_['name']}"

    def maps(self):
        """Name, type and size of a value of each map."""
        for entry in (entry for section in self.named(".maps") for entry in section["vars"]):
            variable = self.types[entry["type_id"]]
            facts = {"type": 0, "value": 0, "value_size": 0}
            for member in self.strip(variable["type_id"])["members"]:
                pointer = self.strip(member["type_id"])
                if member["name"] == "value":
                    facts["value"] = self.size(pointer["type_id"])
                elif member["name"] in facts:
                    facts[member["name"]] = self.strip(pointer["type_id"])["nr_elems"]
            yield variable["name"], facts["type"], facts["value"] or facts["value_size"]


class Elf:
    """The sections of an ELF file of 64 bits, by name."""

    def __init__(self, data):
        if data[:4] != b"\x7fELF":
            raise ValueError("not an ELF file")
        start, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3a)
        headers = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
        self.sections = {}
        for name, type_, _, _, offset, length in headers:
            at = headers[names][4] + name
            self.sections[data[at:data.index(b"\0", at)].decode()] = b"" if type_ == 8 else data[offset:offset + length]


def kernel_btf(path):
    """The BTF of a vmlinuz (Documentation/arch/x86/boot.rst: payload_offset), or of a file that holds just that."""
    data = Path(path).read_bytes()
    if data[:2] == b"\x9f\xeb":
        return data
    if data[0x202:0x206] != b"HdrS":
        raise ValueError("neither a kernel nor BTF")
    offset, length = struct.unpack_from("<II", data, 0x248)
    at = ((data[0x1f1] or 4) + 1) * 512 + offset
    payload = data[at:at + length]
    tool = next((tool for magic, tool in COMPRESSIONS.items() if payload.startswith(magic)), None)
    if not tool:
        raise ValueError("its compression is not known here")
    # behind it stands how long it is unpacked
    done = subprocess.run([tool, "-dcq"], input=payload[:-4], stdout=subprocess.PIPE, check=True)
    return Elf(done.stdout).sections[".BTF"]


def read_ext(elf):
    """Of .BTF.ext: a function for its strings, and the records of functions, lines and CO-RE, each with its section."""
    types, ext = elf.sections[".BTF"], elf.sections[".BTF.ext"]
    first = struct.unpack_from("<I", types, 4)[0] + struct.unpack_from("<I", types, 16)[0]
    head, *parts = struct.unpack_from("<IIIIIII", ext, 4)

    def text(at):
        return types[first + at:types.index(b"\0", first + at)].decode()

    def records(at, length, layout):
        end, at = head + at + length, head + at
        size, = struct.unpack_from("<I", ext, at)
        at += 4
        while at < end:
            section, count = struct.unpack_from("<II", ext, at)
            at += 8
            for _ in range(count):
                yield text(section), *struct.unpack_from(layout, ext, at)
                at += size

    functions, lines = list(records(*parts[0:2], "<II")), list(records(*parts[2:4], "<IIII"))
    core = [(section, offset, type_id, text(access), RELOCATIONS[kind])
            for section, offset, type_id, access, kind in records(*parts[4:6], "<IIII")]
    return text, functions, lines, core
