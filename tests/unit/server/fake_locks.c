// SPDX-License-Identifier: Apache-2.0
/* The part of the store without films that answers about locks: two, with hostile names. */
#include "fake_store.h"

#include <errno.h>
#include <string.h>

#include "store/locks.h"

int store_locks(struct store *store, const struct store_ask *ask, struct store_locks *locks,
		struct fail *why)
{
	(void)store;
	(void)ask;
	(void)why;
	*locks = (struct store_locks){
		.sum = {.samples = 14, .total = 1200, .unit = "ns"},
	};
	for (uint64_t i = 0; i < 2; i++) {
		struct store_lock lock = {fake_hostile, 7, 600, 100 + i, {0}};

		for (uint64_t k = 0; k <= LOCK_HOLDERS_SHOWN; k++)
			if (!vec_push(&lock.holders, ((struct store_holder){fake_hostile, 1, k})))
				return -ENOMEM;
		if (!vec_push(&locks->all, lock))
			return -ENOMEM;
	}
	return 0;
}

void store_locks_free(struct store_locks *locks)
{
	vec_foreach (&locks->all, lock)
		vec_free(&lock->holders);
	vec_free(&locks->all);
}
