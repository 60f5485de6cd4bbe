// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/pipe_ends.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "process/mounts.h"
#include "process/procfs.h"

/*
 * Descriptors of all processes that are looked at: reading what a link says takes about 2 us, and
 * what the kernel says of one with a path some more.
 */
#define DESCRIPTORS_MAX 262144

#define FDINFO_MAX	4096

/* Which ends of a pipe a descriptor is. */
enum end {
	END_READS = 1,
	END_WRITES = 2,
};

/* proc(5): the link's own permissions say how the file was opened */
static unsigned int ends_of(pid_t pid, uint32_t fd)
{
	struct stat link;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
	if (lstat(path, &link))
		return 0;
	return (link.st_mode & S_IRUSR ? END_READS : 0u) |
	       (link.st_mode & S_IWUSR ? END_WRITES : 0u);
}

/*
 * Whether a path is one of devices: the kernel asks their drivers what fdinfo shall say, and that
 * of a GPU may wait for the GPU.
 */
static bool is_of_device(const char *path)
{
	static const char devices[] = "/dev/", memory[] = "/dev/shm/";

	return !strncmp(path, devices, strlen(devices)) &&
	       strncmp(path, memory, strlen(memory)) != 0;
}

/*
 * The number of the pipe without a name that a descriptor is of; 0: it is of none. *has_path: it is
 * of what has a path, and may be a pipe.
 */
static uint64_t pipe_of(pid_t pid, uint32_t fd, bool *has_path)
{
	static const char before[] = "pipe:[";
	char name[32], target[PATH_MAX], *close;
	uint64_t number;

	snprintf(name, sizeof(name), "fd/%u", fd);
	*has_path = false;
	if (!procfs_link(pid, name, target, sizeof(target)))
		return 0;
	*has_path = *target == '/' && !is_of_device(target);
	if (strncmp(target, before, strlen(before)) != 0 || !(close = strchr(target, ']')))
		return 0;
	*close = 0;
	return text_parse_u64(target + strlen(before), 1, UINT64_MAX, &number) ? 0 : number;
}

/* What a line "KEY:\tNUMBER" of fdinfo says; 0: there is none. */
static uint64_t fdinfo_number(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

/*
 * The inode of a descriptor, and its mount. No file system is asked, which may not answer. False:
 * they are not known.
 */
static bool inode_of(pid_t pid, uint32_t fd, uint64_t *inode, uint64_t *mount)
{
	struct buf text = {0};
	char name[32];

	snprintf(name, sizeof(name), "fdinfo/%u", fd);
	*inode = *mount = 0;
	if (!procfs_read(pid, name, FDINFO_MAX, &text)) {
		*inode = fdinfo_number((const char *)text.at, "\nino:\t");
		*mount = fdinfo_number((const char *)text.at, "\nmnt_id:\t");
	}
	buf_free(&text);
	return *inode && *mount;
}

/* The device of a mount of a process; 0: not known. */
static dev_t device_of(pid_t pid, uint64_t mount)
{
	struct mounts mounts = {0};
	const struct mount *found = NULL;
	dev_t device;

	if (!mounts_read(&mounts, pid, NULL))
		found = mounts_of_id(&mounts, mount);
	device = found ? found->device : 0;
	mounts_free(&mounts);
	return device;
}

/* Numbers of pipes without a name are inodes of one file system, and below this. */
#define NAMED (1ull << 63)

/* What is looked for among the descriptors of all processes. */
struct reading {
	struct pipe_ends *ends;
	pid_t pid;
	uint64_t inode; /* of a pipe with a name; 0: all that have none */
	dev_t device;
};

static uint64_t key_of_named(uint64_t inode, dev_t device)
{
	return hash_u64(hash_u64(inode) ^ device) | NAMED;
}

/* In the place of the second process: there are more. */
#define MORE UINT32_MAX

static uint32_t first_of(uint64_t has)
{
	return (uint32_t)has;
}

static uint32_t second_of(uint64_t has)
{
	return (uint32_t)(has >> 32);
}

static void learn(struct pipe_ends *ends, struct map *of, uint64_t number, pid_t pid)
{
	const uint64_t *known = map_get(of, number);
	uint32_t own = (uint32_t)pid;
	uint64_t has = known ? *known : own;

	if (first_of(has) != own && second_of(has) != own)
		has = first_of(has) | (uint64_t)(second_of(has) ? MORE : own) << 32;
	if (!map_put(of, number, has))
		ends->is_cut = true;
}

/* The other one of at most two processes that have an end; 0: there is none, or several are. */
static pid_t other_of(uint64_t has, pid_t pid)
{
	if (second_of(has) == MORE)
		return 0;
	if (first_of(has) == (uint32_t)pid)
		return (pid_t)second_of(has);
	return second_of(has) && second_of(has) != (uint32_t)pid ? 0 : (pid_t)first_of(has);
}

/* The pipe that is looked for which a descriptor is of; 0: it is of none. */
static uint64_t wanted_pipe(const struct reading *reading, uint32_t fd)
{
	uint64_t inode, mount, number;
	bool has_path;

	number = pipe_of(reading->pid, fd, &has_path);
	if (!reading->inode)
		return number;
	if (!has_path || !inode_of(reading->pid, fd, &inode, &mount) || inode != reading->inode ||
	    device_of(reading->pid, mount) != reading->device)
		return 0;
	return key_of_named(inode, reading->device);
}

static void add_descriptor(void *context, pid_t fd)
{
	const struct reading *reading = context;
	struct pipe_ends *ends = reading->ends;
	unsigned int which;
	uint64_t number;

	if (ends->looked_at >= DESCRIPTORS_MAX) {
		ends->is_cut = true;
		return;
	}
	ends->looked_at++;
	number = wanted_pipe(reading, (uint32_t)fd);
	if (!number)
		return;
	which = ends_of(reading->pid, (uint32_t)fd);
	if (which & END_READS)
		learn(ends, &ends->readers, number, reading->pid);
	if (which & END_WRITES)
		learn(ends, &ends->writers, number, reading->pid);
}

static void add_process(void *context, pid_t pid)
{
	struct reading *reading = context;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	reading->pid = pid;
	add_descriptor(reading, 0); /* which is not among the numbers */
	/* one that has ended has none */
	(void)!procfs_each_number(path, add_descriptor, reading);
}

/* Looks at all descriptors, for what is wanted. */
static void read_all(struct reading *reading)
{
	if (procfs_each_number("/proc", add_process, reading))
		reading->ends->is_cut = true;
}

/* The number of a pipe that has a name, of which all that has its ends is known then; 0: none. */
static uint64_t find_named(struct pipe_ends *ends, pid_t pid, uint32_t fd)
{
	struct reading reading = {.ends = ends};
	uint64_t mount, key;

	if (!inode_of(pid, fd, &reading.inode, &mount) || !(reading.device = device_of(pid, mount)))
		return 0;
	key = key_of_named(reading.inode, reading.device);
	/* the one that waits has an end itself */
	if (!map_get(&ends->readers, key) && !map_get(&ends->writers, key))
		read_all(&reading);
	return key;
}

static uint64_t find_unnamed(struct pipe_ends *ends, uint64_t number)
{
	struct reading reading = {.ends = ends};

	if (!ends->is_read)
		read_all(&reading);
	ends->is_read = true;
	return number;
}

pid_t pipe_ends_find(struct pipe_ends *ends, pid_t pid, const struct off_cpu_wait *wait)
{
	uint32_t fd = (uint32_t)wait->arguments[0];
	unsigned int which;
	const uint64_t *has;
	uint64_t number;
	bool has_path;

	if (wait->descriptor != OFF_CPU_FD_PIPE || !(wait->state & OFF_CPU_STATE_SLEEPS))
		return 0;
	number = pipe_of(pid, fd, &has_path);
	which = ends_of(pid, fd);
	if ((!number && !has_path) || (which != END_READS && which != END_WRITES))
		return 0;
	number = number ? find_unnamed(ends, number) : find_named(ends, pid, fd);
	has = map_get(which == END_READS ? &ends->writers : &ends->readers, number);
	return has && !ends->is_cut ? other_of(*has, pid) : 0;
}

void pipe_ends_free(struct pipe_ends *ends)
{
	map_free(&ends->readers);
	map_free(&ends->writers);
	*ends = (struct pipe_ends){0};
}
