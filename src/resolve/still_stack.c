// SPDX-License-Identifier: Apache-2.0
#include "resolve/still_stack.h"

#include <sys/uio.h>

#define PAGE 4096u

/* The most pages: a bit for each in missing. */
#define PAGES_MAX 32

void still_stack_copy(struct still_stack *stack, pid_t pid)
{
	struct capture_handover *from = &stack->from;
	uint64_t at = from->sp - CAPTURE_BELOW, first = at;
	uint32_t room = CAPTURE_COPY_MAX, copied = 0, n;

	from->missing = 0;
	/* as capture_stack_room() has it */
	if (from->tls > from->sp && from->tls - at < room)
		room = (uint32_t)(from->tls - at);
	for (n = 0; at - first < room && n < PAGES_MAX; n++) {
		uint32_t size = PAGE - (uint32_t)(at & (PAGE - 1)), done = (uint32_t)(at - first);
		struct iovec to = {stack->copy + done, size}, there = {(void *)at, size};

		if (size > CAPTURE_COPY_MAX - done)
			size = CAPTURE_COPY_MAX - done;
		to.iov_len = there.iov_len = size;
		if (process_vm_readv(pid, &to, 1, &there, 1, 0) == (ssize_t)size)
			copied = done + size;
		else
			from->missing |= 1u << n;
		at += size;
	}
	from->is_still = 1;
	from->copied = copied < room ? copied : room;
}
