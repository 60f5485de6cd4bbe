// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <signal.h>

int thread_spawn(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
