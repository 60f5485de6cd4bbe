// SPDX-License-Identifier: Apache-2.0
/* Each row of the routes says how its answer is limited to the services of a token. */
#include "../prelude.h"

#include <string.h>

#include "server/route.h"

static void test_each_says_what_it_shows(void **state)
{
	(void)state;
	assert_true(route_count > 0);
	for (size_t i = 0; i < route_count; i++) {
		const struct route *r = &routes[i];

		if (r->shows == SHOWS_UNDECLARED)
			fail_msg("%s %s does not say what it shows", r->method, r->path);
		/* what answers a question shows something */
		if (r->shows == SHOWS_NOTHING && r->lane == LANE_QUESTION)
			fail_msg("%s %s answers questions, and says that it shows nothing",
				 r->method, r->path);
		/* what needs no token has nothing to be limited */
		if (r->is_open && r->shows != SHOWS_NOTHING)
			fail_msg("%s %s is open and shows something", r->method, r->path);
		if (r->is_record && r->lane != LANE_PUSH)
			fail_msg("%s %s records, and is not a push", r->method, r->path);
	}
}

static void test_no_row_hides_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count; i++)
		for (size_t k = 0; k < i; k++)
			assert_false(!strcmp(routes[i].path, routes[k].path) &&
				     !strcmp(routes[i].method, routes[k].method));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_says_what_it_shows),
		cmocka_unit_test(test_no_row_hides_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
