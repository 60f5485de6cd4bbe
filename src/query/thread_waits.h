/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_THREAD_WAITS_H
#define QUERY_THREAD_WAITS_H

#include <stdbool.h>

#include "film/reader.h"

/* What a thread waits for at the end of a film that has the lives of threads. */
struct thread_wait {
	char *object;	 /* "mutex guard in app", "/var/lib/wal", "pid 412"; null: not known */
	uint32_t holder; /* the thread that holds that lock; 0: not known */
	uint32_t peer;	 /* the process at the other end of that connection; 0: not known */
	bool is_dead;	 /* a deadlock: its holder waits for it, directly or through others */
};

struct thread_waits {
	struct thread_wait *all; /* by thread; null: the film has no lives of threads */
	uint32_t count;
};

/* 0, or a negative errno with *why filled; thread_waits_free() is needed in either case. */
int thread_waits_load(struct film *film, struct thread_waits *waits, struct fail *why);
void thread_waits_free(struct thread_waits *waits);

#endif
