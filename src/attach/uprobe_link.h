/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_UPROBE_LINK_H
#define ATTACH_UPROBE_LINK_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

/*
 * BPF_LINK_CREATE for many uprobes at once, as in linux/bpf.h since 6.6, because the headers and
 * the libbpf of the build may be older than the running kernel.
 */

/* from enum bpf_attach_type */
#define ATTACH_UPROBE_MULTI   48u
#define ATTACH_UPROBE_SESSION 57u

/* the program runs when the function returns instead of when it begins */
#define UPROBE_LINK_RETURN 1u

struct uprobe_link {
	uint32_t program, target, attach_type, flags;
	uint64_t path;		     /* a string */
	uint64_t offsets;	     /* array of count 64-bit numbers */
	uint64_t reference_counters; /* likewise, or null */
	uint64_t cookies;	     /* likewise, or null */
	uint32_t count, uprobe_flags, pid;
	uint32_t unused; /* the kernel requires 0 in members that it does not know */
};

/* Returns a descriptor or a negative errno. Closing it removes the probes. */
static inline int uprobe_link_create(const struct uprobe_link *link)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, link, sizeof(*link));

	return fd < 0 ? -errno : (int)fd;
}

#endif
