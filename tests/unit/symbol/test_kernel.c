// SPDX-License-Identifier: Apache-2.0
/* Names of kernel functions, compared with /proc/kallsyms as the test reads it itself. */
#include "bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct line {
	uint64_t address;
	char type, name[200];
};

struct table {
	vec(struct line) lines;
	char answer[600];
	size_t answers;
};

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int set_up(void **state)
{
	struct table *t = calloc(1, sizeof(*t));
	FILE *f = fopen("/proc/kallsyms", "r");
	char text[600];
	struct line line;

	if (!t || !f)
		return -1;
	while (fgets(text, sizeof(text), f))
		if (sscanf(text, "%" SCNx64 " %c %199[^\n]", &line.address, &line.type,
			   line.name) == 3)
			if (!vec_push(&t->lines, line))
				return -1;
	fclose(f);
	qsort(t->lines.at, t->lines.count, sizeof(*t->lines.at), compare_lines);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct table *t = *state;

	vec_free(&t->lines);
	free(t);
	return 0;
}

static bool is_hidden(const struct table *t)
{
	return !t->lines.count || !vec_last(&t->lines)->address;
}

static void take(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	struct table *t = context;

	assert_int_equal(index, 0);
	assert_int_equal(count, 1);
	snprintf(t->answer, sizeof(t->answer), "%s", names[0].function);
	t->answers++;
}

static const char *ask(struct table *t, uint64_t address)
{
	t->answer[0] = 0;
	assert_int_equal(symbols_of_kernel(NULL, &address, 1, take, t, NULL), 0);
	return t->answer;
}

static void hidden_addresses(void **state)
{
	struct table *t = *state;
	struct fail why = {0};
	uint64_t address = 1;

	if (!is_hidden(t))
		skip();
	assert_int_equal(symbols_of_kernel(NULL, &address, 1, take, t, &why), -EPERM);
	assert_non_null(strstr(why.to_do, "kptr_restrict"));
}

/* Functions that share their address with no other symbol. */
static void functions(void **state)
{
	struct table *t = *state;
	size_t asked = 0;

	if (is_hidden(t))
		skip();
	for (size_t i = 1; i + 1 < t->lines.count && asked < 12; i += t->lines.count / 100) {
		const struct line *l = &t->lines.at[i];
		char *tab;

		if (!strchr("tTwW", l->type) || l[-1].address == l->address ||
		    l[1].address == l->address || l[1].address - l->address > 4096 ||
		    strstr(l->name, "_text") || strchr(l->name, '\t'))
			continue;
		tab = strchr(t->lines.at[i].name, '\t');
		if (tab)
			*tab = ' ';
		assert_string_equal(ask(t, l->address), l->name);
		assert_string_equal(ask(t, l[1].address - 1), l->name);
		asked++;
	}
	assert_int_equal(asked, 12);
}

static void not_code(void **state)
{
	struct table *t = *state;
	size_t asked = 0;

	if (is_hidden(t))
		skip();
	assert_string_equal(ask(t, 0), "");
	assert_string_equal(ask(t, 4096), "");
	assert_string_equal(ask(t, UINT64_MAX), "");
	for (size_t i = 1; i + 1 < t->lines.count && asked < 8; i++) {
		const struct line *l = &t->lines.at[i];

		if (!strcmp(l->name, "_etext") || !strcmp(l->name, "_einittext")) {
			if (l[1].address > l->address && l[-1].address < l->address) {
				assert_string_equal(ask(t, l->address), "");
				assert_string_equal(ask(t, l->address + 16), "");
			}
		} else if (strchr("dDbBrR", l->type) && l[1].address > l->address &&
			   l[-1].address < l->address) {
			assert_string_equal(ask(t, l->address), "");
			assert_string_equal(ask(t, l[1].address - 1), "");
			asked++;
			i += 100;
		}
	}
}

static void modules(void **state)
{
	struct table *t = *state;

	if (is_hidden(t))
		skip();
	for (size_t i = 0; i < t->lines.count; i++) {
		const struct line *l = &t->lines.at[i];
		char expected[300], *tab;

		/* BPF programs come and go while the test runs */
		if (!strchr(l->name, '\t') || strstr(l->name, "[bpf]") || !strchr("tT", l->type) ||
		    l[-1].address == l->address ||
		    (i + 1 < t->lines.count && l[1].address == l->address))
			continue;
		snprintf(expected, sizeof(expected), "%s", l->name);
		tab = strchr(expected, '\t');
		*tab = ' ';
		assert_string_equal(ask(t, l->address), expected);
		/* behind the last one of a module there is nothing */
		assert_string_equal(ask(t, vec_last(&t->lines)->address + (2u << 20)), "");
		return;
	}
	skip();
}

static void count_answers(void *context, size_t index, const struct symbol_name *names,
			  size_t count)
{
	struct table *t = context;

	/* data has no name; and code is called as one of the lines of its address says */
	assert_int_equal(count, 1);
	assert_true(names[0].function[0]);
	assert_true(index < t->lines.count);
	t->answers++;
}

static void whole_table_at_once(void **state)
{
	struct table *t = *state;
	vec(uint64_t) addresses = {0};
	size_t code = 0;

	if (is_hidden(t))
		skip();
	vec_foreach (&t->lines, l) {
		code += strchr("tTwW", l->type) != NULL;
		assert_true(vec_push(&addresses, l->address));
	}
	t->answers = 0;
	assert_int_equal(
		symbols_of_kernel(NULL, addresses.at, addresses.count, count_answers, t, NULL), 0);
	assert_true(code > 1000);
	assert_true(t->answers > code * 9 / 10 && t->answers < code * 11 / 10);
	vec_free(&addresses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_addresses),
		cmocka_unit_test(functions),
		cmocka_unit_test(not_code),
		cmocka_unit_test(modules),
		cmocka_unit_test(whole_table_at_once),
	};

	return cmocka_run_group_tests_name("symbol-kernel", tests, set_up, tear_down);
}
