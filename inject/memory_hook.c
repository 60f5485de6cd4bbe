// SPDX-License-Identifier: Apache-2.0
/*
 * What a recorder has a thread of a running process call, whatever that thread does meanwhile: it
 * may be anywhere, with any lock, and all its signals are blocked. So nothing here waits, or
 * touches anything of the program's but the words that it is to change, each by one instruction:
 * other threads call functions by them.
 */
#include "memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ul

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

static void change(struct memory_slot *slot)
{
	uint64_t from = slot->from;

	if (__atomic_compare_exchange_n((uint64_t *)slot->address, &from, slot->to, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		slot->result = 0;
	else
		slot->result = -EAGAIN;
}

void memory_hook(struct memory_slot *slots, uint64_t count)
{
	for (struct memory_slot *slot = slots; slot < slots + count; slot++) {
		long page = (long)(slot->address & ~(PAGE - 1)), result = 0;
		bool is_locked = !(slot->protection & PROT_WRITE);

		/* as the dynamic linker leaves them that makes them read-only when it is done */
		if (is_locked)
			result = memory_system_call(SYS_mprotect, page, PAGE,
						    slot->protection | PROT_WRITE, 0, 0);
		if (memory_failed(result)) {
			slot->result = (int32_t)result;
			continue;
		}
		change(slot);
		if (is_locked)
			memory_system_call(SYS_mprotect, page, PAGE, slot->protection, 0, 0);
	}
}
