// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/cgroups.h"
#include "process/select.h"

static void lists_of_numbers(void **state)
{
	static const char *const bad[] = {"",
					  ",",
					  "1,",
					  ",1",
					  "0",
					  "-1",
					  "1x",
					  "1 2",
					  "99999999999",
					  "1,,2",
					  "12345678901234567890"};
	struct selection s = {0};
	struct fail why = {0};

	(void)state;
	assert_int_equal(selection_add_pids(&s, "3,1,2,3", &why), 0);
	assert_int_equal(selection_add_pids(&s, "2147483647", &why), 0);
	assert_int_equal(s.pid_count, 4);
	assert_int_equal(s.pids[0], 3);
	assert_int_equal(s.pids[3], 2147483647);
	assert_int_equal(selection_add_tids(&s, "7", &why), 0);
	assert_int_equal(s.tid_count, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why.err = 0;
		assert_int_equal(selection_add_pids(&s, bad[i], &why), -EINVAL);
		assert_int_equal(why.err, -EINVAL);
	}
	assert_int_equal(selection_add_name(&s, "", &why), -EINVAL);
	selection_free(&s);
	assert_null(s.pids);
}

static bool is_meant(struct selection s, pid_t pid)
{
	struct fail why = {0};
	bool means = !selection_check(&s, &why) && selection_means(&s, pid);

	/* the rest is not its own */
	for (size_t i = 0; s.pidfds && i < s.pid_count; i++)
		if (s.pidfds[i] >= 0)
			close(s.pidfds[i]);
	free(s.pidfds);
	return means;
}

static void processes_that_run(void **state)
{
	pid_t self = getpid(), parent = getppid(), first = 1;
	char *name[] = {"no such program"};

	(void)state;
	assert_true(is_meant((struct selection){.whole_machine = true}, self));
	assert_true(is_meant((struct selection){.pids = &self, .pid_count = 1}, self));
	assert_false(is_meant((struct selection){.pids = &self, .pid_count = 1}, parent));
	/* a child of one that is named */
	assert_true(is_meant((struct selection){.pids = &parent, .pid_count = 1}, self));
	assert_true(is_meant((struct selection){.pids = &first, .pid_count = 1}, self));
	assert_false(is_meant(
		(struct selection){.pids = &parent, .pid_count = 1, .no_children = true}, self));
	assert_true(is_meant((struct selection){.tids = &self, .tid_count = 1}, self));
	assert_false(is_meant((struct selection){.tids = &parent, .tid_count = 1}, self));
	assert_false(is_meant((struct selection){.names = name, .name_count = 1}, self));
}

static void what_was_meant(void **state)
{
	char *command[] = {"true", NULL};
	struct selection s = {0};
	struct fail why = {0};

	(void)state;
	assert_int_equal(selection_check(&s, &why), 0);
	assert_true(s.whole_machine);

	s = (struct selection){.command = command};
	assert_int_equal(selection_check(&s, &why), 0);
	assert_false(s.whole_machine);

	s = (struct selection){.command = command, .whole_machine = true};
	assert_int_equal(selection_check(&s, &why), 0);

	s = (struct selection){.no_children = true};
	assert_int_equal(selection_check(&s, &why), -EINVAL);

	s = (struct selection){.whole_machine = true};
	assert_int_equal(selection_add_name(&s, "x*", &why), 0);
	assert_int_equal(selection_check(&s, &why), -EINVAL);
	s.whole_machine = false;
	assert_int_equal(selection_check(&s, &why), 0);
	assert_false(s.whole_machine);
	/* what is named is filmed, and the command runs beside it */
	s.command = command;
	assert_int_equal(selection_check(&s, &why), 0);
	assert_null(s.command);
	assert_ptr_equal(s.beside, command);
	selection_free(&s);
}

static int check_pid(const char *list, struct fail *why)
{
	struct selection s = {0};
	int err;

	assert_int_equal(selection_add_pids(&s, list, why), 0);
	err = selection_check(&s, why);
	selection_free(&s);
	return err;
}

static void what_exists(void **state)
{
	struct selection s = {0};
	struct fail why = {0};
	char list[32];

	(void)state;
	snprintf(list, sizeof(list), "%d", (int)getpid());
	assert_int_equal(check_pid(list, &why), 0);
	assert_int_equal(selection_add_tids(&s, list, &why), 0);
	assert_int_equal(selection_check(&s, &why), 0);
	assert_int_equal(check_pid("5000000", &why), -ESRCH);
	assert_string_equal(why.what, "there is no process 5000000");
	assert_int_equal(selection_add_tids(&s, "5000000", &why), 0);
	assert_int_equal(selection_check(&s, &why), -ESRCH);
	selection_free(&s);
	assert_int_equal(selection_add_cgroup(&s, "/no/such/group", &why), 0);
	assert_int_equal(selection_check(&s, &why), -ENOENT);
	selection_free(&s);
}

static bool wants(const char *glob)
{
	struct selection s = {0};
	bool wanted;

	assert_int_equal(selection_add_name(&s, "no such name", NULL), 0);
	assert_int_equal(selection_add_name(&s, glob, NULL), 0);
	assert_int_equal(selection_check(&s, NULL), 0);
	wanted = selection_wants(&s, getpid());
	assert_false(selection_wants(&s, 5000000));
	selection_free(&s);
	return wanted;
}

static void names(void **state)
{
	(void)state;
	/* the name is cut at 15 letters, the file's is not */
	assert_true(wants("test-process-se"));
	assert_true(wants("test-process-select"));
	assert_true(wants("*process-sel*"));
	assert_true(wants("test-[p]rocess-s?"));
	assert_false(wants("process"));
	assert_false(wants("test-process-s"));
}

/* A group of our own in the first hierarchy that lets us; skipped where none does. */
static void control_groups(void **state)
{
	static const char *const tops[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	struct selection_cgroup groups[4];
	struct selection s = {0};
	struct fail why = {0};
	char path[128] = "", file[160], name[64];
	struct stat st;
	FILE *procs;
	int count;

	(void)state;
	snprintf(name, sizeof(name), "stackcam-test-%d", (int)getpid());
	for (size_t i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", tops[i]);
		snprintf(path, sizeof(path), "%s/%s", tops[i], name);
		if (!access(file, W_OK) && !mkdir(path, 0755))
			break;
		path[0] = 0;
	}
	if (!path[0])
		skip();
	/* by the name below the mount point and by the whole path */
	assert_int_equal(selection_add_cgroup(&s, name, &why), 0);
	assert_int_equal(selection_add_cgroup(&s, path, &why), 0);
	assert_int_equal(selection_check(&s, &why), 0);
	assert_false(s.whole_machine);
	assert_int_equal(s.place_count, 2);
	assert_string_equal(s.places[0].path, s.places[1].path);
	assert_false(selection_wants(&s, getpid()));
	assert_int_equal(stat(path, &st), 0);
	count = selection_cgroup_v2_ids(&s, groups, 4);
	if (count != -EOPNOTSUPP) {
		assert_int_equal(count, 2);
		assert_int_equal(groups[0].id, st.st_ino);
		assert_int_equal(groups[0].level, 1);
	}
	/* a process in a group below it */
	snprintf(file, sizeof(file), "%s/inner", path);
	assert_int_equal(mkdir(file, 0755), 0);
	snprintf(file, sizeof(file), "%s/inner/cgroup.procs", path);
	procs = fopen(file, "w");
	assert_non_null(procs);
	fprintf(procs, "%d", (int)getpid());
	if (!fclose(procs)) {
		assert_true(selection_wants(&s, getpid()));
		*strrchr(path, '/') = 0;
		snprintf(file, sizeof(file), "%s/cgroup.procs", path);
		procs = fopen(file, "w");
		fprintf(procs, "%d", (int)getpid());
		fclose(procs);
		assert_false(selection_wants(&s, getpid()));
		path[strlen(path)] = '/';
	}
	snprintf(file, sizeof(file), "%s/inner", path);
	rmdir(file);
	assert_int_equal(rmdir(path), 0);
	selection_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_that_run),
		cmocka_unit_test(lists_of_numbers),
		cmocka_unit_test(what_was_meant),
		cmocka_unit_test(what_exists),
		cmocka_unit_test(names),
		cmocka_unit_test(control_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
