// SPDX-License-Identifier: Apache-2.0
/* Names and lines that come from separate files, and files that must not be believed. */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
	"__attribute__((noinline)) static int hidden(int x) { __asm__ volatile(\"\"); return x * "
	"3; }\n"
	"__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }\n"
	"int main(int c, char **v) { (void)v; return shown(c) + hidden(c); }\n";

/*
 * "whole" with symbols and DWARF, "debug" what was taken out, "a" what is left, with a link.
 */
static void build(struct bench *b, const char *options)
{
	bench_write(b, "a.c", source);
	bench_run(b, "cc -O1 -g %s -o whole a.c && objcopy --only-keep-debug whole a.debug",
		  options);
	bench_run(b, "objcopy --strip-all --add-gnu-debuglink=a.debug whole a");
}

/* Only directories below the bench, so that nothing of this machine's own helps. */
static struct symbol_options options_of(struct bench *b, const char **directories)
{
	directories[0] = b->debug;
	directories[1] = NULL;
	return (struct symbol_options){.debug_directories = directories};
}

static const char *ask(struct bench *b, uint64_t address)
{
	const char *directories[2];
	struct symbol_options options = options_of(b, directories);

	return bench_ask(b, "a", &options, address);
}

static void link_beside(void **state)
{
	struct bench *b = *state;
	uint64_t hidden;

	build(b, "-Wl,--build-id=none");
	hidden = bench_address(b, "whole", "hidden");
	assert_string_equal(ask(b, hidden), "hidden");
	bench_run(b, "mkdir .debug && mv a.debug .debug/");
	assert_string_equal(ask(b, hidden), "hidden");
	bench_run(b, "mkdir -p debug/$PWD && mv .debug/a.debug debug/$PWD/");
	assert_string_equal(ask(b, hidden), "hidden");
	bench_run(b, "rm -r debug");
	assert_string_equal(ask(b, hidden), "");
	assert_string_equal(b->missing, "stripped of symbols, and no debug file");
}

static void link_with_wrong_checksum(void **state)
{
	struct bench *b = *state;

	build(b, "-Wl,--build-id=none");
	bench_run(b, "printf x >> a.debug");
	assert_string_equal(ask(b, bench_address(b, "whole", "hidden")), "");
	assert_non_null(strstr(b->missing, "a.debug belongs to another file"));
}

static void link_to_another_build(void **state)
{
	struct bench *b = *state;

	build(b, "-Wl,--build-id=sha1");
	bench_run(b, "cc -O2 -g -DX -Wl,--build-id=sha1 -o other a.c");
	bench_run(b, "objcopy --only-keep-debug other a.debug");
	assert_string_equal(ask(b, bench_address(b, "whole", "hidden")), "");
	assert_non_null(strstr(b->missing, "a.debug belongs to another file"));
}

/*
 * Links that lead to the program itself, to a directory, a FIFO, a device, or out of the directory.
 */
static void link_to_strange_places(void **state)
{
	struct bench *b = *state;
	uint64_t hidden;

	build(b, "-Wl,--build-id=none");
	hidden = bench_address(b, "whole", "hidden");
	bench_run(b, "rm a.debug && ln -s a a.debug");
	assert_string_equal(ask(b, hidden), "");
	bench_run(b, "rm a.debug && mkdir a.debug");
	assert_string_equal(ask(b, hidden), "");
	bench_run(b, "rmdir a.debug && mkfifo a.debug");
	assert_string_equal(ask(b, hidden), "");
	bench_run(b, "rm a.debug && ln -s /dev/zero a.debug");
	assert_string_equal(ask(b, hidden), "");
	bench_run(b, "rm a.debug && mkdir sub && objcopy --only-keep-debug whole a.debug");
	bench_run(b, "objcopy --remove-section .gnu_debuglink a && printf '../a.debug' > sub/link");
	bench_run(b, "printf '\\0\\0' >> sub/link && gzip -c a.debug | tail -c 8 | head -c 4 >> "
		     "sub/link");
	bench_run(b, "objcopy --add-section .gnu_debuglink=sub/link a sub/a");
	assert_string_equal(bench_ask(b, "sub/a", NULL, hidden), "");
}

static void by_build_id(void **state)
{
	struct bench *b = *state;
	const char *directories[2];
	struct symbol_options options = options_of(b, directories);
	const uint8_t id[] = {0xab, 0xcd, 0xef, 1};
	struct symbol_image image = {.fd = -1, .path = "/gone", .root = ""};
	uint64_t hidden;

	build(b, "-Wl,--build-id=0xabcdef01");
	hidden = bench_address(b, "whole", "hidden");
	bench_run(b, "mkdir -p debug/.build-id/ab && mv a.debug debug/.build-id/ab/cdef01.debug");
	assert_string_equal(ask(b, hidden), "hidden");

	/* without the program's file, too */
	image.build_id = id;
	image.build_id_size = sizeof(id);
	assert_string_equal(bench_ask_image(b, &image, &options, hidden), "hidden");
	assert_int_equal(b->err, 0);

	/* a file of that name, with another build id */
	bench_run(b, "cc -O2 -g -Wl,--build-id=0xabcdef02 -o debug/.build-id/ab/cdef01.debug a.c");
	assert_string_equal(ask(b, hidden), "");
	assert_non_null(strstr(b->missing, "belongs to another file"));
}

/* A process in a container: its files are looked up below its root, and links cannot leave that. */
static void below_a_root(void **state)
{
	struct bench *b = *state;
	const char *directories[] = {"/inside", NULL};
	struct symbol_options options = {.debug_directories = directories};
	struct symbol_image image = {.path = "/bin/a", .root = b->directory};
	uint64_t hidden;

	build(b, "-Wl,--build-id=0xabcdef01");
	hidden = bench_address(b, "whole", "hidden");
	bench_run(b, "mkdir -p bin inside/.build-id/ab && mv a bin/");
	bench_run(b, "mv a.debug inside/.build-id/ab/cdef01.debug");
	image.fd = symbol_image_open(image.root, image.path, NULL, 0);
	assert_true(image.fd >= 0);
	assert_string_equal(bench_ask_image(b, &image, &options, hidden), "hidden");

	/* an absolute link is meant within the root */
	bench_run(b, "mv inside/.build-id/ab/cdef01.debug x.debug");
	bench_run(b, "ln -s /x.debug inside/.build-id/ab/cdef01.debug");
	assert_string_equal(bench_ask_image(b, &image, &options, hidden), "hidden");

	/* outside it there is nothing */
	bench_run(b, "mkdir out && mv inside out/ && mkdir inside && mv x.debug $PWD.outside");
	bench_run(b, "mkdir -p inside/.build-id/ab");
	bench_run(b, "ln -s ../../../../../../..$PWD.outside inside/.build-id/ab/cdef01.debug");
	assert_string_equal(bench_ask_image(b, &image, &options, hidden), "");
	bench_run(
		b,
		"rm inside/.build-id/ab/* && ln -s $PWD.outside inside/.build-id/ab/cdef01.debug");
	assert_string_equal(bench_ask_image(b, &image, &options, hidden), "");
	bench_run(b, "rm $PWD.outside");
	close(image.fd);
}

/* Built as Fedora builds it: what .dynsym lacks, packed into the file. */
static void minidebuginfo(void **state)
{
	struct bench *b = *state;
	uint64_t hidden, shown, alias;

	bench_write(b, "a.c",
		    "__attribute__((noinline)) static int hidden(int x)\n"
		    "{ __asm__ volatile(\"\"); return x * 3; }\n"
		    "int shown(int x) { return hidden(x) + 1; }\n"
		    "extern __typeof__(shown) nice __attribute__((alias(\"shown\")));\n"
		    "static __typeof__(shown) _local __attribute__((alias(\"shown\"), used));\n");
	bench_run(b, "cc -O1 -g -fPIC -shared -o whole a.c");
	bench_run(b,
		  "nm -D whole --format=posix --defined-only | awk '{print $1}' | sort > dynsyms");
	bench_run(b, "nm whole --format=posix --defined-only | awk '$2 ~ /[Tt]/ {print $1}' | sort "
		     "> funcsyms");
	bench_run(b, "comm -13 dynsyms funcsyms > keep");
	bench_run(b, "objcopy --only-keep-debug whole debug && objcopy -S --remove-section "
		     ".gdb_index --remove-section .comment --keep-symbols=keep debug mini");
	bench_run(b, "xz -k mini && strip -o stripped whole");
	bench_run(b, "objcopy --add-section .gnu_debugdata=mini.xz stripped a && rm debug");
	hidden = bench_address(b, "whole", "hidden");
	shown = bench_address(b, "whole", "shown");
	alias = bench_address(b, "whole", "_local");
	assert_int_equal(shown, alias);
	assert_string_equal(ask(b, hidden), "hidden");
	/* both tables have a name for it: the global and nicer one wins */
	assert_string_equal(ask(b, shown), "nice");
	bench_run(b, "cp stripped a");
	assert_string_equal(ask(b, hidden), "");
	assert_string_equal(ask(b, shown), "nice");

	/* broken in every way that costs nothing to try */
	bench_run(b, "head -c 200 mini.xz > cut.xz");
	bench_run(b, "objcopy --add-section .gnu_debugdata=cut.xz stripped a");
	assert_string_equal(ask(b, hidden), "");
	bench_run(b, "head -c 100000000 /dev/zero | xz -0 > bomb.xz");
	bench_run(b, "objcopy --add-section .gnu_debugdata=bomb.xz stripped a");
	assert_string_equal(ask(b, hidden), "");
	assert_string_equal(ask(b, shown), "nice");
}

static void count_hidden(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	int *found = context;

	assert_int_equal(index, 0);
	assert_int_equal(count, 1);
	assert_string_equal(names[0].function, "hidden");
	++*found;
}

/* The next batch must come from what the first one found; and many images must not pile up. */
static void remembered(void **state)
{
	struct bench *b = *state;
	const char *directories[2];
	struct symbol_options options = options_of(b, directories);
	struct symbol_image image = {.root = ""};
	struct symbols *symbols;
	uint64_t hidden;
	int found = 0;

	build(b, "-Wl,--build-id=0xabcdef01");
	hidden = bench_address(b, "whole", "hidden");
	image.path = bench_path(b, "a");
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbols_new(&options, &symbols), 0);
	symbols_of_image(symbols, &image, &hidden, 1, count_hidden, &found, NULL);
	assert_int_equal(found, 1);
	bench_run(b, "mv a.debug moved");
	symbols_of_image(symbols, &image, &hidden, 1, count_hidden, &found, NULL);
	assert_int_equal(found, 2);
	for (uint8_t i = 0; i < 40; i++) {
		const uint8_t id[] = {0xab, i};
		struct symbol_image other = {
			.fd = -1, .root = "", .build_id = id, .build_id_size = sizeof(id)};

		symbols_of_image(symbols, &other, &hidden, 1, count_hidden, &found, NULL);
	}
	/* by now it was forgotten, and is looked for again where it no longer is */
	symbols_of_image(symbols, &image, &hidden, 1, count_hidden, &found, NULL);
	assert_int_equal(found, 2);
	symbols_free(symbols);
	close(image.fd);
}

/* A file that pretends to be another one must not decide what that one's functions are called. */
static void borrowed_build_id(void **state)
{
	struct bench *b = *state;
	const char *directories[2];
	struct symbol_options options = options_of(b, directories);
	struct symbol_image image = {.root = ""};
	struct symbols *symbols;
	uint64_t hidden;
	int found = 0;

	build(b, "-Wl,--build-id=0xabcdef01");
	hidden = bench_address(b, "whole", "hidden");
	bench_run(b, "mkdir elsewhere && cp a elsewhere/a");
	assert_int_equal(symbols_new(&options, &symbols), 0);
	image.path = bench_path(b, "a");
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	symbols_of_image(symbols, &image, &hidden, 1, count_hidden, &found, NULL);
	assert_int_equal(found, 1);
	close(image.fd);
	image.path = bench_path(b, "elsewhere/a");
	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	symbols_of_image(symbols, &image, &hidden, 1, count_hidden, &found, NULL);
	assert_int_equal(found, 1);
	close(image.fd);
	symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(link_beside, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(link_with_wrong_checksum, bench_set_up,
						bench_tear_down),
		cmocka_unit_test_setup_teardown(link_to_another_build, bench_set_up,
						bench_tear_down),
		cmocka_unit_test_setup_teardown(link_to_strange_places, bench_set_up,
						bench_tear_down),
		cmocka_unit_test_setup_teardown(by_build_id, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(below_a_root, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(minidebuginfo, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(remembered, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(borrowed_build_id, bench_set_up, bench_tear_down),
	};

	return cmocka_run_group_tests_name("symbol-debug-file", tests, NULL, NULL);
}
