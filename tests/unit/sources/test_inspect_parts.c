// SPDX-License-Identifier: Apache-2.0
/* --show: expressions to steps, and what the steps have read to values. */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "sources/inspect/decode.h"

enum {
	INT,
	ORDER,
	POINTER,
	ARRAY,
	UNNAMED,
	TYPES
};

/*
 * struct order { int id; struct order *next; int amounts[4]; int secret; struct { int flags; }; }
 * *order; int n;
 */
struct world {
	struct values values;
	struct value_param variables[4];
	struct inspect_plan plan;
	struct inspect_builder builder;
	struct inspect_redaction redaction;
};

static const char *const hidden[] = {"secret"};

static void make_world(struct world *w)
{
	const struct value_type types[TYPES] = {
		[INT] = {.kind = VALUE_INT,
			 .name = "int",
			 .bare = "int",
			 .size = 4,
			 .target = VALUE_NO_TYPE,
			 .flags = VALUE_FLAG_SIGNED},
		[ORDER] = {.kind = VALUE_STRUCT,
			   .name = "order",
			   .bare = "order",
			   .size = 40,
			   .target = VALUE_NO_TYPE,
			   .members = 5},
		[POINTER] = {.kind = VALUE_POINTER,
			     .name = "order *",
			     .bare = "",
			     .size = 8,
			     .target = ORDER},
		[ARRAY] = {.kind = VALUE_ARRAY,
			   .name = "int[4]",
			   .bare = "",
			   .size = 16,
			   .target = INT,
			   .count = 4},
		[UNNAMED] = {.kind = VALUE_STRUCT,
			     .name = "",
			     .bare = "",
			     .size = 4,
			     .target = VALUE_NO_TYPE,
			     .first_member = 5,
			     .members = 1},
	};
	const struct value_member members[] = {
		{"id", 0, INT, 0, 0, false},	     {"next", 8, POINTER, 0, 0, false},
		{"amounts", 16, ARRAY, 0, 0, false}, {"secret", 32, INT, 0, 0, false},
		{"", 36, UNNAMED, 0, 0, false},	     {"flags", 0, INT, 0, 0, false},
	};

	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < TYPES; i++)
		assert_true(vec_push(&w->values.types, types[i]));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		assert_true(vec_push(&w->values.members, members[i]));
	assert_int_equal(values_find_shapes(&w->values), 0);
	/* in rdi, in rsi, a sum of rsp, and nowhere */
	w->variables[0] = (struct value_param){.name = "order",
					       .type = POINTER,
					       .place = VALUE_REGISTERS,
					       .count = 1,
					       .piece = {{0, 8, 5}}};
	w->variables[1] = (struct value_param){.name = "n",
					       .type = INT,
					       .place = VALUE_REGISTERS,
					       .count = 1,
					       .piece = {{0, 4, 4}}};
	w->variables[2] = (struct value_param){
		.name = "local", .type = POINTER, .place = VALUE_SUM, .reg = 7, .displacement = 16};
	w->variables[3] = (struct value_param){.name = "gone", .type = INT, .place = VALUE_NOWHERE};
	w->redaction = (struct inspect_redaction){hidden, 1};
	w->builder = (struct inspect_builder){
		.values = &w->values,
		.limits = {64, 8, 2},
		.redaction = &w->redaction,
		.plan = &w->plan,
	};
}

static int add(struct world *w, const char *text, struct inspect_part *part)
{
	return inspect_add_parts(&w->builder, &text, 1, w->variables, 4, part, NULL);
}

/* A record of registers and items. */
struct record {
	uint8_t bytes[1024];
	uint32_t size;
};

static void set_register(struct record *r, unsigned int number, uint64_t value)
{
	memcpy(r->bytes + 8 * (size_t)number, &value, sizeof(value));
	if (r->size < INSPECT_REGISTER_BYTES)
		r->size = INSPECT_REGISTER_BYTES;
}

static void put_item(struct record *r, uint16_t step, enum inspect_status status, const void *bytes,
		     uint16_t size)
{
	struct inspect_item item = {.step = step, .size = size, .status = (uint8_t)status};

	memcpy(r->bytes + r->size, &item, sizeof(item));
	if (size)
		memcpy(r->bytes + r->size + sizeof(item), bytes, size);
	r->size += (uint32_t)sizeof(item) + ((size + 7u) & ~7u);
}

static void decode(const struct world *w, const struct record *r, const struct inspect_part *part,
		   struct shown_tree *tree)
{
	const struct inspect_contents taken = {
		.values = &w->values,
		.plan = &w->plan,
		.limits = &w->builder.limits,
		.redaction = &w->redaction,
		.bytes = r->bytes,
		.size = r->size,
	};

	inspect_decode_parts(&taken, part, 1, tree);
	assert_false(tree->failed);
	assert_true(tree->nodes.count > 0);
}

static void free_world(struct world *w)
{
	vec_free(&w->values.types);
	vec_free(&w->values.members);
	free(w->values.shapes);
}

static void test_a_register_needs_no_step(void **state)
{
	struct record r = {0};
	struct shown_tree tree = {0};
	struct inspect_part part;
	struct world w;

	(void)state;
	make_world(&w);
	assert_int_equal(add(&w, "n", &part), 0);
	assert_int_equal(w.plan.steps, 0);
	set_register(&r, 4, (uint64_t)-7);
	decode(&w, &r, &part, &tree);
	assert_int_equal(tree.nodes.at[0].status, SHOWN_VALUE);
	assert_int_equal((int64_t)tree.nodes.at[0].number, -7);
	vec_free(&tree.nodes);
	free_world(&w);
}

static void test_only_what_is_shown_is_read(void **state)
{
	const int32_t order[10] = {3, 0, 0, 0, 10, 11, 12, 13};
	struct record r = {0};
	struct shown_tree tree = {0};
	struct inspect_part part;
	struct world w;

	(void)state;
	make_world(&w);
	/* through the pointer, but not through that of the structure */
	assert_int_equal(add(&w, "order.amounts[2]", &part), 0);
	assert_int_equal(w.plan.steps, 1);
	assert_int_equal(w.plan.step[0].offset, 5 * 8);
	set_register(&r, 5, 0x1000);
	put_item(&r, 0, INSPECT_OK, order, sizeof(order));
	decode(&w, &r, &part, &tree);
	assert_int_equal(tree.nodes.at[0].number, 12);
	assert_string_equal(tree.nodes.at[0].name, "order.amounts[2]");
	/* the same step serves another part */
	assert_int_equal(add(&w, "arg.order->id", &part), 0);
	assert_int_equal(w.plan.steps, 1);
	vec_free(&tree.nodes);
	free_world(&w);
}

/* Members of a structure without a name are those of the one around, as in C. */
static void test_members_of_an_unnamed_one(void **state)
{
	const int32_t order[10] = {3, 0, 0, 0, 10, 11, 12, 13, 0, 42};
	struct record r = {0};
	struct shown_tree tree = {0};
	struct inspect_part part;
	struct fail why = {0};
	struct world w;

	(void)state;
	make_world(&w);
	assert_int_equal(add(&w, "order.flags", &part), 0);
	set_register(&r, 5, 0x1000);
	put_item(&r, 0, INSPECT_OK, order, sizeof(order));
	decode(&w, &r, &part, &tree);
	assert_int_equal(tree.nodes.at[0].number, 42);
	vec_free(&tree.nodes);
	tree = (struct shown_tree){0};
	/* the whole */
	assert_int_equal(add(&w, "*order", &part), 0);
	decode(&w, &r, &part, &tree);
	assert_int_equal(tree.nodes.at[0].children, 5);
	assert_string_equal(tree.nodes.at[tree.nodes.count - 1].name, "flags");
	assert_int_equal(tree.nodes.at[tree.nodes.count - 1].number, 42);
	vec_free(&tree.nodes);
	assert_int_equal(
		inspect_add_condition(&w.builder, "order.nothing == 1", w.variables, 4, &why),
		-EINVAL);
	assert_non_null(strstr(why.what, "'nothing'; there are id, next, amounts, secret, flags"));
	free_world(&w);
}

static void test_elements_of_pointers_and_sums(void **state)
{
	struct inspect_part part;
	struct world w;

	(void)state;
	make_world(&w);
	assert_int_equal(add(&w, "order[2].id", &part), 0);
	assert_int_equal(w.plan.step[0].displacement, 2 * 40);
	/* rsp + 16 is the pointer's value: so much further is what it points to */
	assert_int_equal(add(&w, "*local", &part), 0);
	assert_int_equal(w.plan.step[1].from, INSPECT_FROM_REGISTERS);
	assert_int_equal(w.plan.step[1].offset, 7 * 8);
	assert_int_equal(w.plan.step[1].displacement, 16);
	free_world(&w);
}

static void test_nil_on_the_way_is_no_value(void **state)
{
	struct record r = {0};
	struct shown_tree tree = {0};
	struct inspect_part part;
	struct world w;

	(void)state;
	make_world(&w);
	assert_int_equal(add(&w, "order.next.id", &part), 0);
	assert_int_equal(w.plan.steps, 2);
	set_register(&r, 5, 0);
	put_item(&r, 0, INSPECT_NIL, NULL, 0);
	decode(&w, &r, &part, &tree);
	assert_int_equal(tree.nodes.at[0].status, SHOWN_NOT_RESIDENT);
	vec_free(&tree.nodes);
	free_world(&w);
}

static void test_statuses_of_parts(void **state)
{
	static const struct {
		const char *text;
		enum shown_status status;
	} cases[] = {
		{"gone", SHOWN_OPTIMISED_OUT},		{"nothing", SHOWN_NO_MEMBER},
		{"order.nothing", SHOWN_NO_MEMBER},	{"order.secret", SHOWN_REDACTED},
		{"order.next->secret", SHOWN_REDACTED},
	};
	struct inspect_part part;
	struct world w;

	(void)state;
	make_world(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(add(&w, cases[i].text, &part), 0);
		assert_int_equal(part.status, cases[i].status);
	}
	free_world(&w);
}

static void test_what_is_not_understood(void **state)
{
	static const char *const texts[] = {
		"",
		"*",
		"order.",
		"order->",
		"order.amounts[4]",
		"order.amounts[",
		"n[0]",
		"*n",
		"n n",
		"n.",
		"order.amounts[-1]",
		"order[4096]",
		"********* order",
		"order.amounts[99999999999999999999]",
	};
	struct inspect_part part;
	struct world w;

	(void)state;
	make_world(&w);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(add(&w, texts[i], &part), -EINVAL);
	free_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_register_needs_no_step),
		cmocka_unit_test(test_only_what_is_shown_is_read),
		cmocka_unit_test(test_members_of_an_unnamed_one),
		cmocka_unit_test(test_elements_of_pointers_and_sums),
		cmocka_unit_test(test_nil_on_the_way_is_no_value),
		cmocka_unit_test(test_statuses_of_parts),
		cmocka_unit_test(test_what_is_not_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
