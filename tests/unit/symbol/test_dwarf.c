// SPDX-License-Identifier: Apache-2.0
/* Lines and inlined functions. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "extern volatile int sink;\n"
			     "volatile int sink;\n"
			     "static inline __attribute__((always_inline)) int inner(int x)\n"
			     "{\n"
			     "	sink = x;\n"
			     "	__asm__ volatile(\".globl here\\nhere: nop\");\n"
			     "	return sink + x;\n"
			     "}\n"
			     "static inline __attribute__((always_inline)) int middle(int x)\n"
			     "{\n"
			     "	sink++;\n"
			     "	return inner(x) * 2;\n"
			     "}\n"
			     "__attribute__((noinline)) int outer(int x)\n"
			     "{\n"
			     "	return middle(x + 1);\n"
			     "}\n"
			     "int main(int c, char **v)\n"
			     "{\n"
			     "	(void)v;\n"
			     "	return outer(c);\n"
			     "}\n";

static const struct symbol_options lines = {.lines = true};
static const struct symbol_options inlines = {.lines = true, .inlines = true};

static void compilers_and_formats(void **state)
{
	static const char *const builds[] = {
		"cc -O2 -g -gdwarf-5",	  "cc -O2 -g -gdwarf-4",
		"cc -O2 -g -gdwarf-3",	  "cc -O2 -g -gz",
		"cc -O2 -g -gz=zlib-gnu", "clang -O2 -g",
		"clang -O2 -g -gdwarf-4", "cc -O2 -g -flto",
		"cc -O2 -g -fno-aranges", "cc -O2 -g -ffunction-sections -Wl,--gc-sections",
	};
	struct bench *b = *state;

	bench_write(b, "a.c", source);
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		uint64_t here;

		if (!bench_try(b, "%s -o a a.c", builds[i]))
			continue;
		here = bench_address(b, "a", "here");
		assert_string_equal(bench_ask(b, "a", NULL, here), "outer");
		assert_string_equal(bench_ask(b, "a", &lines, here), "outer a.c:6");
		assert_string_equal(bench_ask(b, "a", &inlines, here),
				    "inner a.c:6 < middle a.c:12 < outer a.c:16");
		assert_string_equal(b->missing, "");
		/* the same from a separate debug file */
		bench_run(b, "objcopy --only-keep-debug a a.debug && objcopy --strip-all "
			     "--add-gnu-debuglink=a.debug a");
		assert_string_equal(bench_ask(b, "a", &inlines, here),
				    "inner a.c:6 < middle a.c:12 < outer a.c:16");
	}
}

static void cplusplus(void **state)
{
	struct bench *b = *state;
	const char *names;

	bench_write(b, "a.cc",
		    "volatile int sink;\n"
		    "namespace ns {\n"
		    "template <class T> struct box {\n"
		    "	T v;\n"
		    "	inline __attribute__((always_inline)) T get(int x) const\n"
		    "	{\n"
		    "		sink = x;\n"
		    "		__asm__ volatile(\".globl here\\nhere: nop\");\n"
		    "		return v + sink;\n"
		    "	}\n"
		    "};\n"
		    "__attribute__((noinline)) int open(int x)\n"
		    "{\n"
		    "	auto f = [](int y) __attribute__((always_inline)) { return "
		    "box<int>{y}.get(y); };\n"
		    "	return f(x) + 1;\n"
		    "}\n"
		    "}\n"
		    "int main(int c, char **)\n"
		    "{\n"
		    "	return ns::open(c);\n"
		    "}\n");
	for (int i = 0; i < 2; i++) {
		if (!bench_try(b, "%s -O2 -g -o a a.cc", i ? "clang++" : "c++"))
			continue;
		names = bench_ask(b, "a", &inlines, bench_address(b, "a", "here"));
		assert_non_null(strstr(names, "ns::box<int>::get(int) const a.cc:8 < "));
		/* gcc gives lambdas no name for the linker */
		assert_non_null(strstr(names, "operator()"));
		assert_non_null(strstr(names, " a.cc:14 < ns::open(int) a.cc:15"));
	}
}

/* What dwz shares between files. */
static void shared_by_dwz(void **state)
{
	struct bench *b = *state;
	uint64_t here;

	if (!bench_try(b, "command -v dwz"))
		skip();
	bench_write(b, "a.c", source);
	bench_run(b, "cc -O2 -g -gdwarf-4 -DONE -o a a.c && cc -O2 -g -gdwarf-4 -DTWO -o b a.c");
	here = bench_address(b, "a", "here");
	bench_run(b, "dwz -m common -r a b");
	assert_string_equal(bench_ask(b, "a", &inlines, here),
			    "inner a.c:6 < middle a.c:12 < outer a.c:16");
	/* without it there are no wrong names, and nothing is opened that the file asks for */
	bench_run(b, "mv common other && mkfifo common");
	assert_string_equal(bench_ask(b, "a", &inlines, here), "outer a.c:6");
}

static void nothing_there(void **state)
{
	struct bench *b = *state;

	bench_write(b, "a.c", source);
	bench_run(b, "cc -O2 -o a a.c");
	assert_string_equal(bench_ask(b, "a", &inlines, bench_address(b, "a", "here")), "outer");
	assert_string_equal(b->missing, "no DWARF for lines, and no debug file");
}

/*
 * A line table whose 200,000 files each have a directory of 64 KB: libdw wants 13 GB for their
 * paths, and ends the process that it runs in when it does not get them.
 */
static void memory_bomb(void **state)
{
	struct bench *b = *state;

#if defined(__SANITIZE_ADDRESS__)
	/* its allocator has all addresses from the start, where no limit reaches it */
	skip();
#endif
	bench_write(b, "a.s",
		    ".text\n.globl f\n.type f,@function\nf: nop\n ret\n.size f,.-f\nend:\n"
		    ".section .debug_abbrev,\"\",@progbits\n"
		    ".byte 1,0x11,0, 0x10,0x17, 0x11,1, 0x12,7, 0,0, 0\n"
		    ".section .debug_info,\"\",@progbits\n"
		    ".long i1-i0\ni0: .short 4\n.long 0\n.byte 8\n"
		    ".byte 1\n.long 0\n.quad f\n.quad end-f\ni1:\n"
		    ".section .debug_line,\"\",@progbits\n"
		    ".long l1-l0\nl0: .short 4\n.long l3-l2\nl2: .byte 1,1,1,-5,14,13\n"
		    ".byte 0,1,1,1,1,0,0,0,1,0,0,1\n"
		    ".fill 65000,1,'d'\n.byte 0,0\n"
		    ".rept 200000\n.byte 'a',0,1,0,0\n.endr\n.byte 0\nl3:\n"
		    ".byte 0,9,2\n.quad f\n.byte 20, 2,2, 0,1,1\nl1:\n");
	bench_run(b, "cc -nostdlib -shared -o a a.s");
	assert_string_equal(bench_ask(b, "a", &lines, bench_address(b, "a", "f")), "f");
	assert_non_null(strstr(b->missing, "more than 96 MiB of memory"));
	/* with fewer files it is a line table as any other */
	bench_run(b, "sed 's/200000/200/; s/65000/65/' a.s > b.s && cc -nostdlib -shared -o b b.s");
	assert_non_null(strstr(bench_ask(b, "b", &lines, bench_address(b, "b", "f")), "f a:"));
}

/* Against addr2line(1), for every tenth byte of a program with many inlined functions. */
static void same_as_addr2line(void **state)
{
	struct bench *b = *state;
	char command[512], line[1024], expected[64];
	const char *mine, *place;
	uint64_t start, size;
	int compared = 0;
	FILE *addr2line;

	bench_write(b, "a.cc",
		    "#include <algorithm>\n#include <cstdio>\n#include <map>\n#include <string>\n"
		    "#include <vector>\n"
		    "int main(int c, char **v)\n"
		    "{\n"
		    "	std::map<std::string, int> m;\n"
		    "	std::vector<std::string> names;\n"
		    "	for (int i = 0; i < c; i++) {\n"
		    "		m[v[i]] += i;\n"
		    "		names.push_back(v[i]);\n"
		    "	}\n"
		    "	std::sort(names.begin(), names.end());\n"
		    "	for (auto &n : names)\n"
		    "		std::printf(\"%s %d\\n\", n.c_str(), m[n]);\n"
		    "}\n");
	bench_run(b, "c++ -O2 -g -o a a.cc");
	start = bench_address(b, "a", "main");
	size = bench_size(b, "a", "main");
	assert_true(size > 200);
	for (uint64_t at = start; at < start + size; at += 10) {
		snprintf(command, sizeof(command), "addr2line -e '%s' 0x%" PRIx64,
			 bench_path(b, "a"), at);
		addr2line = popen(command, "r");
		assert_non_null(addr2line);
		assert_non_null(fgets(line, sizeof(line), addr2line));
		pclose(addr2line);
		line[strcspn(line, " \n")] = 0;
		if (strchr(line, '?'))
			continue;
		place = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
		snprintf(expected, sizeof(expected), "main %.50s", place);
		mine = bench_ask(b, "a", &lines, at);
		assert_string_equal(mine, expected);
		compared++;
	}
	assert_true(compared > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(compilers_and_formats, bench_set_up,
						bench_tear_down),
		cmocka_unit_test_setup_teardown(cplusplus, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(shared_by_dwz, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(nothing_there, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(memory_bomb, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(same_as_addr2line, bench_set_up, bench_tear_down),
	};

	return cmocka_run_group_tests_name("symbol-dwarf", tests, NULL, NULL);
}
