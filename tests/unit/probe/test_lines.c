// SPDX-License-Identifier: Apache-2.0
/*
 * Lines to places and the variables in scope there: of a program (tests/programs/lines.c) that two
 * compilers have made, with and without optimisation.
 */
#include "../prelude.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/values.h"

/* The number of the line of the source that has a text. */
static uint32_t line_with(const char *text)
{
	FILE *source = fopen(getenv("LINES_SOURCE"), "re");
	char line[512];
	uint32_t number = 0;

	assert_non_null(source);
	while (fgets(line, sizeof(line), source)) {
		number++;
		if (strstr(line, text)) {
			fclose(source);
			return number;
		}
	}
	fail_msg("no line has '%s'", text);
	return 0;
}

static void look_up(const char *program, const struct values_line *lines, size_t count,
		    struct values *values)
{
	const struct symbol_options options = {0};
	struct symbol_image image = {.path = getenv(program), .root = ""};
	struct values_wanted wanted = {.lines = lines, .line_count = count};
	struct symbols *symbols;
	struct fail why = {0};
	int err;

	image.fd = open(image.path, O_RDONLY | O_CLOEXEC);
	assert_true(image.fd >= 0);
	assert_int_equal(symbols_new(&options, &symbols), 0);
	err = values_of_image(symbols, &image, &wanted, values, &why);
	if (err)
		fail_print(&why);
	assert_int_equal(err, 0);
	symbols_free(symbols);
	close(image.fd);
}

static const struct value_param *variable(const struct values *values,
					  const struct value_site *site, const char *name)
{
	for (uint32_t i = 0; i < site->params; i++)
		if (!strcmp(values->params.at[site->first_param + i].name, name))
			return &values->params.at[site->first_param + i];
	return NULL;
}

static enum value_place place_of(const struct values *values, const struct value_site *site,
				 const char *name)
{
	const struct value_param *found = variable(values, site, name);

	assert_non_null(found);
	return found->place;
}

static void test_scopes_without_optimisation(void **state)
{
	const char *programs[] = {"LINES_GCC_O0", "LINES_CLANG_O0"};
	struct values_line lines[] = {{"lines.c", line_with("TRUTH(\"\\\"loop")},
				      {"programs/lines.c", line_with("int kept = ")},
				      {"./lines.c", line_with("int total = order->id")}};
	struct values values;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct value_site *loop, *kept, *block;

		look_up(programs[i], lines, 3, &values);
		assert_int_equal(values.sites.count, 3);
		loop = &values.sites.at[0];
		kept = &values.sites.at[1];
		block = &values.sites.at[2];
		assert_int_equal(loop->line, 0);
		assert_string_equal(loop->function, "place");
		assert_string_equal(loop->into, "");
		assert_false(loop->is_optimised || loop->is_refused);
		assert_true(loop->has_cfa);
		/* order extra times amounts total i more */
		assert_int_equal(loop->params, 7);
		assert_string_equal(values.params.at[loop->first_param].name, "order");
		assert_int_equal(place_of(&values, loop, "times"), VALUE_STATIC);
		assert_false(variable(&values, loop, "more")->may_be_old);
		assert_int_equal(place_of(&values, kept, "kept"), VALUE_NOT_YET);
		assert_string_equal(kept->function, "clamp");
		/* the inner total is not there yet, so that the outer one is meant */
		assert_int_equal(values.types.at[variable(&values, block, "total")->type].size,
				 sizeof(long));
		assert_null(variable(&values, block, "more"));
		values_free(&values);
	}
}

static void test_copies_of_inlined_functions(void **state)
{
	struct values_line line = {"lines.c", line_with("TRUTH(\"\\\"low")};
	struct values values;
	size_t inlined = 0;

	(void)state;
	look_up("LINES_GCC_O2", &line, 1, &values);
	assert_true(values.sites.count >= 2);
	vec_foreach (&values.sites, site) {
		assert_string_equal(site->function, "clamp");
		assert_true(site->is_optimised);
		inlined += !strcmp(site->into, "place");
		/* those of clamp(), and none of place() */
		assert_non_null(variable(&values, site, "value"));
		assert_non_null(variable(&values, site, "most"));
		assert_null(variable(&values, site, "order"));
	}
	assert_true(inlined >= 2);
	values_free(&values);
}

/* A loop that was unrolled has its line three times, with another constant each. */
static void test_copies_of_a_loop(void **state)
{
	struct values_line line = {"lines.c", line_with("TRUTH(\"\\\"loop")};
	struct values values;

	(void)state;
	look_up("LINES_CLANG_O2", &line, 1, &values);
	assert_int_equal(values.sites.count, 3);
	for (int64_t i = 0; i < 3; i++) {
		const struct value_param *found = variable(&values, &values.sites.at[i], "i");

		assert_non_null(found);
		assert_int_equal(found->place, VALUE_CONSTANT);
		assert_int_equal(found->displacement, i);
	}
	values_free(&values);
}

/* The parameters are not stored at the first instruction: the place is behind the prologue. */
static void test_the_beginning_of_a_function(void **state)
{
	const char *programs[] = {"LINES_GCC_O0", "LINES_CLANG_O0", "LINES_GCC_O2",
				  "LINES_CLANG_O2"};
	struct values_line line = {"lines.c", line_with("long place(") + 1};
	struct values values;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		look_up(programs[i], &line, 1, &values);
		assert_true(values.sites.count >= 1);
		assert_in_range(place_of(&values, &values.sites.at[0], "order"), VALUE_REGISTERS,
				VALUE_AT_POINTER);
		values_free(&values);
	}
}

static void test_lines_without_code(void **state)
{
	uint32_t comment = line_with("* Prints its variables");
	struct values_line lines[] = {{"lines.c", comment},
				      {"ines.c", 50},
				      {"lines.c", line_with("TRUTH(\"\\\"loop") + 1}};
	struct values values;

	(void)state;
	look_up("LINES_GCC_O0", lines, 3, &values);
	assert_int_equal(values.near.count, 3);
	assert_true(values.near.at[0].has_file);
	assert_int_equal(values.near.at[0].before, 0);
	assert_true(values.near.at[0].after > comment);
	assert_false(values.near.at[1].has_file);
	/* the third one has code */
	assert_int_equal(values.sites.count, 1);
	assert_int_equal(values.sites.at[0].line, 2);
	values_free(&values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes_without_optimisation),
		cmocka_unit_test(test_copies_of_inlined_functions),
		cmocka_unit_test(test_copies_of_a_loop),
		cmocka_unit_test(test_the_beginning_of_a_function),
		cmocka_unit_test(test_lines_without_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
