// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <string.h>

#include "film/film.h"
#include "film/roles.h"

static bool parse(const char *text, struct film_role_line *line)
{
	return film_role_parse(text, strlen(text), line);
}

static void reads_what_it_writes(void **state)
{
	static const struct film_role_row rows[] = {
		{FILM_ROLE_RECLAIM, FILM_FRAME_KERNEL, "shrink_node*"},
		{FILM_ROLE_BARE_WORK_LOOP, FILM_FRAME_PYTHON, "_worker", "*/thread.py"},
		{FILM_ROLE_FOR_WORK, FILM_FRAME_MARK, "XREAD BLOCK *"},
		{FILM_ROLE_RUNS + FILM_TASKS_TOKIO, FILM_ROLES_OF_THREAD, "tokio-runtime-w*"},
		{FILM_ROLE_AWAITS, FILM_ROLES_OF_ANY, "a b"},
		{FILM_ROLE_LIBRARY, FILM_ROLES_OF_FILE, "[[]vdso]"},
		{FILM_ROLE_PROGRAM, FILM_ROLES_OF_SCRIPT, "*-packages/*"},
	};
	struct buf text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct film_role_line line;

		text.count = 0;
		film_role_put(&text, &rows[i]);
		assert_false(text.failed);
		assert_int_equal(text.at[text.count - 1], '\n');
		assert_true(film_role_parse((const char *)text.at, text.count - 1, &line));
		assert_int_equal(line.role, rows[i].role);
		assert_int_equal(line.kind, rows[i].kind);
		assert_string_equal(line.glob, rows[i].glob);
		assert_string_equal(line.file, rows[i].file ? rows[i].file : "");
	}
	buf_free(&text);
}

/* Lines of a later version, and damaged ones. */
static void refuses_other_lines(void **state)
{
	static const char *const texts[] = {
		"",
		"disk",
		"disk 2",
		"disk x a",
		"disk  a",
		"dis 2 a",
		"what-is-new 2 a",
		"disk -2 a",
		"disk 2a a",
		"disk 99999 a",
		"disk ** a",
		"disk files a",
		"disk fil a",
		"disk 2 a*a*a*a*a*a*b",
		"disk 2 a\t*a*a*a*a*a",
	};
	struct film_role_line line;
	char glob[FILM_ROLE_GLOB_MAX + 8];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (parse(texts[i], &line))
			fail_msg("%s", texts[i]);
	snprintf(glob, sizeof(glob), "disk 2 %0*d", FILM_ROLE_GLOB_MAX - 1, 0);
	assert_true(parse(glob, &line));
	snprintf(glob, sizeof(glob), "disk 2 %0*d", FILM_ROLE_GLOB_MAX, 0);
	assert_false(parse(glob, &line));
}

static void has_a_name_for_each(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < FILM_ROLES; i++) {
		const char *name = film_role_name((enum film_role)i);

		assert_int_equal(film_role_named(name, strlen(name)), i);
	}
	/* they are kept in sets of 32 bits */
	assert_true(FILM_ROLES <= 32);
}

static void reads_what_held_before(void **state)
{
	struct film_role_line line;
	size_t count = 0;

	(void)state;
	for (const char *at = film_roles_before, *end; *at; at = end + 1, count++) {
		end = strchr(at, '\n');
		assert_non_null(end);
		if (!film_role_parse(at, (size_t)(end - at), &line))
			fail_msg("%.*s", (int)(end - at), at);
	}
	/* beside those of a film */
	assert_in_range(count, 60, FILM_ROLE_LINES_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_it_writes),
		cmocka_unit_test(refuses_other_lines),
		cmocka_unit_test(has_a_name_for_each),
		cmocka_unit_test(reads_what_held_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
