// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "process/cgroups.h"

static bool parse(const char *text, struct cgroup_mount *mount)
{
	static char line[1024];

	strcpy(line, text);
	return cgroup_parse_mount(line, mount);
}

static void mounts(void **state)
{
	struct cgroup_mount m;

	(void)state;
	assert_true(
		parse("30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup "
		      "rw,cpu,cpuacct\n",
		      &m));
	assert_false(m.v2);
	assert_string_equal(m.root, "/");
	assert_string_equal(m.point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(m.options, "rw,cpu,cpuacct");
	assert_true(parse("31 24 0:27 /docker/ab\\040c /sys/fs/cg\\134roup ro - cgroup2 none "
			  "rw,nsdelegate",
			  &m));
	assert_true(m.v2);
	assert_string_equal(m.root, "/docker/ab c");
	assert_string_equal(m.point, "/sys/fs/cg\\roup");
	assert_false(parse("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n", &m));
	assert_false(parse("", &m));
	assert_false(parse(" - ", &m));
	assert_false(parse(" - cgroup", &m));
	assert_false(parse("1 2 3 4 - cgroup x y", &m));
	assert_false(parse("1 2 3 4 5 - cgroup", &m));
	assert_false(parse("1 2 3 4 5 - cgroup x", &m));
}

static bool holds(const struct cgroup_place *place, const char *text)
{
	char copy[512];

	strcpy(copy, text);
	return cgroup_holds(place, copy);
}

static void inside_and_outside(void **state)
{
	struct cgroup_place v1 = {false, "rw,cpu,cpuacct", "/a/b", 0};
	struct cgroup_place named = {false, "rw,xattr,name=systemd", "/a", 0};
	struct cgroup_place v2 = {true, "", "/a", 0}, root = {true, "", "/", 0};

	(void)state;
	assert_true(holds(&v1, "3:cpu,cpuacct:/a/b\n"));
	assert_true(holds(&v1, "2:memory:/x\n3:cpu,cpuacct:/a/b/c/d\n0::/\n"));
	assert_false(holds(&v1, "3:cpu,cpuacct:/a/bc\n"));
	assert_false(holds(&v1, "3:cpu,cpuacct:/a\n"));
	assert_false(holds(&v1, "2:memory:/a/b\n0::/a/b\n"));
	assert_false(holds(&v1, "2:cpuset:/a/b\n"));
	assert_true(holds(&named, "1:name=systemd:/a/x\n"));
	assert_false(holds(&named, "1:name=other:/a/x\n"));
	assert_true(holds(&v2, "1:cpu:/\n0::/a\n"));
	assert_false(holds(&v2, "1:cpu:/a\n0::/\n"));
	assert_true(holds(&root, "0::/\n"));
	assert_true(holds(&root, "0::/any/thing\n"));
	assert_false(holds(&root, ""));
}

static void what_does_not_exist(void **state)
{
	struct cgroup_place *places = NULL;
	size_t count = 0;

	(void)state;
	assert_int_equal(cgroup_resolve("/there/is/no/such/group", &places, &count), -ENOENT);
	assert_int_equal(cgroup_resolve("../etc", &places, &count), -EINVAL);
	assert_int_equal(cgroup_resolve("", &places, &count), -EINVAL);
	assert_int_equal(count, 0);
	cgroup_places_free(places, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts),
		cmocka_unit_test(inside_and_outside),
		cmocka_unit_test(what_does_not_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
