// SPDX-License-Identifier: Apache-2.0
#include "film/ahead.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/team.h"
#include "base/thread.h"

/* What is taken is more work than what is made: two make enough for those that share it. */
#define MAKERS_MAX 2

struct run {
	const struct ahead *ahead;
	pthread_mutex_t lock; /* of all that follows but the makers */
	pthread_cond_t place, made;
	size_t next, taken;
	bool is_made[AHEAD_PLACES], stop;
	pthread_t makers[MAKERS_MAX];
	unsigned int started;
};

/* Waits until there is a place for the next number; false: none is wanted any more. */
static bool next_number(struct run *r, size_t *i)
{
	bool wanted;

	pthread_mutex_lock(&r->lock);
	while (!r->stop && r->next < r->ahead->count && r->next - r->taken >= AHEAD_PLACES)
		pthread_cond_wait(&r->place, &r->lock);
	wanted = !r->stop && r->next < r->ahead->count;
	if (wanted)
		*i = r->next++;
	pthread_mutex_unlock(&r->lock);
	return wanted;
}

static void *make_all(void *context)
{
	struct run *r = context;
	size_t i;

	while (next_number(r, &i)) {
		r->ahead->make(r->ahead->context, i);
		pthread_mutex_lock(&r->lock);
		r->is_made[i % AHEAD_PLACES] = true;
		pthread_cond_signal(&r->made);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static void await_made(struct run *r, size_t i)
{
	pthread_mutex_lock(&r->lock);
	while (!r->is_made[i % AHEAD_PLACES])
		pthread_cond_wait(&r->made, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void give_place(struct run *r, size_t i, bool stop)
{
	pthread_mutex_lock(&r->lock);
	r->is_made[i % AHEAD_PLACES] = false;
	r->taken = i + 1;
	r->stop = stop;
	/* what stops, all makers are to hear */
	pthread_cond_broadcast(&r->place);
	pthread_mutex_unlock(&r->lock);
}

static int take_all(struct run *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->ahead->count; i++) {
		await_made(r, i);
		err = r->ahead->take(r->ahead->context, i);
		give_place(r, i, err);
	}
	return err;
}

static int run_alone(const struct ahead *ahead)
{
	int err = 0;

	for (size_t i = 0; !err && i < ahead->count; i++) {
		ahead->make(ahead->context, i);
		err = ahead->take(ahead->context, i);
	}
	return err;
}

static void start_makers(struct run *r)
{
	unsigned int makers = team_size(2 * MAKERS_MAX) / 2;

	do
		if (thread_spawn(&r->makers[r->started], make_all, r))
			return;
	while (++r->started < makers);
}

int ahead_run(const struct ahead *ahead)
{
	struct run r = {.ahead = ahead};
	int err;

	if (ahead->count < 2)
		return run_alone(ahead);
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.place, NULL);
	pthread_cond_init(&r.made, NULL);
	start_makers(&r);
	err = r.started ? take_all(&r) : run_alone(ahead);
	while (r.started)
		pthread_join(r.makers[--r.started], NULL);
	pthread_mutex_destroy(&r.lock);
	pthread_cond_destroy(&r.place);
	pthread_cond_destroy(&r.made);
	return err;
}
