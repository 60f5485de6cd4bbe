# SPDX-License-Identifier: Apache-2.0
"""Programs made by chance from a seed, each of which keeps a log of its calls: what a tracer says of them can be held
against it. They throw, jump, walk their stacks and return in unusual ways, as compilers and people write that."""

import collections
import contextlib
import itertools
import json
import random
import re
import sqlite3
import subprocess
from pathlib import Path

PATIENCE = 120  # s
MARGIN = 30_000  # ns: by how much the log's clock may be off

FRAMES = "-fno-omit-frame-pointer"
OPTIONS = [
    ("g++", "-O0"), ("g++", "-O1"), ("g++", "-O2"), ("g++", "-O3"), ("g++", "-Os"),
    ("g++", "-O2", FRAMES, "-fcf-protection=full"),
    ("g++", "-O2", "-mindirect-branch=thunk", "-fcf-protection=none"),
    ("g++", "-O2", "-mindirect-branch=thunk-inline", "-fcf-protection=none"),
    ("g++", "-O2", "-mindirect-branch=thunk", "-mfunction-return=thunk", "-fcf-protection=none"),
    ("g++", "-O2", "-fno-plt", "-fstack-protector-all"), ("g++", "-O2", "-static"),
    ("clang++", "-O0"), ("clang++", "-O2", FRAMES), ("clang++", "-O2", "-mretpoline"),
]

HEAD = r"""
#include <alloca.h>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define APART extern "C" __attribute__((noinline))
#else
#define APART extern "C" __attribute__((noipa))
#endif
#define LOG_MAX 40000
static struct { uint32_t what; uint64_t at; } kept[LOG_MAX];
static volatile uint32_t count, bad;
extern "C" { volatile uint32_t cell; }
INLINE void note(uint32_t what) {
	uint32_t n = count;
	if (n < LOG_MAX) { kept[n].what = what; kept[n].at = __builtin_ia32_rdtsc(); count = n + 1; }
}
#define ENTER(i) note((i) << 2)
#define EXIT(i) note((i) << 2 | 1)
#define TAIL(i) note((i) << 2 | 2)
#define LANDS(i) note((i) << 2 | 3)
struct frame { frame *next; void *returns_to; };
extern "C" char __executable_start, etext;
INLINE void check(void *address) { bad = bad + ((char *)address < &__executable_start || (char *)address > &etext); }
INLINE void spin(int turns) { for (volatile int i = 0; i < turns; i++) ; }
static jmp_buf *landing;
volatile int zero;
"""

TAIL = r"""
/* Both clocks at one moment: the pair of many that took the least. */
struct moment { uint64_t ns, at; };
static moment now(void) {
	moment best = {}; uint64_t least = ~0ull;
	for (int i = 0; i < 50; i++) {
		struct timespec t; uint64_t before = __builtin_ia32_rdtsc(), after;
		clock_gettime(CLOCK_MONOTONIC, &t);
		after = __builtin_ia32_rdtsc();
		if (after - before < least) { least = after - before; best = {t.tv_sec * 1000000000ull + t.tv_nsec, before + (after - before) / 2}; }
	}
	return best;
}
int main(int argc, char **argv) {
	volatile unsigned sum = 0;
	moment first = now();
	ENTER(0);
	for (volatile int i = 0; i < ROUNDS; i++)
		try { sum = sum + ROOTS; } catch (const std::exception &) { LANDS(0); landing = 0; sum = sum * 3; }
	EXIT(0);
	moment last = now();
	printf("%u %u\n", sum, bad);
	FILE *to = fopen(argv[1], "w");
	if (!to) return 1;
	for (uint32_t i = 0; i < count; i++)
		fprintf(to, "%u %.0f\n", kept[i].what, first.ns + (double)(kept[i].at - first.at) / (last.at - first.at) * (last.ns - first.ns));
	return fclose(to) || count == LOG_MAX;
}
"""

# Hand-written functions, which keep no log: their callers do. {f}: one to go on to. Whether they call it.
ASSEMBLY = {
    "pops": ("pop %rax; push %rax; mov %edi, %eax; ret", False),
    "looks": ("mov (%rsp), %rax; and $0xfff, %eax; ret", False),
    "where": ("call 1f; 1: pop %rax; lea 1(%rdi), %eax; ret", False),
    "enters": ("enter $32, $0; mov %edi, -4(%rbp); mov -4(%rbp), %eax; leave; ret", False),
    "red_zone": ("mov %edi, -8(%rsp); mov -8(%rsp), %eax; ret", False),
    "saves": ("push %rbx; mov %edi, %ebx; lea 1(%rbx), %eax; pop %rbx; ret", False),
    "returns_by_jump": ("pop %rcx; lea 1(%rdi), %eax; jmp *%rcx", False),
    "locks": ("lock incl cell(%rip); lea 2(%rdi), %eax; ret", False),
    "nothing": ("ret", False),
    "walks": ("push %rbp; mov %rsp, %rbp; mov %rbp, %rdx; mov 8(%rdx), %rax; pop %rbp; and $0xfff, %eax; ret", False),
    "jumps": ("jmp {f}", True),
    "jumps_later": ("add $1, %edi; jmp {f}", True),
    "jumps_if": ("test $1, %edi; jne {f}; lea 1(%rdi), %eax; ret", True),
    "jumps_by_register": ("lea {f}(%rip), %rax; jmp *%rax", True),
    "jumps_by_return": ("lea {f}(%rip), %rax; push %rax; ret", True),
    "calls_in_frame": ("push %rbp; .cfi_def_cfa_offset 16; .cfi_offset 6, -16; mov %rsp, %rbp; .cfi_def_cfa_register 6; "
                       "sub $16, %rsp; call {f}; leave; .cfi_def_cfa 7, 8; ret", True),
    "calls_without_frame": ("sub $8, %rsp; .cfi_adjust_cfa_offset 8; call {f}; add $8, %rsp; .cfi_adjust_cfa_offset -8; ret",
                            True),
}

KINDS = ["plain", "plain", "leaf", "leaf", "throws", "throws", "catches", "catches", "cleans", "tail", "tail_pointer",
         "jumps_back", "lands", "walks", "sorts", "recurses", "assembly", "assembly", "assembly", "assembly"]
LEAVES = {"leaf", "throws", "jumps_back", "walks"}
CALLS_MAX = 400  # of the functions below one of them
FUNCTIONS = 22


class Program:
    """Source and what is known of it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.options = OPTIONS[seed % len(OPTIONS)]
        self.names = {0: "main"}
        self.outside = set()  # numbers of functions whose callers keep their log
        self.kinds, self.sizes, parts = {}, {}, []
        for number in range(FUNCTIONS, 0, -1):
            parts.append(self.function(number))
        declared = "".join(f'extern "C" int {name}(int);\n' for n, name in self.names.items() if n)
        pointers = ", ".join(self.names.get(n, "0") if n else "0" for n in range(FUNCTIONS + 1))
        roots = " + ".join(self.call(n, str(n)) for n in range(1, 5))
        rounds = max(2, min(12, 2500 // sum(self.sizes[n] for n in range(1, 5))))
        self.source = (HEAD + declared + f"static int (*volatile pointers[])(int) = {{{pointers}}};\n" + "\n".join(parts) +
                       TAIL.replace("ROOTS", roots).replace("ROUNDS", str(rounds)))

    def children(self, number, most=3):
        """Calls of later functions, as expressions, of which there are not too many."""
        chosen, size = [], 1
        later = range(number + 1, FUNCTIONS + 1)
        for _ in range(self.random.randint(1, most) if later else 0):
            child = self.random.choice(later)
            if size + self.sizes[child] < CALLS_MAX:
                chosen.append(child)
                size += self.sizes[child]
        self.sizes[number] = size
        return chosen

    def call(self, number, x):
        """An expression that calls a function, directly or by a pointer."""
        by = f"pointers[{number}]" if self.random.random() < 0.4 else self.names[number]
        if number not in self.outside:
            return f"{by}({x})"
        result = "0" if self.kinds[number] == "nothing" else "r"
        return f"({{ ENTER({number}); int r = {by}({x}); EXIT({number}); (void)r; {result}; }})"

    def sum(self, children, x="x + 1"):
        return "".join(f"s += {self.call(child, x)}; " for child in children)

    def function(self, number):
        kind = self.random.choice(KINDS if number < FUNCTIONS - 2 else sorted(LEAVES))
        if kind == "assembly":
            later = [n for n in range(number + 1, FUNCTIONS + 1) if n not in self.outside]
            kind = self.random.choice(sorted(name for name, (_, goes_on) in ASSEMBLY.items() if later or not goes_on))
        name = self.names[number] = f"f{number}_{kind}"
        self.kinds[number] = kind
        self.sizes[number] = 1
        if kind in ASSEMBLY:
            return self.assembly(number, name, kind)
        children = [] if kind in LEAVES else self.children(number, 1 if kind.startswith("tail") else 3)
        begin = f"APART int {name}(int x)\n{{\n\tENTER({number}); int s = x; spin({self.random.choice([0, 0, 3, 50, 400])});\n\t"
        end = f"\n\tEXIT({number}); return s;\n}}\n"
        body, before = getattr(self, "of_" + kind, self.of_plain)(number, children), ""
        if isinstance(body, tuple):
            before, body = body
        return before + (begin + body + ("\n}\n" if kind.startswith("tail") and children else end))

    def assembly(self, number, name, kind):
        code, goes_on = ASSEMBLY[kind]
        self.outside.add(number)
        if goes_on:
            later = [n for n in range(number + 1, FUNCTIONS + 1) if n not in self.outside]
            child = self.random.choice(later)
            self.sizes[number] += self.sizes[child]
            code = code.format(f=self.names[child])
        code = code.replace("; ", "\\n ")
        return (f'asm(".text\\n .globl {name}\\n .type {name}, @function\\n {name}:\\n .cfi_startproc\\n {code}\\n '
                f'.cfi_endproc\\n .size {name}, . - {name}\\n");\n')

    def of_plain(self, _, children):
        return self.sum(children)

    def of_leaf(self, _, __):
        return "s = s * 7 + 3;"

    def of_throws(self, number, _):
        every = self.random.randint(2, 4)
        return (f"static int n{number};\n",
                f'if (++n{number} % {every} == 0) throw std::runtime_error("x");')

    def of_catches(self, number, children):
        after, handler = self.children(number, 2), self.random.choice(children or [None])
        handled = f"s += {self.call(handler, 'x + 2')};" if handler and self.random.random() < 0.5 else ""
        self.sizes[number] = 1 + sum(self.sizes[n] for n in children + after + ([handler] if handled else []))
        room = self.random.choice([0, 64, 4096])
        return (f"jmp_buf *before = landing;\n\ttry {{ {self.sum(children)}}}\n\tcatch (const std::exception &) {{ "
                f"LANDS({number}); landing = before; s += 5; {handled} }}\n\t"
                f'char *p = (char *)alloca({room} + 16); asm volatile("" : : "r"(p) : "memory");\n\t' + self.sum(after, "x + 3"))

    def of_cleans(self, number, children):
        leaf = next(n for n in range(FUNCTIONS, 0, -1) if self.kinds[n] in ("leaf", "walks") or n == number)
        cleans = self.call(leaf, "1") if leaf != number else "0"
        self.sizes[number] += self.sizes[leaf]
        return (f"namespace {{ struct c{number} {{ ~c{number}() {{ LANDS({number}); cell = cell + {cleans}; }} }}; }}\n",
                f"{{ c{number} c; {self.sum(children)}}}")

    def of_tail(self, number, children):
        return f"TAIL({number}); return {self.names[children[0]]}(s + 1);" if self.is_plain(children) else self.sum(children) + \
            f"EXIT({number}); return s;"

    def of_tail_pointer(self, number, children):
        return f"TAIL({number}); return pointers[{children[0]}](s + 1);" if self.is_plain(children) else self.sum(children) + \
            f"EXIT({number}); return s;"

    def is_plain(self, children):
        return children and children[0] not in self.outside

    def of_jumps_back(self, number, _):
        return (f"static int n{number};\n",
                f"if (++n{number} % {self.random.randint(2, 4)} == 0 && landing) longjmp(*landing, 1);")

    def of_lands(self, number, children):
        return (f"jmp_buf here, *volatile before = landing; volatile int v = s;\n\tif (!setjmp(here)) {{ landing = &here; "
                f"int s = 0; {self.sum(children)} v = v + s; }} else {{ LANDS({number}); v = v + 1; }}\n\tlanding = before; s = v; "
                + self.sum(self.random.sample(children, min(1, len(children)))))

    def of_walks(self, _, __):
        more = "f = f->next; check(f->returns_to);" if FRAMES in self.options else ""
        return f"frame *volatile f = (frame *)__builtin_frame_address(0); check(f->returns_to); {more}"

    def of_sorts(self, number, children):
        child = self.call(children[0], "1") if children else "1"
        return (f"extern \"C\" {{ static int compare{number}(const void *a, const void *b) "
                f"{{ cell = cell + {child}; return *(const int *)a - *(const int *)b; }} }}\n",
                f"int two[] = {{x, 3}}; qsort(two, 2, sizeof(two[0]), compare{number}); s += two[0];")

    def of_recurses(self, number, children):
        self.sizes[number] = 4 * (1 + sum(self.sizes[n] for n in children[:1]))
        return f"if ((x & 255) < 3 && x >= 0) s += {self.names[number]}(x + 1);\n\t" + self.sum(children[:1])

    def build(self, folder):
        path = Path(folder) / "generated"
        path.with_suffix(".cc").write_text(self.source)
        subprocess.run([*self.options, "-w", "-pthread" if "-static" in self.options else "-g0",
                        path.with_suffix(".cc"), "-o", path], check=True, timeout=PATIENCE)
        return path


class Call:
    """One of the log, whose parent is the call around it. It began and ended between two times each."""

    def __init__(self, name, parent, begin):
        self.name, self.parent, self.begin, self.end = name, parent, begin, None
        self.is_tail = False

    def path(self):
        return [*(self.parent.path() if self.parent else []), self.name]


def log_of(program, path):
    """The calls in order of their beginnings."""
    calls, stack = [], []
    events = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
    far = events[-1][1] + 10_000_000_000
    for n, (what, at) in enumerate(events):
        name, is_outside = program.names[what >> 2], what >> 2 in program.outside
        before = events[n - 1][1] if n else 0
        after = events[n + 1][1] if n + 1 < len(events) else far
        if what & 3 == 0:
            stack.append(Call(name, stack[-1] if stack else None, (at, after) if is_outside else (before, at)))
            calls.append(stack[-1])
        elif what & 3 == 1:
            assert stack[-1].name == name, (name, stack[-1].path())
            ended = (before, at) if is_outside else (at, after)
            stack.pop().end = ended
            while stack and stack[-1].is_tail:
                stack.pop().end = ended
        elif what & 3 == 2:
            stack[-1].is_tail = True
        else:
            while stack[-1].name != name:
                stack.pop().end = (before, at)
    assert not stack
    return calls


Traced = collections.namedtuple("Traced", "name begin end is_inferred is_unknown parent")


def traced_of(stackcam, film, names):
    """The calls of these functions that a film has, in order of their beginnings; parent: the nearest of them."""
    told = json.loads(subprocess.run([stackcam, "replay", "--format", "chrome", film], check=True, capture_output=True,
                                     text=True, timeout=PATIENCE).stdout)
    with contextlib.closing(sqlite3.connect(film)) as database:
        start = int(database.execute("select value from meta where name = 'start'").fetchone()[0])
    calls, around = [], []
    events = [event for event in told["traceEvents"] if event["ph"] == "X"]
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        begin = start + round(event["ts"] * 1000)
        end = begin + round(event["dur"] * 1000)
        while around and around[-1][0] < end:
            around.pop()
        parent, call = next((call for _, call in reversed(around) if call), None), None
        if event["name"] in names:
            call = Traced(event["name"], begin, end, bool({"inferred", "open"} & event["args"].keys()),
                          "caller_unknown" in event["args"], parent)
            calls.append(call)
        around.append((end, call))
    return calls


def visible(call, names):
    """The nearest call around it of one of these functions."""
    call = call.parent
    while call and call.name not in names:
        call = call.parent
    return call


def faults_of(truth, traced, names):
    """What a film says of the calls of these functions that the log does not, in words."""
    truth = [call for call in truth if call.name in names]
    for n, (call, found) in enumerate(itertools.zip_longest(truth, traced)):
        if not call or not found or call.name != found.name:
            yield f"call {n}: {found and found.name} instead of {call and '/'.join(call.path())}"
            return
        where = f"call {n}, {'/'.join(call.path())}"
        parent = visible(call, names)
        if (parent and parent.name) != (found.parent and found.parent.name) and not found.is_unknown:
            yield f"{where}: below {found.parent and found.parent.name}, without a mark"
        if not call.begin[0] - MARGIN <= found.begin <= call.begin[1] + MARGIN:
            yield f"{where}: begins {found.begin - call.begin[1]} ns late"
        if found.end < call.end[0] - MARGIN:
            yield f"{where}: ends {call.end[0] - found.end} ns early{', with a mark' * found.is_inferred}"
        if found.end > call.end[1] + MARGIN and not found.is_inferred:
            yield f"{where}: ends {found.end - call.end[1]} ns late, without a mark"


def run(folder, *command):
    """A program's status and output, and its log."""
    log = Path(folder) / "log"
    log.unlink(missing_ok=True)
    done = subprocess.run([*map(str, command), log], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE)
    return (done.returncode, done.stdout), log, done.stderr


def not_traced(stackcam, path):
    """Functions that cannot be traced, which --list says."""
    listed = subprocess.run([stackcam, "trace", "--list", "--", path], capture_output=True, text=True, check=True,
                            timeout=PATIENCE).stdout
    return set(re.findall(r"^  -     -         (\w+)  \(", listed, re.MULTILINE))


def check(stackcam, seed, folder):
    """
    Makes a program and traces it in three ways: each fault in words, and how many calls were looked at, and marked.
    Nothing was, if the compiler has made a program that fails by itself.
    """
    program, faults, looked = Program(seed), [], collections.Counter()
    path = program.build(folder)
    plain, _, _ = run(folder, path)
    if plain[0] or plain != run(folder, path)[0]:
        return [], looked
    names = set(program.names.values()) - not_traced(stackcam, path)
    some = set(random.Random(seed).sample(sorted(names), len(names) // 2))
    film = Path(folder) / "calls.film"

    def trace(way, *options):
        ended, log, words = run(folder, stackcam, "trace", *options, "--", path)
        if (ended[0], ended[1]) != plain:
            faults.append(f"{way}: {ended} instead of {plain}: {words[:500]}")
            return None
        if "nothing lost" not in words:
            faults.append(f"{way}: {words[-500:]}")
        return log_of(program, log)

    ways = {"all functions": (names, []), "some functions": (some, [word for name in sorted(some) for word in ("-f", name)])}
    for way, (wanted, options) in ways.items():
        truth = trace(way, "-o", film, *options)
        if truth:
            traced = traced_of(stackcam, film, wanted)
            looked.update(calls=len(traced), ends=sum(call.is_inferred for call in traced),
                          callers=sum(call.is_unknown for call in traced))
            faults += [f"{way}: {fault}" for fault in faults_of(truth, traced, wanted)][:5]
    truth = trace("sums", "-o", film, "--summary")
    if truth:
        counts = collections.Counter(call.name for call in truth if call.name in names)
        told = json.loads(subprocess.run([stackcam, "report", "--format", "json", film], capture_output=True, text=True,
                                         check=True, timeout=PATIENCE).stdout)["functions"]
        found = {function["name"]: function["calls"] for function in told if function["name"] in names}
        if found != counts:
            faults.append(f"sums: {found} instead of {dict(counts)}")
    return faults, looked
