/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_RDMA_PROVIDERS_H
#define SOURCES_RDMA_PROVIDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/uprobes.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/rdma/abi.h"
#include "process/targets.h"
#include "sources/probed_files.h"

/*
 * Providers: libraries with the functions that programs post and poll by, of one kind of device
 * each. Programs find these in tables in memory, and so does this. Nothing is taken for a function
 * that does not begin where its file says that one begins; and probes are set for each process by
 * itself, so that a process with a wrong table harms none but itself. Where the kernel cannot do
 * that (6.6 to 6.9), they are set once for all that run the file.
 */

/* How far a function that polls is learned (bpf/rdma/abi.h). */
enum rdma_poll_state {
	RDMA_POLL_UNKNOWN, /* not yet */
	RDMA_POLL_LEARNED, /* its completions are recorded */
	RDMA_POLL_FAILED,  /* they cannot be */
};

struct rdma_poll_function {
	uint64_t offset, size;
	enum rdma_poll_state state;
	uint64_t next, pause; /* when it is tried the next time, and how long after that */
};

#define RDMA_POLLS_MAX 4

struct rdma_provider {
	dev_t device;
	ino_t inode;
	int fd;
	char path[32], name[64];
	vec(struct uprobe_place) places;
	vec(pid_t) pids; /* that have probes */
	struct rdma_poll_function polls[RDMA_POLLS_MAX];
	size_t poll_count;
	/* offset that was looked at -> bytes of the function that begins there; 0: none does */
	struct map functions;
};

struct rdma_providers {
	struct uprobes *uprobes; /* null: they are taken away */
	bool bind;		 /* each process has probes of its own */
	uint32_t groups;	 /* of probes, so far */
	vec(struct rdma_provider *) list;
	struct probed_refused refused;
};

/* Returns 0 or a negative errno. */
int rdma_providers_begin(struct rdma_providers *providers, struct bpf_program *site);
void rdma_providers_detach(struct rdma_providers *providers);
void rdma_providers_free(struct rdma_providers *providers);

/*
 * A table that was found in a process: sets the probes that its functions lack. False: it is none.
 */
bool rdma_providers_table(struct rdma_providers *providers, const struct process *process,
			  const struct rdma_table *table);

/* Sets a probe in each process that runs the provider, now and later. */
void rdma_providers_add(struct rdma_providers *providers, struct rdma_provider *provider,
			uint64_t offset, uint64_t cookie);

/* A process has ended, or has executed another program. */
void rdma_providers_ended(struct rdma_providers *providers, pid_t pid);

#endif
