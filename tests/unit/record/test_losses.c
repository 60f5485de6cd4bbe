// SPDX-License-Identifier: Apache-2.0
/* What a loss costs is said twice: here in its row, and for films by its words. */
#include "../prelude.h"

#include <stdbool.h>

#include "bpf/capture/abi.h"
#include "film/loss_kinds.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
