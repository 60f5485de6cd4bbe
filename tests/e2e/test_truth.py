# SPDX-License-Identifier: Apache-2.0
"""Are the stacks, the names and the shares true? The programs' truth is known by construction."""

import pytest

from harness import name_of, needs_root, running

pytestmark = needs_root

CHAIN = tuple(f"c{i}" for i in range(1, 31))

# Of all samples, these may miss: the dynamic linker's before main, the exit's after it.
NEARLY_ALL = 0.98
COMPLETE = 0.995


def assert_split(film, points=2, wanted=(("f70", 70), ("f20", 20), ("f10", 10))):
    shares = film.total_shares(name for name, _ in wanted)
    for name, percent in wanted:
        assert film.near(shares[name], percent / 100, points / 100), film.explain()


@pytest.mark.parametrize("variant", [
    "split", "split-o0", "split-pie", "split-no-pie", "split-static", "split-static-pie",
    "split-lto", "split-compressed", "split-debug",
])
def test_split_of_time(lab, variant):
    film = lab.film_program(variant, seconds=1)
    assert_split(film)
    assert film.user_share(lambda stack: stack.has("main", "work")) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


@pytest.mark.parametrize("variant", ["split-musl", "split-musl-static"])
def test_split_of_time_with_musl(lab, variant):
    """musl itself has no unwind tables, so nothing is said of the frames above main."""
    film = lab.film_program(variant, seconds=1)
    assert_split(film)
    assert film.user_share(lambda stack: stack.has("main", "work")) > NEARLY_ALL, film.explain()


def test_stripped_program_has_stacks_but_no_invented_names(lab):
    film = lab.film_program("split-stripped")
    assert film.complete() >= COMPLETE, film.explain()
    own = [function["name"] for function in film.json()["functions"]
           if function["image"].endswith("split-stripped")]
    assert own, film.explain()
    # Only dynamic symbols are left, and none of them is a function of the program itself.
    assert all("+0x" in name for name in own), own


def test_attaching_finds_the_same(lab):
    with running(lab.program("split"), 20) as program:
        film = lab.record("-d", 2, "-p", program.pid)
    assert_split(film)
    assert film.complete() >= COMPLETE, film.explain()
    assert film.user_share(lambda stack: stack.has("main", "work")) > NEARLY_ALL, film.explain()


def test_time_adds_up_to_the_clock(lab):
    """One thread has no more on-cpu time than has passed, and the functions share all of it."""
    answer = lab.film_program("split", seconds=1).json()
    assert answer["event"]["name"] == "on-cpu"
    assert answer["event"]["unit"] == "ns"
    assert 0.3e9 < answer["event"]["total"] < 2.2e9, answer["event"]
    functions = sum(function["self"] for function in answer["functions"])
    assert functions == answer["event"]["total"]


def test_900_frames(lab):
    film = lab.film_program("deep")

    def whole(stack):
        return (len(stack.find("deep")) == 900 and
                stack.has("main", *["deep"] * 900, "deep_leaf"))

    assert film.user_share(whole) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_more_frames_than_fit_are_a_counted_cut(lab):
    film = lab.film_program("deep", 9000)
    # on a busy machine it takes its time until it is that deep
    deep = film.share(lambda stack: stack.has("deep_leaf"))
    assert deep > 0.9, film.explain()
    assert film.share(lambda stack: stack.has("deep", "deep", "deep_leaf")) > NEARLY_ALL * deep
    stacks = film.json()["stacks"]
    assert stacks["truncated"] / stacks["samples"] > NEARLY_ALL * deep, film.explain()


def through_the_signal(stack):
    return (stack.has("main", "raiser") and stack.has("on_raise", "handler_leaf") and
            stack.index("raiser") < stack.index("on_raise"))


def test_signal_handler(lab):
    film = lab.film_program("signal", "raise")
    assert film.user_share(through_the_signal) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_signal_handler_on_its_own_stack(lab):
    """In a program's first milliseconds, while its tables are being made, stacks are finished from
    a copy, which does not reach from one stack to the other. Later ones are whole."""
    film = lab.film_program("signal", "altstack")
    assert film.share(through_the_signal) > 0.9, film.explain()
    assert film.user_share(through_the_signal, "--from", "0.5s") > NEARLY_ALL, film.explain()
    assert film.complete("--from", "0.5s") >= COMPLETE, film.explain()


def test_signal_between_any_two_instructions(lab):
    film = lab.film_program("signal", "timer")

    def through_the_signal(stack):
        return stack.has("main", "interrupted") and stack.has("on_timer", "handler_leaf")

    assert 0.2 < film.share(through_the_signal) < 0.8, film.explain()
    assert film.user_share(lambda stack: "interrupted" in stack) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_signal_storm(lab):
    film = lab.film_program("signal_storm")
    assert film.user_share(lambda stack: stack.has("main", "storm_body")) > NEARLY_ALL, film.explain()
    assert film.share(lambda stack: "storm_handler" in stack) > 0.05, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_alloca(lab):
    film = lab.film_program("alloca")
    whole = ("main", *["sized"] * 40, "alloca_leaf")
    assert film.user_share(lambda stack: stack.has(*whole)) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


@pytest.mark.parametrize("program", ["omit", "fp"])
def test_order_of_30_functions(lab, program):
    film = lab.film_program(program)
    assert film.user_share(lambda stack: stack.has("main", *CHAIN)) > NEARLY_ALL, film.explain()
    wrong = film.share(lambda stack: "c30" in stack and not stack.has("main", *CHAIN))
    assert wrong == 0, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_tail_call(lab):
    film = lab.film_program("tailcall")
    whole = ("main", "tail_outer", "tail_second")
    assert film.user_share(lambda stack: stack.has(*whole)) > NEARLY_ALL, film.explain()
    # tail_first is never a caller, it may be a leaf for the instant before its jump.
    assert film.share(lambda stack: stack.has("tail_first", "tail_second")) == 0, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_threads_by_name(lab):
    film = lab.film_program("threads", seconds=1)
    shares = film.self_shares()
    lines = film.recording.stdout.splitlines()
    used = {name: int(time) for name, time in (line.split() for line in lines if " " in line)}
    total = film.json()["event"]["total"]
    assert abs(total / sum(used.values()) - 1) < 0.03, (total, used)
    for i in range(4):
        truth = used[f"thread_{i}"] / sum(used.values())
        assert film.near(shares[f"thread_{i}"], truth, 0.02), film.explain()
    for i in range(4):
        own = film.folded("--comm", f"worker-{i}")
        total = sum(value for _, value in own)
        named = sum(value for stack, value in own if f"thread_{i}" in stack)
        # A thread's first moments carry the name that it was born with.
        assert total > 0 and named / total > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_assembly_without_tables_but_with_a_frame_pointer(lab):
    film = lab.film_program("nocfi", "fp")
    whole = ("main", "before_assembly", "nocfi_with_frame_pointer", "after_assembly")
    assert film.user_share(lambda stack: stack.has(*whole)) > NEARLY_ALL, film.explain()


def test_assembly_without_any_way_back_invents_nothing(lab):
    film = lab.film_program("nocfi", "bare")
    known = ("nocfi_bare", "after_assembly")
    assert film.user_share(lambda stack: stack.has(*known)) > NEARLY_ALL, film.explain()
    callers = set()
    for stack, _ in film.folded():
        if stack.has(*known):
            callers.update(stack[:stack.index("nocfi_bare")])
    allowed = ("main", "before_assembly", "_start", "[truncated", "__libc_start")
    assert all(caller.startswith(allowed) or "libc" in caller for caller in callers), callers


@pytest.mark.parametrize("kind", ["rounded", "stored", "unnamed"])
def test_assembly_without_tables_that_only_its_code_explains(lab, kind):
    film = lab.film_program("nocfi", kind)
    callers = ("main", "before_assembly")
    assert film.share(lambda stack: stack.has(*callers) and "after_assembly" in stack) > NEARLY_ALL, \
        film.explain()
    assert film.complete() >= COMPLETE, film.explain()
    stacks = film.json()["stacks"]
    assert stacks["guessed"] >= 0.9 * stacks["samples"], film.explain()


@pytest.mark.parametrize("rbp", [0, 7])
def test_what_is_in_rbp_makes_no_stack_complete(lab, rbp):
    film = lab.film_program("rbp", rbp)
    stacks = film.json()["stacks"]
    assert film.self_shares()["[jit]"] > 0.9, film.explain()
    assert stacks["complete"] < 0.1 * stacks["samples"], film.explain()
    assert stacks["reasons"]["no unwind information and no frame pointer"] > 0.9 * stacks["samples"]


def test_coroutine_on_its_own_stack(lab):
    film = lab.film_program("coroutine")
    shares = film.self_shares()
    assert film.near(shares["coroutine_leaf"], 0.75, 0.03), film.explain()
    assert film.near(shares["main_side"], 0.25, 0.03), film.explain()

    def apart(stack):
        return stack.has("coroutine_main", "coroutine_leaf") and "main" not in stack

    assert film.share(apart) > 0.7, film.explain()
    # it begins at glibc's __start_context, of which the tables of 2.36 do not say so
    assert film.complete() >= COMPLETE, film.explain()
    callers = {name for stack, _ in film.folded() if "coroutine_main" in stack
               for name in stack[:stack.index("coroutine_main")]}
    assert all(name.startswith(("__start_context", "libc.so.6+0x")) for name in callers), callers


def test_ifunc(lab):
    film = lab.film_program("ifunc")
    assert film.user_share(lambda stack: stack.has("main", "ifunc_chosen")) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


@pytest.mark.parametrize("program", ["plt", "plt-lazy", "plt-ibt"])
def test_procedure_linkage_table(lab, program):
    film = lab.film_program(program)
    assert film.user_share(lambda stack: stack.has("main", "plt_loop")) > NEARLY_ALL, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_vdso(lab):
    film = lab.film_program("vdso")

    def below_ask_time(stack):
        return stack.has("main", "ask_time") and name_of(stack[-1]) != "ask_time"

    assert film.share(below_ask_time) > 0.9, film.explain()
    assert film.share(lambda stack: any("vdso" in frame for frame in stack)) > 0.5, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


def test_kernel_above_user(lab):
    film = lab.film_program("kernel_read")

    def in_the_kernel(stack):
        if not stack.has("main", "read_zero"):
            return False
        below = stack[stack.index("read_zero") + 1:]
        return any(frame.startswith("vfs_read") for frame in below)

    assert film.share(in_the_kernel) > 0.8, film.explain()
    assert film.complete() >= COMPLETE, film.explain()
    kinds = {function["kind"] for function in film.json()["functions"]}
    assert {"kernel", "native"} <= kinds


def test_only_user_or_only_kernel(lab):
    user = lab.film_program("split", options=("--user-only",))
    assert {f["kind"] for f in user.json()["functions"]} <= {"native", "mark"}, user.explain()
    assert user.share(lambda stack: "work" in stack) > NEARLY_ALL, user.explain()
    kernel = lab.film_program("kernel_read", options=("--kernel-only",))
    kinds = {f["kind"] for f in kernel.json()["functions"]}
    assert "kernel" in kinds and "native" not in kinds, kernel.explain()


def test_cxx_names_and_exceptions(lab):
    film = lab.film_program("names")
    shares = film.self_shares()
    for name in ("outer::inner::Box<int>::turn", "outer::inner::Box<double>::turn",
                 "outer::thrower"):
        share = sum(value for function, value in shares.items() if function.endswith(name))
        assert film.near(share, 1 / 3, 0.05), film.explain()

    def as_written(stack):
        names = [name_of(frame).split(" ")[-1] for frame in stack]
        return "outer::thrower" in names and \
            names[names.index("outer::thrower") - 1] == "outer::passed"

    assert film.share(as_written) > 0.28, film.explain()
    assert film.complete() >= COMPLETE, film.explain()


@pytest.mark.parametrize("attach", [False, True])
def test_jit_code_with_a_perf_map(lab, attach):
    """Code without tables but with frame pointers, in the midst of compiled frames."""
    if attach:
        with running(lab.program("jit"), 20) as program:
            film = lab.record("-d", 1, "-p", program.pid)
    else:
        film = lab.film_program("jit")
    whole = ("main", "run_jitted", "jit_outer", "jit_alpha")
    assert film.share(lambda stack: stack.has(*whole)) > 0.95, film.explain()
    kinds = {f["name"]: f["kind"] for f in film.json()["functions"]}
    assert kinds["jit_alpha"] == "jit" and kinds["run_jitted"] == "native"


def test_jit_code_without_a_map(lab):
    film = lab.film_program("jit", "nomap")
    assert film.share(lambda stack: stack.has("main", "run_jitted")) > 0.95, film.explain()
    assert film.share(lambda stack: "jit_alpha" in stack) == 0


def test_lines_and_inlined_functions(lab):
    film = lab.film_program("split", options=("--lines", "--inlines"))
    inlined = film.share(lambda stack: stack.has("f70", "spin"), "--inlines")
    assert film.near(inlined, 0.7, 0.05), film.report("--format", "folded", "--inlines").stdout
    lines = film.report("--format", "folded", "--lines").stdout
    assert "split.c:" in lines or "program.h:" in lines, lines
