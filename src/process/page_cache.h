/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PAGE_CACHE_H
#define PROCESS_PAGE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Files that the kernel keeps in RAM for a control group: pages that its processes have read or
 * written first, whether they map them or not. They count for the group's limit.
 */
struct page_cache {
	char *point, *root; /* where the hierarchy is mounted, and which of its groups that is */
	bool v2;
};

/* Finds the hierarchy that counts memory. Returns 0 or a negative errno (-ENOENT: none does). */
int page_cache_open(struct page_cache *cache);
void page_cache_close(struct page_cache *cache);

/*
 * That of a process's group, in bytes, without that of groups below it: those of all groups add up.
 * group: becomes its path, as in /proc/PID/cgroup. False: it is not known.
 */
bool page_cache_of(const struct page_cache *cache, pid_t pid, char *group, size_t size,
		   uint64_t *bytes);

/* The number behind a word of a file of such lines; false: there is none. */
bool page_cache_number(const char *text, const char *word, uint64_t *number);

#endif
