// SPDX-License-Identifier: Apache-2.0
#include "host/drop.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/filter_calls.h"
#include "base/privileges.h"

/*
 * What the thread that films still needs once its probes are attached: tables for new programs
 * (BPF), to look into processes (SYS_PTRACE) and their files (DAC_READ_SEARCH, CHECKPOINT_RESTORE
 * for those that have no name any more), and the kernel's names (SYSLOG).
 */
#define RECORDER_PRIVILEGES                                                                \
	(privilege(CAP_BPF) | privilege(CAP_SYS_PTRACE) | privilege(CAP_DAC_READ_SEARCH) | \
	 privilege(CAP_CHECKPOINT_RESTORE) | privilege(CAP_SYSLOG))

static int make_folder(const struct passwd *user, const struct drop_folder *folder,
		       struct fail *why)
{
	if (mkdir(folder->path, 0700)) {
		if (errno != EEXIST)
			return fail_errno(why, -errno, NULL, "cannot make the folder '%s'",
					  folder->path);
		if (folder->only_new)
			return 0;
	}
	if (chown(folder->path, user->pw_uid, user->pw_gid))
		return fail_errno(why, -errno, NULL, "cannot give the folder '%s' to user '%s'",
				  folder->path, user->pw_name);
	return 0;
}

int drop_to_user(const char *name, const struct drop_folder *folders, unsigned int count,
		 struct fail *why)
{
	const struct passwd *user;

	if (!name)
		return 0;
	user = getpwnam(name);
	if (!user)
		return fail(why, -EINVAL, "name one of this machine", "there is no user '%s'",
			    name);
	if (user->pw_uid == geteuid())
		return 0;
	for (unsigned int i = 0; i < count; i++) {
		int err = make_folder(user, &folders[i], why);

		if (err)
			return err;
	}
	return privileges_become(user->pw_uid, user->pw_gid, name, why);
}

int drop_to_recorder(uint64_t also, struct fail *why)
{
	int err = privileges_keep(RECORDER_PRIVILEGES | also, why);

	return err ? err : filter_calls(why);
}

int drop_to_others(const char *folder, const char *other, uint64_t also, struct fail *why)
{
	int err = folder ? privileges_write_below(folder, other, why) : 0;

	return err ? err : privileges_keep(also, why);
}
