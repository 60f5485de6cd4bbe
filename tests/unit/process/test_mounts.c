// SPDX-License-Identifier: Apache-2.0
/* Which file systems may not answer, by mountinfo alone. */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/mounts.h"

static void take(struct mounts *mounts, const char *text, const struct mounts *hosts)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	assert_int_equal(mounts_parse(mounts, copy, hosts), 0);
	free(copy);
}

static bool is_far(const struct mounts *mounts, const char *path)
{
	const struct mount *mount = mounts_of_path(mounts, path);

	assert_non_null(mount);
	return mount->is_far;
}

static const char of_host[] = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
			      "22 21 0:5 / /proc rw - proc proc rw\n"
			      "30 21 0:40 / /home rw - nfs4 server:/home rw,vers=4.2\n"
			      "31 21 0:41 / /mnt/with\\040space rw - fuse.sshfs them rw,user_id=0\n"
			      "32 21 8:2 / /home/near rw - xfs /dev/sda2 rw\n"
			      "33 21 0:42 / /new rw - neverheardof none rw\n"
			      "broken line\n"
			      "34 21 0:43 / /cut rw";

static void types(void **state)
{
	struct mounts mounts = {0};

	(void)state;
	take(&mounts, of_host, NULL);
	assert_int_equal(mounts.count, 6);
	assert_true(mounts.has_far);
	assert_false(is_far(&mounts, "/"));
	assert_false(is_far(&mounts, "/usr/lib/libc.so"));
	assert_false(is_far(&mounts, "/homes"));
	assert_true(is_far(&mounts, "/home"));
	assert_true(is_far(&mounts, "/home/them/program"));
	assert_false(is_far(&mounts, "/home/near/program"));
	assert_true(is_far(&mounts, "/mnt/with space/program"));
	/* what is not known may be anything */
	assert_true(is_far(&mounts, "/new/program"));
	assert_true(mounts_of_device(&mounts, makedev(0, 40))->is_far);
	assert_string_equal(mounts_of_id(&mounts, 30)->point, "/home");
	assert_null(mounts_of_id(&mounts, 99));
	assert_null(mounts_of_device(&mounts, makedev(0, 99)));
	take(&mounts, "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n", NULL);
	assert_false(mounts.has_far);
	assert_int_equal(mounts.count, 1);
	mounts_free(&mounts);
}

/* Overlays are as far as the farthest of what they are made of, where the host has it. */
static void overlays(void **state)
{
	struct mounts hosts = {0}, mounts = {0};

	(void)state;
	take(&hosts, of_host, NULL);
	take(&mounts,
	     "50 1 0:60 / / rw - overlay overlay rw,lowerdir=/var/l/1:/var/l/2,upperdir=/var/u\n"
	     "51 50 0:61 / /a rw - overlay overlay rw,lowerdir=/var/l/1:/home/l,upperdir=/var/u\n"
	     "52 50 0:62 / /b rw - overlay overlay rw,lowerdir=1/fs:2/fs,upperdir=/home/u\n"
	     "53 50 0:63 / /c rw - overlay overlay rw,lowerdir=1/fs:2/fs,upperdir=/home/near/u\n",
	     &hosts);
	assert_false(is_far(&mounts, "/x"));
	assert_true(is_far(&mounts, "/a/x"));
	assert_true(is_far(&mounts, "/b/x"));
	assert_false(is_far(&mounts, "/c/x"));
	mounts_free(&mounts);
	mounts_free(&hosts);
}

/* Of two on one place the later one is seen. */
static void covered(void **state)
{
	struct mounts mounts = {0};

	(void)state;
	take(&mounts,
	     "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / /m rw - ext4 a rw\n3 1 0:9 / /m rw - nfs b "
	     "rw\n",
	     NULL);
	assert_true(is_far(&mounts, "/m/x"));
	mounts_free(&mounts);
}

static void own(void **state)
{
	struct mounts mounts = {0};

	(void)state;
	assert_int_equal(mounts_read(&mounts, getpid(), NULL), 0);
	assert_false(is_far(&mounts, "/proc/self"));
	mounts_free(&mounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(overlays),
		cmocka_unit_test(covered),
		cmocka_unit_test(own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
