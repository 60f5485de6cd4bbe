// SPDX-License-Identifier: Apache-2.0
#include "base/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/landlock.h of 6.2 and later */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif

/* All but reading, and what a folder of films needs of that. */
#define CHANGES_OF_FILES                                                  \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |    \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REFER)
#define NEVER_NEEDED                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |   \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static int set_capabilities(uint64_t permitted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = (uint32_t)permitted, .permitted = (uint32_t)permitted},
		{.effective = (uint32_t)(permitted >> 32),
		 .permitted = (uint32_t)(permitted >> 32)},
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static uint64_t permitted_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

void privileges_drop_here(void)
{
	set_capabilities(0);
}

int privileges_become(uid_t user, gid_t group, const char *name, struct fail *why)
{
	static const char to_do[] = "start it as root";

	/* the change from root to a user would take all of them */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return fail_errno(why, -errno, to_do, "cannot become user '%s'", name);
	if (initgroups(name, group) || setresgid(group, group, group) ||
	    setresuid(user, user, user))
		return fail_errno(why, -errno, to_do, "cannot become user '%s'", name);
	return 0;
}

int privileges_keep(uint64_t keep, struct fail *why)
{
	uint64_t permitted = permitted_capabilities();
	int cap;

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* what may not be changed is the set of who could not use it: one without CAP_SETPCAP */
	set_capabilities(permitted);
	for (cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (set_capabilities(permitted & keep) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail_errno(why, -errno, NULL, "cannot give up privileges");
	return 0;
}

/* The glibc of Debian 12 has no wrappers for these. */
static int add_folder(int rules, const char *folder, uint64_t access, struct fail *why)
{
	struct landlock_path_beneath_attr beneath = {.allowed_access = access};
	int err = 0;

	beneath.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (beneath.parent_fd < 0 ||
	    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0))
		err = fail_errno(why, -errno, NULL, "cannot confine the process to '%s'", folder);
	if (beneath.parent_fd >= 0)
		close(beneath.parent_fd);
	return err;
}

int privileges_write_below(const char *folder, const char *other, struct fail *why)
{
	struct landlock_ruleset_attr handled = {.handled_access_fs =
							CHANGES_OF_FILES | NEVER_NEEDED};
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t changes = CHANGES_OF_FILES;
	int rules, err;

	/* before version 2, nothing could be renamed into another folder */
	if (version < 2)
		return 0;
	if (version >= 3) {
		changes |= LANDLOCK_ACCESS_FS_TRUNCATE;
		handled.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (rules < 0)
		return fail_errno(why, -errno, NULL, "cannot confine the process to '%s'", folder);
	err = add_folder(rules, folder, changes, why);
	if (!err && other)
		err = add_folder(rules, other, changes, why);
	if (!err && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		     syscall(SYS_landlock_restrict_self, rules, 0)))
		err = fail_errno(why, -errno, NULL, "cannot confine the process to '%s'", folder);
	close(rules);
	return err;
}
