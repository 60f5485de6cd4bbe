// SPDX-License-Identifier: Apache-2.0
/*
 * Changes words that have addresses of functions. A recorder has a thread of a running process call
 * this, whatever that thread does meanwhile: it may be anywhere, with any lock, and all its signals
 * are blocked. So nothing here waits, or touches anything of the program's but the words, each by
 * one instruction: other threads call functions by them.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "system_call.h"
#include "slots.h"

#define PAGE 4096ul

static void change(struct memory_slot *slot)
{
	uint64_t from = slot->from;

	if (__atomic_compare_exchange_n((uint64_t *)slot->address, &from, slot->to, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		slot->result = 0;
	else
		slot->result = -EAGAIN;
}

void slots_change(struct memory_slot *slots, uint64_t count)
{
	for (struct memory_slot *slot = slots; slot < slots + count; slot++) {
		long page = (long)(slot->address & ~(PAGE - 1)), result = 0;
		bool is_locked = !(slot->protection & PROT_WRITE);

		/* as the dynamic linker leaves them that makes them read-only when it is done */
		if (is_locked)
			result = system_call(SYS_mprotect, page, PAGE,
					     slot->protection | PROT_WRITE, 0, 0);
		if (system_call_failed(result)) {
			slot->result = (int32_t)result;
			continue;
		}
		change(slot);
		if (is_locked)
			system_call(SYS_mprotect, page, PAGE, slot->protection, 0, 0);
	}
}
