/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * As pthread_create(), with all signals blocked in the new thread, so that only threads that expect
 * signals get them. Returns 0 or a negative errno.
 */
int thread_spawn(pthread_t *thread, void *(*run)(void *context), void *context);

#endif
