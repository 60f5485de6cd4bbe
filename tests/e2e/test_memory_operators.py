# SPDX-License-Identifier: Apache-2.0
"""
mem-alloc and mem-inuse of C++ under allocators that have operators of their own, which do not call malloc(): preloaded by the
user, by the command itself, and linked.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

import suites
from harness import PATIENCE, Film, needs_root, wait_until

pytestmark = needs_root

SOURCE = """
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>
struct one { char bytes[200]; };
struct alignas(64) wide { char bytes[256]; };
static std::vector<void *> kept;
template <class F> static void times(F f) { for (int i = 0; i < 5000; i++) kept.push_back(f()); }
#define BY(name, what) __attribute__((noinline)) static void *name() { char *p = (char *)(what); *p = 1; return p; }
BY(by_new, new one)
BY(by_array, new char[200])
BY(by_nothrow, new (std::nothrow) one)
BY(by_aligned, new wide)
BY(by_malloc, malloc(200))
BY(by_realloc, realloc(malloc(8), 200))
/* until stackcam knows the program: the first stacks of a process may be cut */
__attribute__((noinline)) static void knock() { for (int i = 0; i < 100; i++) { one *p = new one; asm volatile("" :: "r"(p) : "memory"); delete p; } }
__attribute__((noinline)) static void by_gone() { for (int i = 0; i < 5000; i++) { one *p = new one; asm volatile("" :: "r"(p) : "memory"); delete p; } }
int main(int count, char **)
{
	kept.reserve(50000);
	while (getchar() == 'k') { getchar(); knock(); puts("done"); fflush(stdout); }
	times(by_new); times(by_array); times(by_nothrow); times(by_aligned); times(by_malloc); times(by_realloc);
	by_gone();
	if (count == 1) try { kept.push_back(new char[1ul << 60]); } catch (const std::bad_alloc &) { puts("thrown"); }
	fflush(stdout);
	_Exit(0);
}
"""
HELD = {"by_new": 1000000, "by_array": 1000000, "by_nothrow": 1000000, "by_aligned": 1280000, "by_malloc": 1000000, "by_realloc": 1000000}
MADE = {**HELD, "by_realloc": 1040000, "by_gone": 1000000}
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = {"glibc": None, "jemalloc": ("libjemalloc.so.2", "libjemalloc2"), "mimalloc": ("libmimalloc.so.2", "libmimalloc2.0"),
              "tcmalloc": ("libtcmalloc.so.4", "libgoogle-perftools4"), "tcmalloc_minimal": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4")}
# The sampled way, too: each function is about 1000 samples of 1 kB.
WAYS = {"exactly": ("--exact",), "sampled": ("--mem-interval", 1000)}


def library_of(lab, allocator):
    if not ALLOCATORS[allocator]:
        return None
    name, package = ALLOCATORS[allocator]
    if (LIBRARIES / name).exists():
        return LIBRARIES / name
    root = suites.unpacked(lab.suites, "bookworm", package)
    return root / (LIBRARIES / name).relative_to("/")


def check(film, event, truth, is_exact):
    folded = film.folded("-e", event)
    got = {name: sum(value for stack, value in folded if any(name in frame for frame in stack)) for name in truth}
    # of what stackcam knows, hardly a stack is cut: on a busy machine, some may find no room
    cut = sum(value for stack, value in folded if stack[0].startswith("[truncated: ") and not stack.has("knock()"))
    assert cut < 0.02 * sum(truth.values()), film.explain()
    for name, bytes_ in truth.items():
        # five standard errors
        error = 0 if is_exact else 5 * (1000 * bytes_) ** 0.5
        assert -error - cut <= got[name] - bytes_ <= error, (event, name, got, film.explain())


def compiled(folder, *words):
    (folder / "ways.cc").write_text(SOURCE)
    subprocess.run(["g++", "-std=c++17", "-O1", "-fno-builtin", "-o", folder / "ways", folder / "ways.cc", *words], check=True)
    return folder / "ways"


def words_of(allocator):
    """mimalloc, being compiled as C, aborts where others throw."""
    return ["no more"] if allocator == "mimalloc" else []


def knock(film, process):
    """Lets the program allocate until the film has whole stacks of that (names come later)."""
    def is_known():
        process.stdin.write("k\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        done = film.path.exists() and film.report("-e", "mem-alloc", "--format", "json", check=False)
        return done and done.returncode == 0 and json.loads(done.stdout)["stacks"]["complete"] >= 100
    assert wait_until(is_known), film.explain()


def film_of(lab, options, command, environment, says=""):
    path = lab.new_film()
    with subprocess.Popen([lab.stackcam, "record", "-q", *map(str, options), "-o", path, "--", *command], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment}) as process:
        film = Film(lab.stackcam, path)
        knock(film, process)
        out, _ = process.communicate("go\n", timeout=PATIENCE)
    assert process.returncode == 0 and out == says, (process.returncode, out)
    return film


def record(lab, how, command, environment, throws=True):
    film = film_of(lab, ("-e", "mem-alloc,mem-inuse", *WAYS[how]), command, environment, "thrown\n" if throws else "")
    for event, truth in (("mem-alloc", MADE), ("mem-inuse", HELD)):
        check(film, event, truth, how == "exactly")
        loss = film.json("-e", event)["loss"]
        assert all(reason.startswith("stack cut: ") for reason in loss), film.explain()


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_preloaded_by_the_user(lab, tmp_path, allocator, how):
    library = library_of(lab, allocator)
    record(lab, how, [compiled(tmp_path), *words_of(allocator)], {"LD_PRELOAD": str(library)} if library else {},
           allocator != "mimalloc")


@pytest.mark.parametrize("by", ["env", "sh"])
def test_preloaded_by_the_command(lab, tmp_path, by):
    library, program = library_of(lab, "jemalloc"), compiled(tmp_path)
    record(lab, "exactly", {"env": ["env", f"LD_PRELOAD={library}", program],
                            "sh": ["sh", "-c", f"LD_PRELOAD={library} {program}; true"]}[by], {})


@pytest.mark.parametrize("allocator", [name for name in ALLOCATORS if ALLOCATORS[name]])
def test_linked(lab, tmp_path, allocator):
    library = library_of(lab, allocator)
    program = compiled(tmp_path, "-Wl,--no-as-needed", library, f"-Wl,-rpath,{library.parent}")
    record(lab, "exactly", [program, *words_of(allocator)], {}, allocator != "mimalloc")


# Archives of allocators, whole: what is in them counts, called or not.
ARCHIVES = {"glibc": ("-static",), "jemalloc": ("libjemalloc.a", "-lpthread", "-ldl"),
            "tcmalloc_minimal": ("-Wl,--whole-archive", "libtcmalloc_minimal.a", "-Wl,--no-whole-archive", "-lpthread")}


@pytest.mark.parametrize("allocator", ARCHIVES)
def test_linked_statically(lab, tmp_path, allocator):
    """
    Probes stand in the program, at operators that do their work themselves: those of libstdc++ have malloc() do it, and nothing
    counts twice. What is given back is not seen, and the film says so. Nor is anything of a static program without symbols.
    """
    words = [str(LIBRARIES / word) if word.endswith(".a") else word for word in ARCHIVES[allocator]]
    if not all(Path(word).exists() for word in words if word.endswith(".a")):
        pytest.skip(f"{allocator} is not here to be linked")
    program = compiled(tmp_path, *words)
    options = ("-e", "mem-alloc,mem-inuse", "--exact", "--mem-budget", 100)
    film = film_of(lab, options, [program, "no more"], {})
    # the old block of a realloc() is not seen to be given back, but it was allocated
    check(film, "mem-alloc", MADE, True)
    assert "memory in use of a process not known: its free() is not probed" in film.json("-e", "mem-inuse")["loss"]
    if allocator == "glibc":
        subprocess.run(["strip", program], check=True)
        film = lab.record("-e", "mem-alloc", "--", program, "no more")
        assert any("being linked statically" in reason for reason in film.json("-e", "mem-alloc")["loss"]), film.explain()
