# SPDX-License-Identifier: Apache-2.0
"""Programs without symbols: what is unnamed is one row for each function, and true."""

import shutil
import subprocess

import pytest

from harness import needs_root, skip_where_not_executed

pytestmark = needs_root

SHARES = (("f70", 70), ("f20", 20), ("f10", 10))


def symbols(program):
    """Name of each function of a program that has symbols to its address."""
    lines = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    return {name: int(address, 16) for address, kind, name in
            (line.split() for line in lines.splitlines() if line[:1] != " ") if kind in "tTwW"}


def places(lab, image, twin="split", guess=""):
    """How the functions of a program are called in an image that has the same code and no symbols."""
    return {name: f"{image}+{address:#x}{guess}" for name, address in
            symbols(lab.program(twin)).items()}


def own_shares(film, image):
    """Self and total shares (0 to 1) of the functions of an image, by name."""
    answer = film.json()
    total = answer["event"]["total"]
    return {function["name"]: (function["self"] / total, function["total"] / total)
            for function in answer["functions"] if function["image"].endswith("/" + image)}


@pytest.fixture(scope="module")
def film(shared_lab):
    return shared_lab.film_program("split-stripped", seconds=1)


def test_one_row_for_each_function(lab, film):
    place = places(lab, "split-stripped")
    shares = own_shares(film, "split-stripped")
    wanted = {place[name]: percent for name, percent in SHARES}
    # main may be hit, too, in the instants between its calls
    rows = {name for name, (self, _) in shares.items() if self > 0.01}
    assert rows == set(wanted), (place, shares, film.explain())
    for name, percent in wanted.items():
        assert film.near(shares[name][0], percent / 100, 0.02), (name, shares, film.explain())
    # whoever called them begins where a function begins, too
    callers = {name for name, (_, total) in shares.items() if total > 0.005}
    assert place["main"] in callers and callers <= set(place.values()), callers


def test_stacks_of_functions(lab, film):
    place = places(lab, "split-stripped")
    chain = tuple(place[name] for name in ("main", "work", "f70"))
    assert film.near(film.share(lambda stack: stack.has(*chain)), 0.7, 0.02), film.explain()
    stacks = [stack for stack, _ in film.folded() if stack[-1] == place["f70"]]
    assert len(stacks) == 1, stacks


def test_the_same_function_in_two_films(lab, film):
    """Samples fall on other addresses each time, yet a function is compared with itself."""
    other = lab.film_program("split-stripped", seconds=1)
    done = lab.run("diff", "--fail-above", "4", film.path, other.path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert places(lab, "split-stripped")["f70"] in done.stdout, done.stdout


def test_resolve_names_them_later(lab, tmp_path):
    shutil.copy(lab.program("split-debug"), tmp_path / "split-debug")
    film = lab.record("--", tmp_path / "split-debug", 1)
    place = places(lab, "split-debug")
    assert own_shares(film, "split-debug")[place["f70"]][0] > 0.6, film.explain()

    # its debug link names this file
    shutil.copy(lab.program("split-debug.debug"), tmp_path)
    done = lab.run("resolve", "--no-debuginfod", film.path)
    assert done.returncode == 0, done.stderr
    shares = own_shares(film, "split-debug")
    assert shares["f70"][0] > 0.6 and place["f70"] not in shares, film.explain()


def test_neither_symbols_nor_unwind_information(shared_lab):
    """Where functions begin is found by decoding them, and marked as a guess."""
    film = shared_lab.film_program("split-musl-bare-stripped", seconds=1)
    place = places(shared_lab, "split-musl-bare-stripped", "split-musl-bare", guess="~")
    shares = own_shares(film, "split-musl-bare-stripped")
    rows = {name for name, (self, _) in shares.items() if self > 0.005}
    assert rows == {place[name] for name, _ in SHARES}, film.explain()
    for name, percent in SHARES:
        # with its interrupts, which are many on a busy machine
        assert film.near(shares[place[name]][1], percent / 100, 0.03), film.explain()


def test_a_symbol_without_a_size_is_a_whole_function(shared_lab):
    film = shared_lab.film_program("musl_copy", seconds=1)
    shares = own_shares(film, "libc.so")
    # with its interrupts; the rest is the loop that calls it
    caller = own_shares(film, "musl_copy")["main"][0]
    assert caller < 0.2 and shares["memcpy"][1] + caller > 0.95, film.explain()
    assert [name for name, (self, _) in shares.items() if self > 0.005] == ["memcpy"], film.explain()


NEIGHBOURS = """
	.text
	.type nothing, @function
nothing: ret
	.type object, @object
object:
	mov $200000000, %ecx
1:	dec %ecx
	jnz 1b
	jmp *%r14
	.p2align 4
	.type sized, @function
sized:
	mov $100000000, %ecx
1:	dec %ecx
	jnz 1b
	jmp *%r12
	.size sized, . - sized
	.quad 0x0000000100000004, 0x1b, 0x2aa70000
nameless:
	mov $700000000, %ecx
2:	dec %ecx
	jnz 2b
	jmp *%r13
	.p2align 4
	.globl main
	.type main, @function
main:
	push %r12
	push %r13
	push %r14
	lea place(%rip), %rax
	mov (%rax), %r12
	lea back(%rip), %r13
	lea next(%rip), %r14
	jmp object
next:	jmp sized
back:	pop %r14
	pop %r13
	pop %r12
	xor %eax, %eax
	ret
	.size main, . - main
	.data
place:	.quad nameless
	.section .note.GNU-stack, "", @progbits
"""


def test_nobody_gets_the_time_of_a_neighbour_without_a_name(lab, tmp_path):
    """Data lie between, the size of a symbol counts, and what is called an object is one, too."""
    (tmp_path / "near.S").write_text(NEIGHBOURS)
    subprocess.run(["cc", "-o", "whole", "near.S"], cwd=tmp_path, check=True)
    subprocess.run(["objcopy", "-N", "nameless", "whole", "near"], cwd=tmp_path, check=True)
    film = lab.record("--", tmp_path / "near")
    selfs = {function["name"]: function["self"] for function in film.json()["functions"]}
    total = sum(selfs.values())
    of = {name: selfs.get(name, 0) / total for name in ("nothing", "object", "sized", "main")}
    assert of["nothing"] == of["main"] == 0, selfs
    assert 0.1 < of["object"] < 0.3 and 0.04 < of["sized"] < 0.2, selfs
    unnamed = sum(value for name, value in selfs.items() if name.startswith("near+0x"))
    assert 0.5 < unnamed / total < 0.85, selfs


def test_of_a_32_bit_program_the_leaf_is_known(shared_lab):
    skip_where_not_executed(shared_lab.program("compat"))
    film = shared_lab.record("--", shared_lab.program("compat"))
    stacks = {stack: value for stack, value in film.folded() if "[kernel]" not in stack}
    whole = sum(stacks.values())
    assert whole and stacks.get(("[truncated: 32-bit programs are not unwound]", "leaf"), 0) > 0.8 * whole, stacks
    assert own_shares(film, "compat")["leaf"][0] > 0.7
    assert "32-bit programs are not unwound" in film.report().stdout


SPLIT_DWARF = """
static inline __attribute__((always_inline)) int inner(int x) { for (int i = 0; i < 1000; i++) x = x * 3 + i; return x; }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
int main(void) { volatile int sum = 0; for (int i = 0; i < 500000; i++) sum += outer(sum); }
"""


def compile_split(folder, *options):
    """Makes "program" of program.c, and program.dwo."""
    (folder / "program.c").write_text(SPLIT_DWARF)
    subprocess.run(["gcc", "-g", "-gsplit-dwarf", *options, "-c", "program.c"], cwd=folder, check=True)
    subprocess.run(["gcc", "program.o", "-o", "program"], cwd=folder, check=True)
    assert (folder / "program.dwo").exists()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("where", ["beside", "where it was compiled"])
def test_inlined_functions_in_other_files(lab, tmp_path, version, where):
    """-gsplit-dwarf leaves them in .dwo files."""
    compile_split(tmp_path, "-O2", f"-gdwarf-{version}")
    moved = tmp_path / "moved"
    moved.mkdir()
    (tmp_path / "program").rename(moved / "program")
    if where == "beside":
        (tmp_path / "program.dwo").rename(moved / "program.dwo")
    film = lab.record("--inlines", "--", moved / "program")
    assert not any("dwo" in loss for loss in film.json()["loss"]), film.explain()
    assert film.share(lambda stack: stack.has("main", "outer", "inner"), "--inlines") > 0.9, film.explain()


@pytest.mark.parametrize("other", [False, True])
def test_inlined_functions_in_files_that_are_gone_are_a_loss(lab, tmp_path, other):
    """The function is right, and what is missing is said. Nor is another program's file taken for the one that is gone."""
    compile_split(tmp_path, "-O2")
    (tmp_path / "program").rename(tmp_path / "kept")
    (tmp_path / "program.dwo").unlink()
    if other:
        compile_split(tmp_path, "-O1")
    film = lab.record("--inlines", "--", tmp_path / "kept")
    reasons = film.json()["loss"]
    assert reasons.get("inlined functions of places: in .dwo files, which are not there", 0) >= 1, reasons
    assert film.share(lambda stack: stack.has("main", "outer") and "inner" not in stack, "--inlines") > 0.9
