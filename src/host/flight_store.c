// SPDX-License-Identifier: Apache-2.0
/* The flight recorder keeps what it has in a store. */
#include "host/flight.h"
#include "store/keep.h"

static int keep_in_store(void *context, const struct store_keep *films, char *path, size_t size,
			 struct fail *why)
{
	return store_keep(context, films, path, size, why);
}

static int mark_in_store(void *context, const char *host, uint64_t time, const char *reason,
			 struct fail *why)
{
	return store_keep_mark(context, host, time, reason, why);
}

struct flight_place flight_place_in_store(struct store *store)
{
	return (struct flight_place){keep_in_store, mark_in_store, store};
}
