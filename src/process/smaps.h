/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_SMAPS_H
#define PROCESS_SMAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/procfs.h"

/* What of a mapping is in RAM, as /proc/PID/smaps describes it (proc(5)); all in bytes. */
struct smaps_mapping {
	struct procfs_mapping at;
	uint64_t rss;
	uint64_t anonymous; /* of these, pages that are the process's own, not those of a file */
};

/*
 * Parses the text of smaps, which is changed, and calls emit() for each mapping in order of their
 * addresses. Its path lies in the text.
 */
void smaps_parse(char *text, void (*emit)(void *context, const struct smaps_mapping *mapping),
		 void *context);

/*
 * The same with the smaps of a process. Returns 0; -ESRCH: it is gone, or a thread of the kernel;
 * -EFBIG: it has more mappings than are read, and those that come first were given; other negative
 * errnos.
 */
int smaps_read(pid_t pid, void (*emit)(void *context, const struct smaps_mapping *mapping),
	       void *context);

/* A size in kB that a line "NAME:  N kB" of status or smaps has, in bytes; 0: there is none. */
uint64_t procfs_kb(const char *text, const char *name);

#endif
