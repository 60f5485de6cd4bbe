/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_MOUNTS_H
#define PROCESS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"

/* One line of mountinfo (proc_pid_mountinfo(5)); its texts lie in the line, escapes undone. */
struct mount_line {
	uint64_t id;
	dev_t device;
	char *root, *point, *type;
	char *options; /* of the file system itself, behind its source */
};

/* Parses a line, which is changed. False: it is not one. */
bool mount_parse(char *line, struct mount_line *mount);

/*
 * The mounts of one namespace, and which of them are far: their file system may not answer, as its
 * server is another machine or a program. All are that are not known to need only this machine's
 * kernel. To read this asks no file system.
 */
struct mounts {
	struct mount {
		uint64_t id;
		dev_t device;
		bool is_far;
		char *point, *type;
		char *options; /* of what may lie on others, until all are read */
	} * at;
	size_t count, room;
	struct map by_id, by_device; /* to places in at */
	bool has_far;
};

/* At most this many of a namespace are looked at; the kernel's own limit is 100,000. */
#define MOUNTS_MAX 131072

/*
 * Reads those that a process sees in place of what mounts held. hosts: where the paths are looked
 * up that overlays name; null: among the same. Returns 0 or a negative errno; then it is empty.
 */
int mounts_read(struct mounts *mounts, pid_t pid, const struct mounts *hosts);
/* The same from the text of mountinfo, which is changed. */
int mounts_parse(struct mounts *mounts, char *text, const struct mounts *hosts);
void mounts_free(struct mounts *mounts);

/* Null: there is none. Of a path, as it is written: links may lead elsewhere. */
const struct mount *mounts_of_device(const struct mounts *mounts, dev_t device);
const struct mount *mounts_of_id(const struct mounts *mounts, uint64_t id);
const struct mount *mounts_of_path(const struct mounts *mounts, const char *path);

#endif
