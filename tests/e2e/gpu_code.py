# SPDX-License-Identifier: Apache-2.0
"""
Code for GPUs to try the reader of cubins with (src/symbol/cubin): kernels in PTX, made here, which NVIDIA's ptxas compiles, and
what its nvdisasm says of them. Both are programs of Debian's non-free, which tests fetch and stackcam has no part of.
"""

import collections
import random
import re
import subprocess

import suites

# sm_75 to sm_90: what there is a name for in PTX that this toolkit compiles.
ARCHITECTURES = (75, 80, 86, 89, 90)

FILES = ("kernels/main.cu", "kernels/inline/math.cuh", "kernels/inline/deep.cuh")
INLINED = ("_Z5scalef", "_Z5shiftif", "_Z4deepIfEvT_")


def toolkit(cache):
    """The folder of ptxas and nvdisasm; skips the test where they cannot be had."""
    return suites.unpacked(cache, "trixie", "nvidia-cuda-toolkit", component="non-free", alone=True) / "usr/bin"


# Statements: {f}, {r}, {d}, {h}, {l}, {p} are registers of floats, integers, doubles, pairs of halves, addresses and predicates.
STATEMENTS = """
add.f32 {f},{f},{f};
mul.f32 {f},{f},{f};
fma.rn.f32 {f},{f},{f},{f};
min.f32 {f},{f},{f};
rcp.approx.f32 {f},{f};
sqrt.rn.f32 {f},{f};
div.rn.f32 {f},{f},{f};
ex2.approx.f32 {f},{f};
lg2.approx.f32 {f},{f};
cos.approx.f32 {f},{f};
cvt.rni.f32.f32 {f},{f};
cvt.rn.f32.s32 {f},{r};
cvt.rzi.s32.f32 {r},{f};
cvt.rn.f32.f64 {f},{d};
cvt.f64.f32 {d},{f};
cvt.rn.f64.s32 {d},{r};
add.f64 {d},{d},{d};
mul.f64 {d},{d},{d};
fma.rn.f64 {d},{d},{d},{d};
setp.lt.f64 {p},{d},{d};
setp.gt.f32 {p},{f},{f};
setp.ne.s32 {p},{r},{r};
setp.lt.and.u32 {p},{r},{r},{p};
selp.f32 {f},{f},{f},{p};
selp.b32 {r},{r},{r},{p};
add.s32 {r},{r},{r};
sub.s32 {r},{r},{r};
mad.lo.s32 {r},{r},{r},{r};
mul.hi.u32 {r},{r},{r};
div.u32 {r},{r},{r};
rem.s32 {r},{r},{r};
min.s32 {r},{r},{r};
abs.s32 {r},{r};
and.b32 {r},{r},{r};
lop3.b32 {r},{r},{r},{r},0x96;
shl.b32 {r},{r},{r};
shf.l.wrap.b32 {r},{r},{r},{r};
prmt.b32 {r},{r},{r},0x5410;
popc.b32 {r},{r};
brev.b32 {r},{r};
clz.b32 {r},{r};
bfind.u32 {r},{r};
dp4a.s32.s32 {r},{r},{r},{r};
sad.s32 {r},{r},{r},{r};
fma.rn.f16x2 {h},{h},{h},{h};
add.f16x2 {h},{h},{h};
mul.f16x2 {h},{h},{h};
mov.b32 {r},{h};
mov.b32 {h},{r};
ld.global.f32 {f},[{l}];
ld.global.nc.b32 {r},[{l}+64];
ld.global.f64 {d},[{l}+8];
st.global.f32 [{l}],{f};
st.global.b32 [{l}+4],{r};
ld.shared.f32 {f},[shared+16];
st.shared.b32 [shared+32],{r};
ld.local.b32 {r},[local+8];
st.local.b32 [local+8],{r};
atom.global.add.u32 {r},[{l}],{r};
atom.global.cas.b32 {r},[{l}],{r},{r};
red.global.add.f32 [{l}],{f};
atom.shared.add.u32 {r},[shared],{r};
shfl.sync.bfly.b32 {r},{r},1,0x1f,-1;
vote.sync.ballot.b32 {r},{p},-1;
match.any.sync.b32 {r},{r},-1;
activemask.b32 {r};
mov.u32 {r},%clock;
mov.u32 {r},%laneid;
mov.u32 {r},%ctaid.x;
bar.sync 0;
membar.gl;
nanosleep.u32 {r};
mad.wide.s32 {l},{r},4,{l};
ld.f32 {f},[{l}];
st.f32 [{l}],{f};
atom.add.u32 {r},[{l}],{r};
ld.volatile.global.b32 {r},[{l}];
fence.acq_rel.gpu;
prefetch.global.L2 [{l}];
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1},[shared];
mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2},{%r3},{%r4},{%r5,%r6};
mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r1,%r2},{%r3},{%r4},{%r5,%r6};
bfe.u32 {r},{r},{r},{r};
bfi.b32 {r},{r},{r},{r},{r};
bmsk.clamp.b32 {r},{r},{r};
szext.clamp.s32 {r},{r},{r};
tanh.approx.f32 {f},{f};
div.rn.f64 {d},{d},{d};
sqrt.rn.f64 {d},{d};
cvt.sat.s8.s32 {r},{r};
cvt.rpi.f64.f64 {d},{d};
cvt.rn.f32.s64 {f},{l};
set.lt.f16x2.f16x2 {h},{h},{h};
vabsdiff4.u32.u32.u32.add {r},{r},{r},{r};
bar.red.popc.u32 {r},0,{p};
match.all.sync.b32 {r},{r},-1;
atom.shared.cas.b32 {r},[shared],{r},{r};
red.global.add.f64 [{l}],{d};
pmevent 1;
and.pred {p},{p},{p};
@{p} add.f32 {f},{f},{f};
@!{p} xor.b32 {r},{r},{r};
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4},{%r1,%r2},{%r3},{%f5,%f6,%f7,%f8};
""".strip().splitlines()
SINCE_80 = ("redux.sync.add.s32 {r},{r},-1;", "cp.async.ca.shared.global [shared+64],[{l}],4;", "cp.async.wait_all;",
            "fma.rn.bf16x2 {r},{r},{r},{r};", "cvt.rn.f16x2.f32 {h},{f},{f};",
            "max.f16x2 {h},{h},{h};", "mbarrier.arrive.shared.b64 %l3,[shared+128];",
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2},{%d3},{%d4},{%d5,%d6};")


class Kernels:
    """Text of PTX: kernels with loops, branches, calls and inlined functions, each statement with its line."""

    def __init__(self, architecture, seed):
        self.choose = random.Random(seed)
        self.statements = [*STATEMENTS, *(SINCE_80 if architecture >= 80 else ())]
        self.lines = [".version 7.8", f".target sm_{architecture}", ".address_size 64",
                      *(f'.file {i} "{name}"' for i, name in enumerate(FILES, 1)), ".shared .align 16 .b8 shared[256];"]
        self.label = self.deep = 0

    def statement(self):
        chosen = self.choose.choice(self.statements)
        return re.sub(r"\{([frdhlp])\}", lambda found: f"%{found[1]}{self.choose.randrange(1, 9 if found[1] != 'l' else 3)}", chosen)

    def place(self, line):
        """.loc of a statement: of the kernel, of a function inlined there, or of one inlined into that; first those of the calls."""
        kind = self.choose.randrange(4)
        name = self.choose.randrange(2)
        places = [f".loc 1 {line} 7"]
        if kind >= 2:
            places.append(f".loc 2 {100 + line} 3, function_name $name{name}, inlined_at 1 {line} 7")
        if kind == 3:
            # each its own: nvdisasm prints nothing where only the calls around a line change
            self.deep += 1
            places.append(f".loc 3 {self.deep} 1, function_name $name2, inlined_at 2 {100 + line} 3")
        return places

    def body(self, statements):
        line = 10
        for i in range(statements):
            line += self.choose.randrange(2)
            if self.choose.randrange(4) == 0:
                self.lines += self.place(line)
            if i % 23 == 22:
                self.label += 1
                self.lines += [f"setp.lt.s32 %p1,%r{self.choose.randrange(1, 9)},{self.label};", f"@%p1 bra L{self.label};", self.statement(),
                               f"L{self.label}:"]
            self.lines.append(self.statement())

    def registers(self):
        self.lines += [".reg .f32 %f<10>;", ".reg .b32 %r<10>;", ".reg .f64 %d<10>;", ".reg .b32 %h<10>;", ".reg .b64 %l<10>;",
                       ".reg .pred %p<10>;", ".local .align 8 .b8 local[64];"]

    def begin(self, name):
        self.registers()
        self.lines += [f"ld.param.u64 %l1,[{name}_p];", "cvta.to.global.u64 %l1,%l1;", "add.s64 %l2,%l1,4096;"]
        for i in range(1, 9):
            self.lines += [f"ld.global.f32 %f{i},[%l1+{4 * i}];", f"ld.global.b32 %r{i},[%l1+{64 + 4 * i}];",
                           f"ld.global.f64 %d{i},[%l1+{128 + 8 * i}];", f"ld.global.b32 %h{i},[%l1+{256 + 4 * i}];",
                           f"setp.gt.s32 %p{i},%r{i},{i};"]

    def end(self):
        for i in range(1, 9):
            self.lines += [f"st.global.f32 [%l1+{4 * i}],%f{i};", f"st.global.b32 [%l1+{64 + 4 * i}],%r{i};",
                           f"st.global.f64 [%l1+{128 + 8 * i}],%d{i};", f"st.global.b32 [%l1+{256 + 4 * i}],%h{i};"]

    def function(self, name, statements):
        """A device function that is called, not inlined: the kernel calls it twice."""
        self.lines += [f".func (.param .b32 r) {name}(.param .b64 {name}_p)", "{", f".loc 2 {self.choose.randrange(500, 600)} 1"]
        self.begin(name)
        self.body(statements)
        self.end()
        self.lines += ["st.param.f32 [r],%f1;", "ret;", "}"]

    def kernel(self, name, statements, calls=None):
        self.lines += [f".visible .entry {name}(.param .u64 {name}_p)", "{", ".loc 1 9 1"]
        self.begin(name)
        for _ in range(2):
            self.body(statements // 2)
            if calls:
                self.lines += ["{ .param .b64 x; .param .b32 r; st.param.b64 [x],%l1;", f"call.uni (r),{calls},(x); ld.param.f32 %f1,[r]; }}"]
        self.end()
        self.lines += [".loc 1 9999 1", "ret;", "}"]

    def text(self):
        names = [".section .debug_str", "{"]
        for i, name in enumerate(INLINED):
            names += [f"$name{i}:", ".b8 " + ",".join(str(byte) for byte in name.encode() + b"\0")]
        return "\n".join([*self.lines, *names, "}", ""])


def kernels(architecture, seed, count, statements):
    made = Kernels(architecture, seed)
    for i in range(count):
        if i % 4 == 0:
            made.function(f"_Z6helper{i}f", 40)
        made.kernel(f"kernel_{i}", statements, f"_Z6helper{i - i % 4}f")
    return made.text()


def compile_ptx(tools, text, architecture, to, *options):
    """Returns the cubin; None where ptxas crashes, as that of 12.4 does now and then. options: -lineinfo for lines."""
    source = to.with_suffix(".ptx")
    source.write_text(text)
    done = subprocess.run([tools / "ptxas", f"-arch=sm_{architecture}", *options, source, "-o", to], capture_output=True, text=True)
    assert done.returncode <= 0, done.stderr
    return to if done.returncode == 0 else None


LINE = re.compile(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
CODE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
NAME = re.compile(r"\s+\.type\s+(\S+),@function")


def disassembled(tools, cubin):
    """{(kernel, offset): (mnemonic, (place, ...))}, as nvdisasm has it; a place is "file:line", the innermost first."""
    text = subprocess.run([tools / "nvdisasm", "-c", "-g", "-gi", cubin], check=True, capture_output=True, text=True).stdout
    found, kernel, places, chain = {}, "", (), []
    for line in text.splitlines():
        if line.startswith("\t.section\t.text."):
            kernel, places, chain = line.split(".text.")[1].split(",")[0], (), []
        elif NAME.match(line):
            # no row is of two functions
            places, chain = (), []
        elif place := LINE.search(line):
            chain.append(f"{place[1]}:{place[2]}")
        elif code := CODE.match(line):
            if chain:
                places, chain = tuple(chain), []
            found[kernel, int(code[1], 16)] = code[2], places
    return found


def read(printer, *cubins):
    """{(kernel, offset): (mnemonic, (place, ...))}, and {kernel: functions}, as stackcam has them."""
    text = subprocess.run([printer, *cubins], check=True, capture_output=True, text=True).stdout
    found, functions, names = {}, {}, set()
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 5:
            continue
        kernel, offset, mnemonic, function, places = fields
        places = [place.split(" ") for place in places.split(",") if place]
        found[kernel, int(offset, 16)] = mnemonic, tuple(place[0] for place in places)
        functions.setdefault(kernel, set()).add(function)
        names |= {place[1] for place in places if len(place) > 1}
    return found, functions, names


def differences(of_tool, ours):
    """What stackcam has otherwise than nvdisasm has: mnemonics and places, each with how often."""
    mnemonics = collections.Counter((hers[0], ours.get(at, ("",))[0]) for at, hers in of_tool.items() if hers[0] != ours.get(at, ("",))[0])
    places = collections.Counter((hers[1], ours[at][1]) for at, hers in of_tool.items() if at in ours and hers[1] != ours[at][1])
    return mnemonics, places
