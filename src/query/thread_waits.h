/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_THREAD_WAITS_H
#define QUERY_THREAD_WAITS_H

#include <stdbool.h>

#include "film/reader.h"

/* What a thread waits for at the end of a film with turns of threads. */
struct thread_wait {
	char *object;	 /* "mutex guard in app", "/var/lib/wal", "pid 412"; null: not known */
	uint32_t holder; /* thread that holds the lock; 0: not known */
	uint32_t peer;	 /* process at the other end of the connection; 0: not known */
	/* a deadlock: the holder waits for this thread, directly or through others */
	bool is_dead;
};

struct thread_waits {
	struct thread_wait *all; /* by thread; null: the film has no turns of threads */
	uint32_t count;
};

/* Returns 0 or a negative errno with *why filled; call thread_waits_free() in both cases. */
int thread_waits_load(struct film *film, struct thread_waits *waits, struct fail *why);
void thread_waits_free(struct thread_waits *waits);

#endif
