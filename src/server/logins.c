// SPDX-License-Identifier: Apache-2.0
#include "server/logins.h"

#include <pthread.h>
#include <stdlib.h>

#define MINUTE_NS 60000000000ull

enum {
	ADDRESSES = 256, /* that are counted each; the one of longest ago makes room */
	A_MINUTE = 20,	 /* lines of the log */
};

struct logins {
	pthread_mutex_t lock;
	struct address {
		struct peer peer;
		uint64_t said; /* when; 0: nothing stands here */
		uint64_t seen;
		uint64_t count; /* since then */
	} addresses[ADDRESSES];
	uint64_t minute; /* when the one began that lines are counted in */
	unsigned int lines;
};

struct logins *logins_new(void)
{
	struct logins *logins = calloc(1, sizeof(*logins));

	if (logins)
		pthread_mutex_init(&logins->lock, NULL);
	return logins;
}

void logins_free(struct logins *logins)
{
	if (logins)
		pthread_mutex_destroy(&logins->lock);
	free(logins);
}

/* Its place, or that of the one that was seen longest ago. */
static struct address *find(struct logins *l, struct peer peer)
{
	struct address *oldest = &l->addresses[0];

	for (size_t i = 0; i < ADDRESSES; i++) {
		struct address *a = &l->addresses[i];

		if (a->seen && peer_same(a->peer, peer))
			return a;
		if (a->seen < oldest->seen)
			oldest = a;
	}
	*oldest = (struct address){.peer = peer};
	return oldest;
}

bool logins_failed(struct logins *l, struct peer peer, uint64_t now, uint64_t *count)
{
	struct address *a;
	bool is_said = false;

	pthread_mutex_lock(&l->lock);
	a = find(l, peer);
	a->seen = now;
	a->count++;
	if (now - l->minute >= MINUTE_NS) {
		l->minute = now;
		l->lines = 0;
	}
	if ((!a->said || now - a->said >= MINUTE_NS) && l->lines < A_MINUTE) {
		is_said = true;
		*count = a->count;
		a->count = 0;
		a->said = now;
		l->lines++;
	}
	pthread_mutex_unlock(&l->lock);
	return is_said;
}
