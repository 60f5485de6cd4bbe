// SPDX-License-Identifier: Apache-2.0
/* What a loss costs is said twice: here in its row, and for films by its words. */
#include "../prelude.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/capture/abi.h"
#include "film/loss_kinds.h"
#include "film/loss_table.h"

static void test_samples(void **state)
{
	enum {
		PART,
		SAMPLE
	};
	static const struct {
		const char *words;
		int costs;
	} losses[] = {
#define X(name, costs, words) {words, costs},
		CAPTURE_LOSSES(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		bool is_sample = film_loss_kind(losses[i].words) == FILM_LOSS_SAMPLE;

		if (is_sample != (losses[i].costs == SAMPLE))
			print_error("%s\n", losses[i].words);
		assert_int_equal(is_sample, losses[i].costs == SAMPLE);
		/* the server writes them between quotes */
		assert_null(strpbrk(losses[i].words, "\"\\\n"));
	}
}

static void test_others(void **state)
{
	(void)state;
	assert_int_equal(film_loss_kind("python frame without a name: the process had ended"),
			 FILM_LOSS_NAME);
	assert_int_equal(film_loss_kind("user stack: the process was gone before it was known"),
			 FILM_LOSS_STACK);
	assert_int_equal(film_loss_kind(""), FILM_LOSS_OTHER);
	assert_int_equal(film_loss_kind("of a later version"), FILM_LOSS_OTHER);
	for (int kind = 0; kind < FILM_LOSS_KINDS; kind++)
		assert_non_null(film_loss_kind_name((enum film_loss_kind)kind));
}

static uint64_t sum_of(const struct loss_table *table)
{
	uint64_t sum = table->others;

	for (size_t i = 0; i < table->count; i++)
		sum += table->rows[i].count;
	return sum;
}

/* Rows stay, in their order; what finds no room is in the sum. */
static void test_table(void **state)
{
	static struct loss_table table;
	char reasons[LOSS_TABLE_MAX + 2][16];

	(void)state;
	loss_table_begin(&table);
	loss_table_set(&table, "on_cpu", "ring full", 0);
	assert_int_equal(table.count, 0);
	loss_table_set(&table, "sched", "ring full", 3);
	loss_table_set(&table, "on_cpu", "ring full", 2);
	loss_table_begin(&table);
	loss_table_set(&table, "on_cpu", "ring full", 5);
	loss_table_set(&table, "sched", "ring full", 3);
	assert_int_equal(table.count, 2);
	assert_string_equal(table.rows[0].source, "sched");
	assert_int_equal(table.rows[1].count, 5);
	for (int pass = 1; pass < 3; pass++) {
		loss_table_begin(&table);
		for (int i = 0; i < LOSS_TABLE_MAX + 2; i++) {
			snprintf(reasons[i], sizeof(reasons[i]), "reason %d", i);
			loss_table_set(&table, "all", reasons[i], (uint64_t)pass);
		}
		assert_int_equal(table.count, LOSS_TABLE_MAX);
		/* two rows were there before */
		assert_int_equal(table.others, 4 * pass);
		assert_int_equal(table.rows[2].count, pass);
		assert_int_equal(sum_of(&table), 8 + (LOSS_TABLE_MAX + 2) * pass);
	}
	loss_table_set(&table, "all", "one more", UINT64_MAX);
	assert_true(table.others == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
