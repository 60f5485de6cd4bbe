// SPDX-License-Identifier: Apache-2.0
/* Pods and their containers, by a node's folders: made ones, hostile ones, and none. */
#include "../prelude.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/pods.h"

#define UID   "8f2c1b9e-6a3d-4c57-9e10-2b7f4d5a6c3e"
#define OTHER "11111111-6a3d-4c57-9e10-2b7f4d5a6c3e"
#define ID    "4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796"
#define ID_B  "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void test_uid(void **state)
{
	static const struct {
		const char *cgroup, *uid;
	} examples[] = {
		{"/kubepods/burstable/pod" UID "/" ID, UID},
		{"/kubepods.slice/kubepods-besteffort.slice/"
		 "kubepods-besteffort-pod8f2c1b9e_6a3d_4c57_9e10_2b7f4d5a6c3e.slice/"
		 "cri-containerd-" ID ".scope",
		 UID},
		{"/system.slice/containerd.service/"
		 "kubepods-besteffort-pod8f2c1b9e_6a3d_4c57_9e10_2b7f4d5a6c3e.slice:cri-"
		 "containerd:" ID,
		 UID},
		/* of a static pod; seen from another namespace of control groups */
		{"/../../kubepods/pod0123456789abcdef0123456789abcdef/" ID,
		 "0123456789abcdef0123456789abcdef"},
		{"/kubepods/podnothing/" ID, ""},
		{"/kubepods", ""},
		{"/docker/" ID, ""},
		{"/user.slice/pod" UID, ""},
		{"", ""},
	};
	char uid[PODS_UID_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		assert_int_equal(pods_uid(examples[i].cgroup, uid), *examples[i].uid != 0);
		assert_string_equal(uid, examples[i].uid);
	}
}

static char root[] = "/tmp/stackcam-pods-XXXXXX";

static void make(const char *name, bool is_folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/var/log/%s", root, name);
	if (is_folder)
		assert_int_equal(mkdir(path, 0700), 0);
	else
		assert_int_equal(symlink("nowhere", path), 0);
}

static int set_up(void **state)
{
	char path[PATH_MAX];

	(void)state;
	strcpy(root + strlen(root) - 6, "XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/var", root);
	assert_int_equal(mkdir(path, 0700), 0);
	strcat(path, "/log");
	assert_int_equal(mkdir(path, 0700), 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void expect(const char *uid, const char *id, const char *expected)
{
	char names[PODS_NAMES_SIZE];

	assert_int_equal(pods_names(root, uid, id, names), *expected != 0);
	assert_string_equal(names, expected);
}

static void test_names(void **state)
{
	(void)state;
	expect(UID, ID, "");
	make("pods", true);
	expect(UID, ID, "");
	make("pods/shop_web-7d9f_" UID, true);
	make("pods/other_db-0_" OTHER, true);
	expect(UID, ID, "shop/web-7d9f/");
	make("pods/shop_web-7d9f_" UID "/app", true);
	expect(UID, ID, "shop/web-7d9f/app");
	/* of two, it is unknown which it is before its link is there */
	make("pods/shop_web-7d9f_" UID "/sidecar", true);
	expect(UID, ID, "shop/web-7d9f/");
	make("containers", true);
	make("containers/web-7d9f_shop_sidecar-" ID ".log", false);
	make("containers/web-7d9f_shop_app-" ID_B ".log", false);
	expect(UID, ID, "shop/web-7d9f/sidecar");
	expect(UID, ID_B, "shop/web-7d9f/app");
	expect(OTHER, "", "other/db-0/");
	assert_true(pods_complete("shop/web/app"));
	assert_false(pods_complete("shop/web/"));
	assert_false(pods_complete(""));
}

/* What is not a name of Kubernetes is none, by any maker. */
static void test_hostile(void **state)
{
	char name[NAME_MAX];
	size_t length;

	(void)state;
	make("pods", true);
	make("pods/a,b_web_" UID, true);
	make("pods/_" UID, true);
	make("pods/__" UID, true);
	make("pods/shop_we\x1b[31mb_" UID, true);
	make("pods/shop_.._" UID, true);
	make("containers", true);
	make("containers/web_shop-" ID ".log", false);
	make("containers/web_shop_app_more-" ID ".log", false);
	make("containers/web_SHOP_app-" ID ".log", false);
	make("containers/web_shop_-" ID ".log", false);
	make("containers/-" ID ".log", false);
	/* a namespace has 63 characters at most */
	memset(name, 'n', 64);
	length = 64 + (size_t)snprintf(name + 64, sizeof(name) - 64, "_web_" UID);
	assert_true(length < sizeof(name));
	{
		char path[NAME_MAX + 8];

		snprintf(path, sizeof(path), "pods/%s", name);
		make(path, true);
	}
	expect(UID, ID, "");
	/* a folder that is none */
	make("pods/shop_web_" OTHER, false);
	expect(OTHER, ID, "shop/web/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uid),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
