// SPDX-License-Identifier: Apache-2.0
/* "stackcam resolve" from a film with bare addresses to a film with names. */
#include "bench.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/verb.h"
#include "film/reader.h"
#include "film/writer.h"

static const char source[] = "volatile int sink;\n"
			     "static inline __attribute__((always_inline)) int inner(int x)\n"
			     "{\n"
			     "	sink = x;\n"
			     "	__asm__ volatile(\".globl here\\nhere: nop\");\n"
			     "	return sink;\n"
			     "}\n"
			     "__attribute__((noinline)) int outer(int x)\n"
			     "{\n"
			     "	return inner(x) + 1;\n"
			     "}\n"
			     "int main(int c, char **v)\n"
			     "{\n"
			     "	(void)v;\n"
			     "	return outer(c);\n"
			     "}\n";

struct shot {
	uint32_t known_image, unknown_image;
	uint32_t here, main, nowhere, other, named, kernel;
};

static void add_build_id(struct film_image *image, const char *hex)
{
	for (; hex[0]; hex += 2) {
		unsigned int byte;

		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		image->build_id[image->build_id_size++] = (uint8_t)byte;
	}
}

/*
 * A film of the program "a" of the bench, with frames without a name, and one that has a name.
 */
static struct shot shoot(struct bench *b, const char *build_id)
{
	const struct film_info info = {.version = "test",
				       .hostname = "here",
				       .kernel = "6.1",
				       .arch = "x86_64",
				       .command = "test",
				       .cpus = 1,
				       .start = 1000};
	struct film_image known = {.kind = FILM_IMAGE_FILE, .path = bench_path(b, "a")};
	struct film_image gone = {.kind = FILM_IMAGE_FILE, .path = "/gone/lib.so"};
	const struct film_image kernel = {.kind = FILM_IMAGE_KERNEL, .path = "[kernel]"};
	struct film_writer *w;
	struct shot s;

	add_build_id(&known, build_id);
	add_build_id(&gone, "0badc0de");
	assert_int_equal(film_create(bench_path(b, "x.film"), &info, &w, NULL), 0);
	s.known_image = film_add_image(w, &known);
	s.unknown_image = film_add_image(w, &gone);
	s.here = film_frame(w, s.known_image, FILM_FRAME_NATIVE, bench_address(b, "whole", "here"));
	s.main = film_frame(w, s.known_image, FILM_FRAME_NATIVE, bench_address(b, "whole", "main"));
	s.nowhere = film_frame(w, s.known_image, FILM_FRAME_NATIVE, 1);
	s.named =
		film_frame(w, s.known_image, FILM_FRAME_NATIVE, bench_address(b, "whole", "outer"));
	film_name_frame(w, s.named, &(struct film_name){.function = "as it was"}, 1);
	s.other = film_frame(w, s.unknown_image, FILM_FRAME_NATIVE, 0x1000);
	s.kernel = film_frame(w, film_add_image(w, &kernel), FILM_FRAME_KERNEL, 0xffffffff81000000);
	assert_int_equal(film_close(w, 2000, NULL), 0);
	return s;
}

static void build(struct bench *b, const char *build_id)
{
	bench_write(b, "a.c", source);
	bench_run(b, "cc -O2 -g -Wl,--build-id=%s -o whole a.c && cp whole a", build_id);
}

/* Runs the verb; its words are in the file "words". */
static int resolve(struct bench *b, const char *option, const char *value)
{
	char *argv[6] = {(char *)"resolve"};
	int argc = 1, status, saved = dup(2), words;

	if (option)
		argv[argc++] = (char *)option;
	if (value)
		argv[argc++] = (char *)value;
	argv[argc++] = (char *)bench_path(b, "x.film");
	words = open(bench_path(b, "words"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(saved >= 0 && words >= 0);
	fflush(stderr);
	dup2(words, 2);
	close(words);
	optind = 0;
	status = cmd_resolve(argc, argv);
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	return status;
}

static struct film *read_film(struct bench *b)
{
	struct film *film;
	struct fail why = {0};

	if (film_open(bench_path(b, "x.film"), &film, &why))
		print_error("%s\n", why.what);
	assert_int_equal(why.err, 0);
	return film;
}

static const char *name_of(const struct film *film, uint32_t frame)
{
	return film->functions[film->frames[frame].function].name;
}

static void names(void **state)
{
	struct bench *b = *state;
	struct film *film;
	struct shot s;

	build(b, "0x01020304");
	s = shoot(b, "01020304");
	assert_int_equal(resolve(b, NULL, NULL), 0);
	film = read_film(b);
	assert_string_equal(name_of(film, s.here), "outer");
	assert_string_equal(name_of(film, s.main), "main");
	assert_string_equal(name_of(film, s.named), "as it was");
	assert_string_equal(film->frames[s.main].file, "");
	assert_int_equal(film->frames[s.nowhere].function, 0);
	assert_int_equal(film->frames[s.other].function, 0);
	assert_int_equal(film->frames[s.kernel].function, 0);
	assert_int_equal(film->info.end, 2000);
	film_free(film);
	bench_run(b, "grep -qx 'named 2 of 4 frames without a name' words");
	bench_run(b, "grep -q 'gone/lib.so (build id 0badc0de): 1 frame without a name' words");
	bench_run(b, "grep -q '1 frame of the kernel' words");
	bench_run(b, "! grep -q 'built anew' words");
	/* once more: nothing changes */
	assert_int_equal(resolve(b, NULL, NULL), 0);
	bench_run(b, "grep -qx 'named 0 of 2 frames without a name' words");
}

static void lines_and_inlines(void **state)
{
	struct bench *b = *state;
	const struct film_inline *inlined;
	struct film *film;
	struct shot s;
	size_t count;

	build(b, "0x01020304");
	s = shoot(b, "01020304");
	assert_int_equal(resolve(b, "--lines", NULL), 0);
	film = read_film(b);
	assert_string_equal(name_of(film, s.here), "outer");
	assert_int_equal(film->frames[s.here].line, 5);
	assert_non_null(strstr(film->frames[s.here].file, "a.c"));
	/* a frame that had a name gets its line, and the symbol's name */
	assert_string_equal(name_of(film, s.named), "outer");
	assert_true(film->frames[s.named].line > 0);
	film_free(film);

	assert_int_equal(resolve(b, "--inlines", NULL), 0);
	film = read_film(b);
	assert_string_equal(name_of(film, s.here), "inner");
	assert_int_equal(film->frames[s.here].line, 5);
	inlined = film_inlines_of(film, s.here, &count);
	assert_int_equal(count, 1);
	assert_string_equal(film->functions[inlined[0].function].name, "outer");
	assert_int_equal(inlined[0].line, 10);
	film_free(film);
}

static void from_a_debug_directory(void **state)
{
	struct bench *b = *state;
	struct film *film;
	struct shot s;

	build(b, "0x01020304");
	s = shoot(b, "01020304");
	/* the program is gone, its debug file is elsewhere */
	bench_run(b, "rm a && mkdir -p debug/.build-id/01 && "
		     "objcopy --only-keep-debug whole debug/.build-id/01/020304.debug");
	assert_int_equal(resolve(b, NULL, NULL), 0);
	bench_run(b, "grep -q 'named 0 of 4' words");
	assert_int_equal(resolve(b, "--debug-dir", b->debug), 0);
	film = read_film(b);
	assert_string_equal(name_of(film, s.here), "outer");
	assert_string_equal(name_of(film, s.main), "main");
	film_free(film);
}

/* Another build at the same path is never used; without a build id only when the user says so. */
static void another_file(void **state)
{
	struct bench *b = *state;
	struct film *film;
	struct shot s;

	build(b, "0x01020304");
	shoot(b, "05060708");
	assert_int_equal(resolve(b, "--force", NULL), 0);
	bench_run(b, "grep -q 'named 0 of 4' words");
	bench_run(b, "grep -q '/a (build id 05060708): 3 frames without a name: the file at that "
		     "path is another build' words");
	bench_run(b, "grep -q '^a program that was built anew since' words");
	assert_int_equal(resolve(b, "--lines", NULL), 0);
	bench_run(b, "grep -q ': 3 frames without a name, 4 frames without a source line: the file "
		     "at that path is another build' words");
	bench_run(b, "grep -q 'named 0 of 4 frames without a name, placed 0 of 5 ' words");

	bench_run(b, "rm x.film*");
	s = shoot(b, "");
	assert_int_equal(resolve(b, NULL, NULL), 0);
	bench_run(b, "grep -q 'named 0 of 4' words && grep -q -e --force words");
	assert_int_equal(resolve(b, "--force", NULL), 0);
	film = read_film(b);
	assert_string_equal(name_of(film, s.main), "main");
	film_free(film);
}

static void wrong_usage(void **state)
{
	struct bench *b = *state;

	assert_int_equal(resolve(b, "--no-such", NULL), EXIT_USAGE);
	assert_int_equal(resolve(b, "one.film", NULL), EXIT_USAGE);
	assert_int_equal(resolve(b, NULL, NULL), EXIT_FAILURE);
	bench_write(b, "x.film", "no film");
	assert_int_equal(resolve(b, NULL, NULL), EXIT_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(lines_and_inlines, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(from_a_debug_directory, bench_set_up,
						bench_tear_down),
		cmocka_unit_test_setup_teardown(another_file, bench_set_up, bench_tear_down),
		cmocka_unit_test_setup_teardown(wrong_usage, bench_set_up, bench_tear_down),
	};

	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests_name("symbol-resolve", tests, NULL, NULL);
}
