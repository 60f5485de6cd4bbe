// SPDX-License-Identifier: Apache-2.0
/* In which words a death is reported. */
#include "../prelude.h"

#include <signal.h>
#include <string.h>

#include "host/triggers.h"

static struct happening death_of(int number)
{
	return (struct happening){
		.kind = HAPPENING_DEATH, .pid = 12, .tid = 12, .process = "hog", .signal = number};
}

static void what_the_kernel_kills_for_memory(void **state)
{
	struct happening_oom oom = {.anonymous = 30000000,
				    .shared = 2000000,
				    .limit = 32000000,
				    .used = 32000000,
				    .group = "a\nb"};
	struct happening death = death_of(SIGKILL);
	char words[400];

	(void)state;
	death.oom = &oom;
	assert_non_null(trigger_of(&death, words, sizeof(words)));
	assert_string_equal(words,
			    "hog (12) died of SIGKILL, out of memory: it had 30.0 MB "
			    "anonymous, 2.0 MB shared; control group a\\x0ab held 32.0 MB of "
			    "at most 32.0 MB");
	oom = (struct happening_oom){0};
	assert_non_null(trigger_of(&death, words, sizeof(words)));
	assert_string_equal(words, "hog (12) died of SIGKILL, out of memory: it had nothing; the "
				   "machine was full");
	/* words that are cut */
	memset(oom.group, 'x', sizeof(oom.group) - 1);
	oom.limit = oom.used = oom.files = oom.shared = oom.swapped = oom.anonymous = UINT64_MAX;
	assert_non_null(trigger_of(&death, words, 20));
	assert_int_equal(strlen(words), 19);
}

static void what_is_killed_otherwise(void **state)
{
	struct happening death = death_of(SIGKILL);
	char words[400];

	(void)state;
	assert_non_null(trigger_of(&death, words, sizeof(words)));
	assert_string_equal(words, "hog (12) died of SIGKILL");
	death.signal = SIGTERM;
	assert_null(trigger_of(&death, words, sizeof(words)));
	death.signal = SIGPIPE;
	assert_non_null(trigger_of(&death, words, sizeof(words)));
	assert_string_equal(words, "hog (12) died of SIGPIPE");
	death.of_pipe = true;
	assert_null(trigger_of(&death, words, sizeof(words)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_kills_for_memory),
		cmocka_unit_test(what_is_killed_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
