// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/hangs.h"

#include <string.h>

#include "film/wait_rules.h"

/* linux/futex.h: the operation without its flags */
#define FUTEX_COMMAND	  0x7fu
#define FUTEX_WAIT	  0
#define FUTEX_LOCK_PI	  6
#define FUTEX_LOCK_PI2	  13
#define FUTEX_HAS_WAITERS 0x80000000u /* in the word of a robust mutex */

/* Pools wait for work at conditions and semaphores, which wait otherwise than for a mutex. */
static bool is_mutex(const struct film_wait *wait, const char *call)
{
	uint64_t command = wait->arguments[1] & FUTEX_COMMAND;
	uint32_t value = (uint32_t)wait->arguments[2];

	if (strcmp(call, "futex") != 0)
		return false;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
		return true;
	return command == FUTEX_WAIT && (value == 2 || value & FUTEX_HAS_WAITERS);
}

const char *hang_of(const struct film_wait *wait, const char *arch)
{
	const char *call = wait_call_name(arch, wait->state, wait->call);

	if (wait->flags & FILM_WAIT_KERNEL)
		return NULL;
	if (wait->flags & FILM_WAIT_IOWAIT)
		return "a disk";
	/* a parent sleeps so until its child of vfork() has executed a program */
	if (wait->state == FILM_WAIT_BLOCKED)
		return strcmp(call, "vfork") && strcmp(call, "clone") && strcmp(call, "clone3")
			       ? "the kernel (state D)"
			       : NULL;
	return wait->state == FILM_WAIT_SLEEPS && is_mutex(wait, call) ? "a lock" : NULL;
}
