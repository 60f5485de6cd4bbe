/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_UPROBE_PERF_H
#define ATTACH_UPROBE_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Uprobes as perf events, one at a time, for kernels before 6.6. */
struct uprobe_perf {
	uint32_t type;	     /* perf's number for uprobe events */
	uint64_t return_bit; /* bit in config: fires when the function returns */
};

/* Reads the numbers from /sys. Returns 0 or a negative errno. */
int uprobe_perf_find(struct uprobe_perf *perf);

/*
 * Attaches a program to one place of a file. counter: see struct uprobe_place. pid: only in that
 * process; 0: in all. Returns a descriptor or a negative errno. Closing it removes the probe.
 */
int uprobe_perf_attach(const struct uprobe_perf *perf, int program, const char *path, pid_t pid,
		       uint64_t offset, uint64_t counter, uint64_t cookie, bool at_return);

#endif
