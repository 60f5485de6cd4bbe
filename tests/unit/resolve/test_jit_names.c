// SPDX-License-Identifier: Apache-2.0
/* Which names the frames of code get that is written late, and whose place is used again. */

#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "resolve/jit_names.h"
#include "film/reader.h"

/* This process, with a perf map, and its film. */
struct bench {
	char map[64], path[64];
	struct film_writer *writer;
	uint32_t image;
	struct jit_names *names;
};

static int set_up(void **state)
{
	static const struct film_info info = {"", "", "", "", "", 1, 1, 1, 0};
	static const struct film_image words = {.kind = FILM_IMAGE_ANON, .path = "[jit]"};
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	snprintf(b->map, sizeof(b->map), "/tmp/perf-%d.map", (int)getpid());
	snprintf(b->path, sizeof(b->path), "/tmp/stackcam-jit-%d.film", (int)getpid());
	unlink(b->map);
	if (film_create(b->path, &info, &b->writer, NULL))
		return -1;
	b->image = film_add_image(b->writer, &words);
	b->names = jit_names_new(getpid(), NULL);
	*state = b;
	return b->names ? 0 : -1;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	jit_names_free(b->names);
	unlink(b->map);
	unlink(b->path);
	free(b);
	return 0;
}

static void append(struct bench *b, const char *text)
{
	FILE *f = fopen(b->map, "ae");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* A frame that is seen for the first time now. */
static uint32_t want(struct bench *b, uint64_t address)
{
	uint32_t frame;

	frame = film_frame(b->writer, b->image, FILM_FRAME_JIT, address);
	assert_true(jit_names_want(b->names, frame, address));
	return frame;
}

static uint64_t round_now(struct bench *b)
{
	return jit_names_round(b->names, b->writer, false);
}

/* Ends the film, and compares the names of two frames in it. */
static void assert_names(struct bench *b, uint32_t one, const char *name, uint32_t two,
			 const char *other)
{
	struct film *film = NULL;
	struct fail why = {0};

	assert_int_equal(film_close(b->writer, clock_ns(), &why), 0);
	assert_int_equal(film_open(b->path, &film, &why), 0);
	assert_true(one < film->frame_count && two < film->frame_count);
	assert_string_equal(film->functions[film->frames[one].function].name, name);
	assert_string_equal(film->functions[film->frames[two].function].name, other);
	film_free(film);
}

static void named_late(void **state)
{
	struct bench *b = *state;
	uint32_t one = want(b, 0x1008), two = want(b, 0x2008);

	assert_int_equal(round_now(b), 0);
	append(b, "1000 10 _ZN2ns1fIiEEvc\n");
	assert_int_equal(round_now(b), 1);
	assert_int_equal(round_now(b), 0);
	append(b, "2000 10 two\n");
	assert_int_equal(round_now(b), 1);
	assert_int_equal(jit_names_age(b->names), 0);
	assert_names(b, one, "ns::f<int>(char)", two, "two");
}

/* What is written twice, as agents do that write the whole map anew, is no other code. */
static void told_again(void **state)
{
	struct bench *b = *state;
	uint32_t one = want(b, 0x1008);

	append(b, "1000 10 same\n");
	assert_int_equal(round_now(b), 1);
	append(b, "1000 10 same\n3000 10 elsewhere\n1000 20 same\n");
	assert_int_equal(round_now(b), 0);
	assert_int_equal(jit_names_age(b->names), 0);
	assert_names(b, one, "same", one, "same");
}

static void place_used_again(void **state)
{
	struct bench *b = *state;
	uint32_t one = want(b, 0x1008), two;

	append(b, "1000 10 first\n");
	assert_int_equal(round_now(b), 1);
	append(b, "1000 10 second\n");
	assert_int_equal(round_now(b), 0);
	assert_int_equal(jit_names_age(b->names), 1);
	/* the film's next image is what makes it another frame */
	b->image = film_add_image(b->writer,
				  &(struct film_image){.kind = FILM_IMAGE_ANON, .path = "[jit]"});
	two = want(b, 0x1008);
	assert_int_not_equal(one, two);
	assert_int_equal(round_now(b), 1);
	assert_int_equal(jit_names_age(b->names), 1);
	assert_names(b, one, "first", two, "second");
}

/* No sample has seen what lay there before: no new age is needed. */
static void unseen_code(void **state)
{
	struct bench *b = *state;
	uint32_t one = want(b, 0x1008);

	append(b, "1000 10 seen\n5000 10 unseen\n");
	assert_int_equal(round_now(b), 1);
	append(b, "5000 10 other\n");
	assert_int_equal(round_now(b), 0);
	assert_int_equal(jit_names_age(b->names), 0);
	assert_names(b, one, "seen", one, "seen");
}

/*
 * More frames than are kept: the older ones keep their names, and their places are others from now
 * on.
 */
static void too_many(void **state)
{
	struct bench *b = *state;
	uint32_t one = want(b, 0x1008), last;

	append(b, "1000 10 one\n");
	assert_int_equal(round_now(b), 1);
	for (uint64_t i = 0; i < 70000; i++)
		want(b, 0x100000 + i * 16);
	last = want(b, 0x2008);
	assert_int_equal(round_now(b), 0);
	assert_int_equal(jit_names_age(b->names), 1);
	append(b, "2000 10 last\n");
	assert_int_equal(round_now(b), 1);
	/* one is not known any more: other code at its place needs no new age */
	append(b, "1000 10 other\n");
	assert_int_equal(round_now(b), 0);
	assert_int_equal(jit_names_age(b->names), 1);
	assert_names(b, one, "one", last, "last");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(named_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(told_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(place_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unseen_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("camera-jit-names", tests, NULL, NULL);
}
