// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "query/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "film_build.h"

static struct film *make_film(uint8_t build, bool is_short)
{
	struct film_build b;
	uint32_t thread;

	film_build_begin(&b, "on-cpu", "ns");
	b.build = build;
	thread = film_build_thread(&b, 1, "server", 1, "server");
	film_build_sample(&b, 1, thread, "main;parse@a.c:10", 1);
	film_build_sample(&b, 2, thread, "main;parse@a.c:20;lib!read", 2);
	if (!is_short) {
		/* the innermost one counts */
		film_build_sample(&b, 3, thread, "main;parse@a.c:20;parse@a.c:10;lib!read", 4);
		film_build_sample(&b, 4, thread, "main;parse", 8);
		film_build_sample(&b, 5, thread, "main@m.c:1>parse@a.c:30;lib!read", 16);
		film_build_sample(&b, 6, thread, "main;lib!parse", 32);
		film_build_sample(&b, 7, thread, "lib!+1234", 64);
		film_build_sample(&b, 8, thread, "", 128);
	}
	return film_build_open(&b);
}

static void add(struct places *places, struct film *film, const struct question *q,
		const char *name, const char *image)
{
	struct view view = {0};

	assert_int_equal(view_open(film, q, VIEW_WHOLE, &view, NULL), 0);
	assert_int_equal(places_add(places, &view, &q->shape, name, image), 0);
	view_free(&view);
}

/* "server 0101 1/3, …": image, build id, self/total; or "a.c:10 1/5". */
static void is(const struct places *places, enum places_by by, const char *wanted)
{
	size_t count;
	struct place *at = places_sum(places, by, &count);
	char text[1000] = "";

	assert_non_null(at);
	for (size_t i = 0; i < count; i++) {
		size_t used = strlen(text);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", i ? ", " : "");
		if (by == PLACES_BY_LINE)
			snprintf(text + used, sizeof(text) - used, "%s:%u %lu/%lu", at[i].file,
				 at[i].line, (unsigned long)at[i].self, (unsigned long)at[i].total);
		else
			snprintf(text + used, sizeof(text) - used, "%s %02x %lu/%lu",
				 name_of_image(at[i].image), at[i].build_id[0],
				 (unsigned long)at[i].self, (unsigned long)at[i].total);
	}
	assert_string_equal(text, wanted);
	free(at);
}

static void test_lines_and_builds(void **state)
{
	struct film *film = make_film(1, false), *newer = make_film(2, true);
	struct question q = {0};
	struct places places = {0};

	(void)state;
	add(&places, film, &q, "parse", "/usr/bin/server");
	is(&places, PLACES_BY_BUILD, "server 01 9/15");
	is(&places, PLACES_BY_LINE, ":0 8/8, a.c:10 1/5, a.c:20 0/2");
	add(&places, newer, &q, "parse", "/opt/new/server");
	is(&places, PLACES_BY_BUILD, "server 01 9/15, server 02 1/3");
	is(&places, PLACES_BY_LINE, ":0 8/8, a.c:10 2/6, a.c:20 0/4");
	places_free(&places);
	film_free(film);
	film_free(newer);
}

static void test_other_shapes(void **state)
{
	struct film *film = make_film(1, false);
	struct question q = {.shape = {.inlines = true}};
	struct places places = {0};

	(void)state;
	add(&places, film, &q, "parse", NULL);
	is(&places, PLACES_BY_LINE, ":0 40/40, a.c:30 0/16, a.c:10 1/5, a.c:20 0/2");
	is(&places, PLACES_BY_BUILD, "lib 01 32/32, server 01 9/31");
	places_free(&places);
	/* a place without a name, and an image as a whole */
	add(&places, film, &q, "lib+0x1234", "/usr/lib/lib");
	is(&places, PLACES_BY_BUILD, "lib 01 64/64");
	places_free(&places);
	q.shape = (struct shape){.by_image = true};
	add(&places, film, &q, "lib", NULL);
	is(&places, PLACES_BY_BUILD, "lib 01 118/118");
	places_free(&places);
	add(&places, film, &q, "nothing", NULL);
	is(&places, PLACES_BY_BUILD, "");
	places_free(&places);
	film_free(film);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_and_builds),
		cmocka_unit_test(test_other_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
