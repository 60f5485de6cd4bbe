// SPDX-License-Identifier: Apache-2.0
#include "server/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

struct watched {
	struct watched *next, *previous;
	int socket;
	enum watch_state state;
	uint64_t since;
};

struct watch {
	pthread_mutex_t lock;
	struct watched *first;
	uint64_t idle_max, request_max;
};

struct watch *watch_new(uint64_t idle_max, uint64_t request_max)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	pthread_mutex_init(&watch->lock, NULL);
	watch->idle_max = idle_max;
	watch->request_max = request_max;
	return watch;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	while (watch->first)
		watch_remove(watch, watch->first);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

struct watched *watch_add(struct watch *watch, int socket)
{
	struct watched *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return NULL;
	watched->socket = socket;
	watched->since = clock_ns();
	pthread_mutex_lock(&watch->lock);
	watched->next = watch->first;
	if (watch->first)
		watch->first->previous = watched;
	watch->first = watched;
	pthread_mutex_unlock(&watch->lock);
	return watched;
}

void watch_remove(struct watch *watch, struct watched *watched)
{
	if (!watched)
		return;
	pthread_mutex_lock(&watch->lock);
	if (watched->previous)
		watched->previous->next = watched->next;
	else
		watch->first = watched->next;
	if (watched->next)
		watched->next->previous = watched->previous;
	pthread_mutex_unlock(&watch->lock);
	free(watched);
}

void watch_set(struct watch *watch, struct watched *watched, enum watch_state state)
{
	if (!watched)
		return;
	pthread_mutex_lock(&watch->lock);
	watched->state = state;
	watched->since = clock_ns();
	pthread_mutex_unlock(&watch->lock);
}

static uint64_t limit_of(const struct watch *watch, enum watch_state state)
{
	if (state == WATCH_ANSWERING)
		return UINT64_MAX;
	return state == WATCH_IDLE ? watch->idle_max : watch->request_max;
}

void watch_check(struct watch *watch, uint64_t now)
{
	pthread_mutex_lock(&watch->lock);
	for (struct watched *w = watch->first; w; w = w->next)
		if (now > w->since && now - w->since > limit_of(watch, w->state))
			shutdown(w->socket, SHUT_RDWR);
	pthread_mutex_unlock(&watch->lock);
}
