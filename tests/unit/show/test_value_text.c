// SPDX-License-Identifier: Apache-2.0
/* Values as text: whole where they fit a line, else less deep. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/shown_text.h"

/* An object of members, each an object with a text. */
static void put_object(struct shown_tree *tree, const char *name, uint32_t members)
{
	const struct shown object = {.kind = SHOWN_OBJECT, .name = name, .children = members};
	const struct shown member = {.kind = SHOWN_OBJECT, .name = "m", .children = 2};
	const struct shown number = {.kind = SHOWN_SIGNED, .name = "n", .number = 7};
	const struct shown text = {
		.kind = SHOWN_TEXT, .name = "t", .text = "some words", .size = 10};

	assert_true(vec_push(&tree->nodes, object));
	for (uint32_t i = 0; i < members; i++)
		assert_true(vec_push(&tree->nodes, member) && vec_push(&tree->nodes, number) &&
			    vec_push(&tree->nodes, text));
}

static char *printed(struct shown_tree *tree, bool *is_short)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	*is_short = shown_print_list(out, tree);
	assert_int_equal(fclose(out), 0);
	vec_free(&tree->nodes);
	*tree = (struct shown_tree){0};
	return text;
}

static void test_whole(void **state)
{
	struct shown_tree tree = {0};
	bool is_short;
	char *text;

	(void)state;
	put_object(&tree, "a", 2);
	put_object(&tree, "b", 0);
	text = printed(&tree, &is_short);
	assert_string_equal(text, "a={m={n=7, t=\"some words\"}, m={n=7, t=\"some words\"}}, b={}");
	assert_false(is_short);
	free(text);
}

static void test_less_deep(void **state)
{
	struct shown_tree tree = {0};
	bool is_short;
	char *text;

	(void)state;
	put_object(&tree, "a", 20);
	put_object(&tree, "b", 1);
	text = printed(&tree, &is_short);
	assert_true(is_short);
	assert_non_null(strstr(text, "a={m={…}, m={…}, "));
	/* what is short by itself is not shortened */
	assert_non_null(strstr(text, "}, b={m={n=7, t=\"some words\"}}"));
	assert_null(strstr(text, ", …}"));
	free(text);
}

static void test_fewer_members(void **state)
{
	struct shown_tree tree = {0};
	bool is_short;
	char *text;

	(void)state;
	put_object(&tree, "a", 2000);
	put_object(&tree, "b", 2000);
	text = printed(&tree, &is_short);
	assert_true(is_short);
	assert_in_range(strlen(text), 500, 800);
	assert_non_null(strstr(text, "m={…}, …}, b={m={…}"));
	assert_string_equal(text + strlen(text) - strlen(", …}"), ", …}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_less_deep),
		cmocka_unit_test(test_fewer_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
