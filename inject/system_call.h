/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_SYSTEM_CALL_H
#define INJECT_SYSTEM_CALL_H

/* System calls, without the C library. */

#include <stdbool.h>

static inline long system_call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline bool system_call_failed(long result)
{
	return result < 0 && result > -4096;
}

#endif
