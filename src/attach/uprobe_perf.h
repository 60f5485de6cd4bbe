/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_UPROBE_PERF_H
#define ATTACH_UPROBE_PERF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Uprobes by perf events, one at a time: what kernels before 6.6 have. */
struct uprobe_perf {
	uint32_t type;	     /* of the kernel's uprobe events */
	uint64_t return_bit; /* in config: it fires when the function returns */
};

/* Asks /sys for the numbers. Returns 0 or a negative errno. */
int uprobe_perf_find(struct uprobe_perf *perf);

/*
 * Attaches a program to one place of a file. counter: as of struct uprobe_place. pid: only there,
 * 0: wherever it runs. Returns a descriptor, which holds the probe until it is closed, or a
 * negative errno.
 */
int uprobe_perf_attach(const struct uprobe_perf *perf, int program, const char *path, pid_t pid,
		       uint64_t offset, uint64_t counter, uint64_t cookie, bool at_return);

#endif
