// SPDX-License-Identifier: Apache-2.0
/* inspect: which end belongs to which beginning, where records were lost. */
#include "../prelude.h"

#include <string.h>

#include "sources/inspect/decode.h"
#include "sources/inspect/state.h"

enum {
	ENTRY,
	RETURN,
	ALONE, /* of a function that is empty */
	PLANS
};

struct shown_call {
	uint64_t time, latency;
	bool has_end;
};

struct world {
	struct inspect inspect;
	struct shown_call shown[8];
	size_t count;
};

static void take_shown(void *context, const struct inspected *call)
{
	struct world *w = context;

	assert_true(w->count < sizeof(w->shown) / sizeof(w->shown[0]));
	w->shown[w->count++] = (struct shown_call){call->time, call->latency, call->has_end};
}

static void make_world(struct world *w)
{
	static const uint8_t sites[PLANS] = {[ENTRY] = INSPECT_SITE_ENTRY,
					     [RETURN] = INSPECT_SITE_RET,
					     [ALONE] = INSPECT_SITE_ALONE};
	const struct inspect_function function = {.name = "f"},
				      empty = {.name = "e", .is_empty = true};

	memset(w, 0, sizeof(*w));
	w->inspect.options.listener = take_shown;
	w->inspect.options.context = w;
	assert_true(vec_push(&w->inspect.images, (struct inspect_image){0}));
	assert_true(vec_push(&w->inspect.functions, function));
	assert_true(vec_push(&w->inspect.functions, empty));
	for (uint32_t i = 0; i < PLANS; i++)
		assert_true(inspect_add_plan(&w->inspect, &(struct inspect_plan){.site = sites[i]},
					     i == ALONE, 0));
}

static void free_world(struct world *w)
{
	inspect_finish(&w->inspect, 1000);
	vec_free(&w->inspect.pending);
	vec_free(&w->inspect.images);
	vec_free(&w->inspect.functions);
	vec_free(&w->inspect.plans);
	vec_free(&w->inspect.function_of_plan);
	vec_free(&w->inspect.address_of_plan);
	vec_free(&w->inspect.arguments.nodes);
	vec_free(&w->inspect.results.nodes);
}

/* A record of a call that began at start, always in the same frame. */
static void take(struct world *w, uint32_t plan, uint64_t time, uint64_t start)
{
	struct {
		struct inspect_record record;
		uint8_t registers[INSPECT_REGISTER_BYTES];
	} one = {.record = {.head = {.size = sizeof(one), .time = time},
			    .identity = {.pid = 5, .tid = 5},
			    .frame = 0x7000,
			    .start = start,
			    .plan = plan}};

	inspect_handle(&w->inspect, &one.record);
}

static void check(const struct world *w, size_t n, uint64_t time, bool has_end, uint64_t latency)
{
	assert_true(n < w->count);
	assert_int_equal(w->shown[n].time, time);
	assert_int_equal(w->shown[n].has_end, has_end);
	assert_int_equal(w->shown[n].latency, latency);
}

static void test_each_end_is_its_own(void **state)
{
	struct world w;

	(void)state;
	make_world(&w);
	take(&w, ENTRY, 100, 100);
	take(&w, RETURN, 130, 100);
	assert_int_equal(w.count, 1);
	check(&w, 0, 100, true, 30);
	/* the end of this one, and the beginning of the next one, are lost */
	take(&w, ENTRY, 200, 200);
	take(&w, RETURN, 350, 300);
	assert_int_equal(w.count, 2);
	check(&w, 1, 200, false, 0);
	assert_int_equal(w.inspect.statistics.unfinished, 1);
	assert_int_equal(w.inspect.statistics.ends_alone, 1);
	/* an end that comes late is not that of the call that has begun since */
	take(&w, ENTRY, 400, 400);
	take(&w, RETURN, 450, 350);
	assert_int_equal(w.count, 2);
	take(&w, RETURN, 460, 400);
	check(&w, 2, 400, true, 60);
	assert_int_equal(w.inspect.statistics.ends_alone, 2);
	free_world(&w);
	assert_int_equal(w.count, 3);
}

static void test_another_begins_in_its_place(void **state)
{
	struct world w;

	(void)state;
	make_world(&w);
	take(&w, ENTRY, 100, 100);
	take(&w, ENTRY, 200, 200);
	take(&w, RETURN, 220, 200);
	check(&w, 0, 100, false, 0);
	check(&w, 1, 200, true, 20);
	assert_int_equal(w.inspect.statistics.ends_alone, 0);
	free_world(&w);
}

static void test_what_is_empty_ends_as_it_begins(void **state)
{
	struct world w;

	(void)state;
	make_world(&w);
	take(&w, ALONE, 100, 100);
	check(&w, 0, 100, true, 0);
	assert_int_equal(w.inspect.statistics.unfinished, 0);
	free_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_end_is_its_own),
		cmocka_unit_test(test_another_begins_in_its_place),
		cmocka_unit_test(test_what_is_empty_ends_as_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
