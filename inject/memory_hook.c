// SPDX-License-Identifier: Apache-2.0
/*
 * What a recorder has a thread of a running process call, whatever that thread does meanwhile: it
 * may be anywhere, with any lock, and all its signals are blocked. So nothing here waits, or
 * touches anything of the program's but the words that it is to change, each by one instruction:
 * other threads call functions by them.
 */
#include "memory.h"

void memory_start(uint64_t interval)
{
	for (unsigned int i = 0; i < MEMORY_THREADS; i++)
		/* most are never used: their pages stay unused, too */
		if (memory_threads[i].random) {
			memory_threads[i].left = memory_threads[i].random = 0;
			memory_threads[i].is_shared = memory_threads[i].doublings = 0;
		}
	__atomic_store_n(&memory_state.taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&memory_interval, interval, __ATOMIC_RELEASE);
	__atomic_store_n(&memory_state.is_ready, 1, __ATOMIC_RELEASE);
}
