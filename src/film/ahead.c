// SPDX-License-Identifier: Apache-2.0
#include "film/ahead.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/thread.h"

#define PLACES 2

struct run {
	const struct ahead *ahead;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	size_t made, taken;
	bool stop;
};

/* Waits until there is a place for number i; false: it is not wanted any more. */
static bool await_place(struct run *r, size_t i)
{
	bool wanted;

	pthread_mutex_lock(&r->lock);
	while (!r->stop && i - r->taken >= PLACES)
		pthread_cond_wait(&r->changed, &r->lock);
	wanted = !r->stop;
	pthread_mutex_unlock(&r->lock);
	return wanted;
}

static void *make_all(void *context)
{
	struct run *r = context;

	for (size_t i = 0; i < r->ahead->count && await_place(r, i); i++) {
		r->ahead->make(r->ahead->context, i);
		pthread_mutex_lock(&r->lock);
		r->made = i + 1;
		pthread_cond_signal(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static void await_made(struct run *r, size_t i)
{
	pthread_mutex_lock(&r->lock);
	while (r->made <= i)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void give_place(struct run *r, size_t taken, bool stop)
{
	pthread_mutex_lock(&r->lock);
	r->taken = taken;
	r->stop = stop;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static int take_all(struct run *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->ahead->count; i++) {
		await_made(r, i);
		err = r->ahead->take(r->ahead->context, i);
		give_place(r, i + 1, err);
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

int ahead_run(const struct ahead *ahead)
{
	struct run r = {.ahead = ahead};
	pthread_t thread;
	int err;

	if (ahead->count < PLACES)
		return run_alone(ahead);
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.changed, NULL);
	if (thread_spawn(&thread, make_all, &r)) {
		err = run_alone(ahead);
	} else {
		err = take_all(&r);
		pthread_join(thread, NULL);
	}
	pthread_mutex_destroy(&r.lock);
	pthread_cond_destroy(&r.changed);
	return err;
}
