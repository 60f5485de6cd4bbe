# SPDX-License-Identifier: Apache-2.0
"""Rust: stacks are complete, and names are those that a Rust programmer wrote.

Films of tests/programs/rust.rs, built by this machine's rustc with its usual names, with the newer kind
(v0), stripped with a separate debug file, and with panics that abort.
"""

import re
import subprocess

import pytest

from harness import needs_root, spare_versions

pytestmark = needs_root

spare = spare_versions("build", ("rust-debug", "rust-abort"), ("test_shares", "test_shapes"))
BUILDS = ["rust", "rust-v0", "rust-debug", "rust-abort"]

# What mangled names end with, and what says that they are mangled.
UNREADABLE = re.compile(r"::h[0-9a-f]{16}\b|^_ZN|^_R[A-Z]|\$LT\$|\$u7b\$|\[[0-9a-f]{8,}\]|\.llvm\.")


def film_of(lab, build, *arguments, options=()):
    film = lab.film_program(build, *arguments, options=options, seconds=2)
    film.assert_whole()
    names = {frame for stack, _ in film.folded() for frame in stack}
    mangled = sorted(name for name in names if UNREADABLE.search(name))
    assert not mangled, mangled
    return film


def is_async_fn(frame, name):
    """Whether a frame is the poll() of an async fn: the closure that it becomes, or in older releases a
    function of the standard library for it."""
    return re.search(rf"\brust::{name}::\{{+closure(#0)?\}}+(>|$)", frame) is not None


def has_all(stack, wanted):
    """Whether frames that the functions of wanted accept follow one another in it, with others between."""
    frames = iter(stack)
    return all(any(accepts(frame) for frame in frames) for accepts in wanted)


@pytest.mark.parametrize("build", BUILDS)
def test_shares(lab, build):
    film = film_of(lab, build)
    for name, share in {"rust::f70": 0.7, "rust::f20": 0.2, "rust::f10": 0.1}.items():
        measured = film.share(lambda stack, name=name: stack.has("rust::split", name))
        assert film.near(measured, share, 0.05), f"{name}: {measured}\n{film.explain()}"
    # threads begin in the standard library, whose frames stay
    assert film.share(lambda stack: any("__rust_begin_short_backtrace" in frame
                                        for frame in stack)) > 0.9, film.explain()


@pytest.mark.parametrize("build", BUILDS)
def test_deep_recursion(lab, build):
    film = film_of(lab, build, "deep")
    deepest = max(len(stack.find("rust::dig")) for stack, _ in film.folded())
    assert deepest == 501, film.explain()
    assert film.share(lambda stack: len(stack.find("rust::dig")) == 501) > 0.9, film.explain()


@pytest.mark.parametrize("build", ["rust", "rust-v0", "rust-debug"])
def test_panics(lab, build):
    """Destructors run while a panic unwinds, on top of the frames that it passes."""
    film = film_of(lab, build, "panics")
    drop = "<rust::Guard as core::ops::drop::Drop>::drop"
    assert film.share(lambda stack: stack[-1] == drop or drop in stack) > 0.7, film.explain()
    unwinding = film.share(lambda stack: drop in stack and "rust::catches" in stack and
                           "rust::panics" in stack)
    assert unwinding > 0.7, film.explain()
    assert film.share(lambda stack: stack.has("rust::catches", "rust::f10")) > 0.02, film.explain()


@pytest.mark.parametrize("build", BUILDS)
def test_async(lab, build):
    """What an async fn awaits is above it on the stack, each with its own name."""
    film = film_of(lab, build, "async", options=("--inlines",))
    chain = ([lambda frame: frame.startswith("rust::block_on")] +
             4 * [lambda frame: is_async_fn(frame, "outer")] +
             [lambda frame: is_async_fn(frame, "middle"),
              lambda frame: is_async_fn(frame, "innermost")])
    assert film.share(lambda stack: has_all(stack, chain), "--inlines") > 0.9, \
        film.report("--format", "folded", "--inlines").stdout
    if build in ("rust-v0", "rust-debug"):
        # these names tell of what they are generic, so that it needs no source lines
        assert film.share(lambda stack: has_all(stack, chain)) > 0.9, film.explain()


@pytest.mark.parametrize("build", BUILDS)
def test_shapes(lab, build):
    """Trait objects, generics and closures."""
    film = film_of(lab, build, "shapes")
    area = "<rust::shapes::Square as rust::shapes::Shape>::area"
    assert film.share(lambda stack: area in stack) > 0.5, film.explain()
    names = {frame for stack, _ in film.folded() for frame in stack}
    if any(name.startswith("<rust::shapes::Pair<A,B>") for name in names):
        # as it was: parameters have no values
        assert "<rust::shapes::Pair<A,B> as rust::shapes::Shape>::area" in names
        assert "rust::shapes::Pair<A,B>::visit" in names
        assert "rust::shapes::Shape::doubled" in names
    else:
        square = "rust::shapes::Square"
        pair = f"rust::shapes::Pair<{square}, {square}>"
        assert f"<{pair} as rust::shapes::Shape>::area" in names
        assert f"<{square} as rust::shapes::Shape>::doubled" in names
        assert any(name.startswith(f"<rust::shapes::Pair<{square}, u8>>::visit::<")
                   for name in names)


def test_names_are_those_of_binutils(lab):
    """nm -C demangles with the same rules, but for the hashes."""
    film = film_of(lab, "rust-v0", "shapes")
    listed = subprocess.run(["nm", "-C", lab.program("rust-v0")], check=True, text=True,
                            capture_output=True).stdout
    known = {re.sub(r"(?<=\w)\[[0-9a-f]{5,16}\]", "", line.split(maxsplit=2)[-1])
             for line in listed.splitlines()}
    ours = {function["name"] for function in film.json()["functions"]
            if function["image"].endswith("/rust-v0")}
    assert ours and ours <= known, ours - known
