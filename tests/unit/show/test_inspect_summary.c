// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/inspect_summary.h"

/* A call f(order={id, tags[]}, who), whose tree is made anew. */
struct call {
	struct shown_tree arguments, results;
	char text[16];
};

static void make(struct call *call, uint64_t id, uint64_t tags, uint64_t who)
{
	const struct shown nodes[] = {
		{.kind = SHOWN_OBJECT, .name = "order", .type = "struct order", .children = 3},
		{.kind = SHOWN_UNSIGNED, .name = "id", .number = id},
		{.kind = SHOWN_LIST, .name = "tags", .length = tags, .children = 1},
		{.kind = SHOWN_SIGNED, .number = 7},
		{.kind = SHOWN_ADDRESS, .name = "next", .number = id},
		{.kind = SHOWN_TEXT, .name = "who", .text = call->text},
	};
	struct shown result = {.kind = SHOWN_BOOL, .number = id % 2};

	snprintf(call->text, sizeof(call->text), "w\x1b%d", (int)who);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		struct shown node = nodes[i];

		if (node.kind == SHOWN_TEXT)
			node.size = strlen(call->text);
		assert_true(vec_push(&call->arguments.nodes, node));
	}
	assert_true(vec_push(&call->results.nodes, result));
}

static void add(struct inspect_summary *summary, const struct call *call, uint64_t latency)
{
	const struct inspect_line line = {
		.comm = "server",
		.function = "f",
		.arguments = &call->arguments,
		.results = &call->results,
		.has_end = latency != 0,
		.waits_for_end = true,
		.latency = latency,
	};

	assert_int_equal(inspect_summary_add(summary, &line), 0);
}

static void take(struct inspect_summary *summary, uint64_t id, uint64_t tags, uint64_t who,
		 uint64_t latency)
{
	struct call call = {0};

	make(&call, id, tags, who);
	add(summary, &call, latency);
	vec_free(&call.arguments.nodes);
	vec_free(&call.results.nodes);
}

static char *printed(struct inspect_summary *summary, bool json)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (json)
		inspect_summary_print_json(summary, out);
	else
		inspect_summary_print_text(summary, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void assert_has(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("no '%s' in:\n%s", words, text);
}

static void values_have_their_time(void **state)
{
	struct inspect_summary *summary = inspect_summary_new();
	char *text;

	(void)state;
	assert_non_null(summary);
	for (uint64_t i = 0; i < 40; i++)
		take(summary, i % 4, 2, i % 2, i % 4 == 3 ? 1000000 : 1000);
	take(summary, 0, 2, 0, 0); /* its end was not seen */
	text = printed(summary, false);
	assert_has(text,
		   "f: 41 calls, avg 250.750 us, p50 1.00 us, p99 1.000 ms, longest 1.000 ms; "
		   "1 of unknown duration");
	assert_has(text, "order.id: 4 values");
	assert_has(text, "           10  10.000 ms   99.7 %   1.000 ms   1.000 ms  3\n");
	/* one more than those whose time is known */
	assert_has(text, "           11  10.000 us    0.1 %   1.000 us   1.000 us  0\n");
	assert_has(text, "len(order.tags) is always 2\n");
	assert_null(strstr(text, "order.next"));
	assert_has(text, "result: 2 values");
	/* what a program says does not reach the terminal as it is */
	assert_null(strchr(text, '\x1b'));
	free(text);
	text = printed(summary, true);
	assert_has(text, "\"calls\":41,\"ended\":40,\"total_ns\":10030000,\"max_ns\":1000000");
	assert_has(text, "{\"value\":\"3\",\"calls\":10,\"ended\":10,\"total_ns\":10000000");
	free(text);
	inspect_summary_free(summary);
}

/* Beyond a number of values they are no longer told apart, but none is lost. */
static void many_values(void **state)
{
	struct inspect_summary *summary = inspect_summary_new();
	char *text;

	(void)state;
	assert_non_null(summary);
	for (uint64_t i = 0; i < 5000; i++)
		take(summary, i, 1, 0, 10);
	text = printed(summary, true);
	assert_has(text,
		   "\"others\":{\"calls\":904,\"ended\":904,\"total_ns\":9040,\"max_ns\":10}");
	free(text);
	text = printed(summary, false);
	assert_has(text, "order.id: 4096 values");
	assert_has(text, "… 4086 more values; --json has all of them");
	assert_has(text, "further values, beyond the number that it distinguishes");
	free(text);
	inspect_summary_free(summary);
}

/* A structure of very many members. */
static void many_members(void **state)
{
	struct inspect_summary *summary = inspect_summary_new();
	struct call call = {0};
	char names[100][8], *text;

	(void)state;
	assert_non_null(summary);
	assert_true(vec_push(&call.arguments.nodes,
			     ((struct shown){.kind = SHOWN_OBJECT, .name = "o", .children = 100})));
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "m%d", i);
		assert_true(vec_push(&call.arguments.nodes,
				     ((struct shown){.kind = SHOWN_SIGNED, .name = names[i]})));
	}
	add(summary, &call, 5);
	text = printed(summary, false);
	assert_has(text, "o.m63 is always 0");
	assert_null(strstr(text, "o.m64"));
	assert_has(text, "36 values of further members are not in the tables");
	free(text);
	vec_free(&call.arguments.nodes);
	inspect_summary_free(summary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_their_time),
		cmocka_unit_test(many_values),
		cmocka_unit_test(many_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
