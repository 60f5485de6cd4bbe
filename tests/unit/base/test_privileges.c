// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/filter_calls.h"
#include "base/privileges.h"

#define NOBODY 65534

/*
 * What is given up does not come back, so each case runs in a child; where a check fails is its
 * status.
 */
#define CHECK(holds)                            \
	do {                                    \
		if (!(holds))                   \
			return __LINE__ & 0xff; \
	} while (0)

static void in_child(int (*run)(void))
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (!child)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		print_error("failed in line %d (of 256), status 0x%x\n", WEXITSTATUS(status),
			    status);
	assert_int_equal(status, 0);
}

static void needs_root(void)
{
	if (geteuid())
		skip();
}

static bool refused(int result)
{
	return result < 0 && (errno == EPERM || errno == EACCES);
}

/* The effective capabilities of this process, as the kernel shows them. */
static uint64_t capabilities_now(void)
{
	FILE *status = fopen("/proc/thread-self/status", "re");
	uint64_t now = UINT64_MAX;
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "CapEff:", 7))
			now = strtoull(line + 7, NULL, 16);
	if (status)
		fclose(status);
	return now;
}

static int keep_two(void)
{
	const uint64_t two = privilege(CAP_SYS_PTRACE) | privilege(CAP_DAC_READ_SEARCH);

	CHECK(!privileges_keep(two, NULL));
	CHECK(capabilities_now() == two);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	CHECK(prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0);
	CHECK(prctl(PR_CAPBSET_READ, CAP_SYS_PTRACE, 0, 0, 0) == 1);
	CHECK(refused(chown("/", 1, 1)));
	/* fewer, but never more */
	CHECK(!privileges_keep(UINT64_MAX, NULL));
	CHECK(capabilities_now() == two);
	CHECK(!privileges_keep(0, NULL));
	CHECK(capabilities_now() == 0);
	return 0;
}

static void test_capabilities(void **state)
{
	(void)state;
	needs_root();
	in_child(keep_two);
}

static int become_nobody(void)
{
	gid_t groups[8];
	int n;

	CHECK(!privileges_become(NOBODY, NOBODY, "nobody", NULL));
	CHECK(!privileges_keep(privilege(CAP_DAC_READ_SEARCH), NULL));
	CHECK(getuid() == NOBODY && geteuid() == NOBODY && getegid() == NOBODY);
	CHECK(capabilities_now() == privilege(CAP_DAC_READ_SEARCH));
	n = getgroups(8, groups);
	CHECK(n >= 0);
	for (int i = 0; i < n; i++)
		CHECK(groups[i] == NOBODY);
	/* all can be read, nothing can be written */
	CHECK(open("/etc/shadow", O_RDONLY) >= 0);
	CHECK(refused(open("/etc/shadow", O_WRONLY | O_APPEND)));
	CHECK(refused(open("/etc/passwd", O_RDWR)));
	CHECK(refused(open("/etc/new-file", O_WRONLY | O_CREAT, 0600)));
	CHECK(refused(setuid(0)));
	return 0;
}

static void test_user(void **state)
{
	(void)state;
	needs_root();
	in_child(become_nobody);
}

static int call_what_is_filtered(void)
{
	char byte = 0;
	struct iovec local = {&byte, 1}, remote = {&byte, 1};

	CHECK(!filter_calls(NULL));
	CHECK(refused(execl("/bin/true", "true", NULL)));
	CHECK(refused((int)ptrace(PTRACE_ATTACH, getppid(), 0, 0)));
	CHECK(refused((int)process_vm_writev(getppid(), &local, 1, &remote, 1, 0)));
	CHECK(refused(mount("none", "/", "tmpfs", 0, NULL)));
	CHECK(refused((int)syscall(SYS_unshare, 0)));
	/* what is needed goes on */
	CHECK(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1);
	CHECK(open("/proc/self/maps", O_RDONLY) >= 0);
	return 0;
}

static void test_calls(void **state)
{
	(void)state;
	in_child(call_what_is_filtered);
}

static char folder[] = "/tmp/test-privileges-XXXXXX";
static char other[] = "/tmp/test-privileges-other-XXXXXX";

static int write_below(void)
{
	char inside[64], moved[64], outside[64];
	int fd;

	snprintf(inside, sizeof(inside), "%s/film", folder);
	snprintf(moved, sizeof(moved), "%s/below/film", folder);
	snprintf(outside, sizeof(outside), "%s.outside", folder);
	CHECK(!privileges_write_below(folder, other, NULL));
	fd = open(inside, O_RDWR | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1 && !ftruncate(fd, 0) && !close(fd));
	snprintf(moved, sizeof(moved), "%s/below", folder);
	CHECK(!mkdir(moved, 0700));
	strcat(moved, "/film");
	CHECK(!rename(inside, moved));
	CHECK(refused(open(outside, O_WRONLY | O_CREAT, 0600)));
	CHECK(refused(open("/etc/shadow", O_WRONLY | O_APPEND)));
	CHECK(rename(moved, outside) < 0);
	snprintf(outside, sizeof(outside), "%s/log", other);
	fd = open(outside, O_WRONLY | O_APPEND | O_CREAT, 0600);
	CHECK(fd >= 0 && !close(fd) && !unlink(outside));
	CHECK(open("/etc/passwd", O_RDONLY) >= 0);
	CHECK(refused(open("/proc/1/maps", O_RDONLY)));
	CHECK(!unlink(moved));
	moved[strlen(moved) - 5] = 0;
	CHECK(!rmdir(moved));
	/* the folder itself is not below it */
	CHECK(refused(rmdir(folder)));
	return 0;
}

static void test_landlock(void **state)
{
	(void)state;
	needs_root();
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 2)
		skip();
	assert_non_null(mkdtemp(folder));
	assert_non_null(mkdtemp(other));
	in_child(write_below);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(rmdir(other), 0);
}

static void test_folder_that_is_not_there(void **state)
{
	struct fail why = {0};

	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 2)
		skip();
	assert_int_equal(privileges_write_below("/nonexistent", NULL, &why), -ENOENT);
	assert_non_null(strstr(why.what, "/nonexistent"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_landlock),
		cmocka_unit_test(test_folder_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
