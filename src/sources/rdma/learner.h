/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_RDMA_LEARNER_H
#define SOURCES_RDMA_LEARNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sources/rdma/code.h"
#include "sources/rdma/providers.h"

/*
 * Learns where the functions that poll find completions, one function after the other, in a process
 * that has one: each of its polls is watched, which costs it some microseconds a poll, until eight
 * have found something: that is when it begins to transfer. Completions are recorded all the while.
 * Where many polls found nothing, that is tried again later, after twice as long each time, and
 * completions are not recorded up to then.
 */
struct rdma_learner {
	struct uprobes *uprobes;
	int learnings, polls, polling;	/* maps */
	struct rdma_provider *provider; /* null: nothing is being learned */
	struct rdma_poll_function *function;
	pid_t pid;
	uint64_t since;
	uint32_t groups;     /* of probes, so far */
	unsigned int rounds; /* in which each call found something */
	bool is_closing;
	struct rdma_code *code;
	uint64_t failed; /* functions whose completions cannot be seen */
	char why[160];	 /* of the last one */
	/* Completions of a process are not recorded from now on. */
	void (*unseen)(void *context, pid_t pid);
	void *context;
};

struct rdma_learner_maps {
	int learnings, polls, polling;
};

/* Returns 0 or a negative errno. */
int rdma_learner_begin(struct rdma_learner *learner, struct bpf_program *program,
		       const struct rdma_learner_maps *maps);
void rdma_learner_end(struct rdma_learner *learner);

/* Call it often: when a table was found, and when RDMA_LEARNED comes. */
void rdma_learner_step(struct rdma_learner *learner, struct rdma_providers *providers,
		       uint64_t now);

/* Whether all completions of a process are recorded now. */
bool rdma_learner_sees(const struct rdma_learner *learner, const struct rdma_providers *providers,
		       pid_t pid);

#endif
