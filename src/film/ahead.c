// SPDX-License-Identifier: Apache-2.0
#include "film/ahead.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/thread.h"

/* What is taken is more work than what is made: two make enough for several that take. */
#define MAKERS_MAX 2

struct consumer {
	struct run *run;
	pthread_t thread;
	unsigned int number;
	size_t taken;
	int err;
};

struct run {
	const struct ahead *ahead;
	pthread_mutex_t lock; /* of all that follows but threads and what is started */
	pthread_cond_t place, made;
	size_t next;
	size_t made_as[AHEAD_PLACES]; /* the number that a place has, and 1 */
	bool stop;
	pthread_t makers[MAKERS_MAX];
	unsigned int makers_started, consumers_started;
	struct consumer consumers[AHEAD_CONSUMERS_MAX];
};

/* How many all consumers are done with. */
static size_t taken_by_all(const struct run *r)
{
	size_t taken = r->consumers[0].taken;

	for (unsigned int i = 1; i < r->ahead->consumers; i++)
		taken = r->consumers[i].taken < taken ? r->consumers[i].taken : taken;
	return taken;
}

/* Waits until there is a place for the next number; false: none is wanted any more. */
static bool next_number(struct run *r, size_t *i)
{
	bool wanted;

	pthread_mutex_lock(&r->lock);
	while (!r->stop && r->next < r->ahead->count && r->next - taken_by_all(r) >= AHEAD_PLACES)
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
		r->made_as[i % AHEAD_PLACES] = i + 1;
		pthread_cond_broadcast(&r->made);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

/* False: another consumer has ended it. */
static bool await_made(struct run *r, size_t i)
{
	bool is_wanted;

	pthread_mutex_lock(&r->lock);
	while (!r->stop && r->made_as[i % AHEAD_PLACES] != i + 1)
		pthread_cond_wait(&r->made, &r->lock);
	is_wanted = !r->stop;
	pthread_mutex_unlock(&r->lock);
	return is_wanted;
}

static void stop(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->place);
	pthread_cond_broadcast(&r->made);
	pthread_mutex_unlock(&r->lock);
}

static void release_place(struct run *r, struct consumer *consumer)
{
	pthread_mutex_lock(&r->lock);
	consumer->taken++;
	pthread_cond_broadcast(&r->place);
	pthread_mutex_unlock(&r->lock);
}

static void *consume_all(void *context)
{
	struct consumer *consumer = context;
	struct run *r = consumer->run;
	const struct ahead *ahead = r->ahead;

	for (size_t i = 0; i < ahead->count && await_made(r, i); i++) {
		consumer->err = ahead->emit(ahead->context, consumer->number, i);
		if (consumer->err) {
			stop(r);
			break;
		}
		release_place(r, consumer);
	}
	return NULL;
}

static int run_alone(const struct ahead *ahead)
{
	int err = 0;

	for (size_t i = 0; !err && i < ahead->count; i++) {
		ahead->make(ahead->context, i);
		for (unsigned int consumer = 0; !err && consumer < ahead->consumers; consumer++)
			err = ahead->emit(ahead->context, consumer, i);
	}
	return err;
}

static void start_makers(struct run *r)
{
	unsigned int makers = cpus_usable(2 * MAKERS_MAX) / 2;

	do
		if (thread_spawn(&r->makers[r->makers_started], make_all, r))
			return;
	while (++r->makers_started < makers);
}

/* Nothing is made yet. False: not all of them could be started. */
static bool start_consumers(struct run *r)
{
	for (unsigned int i = 0; i < r->ahead->consumers; i++)
		r->consumers[i] = (struct consumer){.run = r, .number = i};
	for (unsigned int i = 1; i < r->ahead->consumers; i++, r->consumers_started++)
		if (thread_spawn(&r->consumers[i].thread, consume_all, &r->consumers[i]))
			return false;
	return true;
}

static void join_all(struct run *r)
{
	while (r->consumers_started) {
		pthread_join(r->consumers[r->consumers_started].thread, NULL);
		r->consumers_started--;
	}
	while (r->makers_started)
		pthread_join(r->makers[--r->makers_started], NULL);
}

static int run_together(struct run *r)
{
	int err = 0;

	if (start_consumers(r))
		start_makers(r);
	if (!r->makers_started) {
		stop(r);
		join_all(r);
		return run_alone(r->ahead);
	}
	consume_all(&r->consumers[0]);
	join_all(r);
	for (unsigned int i = 0; !err && i < r->ahead->consumers; i++)
		err = r->consumers[i].err;
	return err;
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
	err = run_together(&r);
	pthread_mutex_destroy(&r.lock);
	pthread_cond_destroy(&r.place);
	pthread_cond_destroy(&r.made);
	return err;
}
