# SPDX-License-Identifier: Apache-2.0
"""
Files made to harm whoever reads them: each claims to be what makes a reader take much memory or time, and is small on
disk. tests/programs/hostile_files runs their code.
"""

import lzma
import struct
import zlib

PAGE = 4096

# Instructions that do nothing; "sub $1, %rdi; jnz back; ret" is what hostile_files calls.
NOP, RET = b"\x90", b"\xc3"
COUNTS_DOWN = b"\x48\x83\xef\x01\x75\xfa\xc3"

PROGBITS, SYMTAB, STRTAB, DYNSYM, GNU_HASH = 1, 2, 3, 11, 0x6ffffff6
ALLOC, EXECINSTR, COMPRESSED = 2, 4, 0x800
FUNC, OBJECT = 2, 1


def gnu_hash(name):
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xffffffff
    return value


class Elf:
    """A shared object that is mapped as one piece: addresses are offsets in the file."""

    def __init__(self):
        self.parts = []  # (offset, bytes)
        self.end = PAGE
        self.sections = []  # (name, type, flags, offset, size, link, entry size)
        self.entry = self.put(COUNTS_DOWN)

    def put(self, data, align=16, size=None):
        """Adds bytes; size: with a hole behind them, that the file does not have on disk. Returns where they are."""
        at = -(-self.end // align) * align
        self.parts.append((at, data))
        self.end = at + max(len(data), size or 0)
        return at

    def section(self, name, kind, at, size, flags=0, link=0, entry=0):
        """Returns its number."""
        self.sections.append((name, kind, flags, at, size, link, entry))
        return len(self.sections)

    def exports(self, symbols):
        """name: (address, size, FUNC or OBJECT). With the hash table that the dynamic loader uses."""
        text, table, chain = b"\0", bytes(24), b""
        for i, (name, (address, size, kind)) in enumerate(symbols.items()):
            table += struct.pack("<IBBHQQ", len(text), 0x10 | kind, 0, 1, address, size)
            text += name.encode() + b"\0"
            chain += struct.pack("<I", gnu_hash(name) & ~1 | (i + 1 == len(symbols)))
        strings = self.section(".dynstr", STRTAB, self.put(text), len(text), ALLOC)
        number = self.section(".dynsym", DYNSYM, self.put(table), len(table), ALLOC, strings, 24)
        # one bucket, and a filter that lets all names pass
        data = struct.pack("<IIIIQI", 1, 1, 1, 0, 2**64 - 1, 1) + chain
        self.section(".gnu.hash", GNU_HASH, self.put(data), len(data), ALLOC, number)

    def eh_frame(self, functions, rows=b""):
        """functions: (start, size) of each; rows: instructions that all of them have."""
        cie = struct.pack("<IB", 0, 1) + b"zR\0" + b"\x01\x78\x10\x01\x1b" + b"\x0c\x07\x08\x90\x01"
        cie += bytes(-len(cie) % 4)
        data = struct.pack("<I", len(cie)) + cie
        at = -(-self.end // 16) * 16
        pieces = [data]
        offset = len(data)
        body = b"\0" + rows
        body += bytes(-len(body) % 4)
        for start, size in functions:
            pieces.append(struct.pack("<IIiI", 12 + len(body), offset + 4,
                                      start - (at + offset + 8), size) + body)
            offset += 16 + len(body)
        self.section(".eh_frame", PROGBITS, self.put(b"".join(pieces) + bytes(4)), offset, ALLOC)

    def write(self, path):
        names = bytearray(1)
        headers = bytearray(64)
        for name, kind, flags, at, size, link, entry in [
                *self.sections, (".shstrtab", STRTAB, 0, None, 0, 0, 0)]:
            place = len(names)
            names += name.encode() + b"\0"
            if at is None:
                at = self.put(bytes(names))
                size = len(names)
            address = at if flags & ALLOC else 0
            headers += struct.pack("<IIQQQQIIQQ", place, kind, flags, address, at, size, link, 0, 1, entry)
        where = self.put(bytes(headers))
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, self.entry, 64,
                           where, 0, 64, 56, 1, 64, len(self.sections) + 2, len(self.sections) + 1)
        segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, self.end, self.end, PAGE)
        with open(path, "wb") as file:
            file.write(head + segment)
            for at, data in self.parts:
                file.seek(at)
                file.write(data)
            file.truncate(-(-self.end // PAGE) * PAGE)
        return path


def code(elf, at, size):
    elf.section(".text", PROGBITS, at, size, ALLOC | EXECINSTR)


def many_functions(exports, text, count=256, size=65535, calls_from="lua_callk"):
    """An interpreter whose first function calls all others, each of as many instructions as a reader may take."""
    elf = Elf()
    ident = elf.put(text)
    first = elf.put(b"", align=PAGE)
    starts = [first + PAGE + i * 65536 for i in range(count)]
    calls = b"".join(b"\xe8" + struct.pack("<i", to - (first + 5 * i + 5))
                     for i, to in enumerate(starts))
    elf.put((calls + RET).ljust(PAGE, NOP) + (NOP * (size - 1) + RET).ljust(65536, NOP) * count, align=PAGE)
    code(elf, elf.entry, elf.end - elf.entry)
    elf.exports({calls_from: (first, PAGE, FUNC),
                 **{name: (ident, 64, OBJECT) for name in exports}})
    elf.eh_frame([(first, PAGE), *((start, size) for start in starts)])
    return elf


def lua():
    return many_functions(["lua_ident"], b"$LuaVersion: Lua 5.4.4  Copyright (C) 1994-2022 $")


def lua_of_holes():
    """The same, of zeros, which are instructions, too: it takes no room on the disk."""
    elf = Elf()
    ident = elf.put(b"$LuaVersion: Lua 5.4.4  Copyright (C) 1994-2022 $")
    first = -(-elf.end // PAGE) * PAGE
    starts = [first + PAGE + i * 65536 for i in range(256)]
    calls = b"".join(b"\xe8" + struct.pack("<i", to - (first + 5 * i + 5)) for i, to in enumerate(starts))
    elf.put(calls + RET, align=PAGE, size=PAGE + 65536 * len(starts))
    code(elf, elf.entry, elf.end - elf.entry)
    elf.exports({"lua_callk": (first, PAGE, FUNC), "lua_ident": (ident, 64, OBJECT)})
    elf.eh_frame([(first, PAGE), *((start, 65535) for start in starts)])
    return elf


def luajit():
    return many_functions(["luaJIT_version_2_1_0_beta3", "lua_close", "luaJIT_setmode"], b"LuaJIT 2.1.0-beta3",
                          calls_from="lua_call")


def frames(count=1 << 18, size=16, rows=b""):
    """Unwind information of more functions than a program has."""
    elf = Elf()
    first = elf.put(b"", align=PAGE, size=count * size)
    code(elf, elf.entry, elf.end - elf.entry)
    elf.eh_frame(((first + i * size, size) for i in range(count)), rows)
    return elf


def one_function(megabytes=24):
    """A function with a row of unwind information for each byte, in turn one thing and another."""
    elf = Elf()
    rows = b"\x41\x0e\x10\x41\x0e\x08" * (megabytes * (1 << 20) // 6)
    first = elf.put(b"", align=PAGE, size=len(rows))
    code(elf, elf.entry, elf.end - elf.entry)
    elf.eh_frame([(first, len(rows))], rows)
    return elf


def holes(gigabytes=3):
    """A file full of holes, in which each section claims them all."""
    elf = Elf()
    code(elf, elf.entry, len(COUNTS_DOWN))
    at = elf.put(b"\x01", align=PAGE, size=gigabytes << 30)
    strings = elf.section(".strtab", STRTAB, at, 250 << 20)
    elf.section(".symtab", SYMTAB, at, gigabytes << 30, 0, strings, 24)
    for name in (".eh_frame", ".debug_frame", ".gnu_debugdata", ".debug_info", ".debug_line", ".debug_abbrev"):
        elf.section(name, PROGBITS, at, 250 << 20, ALLOC if name == ".eh_frame" else 0)
    return elf


def symbols(count=3 << 20, text=200 << 20):
    """A table of many symbols, with long names, all over each other."""
    elf = Elf()
    first = elf.put(RET * 65536, align=PAGE)
    code(elf, elf.entry, elf.end - elf.entry)
    name = elf.put(b"\0" + b"x" * 16000 + b"\0", size=text)
    strings = elf.section(".strtab", STRTAB, name, text)
    one = b"".join(struct.pack("<IBBHQQ", 1 + i % 8, 0x10 | FUNC, 0, 1, elf.entry + i % 64, 65536)
                   for i in range(4096))
    at = elf.put(bytes(24) + one * (count // 4096))
    elf.section(".symtab", SYMTAB, at, 24 * count, 0, strings, 24)
    del first
    return elf


def bomb(megabytes=250):
    """Compressed sections that are a thousand times as large inside."""
    elf = Elf()
    code(elf, elf.entry, len(COUNTS_DOWN))
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    size = megabytes << 20
    # a block of zeros again and again, and the Adler-32 of that many
    data = struct.pack("<IIQQ", 1, 0, size, 1) + b"\x78\xda" + block * megabytes + \
        squeeze.flush() + struct.pack(">HH", size % 65521, 1)
    at = elf.put(data)
    for name in (".eh_frame", ".debug_frame", ".debug_info", ".debug_line", ".debug_abbrev", ".debug_str"):
        elf.section(name, PROGBITS, at, len(data), COMPRESSED)
    packed = lzma.compress(bytes(40 << 20), preset=0)
    elf.section(".gnu_debugdata", PROGBITS, elf.put(packed), len(packed))
    return elf


def link():
    """It says that it is its own debug file."""
    elf = Elf()
    code(elf, elf.entry, len(COUNTS_DOWN))
    name = b"link\0\0\0\0" + bytes(4)
    elf.section(".gnu_debuglink", PROGBITS, elf.put(name), len(name))
    return elf


def python():
    exports = {"Py_Version": (0, 8), "_PyRuntime": (0, 8), "Py_GetVersion": (0, 8), "_PyEval_EvalFrameDefault": (0, 1 << 20)}
    elf = Elf()
    at = elf.put((b"\x0f\x84\x00\x10\x00\x00" * (1 << 18))[:1 << 20], align=PAGE)
    code(elf, elf.entry, elf.end - elf.entry)
    number = elf.put(struct.pack("<Q", 0x030a0cf0))
    elf.exports({name: (at if "Eval" in name else number, size, FUNC) for name, (_, size) in exports.items()})
    elf.eh_frame([(at, 1 << 20)])
    return elf


def go(count=1 << 18):
    """A table of Go's functions, each at the same place of it."""
    elf = Elf()
    first = elf.put(b"", align=PAGE, size=count * 4)
    code(elf, elf.entry, elf.end - elf.entry)
    header = 72
    names = header
    functions = names + 4096
    size = functions + (count + 1) * 8 + 128
    record = functions + (count + 1) * 8
    text = struct.pack("<IBBBBQQQQQQQQ", 0xfffffff1, 0, 0, 1, 8, count, 16, first, names, names + 64,
                       names + 128, names + 192, functions)
    text = text.ljust(functions, b"\x02")
    rows = b"".join(struct.pack("<II", 4 * i, record - functions) for i in range(count + 1))
    data = text + rows + b"\x02" * 128
    at = elf.put(data, align=PAGE)
    elf.section(".gopclntab", PROGBITS, at, size, ALLOC)
    info = elf.put(b"\xff Go buildinf:\x08\x02".ljust(32, b"\0") + b"\x08go1.20.1" + bytes(64))
    elf.section(".go.buildinfo", PROGBITS, info, 64, ALLOC)
    return elf


def runtime(*names):
    """Exports what a runtime exports, and nothing behind it."""
    def make():
        elf = Elf()
        at = elf.put(b"\x0a\0\0\0\0\0\0\0" * 512, align=PAGE)
        code(elf, elf.entry, elf.end - elf.entry)
        elf.exports({name: (at, 4096, OBJECT) for name in names})
        return elf
    return make


def sections(count=65000):
    """As many sections as a file can have, with one long name."""
    elf = Elf()
    code(elf, elf.entry, len(COUNTS_DOWN))
    at = elf.put(b"\0")
    name = "x" * 1000
    elf.sections += [(name if not i else "", PROGBITS, 0, at, 1, 0, 0) for i in range(count)]
    return elf


def write_map(path, newest, gigabytes=2):
    """A JIT map that is one hole but for its last line, which names all code."""
    with open(path, "wb") as file:
        file.seek(gigabytes << 30)
        file.write(b"\n0 7fffffffffff " + newest.encode() + b"\n")


def write_long_map(path, megabytes):
    """A JIT map of so many functions as fit, each with an address of its own."""
    lines = b"".join(b"%x 10 function_%x\n" % (0x7f0000000000 + 16 * i, i) for i in range(1 << 18))
    with open(path, "wb") as file:
        for _ in range(-(-(megabytes << 20) // len(lines))):
            file.write(lines)


FILES = {
    "lua": lua,
    "luajit": luajit,
    "frames": frames,
    "one_function": one_function,
    "holes": holes,
    "symbols": symbols,
    "bomb": bomb,
    "link": link,
    "python": python,
    "go": go,
    "hotspot": runtime("gHotSpotVMStructs", "gHotSpotVMTypes", "gHotSpotVMIntConstants"),
    "v8": runtime("v8dbg_SmiTag", "v8dbg_SmiTagMask", "_ZN2v88internal7Version6major_E",
                  "_ZN2v88internal7Version6minor_E"),
    "sections": sections,
}
