// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/procfs.h"
#include "process/users.h"

#define PATH "test-users-passwd"

static void write_passwd(const char *text)
{
	FILE *out;

	/* another file, so that the time of its change is another one, too */
	unlink(PATH);
	out = fopen(PATH, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void check(struct users *users, uint32_t uid, bool is_inside, const char *wanted)
{
	char name[USERS_NAME_MAX + 1];

	users_name(users, uid, is_inside, name, sizeof(name));
	assert_string_equal(name, wanted);
}

static void names(void **state)
{
	struct users users = {.path = PATH};

	(void)state;
	/* the first name counts; lines that are too short, too long, or of no number do not */
	write_passwd("admin:x:0:0:root:/root:/bin/sh\nroot:x:0:0::/:/bin/sh\n"
		     "www-data:x:33:33:www:/var/www:/bin/false\nshort:x\n:x:34:34::/:\n"
		     "letters:x:3a:1::/:\nlarge:x:4294967296:1::/:\nnegative:x:-2:1::/:\n"
		     "nobody:x:4294967295:1::/:\n"
		     "a-name-of-more-than-thirty-two-bytes:x:35:35::/:\nlast:x:36");
	check(&users, 0, false, "admin");
	check(&users, 33, false, "www-data");
	check(&users, 34, false, "34");
	check(&users, 35, false, "35");
	check(&users, 36, false, "last");
	check(&users, UINT32_MAX, false, "nobody");
	check(&users, 3, false, "3");
	/* a container has names of its own */
	check(&users, 33, true, "33");
	check(&users, 0, true, "root");
	users_free(&users);
}

static void changes(void **state)
{
	struct users users = {.path = PATH};

	(void)state;
	unlink(PATH);
	check(&users, 0, false, "root");
	check(&users, 1000, false, "1000");
	write_passwd("me:x:1000:1000::/:\n");
	check(&users, 1000, false, "me");
	write_passwd("me:x:1000:1000::/:\nyou:x:1001:1001::/:\n");
	check(&users, 1001, false, "you");
	check(&users, 1000, false, "me");
	unlink(PATH);
	users_free(&users);
}

static void status_files(void **state)
{
	static const char *const without[] = {"", "Uid:\t1\t2\t3\t4\n", "Name:\ta\nUid:\t1\n",
					      "Name:\ta\nUid:\tx\ty\n", "Name:\tUid:\t1\t2\n"};
	uint32_t uid = 0;

	(void)state;
	assert_true(
		procfs_parse_user("Name:\tUid:\\n\nUmask:\t0022\nUid:\t1000\t33\t0\t0\n", &uid));
	assert_int_equal(uid, 33);
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_false(procfs_parse_user(without[i], &uid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(changes),
		cmocka_unit_test(status_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
