// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <string.h>

#include "film/roles.h"
#include "resolve/function_roles.h"

/* The set of the roles of a table, whose lines can all be read. */
static uint32_t roles_of(const char *text, size_t *lines)
{
	uint32_t roles = 0;

	*lines = 0;
	for (const char *end; *text; text = end + 1, (*lines)++) {
		struct film_role_line line;

		end = strchr(text, '\n');
		assert_non_null(end);
		if (!film_role_parse(text, (size_t)(end - text), &line))
			fail_msg("%.*s", (int)(end - text), text);
		roles |= 1u << line.role;
	}
	return roles;
}

/* What a new film has none of would be read as in films of earlier versions. */
static void writes_each_role(void **state)
{
	struct buf text = {0};
	size_t lines, before;
	uint32_t roles;

	(void)state;
	function_roles(&text);
	assert_non_null(text.at);
	roles = roles_of((const char *)text.at, &lines);
	assert_int_equal(roles, (uint32_t)((1ull << FILM_ROLES) - 1));
	assert_int_equal(roles_of(film_roles_before, &before) & ~roles, 0);
	assert_in_range(lines, before, FILM_ROLE_LINES_MAX / 2);
	/* a film cuts texts that are longer */
	assert_in_range(text.count, 1000, 16384);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_each_role),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
