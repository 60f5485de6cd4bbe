# SPDX-License-Identifier: Apache-2.0
"""Stacks of waits in six languages: whole, with the functions that wait."""

import os
import shutil
import subprocess

import pytest

from harness import PATIENCE, go_built, needs_root, running

pytestmark = needs_root

# Each waits 2 ms, again and again, below a function that another one calls, and says when it begins.
JAVA = """
public class Waits {
    static void inner() throws InterruptedException { Thread.sleep(2); }
    static void outer() throws InterruptedException { System.out.println("ready"); for (;;) inner(); }
    public static void main(String[] arguments) throws InterruptedException { outer(); }
}
"""

PYTHON = """
import time
def inner(): time.sleep(0.002)
def outer():
    print("ready", flush=True)
    while True: inner()
outer()
"""

NODE = """
const word = new Int32Array(new SharedArrayBuffer(4));
function inner() { Atomics.wait(word, 0, 0, 2); }
function outer() { require("fs").writeSync(1, "ready\\n"); for (;;) inner(); }
outer();
"""

GO = """
package main

import (
	"os"
	"syscall"
)

//go:noinline
func inner() {
	wait := syscall.Timespec{Nsec: 2000000}
	syscall.Nanosleep(&wait, nil)
}

//go:noinline
func outer() {
	os.Stdout.WriteString("ready\\n")
	for {
		inner()
	}
}

func main() { outer() }
"""

RUST = """
#[inline(never)]
fn inner() { std::thread::sleep(std::time::Duration::from_millis(2)); std::hint::black_box(()); }
#[inline(never)]
fn outer() { println!("ready"); loop { inner(); } }
fn main() { outer(); }
"""

C = """
#include <stdio.h>
#include <time.h>
static __attribute__((noinline)) void inner(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, 0);
	__asm__("");
}
static __attribute__((noinline)) void outer(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		inner();
}
int main(void)
{
	outer();
	return 0;
}
"""


def need(name):
    path = shutil.which(name, path=os.environ["PATH"] + ":/root/.cargo/bin:/usr/bin:/bin")
    if not path:
        pytest.skip(f"{name} is missing")
    return path


def built(folder, name, text, *command):
    source = folder / name
    source.write_text(text)
    subprocess.run([*command, source], check=True, cwd=folder, timeout=PATIENCE)
    return folder


def of_c(folder):
    return [built(folder, "waits.c", C, need("gcc"), "-O2", "-fomit-frame-pointer", "-o", "c") / "c"]


def of_rust(folder):
    return [built(folder, "waits.rs", RUST, need("rustc"), "-O", "-o", "rust") / "rust"]


def of_go(folder):
    return [go_built(folder, "go", GO, "-ldflags", "-s -w")]


def of_java(folder):
    java = need("java")
    return [java, "-cp", built(folder, "Waits.java", JAVA, need("javac")), "Waits"]


def of_python(folder):
    (folder / "waits.py").write_text(PYTHON)
    return [need("/usr/bin/python3"), folder / "waits.py"]


def of_node(folder):
    (folder / "waits.js").write_text(NODE)
    return [need("node"), folder / "waits.js"]


# What the two functions are called.
LANGUAGES = {
    "C": (of_c, "inner", "outer"),
    "Rust": (of_rust, "waits::inner", "waits::outer"),
    "Go": (of_go, "main.inner", "main.outer"),
    "Java": (of_java, "Waits.inner", "Waits.outer"),
    "Python": (of_python, "inner", "outer"),
    "Node": (of_node, "inner", "outer"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_stacks_of_waits_are_whole(lab, language):
    command, inner, outer = LANGUAGES[language]
    folder = lab.folder / language
    folder.mkdir()
    with running(*command(folder)) as program:
        film = lab.record("-e", "off-cpu", "-d", "1.5", "-p", program.pid)
    stacks = film.json("-e", "off-cpu")["stacks"]
    assert stacks["complete"] >= 0.99 * stacks["samples"], film.explain()
    ours = [(stack, value) for stack, value in film.folded("-e", "off-cpu") if any(named(frame, inner) for frame in stack)]
    below = sum(value for stack, value in ours
                if any(named(a, outer) and named(b, inner) for a, b in zip(stack, stack[1:])))
    assert below >= 0.5e9, film.explain()
    assert below >= 0.99 * sum(value for _, value in ours), film.explain()


def named(frame, name):
    """With its class or module, and its parameters, as the language has them."""
    return frame == name or frame.split("(")[0].endswith("." + name) or frame.split("(")[0] == name
