// SPDX-License-Identifier: Apache-2.0
/* A thread waits for a condition; the one that fulfils it is made half a second later. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done;

static void *answer(void *unused)
{
	pthread_mutex_lock(&mutex);
	done = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static __attribute__((noipa)) void prepare(void)
{
	usleep(500000);
	__asm__ volatile("" ::: "memory"); /* no jump */
}

static void *make(void *unused)
{
	pthread_t thread;

	pthread_setname_np(pthread_self(), "maker");
	prepare();
	pthread_create(&thread, NULL, answer, NULL);
	pthread_join(thread, NULL);
	return unused;
}

static void *handle(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!done)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t maker, handler;

	pthread_create(&handler, NULL, handle, NULL);
	pthread_setname_np(handler, "handler");
	pthread_create(&maker, NULL, make, NULL);
	pthread_join(maker, NULL);
	pthread_join(handler, NULL);
	return 0;
}
