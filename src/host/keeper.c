// SPDX-License-Identifier: Apache-2.0
#include "host/keeper.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/say.h"

#define TICK_MS 10000
/* In each, what films have more than before is looked for this many times besides. */
#define FOLLOWS 3
/* Bytes of free memory that malloc() may keep. */
#define FREE_MOST (8u << 20)

struct keeper {
	struct store *store;
	struct cost *cost;
	pthread_t thread;
	int end; /* eventfd: it is to end */
	bool failed;
};

static void tick(struct keeper *keeper)
{
	struct fail why = {0};

	if (store_tick(keeper->store, clock_wall(), &why)) {
		if (!keeper->failed)
			host_say("%s; tried again until it works", why.what);
		keeper->failed = true;
		return;
	}
	if (keeper->failed)
		host_say("the store works again");
	keeper->failed = false;
}

/*
 * What a merge or an answer has freed lies between what stays, where malloc() keeps it: by itself
 * it returns only the free end of an arena to the kernel.
 */
static void trim_memory(void)
{
	if (mallinfo2().fordblks > FREE_MOST)
		malloc_trim(0);
}

static void *keep(void *context)
{
	struct keeper *keeper = context;
	struct pollfd end = {.fd = keeper->end, .events = POLLIN};
	bool is_ended = false;
	struct fail ignored;

	pthread_setname_np(pthread_self(), "keeper");
	do {
		tick(keeper);
		trim_memory();
		cost_measure(keeper->cost);
		for (int i = 0; !is_ended && i < FOLLOWS; i++) {
			is_ended = poll(&end, 1, TICK_MS / (FOLLOWS + 1)) > 0;
			/* what is wrong shows at the next tick */
			if (!is_ended)
				store_follow(keeper->store, &ignored);
		}
	} while (!is_ended && poll(&end, 1, TICK_MS / (FOLLOWS + 1)) <= 0);
	return NULL;
}

int keeper_start(struct store *store, struct cost *cost, struct keeper **result, struct fail *why)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	int err;

	*result = NULL;
	if (!keeper)
		return fail_errno(why, -ENOMEM, NULL, "cannot start a thread");
	keeper->store = store;
	keeper->cost = cost;
	keeper->end = eventfd(0, EFD_CLOEXEC);
	err = keeper->end < 0 ? errno : pthread_create(&keeper->thread, NULL, keep, keeper);
	if (err) {
		if (keeper->end >= 0)
			close(keeper->end);
		free(keeper);
		return fail_errno(why, -err, NULL, "cannot start a thread");
	}
	*result = keeper;
	return 0;
}

void keeper_stop(struct keeper *keeper)
{
	if (keeper)
		eventfd_write(keeper->end, 1);
}

void keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return;
	keeper_stop(keeper);
	pthread_join(keeper->thread, NULL);
	close(keeper->end);
	free(keeper);
}
