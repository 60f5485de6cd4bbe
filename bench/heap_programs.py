# SPDX-License-Identifier: Apache-2.0
"""Programs that allocate much: each takes a number of turns, and prints the CPU time of one in ns (the parser and the program in
Python, of 100). And a library before the allocator that only goes on to the next one."""

import subprocess

import lib

EMPTY = "empty_heap.so"

PYTHON3 = "/usr/bin/python3"

PAIR = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 10000000;
	double begin = now();
	for (int i = 0; i < turns; i++) {
		void *p = malloc(64);
		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
	printf("%f\n", (now() - begin) / turns);
	return 0;
}
"""

# Parses lines of KEY=[VALUE,…] into a tree of maps of strings, again and again.
PARSER = r"""
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}
using Row = std::map<std::string, std::vector<std::string>>;
static Row parse(const std::string &text)
{
	Row row;
	std::size_t at = 0;
	while (at < text.size()) {
		std::size_t equals = text.find('=', at), end = text.find('\n', at);
		auto &values = row["a key that is long enough " + text.substr(at, equals - at)];
		for (at = equals + 1; at < end;) {
			std::size_t comma = text.find(',', at);
			comma = comma > end ? end : comma;
			values.push_back("a value that is long enough " + text.substr(at, comma - at));
			at = comma + 1;
		}
		at = end + 1;
	}
	return row;
}
int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 2000;
	std::string text;
	std::size_t sum = 0;
	for (int i = 0; i < 2000; i++)
		text += "key" + std::to_string(i) + "=one,two,three,four,five,six,seven,eight\n";
	double begin = now();
	for (int i = 0; i < turns; i++)
		sum += parse(text).size();
	printf("%f\n", (now() - begin) / turns * 100);
	return sum != 2000 * (std::size_t)turns;
}
"""

# Both run for seconds, as what is filmed always does: a thread's first thousands of samples are more than it takes later.
PYTHON = r"""
import json, sys, time
turns = int(sys.argv[1]) if len(sys.argv) > 1 else 500
rows = [{"id": i, "name": "name " * 20 + str(i), "tags": ["t%d" % (i + j) for j in range(10)]} for i in range(3000)]
text = json.dumps(rows)
begin = time.process_time_ns()
for i in range(turns):
    kept = json.loads(text)
print((time.process_time_ns() - begin) / turns * 100)
"""

# What the interpreter's pools serve, and nothing else: pairs of an allocation and its end.
OBJECTS = r"""
import sys, time
turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3000000
begin = time.process_time_ns()
for i in range(turns):
    one = [i]
print((time.process_time_ns() - begin) / turns)
"""


def make(folder):
    """Makes them, and the library, in the folder. Returns the commands by name."""
    for name, source in (("pair", PAIR), ("parser", PARSER)):
        (folder / f"{name}.cc").write_text(source)
        subprocess.run(["g++", "-O2", "-fno-builtin", "-w", folder / f"{name}.cc", "-o", folder / name], check=True)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", lib.ROOT / "bench/empty_heap.c", "-o", folder / EMPTY], check=True)
    (folder / "load.py").write_text(PYTHON)
    (folder / "objects.py").write_text(OBJECTS)
    return {"pair": [folder / "pair"], "parser": [folder / "parser"], "python": [PYTHON3, folder / "load.py"],
            "objects": [PYTHON3, folder / "objects.py"]}
