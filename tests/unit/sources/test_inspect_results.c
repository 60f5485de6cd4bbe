// SPDX-License-Identifier: Apache-2.0
/* trace --args: which plans take results, and what is made of their records. */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>

#include "sources/inspect/state.h"

enum {
	INT,
	LONG,
	TYPES
};

enum {
	RAX = 0,
	RDI = 5
};

/* Functions of an image, with at most two parameters each. */
struct world {
	struct inspect inspect;
	struct inspect_image image;
	struct probe_function probes[8];
	struct value_param params[8][2];
};

static void make_world(struct world *w)
{
	const struct value_type types[TYPES] = {
		[INT] = {.kind = VALUE_INT,
			 .name = "int",
			 .bare = "int",
			 .size = 4,
			 .target = VALUE_NO_TYPE,
			 .flags = VALUE_FLAG_SIGNED},
		[LONG] = {.kind = VALUE_INT,
			  .name = "long",
			  .bare = "long",
			  .size = 8,
			  .target = VALUE_NO_TYPE,
			  .flags = VALUE_FLAG_SIGNED},
	};

	memset(w, 0, sizeof(*w));
	w->inspect.options.limits = (struct inspect_limits){.text = 64, .elements = 8, .depth = 2};
	for (size_t i = 0; i < TYPES; i++)
		assert_true(vec_push(&w->image.values.types, types[i]));
	assert_true(vec_push(&w->inspect.images, w->image));
}

static void free_world(struct world *w)
{
	vec_free(&w->image.values.types);
	vec_free(&w->inspect.images);
	vec_free(&w->inspect.functions);
	vec_free(&w->inspect.plans);
	vec_free(&w->inspect.function_of_plan);
	vec_free(&w->inspect.address_of_plan);
	vec_free(&w->inspect.kept);
	map_free(&w->inspect.result_plans);
}

static struct value_param in_register(uint32_t type, uint8_t reg, bool is_result)
{
	return (struct value_param){
		.name = is_result ? "" : "n",
		.type = type,
		.is_result = is_result,
		.place = VALUE_REGISTERS,
		.count = 1,
		.piece = {{0, type == INT ? 4 : 8, reg}},
	};
}

/* A result in memory, where rdi pointed when the call began. */
static struct value_param in_memory(void)
{
	return (struct value_param){
		.name = "",
		.type = LONG,
		.is_result = true,
		.place = VALUE_AT_POINTER,
		.reg = VALUE_REGISTER_RESULT,
	};
}

static struct value_param nowhere(enum value_place place)
{
	return (struct value_param){.name = "", .type = INT, .is_result = true, .place = place};
}

/* A function with these parameters, which is number `number` of the tracer's plan. */
static struct inspect_function function(struct world *w, uint32_t number,
					const struct value_param *params, uint32_t count)
{
	struct inspect_function f = {
		.probe = &w->probes[number],
		.name = "f",
		.in_plan = number,
		.value = {.is_known = true, .params = count},
		.params = w->params[number],
	};

	w->probes[number].exit = PROBE_EXIT_RET;
	w->probes[number].address = 0x1000 * (number + 1);
	if (count)
		memcpy(w->params[number], params, count * sizeof(*params));
	return f;
}

static void keep(struct world *w, const struct inspect_function *f, bool arguments)
{
	uint32_t number = (uint32_t)w->inspect.functions.count;

	assert_true(vec_push(&w->inspect.functions, *f));
	assert_int_equal(inspect_keep(&w->inspect, &w->image, number, arguments), 0);
}

/* -- which functions have a plan --------------------------------------------------------------- */

static void test_functions_that_return_alike_share_a_plan(void **state)
{
	const struct value_param number = in_register(INT, RAX, true);
	const struct value_param longer = in_memory();
	struct inspect_function f;
	struct world w;

	(void)state;
	make_world(&w);
	f = function(&w, 0, &number, 1);
	keep(&w, &f, false);
	f = function(&w, 1, &number, 1);
	keep(&w, &f, true);
	assert_int_equal(w.inspect.plans.count, 1);
	/* what is read behind a pointer is another plan, which needs the pointer */
	f = function(&w, 3, &longer, 1);
	keep(&w, &f, true);
	assert_int_equal(w.inspect.plans.count, 2);
	assert_int_equal(w.inspect.plans.at[0].needs_result_at, 0);
	assert_int_equal(w.inspect.plans.at[1].needs_result_at, 1);
	assert_int_equal(w.inspect.plans.at[1].steps, 1);
	assert_int_equal(w.inspect.kept.at[0].results, w.inspect.kept.at[1].results);
	assert_true(inspect_wants_results(&w.inspect, 3));
	assert_false(inspect_has(&w.inspect, 0));
	assert_true(inspect_has(&w.inspect, 1));
	/* one that was not kept, and numbers that there are none of */
	assert_false(inspect_wants_results(&w.inspect, 2));
	assert_false(inspect_wants_results(&w.inspect, 4));
	assert_false(inspect_has(&w.inspect, UINT32_MAX));
	free_world(&w);
}

static void test_no_plan_where_no_return_is_seen_or_no_place_is_known(void **state)
{
	const struct value_param number = in_register(INT, RAX, true);
	const struct value_param unknown = nowhere(VALUE_NOT_KNOWN);
	struct inspect_function f;
	struct world w;

	(void)state;
	make_world(&w);
	f = function(&w, 0, &number, 1);
	w.probes[0].exit = PROBE_EXIT_INFERRED;
	keep(&w, &f, true);
	f = function(&w, 1, &unknown, 1);
	keep(&w, &f, true);
	f = function(&w, 2, NULL, 0);
	keep(&w, &f, true);
	assert_int_equal(w.inspect.plans.count, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(inspect_wants_results(&w.inspect, i));
	/* that its result is not known is said of each call */
	assert_false(w.inspect.kept.at[0].only_said);
	assert_true(w.inspect.kept.at[1].only_said);
	assert_false(w.inspect.kept.at[2].only_said);
	free_world(&w);
}

static void test_too_many_plans_are_counted(void **state)
{
	const struct value_param number = in_register(INT, RAX, true);
	struct inspect_function f;
	struct world w;

	(void)state;
	make_world(&w);
	while (w.inspect.plans.count < INSPECT_PLANS_MAX)
		assert_true(inspect_add_plan(&w.inspect, &(struct inspect_plan){0}, 0, 0));
	f = function(&w, 0, &number, 1);
	keep(&w, &f, true);
	assert_int_equal(w.inspect.statistics.without, 1);
	assert_false(inspect_wants_results(&w.inspect, 0));
	/* nor is there one for its arguments */
	assert_false(inspect_is_worth(&w.inspect, &f));
	assert_int_equal(w.inspect.statistics.without, 2);
	free_world(&w);
}

static void test_what_the_beginning_of_a_call_tells(void **state)
{
	const struct value_param both[] = {in_register(INT, RDI, false),
					   in_register(INT, RAX, true)};
	const struct value_param memory = in_memory();
	struct inspect_function f;
	struct world w;

	(void)state;
	make_world(&w);
	f = function(&w, 0, both, 2);
	assert_true(inspect_is_worth(&w.inspect, &f));
	/* a result alone is taken at the end, */
	f = function(&w, 1, both + 1, 1);
	assert_false(inspect_is_worth(&w.inspect, &f));
	/* unless only the beginning knows where it will be */
	f = function(&w, 2, &memory, 1);
	assert_true(inspect_is_worth(&w.inspect, &f));
	assert_int_equal(w.inspect.statistics.without, 0);
	f.value.is_known = false;
	assert_false(inspect_is_worth(&w.inspect, &f));
	assert_int_equal(w.inspect.statistics.without, 1);
	free_world(&w);
}

/* -- what records say -------------------------------------------------------------------------- */

/* Of registers alone; to be freed. */
static struct inspect_record *record_of(uint32_t plan, uint32_t end, uint64_t rax)
{
	struct inspect_record *record = calloc(1, sizeof(*record) + INSPECT_REGISTER_BYTES);

	assert_non_null(record);
	record->head.size = sizeof(*record) + INSPECT_REGISTER_BYTES;
	record->plan = plan;
	record->end = end;
	memcpy((uint64_t *)(record + 1) + RAX, &rax, sizeof(rax));
	return record;
}

static void test_a_result_is_decoded(void **state)
{
	const struct value_param number = in_register(INT, RAX, true);
	struct inspect_record *record = record_of(0, INSPECT_RETURNS, 0xabcd00000000ull | 42);
	struct shown_tree tree = {0};
	struct inspect_function f;
	struct world w;

	(void)state;
	make_world(&w);
	f = function(&w, 0, &number, 1);
	keep(&w, &f, false);
	inspect_decode_results(&w.inspect, 0, record, &tree);
	assert_int_equal(tree.nodes.count, 1);
	assert_int_equal(tree.nodes.at[0].status, SHOWN_VALUE);
	assert_int_equal(tree.nodes.at[0].number, 42);
	vec_free(&tree.nodes);
	free(record);
	free_world(&w);
}

static void test_no_result_is_made_up(void **state)
{
	const struct value_param number = in_register(INT, RAX, true);
	const struct value_param unknown = nowhere(VALUE_NOT_KNOWN);
	struct inspect_record *other = record_of(1, INSPECT_RETURNS, 42);
	struct inspect_record *left = record_of(0, INSPECT_LEAVES, 42);
	struct shown_tree tree = {0};
	struct inspect_function f;
	struct world w;

	(void)state;
	make_world(&w);
	f = function(&w, 0, &number, 1);
	keep(&w, &f, false);
	f = function(&w, 1, &unknown, 1);
	keep(&w, &f, false);
	/* no record came, one of another plan, and one of a function that is not known */
	inspect_decode_results(&w.inspect, 0, NULL, &tree);
	inspect_decode_results(&w.inspect, 0, other, &tree);
	inspect_decode_results(&w.inspect, 7, left, &tree);
	assert_int_equal(tree.nodes.count, 0);
	/* it has jumped to a function that returns in its place */
	inspect_decode_results(&w.inspect, 0, left, &tree);
	assert_int_equal(tree.nodes.count, 1);
	assert_int_equal(tree.nodes.at[0].status, SHOWN_LEFT);
	/* what is known without any record */
	inspect_decode_results(&w.inspect, 1, NULL, &tree);
	assert_int_equal(tree.nodes.count, 2);
	assert_int_equal(tree.nodes.at[1].status, SHOWN_NOT_KNOWN);
	vec_free(&tree.nodes);
	free(other);
	free(left);
	free_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_that_return_alike_share_a_plan),
		cmocka_unit_test(test_no_plan_where_no_return_is_seen_or_no_place_is_known),
		cmocka_unit_test(test_too_many_plans_are_counted),
		cmocka_unit_test(test_what_the_beginning_of_a_call_tells),
		cmocka_unit_test(test_a_result_is_decoded),
		cmocka_unit_test(test_no_result_is_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
