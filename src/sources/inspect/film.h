/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_INSPECT_FILM_H
#define SOURCES_INSPECT_FILM_H

#include "base/shown.h"
#include "sources/inspect/state.h"

/*
 * The calls that inspect has seen, in a film: each as a call, with its values beside it
 * (struct film_value). Which calls are within which one is known by the order of their beginnings
 * and ends on each thread or goroutine.
 */

/* A film has been begun. Returns 0 or -ENOMEM. */
int inspect_film_new(struct inspect *inspect, const struct source_host *host, uint32_t event,
		     struct inspect_film **film);
void inspect_film_free(struct inspect_film *film); /* null is allowed */

/* A call whose end is waited for has begun. False: no memory, and it is not in the film. */
bool inspect_film_begin(struct inspect_film *film, const struct inspect_record *record,
			uint64_t key);

/* How a call has ended. */
struct inspect_film_end {
	uint64_t time;
	uint32_t flags; /* enum film_call_flag */
};

/* One that had begun has ended, or will not be waited for any longer. */
void inspect_film_end(struct inspect_film *film, const struct inspect_record *record, uint64_t key,
		      uint32_t function, const struct inspect_film_end *end,
		      const struct shown_tree *arguments, const struct shown_tree *results);

/* What could not be written, for lack of memory. */
uint64_t inspect_film_lost(const struct inspect_film *film);

#endif
