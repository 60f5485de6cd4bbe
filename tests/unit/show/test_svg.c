// SPDX-License-Identifier: Apache-2.0
/* That it is well-formed XML is checked by check_outputs.py, with a parser. */
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "film/film.h"
#include "flame_build.h"
#include "show/show.h"

/*
 * The picture as text, to be freed. Frees the flame. Inlined, gcc 12 at -O3 takes the text for its
 * pointer, which open_memstream() knows, and warns that it dangles.
 */
static __attribute__((noinline)) char *draw(struct flame *flame)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(show_svg(flame, out), 0);
	assert_int_equal(fclose(out), 0);
	flame_build_free(flame);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		count++;
	}
	return count;
}

static void assert_has(const char *text, const char *part)
{
	bool found = strstr(text, part);

	if (!found)
		print_error("\"%s\" is missing in\n%s\n", part, text);
	assert_true(found);
}

static uint32_t add(struct flame *flame, uint32_t parent, const char *name, uint64_t self)
{
	return flame_build_add(
		flame, parent,
		(struct flame_node){.name = name, .kind = FILM_FRAME_NATIVE, .self = self});
}

static void test_no_root(void **state)
{
	struct flame flame = {0};

	(void)state;
	assert_int_equal(show_svg(&flame, stdout), -EINVAL);
}

static void test_empty(void **state)
{
	struct flame flame;
	char *text;

	(void)state;
	flame_build_start(&flame, "on-cpu", "ns", "nothing at all");
	text = draw(&flame);
	assert_has(text, "<title>nothing at all</title>");
	assert_has(text, "on-cpu, total 0 ns");
	assert_has(text, "<title>all\ntotal 0 ns (0.00%)");
	free(text);
}

static void test_widths_are_shares(void **state)
{
	struct flame flame;
	uint32_t a;
	char *text;

	(void)state;
	flame_build_start(&flame, "mem-alloc", "bytes", "t");
	a = add(&flame, 0, "a", 0);
	add(&flame, a, "in_a", 450);
	add(&flame, 0, "b", 550);
	flame_build_finish(&flame);
	text = draw(&flame);
	/* 1,180 pixels for 1,000 bytes; the wider one comes first, half a pixel stays free */
	assert_has(text, "<title>b\ntotal 550 B (55.00%)\nself 550 B (55.00%)</title>"
			 "<rect x=\"10.00\"");
	assert_has(text, "<title>a\ntotal 450 B (45.00%)\nself 0 B (0.00%)</title>"
			 "<rect x=\"659.00\"");
	assert_has(text, "width=\"648.50\"");
	assert_int_equal(count_of(text, "width=\"530.50\""), 2);
	assert_has(text, "mem-alloc, total 1.0 kB");
	assert_null(strstr(text, "merged"));
	free(text);
}

static void test_narrow_ones_are_merged(void **state)
{
	struct flame flame;
	uint32_t i;
	char *text;

	(void)state;
	flame_build_start(&flame, "calls", "count", "t");
	add(&flame, 0, "wide", 99000);
	for (i = 0; i < 40; i++)
		add(&flame, 0, "narrow", 20);
	add(&flame, add(&flame, 0, "far", 100), "behind", 99);
	flame_build_finish(&flame);
	text = draw(&flame);
	/* "far" is just wide enough, "behind" is not, and alone is not worth a rectangle */
	assert_has(text, "<title>far\n");
	assert_has(text, "<title>40 narrower frames\ntotal 800 (0.80%)</title>");
	assert_null(strstr(text, "behind"));
	assert_has(text, "of 44 frames 41 are narrower than 0.1%: merged or left out");
	free(text);
}

static void test_what_is_known_of_a_frame(void **state)
{
	struct flame flame;
	char *text;

	(void)state;
	flame_build_start(&flame, "on-cpu", "ns", "t");
	flame_build_add(&flame, 0,
			(struct flame_node){.name = "parse",
					    .image = "/usr/bin/x",
					    .file = "src/parse.c",
					    .line = 12,
					    .kind = FILM_FRAME_JIT,
					    .guess = true,
					    .inlined = true,
					    .self = 1234567890});
	flame_build_finish(&flame);
	text = draw(&flame);
	assert_has(text, "<title>parse\n/usr/bin/x\nsrc/parse.c:12\ntotal 1.235 s (100.00%)\n"
			 "self 1.235 s (100.00%)\ninlined\nfound by frame pointer (guess)</title>");
	assert_int_equal(count_of(text, "url(#guess)"), 2); /* the frame and the legend */
	assert_has(text, ">jit</text>");
	assert_null(strstr(text, ">native</text>"));
	free(text);
}

static void test_diff(void **state)
{
	struct flame flame;
	char *text;

	(void)state;
	flame_build_start(&flame, "on-cpu", "ns", "t");
	flame.is_diff = true;
	flame_build_add(&flame, 0,
			(struct flame_node){.name = "grew", .self = 600, .before_self = 300});
	flame_build_add(&flame, 0,
			(struct flame_node){.name = "shrank", .self = 400, .before_self = 415});
	flame_build_add(&flame, 0, (struct flame_node){.name = "lost", .before_self = 285});
	flame_build_finish(&flame);
	text = draw(&flame);
	assert_has(text, "<title>grew\ntotal 600 ns (60.00%)\nself 600 ns (60.00%)\n"
			 "before 300 ns (30.00%)\nchange +30.00 points</title>");
	assert_has(text, "change -1.50 points");
	assert_int_equal(count_of(text, "#e2664f"), 2); /* "grew" and the legend */
	assert_int_equal(count_of(text, "#afd0ec"), 2); /* "shrank" and the legend */
	assert_has(text, "0 are narrower than 0.1%: merged or left out, 1 are gone since");
	free(text);
}

static void test_hostile_names(void **state)
{
	struct flame flame;
	const char *at;
	char *text;
	uint32_t i, point;

	(void)state;
	flame_build_start(&flame, "on-\"cpu\"", "n<s", "<title> & </title>]]>");
	for (i = 0; i < flame_hostile_count; i++)
		flame_build_add(&flame, 0,
				(struct flame_node){.name = flame_hostile_names[i],
						    .image = flame_hostile_names[i],
						    .file = flame_hostile_names[i],
						    .kind = 4000000000u,
						    .self = 10});
	flame_build_finish(&flame);
	text = draw(&flame);
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<img"));
	assert_null(strstr(text, "<svg onload"));
	assert_null(strstr(text, "]]>"));
	assert_has(text, "&lt;/script&gt;&lt;script&gt;window.hacked = 1");
	assert_has(text, "bad \xef\xbf\xbd\xef\xbf\xbd utf-8");
	assert_has(text, "[unnamed]");
	for (at = text; *at;) {
		size_t length = text_utf8(at, strnlen(at, 4), &point);

		assert_true(length > 0);
		assert_true(point == '\n' || point >= 0x20);
		assert_false(point >= 0x7f && point < 0xa0);
		assert_false(point >= 0x202a && point <= 0x202e);
		assert_true(point != 0xfffe && point != 0xffff);
		at += length;
	}
	free(text);
}

static void test_labels_are_cut_to_their_frame(void **state)
{
	struct flame flame;
	char *text;

	(void)state;
	flame_build_start(&flame, "calls", "count", "t");
	add(&flame, 0, "first", 900);
	/* 118 pixels: 15 columns of 7.25, and Han takes two each */
	add(&flame, 0, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe9\x96\xa2\xe6\x95\xb0::abcdefgh",
	    100);
	flame_build_finish(&flame);
	text = draw(&flame);
	assert_has(
		text,
		">\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe9\x96\xa2\xe6\x95\xb0::ab\xe2\x80\xa6<");
	free(text);
}

static void test_deep(void **state)
{
	struct flame flame;
	char *text;

	(void)state;
	flame_build_deep(&flame, 1000);
	text = draw(&flame);
	assert_int_equal(count_of(text, "<g><title>"), 1000);
	free(text);
}

static void test_wide(void **state)
{
	struct flame flame;
	char *text;

	(void)state;
	flame_build_wide(&flame, 100000);
	text = draw(&flame);
	assert_has(text, "<title>100000 narrower frames\n");
	assert_true(strlen(text) < 10000);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_root),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_widths_are_shares),
		cmocka_unit_test(test_narrow_ones_are_merged),
		cmocka_unit_test(test_what_is_known_of_a_frame),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_labels_are_cut_to_their_frame),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
