// SPDX-License-Identifier: Apache-2.0
#include "server/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define SECOND 1000000000ull

struct workers {
	struct workers_options options;
	pthread_mutex_t lock;
	pthread_cond_t more;
	void **items; /* a ring */
	size_t first, waiting, reserved;
	bool ending;
	uint64_t next_tick;
	pthread_t *threads;
	size_t started;
};

/* With the lock; it is given up for the time of a tick. */
static void tick(struct workers *w)
{
	uint64_t now = clock_ns();

	if (now < w->next_tick)
		return;
	w->next_tick = now + SECOND;
	pthread_mutex_unlock(&w->lock);
	w->options.tick(w->options.context);
	pthread_mutex_lock(&w->lock);
}

static void wait_for_more(struct workers *w)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&w->more, &w->lock, &until);
}

static void *run(void *context)
{
	struct workers *w = context;

	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&w->lock);
	while (!w->ending || w->waiting || w->reserved) {
		void *item;

		tick(w);
		if (!w->waiting) {
			wait_for_more(w);
			continue;
		}
		item = w->items[w->first];
		w->first = (w->first + 1) % w->options.queue;
		w->waiting--;
		pthread_mutex_unlock(&w->lock);
		w->options.work(w->options.context, item);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Signals are for the thread that started all this. */
static int start_threads(struct workers *w)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!err && w->started < w->options.count) {
		err = -pthread_create(&w->threads[w->started], NULL, run, w);
		w->started += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int workers_start(const struct workers_options *options, struct workers **workers, struct fail *why)
{
	struct workers *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	int err;

	if (!w)
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server's workers");
	w->options = *options;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->more, &monotonic);
	pthread_condattr_destroy(&monotonic);
	w->items = calloc(options->queue, sizeof(*w->items));
	w->threads = calloc(options->count, sizeof(*w->threads));
	err = w->items && w->threads ? start_threads(w) : -ENOMEM;
	if (err) {
		workers_end(w);
		workers_free(w);
		return fail_errno(why, err, NULL, "cannot start the server's workers");
	}
	*workers = w;
	return 0;
}

bool workers_reserve(struct workers *w)
{
	bool has_place;

	pthread_mutex_lock(&w->lock);
	has_place = !w->ending && w->waiting + w->reserved < w->options.queue;
	w->reserved += has_place;
	pthread_mutex_unlock(&w->lock);
	return has_place;
}

void workers_put(struct workers *w, void *item)
{
	pthread_mutex_lock(&w->lock);
	w->items[(w->first + w->waiting++) % w->options.queue] = item;
	w->reserved--;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

void workers_end(struct workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (; w->started; w->started--)
		pthread_join(w->threads[w->started - 1], NULL);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w->threads);
	free(w->items);
	free(w);
}
