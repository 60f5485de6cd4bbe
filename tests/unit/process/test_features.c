// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/feature.h"
#include "record/feature_programs.h"

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void all_features(void **state)
{
	struct feature features[FEATURE_COUNT];
	int before = open_descriptors();

	(void)state;
	features_probe(features, feature_try_programs);
	assert_int_equal(open_descriptors(), before);
	for (int i = 0; i < FEATURE_COUNT; i++) {
		assert_true(features[i].name[0]);
		assert_true(features[i].needed_for[0]);
		assert_true(features[i].why[0]);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(features[i].name, features[j].name);
		if (features[i].state == FEATURE_OK)
			assert_int_equal(features[i].err, 0);
	}
	assert_string_equal(feature_state_name(FEATURE_MISSING), "missing");
}

/* What a user without any right reads. Exits with the number of the first check that fails. */
static int as_nobody(void)
{
	struct feature f;
	struct fail why = {0};

	if (setgid(65534) || setuid(65534))
		return 1;
	feature_probe(FEATURE_CAP_BPF, &f);
	if (f.state != FEATURE_MISSING || !f.to_do[0])
		return 2;
	feature_probe(FEATURE_MAP_FILES, &f);
	if (f.state != FEATURE_MISSING || f.err != -EPERM)
		return 3;
	/* another kernel's settings may allow BPF to every user */
	feature_probe(FEATURE_BPF, &f);
	if (f.state == FEATURE_OK)
		return 0;
	if (f.err != -EPERM)
		return 4;
	if (features_explain(&why) != -EPERM || fail_exit_status(&why) != 3 || !why.to_do[0])
		return 5;
	return 0;
}

static void without_rights(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	pid = fork();
	if (!pid)
		_exit(as_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_features),
		cmocka_unit_test(without_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
