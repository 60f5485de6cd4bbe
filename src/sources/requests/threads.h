/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_REQUESTS_THREADS_H
#define SOURCES_REQUESTS_THREADS_H

#include "base/map.h"
#include "bpf/capture/abi.h"

/*
 * The names of threads, which the kernel's side sends with the first piece of a connection, and
 * again after a while. Bounded: where there are too many, it begins anew.
 */
struct requests_threads {
	struct map names;		 /* of threads, by a hash; and of processes, by pid */
	struct capture_identity current; /* the one that was asked for last */
};

/*
 * Keeps the name of an identity that has one. Returns the identity with its name, until the next
 * call: if that is not known, with that of its process's last thread, or none.
 */
const struct capture_identity *requests_threads_name(struct requests_threads *threads,
						     const struct capture_identity *identity);

void requests_threads_free(struct requests_threads *threads);

#endif
