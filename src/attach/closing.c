// SPDX-License-Identifier: Apache-2.0
#include "attach/closing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/vec.h"

#define THREADS_MAX 16

struct closing {
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t idle;
	vec(int) waiting;
	unsigned int threads;
};

int closing_new(struct closing **result)
{
	struct closing *closing = calloc(1, sizeof(*closing));

	if (!closing)
		return -ENOMEM;
	pthread_mutex_init(&closing->lock, NULL);
	pthread_cond_init(&closing->idle, NULL);
	*result = closing;
	return 0;
}

static void *work(void *context)
{
	struct closing *closing = context;

	pthread_mutex_lock(&closing->lock);
	while (closing->waiting.count) {
		int fd = closing->waiting.at[--closing->waiting.count];

		pthread_mutex_unlock(&closing->lock);
		close(fd);
		pthread_mutex_lock(&closing->lock);
	}
	if (!--closing->threads)
		pthread_cond_signal(&closing->idle);
	pthread_mutex_unlock(&closing->lock);
	return NULL;
}

static bool start_thread(struct closing *closing)
{
	pthread_t thread;
	bool started = !thread_spawn(&thread, work, closing);

	if (started)
		pthread_detach(thread);
	return started;
}

void closing_add(struct closing *closing, int fd)
{
	bool taken;

	pthread_mutex_lock(&closing->lock);
	taken = vec_push(&closing->waiting, fd);
	if (taken && closing->threads < THREADS_MAX && closing->threads < closing->waiting.count) {
		if (start_thread(closing)) {
			closing->threads++;
		} else if (!closing->threads) {
			closing->waiting.count--;
			taken = false;
		}
	}
	pthread_mutex_unlock(&closing->lock);
	if (!taken)
		close(fd);
}

void closing_wait(struct closing *closing)
{
	pthread_mutex_lock(&closing->lock);
	while (closing->threads)
		pthread_cond_wait(&closing->idle, &closing->lock);
	pthread_mutex_unlock(&closing->lock);
}

void closing_free(struct closing *closing)
{
	if (!closing)
		return;
	closing_wait(closing);
	pthread_cond_destroy(&closing->idle);
	pthread_mutex_destroy(&closing->lock);
	vec_free(&closing->waiting);
	free(closing);
}
