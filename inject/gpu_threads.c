// SPDX-License-Identifier: Apache-2.0
/* A lock and threads, by functions that the process's C library may have. */
#include "gpu.h"

extern int pthread_create(uint64_t *thread, const void *attributes, void *(*run)(void *),
			  void *argument) __attribute__((weak));

#define SIG_SETMASK_ 2

bool gpu_lock(int *lock)
{
	const struct gpu_pause pause = {0, 50000};

	for (int i = 0; i < 20000; i++) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return true;
		if (!nanosleep)
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

void gpu_unlock(int *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

bool gpu_start_thread(void *(*run)(void *))
{
	uint64_t all[GPU_SIGNAL_WORDS], before[GPU_SIGNAL_WORDS], thread;
	bool is_started;

	if (!nanosleep || !pthread_create || !pthread_sigmask)
		return false;
	for (size_t i = 0; i < GPU_SIGNAL_WORDS; i++)
		all[i] = UINT64_MAX;
	/* the program's signals are for its own threads */
	pthread_sigmask(SIG_SETMASK_, all, before);
	is_started = !pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK_, before, NULL);
	return is_started;
}

/*
 * By itself, the profiling library hands over buffers that are full: a program of few launches would
 * keep its records until it ends, and one that is killed for good.
 */
void *flush_each_second(void *unused)
{
	const struct gpu_pause pause = {1, 0};

	for (;;) {
		nanosleep(&pause, NULL);
		gpu_flush();
	}
	return unused;
}
